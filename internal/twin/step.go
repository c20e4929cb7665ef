package twin

import (
	"context"
	"fmt"
	"time"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/training"
	"weir/internal/twin/sim"
	"weir/units"
)

// A Runner runs the jobs of a cluster side by side from time 0: Run does so
// packet by packet, the fluid model in its own way.
type Runner func(context.Context, *cluster.Cluster, Options) (*Result, error)

// RunTraining runs the steps of the cluster's one training job. Each kind of
// communication (dimension, operation, size) is run by itself, all groups of
// its dimension at the same time on the fabric, once for each step; the step is
// then put together from these times and the compute times by the order and the
// dependencies of the job's program. Communications of one dimension follow one
// another, as on a communicator of NCCL. What is left out: dimensions that use
// the same links at the same time do not slow each other down, and all groups
// of a dimension begin together.
func RunTraining(ctx context.Context, c *cluster.Cluster, o Options, run Runner) (*Result, error) {
	var begin time.Time
	if o.Now != nil {
		begin = o.Now()
	}
	t, err := newStepTimer(c)
	if err != nil {
		return nil, err
	}
	t.run, t.options = run, o
	if err := t.runAll(ctx); err != nil {
		return nil, err
	}
	result, err := merge(t.parts)
	if err != nil {
		return nil, err
	}
	result.Collectives, result.Iterations, result.Flows = nil, nil, nil // parts of the step
	if result.Stalled == "" && !result.Interrupted {
		result.Steps = []Step{t.compose()}
	}
	if o.Now != nil {
		result.Engine.Wall = o.Now().Sub(begin).Seconds()
	}
	return result, nil
}

// stepTimer finds out how long each kind of communication takes.
type stepTimer struct {
	cluster *cluster.Cluster
	job     *cluster.Job
	program *training.Program
	run     Runner
	options Options

	order []stepKey // as they come first in the program
	times map[stepKey]*partTimes
	parts []part
}

// partTimes is what one kind of communication takes.
type partTimes struct {
	cluster  *cluster.Cluster // with its jobs; nil: within hosts, or nothing to do
	each     []units.Time     // by step
	how      string
	fidelity string
	cpu      float64
	ranks    int
	groups   int
}

