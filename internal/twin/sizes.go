package twin

import (
	"context"
	"errors"
	"sync"
	"time"

	"weir/internal/cluster"
	"weir/internal/twin/plan"
	"weir/internal/twin/sim"
	"weir/units"
)

// Run simulates all jobs of the cluster packet by packet until they are done,
// or until ctx ends: then it returns what is known so far, marked as
// Interrupted.
//
// A training job runs as RunTraining says.
//
// Each size of a collective that is the only job is a simulation of its own,
// on queue pairs that have seen no congestion: its row is the same whatever
// other sizes are asked for, and sizes can run side by side.
func Run(ctx context.Context, c *cluster.Cluster, o Options) (*Result, error) {
	if len(c.Jobs) == 0 {
		return nil, errors.New("the cluster has no job to run")
	}
	for i := range c.Jobs {
		if c.Jobs[i].Kind == cluster.TrainingJob {
			return runTraining(ctx, c, o)
		}
	}
	return runJobs(ctx, c, o)
}

// runJobs runs collectives and flows.
func runJobs(ctx context.Context, c *cluster.Cluster, o Options) (*Result, error) {
	parts, err := split(c)
	if err != nil {
		return nil, err
	}
	how, twice, err := choose(parts, &o)
	if err != nil {
		return nil, err
	}
	workers := max(o.Workers, 1)
	if o.Sample != nil || o.Prepare != nil {
		workers = 1 // they see one simulator after the other
	}
	share, err := newShares(parts, &o)
	if err != nil {
		return nil, err
	}
	var begin time.Time
	if o.Now != nil {
		begin = o.Now()
	}
	results := make([]part, len(parts))
	simulateParts(ctx, parts, results, workers, func(i int) Options {
		own := o
		own.Progress = share.of(i)
		own.Fidelity = how[i]
		return own
	})
	result, err := merge(results)
	if err != nil {
		return nil, err
	}
	if twice >= 0 && results[twice].result != nil && ctx.Err() == nil {
		if result.Compared, err = both(ctx, parts[twice], &o, results[twice].result); err != nil {
			return nil, err
		}
	}
	result.Engine.Wall = since(o.Now, begin)
	return result, nil
}

// part is what one simulation gave.
type part struct {
	result  *Result
	latency *sim.Histogram
	err     error
}

// split returns a cluster for each size, which differ in the job alone.
func split(c *cluster.Cluster) ([]*cluster.Cluster, error) {
	if len(c.Jobs) != 1 || c.Jobs[0].Kind != cluster.CollectiveJob {
		return []*cluster.Cluster{c}, nil
	}
	p, err := plan.New(c, &c.Jobs[0])
	if err != nil {
		return nil, err
	}
	var parts []*cluster.Cluster
	for _, size := range p.Sizes() {
		own := *c
		own.Jobs = []cluster.Job{c.Jobs[0]}
		own.Jobs[0].Begin, own.Jobs[0].End = size, size
		parts = append(parts, &own)
	}
	return parts, nil
}

// simulateParts runs the parts on so many workers. With one they go in order;
// with more the last, largest ones go first, so that no worker is left with a
// large one at the end.
func simulateParts(ctx context.Context, parts []*cluster.Cluster, results []part, workers int, options func(int) Options) {
	todo := make(chan int, len(parts))
	for i := range parts {
		if workers > 1 {
			i = len(parts) - 1 - i
		}
		todo <- i
	}
	close(todo)
	var all sync.WaitGroup
	for range min(workers, len(parts)) {
		all.Go(func() {
			for i := range todo {
				if ctx.Err() != nil {
					continue
				}
				o := options(i)
				r := &results[i]
				r.result, r.latency, r.err = one(ctx, parts[i], &o)
			}
		})
	}
	all.Wait()
}

