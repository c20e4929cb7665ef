package cluster

import (
	"strconv"
	"strings"

	"weir/units"
)

// explicit builds the switches and links that the file lists.
func (b *builder) explicit(f *node, fastest units.BitRate) error {
	common := b.root.at("switch")
	base := common.stringOr("model", usualSwitch(fastest), "default")
	for _, n := range f.items("switches") {
		if err := b.explicitSwitch(n, common, base); err != nil {
			return err
		}
	}
	if err := b.explicitMLAG(f); err != nil {
		return err
	}
	for h := range b.c.Hosts {
		host := &b.c.Hosts[h]
		cl := &b.classes[b.hostOf[h]]
		for i := range host.NICs {
			nic := &host.NICs[i]
			for p := 0; p < cl.ports; p++ {
				name := nic.Name
				if cl.ports > 1 {
					name += "." + strconv.Itoa(p)
				}
				nic.Ports = append(nic.Ports, b.addPort(host.Node, name, cl.speed, int32(i)))
			}
			if cl.bond {
				g := b.newLAG(host.Node)
				for _, p := range nic.Ports {
					b.c.Ports[p].LAG = g
				}
			}
		}
	}
	return b.explicitLinks(f)
}

func (b *builder) explicitSwitch(n, common *node, base string) error {
	tier := uint8(n.int("tier"))
	at := common.at(tierNames[tier])
	tierBase := base
	if v, ok := at.optional("model"); ok {
		tierBase = v.s
	}
	m, os, err := b.switchModel(common, at, base)
	if err != nil {
		return err
	}
	if own, ok := n.optional("model"); ok && own.s != tierBase {
		m, _ = LookupSwitch(own.s)
		os = m.OS[0]
	}
	if v, ok := n.optional("os"); ok {
		os = v.s
		known := false
		for _, o := range m.OS {
			known = known || o == os
		}
		if !known {
			return n.where("os").found(os+" on "+m.Name, joinWords(m.OS))
		}
	}
	plane := n.int("plane")
	b.c.Planes = max(b.c.Planes, int(plane)+1)
	_, err = b.addNode(Node{Name: n.string("name"), Kind: SwitchNode, Tier: tier, Plane: uint8(plane), Host: -1, Model: m, OS: os, MLAGPeer: NodeID(None)}, n.where("name"))
	return err
}

// explicitMLAG joins the pairs, each of whose members must name the other.
func (b *builder) explicitMLAG(f *node) error {
	peer := map[string]string{}
	items := f.items("switches")
	for _, n := range items {
		if v, ok := n.optional("mlag"); ok {
			peer[n.string("name")] = v.s
		}
	}
	for _, n := range items {
		me := n.string("name")
		other, ok := peer[me]
		if !ok {
			continue
		}
		id, known := b.byName[other]
		switch {
		case !known || b.c.Nodes[id].Kind != SwitchNode:
			return n.where("mlag").found("MLAG with unknown switch "+quoted(other), "the name of a switch of the file"+b.nearestNode(other))
		case other == me || peer[other] != me:
			return n.where("mlag").found(me+" in an MLAG with "+other+", which is not in one with "+me, "pairs whose members name each other")
		}
		b.c.Nodes[b.byName[me]].MLAGPeer = id
	}
	return nil
}

func (b *builder) nearestNode(s string) string {
	if len(b.c.Nodes) > 4096 {
		return ""
	}
	var names []string
	for i := range b.c.Nodes {
		names = append(names, b.c.Nodes[i].Name)
	}
	return Nearest(s, names)
}

