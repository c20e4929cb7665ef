package acceptance

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"weir/internal/cluster"
	"weir/internal/twin/fabric"
)

// Kind is the kind of a component that can be slow.
type Kind uint8

// The kinds.
const (
	Node Kind = iota
	NIC
	Cable
	Switch
)

// String returns "node", "nic", "cable" or "switch".
func (k Kind) String() string { return [...]string{"node", "nic", "cable", "switch"}[min(k, Switch)] }

// A Component is a part of the cluster that measurements go through.
type Component struct {
	Kind Kind
	Name string // host-7, host-7/nic-3, host-7/nic-3~leaf-3/port-7, leaf-2~spine-1 cables with both ports, spine-1
}

// A use is the share of a measurement's traffic that goes through a component,
// 0 to 1: where a hash picks among equal next hops, nobody knows which.
type use struct {
	part  int32
	share float32
}

// Footprints tells which components the traffic between two NICs uses.
type Footprints struct {
	c     *cluster.Cluster
	f     *fabric.Fabric
	Parts []Component

	node   []int32   // by host
	nic    [][]int32 // by host and NIC
	cable  []int32   // by link
	swtch  []int32   // by node
	link   map[int32]cluster.LinkID
	memory map[[2]cluster.NICRef][]use
}

// NewFootprints lists the components of a cluster.
func NewFootprints(c *cluster.Cluster) (*Footprints, error) {
	f, err := fabric.New(c)
	if err != nil {
		return nil, err
	}
	p := &Footprints{c: c, f: f, link: map[int32]cluster.LinkID{}, memory: map[[2]cluster.NICRef][]use{}}
	add := func(k Kind, name string) int32 {
		p.Parts = append(p.Parts, Component{k, name})
		return int32(len(p.Parts) - 1)
	}
	p.swtch = make([]int32, len(c.Nodes))
	for i := range c.Nodes {
		p.swtch[i] = -1
		if c.Nodes[i].Kind == cluster.SwitchNode {
			p.swtch[i] = add(Switch, c.Nodes[i].Name)
		}
	}
	for h := range c.Hosts {
		host := c.Nodes[c.Hosts[h].Node].Name
		p.node = append(p.node, add(Node, host))
		var nics []int32
		for i := range c.Hosts[h].NICs {
			nics = append(nics, add(NIC, host+"/"+c.Hosts[h].NICs[i].Name))
		}
		p.nic = append(p.nic, nics)
	}
	for i := range c.Links {
		id := add(Cable, p.port(c.Links[i].A)+"~"+p.port(c.Links[i].B))
		p.cable = append(p.cable, id)
		p.link[id] = cluster.LinkID(i)
	}
	return p, nil
}

func (p *Footprints) port(id cluster.PortID) string {
	port := &p.c.Ports[id]
	return p.c.Nodes[port.Node].Name + "/" + port.Name
}

// of returns the components that traffic from one NIC to another uses.
func (p *Footprints) of(from, to cluster.NICRef) ([]use, error) {
	key := [2]cluster.NICRef{from, to}
	if u, ok := p.memory[key]; ok {
		return u, nil
	}
	src, dst := p.c.Hosts[from.Host].NICs[from.NIC].Ports[0], p.c.Hosts[to.Host].NICs[to.NIC].Ports[0]
	if err := p.f.Reachable(src, dst); err != nil {
		return nil, err
	}
	share := map[int32]float64{
		p.node[from.Host]: 1, p.node[to.Host]: 1,
		p.nic[from.Host][from.NIC]: 1, p.nic[to.Host][to.NIC]: 1,
	}
	// Routes rise and fall, so a node is left before it is reached again; each
	// step spreads what a node holds over its next hops.
	at := map[cluster.NodeID]float64{p.c.Ports[src].Node: 1}
	for range len(p.c.Nodes) {
		next := map[cluster.NodeID]float64{}
		for _, node := range slices.Sorted(maps.Keys(at)) {
			held := at[node]
			hops := p.f.NextHops(node, dst)
			if node == p.c.Ports[src].Node {
				hops = p.f.Egress(src)
			}
			if len(hops) == 0 {
				return nil, fmt.Errorf("no path from %s to %s", p.port(src), p.port(dst))
			}
			for _, out := range hops {
				port := &p.c.Ports[p.c.Nodes[node].Ports[out]]
				part := held / float64(len(hops))
				share[p.cable[port.Link]] += part
				to := p.c.Ports[port.Peer].Node
				if to != p.c.Ports[dst].Node {
					share[p.swtch[to]] += part
					next[to] += part
				}
			}
		}
		if len(next) == 0 {
			break
		}
		at = next
	}
	u := make([]use, 0, len(share))
	for _, part := range slices.Sorted(maps.Keys(share)) {
		// Sums of equal parts are told apart from each other by rounding only.
		u = append(u, use{part, float32(math.Round(min(share[part], 1)*1e6) / 1e6)})
	}
	p.memory[key] = u
	return u, nil
}

// traced is of, with what is known of the path: of the parts between the first
// and the last switch those that the links name, and no others.
func (p *Footprints) traced(m *Measurement) ([]use, error) {
	uses, err := p.of(m.From, m.To)
	if err != nil || m.Links == nil {
		return uses, err
	}
	on := map[int32]bool{}
	for _, l := range m.Links {
		on[p.cable[l]] = true
		for _, end := range [...]cluster.PortID{p.c.Links[l].A, p.c.Links[l].B} {
			if s := p.swtch[p.c.Ports[end].Node]; s >= 0 {
				on[s] = true
			}
		}
	}
	known := make([]use, 0, len(uses))
	for _, u := range uses {
		switch {
		case on[u.part]:
			known = append(known, use{u.part, 1})
		case u.share == 1: // the only way
			known = append(known, u)
		}
	}
	return known, nil
}

// Traced tells which cables between switches a test used, from the bytes that
// their ports sent while it ran alone on them (see Steps): those on a possible
// path that carried at least half of what the test moved. It returns nil when
// the counters name no whole path, or more than one.
func (p *Footprints) Traced(t Test, moved float64, sent func(cluster.PortID) float64) []cluster.LinkID {
	uses, err := p.of(t.From, t.To)
	if err != nil {
		return nil
	}
	var links []cluster.LinkID
	whole := 0.0 // of the hops that a hash chooses
	hops := 0.0
	for _, u := range uses {
		if p.Parts[u.part].Kind != Cable {
			continue
		}
		id := p.link[u.part]
		a, b := p.c.Links[id].A, p.c.Links[id].B
		if p.swtch[p.c.Ports[a].Node] < 0 || p.swtch[p.c.Ports[b].Node] < 0 {
			continue
		}
		hops += float64(u.share)
		if max(sent(a), sent(b)) >= moved/2 {
			links = append(links, id)
			whole++
		}
	}
	if len(links) == 0 || math.Abs(whole-hops) > 0.01 {
		return nil
	}
	return links
}