// newStepTimer lists the kinds of communication of the cluster's training job.
func newStepTimer(c *cluster.Cluster) (*stepTimer, error) {
	if len(c.Jobs) != 1 || c.Jobs[0].Kind != cluster.TrainingJob {
		return nil, fmt.Errorf("a training job runs alone: the cluster has %d jobs", len(c.Jobs))
	}
	t := &stepTimer{cluster: c, job: &c.Jobs[0], times: map[stepKey]*partTimes{}}
	var err error
	if t.program, err = t.job.Training.Program(); err != nil {
		return nil, fmt.Errorf("job %s: %w", t.job.Name, err)
	}
	for i := range t.program.Operations {
		op := &t.program.Operations[i]
		if op.Kind != training.Collective && op.Kind != training.Transfer {
			continue
		}
		if err := t.add(keyOf(op)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// StepClusters returns the clusters that RunTraining runs, one for each kind of
// communication: they differ in their jobs alone.
func StepClusters(c *cluster.Cluster) ([]*cluster.Cluster, error) {
	t, err := newStepTimer(c)
	if err != nil {
		return nil, err
	}
	var out []*cluster.Cluster
	for _, k := range t.order {
		if own := t.times[k].cluster; own != nil {
			out = append(out, own)
		}
	}
	return out, nil
}

func (t *stepTimer) steps() int { return max(t.job.Training.Steps, 1) }

// add prepares a kind of communication.
func (t *stepTimer) add(k stepKey) error {
	if t.times[k] != nil {
		return nil
	}
	p := &t.job.Training.Parallel
	ways := p.Ways(k.dimension)
	times := &partTimes{ranks: ways, groups: p.GPUs() / max(ways, 1)}
	var jobs []cluster.Job
	var err error
	if k.transfer {
		var flows cluster.Job
		if flows, err = transferJob(t.cluster, t.job, k); len(flows.Flows) > 0 {
			jobs = []cluster.Job{flows}
		}
	} else {
		jobs, err = groupJobs(t.job, k, t.steps())
	}
	if err != nil {
		return err
	}
	if len(jobs) > 0 {
		own := *t.cluster
		own.Jobs = jobs
		own.NCCL.Algorithm = collective.Auto // the jobs name theirs
		times.cluster = &own
	}
	t.times[k] = times
	t.order = append(t.order, k)
	return nil
}

// runAll runs all kinds.
func (t *stepTimer) runAll(ctx context.Context) error {
	for i, k := range t.order {
		times := t.times[k]
		if times.cluster == nil {
			times.each = []units.Time{t.local(k)}
			times.how = "NVLink"
			t.parts = append(t.parts, part{result: &Result{}, latency: &sim.Histogram{}})
			continue
		}
		if ctx.Err() != nil {
			t.parts = append(t.parts, part{})
			continue
		}
		o := t.options
		o.Now = nil
		if report := t.options.Progress; report != nil {
			o.Progress = func(p Progress) {
				p.Share = (float64(i) + p.Share) / float64(len(t.order))
				report(p)
			}
		}
		r, err := t.run(ctx, times.cluster, o)
		if err != nil {
			return err
		}
		times.take(r, t.steps())
		t.parts = append(t.parts, part{result: r, latency: &sim.Histogram{}})
	}
	return nil
}

// take reads the times of the slowest group off a result.
func (p *partTimes) take(r *Result, steps int) {
	p.each = make([]units.Time, steps)
	for i := range r.Collectives {
		row := &r.Collectives[i]
		for s := range p.each {
			d := row.Time
			if i < len(r.Iterations) && s < len(r.Iterations[i]) {
				d = r.Iterations[i][s]
			}
			p.each[s] = max(p.each[s], d)
		}
		p.cpu = max(p.cpu, row.CPUShare)
		p.fidelity = row.Fidelity
		p.how = fmt.Sprintf("%s/%s x%d", row.Algorithm, row.Protocol, row.Channels)
	}
	for i := range r.Flows {
		for s := range p.each {
			p.each[s] = max(p.each[s], r.Flows[i].FCT)
		}
		p.how = "messages"
	}
}

// local is the time of a transfer between stages that share hosts.
func (t *stepTimer) local(k stepKey) units.Time {
	rate := t.cluster.Hosts[t.job.Hosts[0]].NVLink
	if !k.transfer || rate <= 0 {
		return 0
	}
	return rate.TransmitTime(k.bytes)
}

// time returns what an operation takes in a step.
func (t *stepTimer) time(o *training.Operation, step int) units.Time {
	each := t.times[keyOf(o)].each
	return each[min(step, len(each)-1)]
}

// compose puts the steps together and returns their mean.
func (t *stepTimer) compose() Step {
	program := t.program
	out := Step{Job: t.job.Name, Fidelity: "packet", Inflation: t.job.Training.Inflation}
	var shortest, longest units.Time
	exposed := map[stepKey]units.Time{}
	n := units.Time(t.steps())
	for s := range t.steps() {
		r := t.schedule(program, s)
		out.Time += r.end
		out.Compute += r.compute
		out.Bubble += r.bubble
		for k, d := range r.exposed {
			exposed[k] += d
		}
		if s == 0 {
			out.Timeline = r.spans
			shortest, longest = r.end, r.end
		}
		shortest, longest = min(shortest, r.end), max(longest, r.end)
	}
	out.Time, out.Compute, out.Bubble = out.Time/n, out.Compute/n, out.Bubble/n
	out.Jitter = longest - shortest
	out.ExposedCommunication = out.Time - out.Compute - out.Bubble
	if out.Time > 0 {
		out.CommunicationShare = float64(out.ExposedCommunication) / float64(out.Time)
		out.GPUUtilisation = float64(out.Compute) / float64(out.Time)
	}
	if j := t.job.Training; j.DataSet > 0 && j.Samples() > 0 {
		out.Epoch = units.Time((j.DataSet+j.Samples()-1)/j.Samples()) * out.Time
	}
	count := map[stepKey]int{}
	for i := range program.Operations {
		if o := &program.Operations[i]; o.Kind == training.Collective || o.Kind == training.Transfer {
			count[keyOf(o)]++
		}
	}
	for _, k := range t.order {
		times := t.times[k]
		var sum units.Time
		for _, d := range times.each {
			sum += d
		}
		mean := sum / units.Time(len(times.each))
		out.Parts = append(out.Parts, StepPart{
			Dimension: k.dimension, Op: k.op, Transfer: k.transfer, Bytes: k.bytes, Ranks: times.ranks, Groups: times.groups,
			Count: count[k], Time: mean, Exposed: exposed[k] / n, How: times.how,
		})
		if times.fidelity != "" {
			out.Fidelity = times.fidelity
		}
		if out.Time > 0 {
			out.CPUShare += times.cpu * float64(count[k]) * float64(mean) / float64(out.Time)
		}
	}
	return out
}

// laidOut is one step on the time axis.
type laidOut struct {
	end, compute, bubble units.Time
	exposed              map[stepKey]units.Time
	spans                []Span
}

// schedule lays out one step: each operation starts when those it waits for
// have ended and its track is free.
func (t *stepTimer) schedule(program *training.Program, step int) laidOut {
	out := laidOut{exposed: map[stepKey]units.Time{}}
	ops := program.Operations
	ends := make([]units.Time, len(ops))
	var tracks [training.Dimensions]units.Time
	var computing units.Time // until when the compute track is busy
	latest := -1             // operation that ends last
	for i := range ops {
		o := &ops[i]
		track := &computing
		if o.Kind == training.Collective || o.Kind == training.Transfer {
			track = &tracks[o.Dimension]
		}
		start, blocker := *track, -1
		for _, a := range o.After {
			if ends[a] > start {
				start, blocker = ends[a], int(a)
			}
		}
		d := o.Time
		switch o.Kind {
		case training.Compute:
			out.compute += d
		case training.Bubble:
			for _, k := range o.Like {
				d += units.Time(o.Repeat*float64(t.time(&ops[k], step)) + 0.5)
			}
			out.bubble += d
		default:
			d = t.time(o, step)
		}
		if track == &computing && blocker >= 0 && ops[blocker].Kind != training.Compute {
			out.exposed[keyOf(&ops[blocker])] += start - computing
		}
		ends[i] = start + d
		*track = ends[i]
		if latest < 0 || ends[i] >= ends[latest] {
			latest = i
		}
		name := "compute"
		if track != &computing {
			name = o.Dimension.String()
		}
		if step == 0 {
			out.spans = append(out.spans, Span{Track: name, Name: o.Name, Start: start, End: ends[i], Bytes: o.Bytes})
		}
	}
	if latest >= 0 {
		out.end = ends[latest]
		if out.end > computing {
			out.exposed[keyOf(&ops[latest])] += out.end - computing
		}
	}
	return out
}
