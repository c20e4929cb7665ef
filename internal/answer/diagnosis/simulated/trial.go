package simulated

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"weir/internal/answer/diagnosis"
	"weir/internal/cause"
	"weir/internal/cluster"
	"weir/internal/telemetry"
	"weir/internal/twin"
	"weir/internal/twin/fault"
	"weir/internal/twin/observe"
	"weir/units"
)

// A Trial is one run with a fault, diagnosed.
type Trial struct {
	Fault    cluster.Fault
	File     string  // the cluster file
	Drop     float64 // share of the job's rate that the fault costs
	Findings []diagnosis.Finding
	Stalled  bool
}

// bed is a cluster with its healthy run.
type bed struct {
	text    string
	c       *cluster.Cluster
	healthy float64 // seconds of the job
	every   units.Time
}

func newBed(ctx context.Context, r *rand.Rand) (*bed, error) {
	b := &bed{text: shape(r)}
	f, err := cluster.Parse("trial.yaml", []byte(b.text), nil)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, b.text)
	}
	b.c = f.Cluster
	o, err := observe.Run(ctx, b.c, observe.Options{})
	if err != nil {
		return nil, err
	}
	b.healthy, _ = jobTime(o.Result)
	// Five seconds of sampling on a run of a quarter of an hour.
	b.every = max(units.Time(b.healthy*float64(units.Second)/20), units.Microsecond)
	return b, nil
}

// jobTime is when the last flow of the first job was done, in seconds, and
// whether all were.
func jobTime(r *twin.Result) (float64, bool) {
	last, all := units.Time(0), r.Stalled == ""
	for i := range r.Flows {
		f := &r.Flows[i]
		if f.FCT == 0 {
			all = false
		}
		last = max(last, f.Start+f.FCT)
	}
	if !all {
		last = max(last, r.Simulated)
	}
	return last.Seconds(), all
}

// with returns the cluster with faults.
func (b *bed) with(faults ...cluster.Fault) *cluster.Cluster {
	c := *b.c
	c.Faults = faults
	return &c
}

// place draws a place that a fault can have.
func (b *bed) place(r *rand.Rand, k *fault.Kind) string {
	c := b.c
	kind := k.Places[r.IntN(len(k.Places))]
	// Faults of one card or link are the rule; the whole fabric at once is a
	// roll-out gone wrong.
	for try := 0; kind == cluster.FabricPlace && len(k.Places) > 1 && try < 3; try++ {
		kind = k.Places[r.IntN(len(k.Places))]
	}
	host := func() *cluster.Host { return &c.Hosts[r.IntN(len(c.Hosts))] }
	link := func(between bool) (a, z cluster.NodeID) {
		for {
			l := &c.Links[r.IntN(len(c.Links))]
			a, z = c.Ports[l.A].Node, c.Ports[l.B].Node
			if !between || c.Nodes[a].Kind == cluster.SwitchNode && c.Nodes[z].Kind == cluster.SwitchNode {
				return a, z
			}
		}
	}
	switch kind {
	case cluster.FabricPlace:
		return "fabric"
	case cluster.NodePlace:
		if switchFault(k) || r.IntN(2) == 0 && !hostFault(k) {
			for {
				if n := &c.Nodes[r.IntN(len(c.Nodes))]; n.Kind == cluster.SwitchNode && (k.ID != "ecmp-collision" && k.ID != "reordering" || n.Tier == 1) {
					return n.Name
				}
			}
		}
		return c.Nodes[host().Node].Name
	case cluster.NICPlace:
		h := host()
		return c.Nodes[h.Node].Name + "/" + h.NICs[r.IntN(len(h.NICs))].Name
	case cluster.PortPlace:
		for {
			l := &c.Links[r.IntN(len(c.Links))]
			for _, p := range []cluster.PortID{l.A, l.B} {
				if n := &c.Nodes[c.Ports[p].Node]; n.Kind == cluster.SwitchNode && r.IntN(2) == 0 {
					return n.Name + "/" + c.Ports[p].Name
				}
			}
		}
	}
	a, z := link(k.ID == "pfc-deadlock" || r.IntN(2) == 0)
	return c.Nodes[a].Name + "~" + c.Nodes[z].Name
}

// switchFault and hostFault tell whose nodes a fault with NodePlace means.
func switchFault(k *fault.Kind) bool {
	switch k.ID {
	case "ecn-threshold-too-low", "ecn-threshold-too-high", "ecn-not-configured", "wred-drops-before-pfc", "ecmp-collision", "reordering", "headroom-too-small":
		return true
	}
	return false
}

func hostFault(k *fault.Kind) bool {
	switch k.ID {
	case "pfc-storm", "receiver-slow-pause", "incast", "congestion-control-off", "cnp-in-wrong-queue", "fixed-source-port", "lag-single-qp", "pcie-degraded", "gdr-inactive-no-peermem", "slow-node":
		return true
	}
	return false
}

