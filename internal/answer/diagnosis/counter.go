package diagnosis

import (
	"cmp"
	"slices"
	"strings"

	"weir/internal/fact"
	"weir/internal/telemetry"
)

// families are the vendors whose counter names are looked up, in this order.
var families = [...]string{
	telemetry.MLX5, telemetry.MLX5Ethtool, telemetry.BnxtRe, telemetry.BnxtReOOT, telemetry.BnxtEnEthtool, telemetry.Irdma,
	telemetry.IceEthtool, telemetry.Ionic, telemetry.IonicEthtool, telemetry.SONiC, telemetry.OpenConfig,
}

// A series is one counter of one device, with all readings of it.
type series struct {
	subject  fact.Subject
	metric   string // of the metric table, "" for counters that it does not have
	name     string // the vendor's
	labels   map[string]string
	readings []*fact.Fact
	window   bool // the readings are of one device at different times
	gauge    bool
	bits     uint8

	// Of a record on disk: the difference over the window, its length, and
	// the newest value. readings is then empty.
	recorded *recorded
}

// recorded is what a record on disk tells of a series over the window.
type recorded struct {
	moved   uint64
	known   bool
	seconds float64 // length of the window
	last    uint64  // of a gauge: the highest
	mean    float64 // of a gauge
	source  string
}

// last returns the newest reading.
func (s *series) last() uint64 {
	if s.recorded != nil {
		return s.recorded.last
	}
	return whole(s.readings[len(s.readings)-1])
}

// moved returns by how much the counter rose over its readings, and whether
// there are at least two of them. Wraps and resets are taken out.
func (s *series) moved() (uint64, bool) {
	if s.recorded != nil {
		return s.recorded.moved, s.recorded.known
	}
	if !s.window || len(s.readings) < 2 {
		return 0, false
	}
	sum := uint64(0)
	for i := 1; i < len(s.readings); i++ {
		d, _ := telemetry.Step(s.bits, whole(s.readings[i-1]), whole(s.readings[i]))
		sum += d
	}
	return sum, true
}

// counters holds all series, sorted by subject and name.
type counters struct {
	series   []*series
	byMetric map[string][]*series

	bySubject map[string]map[fact.Subject][]*series // made when asked for
	windows   bool                                  // some device was read twice
}

func countersOf(facts []fact.Fact) *counters {
	type key struct {
		subject fact.Subject
		name    string
	}
	at := map[key]*series{}
	known := map[string]identity{} // names repeat on every device
	c := &counters{byMetric: map[string][]*series{}}
	for i := range facts {
		f := &facts[i]
		if f.Value.Kind() != fact.Uint {
			continue
		}
		name, counter := strings.CutPrefix(f.Key, "counter.")
		kept, ofSwitch := switchCounters[f.Key]
		if !counter && !ofSwitch {
			continue
		}
		k := key{f.Subject, name}
		s := at[k]
		if s == nil {
			s = &series{subject: f.Subject, name: name, bits: 64}
			if ofSwitch {
				s.metric, s.labels = kept.metric, kept.labelsOf(f.Subject)
			} else {
				id, ok := known[name]
				if !ok {
					id = identify(name)
					known[name] = id
				}
				s.metric, s.labels, s.gauge, s.bits = id.metric, id.labels, id.gauge, id.bits
			}
			at[k] = s
			c.series = append(c.series, s)
		}
		s.readings = append(s.readings, f)
	}
	c.order()
	return c
}

// A switchKey is the metric that a key of switch outputs counts.
type switchKey struct{ metric, direction string }

