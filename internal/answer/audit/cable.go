package audit

import (
	"strings"

	"weir/internal/cluster"
	"weir/internal/fact"
)

// checkCables compares neighbours with the plan, and both ends of each cable
// with each other in what the plan does not say.
func (a *auditor) checkCables() {
	names := a.names()
	told := map[cluster.LinkID]bool{}
	for id, s := range a.ports {
		port := cluster.PortID(id)
		if s == nil || a.c.Ports[port].Link == cluster.LinkID(cluster.None) {
			continue
		}
		a.checkNeighbour(names, port, s, told)
		if peer := a.c.Ports[port].Peer; uint32(peer) != cluster.None && port < peer && a.ports[peer] != nil {
			a.checkEnds(port, peer)
		}
	}
}

// checkNeighbour compares what LLDP or the port's description says. A name that
// the plan does not have says nothing: descriptions are free text.
func (a *auditor) checkNeighbour(names map[string]cluster.NodeID, port cluster.PortID, s *portState, told map[cluster.LinkID]bool) {
	peer, line, source := a.neighbour(port, s)
	node, at, _ := strings.Cut(peer, "/")
	short, _, _ := strings.Cut(strings.ToLower(node), ".")
	id, ok := names[strings.ToLower(node)]
	if !ok {
		if id, ok = names[short]; !ok {
			return
		}
	}
	p := &a.c.Ports[port]
	want := p.Peer
	if a.c.Ports[want].Node == id && (at == "" || a.isPort(want, at)) || told[p.Link] {
		return
	}
	if a.c.Ports[want].Node == id && !a.knownPort(id, at) {
		return // a name for the port that nothing translates
	}
	told[p.Link] = true
	consequence := "Traffic takes another way than planned: it detours, and routes or rails do not match their ports."
	if n := a.c.Nodes[p.Node]; n.Host < 0 && a.c.Nodes[id].Host >= 0 || n.Host >= 0 {
		consequence = "Traffic of one rail lands on another rail's switch port: connections within a rail fail or take a detour."
	}
	a.add(deviation{node: p.Node, port: port, onPort: true, name: s.name, setting: "cable", cause: "cabling-wrong", severity: problem,
		expected: a.c.Nodes[a.c.Ports[want].Node].Name + "/" + a.nameOf(want), found: peer, consequence: consequence, source: source, line: line})
}

// neighbour returns what is said to be at the other end.
func (a *auditor) neighbour(port cluster.PortID, s *portState) (peer string, line int, source string) {
	d := a.nodes[a.c.Ports[port].Node]
	list := s.facts
	if len(list) == 0 && d != nil {
		list = d.facts[s.name]
	}
	for _, i := range list {
		if f := &a.e.Facts[i]; f.Key == "link.neighbour" && f.Value.Kind() == fact.Text && !isConfigFact(f) {
			peer, line, source = f.Value.String(), f.Origin.Line, f.Origin.Source
		}
	}
	return peer, line, source
}

// isConfigFact tells a description from what the neighbour said.
func isConfigFact(f *fact.Fact) bool {
	return f.Origin.Tool == "switch configuration" || strings.HasPrefix(f.Origin.Tool, "nv config")
}

func (a *auditor) isPort(id cluster.PortID, name string) bool {
	p := &a.c.Ports[id]
	if s := a.ports[id]; s != nil && plainName(s.name) == plainName(name) {
		return true
	}
	if h := a.c.Nodes[p.Node].Host; h >= 0 && p.NIC >= 0 && a.c.Hosts[h].NICs[p.NIC].Device == name {
		return true
	}
	if d := a.nodes[p.Node]; d != nil {
		if dev, ok := d.alias[name]; ok && a.nameOf(id) == dev {
			return true
		}
	}
	return plainName(p.Name) == plainName(name) || plainName(a.deviceName(id)) == plainName(name)
}

// knownPort reports whether any port of the node has the name.
func (a *auditor) knownPort(node cluster.NodeID, name string) bool {
	for _, id := range a.c.Nodes[node].Ports {
		if a.isPort(id, name) {
			return true
		}
	}
	return false
}

// nameOf is a port's name as the device has it, else the plan's.
func (a *auditor) nameOf(id cluster.PortID) string {
	if s := a.ports[id]; s != nil {
		return s.name
	}
	p := &a.c.Ports[id]
	if h := a.c.Nodes[p.Node].Host; h >= 0 && p.NIC >= 0 {
		return a.c.Hosts[h].NICs[p.NIC].Device
	}
	return a.deviceName(id)
}

// checkEnds compares what must agree at the ends of a cable.
func (a *auditor) checkEnds(x, y cluster.PortID) {
	fx, fy := a.lastFact(x, "link.fec.active"), a.lastFact(y, "link.fec.active")
	if fx == nil || fy == nil || sameFEC(fx.Value.String(), fy.Value.String()) {
		return
	}
	p := &a.c.Ports[x]
	a.add(deviation{node: p.Node, port: x, onPort: true, name: a.nameOf(x), setting: "fec", cause: "link-errors", severity: problem,
		expected: fy.Value.String() + ", as " + a.c.Nodes[a.c.Ports[y].Node].Name + "/" + a.nameOf(y), found: fx.Value.String(),
		consequence: "The two ends of the cable correct errors in different ways: the link stays down or drops frames.",
		source:      fx.Origin.Source, line: fx.Origin.Line})
}

func sameFEC(x, y string) bool {
	norm := func(s string) string {
		s = strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "", "(", "", ")", "").Replace(s))
		switch {
		case strings.HasPrefix(s, "rs"), strings.HasPrefix(s, "reedsolomon"), strings.Contains(s, "fec91"), strings.Contains(s, "kp4"):
			return "rs"
		case strings.HasPrefix(s, "baser"), strings.HasPrefix(s, "fc"), strings.HasPrefix(s, "fire"), strings.Contains(s, "fec74"):
			return "fc"
		case s == "off" || s == "none" || s == "disabled":
			return "none"
		}
		return s
	}
	return norm(x) == norm(y)
}

func (a *auditor) lastFact(id cluster.PortID, key string) *fact.Fact {
	s := a.ports[id]
	d := a.nodes[a.c.Ports[id].Node]
	list := s.facts
	if len(list) == 0 && d != nil {
		list = d.facts[s.name]
	}
	var out *fact.Fact
	for _, i := range list {
		if f := &a.e.Facts[i]; f.Key == key && f.Value.Kind() == fact.Text {
			out = f
		}
	}
	return out
}
