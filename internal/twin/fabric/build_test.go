package fabric

import (
	"fmt"
	"testing"

	"weir/internal/cluster"
	"weir/units"
)

// builder makes clusters by hand.
type builder struct{ c cluster.Cluster }

func newBuilder(topology string) *builder {
	return &builder{cluster.Cluster{
		Topology: topology,
		Seed:     1,
		Routing:  cluster.Routing{HashFields: cluster.HashSrcIP | cluster.HashDstIP | cluster.HashSrcPort | cluster.HashDstPort | cluster.HashProtocol},
	}}
}

func (b *builder) node(name string, tier uint8) cluster.NodeID {
	id := cluster.NodeID(len(b.c.Nodes))
	n := cluster.Node{Name: name, Kind: cluster.SwitchNode, Tier: tier, Host: -1, MLAGPeer: cluster.NodeID(cluster.None)}
	b.c.Nodes = append(b.c.Nodes, n)
	return id
}

// host adds a host; its NICs come with the links.
func (b *builder) host(name string) cluster.NodeID {
	id := b.node(name, 0)
	b.c.Nodes[id].Kind = cluster.HostNode
	b.c.Nodes[id].Host = int32(len(b.c.Hosts))
	b.c.Hosts = append(b.c.Hosts, cluster.Host{Node: id})
	return id
}

func (b *builder) port(n cluster.NodeID) cluster.PortID {
	id := cluster.PortID(len(b.c.Ports))
	node := &b.c.Nodes[n]
	k := uint16(len(node.Ports))
	p := cluster.Port{Node: n, Index: k, Name: fmt.Sprintf("port-%d", k), LAG: -1, NIC: -1, Rate: 100 * units.Gbps}
	if node.Kind == cluster.HostNode {
		p.Name = fmt.Sprintf("nic-%d", k)
		host := &b.c.Hosts[node.Host]
		p.NIC = int32(len(host.NICs))
		host.NICs = append(host.NICs, cluster.NIC{Name: p.Name, Ports: []cluster.PortID{id}})
	}
	b.c.Ports = append(b.c.Ports, p)
	node.Ports = append(node.Ports, id)
	return id
}

// link cables a new port of x to a new port of y.
func (b *builder) link(x, y cluster.NodeID) cluster.LinkID {
	p, q := b.port(x), b.port(y)
	id := cluster.LinkID(len(b.c.Links))
	b.c.Links = append(b.c.Links, cluster.Link{A: p, B: q, Rate: 100 * units.Gbps, Delay: units.Microsecond})
	b.c.Ports[p].Link, b.c.Ports[q].Link = id, id
	b.c.Ports[p].Peer, b.c.Ports[q].Peer = q, p
	return id
}

// bond makes the first two ports of a host one NIC.
func (b *builder) bond(n cluster.NodeID) {
	ports := b.c.Nodes[n].Ports
	b.c.Hosts[b.c.Nodes[n].Host].NICs = []cluster.NIC{{Name: "nic-0", Ports: ports[:2], Bond: true}}
	for i, p := range ports[:2] {
		b.c.Ports[p].NIC, b.c.Ports[p].LAG, b.c.Ports[p].Name = 0, 0, fmt.Sprintf("nic-0.%d", i)
	}
}

func (b *builder) fabric(t testing.TB) *Fabric {
	t.Helper()
	f, err := New(&b.c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// nic returns port k of a named node.
func (b *builder) at(name string, k int) cluster.PortID {
	return b.c.Nodes[b.id(name)].Ports[k]
}

func (b *builder) id(name string) cluster.NodeID {
	for i := range b.c.Nodes {
		if b.c.Nodes[i].Name == name {
			return cluster.NodeID(i)
		}
	}
	panic("no node " + name)
}

// leafSpine makes leaves x perLeaf hosts and spines, with parallel links
// between each leaf and each spine. Leaf ports: hosts first, then spines.
func leafSpine(leaves, perLeaf, spines, parallel int) *builder {
	b := newBuilder("leaf-spine")
	var ls []cluster.NodeID
	for i := range leaves {
		l := b.node(fmt.Sprintf("leaf-%d", i), 1)
		ls = append(ls, l)
		for k := range perLeaf {
			b.link(b.host(fmt.Sprintf("host-%d", i*perLeaf+k)), l)
		}
	}
	for i := range spines {
		s := b.node(fmt.Sprintf("spine-%d", i), 2)
		for _, l := range ls {
			for range parallel {
				b.link(l, s)
			}
		}
	}
	return b
}

// fatTree makes the three-tier fat tree of k-port switches: k pods of k/2
// leaves and k/2 aggregation switches, k*k/4 cores.
func fatTree(k int) *builder {
	b := newBuilder("fat-tree")
	var cores []cluster.NodeID
	for i := range k * k / 4 {
		cores = append(cores, b.node(fmt.Sprintf("core-%d", i), 3))
	}
	for pod := range k {
		var aggs []cluster.NodeID
		for i := range k / 2 {
			a := b.node(fmt.Sprintf("spine-%d", pod*k/2+i), 2)
			aggs = append(aggs, a)
			for j := range k / 2 {
				b.link(a, cores[i*k/2+j])
			}
		}
		for i := range k / 2 {
			leaf := b.node(fmt.Sprintf("leaf-%d", pod*k/2+i), 1)
			for j := range k / 2 {
				b.link(b.host(fmt.Sprintf("host-%d", (pod*k/2+i)*k/2+j)), leaf)
			}
			for _, a := range aggs {
				b.link(leaf, a)
			}
		}
	}
	return b
}
