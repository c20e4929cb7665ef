// Package switches reads the counters of switches into the store: by gNMI
// subscription, by SNMP, and from command output over SSH. It only reads.
package switches

import (
	"context"
	"fmt"
	"strings"
	"time"

	"weir/internal/cluster"
	"weir/internal/field/intended"
	"weir/internal/store"
	"weir/internal/telemetry"
)

// A Reading is one value of a port of a switch. Port is the vendor's name;
// Labels are those of the metric beyond switch and port.
type Reading struct {
	Metric telemetry.MetricID
	Port   string
	Labels []telemetry.Label
	Value  uint64
	Bits   uint8 // of the source's counter; 0: the metric's own
}

// maxSeries bounds the series of one switch: 512 ports with 8 queues and 40
// counters each are less.
const maxSeries = 200_000

// A Writer stores the readings of one switch from one kind of source.
type Writer struct {
	store    store.Store
	name     string // of the switch
	source   string // "gnmi", "snmp" or "ssh"
	claims   *Claims
	ports    map[string]string
	peers    map[string]string // by the cluster's name of the port
	series   map[string]*entry
	info     map[string]*entry // the last port_info of a port
	own      map[string]*store.Series
	batch    []store.Point
	gen      uint64
	lastAt   int64
	Dropped  uint64 // readings beyond maxSeries
	cost     cost
	interval time.Duration
}

type entry struct {
	series *store.Series
	ext    telemetry.Extended
	gen    uint64
	ended  bool
}

type cost struct {
	reads, failures uint64
	spent           time.Duration
}

// NewWriter returns a writer for a switch. With a cluster that has the switch
// the vendor's port names become the cluster's; ports names more of them. The
// writers of one switch share claims; nil if there is one only.
func NewWriter(st store.Store, c *cluster.Cluster, name, source string, ports map[string]string, claims *Claims) *Writer {
	w := &Writer{store: st, name: name, source: source, claims: claims, ports: map[string]string{}, peers: map[string]string{}, series: map[string]*entry{}, info: map[string]*entry{}, own: map[string]*store.Series{}}
	if c != nil {
		w.learn(c)
	}
	for vendor, ours := range ports {
		w.ports[vendor] = ours
	}
	return w
}

// learn takes port names and peers from the cluster.
func (w *Writer) learn(c *cluster.Cluster) {
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Kind != cluster.SwitchNode || n.Name != w.name {
			continue
		}
		vendor, err := intended.PortNames(c, cluster.NodeID(i))
		for j, p := range n.Ports {
			ours := c.Ports[p].Name
			if err == nil {
				w.ports[vendor[j]] = ours
			}
			if uint32(c.Ports[p].Peer) != cluster.None {
				peer := &c.Ports[c.Ports[p].Peer]
				w.peers[ours] = c.Nodes[peer.Node].Name + "/" + peer.Name
			}
		}
	}
}

func (w *Writer) port(vendor string) string {
	if ours, ok := w.ports[vendor]; ok {
		return ours
	}
	return vendor
}

var portInfo = telemetry.MustLookup("roce_switch_port_info")

// Begin starts a set of readings: what is not added before the next End with
// all is no longer there.
func (w *Writer) Begin() {
	w.gen++
	w.batch = w.batch[:0]
}

// Add takes a reading.
func (w *Writer) Add(at time.Time, r Reading) {
	if !w.claims.take(r.Metric, w.source, at) {
		return
	}
	port := w.port(r.Port)
	m := &telemetry.Table()[r.Metric]
	if r.Metric == portInfo && w.peers[port] != "" {
		r.Labels = append(r.Labels, telemetry.Label{Name: "peer", Value: w.peers[port]})
	}
	var key strings.Builder
	fmt.Fprintf(&key, "%d %s", r.Metric, port)
	for _, l := range r.Labels {
		key.WriteString("\x00" + l.Name + "=" + l.Value)
	}
	e := w.series[key.String()]
	if e == nil {
		if len(w.series) >= maxSeries || len(port) > 128 {
			w.Dropped++
			return
		}
		pairs := []string{"switch", w.name, "port", port}
		for _, l := range r.Labels {
			pairs = append(pairs, l.Name, l.Value)
		}
		e = &entry{series: store.NewSeries(m.Name, pairs...)}
		w.series[key.String()] = e
	}
	if e.gen == w.gen && !e.ended {
		return // said twice
	}
	e.gen, e.ended = w.gen, false
	v := float64(r.Value)
	if m.Kind == telemetry.Counter {
		if bits := max(r.Bits, 1); r.Bits > 0 && r.Bits < 64 {
			v = float64(e.ext.Add(bits, r.Value))
		}
	}
	w.batch = append(w.batch, store.Point{Series: e.series, At: w.stamp(at), Value: v})
	if r.Metric == portInfo {
		// Another state of the port is another series.
		if old := w.info[port]; old != nil && old != e && !old.ended {
			old.ended = true
			w.batch = append(w.batch, store.Point{Series: old.series, At: w.stamp(at), Value: store.Stale()})
		}
		w.info[port] = e
	}
}

// stamp keeps the times of a switch from running backwards with a clock that
// is set.
func (w *Writer) stamp(at time.Time) int64 {
	w.lastAt = max(w.lastAt, at.UnixMilli())
	return w.lastAt
}

// End stores what was added. With all the set was complete: series that were
// not in it end.
func (w *Writer) End(ctx context.Context, at time.Time, all bool) error {
	if all {
		for _, e := range w.series {
			if e.gen != w.gen && !e.ended {
				e.ended = true
				w.batch = append(w.batch, store.Point{Series: e.series, At: w.stamp(at), Value: store.Stale()})
			}
		}
	}
	_, err := w.store.Append(ctx, w.batch)
	w.batch = w.batch[:0]
	return err
}

// report stores how reading went: up, and what it costs.
func (w *Writer) report(ctx context.Context, at time.Time, up bool) error {
	value := 0.0
	if up {
		value = 1
	}
	for _, p := range []struct {
		name  string
		value float64
	}{
		{"weir_switch_up", value}, {"weir_switch_reads_total", float64(w.cost.reads)}, {"weir_switch_failures_total", float64(w.cost.failures)},
		{"weir_switch_read_seconds_total", w.cost.spent.Seconds()}, {"weir_switch_interval_seconds", w.interval.Seconds()},
	} {
		s := w.own[p.name]
		if s == nil {
			s = store.NewSeries(p.name, "switch", w.name, "source", w.source)
			w.own[p.name] = s
		}
		w.batch = append(w.batch, store.Point{Series: s, At: w.stamp(at), Value: p.value})
	}
	_, err := w.store.Append(ctx, w.batch)
	w.batch = w.batch[:0]
	return err
}
