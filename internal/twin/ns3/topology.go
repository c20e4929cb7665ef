// Package ns3 reads and writes the plain-text formats of the public ns-3 RoCE
// simulators (topology, flows, completion times), so that their users can run
// the files they have, and holds the parameter sets under which results can be
// compared with theirs.
package ns3

import (
	"fmt"
	"io"
	"strconv"

	"weir/internal/cluster"
	"weir/internal/input"
	"weir/units"
)

// Topology is a parsed topology file.
type Topology struct {
	Nodes    int
	Switches []int // node numbers, in the order of the file
	Links    []Link
}

// Link is one line of the link list. Loss is the probability that a packet is
// lost, each way.
type Link struct {
	A, B  int
	Rate  units.BitRate
	Delay units.Time
	Loss  float64
}

// ReadTopology reads: node count, switch count and link count; the switches'
// node numbers; then a line per link: two nodes, rate, delay and loss.
func ReadTopology(file string, r io.Reader) (*Topology, error) {
	s := newScanner(file, r)
	nodes, err := s.number("the number of nodes", maxNodes)
	if err != nil {
		return nil, err
	}
	switches, err := s.number("the number of switches", nodes)
	if err != nil {
		return nil, err
	}
	links, err := s.number("the number of links", maxLinks)
	if err != nil {
		return nil, err
	}
	if err := s.end("node count, switch count, link count (files with GPU counts are another format)"); err != nil {
		return nil, err
	}
	t := &Topology{Nodes: int(nodes)}
	isSwitch := make([]bool, nodes)
	for range switches {
		n, err := s.number("a switch's node number", nodes-1)
		if err != nil {
			return nil, err
		}
		if isSwitch[n] {
			return nil, s.errorAt(s.fields[s.next-1], "each switch once")
		}
		isSwitch[n] = true
		t.Switches = append(t.Switches, int(n))
	}
	for range links {
		l, err := readLink(s, nodes)
		if err != nil {
			return nil, err
		}
		t.Links = append(t.Links, l)
	}
	if ok, err := s.row(); err != nil {
		return nil, err
	} else if ok {
		return nil, s.errorAt(s.fields[0], fmt.Sprintf("end of file after %d links", links))
	}
	return t, nil
}

func readLink(s *scanner, nodes uint64) (Link, error) {
	a, err := s.number("a node number", nodes-1)
	if err != nil {
		return Link{}, err
	}
	b, err := s.number("a node number", nodes-1)
	if err != nil {
		return Link{}, err
	}
	if a == b {
		return Link{}, s.errorAt(s.fields[s.next-1], "two different nodes")
	}
	rate, err := s.rate("the link's rate")
	if err != nil {
		return Link{}, err
	}
	delay, err := s.delay("the link's delay")
	if err != nil {
		return Link{}, err
	}
	loss, err := s.real("the link's loss", 1)
	if err != nil {
		return Link{}, err
	}
	return Link{int(a), int(b), rate, delay, loss}, s.end("two nodes, rate, delay, loss")
}

// Cluster builds the model of the topology. Hosts are the nodes that are not
// switches, named host-N by their node number; each of their links is a NIC.
// Switches get tiers by their distance from the hosts and are named leaf-N,
// spine-N and core-N in the order of the file. file is named in errors.
func (t *Topology) Cluster(file string) (*cluster.Cluster, error) {
	tiers, err := t.tiers(file)
	if err != nil {
		return nil, err
	}
	c := &cluster.Cluster{Name: file, Topology: "explicit", Planes: 1}
	c.Nodes = make([]cluster.Node, t.Nodes)
	count := map[uint8]int{}
	order := append([]int(nil), t.Switches...)
	for _, n := range order {
		c.Nodes[n] = cluster.Node{
			Name: tierName(tiers[n]) + "-" + strconv.Itoa(count[tiers[n]]),
			Kind: cluster.SwitchNode, Tier: tiers[n], Host: -1, MLAGPeer: cluster.NodeID(cluster.None),
		}
		count[tiers[n]]++
	}
	for n := range c.Nodes {
		if tiers[n] == 0 {
			c.Nodes[n] = cluster.Node{
				Name: "host-" + strconv.Itoa(n), Kind: cluster.HostNode,
				Host: int32(len(c.Hosts)), MLAGPeer: cluster.NodeID(cluster.None),
			}
			c.Hosts = append(c.Hosts, cluster.Host{Node: cluster.NodeID(n), GPUs: 1})
		}
	}
	for i, l := range t.Links {
		a := addPort(c, l.A, l.Rate, cluster.LinkID(i))
		b := addPort(c, l.B, l.Rate, cluster.LinkID(i))
		c.Ports[a].Peer, c.Ports[b].Peer = b, a
		c.Links = append(c.Links, cluster.Link{A: a, B: b, Rate: l.Rate, Delay: l.Delay, Loss: l.Loss})
	}
	return c, nil
}

// addPort adds a port to a node, and a NIC with it where the node is a host.
func addPort(c *cluster.Cluster, node int, rate units.BitRate, link cluster.LinkID) cluster.PortID {
	n := &c.Nodes[node]
	id := cluster.PortID(len(c.Ports))
	p := cluster.Port{Node: cluster.NodeID(node), Index: uint16(len(n.Ports)), Link: link, LAG: -1, NIC: -1, Rate: rate}
	p.Name = "port-" + strconv.Itoa(len(n.Ports))
	if n.Kind == cluster.HostNode {
		h := &c.Hosts[n.Host]
		p.NIC = int32(len(h.NICs))
		p.Name = "nic-" + strconv.Itoa(len(h.NICs))
		h.NICs = append(h.NICs, cluster.NIC{
			Name: p.Name, Device: "mlx5_" + strconv.Itoa(len(h.NICs)), Rail: p.NIC, GPU: 0,
			Ports: []cluster.PortID{id}, Address: address(node),
		})
	}
	n.Ports = append(n.Ports, id)
	c.Ports = append(c.Ports, p)
	return id
}

// address is the ns-3 tools' address of a node: 11.0.0.1 plus the node number
// in the two middle bytes. Their completion files print it in hex.
func address(node int) string {
	ip := addressBits(node)
	return fmt.Sprintf("%d.%d.%d.%d", ip>>24, ip>>16&0xff, ip>>8&0xff, ip&0xff)
}

func addressBits(node int) uint32 {
	return 0x0b000001 + uint32(node/256)<<16 + uint32(node%256)<<8
}

func tierName(tier uint8) string {
	switch tier {
	case 1:
		return "leaf"
	case 2:
		return "spine"
	}
	return "core"
}

// tiers returns each node's distance from the nearest host: 0 for hosts.
func (t *Topology) tiers(file string) ([]uint8, error) {
	const unset = 0xff
	tiers := make([]uint8, t.Nodes)
	for _, n := range t.Switches {
		tiers[n] = unset
	}
	for level := uint8(0); ; level++ {
		grown := false
		for _, l := range t.Links {
			for _, end := range [2][2]int{{l.A, l.B}, {l.B, l.A}} {
				if tiers[end[0]] == level && tiers[end[1]] == unset {
					tiers[end[1]] = level + 1
					grown = true
				}
			}
		}
		if !grown {
			break
		}
	}
	for _, n := range t.Switches {
		if tiers[n] == unset {
			return nil, &input.Error{File: file, Found: fmt.Sprintf("switch %d has no path to any host", n), Allowed: "a connected topology"}
		}
	}
	if len(t.Switches) == t.Nodes {
		return nil, &input.Error{File: file, Found: "no hosts: every node is a switch", Allowed: "at least two hosts"}
	}
	return tiers, nil
}