// merge puts the results of parts together in their order. Rates and shares
// are over the time of all parts; the busiest link of a tier is that of the
// part in which it was busiest.
func merge(parts []part) (*Result, error) {
	if len(parts) == 1 {
		return parts[0].result, parts[0].err
	}
	out := &Result{}
	var latency sim.Histogram
	for i := range parts {
		p := &parts[i]
		if p.err != nil {
			return nil, p.err
		}
		if p.result == nil { // not begun when ctx ended
			out.Interrupted = true
			continue
		}
		r := p.result
		out.Network.add(&r.Network, out.Simulated, r.Simulated)
		out.Collectives = append(out.Collectives, r.Collectives...)
		out.Iterations = append(out.Iterations, r.Iterations...)
		out.Flows = append(out.Flows, r.Flows...)
		out.Engine.Events += r.Engine.Events
		out.Engine.PacketHops += r.Engine.PacketHops
		out.Simulated += r.Simulated
		out.Interrupted = out.Interrupted || r.Interrupted
		if out.Stalled == "" {
			out.Stalled = r.Stalled
		}
		latency.Add(p.latency)
	}
	out.Messages = latencyOf(&latency)
	return out, nil
}

func latencyOf(h *sim.Histogram) Latency {
	return Latency{P50: h.Quantile(0.5), P99: h.Quantile(0.99), Count: h.Count}
}

// add joins what another part's network counted, over a time that follows.
func (n *Network) add(m *Network, before, span units.Time) {
	if n.Tiers == nil {
		n.Tiers = append(n.Tiers, m.Tiers...)
	} else {
		a, b := float64(before), float64(span)
		mean := func(x, y float64) float64 { return (x*a + y*b) / max(1, a+b) }
		for i := range min(len(n.Tiers), len(m.Tiers)) {
			t, u := &n.Tiers[i], &m.Tiers[i]
			t.UtilisationMean = mean(t.UtilisationMean, u.UtilisationMean)
			t.PauseShare = mean(t.PauseShare, u.PauseShare)
			t.UtilisationMax = max(t.UtilisationMax, u.UtilisationMax)
			t.ECNMarked += u.ECNMarked
			t.PauseFrames += u.PauseFrames
		}
	}
	t, u := &n.Totals, &m.Totals
	t.Drops += u.Drops
	t.LosslessDrops += u.LosslessDrops
	t.PFCPauseFrames += u.PFCPauseFrames
	t.PFCResumeFrames += u.PFCResumeFrames
	t.ECNMarkedPackets += u.ECNMarkedPackets
	t.CNPs += u.CNPs
	t.RetransmittedPackets += u.RetransmittedPackets
	t.DataPackets += u.DataPackets
	if m.DeepestQueue.Bytes > n.DeepestQueue.Bytes {
		n.DeepestQueue = m.DeepestQueue
	}
	if m.BusiestEgress.Share > n.BusiestEgress.Share {
		n.BusiestEgress = m.BusiestEgress
	}
}

// shares joins the progress of parts, each of which is worth its predicted
// packet-hops.
type shares struct {
	mu     sync.Mutex
	report func(Progress)
	weight []float64
	last   []Progress
	all    float64
}

func newShares(parts []*cluster.Cluster, o *Options) (*shares, error) {
	if o.Progress == nil {
		return nil, nil
	}
	s := &shares{report: o.Progress, last: make([]Progress, len(parts))}
	for _, c := range parts {
		hops, err := PredictHops(c)
		if err != nil {
			return nil, err
		}
		s.weight = append(s.weight, max(hops, 1))
		s.all += max(hops, 1)
	}
	return s, nil
}

// of returns the progress callback of one part; nil where nobody asks.
func (s *shares) of(i int) func(Progress) {
	if s == nil {
		return nil
	}
	return func(p Progress) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.last[i] = p
		var sum Progress
		for j := range s.last {
			q := &s.last[j]
			sum.Now += q.Now
			sum.Events += q.Events
			sum.PacketHops += q.PacketHops
			sum.Messages += q.Messages
			sum.Completed += q.Completed
			sum.Share += q.Share * s.weight[j] / s.all
		}
		s.report(sum)
	}
}