// explicitLinks plugs the listed cables in.
func (b *builder) explicitLinks(f *node) error {
	type groupKey struct {
		node NodeID
		name string
	}
	groups := map[groupKey]int32{}
	byName := map[groupKey]PortID{} // ports that the file names, by node
	for _, n := range f.items("links") {
		var ends [2]PortID
		var nodes [2]NodeID
		var hostSpeed units.BitRate
		for i, key := range [...]string{"a", "b"} {
			id, port, err := b.end(n.at(key))
			if err != nil {
				return err
			}
			nodes[i], ends[i] = id, PortID(None)
			if b.c.Nodes[id].Kind == HostNode {
				if ends[i], err = b.hostPort(n.at(key), id, port); err != nil {
					return err
				}
				hostSpeed = max(hostSpeed, b.c.Ports[ends[i]].Rate)
			}
		}
		if nodes[0] == nodes[1] {
			return n.where("b", "a").found("a link from "+b.c.Nodes[nodes[0]].Name+" to itself", "two different nodes")
		}
		speed, from := hostSpeed, "computed: the NIC's"
		if speed == 0 {
			speed, from = min(b.c.Nodes[nodes[0]].Model.Speed, b.c.Nodes[nodes[1]].Model.Speed), "computed: the switch port's"
		}
		metres := leafCable
		if hostSpeed > 0 {
			metres = hostCable
		}
		l := readCable(n, speed, from, metres)
		l.loss = n.float("loss")
		if hostSpeed > 0 && l.speed != hostSpeed {
			return n.where("speed").found(l.speed.String()+" at a card that runs at "+hostSpeed.String(), "the card's speed")
		}
		for i, key := range [...]string{"a", "b"} {
			if ends[i] != PortID(None) {
				continue
			}
			port := portOf(n.at(key).val.s)
			if k := (groupKey{nodes[i], port}); port != "" {
				if _, dup := byName[k]; dup {
					return n.at(key).pos.found("port "+quoted(n.at(key).val.s)+" twice", "one cable to a port")
				}
				byName[k] = 0
			}
			if len(b.c.Nodes[nodes[i]].Ports) >= 65535 {
				return n.at(key).pos.found("more ports than fit on "+b.c.Nodes[nodes[i]].Name, "65535")
			}
			ends[i] = b.addPort(nodes[i], port, l.speed, -1)
		}
		if v, ok := n.optional("lag"); ok {
			for i := range ends {
				k := groupKey{nodes[i], v.s}
				g, known := groups[k]
				if !known {
					g = b.newLAG(nodes[i])
					groups[k] = g
				}
				if b.c.Nodes[nodes[i]].Kind == SwitchNode {
					b.c.Ports[ends[i]].LAG = g
				}
			}
		}
		b.connect(ends[0], ends[1], l)
		for i := range nodes {
			if h := b.c.Nodes[nodes[i]].Host; h >= 0 && b.leafOf[h] == NodeID(None) && b.c.Nodes[nodes[1-i]].Kind == SwitchNode {
				b.leafOf[h] = nodes[1-i]
			}
		}
	}
	return b.nameFreePorts()
}

// nameFreePorts checks that numbered port names do not collide with those that
// the file gave.
func (b *builder) nameFreePorts() error {
	for i := range b.c.Nodes {
		n := &b.c.Nodes[i]
		if n.Kind != SwitchNode {
			continue
		}
		seen := map[string]bool{}
		for _, p := range n.Ports {
			for k := 0; seen[b.c.Ports[p].Name]; k++ {
				b.c.Ports[p].Name = "port-" + strconv.Itoa(len(n.Ports)+k)
			}
			seen[b.c.Ports[p].Name] = true
		}
	}
	return nil
}

func portOf(s string) string {
	_, port, _ := strings.Cut(s, "/")
	return port
}

// end reads "node" or "node/port".
func (b *builder) end(n *node) (NodeID, string, error) {
	text := n.value().s
	nodeName, port, cut := strings.Cut(text, "/")
	id, ok := b.byName[nodeName]
	if !ok {
		return 0, "", n.pos.found("unknown node "+quoted(nodeName), "a host or switch of the file"+b.nearestNode(nodeName))
	}
	// Ports of devices may hold slashes themselves: Ethernet1/7.
	if cut && !validName(strings.ReplaceAll(strings.ReplaceAll(port, "/", ""), ":", "")) {
		return 0, "", n.pos.found("port "+quoted(port), "a port's name, as in leaf-0/port-5")
	}
	return id, port, nil
}

// hostPort finds a host's port by name; without a name it is the next that
// has no cable.
func (b *builder) hostPort(n *node, id NodeID, name string) (PortID, error) {
	host := &b.c.Nodes[id]
	for _, p := range host.Ports {
		port := &b.c.Ports[p]
		first := b.c.Hosts[host.Host].NICs[port.NIC]
		match := port.Name == name || name == "" && port.Link == LinkID(None) || name == first.Device && len(first.Ports) == 1
		if !match {
			continue
		}
		if port.Link != LinkID(None) {
			return 0, n.pos.found("port "+quoted(n.val.s)+" twice", "one cable to a port")
		}
		return p, nil
	}
	if name == "" {
		return 0, n.pos.found("one more cable to "+host.Name, "as many as it has ports: "+strconv.Itoa(len(host.Ports)))
	}
	var names []string
	for _, p := range host.Ports {
		names = append(names, b.c.Ports[p].Name)
	}
	return 0, n.pos.found("unknown port "+quoted(name)+" of "+host.Name, joinWords(names))
}
