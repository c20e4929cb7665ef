package twin

import (
	"fmt"

	"weir/internal/cluster"
	"weir/internal/twin/fabric"
	"weir/internal/twin/plan"
)

// CheckDomains refuses jobs whose transport cannot reach all of their peers:
// RoCEv1 has no route between subnets. Other transports always pass.
func CheckDomains(c *cluster.Cluster) error {
	if c.Transport != cluster.RoCEv1 {
		return nil
	}
	for i := range c.Jobs {
		job := &c.Jobs[i]
		if job.Kind == cluster.FlowJob {
			for _, f := range job.Flows {
				if job.Transport == cluster.TCP {
					continue
				}
				if err := fabric.OneDomain(c, f.Src, f.Dst); err != nil {
					return fmt.Errorf("job %s: %w", job.Name, err)
				}
			}
			continue
		}
		if job.Kind != cluster.CollectiveJob {
			continue
		}
		p, err := plan.New(c, job)
		if err != nil {
			return err
		}
		if err := collectiveDomains(p); err != nil {
			return fmt.Errorf("job %s: %w", job.Name, err)
		}
	}
	return nil
}

// collectiveDomains looks at all pairs of NICs that a job's schedules use.
func collectiveDomains(p *plan.Plan) error {
	var peers []int32
	for _, size := range p.Sizes() {
		choice, err := p.Choose(size)
		if err != nil {
			return err
		}
		s, err := p.Schedule(choice, size)
		if err != nil {
			return err
		}
		for r := range s.Ranks() {
			for lane := range s.Lanes() {
				peers = s.AppendPeers(peers[:0], r, lane)
				for _, q := range peers {
					from, to := r/p.PerNode, int(q)/p.PerNode
					if from == to {
						continue
					}
					a, b := s.NICs(int32(r), q, s.Channel(lane), p.PXN())
					if err := fabric.OneDomain(p.Cluster, p.NICs[from][a], p.NICs[to][b]); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}
