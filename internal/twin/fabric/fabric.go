// Package fabric computes how packets find their way through a cluster: the
// equal next hops of every switch towards every host port, the hash that picks
// among them, and the path that a flow takes.
//
// Routing is by shortest up-down paths where switches have tiers (a packet
// that has turned down never goes up again, so no cycle of buffers can form),
// and by plain shortest paths in explicit graphs. Host ports with the same
// leaves share their routes, so tables grow with the number of leaves and not
// with the number of hosts.
package fabric

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"weir/internal/cluster"
)

// Fabric holds the routes of one cluster in one state of its links. It does
// not change, so any number of goroutines may use it.
type Fabric struct {
	c *cluster.Cluster

	seeds   []uint32         // hash seed by node
	address []uint32         // IPv4 address by port; 0 for switch ports
	sw      []int32          // dense switch number by node, -1 for hosts
	nodes   []cluster.NodeID // node by dense switch number
	plain   bool             // no tiers: shortest paths
	down    []bool           // dead links; nil: none

	arrivals []arrival // by port; of host ports only
	extra    []local   // further leaves of bonds over several leaves
	table    []uint32  // group by target x number of switches + switch
	groups   groups
}

// arrival says how packets reach a host port.
type arrival struct {
	leaf   cluster.NodeID // that the port (or its bond) hangs on
	group  uint32         // its ports there
	target int32          // row of the table for all other switches, -1: not attached to a switch
	extra  uint32         // extra[extra:extra+more]: the other leaves of a bond
	more   uint32
	egress uint32 // group of the host's ports that the NIC sends by
}

// local is one leaf of a bond and its ports there.
type local struct {
	leaf  cluster.NodeID
	group uint32
}

// New routes a cluster with all its links up. It refuses models that
// contradict themselves; unreachable pairs are no error here (planes and rails
// may be apart on purpose), but one of Reachable and PathOf.
func New(c *cluster.Cluster) (*Fabric, error) {
	if err := verify(c); err != nil {
		return nil, err
	}
	f := &Fabric{
		c:       c,
		seeds:   make([]uint32, len(c.Nodes)),
		address: make([]uint32, len(c.Ports)),
		sw:      make([]int32, len(c.Nodes)),
		plain:   c.Topology == "explicit",
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		f.sw[i] = -1
		if n.Kind == cluster.SwitchNode {
			f.sw[i] = int32(len(f.nodes))
			f.nodes = append(f.nodes, cluster.NodeID(i))
			f.plain = f.plain || n.Tier == 0
		}
		if s := c.Routing.HashSeed; s != 0 {
			f.seeds[i] = finish(mix(uint32(s), uint32(s>>32)))
		} else {
			f.seeds[i] = nodeSeed(c.Seed, n.Name)
		}
	}
	if err := f.setAddresses(); err != nil {
		return nil, err
	}
	f.route()
	return f, nil
}

// WithDown returns the same cluster's routes when exactly the given links are
// dead: next-hop groups shrink, or routes go another way.
func (f *Fabric) WithDown(links ...cluster.LinkID) *Fabric {
	g := &Fabric{c: f.c, seeds: f.seeds, address: f.address, sw: f.sw, nodes: f.nodes, plain: f.plain}
	if len(links) != 0 {
		g.down = make([]bool, len(f.c.Links))
		for _, l := range links {
			g.down[l] = true
		}
	}
	g.route()
	return g
}

// verify checks the references that routing relies on.
func verify(c *cluster.Cluster) error {
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if len(n.Ports) > 1<<16 {
			return fmt.Errorf("%s has %d ports: allowed are up to 65536", n.Name, len(n.Ports))
		}
		for k, id := range n.Ports {
			if int(id) >= len(c.Ports) || c.Ports[id].Node != cluster.NodeID(i) || int(c.Ports[id].Index) != k {
				return fmt.Errorf("%s: port number %d is not port %d of the cluster", n.Name, k, id)
			}
		}
	}
	for i := range c.Ports {
		p := &c.Ports[i]
		if p.Link == cluster.LinkID(cluster.None) {
			continue
		}
		if int(p.Link) >= len(c.Links) || int(p.Peer) >= len(c.Ports) || int(p.Peer) == i || c.Ports[p.Peer].Peer != cluster.PortID(i) || c.Ports[p.Peer].Link != p.Link {
			return fmt.Errorf("%s/%s: the ends of its link do not agree", c.Nodes[p.Node].Name, p.Name)
		}
	}
	return nil
}