// switchCounters are the keys of switch outputs that count.
var switchCounters = map[string]switchKey{
	"pfc.rx_frames":            {"roce_switch_pfc_pause_frames_total", "rx"},
	"pfc.tx_frames":            {"roce_switch_pfc_pause_frames_total", "tx"},
	"pfc.rx_pause_time":        {"roce_switch_pfc_pause_duration_total", "rx"},
	"pfc.tx_pause_time":        {"roce_switch_pfc_pause_duration_total", "tx"},
	"pfc.rx_transitions":       {"roce_switch_pfc_pause_transitions_total", "rx"},
	"pause.rx_frames":          {"roce_switch_global_pause_frames_total", "rx"},
	"pause.tx_frames":          {"roce_switch_global_pause_frames_total", "tx"},
	"port.rx_bytes":            {"roce_switch_port_bytes_total", "rx"},
	"port.tx_bytes":            {"roce_switch_port_bytes_total", "tx"},
	"port.rx_packets":          {"roce_switch_port_packets_total", "rx"},
	"port.tx_packets":          {"roce_switch_port_packets_total", "tx"},
	"port.rx_errors":           {"roce_switch_port_errors_total", "rx"},
	"port.tx_errors":           {"roce_switch_port_errors_total", "tx"},
	"port.rx_drops":            {"roce_switch_port_discards_total", "rx"},
	"port.tx_drops":            {"roce_switch_port_discards_total", "tx"},
	"queue.packets":            {"roce_switch_queue_packets_total", ""},
	"queue.bytes":              {"roce_switch_queue_bytes_total", ""},
	"queue.drop_packets":       {"roce_switch_queue_dropped_packets_total", ""},
	"queue.ecn_marked_packets": {"roce_switch_queue_ecn_marked_packets_total", ""},
	"queue.wred_drop_packets":  {"roce_switch_queue_wred_dropped_packets_total", ""},
	"pg.drop_packets":          {"roce_switch_pg_dropped_packets_total", ""},
	"fec.uncorrected":          {"roce_switch_fec_uncorrected_frames_total", ""},
	"fec.corrected":            {"roce_switch_fec_corrected_frames_total", ""},
	"watchdog.storms":          {"roce_switch_pfc_watchdog_events_total", ""},
	"watchdog.tx_drops":        {"roce_switch_pfc_watchdog_dropped_packets_total", "tx"},
	"watchdog.rx_drops":        {"roce_switch_pfc_watchdog_dropped_packets_total", "rx"},
}

// labelsOf gives a switch's counter the labels of the metric table: the
// priority or queue stands in the subject's name behind the port's.
func (k switchKey) labelsOf(s fact.Subject) map[string]string {
	l := map[string]string{"direction": k.direction, "port": s.Name}
	if i := strings.LastIndexByte(s.Name, '/'); s.Kind == fact.Queue && i > 0 {
		number := strings.TrimPrefix(strings.TrimPrefix(s.Name[i+1:], "PG"), "UC")
		l["port"], l["priority"], l["queue"] = s.Name[:i], number, number
	}
	return l
}

// order sorts the series and decides which readings are of one device.
func (c *counters) order() {
	slices.SortFunc(c.series, func(a, b *series) int {
		return cmp.Or(strings.Compare(a.subject.Host, b.subject.Host), strings.Compare(a.subject.Name, b.subject.Name), cmp.Compare(a.subject.Kind, b.subject.Kind), strings.Compare(a.name, b.name))
	})
	for i := 0; i < len(c.series); {
		j := i
		for j < len(c.series) && c.series[j].subject == c.series[i].subject {
			j++
		}
		if two, backwards := snapshots(c.series[i:j]); two {
			c.windows = true
			for _, s := range c.series[i:j] {
				if s.window = true; backwards {
					slices.Reverse(s.readings)
				}
			}
		}
		i = j
	}
	for _, s := range c.series {
		if s.metric != "" {
			c.byMetric[s.metric] = append(c.byMetric[s.metric], s)
		}
	}
}

// An identity is the metric that a vendor's counter is.
type identity struct {
	metric string
	labels map[string]string // shared by all series of the name
	gauge  bool
	bits   uint8
}

// identify finds the metric that a vendor's counter is.
func identify(name string) identity {
	for _, family := range families {
		if src, ok := telemetry.Vendor(family, name); ok {
			m := telemetry.Table()[src.Metric]
			id := identity{metric: m.Name, labels: map[string]string{}, gauge: m.Kind != telemetry.Counter, bits: m.Bits}
			for _, l := range src.Labels {
				id.labels[l.Name] = l.Value
			}
			return id
		}
	}
	return identity{bits: 64}
}

