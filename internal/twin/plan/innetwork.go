package plan

import (
	"fmt"
	"math"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/units"
)

// InfiniBandHeader is what InfiniBand puts around a packet's payload inside a
// subnet: LRH 8, BTH 12, ICRC 4, VCRC 2.
const InfiniBandHeader = 26

// Latencies of NCCL's cost model for its collective-network algorithm
// (CollNetDirect, Simple), in microseconds: once between nodes, twice inside
// the node, and twice for each further GPU of the node.
const (
	collNet      = 31
	collNetLocal = 3.7
	collNetGPU   = 0.4
)

// Reduction is the time of an all_reduce whose sums the switches make, in
// microseconds. Each NIC sends its share of the data up a tree of switches
// once and gets the sums once, both at the same time; the GPUs of a node
// reduce and spread the data among themselves meanwhile. There is a tree for
// each rail.
type Reduction struct {
	Depth   int     // switches from a leaf to the tree's root, both counted
	Library float64 // launch and proxies
	Fabric  float64 // up and down the tree, beyond FabricShare, for each piece
	Pieces  int     // in which the data of a NIC go

	NIC, PCIe, Local, Uplinks float64 // time of the data on each
}

// Latency is the part that does not depend on bandwidth.
func (r *Reduction) Latency() float64 { return r.Library + float64(r.Pieces)*r.Fabric }

// Transfer is the time of the data where it takes the longest.
func (r *Reduction) Transfer() float64 { return max(r.NIC, r.PCIe, r.Local, r.Uplinks) }

// Time is all of it.
func (r *Reduction) Time() float64 { return r.Latency() + r.Transfer() }

// InNetwork tells whether the switches reduce: an all_reduce between nodes over
// InfiniBand that has the option and leaves the algorithm open.
func (p *Plan) InNetwork() bool {
	c := p.Cluster
	return c.Transport == cluster.InfiniBand && c.InfiniBand.Reduction && p.Job.Op == collective.AllReduce && p.Nodes > 1 &&
		p.Job.Algorithm == collective.Auto && c.NCCL.Algorithm == collective.Auto && (p.protocol == nil || *p.protocol == collective.Simple)
}

// Reduce returns the time of a size. ideal leaves out what switches lose of
// the line.
func (p *Plan) Reduce(bytes units.Bytes, ideal bool) (Reduction, error) {
	c := p.Cluster
	ib := &c.InfiniBand
	r := Reduction{Pieces: 1}
	size, gpus, nics := float64(bytes), float64(p.PerNode), float64(len(p.NICs[0]))
	each := size / nics
	if ib.ReductionLimit > 0 {
		r.Pieces = max(1, int(math.Ceil(each/float64(ib.ReductionLimit))))
	}
	mtu := float64(c.QoS.MTU)
	share := mtu / (mtu + InfiniBandHeader)
	if !ideal {
		share *= ib.ReductionShare
	}
	us := func(data float64, rate units.BitRate) float64 {
		if rate <= 0 {
			return 0
		}
		return data * 8e6 / float64(rate)
	}
	r.NIC = us(each/share, p.NICRate)
	r.PCIe = us(each, p.PCIeRate)
	if p.PerNode > 1 {
		r.Local = us(2*(gpus-1)/gpus*size, p.LocalRate)
		if p.NVLSRate > 0 { // its bus bandwidth is that of eight GPUs
			r.Local = min(r.Local, us(1.75*size, p.NVLSRate))
		}
	}
	t, err := p.trees()
	if err != nil {
		return r, err
	}
	r.Depth = t.depth
	for trees, rate := range t.uplinks {
		r.Uplinks = max(r.Uplinks, us(float64(trees)*each/share, rate))
	}
	// Up and down: the card twice, each cable twice, the root once.
	way := 2*t.delay + units.Time(2*t.depth-1)*ib.SwitchLatency + units.Time(t.depth)*ib.ReductionLatency
	if nic := c.Hosts[p.NICs[0][0].Host].NICs[p.NICs[0][0].NIC].Model; nic != nil {
		way += 2 * nic.Latency
	}
	if c.Staged() {
		way += 2 * c.HostCopy.Latency
	}
	r.Fabric = way.Microseconds()
	if !c.NCCL.NoOverhead {
		r.Fabric = max(0, r.Fabric-FabricShare.Microseconds())
		r.Library = collNet
		if p.PerNode > 1 {
			r.Library += 2 * (collNetLocal + (gpus-1)*collNetGPU)
		}
	}
	return r, nil
}

// trees is what the rails' trees have in common.
type trees struct {
	depth   int
	delay   units.Time            // of the longest cables from a card to the root
	uplinks map[int]units.BitRate // by the number of trees that a leaf serves: the least that such a leaf has upwards; empty: no tree leaves it
}

// trees finds the lowest tier of switches that sees all cards of each rail.
func (p *Plan) trees() (trees, error) {
	c := p.Cluster
	t := trees{uplinks: map[int]units.BitRate{}}
	served := map[cluster.NodeID]int{} // trees by leaf
	for rail := range p.NICs[0] {
		leaves := map[cluster.NodeID]bool{}
		var delay units.Time
		for node := range p.NICs {
			ref := p.NICs[node][rail]
			for _, id := range c.Hosts[ref.Host].NICs[ref.NIC].Ports {
				port := &c.Ports[id]
				if uint32(port.Link) == cluster.None {
					continue
				}
				leaves[c.Ports[port.Peer].Node] = true
				delay = max(delay, c.Links[port.Link].Delay)
				break
			}
		}
		for leaf := range leaves {
			served[leaf]++
		}
		depth, more := p.climb(leaves)
		if depth == 0 {
			return t, fmt.Errorf("job %s: no switch sees all cards of rail %d, so nothing can reduce for them", p.Job.Name, rail)
		}
		t.depth, t.delay = max(t.depth, depth), max(t.delay, delay+more)
	}
	if t.depth == 1 {
		return t, nil
	}
	for leaf, n := range served {
		var up units.BitRate
		for _, id := range c.Nodes[leaf].Ports {
			if port := &c.Ports[id]; uint32(port.Link) != cluster.None && c.Nodes[c.Ports[port.Peer].Node].Tier > c.Nodes[leaf].Tier {
				up += port.Rate
			}
		}
		if least, ok := t.uplinks[n]; !ok || up < least {
			t.uplinks[n] = up
		}
	}
	return t, nil
}

// climb goes up from leaves, tier by tier, until one switch is above all of
// them. It returns the tiers and the delay of the cables between them; 0: there
// is none.
func (p *Plan) climb(leaves map[cluster.NodeID]bool) (int, units.Time) {
	c := p.Cluster
	var above []map[cluster.NodeID]bool // what each leaf reaches
	for leaf := range leaves {
		above = append(above, map[cluster.NodeID]bool{leaf: true})
	}
	var delay units.Time
	for depth := 1; depth <= 4; depth++ {
		for n := range above[0] {
			common := true
			for _, set := range above[1:] {
				common = common && set[n]
			}
			if common {
				return depth, delay
			}
		}
		var longest units.Time
		for i, set := range above {
			next := map[cluster.NodeID]bool{}
			for n := range set {
				for _, id := range c.Nodes[n].Ports {
					port := &c.Ports[id]
					if uint32(port.Link) == cluster.None {
						continue
					}
					if peer := c.Ports[port.Peer].Node; c.Nodes[peer].Tier > c.Nodes[n].Tier {
						next[peer] = true
						longest = max(longest, c.Links[port.Link].Delay)
					}
				}
			}
			above[i] = next
		}
		delay += longest
	}
	return 0, 0
}
