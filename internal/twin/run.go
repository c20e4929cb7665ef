package twin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/cluster"
	"weir/internal/twin/fault"
	"weir/internal/twin/plan"
	"weir/internal/twin/sim"
	"weir/units"
)

// Options of a run. The zero value runs the cluster's jobs with its own seed.
type Options struct {
	Seed  uint64 // 0: the cluster's
	Check bool   // prove the simulator's invariants while it runs (slower)

	// Fidelity is how finely the run is simulated; empty: by packets.
	Fidelity Fidelity

	// Workers is how many sizes of a collective may be simulated at once; 0: 1.
	// The result does not depend on it.
	Workers int

	// Now is the clock by which Engine.Wall is measured; nil: not measured.
	Now func() time.Time

	// Progress, if set, is called about every million events.
	Progress func(Progress)

	// Sample, if set, is called every SampleEvery of simulated time, and once
	// at the end, with the simulator between two events. Each size of a
	// collective has a simulator of its own, one after the other.
	Sample      func(*sim.Sim) error
	SampleEvery units.Time

	// Prepare, if set, is called once all jobs are added, before time 0.
	Prepare func(*sim.Sim) error

	// Configure, if set, may change the simulator's settings.
	Configure func(*sim.Config)
}

// Progress tells how far a run is. Share is an estimate from 0 to 1.
type Progress struct {
	sim.Progress
	Share float64
}

// one simulates the jobs of a cluster side by side from their start times on,
// until they are done or ctx ends.
func one(ctx context.Context, c *cluster.Cluster, o *Options) (*Result, *sim.Histogram, error) {
	if o.Fidelity == Flows {
		r, err := fluid(ctx, c, o)
		return r, &sim.Histogram{}, err
	}
	if reduces, err := Reduces(c); err != nil {
		return nil, nil, err
	} else if reduces {
		r, err := reduced(c, o)
		return r, &sim.Histogram{}, err
	}
	c = fault.Physical(c)
	cfg := sim.Config{Cluster: c, Seed: o.Seed, Check: o.Check}
	if o.Configure != nil {
		o.Configure(&cfg)
	}
	if o.Progress != nil {
		hops, err := PredictHops(c)
		if err != nil {
			return nil, nil, err
		}
		cfg.Progress = func(p sim.Progress) {
			o.Progress(Progress{p, min(1, float64(p.PacketHops)/max(1, hops))})
		}
	}
	r := &run{cluster: c}
	if together(c) {
		cfg.FlowDone = r.flowDone
	}
	s, err := sim.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	r.sim = s
	if err := r.add(); err != nil {
		return nil, nil, err
	}
	if err := fault.Inject(s, c); err != nil {
		return nil, nil, err
	}
	if o.Prepare != nil {
		if err := o.Prepare(s); err != nil {
			return nil, nil, err
		}
	}
	err = r.simulate(ctx, o)
	stalled := errors.Is(err, sim.ErrStalled)
	if err != nil && !stalled && (ctx.Err() == nil || !errors.Is(err, ctx.Err())) {
		return nil, nil, err
	}
	result := r.result()
	if stalled {
		result.Stalled = err.Error()
	} else {
		result.Interrupted = err != nil
	}
	return result, s.Latency(), nil
}

// run is a simulation with the numbers of its jobs there.
type run struct {
	cluster     *cluster.Cluster
	sim         *sim.Sim
	collectives []collectiveJob
	flows       []flowJob
	allFlows    *Egress // the busiest egress while all flows lasted
}

// together tells whether the cluster's only work is flows of one size that
// start together, as in an incast or a permutation.
func together(c *cluster.Cluster) bool {
	for i := range c.Jobs {
		job := &c.Jobs[i]
		if job.Kind != cluster.FlowJob || len(job.Flows) == 0 || i > 0 {
			return false
		}
		for _, f := range job.Flows {
			if f.Bytes != job.Flows[0].Bytes || f.Start != job.Flows[0].Start {
				return false
			}
		}
	}
	return true
}