// snapshots reports whether the readings of a device are of that device at
// two or more times, rather than of two machines whose sources name no host:
// then one has all counters at or above the other's, which also tells which
// is the later one, in whatever order they were given.
func snapshots(list []*series) (two, backwards bool) {
	up, down, twice := 0, 0, 0
	for _, s := range list {
		if len(s.readings) < 2 || s.gauge {
			continue
		}
		twice++
		first, last := whole(s.readings[0]), whole(s.readings[len(s.readings)-1])
		switch {
		case last > first:
			up++
		case last < first:
			down++
		}
	}
	// A single counter that wrapped or was reset may go against the rest.
	return twice > 0 && min(up, down)*10 <= max(up, down), down > up
}

// rose returns the series among several metrics that rose between readings.
func (c *counters) rose(metrics ...string) []*series {
	var out []*series
	for _, m := range metrics {
		for _, s := range c.byMetric[m] {
			if d, ok := s.moved(); ok && d > 0 && !s.gauge {
				out = append(out, s)
			}
		}
	}
	return out
}

// ever returns the series among several metrics that stand above zero: of
// what time is unknown.
func (c *counters) ever(metrics ...string) []*series {
	var out []*series
	for _, m := range metrics {
		for _, s := range c.byMetric[m] {
			if s.last() > 0 {
				out = append(out, s)
			}
		}
	}
	return out
}

// at returns the series of a metric about one subject. A large cluster has the
// same trouble at thousands of ports: looking through all series for each of
// them would take its square.
func (c *counters) at(metric string, subject fact.Subject) []*series {
	by := c.bySubject[metric]
	if by == nil {
		by = map[fact.Subject][]*series{}
		for _, s := range c.byMetric[metric] {
			by[s.subject] = append(by[s.subject], s)
		}
		if c.bySubject == nil {
			c.bySubject = map[string]map[fact.Subject][]*series{}
		}
		c.bySubject[metric] = by
	}
	return by[subject]
}

// total returns the sum of the differences of series.
func total(list []*series) uint64 {
	sum := uint64(0)
	for _, s := range list {
		d, _ := s.moved()
		sum += d
	}
	return sum
}

// A node is a machine with all its series: rules that join pause, marks and
// stalls look at one host, whose parts have names of their own (eth2, mlx5_0).
type node struct {
	name   string
	isHost bool
	byKind map[string][]*series // by metric
}

// nodes groups the series by machine, hosts apart from switches.
func (c *counters) nodes() []*node {
	at := map[string]*node{}
	var out []*node
	for _, s := range c.series {
		if s.metric == "" {
			continue
		}
		isHost := s.subject.Kind == fact.NIC || s.subject.Kind == fact.Host || s.subject.Kind == fact.PCI
		key := s.subject.Host
		if isHost {
			key = "h" + key
		} else {
			key = "s" + key
		}
		n := at[key]
		if n == nil {
			n = &node{name: s.subject.Host, isHost: isHost, byKind: map[string][]*series{}}
			at[key] = n
			out = append(out, n)
		}
		n.byKind[s.metric] = append(n.byKind[s.metric], s)
	}
	return out
}

// of returns the series of a metric whose labels have the values given in
// pairs.
func (n *node) of(metric string, labels ...string) []*series {
	var out []*series
next:
	for _, s := range n.byKind[metric] {
		for i := 0; i+1 < len(labels); i += 2 {
			if s.labels[labels[i]] != labels[i+1] {
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

// measured reports whether any of the series was read twice.
func measured(list []*series) bool {
	return slices.ContainsFunc(list, func(s *series) bool { _, ok := s.moved(); return ok })
}

// rising keeps the series that rose.
func rising(list []*series) []*series {
	return slices.DeleteFunc(slices.Clone(list), func(s *series) bool { d, ok := s.moved(); return !ok || d == 0 })
}

// standing keeps the series above zero in a single reading.
func standing(list []*series) []*series {
	return slices.DeleteFunc(slices.Clone(list), func(s *series) bool { return s.last() == 0 })
}
