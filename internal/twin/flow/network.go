package flow

import (
	"fmt"
	"sort"

	"weir/internal/cluster"
	"weir/internal/twin/fabric"
	"weir/internal/twin/sim"
	"weir/units"
)

// network turns connections into demands on resources: the sending side of
// each port by its number, and behind them both directions of each NIC's slot.
type network struct {
	c        *cluster.Cluster
	f        *fabric.Fabric
	seed     uint64
	payload  float64   // share of line rate
	capacity []float64 // payload bytes a second
	cards    []int32   // first card of each host
	names    []uint64  // hash of each host port's name; 0: not asked yet
	pairs    map[uint64]uint32
	qps      uint32 // made so far
	mixed    bool   // packets of a flow take several paths
}

// queuePair is one path, or several with their shares.
type connection struct {
	demands []demand
	latency units.Time // from posting to the receiver's memory, of the last byte
}

func newNetwork(c *cluster.Cluster, f *fabric.Fabric, seed uint64, rate map[cluster.PortID]units.BitRate) *network {
	w := sim.RoCEv2Wire()
	switch c.Transport {
	case cluster.RoCEv1:
		w = sim.RoCEv1Wire()
	}
	mtu := float64(c.QoS.MTU)
	n := &network{
		c: c, f: f, seed: seed, payload: mtu / (mtu + float64(w.Header+w.Gap)),
		names: make([]uint64, len(c.Ports)), pairs: map[uint64]uint32{}, qps: 1, // number 0 is none
		mixed: c.Routing.Mode != cluster.ECMP,
	}
	n.capacity = make([]float64, len(c.Ports))
	for i := range c.Ports {
		p := &c.Ports[i]
		if uint32(p.Link) == cluster.None {
			continue
		}
		r := c.Links[p.Link].Rate
		if slow, ok := rate[cluster.PortID(i)]; ok {
			r = slow
		}
		n.capacity[i] = float64(r) / 8 * n.payload
	}
	for h := range c.Hosts {
		n.cards = append(n.cards, int32((len(n.capacity)-len(c.Ports))/2))
		for k := range c.Hosts[h].NICs {
			pcie := float64(c.Hosts[h].NICs[k].PCIe) / 8
			if c.Staged() {
				pcie /= 2 // each byte crosses the slot twice
			}
			if pcie <= 0 {
				pcie = 1e18
			}
			n.capacity = append(n.capacity, pcie, pcie)
		}
	}
	return n
}

func (n *network) name(p cluster.PortID) uint64 {
	if n.names[p] == 0 {
		n.names[p] = sim.PortHash(n.c, p)
	}
	return n.names[p]
}

// connect makes a connection over so many queue pairs, in the order in which
// the packet simulator makes them. Messages are taken to spread evenly over
// the queue pairs. Without demands asked for, it only counts them.
func (n *network) connect(src, dst cluster.NICRef, qps int, wanted bool) (connection, error) {
	var out connection
	pairs, err := sim.PortPairs(n.c, n.f, src, dst)
	if err != nil {
		return out, err
	}
	for k := range qps {
		p := pairs[k%len(pairs)]
		key := uint64(p[0])<<32 | uint64(p[1])
		seq := n.pairs[key]
		n.pairs[key]++
		qp := n.qps
		n.qps++
		if !wanted {
			continue
		}
		h := fabric.Fields{
			SrcIP: n.f.Address(p[0]), DstIP: n.f.Address(p[1]), DstPort: sim.RoCEPort, DstQP: qp & (1<<24 - 1), Protocol: 17,
			SrcPort: sim.SourcePort(sim.QueuePairHash(n.seed, n.name(p[0]), n.name(p[1]), seq), n.c.RDMA.SourcePorts == "fixed"),
		}
		node := n.c.Ports[p[0]].Node
		members := n.f.Egress(p[0])
		egress := n.c.Nodes[node].Ports[members[h.Hash(n.c.Routing.HashFields, n.f.Seed(node))%uint32(len(members))]]
		w := walk{n: n, dst: p[1], hash: &h, out: &out}
		if err := w.from(egress, float32(1)/float32(qps), 0, 0); err != nil {
			return out, err
		}
	}
	if wanted {
		from, to := n.card(src), n.card(dst)
		out.demands = append(out.demands, demand{from, 1}, demand{to + 1, 1})
		for _, r := range [...]cluster.NICRef{src, dst} {
			if m := n.c.Hosts[r.Host].NICs[r.NIC].Model; m != nil {
				out.latency += m.Latency
			}
		}
	}
	return out, nil
}

func (n *network) card(r cluster.NICRef) int32 {
	return int32(len(n.c.Ports)) + 2*(n.cards[r.Host]+r.NIC)
}

// walk follows a queue pair through the fabric.
type walk struct {
	n    *network
	dst  cluster.PortID
	hash *fabric.Fields
	out  *connection
}

// longest is the most links of a path.
const longest = 64

// from goes on over a port with a share of the traffic. Where packets choose
// among ports one by one, each port has an equal part.
func (w *walk) from(p cluster.PortID, share float32, delay units.Time, links int) error {
	c := w.n.c
	port := &c.Ports[p]
	link := &c.Links[port.Link]
	w.out.demands = append(w.out.demands, demand{int32(p), share})
	delay += link.Delay + link.Rate.TransmitTime(c.QoS.MTU)
	node := c.Ports[port.Peer].Node
	if m := c.Nodes[node].Model; m != nil {
		delay += m.Latency
	}
	if c.Nodes[node].Kind == cluster.HostNode {
		w.out.latency = max(w.out.latency, delay-link.Rate.TransmitTime(c.QoS.MTU)) // the last frame's time on its first link is the transfer's
		return nil
	}
	if links++; links > longest {
		return fmt.Errorf("a path of more than %d links", longest)
	}
	hops := w.n.f.NextHops(node, w.dst)
	if len(hops) == 0 {
		return fmt.Errorf("no path on from %s", c.Nodes[node].Name)
	}
	if w.n.mixed {
		for _, k := range hops {
			if err := w.from(c.Nodes[node].Ports[k], share/float32(len(hops)), delay, links); err != nil {
				return err
			}
		}
		return nil
	}
	k, _ := w.n.f.Choose(node, w.dst, w.hash.Hash(c.Routing.HashFields, w.n.f.Seed(node)))
	return w.from(c.Nodes[node].Ports[k], share, delay, links)
}

// merged adds up demands on the same resource.
func merged(demands []demand) []demand {
	sort.Slice(demands, func(i, k int) bool { return demands[i].resource < demands[k].resource })
	out := demands[:0]
	for _, d := range demands {
		if n := len(out); n > 0 && out[n-1].resource == d.resource {
			out[n-1].weight += d.weight
			continue
		}
		out = append(out, d)
	}
	return append([]demand(nil), out...)
}
