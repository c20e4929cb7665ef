package cluster

import "strings"

// A Place is where a fault acts or a capture listens.
type Place struct {
	Kind  PlaceKind
	Nodes []NodeID // NodePlace: one; PairPlace: two hosts
	Port  PortID   // PortPlace
	Links []LinkID // LinkPlace: all cables between the two nodes
	NIC   NICRef   // NICPlace
}

// PlaceKind is the kind of a place.
type PlaceKind uint8

// The kinds: the whole fabric, a node, a NIC with all its ports, one port,
// the cables between two nodes, a pair of hosts.
const (
	FabricPlace PlaceKind = iota
	NodePlace
	NICPlace
	PortPlace
	LinkPlace
	PairPlace
)

// FindNode returns the node of that name.
func (c *Cluster) FindNode(name string) (NodeID, bool) {
	for i := range c.Nodes {
		if c.Nodes[i].Name == name {
			return NodeID(i), true
		}
	}
	return 0, false
}

// FindPort returns the port of a node by its name.
func (c *Cluster) FindPort(n NodeID, name string) (PortID, bool) {
	for _, p := range c.Nodes[n].Ports {
		if c.Ports[p].Name == name {
			return p, true
		}
	}
	return 0, false
}

// LinksBetween returns the cables that join two nodes.
func (c *Cluster) LinksBetween(a, b NodeID) []LinkID {
	var out []LinkID
	for _, p := range c.Nodes[a].Ports {
		if q := c.Ports[p].Peer; q != PortID(None) && c.Ports[q].Node == b {
			out = append(out, c.Ports[p].Link)
		}
	}
	return out
}

const placeForms = "a node (leaf-2), a NIC or port (host-7/nic-3, leaf-2/port-5), a link (leaf-2~spine-1), a pair (host-1,host-2) or fabric"

// Place reads a place: see the allowed forms in the error it returns.
func (c *Cluster) Place(s string) (Place, error) {
	node := func(name string) (NodeID, error) {
		id, ok := c.FindNode(name)
		if !ok {
			return 0, &clauseError{"found unknown node " + quoted(name), "allowed " + placeForms}
		}
		return id, nil
	}
	if s == "fabric" {
		return Place{Kind: FabricPlace}, nil
	}
	for _, form := range [...]struct {
		sep  string
		kind PlaceKind
	}{{"~", LinkPlace}, {",", PairPlace}} {
		x, y, ok := strings.Cut(s, form.sep)
		if !ok {
			continue
		}
		a, err := node(x)
		if err != nil {
			return Place{}, err
		}
		b, err := node(y)
		if err != nil {
			return Place{}, err
		}
		p := Place{Kind: form.kind, Nodes: []NodeID{a, b}}
		if form.kind == LinkPlace {
			if p.Links = c.LinksBetween(a, b); len(p.Links) == 0 {
				return Place{}, &clauseError{"found no link between " + quoted(x) + " and " + quoted(y), "allowed two nodes that a cable joins"}
			}
		}
		return p, nil
	}
	name, port, cut := strings.Cut(s, "/")
	id, err := node(name)
	if err != nil {
		return Place{}, err
	}
	if !cut {
		return Place{Kind: NodePlace, Nodes: []NodeID{id}}, nil
	}
	if h := c.Nodes[id].Host; h >= 0 {
		for i := range c.Hosts[h].NICs {
			if n := &c.Hosts[h].NICs[i]; n.Name == port || n.Device == port {
				return Place{Kind: NICPlace, Nodes: []NodeID{id}, NIC: NICRef{Host: h, NIC: int32(i)}}, nil
			}
		}
	}
	if p, ok := c.FindPort(id, port); ok {
		return Place{Kind: PortPlace, Nodes: []NodeID{id}, Port: p}, nil
	}
	return Place{}, &clauseError{"found unknown port " + quoted(port) + " of " + name, "allowed " + placeForms}
}
