package twin

import (
	"weir/internal/cluster"
	"weir/internal/twin/sim"
	"weir/units"
)

// Depth is the deepest egress queue of the RoCE class over all switches at a
// time. Times go on from one simulator of a run to the next.
type Depth struct {
	At    units.Time
	Bytes units.Bytes
}

// DepthsEvery is the simulated time between two samples of Depths.
const DepthsEvery = 10 * units.Microsecond

// maxDepths is how many points Depths keeps. When they are full, every two
// become their maximum.
const maxDepths = 512

// Depths collects queue depths over time: its Sample goes into Options.
type Depths struct {
	ports  []cluster.PortID
	prio   uint8
	points []Depth
	span   int // samples that make a point
	filled int // samples in the last point
	base   units.Time
	last   units.Time
}

// NewDepths watches all cabled switch ports of a cluster.
func NewDepths(c *cluster.Cluster) *Depths {
	d := &Depths{prio: c.QoS.RoCE().Priority, span: 1}
	for id := range c.Ports {
		if p := &c.Ports[id]; uint32(p.Link) != cluster.None && c.Nodes[p.Node].Kind == cluster.SwitchNode {
			d.ports = append(d.ports, cluster.PortID(id))
		}
	}
	return d
}

// Sample notes the deepest queue now.
func (d *Depths) Sample(s *sim.Sim) error {
	now := s.Now()
	if now < d.last { // the next simulator
		d.base += d.last
	}
	d.last = now
	var deepest units.Bytes
	for _, id := range d.ports {
		deepest = max(deepest, s.QueueBytes(id, d.prio))
	}
	d.add(Depth{d.base + now, deepest})
	return nil
}

func (d *Depths) add(p Depth) {
	if d.filled > 0 && d.filled < d.span {
		last := &d.points[len(d.points)-1]
		last.Bytes = max(last.Bytes, p.Bytes)
		d.filled++
		return
	}
	if len(d.points) == maxDepths {
		for i := range maxDepths / 2 {
			a, b := d.points[2*i], d.points[2*i+1]
			d.points[i] = Depth{a.At, max(a.Bytes, b.Bytes)}
		}
		d.points = d.points[:maxDepths/2]
		d.span *= 2
	}
	d.points = append(d.points, p)
	d.filled = 1
}

// Points returns what was seen, in order of time.
func (d *Depths) Points() []Depth { return d.points }
