// Package observe runs a cluster with its faults on the simulated fabric and
// gives what a person in front of it would have: counters over windows of time,
// under the names of the metric table, and what the tools of hosts and switches
// say. It is how diagnosis is tested.
package observe

import (
	"context"

	"weir/internal/cluster"
	"weir/internal/fact"
	"weir/internal/telemetry"
	"weir/internal/twin"
	"weir/internal/twin/fault"
	"weir/internal/twin/record"
	"weir/internal/twin/sim"
	"weir/units"
)

// Options of an observation. The zero value takes one window.
type Options struct {
	// Every is the fabric time between two readings; 0: 50 us.
	Every units.Time
	// Window is the length of a window, in readings; 0: all of the run. Five
	// seconds on a fabric that is read every 10 s are one window of two readings.
	Window int
	// For ends a run that is not done after so much fabric time, as interrupted;
	// 0: 100 ms. (A queue pair that nothing comes back to gives up after half a
	// minute.)
	For units.Time
	// Twin are the options of the run; Sample and SampleEvery are this package's.
	Twin twin.Options
}

// An Observation is what was seen.
type Observation struct {
	Result   *twin.Result
	Registry *telemetry.Registry
	Windows  []*Window // in order of time, never none
	Facts    []fact.Fact
}

// Run simulates a cluster's jobs with its faults. Its errors are twin.Run's.
func Run(ctx context.Context, c *cluster.Cluster, o Options) (*Observation, error) {
	sampler, registry, err := record.NewSampler(c, units.Microsecond)
	if err != nil {
		return nil, err
	}
	every := o.Every
	if every <= 0 {
		every = 50 * units.Microsecond
	}
	out := &windows{registry: registry, length: o.Window, values: make([]uint64, registry.Len())}
	if err := sampler.Start(out); err != nil {
		return nil, err
	}
	run := o.Twin
	limit := o.For
	if limit <= 0 {
		limit = 100 * units.Millisecond
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run.SampleEvery = every
	run.Sample = func(s *sim.Sim) error {
		if s.Now() >= limit {
			cancel()
		}
		return sampler.Sample(s)
	}
	r, err := twin.Run(ctx, c, run)
	if err != nil {
		return nil, err
	}
	return &Observation{Result: r, Registry: registry, Windows: out.list, Facts: fault.Facts(c)}, nil
}

// windows is the sink of the sampler.
type windows struct {
	registry *telemetry.Registry
	length   int
	values   []uint64 // the latest
	at       units.Time
	list     []*Window
}

// A Window is what the readings of one interval say. It implements
// telemetry.Window.
type Window struct {
	From, To units.Time
	readings int
	counters []telemetry.Accumulator
	low      []uint64
	high     []uint64
	last     []uint64
}

func (w *windows) Begin(at units.Time)             { w.at = at }
func (w *windows) Set(series uint32, value uint64) { w.values[series] = value }

func (w *windows) End() error {
	if len(w.list) == 0 {
		w.open()
		return nil
	}
	last := w.list[len(w.list)-1]
	if w.length > 0 && last.readings > w.length {
		last = w.open() // it begins with the reading that the one before ends with
	}
	last.add(w)
	return nil
}

// open begins a window at the latest reading.
func (w *windows) open() *Window {
	n := w.registry.Len()
	next := &Window{From: w.at, counters: make([]telemetry.Accumulator, n), low: make([]uint64, n), high: make([]uint64, n), last: make([]uint64, n)}
	if len(w.list) > 0 {
		before := w.list[len(w.list)-1]
		next.From, next.To, next.readings = before.To, before.To, 1
		for i := range next.counters {
			next.counters[i].Add(w.registry.Metric(uint32(i)).Bits, before.To, before.last[i])
			next.low[i], next.high[i], next.last[i] = before.last[i], before.last[i], before.last[i]
		}
	} else {
		next.add(w)
	}
	w.list = append(w.list, next)
	return next
}

func (n *Window) add(w *windows) {
	for i, v := range w.values {
		n.counters[i].Add(w.registry.Metric(uint32(i)).Bits, w.at, v)
		n.last[i] = v
		if n.readings == 0 {
			n.low[i], n.high[i] = v, v
		}
		n.low[i], n.high[i] = min(n.low[i], v), max(n.high[i], v)
	}
	n.To = w.at
	n.readings++
}

// Delta returns how far a counter moved in the window.
func (n *Window) Delta(series uint32) (telemetry.Delta, bool) { return n.counters[series].Delta() }

// Range returns the lowest, highest and last value of a series in the window.
func (n *Window) Range(series uint32) (low, high, last uint64, ok bool) {
	return n.low[series], n.high[series], n.last[series], n.readings > 0
}
