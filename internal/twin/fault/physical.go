package fault

import (
	"slices"

	"weir/internal/cluster"
)

// Physical returns the cluster as it is built when faults of its cabling are
// there: the same nodes and ports with other ends of cables. Without such faults
// it returns c.
func Physical(c *cluster.Cluster) *cluster.Cluster {
	out := c
	for i := range c.Faults {
		f := &c.Faults[i]
		if f.ID != "cabling-wrong" {
			continue
		}
		k, place, err := resolve(c, f)
		if err != nil {
			continue // Inject says so
		}
		if out == c {
			own := *c
			own.Ports, own.Links = slices.Clone(c.Ports), slices.Clone(c.Links)
			out = &own
		}
		a, b := swappedPorts(newSite(c, place, &k, f))
		swapCables(out, a, b)
	}
	return out
}

// swappedPorts returns a port of the place and the next cabled port of its node
// of the same rate that leads elsewhere, or the same port twice.
func swappedPorts(s *site) (a, b cluster.PortID) {
	own := s.own()
	if len(own) == 0 {
		return 0, 0
	}
	a = own[0]
	ports := s.c.Nodes[s.c.Ports[a].Node].Ports
	at := int(s.c.Ports[a].Index)
	for k := 1; k < len(ports); k++ {
		b = ports[(at+k)%len(ports)]
		p, q := &s.c.Ports[a], &s.c.Ports[b]
		if q.Link != cluster.LinkID(cluster.None) && s.c.Links[q.Link].Rate == s.c.Links[p.Link].Rate && p.Peer != b {
			return a, b
		}
	}
	return a, a
}

// swapCables exchanges what two ports are joined to.
func swapCables(c *cluster.Cluster, a, b cluster.PortID) {
	p, q := &c.Ports[a], &c.Ports[b]
	far, other := p.Peer, q.Peer
	p.Peer, q.Peer = other, far
	c.Ports[far].Peer, c.Ports[other].Peer = b, a
	p.Link, q.Link = q.Link, p.Link
	end := func(l cluster.LinkID, from, to cluster.PortID) {
		k := &c.Links[l]
		if k.A == from {
			k.A = to
		} else if k.B == from {
			k.B = to
		}
	}
	end(p.Link, b, a)
	end(q.Link, a, b)
}
