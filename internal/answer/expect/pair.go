package expect

import (
	"fmt"

	"weir/internal/cluster"
	"weir/units"
)

// Pair is what one NIC should show towards another, as the perftest tools print it.
type Pair struct {
	Gbps      float64 // large messages, payload
	Limit     Limit
	LatencyUS float64 // one way, a small message: half of the round trip that write latency tools print
	Hops      int     // switches on the way
	Terms     []Term
	Rates     []Rate // the least of them is Gbps
}

// Rate is one candidate for the bandwidth of a pair, in Gb/s.
type Rate struct {
	Name string
	Gbps float64
	Text string
}

// wireMin is the shortest frame on the line: 64 bytes, preamble and gap.
const wireMin = 84

// Between returns the expectation for two NICs, by the shortest way over
// cables that exist. It returns an error if there is none.
func Between(c *cluster.Cluster, src, dst cluster.NICRef) (Pair, error) {
	way, err := shortest(c, src, dst)
	if err != nil {
		return Pair{}, err
	}
	a, b := &c.Hosts[src.Host].NICs[src.NIC], &c.Hosts[dst.Host].NICs[dst.NIC]
	p := Pair{Limit: ByNIC, Hops: way.switches}
	p.Gbps = way.rate.Gigabits() * PayloadShare(c)
	p.Rates = append(p.Rates, Rate{"link", p.Gbps, fmt.Sprintf("%s x %.4f, the payload's share at %s", way.rate, PayloadShare(c), mtuText(c))})
	for _, nic := range []*cluster.NIC{a, b} {
		pcie := nic.PCIe.Gigabits()
		if pcie > 0 {
			p.Rates = append(p.Rates, Rate{"PCIe", pcie, fmt.Sprintf("usable of the slot of %s", nic.Name)})
		}
		if pcie > 0 && pcie < p.Gbps {
			p.Gbps, p.Limit = pcie, ByPCIe
		}
	}
	add := func(name string, t units.Time, text string) {
		p.Terms = append(p.Terms, Term{name, t.Microseconds(), text})
		p.LatencyUS += t.Microseconds()
	}
	for _, nic := range []*cluster.NIC{a, b} {
		if nic.Model != nil {
			add(nic.Name, nic.Model.Latency, nic.Model.Name+": through the card")
		}
	}
	add("cables", way.delay, fmt.Sprintf("%d cables", way.switches+1))
	if way.switches > 0 {
		add("switches", way.through, fmt.Sprintf("%d switches", way.switches))
	}
	add("frames", way.rate.TransmitTime(wireMin*units.Bytes(way.switches+1)), "shortest frame, once a cable")
	return p, nil
}

func mtuText(c *cluster.Cluster) string {
	if c.Transport == cluster.TCP {
		return fmt.Sprintf("a port MTU of %v", c.QoS.PortMTU)
	}
	return fmt.Sprintf("a path MTU of %v", c.QoS.MTU)
}

type way struct {
	rate           units.BitRate
	delay, through units.Time
	switches       int
}

// shortest searches the cluster's graph breadth first, from all ports of src.
func shortest(c *cluster.Cluster, src, dst cluster.NICRef) (way, error) {
	target := c.Hosts[dst.Host].Node
	reached := make([]bool, len(c.Nodes))
	type visit struct {
		node cluster.NodeID
		way  way
	}
	var queue []visit
	ends := map[cluster.PortID]bool{}
	for _, id := range c.Hosts[dst.Host].NICs[dst.NIC].Ports {
		ends[id] = true
	}
	leave := func(id cluster.PortID, w way) *way {
		port := &c.Ports[id]
		if port.Link == cluster.LinkID(cluster.None) {
			return nil
		}
		w.delay += c.Links[port.Link].Delay
		if w.rate == 0 || port.Rate < w.rate {
			w.rate = port.Rate
		}
		peer := &c.Ports[port.Peer]
		if peer.Node == target {
			if ends[port.Peer] {
				return &w
			}
			return nil
		}
		if c.Nodes[peer.Node].Kind == cluster.SwitchNode && !reached[peer.Node] {
			reached[peer.Node] = true
			w.switches++
			w.through += c.SwitchLatency(peer.Node)
			queue = append(queue, visit{peer.Node, w})
		}
		return nil
	}
	for _, id := range c.Hosts[src.Host].NICs[src.NIC].Ports {
		if w := leave(id, way{}); w != nil {
			return *w, nil
		}
	}
	for len(queue) > 0 {
		v := queue[0]
		queue = queue[1:]
		for _, id := range c.Nodes[v.node].Ports {
			if w := leave(id, v.way); w != nil {
				return *w, nil
			}
		}
	}
	name := func(r cluster.NICRef) string {
		return c.Nodes[c.Hosts[r.Host].Node].Name + "/" + c.Hosts[r.Host].NICs[r.NIC].Name
	}
	return way{}, fmt.Errorf("no cables lead from %s to %s", name(src), name(dst))
}
