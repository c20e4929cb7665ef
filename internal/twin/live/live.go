// Package live runs a cluster's jobs on the simulated fabric over and over and
// hands out its counters as a monitored fabric would: once a second, under the
// names of the metric table.
//
// Fabric time is in microseconds, a person's in seconds. The simulation is
// therefore slowed by a fixed factor, and the difference of every counter is
// multiplied by it: a rate computed from the readings is the fabric's own rate.
package live

import (
	"context"
	"errors"
	"time"

	"weir/internal/cluster"
	"weir/internal/telemetry"
	"weir/internal/twin"
	"weir/internal/twin/record"
	"weir/internal/twin/sim"
	"weir/units"
)

// A Reading is one instant. Values are by the series of the registry and valid
// until the callback returns.
type Reading struct {
	At     time.Time
	Fabric units.Time // fabric time since the start, over all rounds
	Values []float64
}

// Options of a live simulation. Cluster, Now, Sleep, Series and Read are
// needed.
type Options struct {
	Cluster *cluster.Cluster

	Every  time.Duration // distance of the readings; 0: 1 s
	Factor int64         // by which fabric time is slowed; 0: Factor(Cluster)

	Now   func() time.Time
	Sleep func(context.Context, time.Duration) error

	Series func(*telemetry.Registry) error // called once, first
	Read   func(Reading) error
	// Done, if set, is told the result of each round.
	Done func(*twin.Result)
}

// cycle is how long a round should last for a person, lead how long a fabric is
// shown healthy before a fault that has no start of its own, and faulty how
// long a round with faults goes on at most.
const (
	cycle  = 60 * time.Second
	lead   = 8 * time.Second
	faulty = 120 * time.Second
)

// hopsPerSecond is what a slow core simulates of the busiest fabric besides
// serving what it reads.
const hopsPerSecond = 1e6

// Run simulates until ctx ends, which is no error.
func Run(ctx context.Context, o Options) error {
	if len(o.Cluster.Jobs) == 0 {
		return errors.New("the cluster has no job to run")
	}
	if o.Every <= 0 {
		o.Every = time.Second
	}
	if o.Factor <= 0 {
		o.Factor = Factor(o.Cluster)
	}
	sampler, registry, err := record.NewSampler(o.Cluster, units.Picosecond)
	if err != nil {
		return err
	}
	if err := o.Series(registry); err != nil {
		return err
	}
	out := newScaler(ctx, &o, registry)
	if err := sampler.Start(out); err != nil {
		return ended(ctx, err)
	}
	for round := uint64(0); ctx.Err() == nil; round++ {
		if err := one(ctx, &o, sampler, round); err != nil {
			return ended(ctx, err)
		}
	}
	return nil
}

// ended forgives the error of a run that was told to stop.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

var errRoundOver = errors.New("round over")

// one runs the jobs once.
func one(ctx context.Context, o *Options, sampler *record.Sampler, round uint64) error {
	c := *o.Cluster
	c.Faults = append([]cluster.Fault(nil), c.Faults...)
	for i := range c.Faults {
		if f := &c.Faults[i]; f.Start == 0 && f.End == 0 {
			f.Start = fabricTime(lead, o.Factor)
		}
	}
	limit := units.Never
	if len(c.Faults) > 0 {
		limit = fabricTime(faulty, o.Factor)
	}
	var spent units.Time // of earlier simulators of the round
	var current *sim.Sim
	var last units.Time
	r, err := twin.Run(ctx, &c, twin.Options{
		Seed:        o.Cluster.Seed + round,
		SampleEvery: fabricTime(o.Every, o.Factor),
		Sample: func(s *sim.Sim) error {
			if s != current {
				current, spent = s, spent+last
			}
			last = s.Now()
			if err := sampler.Sample(s); err != nil {
				return err
			}
			if spent+last >= limit {
				return errRoundOver
			}
			return nil
		},
	})
	if errors.Is(err, errRoundOver) {
		return nil
	}
	if err == nil && o.Done != nil {
		o.Done(r)
	}
	return err
}

// fabricTime is how much fabric time passes in a person's d.
func fabricTime(d time.Duration, factor int64) units.Time {
	return max(units.Time(d.Nanoseconds())*units.Nanosecond/units.Time(factor), units.Nanosecond)
}
