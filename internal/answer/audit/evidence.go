package audit

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"weir/internal/field/dialect"

	"weir/internal/cluster"
	"weir/internal/fact"
	"weir/internal/field/evidence"
	"weir/internal/field/evidence/tool"
	"weir/internal/field/setup"
	"weir/internal/qos"
	"weir/internal/twin/fabric"
	"weir/units"
)

// Evidence is what was read of the devices.
type Evidence struct {
	Configs       []tool.Config
	Facts         []fact.Fact
	Mistakes      []setup.Mistake
	NotUnderstood []fact.NotUnderstood
	Refused       []evidence.Refusal
}

// A device is a node of the plan with what was found about it.
type device struct {
	node   cluster.NodeID
	config *tool.Config      // of a switch; nil: state outputs only
	other  bool              // its configuration is written for another system than the plan says
	facts  map[string][]int  // facts of the device itself and of its parts, by part's name
	alias  map[string]string // network interface -> RDMA device
}

// A portState is what was found about a port of the plan.
type portState struct {
	name   string // as the device calls it
	stated bool   // from a whole configuration: what it does not say is a default
	qos    qos.Port
	facts  []int // of a NIC
}

type auditor struct {
	c         *cluster.Cluster
	e         *Evidence
	r         *Result
	nodes     []*device
	ports     []*portState
	mtu       units.Bytes // largest frame that a NIC may send
	found     []deviation
	catalogue catalogueFinder
	fabric    *fabric.Fabric
	byName    map[string]cluster.NodeID
	portNames map[cluster.NodeID][]string
}

// match gives configurations and facts to the nodes of the plan.
func (a *auditor) match() {
	byName := a.names()
	for i := range a.e.Configs {
		c := &a.e.Configs[i]
		id, ok := nodeOf(byName, c.Host, c.Source)
		if !ok {
			a.gap(Gap{Device: cmp.Or(c.Host, c.Source), What: "everything: the plan has no switch of this name"})
			continue
		}
		n := &a.c.Nodes[id]
		if n.Kind != cluster.SwitchNode {
			continue
		}
		d := a.device(id)
		if d.config != nil && len(d.config.Reading.Device.Ports) > len(c.Reading.Device.Ports) {
			continue // another, smaller part of the same
		}
		d.config = c
		d.other = n.OS != c.Reading.Device.System
		if d.other {
			a.add(deviation{node: id, setting: "system", cause: "unknown", severity: warning,
				expected: n.OS, found: c.Reading.Device.System, line: c.Offset + 1, source: c.Source,
				consequence: "The file is written for another switch system than the plan says: it is another device's, or switch.os is wrong. It is compared by effect all the same."})
		}
	}
	for i := range a.e.Facts {
		f := &a.e.Facts[i]
		if id, ok := nodeOf(byName, f.Subject.Host, f.Origin.Source); ok {
			d := a.device(id)
			d.facts[partOf(f.Subject)] = append(d.facts[partOf(f.Subject)], i)
			a.learnAlias(d, f)
		}
	}
	for id, d := range a.nodes {
		switch {
		case d == nil:
			a.gap(Gap{Device: a.c.Nodes[id].Name, What: "everything: no evidence"})
		case a.c.Nodes[id].Kind == cluster.SwitchNode:
			a.matchSwitch(d)
		default:
			a.matchHost(d)
		}
		if d != nil {
			a.r.DevicesFound++
		}
	}
}

// nodeOf finds the node that a text is from: by the name that it gives itself,
// else by a part of its path that is, or starts with, a node's name.
func nodeOf(byName map[string]cluster.NodeID, host, source string) (cluster.NodeID, bool) {
	host = strings.ToLower(host)
	if id, ok := byName[host]; ok {
		return id, true
	}
	if short, _, cut := strings.Cut(host, "."); cut {
		if id, ok := byName[short]; ok {
			return id, true
		}
	}
	parts := strings.FieldsFunc(strings.ToLower(filepath.ToSlash(source)), func(r rune) bool { return r == '/' || r == ':' })
	slices.Reverse(parts)
	for _, p := range parts {
		for {
			if id, ok := byName[p]; ok {
				return id, true
			}
			cut := strings.LastIndexAny(p, ".-_")
			if cut <= 0 {
				break
			}
			p = p[:cut]
		}
	}
	return 0, false
}

func (a *auditor) device(id cluster.NodeID) *device {
	if a.nodes[id] == nil {
		a.nodes[id] = &device{node: id, facts: map[string][]int{}, alias: map[string]string{}}
	}
	return a.nodes[id]
}

// partOf names the port or NIC that a fact is about; "" the device itself.
func partOf(s fact.Subject) string {
	switch s.Kind {
	case fact.NIC, fact.Port:
		return s.Name
	case fact.Queue:
		if i := strings.LastIndexByte(s.Name, '/'); i > 0 {
			return s.Name[:i]
		}
	}
	return ""
}