// setAddresses gives each host port the IPv4 address of its NIC. The second
// port of a NIC without bond has the next one; ports without a NIC, or with a
// NIC without address, have one in 10.0.0.0/8 by their number.
func (f *Fabric) setAddresses() error {
	for i := range f.c.Ports {
		if f.c.Nodes[f.c.Ports[i].Node].Kind == cluster.HostNode {
			f.address[i] = 10<<24 | uint32(i+1)&0xffffff
		}
	}
	for h := range f.c.Hosts {
		host := &f.c.Hosts[h]
		for i := range host.NICs {
			nic := &host.NICs[i]
			if nic.Address == "" {
				continue
			}
			a, err := netip.ParseAddr(nic.Address)
			if err != nil || !a.Is4() {
				return fmt.Errorf("%s/%s: %q is not an IPv4 address", f.c.Nodes[host.Node].Name, nic.Name, nic.Address)
			}
			b := a.As4()
			for k, p := range nic.Ports {
				f.address[p] = binary.BigEndian.Uint32(b[:])
				if !nic.Bond {
					f.address[p] += uint32(k)
				}
			}
		}
	}
	return nil
}

// Address returns the IPv4 address of a host port, for hashing.
func (f *Fabric) Address(p cluster.PortID) uint32 { return f.address[p] }

// Seed returns the hash seed of a node.
func (f *Fabric) Seed(n cluster.NodeID) uint32 { return f.seeds[n] }

// NextHops returns the port numbers, ascending, by which a node may send a
// packet that is for host port dst: all members of link aggregates are there,
// so that one choice covers next hop and member. It is empty when there is no
// way. The caller must not change the slice. For switches it neither
// allocates nor searches; for hosts it lists every port that can reach dst,
// while the choice of a NIC is Egress's.
func (f *Fabric) NextHops(node cluster.NodeID, dst cluster.PortID) []uint16 {
	a := &f.arrivals[dst]
	if node == a.leaf {
		return f.groups.get(a.group)
	}
	s := f.sw[node]
	if s < 0 {
		return f.hostHops(node, dst)
	}
	for _, l := range f.extra[a.extra : a.extra+a.more] {
		if l.leaf == node {
			return f.groups.get(l.group)
		}
	}
	if a.target < 0 {
		return nil
	}
	return f.groups.get(f.table[int(a.target)*len(f.nodes)+int(s)])
}

// Choose picks the port for a packet with this hash among NextHops. false:
// there is no way.
func (f *Fabric) Choose(node cluster.NodeID, dst cluster.PortID, hash uint32) (uint16, bool) {
	hops := f.NextHops(node, dst)
	switch len(hops) {
	case 0:
		return 0, false
	case 1:
		return hops[0], true
	}
	return hops[hash%uint32(len(hops))], true
}

// Egress returns the port numbers of the host by which the NIC of host port
// src sends: the live members of its bond, or the port alone. It is empty
// when all are dead or not cabled.
func (f *Fabric) Egress(src cluster.PortID) []uint16 {
	return f.groups.get(f.arrivals[src].egress)
}

func (f *Fabric) hostHops(node cluster.NodeID, dst cluster.PortID) []uint16 {
	var hops []uint16
	for k, id := range f.c.Nodes[node].Ports {
		if !f.alive(id) {
			continue
		}
		peer := &f.c.Ports[f.c.Ports[id].Peer]
		if f.sw[peer.Node] < 0 {
			if f.sameEndpoint(f.c.Ports[id].Peer, dst) {
				hops = append(hops, uint16(k))
			}
		} else if len(f.NextHops(peer.Node, dst)) != 0 {
			hops = append(hops, uint16(k))
		}
	}
	return hops
}

// alive reports whether a port is cabled and its link is up.
func (f *Fabric) alive(p cluster.PortID) bool {
	l := f.c.Ports[p].Link
	return l != cluster.LinkID(cluster.None) && (f.down == nil || !f.down[l])
}

// WithOneSeed returns the same routes with one hash seed on all nodes, or with
// each node's own again.
func (f *Fabric) WithOneSeed(one bool) *Fabric {
	g := *f
	g.seeds = make([]uint32, len(f.seeds))
	for i := range g.seeds {
		switch s := f.c.Routing.HashSeed; {
		case one:
			g.seeds[i] = finish(1)
		case s != 0:
			g.seeds[i] = finish(mix(uint32(s), uint32(s>>32)))
		default:
			g.seeds[i] = nodeSeed(f.c.Seed, f.c.Nodes[i].Name)
		}
	}
	return &g
}
