package fabric

import (
	"fmt"

	"weir/internal/cluster"
)

// Hop is one step of a path: a node and the port by which it sends.
type Hop struct {
	Node cluster.NodeID
	Out  uint16 // port number within the node
	Link cluster.LinkID
	To   cluster.NodeID // the node at the other end
}

// PathOf returns the hops that a flow from host port src to host port dst
// takes when every node picks by hash. The first hop is the sending host's;
// the last one ends at the receiving host. The error names both ends.
func (f *Fabric) PathOf(src, dst cluster.PortID, fields *Fields) ([]Hop, error) {
	if err := f.Reachable(src, dst); err != nil {
		return nil, err
	}
	mask := f.c.Routing.HashFields
	from := f.c.Ports[src].Node
	goal := f.c.Ports[dst].Node
	egress := f.viable(src, dst)
	out := egress[fields.Hash(mask, f.seeds[from])%uint32(len(egress))]
	var path []Hop
	for node := from; ; {
		port := &f.c.Ports[f.c.Nodes[node].Ports[out]]
		to := f.c.Ports[port.Peer].Node
		path = append(path, Hop{Node: node, Out: out, Link: port.Link, To: to})
		if to == goal {
			return path, nil
		}
		node = to
		var ok bool
		if out, ok = f.Choose(node, dst, fields.Hash(mask, f.seeds[node])); !ok || len(path) > len(f.c.Nodes) {
			return nil, fmt.Errorf("no path from %s to %s: it ends at %s", f.portName(src), f.portName(dst), f.c.Nodes[node].Name)
		}
	}
}

// Reachable returns nil if packets from host port src (or its bond) can reach
// host port dst, else an error that names both.
func (f *Fabric) Reachable(src, dst cluster.PortID) error {
	for _, p := range [...]cluster.PortID{src, dst} {
		if f.c.Nodes[f.c.Ports[p].Node].Kind != cluster.HostNode {
			return fmt.Errorf("no path from %s to %s: %s is not a host's port", f.portName(src), f.portName(dst), f.portName(p))
		}
		if len(f.Egress(p)) == 0 {
			return fmt.Errorf("no path from %s to %s: %s has no link that is up", f.portName(src), f.portName(dst), f.portName(p))
		}
	}
	if f.c.Ports[src].Node == f.c.Ports[dst].Node && f.sameEndpoint(src, dst) {
		return fmt.Errorf("no path from %s to %s: it is the same port", f.portName(src), f.portName(dst))
	}
	if len(f.viable(src, dst)) == 0 {
		return fmt.Errorf("no path from %s to %s", f.portName(src), f.portName(dst))
	}
	return nil
}

// viable returns those of Egress(src) that reach dst.
func (f *Fabric) viable(src, dst cluster.PortID) []uint16 {
	egress := f.Egress(src)
	ports := f.c.Nodes[f.c.Ports[src].Node].Ports
	var good []uint16
	for _, k := range egress {
		peer := f.c.Ports[ports[k]].Peer
		node := f.c.Ports[peer].Node
		if f.sw[node] < 0 && f.sameEndpoint(peer, dst) || f.sw[node] >= 0 && len(f.NextHops(node, dst)) != 0 {
			good = append(good, k)
		}
	}
	return good
}

func (f *Fabric) portName(p cluster.PortID) string {
	port := &f.c.Ports[p]
	return f.c.Nodes[port.Node].Name + "/" + port.Name
}