// draw draws a fault of a kind with a severity that costs the job 5 to 50 % of
// its rate, if there is one: places and severities are drawn anew, up to
// maxDraws times. It returns the run that came closest.
func (b *bed) draw(ctx context.Context, r *rand.Rand, k *fault.Kind) (cluster.Fault, *observe.Observation, float64, error) {
	const maxDraws = 6
	var best cluster.Fault
	var seen *observe.Observation
	drop, off := 0.0, 2.0
	var last error
	for n := range maxDraws {
		f := cluster.Fault{ID: k.ID, Place: b.place(r, k), Severity: -1}
		if k.Severity != "" {
			f.Severity = math.Exp(math.Log(0.004) * r.Float64())
			if n == maxDraws-1 && drop < 0.05 { // nothing cost enough: as bad as it gets by default
				f.Severity = k.Default
			}
		}
		c := b.with(f)
		if last = fault.Check(c, &f); last != nil {
			continue
		}
		o, err := b.observe(ctx, c)
		if err != nil {
			last = err // such as a cable that leaves no path
			continue
		}
		t, _ := jobTime(o.Result)
		d := 1 - b.healthy/max(t, 1e-12)
		away := 0.0
		switch {
		case d < 0.05:
			away = 0.05 - d
		case d > 0.5:
			away = (d - 0.5) / 10 // rather too much than nothing
		}
		if away < off || n == maxDraws-1 && off > 0 && drop < 0.05 {
			best, seen, drop, off = f, o, d, away
		}
		if away == 0 {
			break
		}
	}
	if seen == nil {
		return best, nil, 0, fmt.Errorf("no place for %s: %w", k.ID, last)
	}
	return best, seen, drop, nil
}

// observe runs a cluster until its job is done or, where a fault keeps it from
// that, for three times as long as the healthy one took and a few timeouts.
func (b *bed) observe(ctx context.Context, c *cluster.Cluster) (*observe.Observation, error) {
	limit := units.Time(b.healthy*3*float64(units.Second)) + 6*units.Millisecond
	return observe.Run(ctx, c, observe.Options{Every: b.every, For: limit})
}

// blind hides the counters of a share of the ports, of switches and cards: no
// collector reads them. Settings are known from configurations all the same.
type blind struct {
	ports map[string]bool // "leaf-0/port-3", "host-2/mlx5_0"
}

const hiddenShare = 0.3

func newBlind(r *rand.Rand, c *cluster.Cluster) *blind {
	b := &blind{ports: map[string]bool{}}
	for i := range c.Ports {
		p := &c.Ports[i]
		if r.Float64() >= hiddenShare {
			continue
		}
		n := &c.Nodes[p.Node]
		name := n.Name + "/" + p.Name
		if n.Kind == cluster.HostNode && p.NIC >= 0 {
			nic := &c.Hosts[n.Host].NICs[p.NIC]
			b.ports[n.Name+"/"+nic.Device], b.ports[n.Name+"/"+nic.Name] = true, true
		}
		b.ports[name] = true
	}
	return b
}

// hides reports whether a series is one of an invisible port.
func (b *blind) hides(reg *telemetry.Registry) func(uint32) bool {
	hidden := make([]bool, reg.Len())
	for n := range hidden {
		id := uint32(n)
		if sw := reg.Label(id, "switch"); sw != "" {
			hidden[n] = b.ports[sw+"/"+reg.Label(id, "port")]
		} else if host := reg.Label(id, "instance"); host != "" {
			hidden[n] = b.ports[host+"/"+reg.Label(id, "device")] || b.ports[host+"/"+reg.Label(id, "netdev")]
		}
	}
	return func(n uint32) bool { return hidden[n] }
}

// diagnose diagnoses a run as an operator's tools would have seen it: without
// the hidden ports, and with one device whose counters restarted in the window,
// so that of each only the part after that is known.
func diagnose(r *rand.Rand, c *cluster.Cluster, o *observe.Observation, catalogue *cause.Catalogue) []diagnosis.Finding {
	b := newBlind(r, c)
	hidden := b.hides(o.Registry)
	w := o.Windows[len(o.Windows)-1]
	restarted, since := c.Nodes[r.IntN(len(c.Nodes))].Name, r.Float64()
	seen := diagnosis.Window{Name: "simulation", Registry: o.Registry}
	for n := range uint32(o.Registry.Len()) {
		if hidden(n) {
			continue
		}
		low, high, last, ok := w.Range(n)
		if !ok {
			continue
		}
		k := diagnosis.Counter{Series: n, Seconds: (w.To - w.From).Seconds(), Last: last}
		d, known := w.Delta(n)
		k.Moved, k.Known = d.Value, known
		if o.Registry.Metric(n).Kind != telemetry.Counter {
			k.Last, k.Mean = high, float64(low+high)/2
		} else if o.Registry.Label(n, "switch") == restarted || o.Registry.Label(n, "instance") == restarted {
			k.Moved = uint64(float64(k.Moved) * since)
		}
		seen.Counters = append(seen.Counters, k)
	}
	return diagnosis.RunWindow(o.Facts, seen, catalogue, cause.English)[0].Findings
}

func observeHealthy(ctx context.Context, b *bed) (*observe.Observation, error) {
	return observe.Run(ctx, b.c, observe.Options{Every: b.every})
}