// learnAlias remembers which network interface belongs to an RDMA device.
func (a *auditor) learnAlias(d *device, f *fact.Fact) {
	if f.Key == "rdma.netdev" || strings.HasPrefix(f.Key, "gid.") && strings.HasSuffix(f.Key, ".netdev") {
		if name := f.Value.String(); f.Value.Kind() == fact.Text && name != f.Subject.Name {
			d.alias[name] = f.Subject.Name
		}
	}
}

// matchSwitch finds the switch's ports in its configuration, or builds them
// from state outputs.
func (a *auditor) matchSwitch(d *device) {
	n := &a.c.Nodes[d.node]
	var found []qos.Port
	if d.config != nil {
		found = d.config.Reading.Device.Ports
	} else {
		found = a.portsFromFacts(d)
	}
	byName := map[string]int{}
	var physical []int
	for i := range found {
		byName[plainName(found[i].Name)] = i
		if isPhysical(found[i].Name) {
			physical = append(physical, i)
		}
	}
	slices.SortStableFunc(physical, func(x, y int) int { return dialect.CompareNames(found[x].Name, found[y].Name) })
	for at, id := range n.Ports {
		port := &a.c.Ports[id]
		if port.Link == cluster.LinkID(cluster.None) {
			continue
		}
		i, ok := byName[plainName(port.Name)]
		if !ok {
			i, ok = byName[plainName(a.deviceName(id))]
		}
		if !ok && strings.HasPrefix(port.Name, "port-") && at < len(physical) && a.namesByOrder(n) {
			i, ok = physical[at], true
		}
		if !ok {
			a.gap(Gap{Device: n.Name, Port: port.Name, What: "everything: no port of this name in the evidence"})
			continue
		}
		a.ports[id] = &portState{name: found[i].Name, stated: d.config != nil, qos: found[i]}
	}
}

// isPhysical tells front panel ports from bundles, VLANs and management.
func isPhysical(name string) bool {
	lower := strings.ToLower(name)
	for _, p := range []string{"port-channel", "po", "bond", "vlan", "lag", "ae", "eth-trunk", "bridge-aggregation", "mgmt", "management", "loopback", "lo", "me", "irb", "br_", "vlanif", "fxp", "em", "re0", "peerlink", "portchannel"} {
		if rest, ok := strings.CutPrefix(lower, p); ok && (rest == "" || rest[0] >= '0' && rest[0] <= '9') {
			return false
		}
	}
	return true
}

// namesByOrder reports whether the plan numbers the switch's ports itself.
func (a *auditor) namesByOrder(n *cluster.Node) bool {
	for _, id := range n.Ports {
		if !strings.HasPrefix(a.c.Ports[id].Name, "port-") {
			return false
		}
	}
	return true
}

// matchHost gives the facts of NICs to the host's ports.
func (a *auditor) matchHost(d *device) {
	n := &a.c.Nodes[d.node]
	host := &a.c.Hosts[n.Host]
	byPart := map[string][]int{}
	var interfaces []string
	var unnamed []int // of a card that the evidence does not name
	for _, i := range d.facts[""] {
		if a.e.Facts[i].Subject.Kind == fact.NIC {
			unnamed = append(unnamed, i)
		}
	}
	for part, list := range d.facts {
		if part == "" {
			continue
		}
		name := part
		if dev, ok := d.alias[part]; ok {
			name = dev
		}
		byPart[name] = append(byPart[name], list...)
		if name == part && !a.isDevice(host, name) && slices.ContainsFunc(list, func(i int) bool { return strings.HasPrefix(a.e.Facts[i].Key, "qos.") }) {
			interfaces = append(interfaces, name)
		}
	}
	slices.SortFunc(interfaces, dialect.CompareNames)
	for k := range host.NICs {
		nic := &host.NICs[k]
		list := slices.Concat(byPart[nic.Device], byPart[nic.Name])
		if len(interfaces) == len(host.NICs) { // as many as cards: in their order
			list = append(list, byPart[interfaces[k]]...)
		}
		if len(list) == 0 && len(host.NICs) == 1 && len(interfaces) > 0 {
			list = byPart[interfaces[0]]
		}
		list = append(list, unnamed...)
		if len(list) == 0 {
			a.gap(Gap{Device: n.Name, Port: nic.Device, What: "everything: no evidence of this card"})
			continue
		}
		slices.Sort(list)
		p := a.portFromFacts(nic.Device, list)
		for _, id := range nic.Ports {
			a.ports[id] = &portState{name: nic.Device, qos: p, facts: list}
		}
	}
}

func (a *auditor) isDevice(h *cluster.Host, name string) bool {
	return slices.ContainsFunc(h.NICs, func(n cluster.NIC) bool { return n.Device == name || n.Name == name })
}

func (a *auditor) gap(g Gap) {
	if !slices.Contains(a.r.NotChecked, g) {
		a.r.NotChecked = append(a.r.NotChecked, g)
	}
}
