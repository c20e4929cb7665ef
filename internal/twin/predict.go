package twin

import (
	"math"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/twin/plan"
)

// PredictHops estimates how many packet-hops a run of all jobs takes: full
// packets times the links that they cross, an acknowledgement for each
// RDMA.AckEvery of them, and two small packets for each cleared slot. It tells
// progress and lets a caller choose how finely to simulate.
func PredictHops(c *cluster.Cluster) (float64, error) {
	e := estimate{c: c, far: 4}
	for i := range c.Nodes {
		e.far = max(e.far, 2*float64(c.Nodes[i].Tier))
	}
	var hops float64
	for i := range c.Jobs {
		job := &c.Jobs[i]
		if job.Kind == cluster.FlowJob {
			for _, f := range job.Flows {
				hops += e.messages(float64(f.Bytes), 1, e.links(f.Src, f.Dst))
			}
			continue
		}
		if job.Kind == cluster.TrainingJob {
			parts, err := StepClusters(c)
			if err != nil {
				return 0, err
			}
			for _, own := range parts {
				more, err := PredictHops(own)
				if err != nil {
					return 0, err
				}
				hops += more
			}
			continue
		}
		p, err := plan.New(c, job)
		if err != nil {
			return 0, err
		}
		for _, size := range p.Sizes() {
			choice, err := p.Choose(size)
			if err != nil {
				return 0, err
			}
			if choice.Algorithm == collective.InNetwork { // no packets
				continue
			}
			s, err := p.Schedule(choice, size)
			if err != nil {
				return 0, err
			}
			hops += float64(max(job.Iterations, 1)) * e.schedule(p, s)
		}
	}
	return hops, nil
}

// estimate counts hops on a cluster.
type estimate struct {
	c   *cluster.Cluster
	far float64 // links between NICs under different leaves: four over a spine, six over a core
}

// messages returns the hops of bytes sent as so many messages over a path.
func (e *estimate) messages(bytes, messages, links float64) float64 {
	packets := messages
	if messages > 0 {
		packets *= max(1, math.Ceil(bytes/messages/float64(e.c.QoS.MTU)-0.01))
	}
	acks := messages
	if every := float64(e.c.RDMA.AckEvery); every > 0 {
		acks = max(acks, packets/every)
	}
	return links * (packets + acks)
}

// schedule adds up what crosses nodes in one run of a schedule.
func (e *estimate) schedule(p *plan.Plan, s *collective.Schedule) float64 {
	protocol := s.Settings().Protocol
	var hops float64
	var peers []int32
	for r := range s.Ranks() {
		for lane := range s.Lanes() {
			peers = s.AppendPeers(peers[:0], r, lane)
			for _, q := range peers {
				from, to := r/p.PerNode, int(q)/p.PerNode
				if from == to {
					continue
				}
				bytes, messages := s.Traffic(lane)
				a, b := s.NICs(int32(r), q, s.Channel(lane), p.PXN())
				links := e.links(p.NICs[from][a], p.NICs[to][b])
				hops += e.messages(float64(protocol.WireBytes(bytes)), messages, links)
				if p.ClearsByWrite() { // of all messages, and of the slots that are free in the end
					spare := float64(s.Depth())
					if s.SlicesPerPeer() > 0 {
						spare = 0
					}
					hops += e.messages(0, messages+spare, links)
				}
			}
		}
	}
	return hops
}

// links returns how many links a packet crosses between two NICs: two under
// one leaf.
func (e *estimate) links(a, b cluster.NICRef) float64 {
	if l := e.leaf(a); l == e.leaf(b) && l != cluster.NodeID(cluster.None) {
		return 2
	}
	return e.far
}

// leaf returns the node at the first cabled port of a NIC.
func (e *estimate) leaf(r cluster.NICRef) cluster.NodeID {
	for _, id := range e.c.Hosts[r.Host].NICs[r.NIC].Ports {
		if p := &e.c.Ports[id]; uint32(p.Link) != cluster.None {
			return e.c.Ports[p.Peer].Node
		}
	}
	return cluster.NodeID(cluster.None)
}
