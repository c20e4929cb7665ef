package fault

import (
	"fmt"

	"weir/internal/cluster"
	"weir/internal/twin/sim"
	"weir/units"
)

// faults is what the faults of a simulation share.
type faults struct {
	down map[cluster.LinkID]int // dead cables that routes know of, by how many faults
}

// patience is how long nothing may move in a fabric with pauses in force until
// the run ends as stalled: many times any pause in a fabric that works.
const patience = 50 * units.Millisecond

// Inject plans a cluster's faults in a simulation of it, which must be at time
// 0. The cluster is the one that the simulation was made of, Physical's. It also
// has a standstill end the run, where one can be: with faults, and in graphs
// whose routes are not up-down.
func Inject(s *sim.Sim, c *cluster.Cluster) error {
	if len(c.Faults) == 0 && c.Topology != "explicit" {
		return nil
	}
	shared := &faults{down: map[cluster.LinkID]int{}}
	for i := range c.Faults {
		f := &c.Faults[i]
		k, place, err := resolve(c, f)
		if err != nil {
			return err
		}
		x := newSite(c, place, &k, f)
		x.sim, x.faults = s, shared
		if k.Static {
			if _, err := k.apply(x); err != nil {
				return fmt.Errorf("fault %s@%s: %w", f.ID, f.Place, err)
			}
			continue
		}
		s.At(f.Start, func() {
			undo, err := k.apply(x)
			if err != nil {
				s.Fail(fmt.Errorf("fault %s@%s: %w", f.ID, f.Place, err))
				return
			}
			if f.End != 0 && undo != nil {
				s.At(f.End, undo)
			}
		})
	}
	wait := patience
	if w := &c.QoS.Watchdog; w.Enabled {
		wait = max(wait, 2*(w.DetectAfter+w.RestoreAfter))
	}
	s.WatchStandstill(wait)
	return nil
}
