package twin

import (
	"errors"
	"fmt"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/twin/plan"
	"weir/units"
)

// ClosedForm is the fidelity of rows that a formula gives: reductions in the
// network (plan.Reduce).
const ClosedForm Fidelity = "closed form"

// Reduces tells whether a job of the cluster is reduced in the network. A
// closed form knows of no other traffic and no fault, so it returns an error
// where there are such.
func Reduces(c *cluster.Cluster) (bool, error) {
	if c.Transport != cluster.InfiniBand || !c.InfiniBand.Reduction {
		return false, nil
	}
	for i := range c.Jobs {
		job := &c.Jobs[i]
		if job.Kind == cluster.TrainingJob { // groups that run at once are jobs of a part
			parts, err := StepClusters(c)
			if err != nil {
				return false, err
			}
			for _, part := range parts {
				if _, err := Reduces(part); err != nil {
					return false, err
				}
			}
			continue
		}
		if job.Kind != cluster.CollectiveJob {
			continue
		}
		p, err := plan.New(c, job)
		if err != nil {
			return false, err
		}
		if !p.InNetwork() {
			continue
		}
		switch {
		case len(c.Jobs) > 1:
			return true, fmt.Errorf("job %s: in_network_reduction is a closed form for a job that has the fabric alone: name an algorithm, or take the other jobs out", job.Name)
		case len(c.Faults) > 0:
			return true, fmt.Errorf("job %s: in_network_reduction is a closed form without faults: name an algorithm, or take the faults out", job.Name)
		}
		_, err = p.Reduce(job.Begin, false)
		return true, err
	}
	return false, nil
}

// reduced returns the rows of a job that is reduced in the network.
func reduced(c *cluster.Cluster, o *Options) (*Result, error) {
	if o.Sample != nil || o.Prepare != nil {
		return nil, errors.New("in_network_reduction is a closed form: there are no packets to record")
	}
	job := &c.Jobs[0]
	p, err := plan.New(c, job)
	if err != nil {
		return nil, err
	}
	out := &Result{}
	for _, size := range p.Sizes() {
		r, err := p.Reduce(size, false)
		if err != nil {
			return nil, err
		}
		took := units.Time(r.Time() * float64(units.Microsecond))
		runs := make([]units.Time, max(job.Iterations, 1))
		for i := range runs {
			runs[i] = took
		}
		out.Simulated += took * units.Time(len(runs))
		out.Iterations = append(out.Iterations, runs)
		out.Collectives = append(out.Collectives, Collective{
			Job: job.Name, Op: job.Op, Algorithm: collective.InNetwork, Channels: p.System.Channels,
			Bytes: size, Ranks: p.Ranks, Time: took, Fidelity: string(ClosedForm),
		})
	}
	return out, nil
}