// flowDone looks at the egresses when the first of flows that started together
// is done: what a port carries while the last ones trickle out says little.
func (r *run) flowDone(id sim.FlowID) {
	if r.allFlows != nil {
		return
	}
	f := r.sim.Flow(id)
	n := Observe(r.cluster, r.sim, f.Done-f.Start, r.sim.Wire())
	r.allFlows = &n.BusiestEgress
}

type collectiveJob struct {
	job  *cluster.Job
	plan *plan.Plan
	id   int
}

type flowJob struct {
	flow cluster.Flow
	id   sim.FlowID
}

// add gives the simulator the cluster's jobs.
func (r *run) add() error {
	for i := range r.cluster.Jobs {
		job := &r.cluster.Jobs[i]
		if job.Kind == cluster.CollectiveJob {
			p, err := plan.New(r.cluster, job)
			if err != nil {
				return err
			}
			id, err := r.sim.AddCollective(p, job.Start)
			if err != nil {
				return err
			}
			r.collectives = append(r.collectives, collectiveJob{job, p, id})
			continue
		}
		for _, f := range job.Flows {
			id, err := r.sim.AddFlow(sim.Flow{Src: f.Src, Dst: f.Dst, Bytes: f.Bytes, Start: job.Start + f.Start, Priority: job.Priority, TCP: job.Transport == cluster.TCP})
			if err != nil {
				return fmt.Errorf("job %s: %w", job.Name, err)
			}
			r.flows = append(r.flows, flowJob{f, id})
		}
	}
	return nil
}

// iterations returns how long each iteration of a finished run took.
func iterations(k *sim.CollectiveRun) []units.Time {
	out := make([]units.Time, len(k.Ends))
	last := k.Start
	for i, end := range k.Ends {
		out[i] = end - last
		last = end
	}
	return out
}

func (r *run) simulate(ctx context.Context, o *Options) error {
	if o.Sample == nil {
		return r.sim.Run(ctx, units.Never)
	}
	every := o.SampleEvery
	if every <= 0 {
		every = 100 * units.Microsecond
	}
	for until := every; ; until += every {
		if err := r.sim.Run(ctx, until); err != nil {
			return errors.Join(err, o.Sample(r.sim))
		}
		if err := o.Sample(r.sim); err != nil {
			return err
		}
		if !r.sim.Working() {
			return nil
		}
	}
}

// result collects what the run tells.
func (r *run) result() *Result {
	s := r.sim
	engine := s.Engine()
	out := &Result{
		Simulated: s.Now(),
		Engine:    Engine{PacketHops: engine.PacketHops, Events: engine.Events},
	}
	first, last := units.Never, units.Time(0)
	open := false
	for _, j := range r.collectives {
		runs := s.CollectiveRuns(j.id)
		for i := range runs {
			k := &runs[i]
			first, last = min(first, k.Start), max(last, k.End)
			out.Collectives = append(out.Collectives, Collective{
				Job: j.job.Name, Op: j.job.Op, Algorithm: k.Choice.Algorithm, Protocol: k.Choice.Protocol,
				Channels: k.Channels, Bytes: k.Bytes, Ranks: j.plan.Ranks, Time: k.Time(), Fidelity: "packet", CPUShare: k.CPUShare,
			})
			out.Iterations = append(out.Iterations, iterations(k))
		}
		if len(runs) < len(j.plan.Sizes()) {
			open = true
			first = min(first, j.job.Start)
		}
	}
	for i, j := range r.flows {
		f := s.Flow(j.id)
		row := Flow{ID: i, Src: NICName(r.cluster, f.Src), Dst: NICName(r.cluster, f.Dst), Bytes: f.Bytes, Start: f.Start}
		if f.Sent != units.Never {
			row.Start = f.Sent
		}
		first = min(first, row.Start)
		if f.Done != units.Never {
			row.FCT = f.Done - f.Sent
			last = max(last, f.Done)
		} else {
			open = true
		}
		out.Flows = append(out.Flows, row)
	}
	if open {
		last = s.Now()
	}
	out.Network = Observe(r.cluster, s, max(0, last-min(first, last)), s.Wire())
	if r.allFlows != nil {
		out.Network.BusiestEgress = *r.allFlows
	}
	out.Messages = latencyOf(s.Latency())
	return out
}
