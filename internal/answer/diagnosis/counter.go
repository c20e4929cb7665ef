package diagnosis

import (
	"slices"
	"sort"
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
}

// last returns the newest reading.
func (s *series) last() uint64 { return whole(s.readings[len(s.readings)-1]) }

// moved returns by how much the counter rose over its readings, and whether
// there are at least two of them. Wraps and resets are taken out.
func (s *series) moved() (uint64, bool) {
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

// priority returns the priority label, none where there is none.
func (s *series) priority() int {
	if p := s.labels["priority"]; len(p) == 1 && p[0] >= '0' && p[0] <= '7' {
		return int(p[0] - '0')
	}
	return none
}

// counters holds all series, sorted by subject and name.
type counters struct {
	series   []*series
	byMetric map[string][]*series
	windows  bool // some device was read twice
}

func countersOf(facts []fact.Fact) *counters {
	type key struct {
		subject fact.Subject
		name    string
	}
	at := map[key]*series{}
	c := &counters{byMetric: map[string][]*series{}}
	for i := range facts {
		f := &facts[i]
		name, ok := strings.CutPrefix(f.Key, "counter.")
		if !ok || f.Value.Kind() != fact.Uint {
			continue
		}
		k := key{f.Subject, name}
		s := at[k]
		if s == nil {
			s = &series{subject: f.Subject, name: name, bits: 64}
			s.identify()
			at[k] = s
			c.series = append(c.series, s)
		}
		s.readings = append(s.readings, f)
	}
	c.order()
	return c
}

// order sorts the series and decides which readings are of one device.
func (c *counters) order() {
	sort.Slice(c.series, func(i, j int) bool {
		a, b := c.series[i], c.series[j]
		if a.subject != b.subject {
			return a.subject.String() < b.subject.String()
		}
		return a.name < b.name
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

// identify finds the metric that a vendor's counter is.
func (s *series) identify() {
	for _, family := range families {
		if src, ok := telemetry.Vendor(family, s.name); ok {
			m := telemetry.Table()[src.Metric]
			s.metric, s.gauge, s.bits = m.Name, m.Kind != telemetry.Counter, m.Bits
			s.labels = map[string]string{}
			for _, l := range src.Labels {
				s.labels[l.Name] = l.Value
			}
			return
		}
	}
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

// of returns the series of a metric whose labels have the values given in pairs.
func (c *counters) of(metric string, labels ...string) []*series {
	var out []*series
next:
	for _, s := range c.byMetric[metric] {
		for i := 0; i+1 < len(labels); i += 2 {
			if s.labels[labels[i]] != labels[i+1] {
				continue next
			}
		}
		out = append(out, s)
	}
	return out
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

// total returns the sum of the differences of series.
func total(list []*series) uint64 {
	sum := uint64(0)
	for _, s := range list {
		d, _ := s.moved()
		sum += d
	}
	return sum
}

// on keeps the series of one device or of a device that may be the same.
func on(list []*series, subject fact.Subject) []*series {
	return slices.DeleteFunc(slices.Clone(list), func(s *series) bool {
		return !sameHost(s.subject, subject) || s.subject.Kind != subject.Kind
	})
}
