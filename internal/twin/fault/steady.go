package fault

import (
	"fmt"

	"weir/internal/cluster"
	"weir/units"
)

// Steady is what faults make of a fabric for a whole run: links that are dead,
// and ports that send at another rate.
type Steady struct {
	Down []cluster.LinkID
	Rate map[cluster.PortID]units.BitRate
}

// SteadyOf returns what a cluster's faults come to where time plays no part. The
// cluster is Physical's. The error names a fault that rates and routes cannot
// express.
func SteadyOf(c *cluster.Cluster) (Steady, error) {
	out := Steady{Rate: map[cluster.PortID]units.BitRate{}}
	for i := range c.Faults {
		f := &c.Faults[i]
		k, place, err := resolve(c, f)
		if err != nil {
			return out, err
		}
		s := newSite(c, place, &k, f)
		lasting := f.Start == 0 && f.End == 0
		switch {
		case f.ID == "cabling-wrong": // in Physical's cables
		case f.ID == "link-down-flap" && lasting && s.severity >= 1:
			out.Down = append(out.Down, s.links()...)
		case f.ID == "link-speed-degraded" && lasting:
			for _, p := range s.ends() {
				out.Rate[p] = slower(c.Links[c.Ports[p].Link].Rate, s.severity)
			}
		default:
			return out, fmt.Errorf("fault %s@%s: the fluid model has link-down-flap (severity 1) and link-speed-degraded for a whole run; others need packets", f.ID, f.Place)
		}
	}
	return out, nil
}
