package importer

import (
	"bytes"
	"fmt"
	"strings"

	"weir/internal/answer/audit"
	"weir/internal/cluster"
	"weir/internal/field/intended"
	"weir/internal/field/inventory"
	"weir/internal/finding"
	"weir/internal/input"
)

// Refresh adds to a cluster file what it does not have, line by line, and leaves
// the rest of it as it stands, comments included. Where the file and a source
// differ the file is kept; cables that differ from the file become findings.
func Refresh(s *Sources, name string, text []byte) (*Result, error) {
	f, err := cluster.Parse(name, text, nil)
	if err != nil {
		return nil, err
	}
	doc, err := newDocument(text)
	if err != nil {
		return nil, &input.Error{File: name, Found: err.Error(), Allowed: "a cluster file"}
	}
	k := learn(s)
	p := &plan{c: f.Cluster, k: k, doc: doc, nodes: map[string]cluster.NodeID{}}
	for i := range p.c.Nodes {
		p.nodes[p.c.Nodes[i].Name] = cluster.NodeID(i)
	}
	p.newHosts()
	p.newSwitches()
	p.cables()
	p.qos()
	r := k.result()
	r.Added = append(r.Added, p.added...)
	r.Findings = append(r.Findings, p.findings...)
	r.Text = doc.text()
	again, err := cluster.Parse(name, r.Text, nil)
	if err != nil {
		return nil, fmt.Errorf("what was learned does not fit the file: %w", err)
	}
	count(r, again.Cluster)
	return r, nil
}

// A plan is the file that is refreshed.
type plan struct {
	c        *cluster.Cluster
	k        *knowledge
	doc      *document
	nodes    map[string]cluster.NodeID
	added    []string
	findings []audit.Finding
	names    map[cluster.NodeID][]string // of ports, as devices write them
	fresh    map[string]bool             // nodes that this refresh adds
}

// newHosts appends classes of hosts that the file does not have.
func (p *plan) newHosts() {
	p.fresh = map[string]bool{}
	for _, c := range p.k.classes() {
		kept := c.hosts[:0:0]
		for _, d := range c.hosts {
			if _, ok := p.nodes[d.name]; !ok {
				kept = append(kept, d)
			}
		}
		if c.hosts = kept; len(kept) == 0 {
			continue
		}
		c.name = "imported"
		for n := 2; p.hasClass(c.name); n++ {
			c.name = fmt.Sprintf("imported-%d", n)
		}
		var b bytes.Buffer
		p.k.writeClass(&b, &c)
		if !p.explicit() || !p.doc.appendItem("hosts", outdent(b.String(), 2)) {
			for _, d := range kept {
				p.k.leftOut = append(p.k.leftOut, "host "+d.name+": not in the file, and the file has no list hosts: of an explicit topology that it could join")
			}
			continue
		}
		for _, d := range kept {
			p.fresh[d.name] = true
			p.added = append(p.added, "host "+d.name)
		}
	}
}

func (p *plan) hasClass(name string) bool {
	for i := range p.c.Hosts {
		if p.c.Hosts[i].Class == name {
			return true
		}
	}
	for _, a := range p.doc.inserted {
		if strings.Contains(a, "class: "+name+"\n") {
			return true
		}
	}
	return false
}

func (p *plan) explicit() bool { return p.c.Topology == "explicit" }

// newSwitches appends switches that the file does not have.
func (p *plan) newSwitches() {
	tiers := p.k.tiers()
	for _, d := range p.k.sorted() {
		if _, ok := p.nodes[d.name]; ok || d.kind != inventory.Switch || tiers[d.name] == 0 {
			continue
		}
		if !p.explicit() || !p.doc.appendItem("fabric.switches", "- "+p.k.switchLine(d, tiers[d.name])+"\n") {
			p.k.leftOut = append(p.k.leftOut, "switch "+d.name+": not in the file, and the file has no list fabric.switches that it could join")
			continue
		}
		p.fresh[d.name] = true
		p.added = append(p.added, "switch "+d.name)
	}
}

// port finds a port of the plan by the name that its device gives it.
func (p *plan) port(e end) (cluster.PortID, bool) {
	id, ok := p.nodes[e.node]
	if !ok || e.port == "" {
		return 0, false
	}
	n := &p.c.Nodes[id]
	if p.names == nil {
		p.names = map[cluster.NodeID][]string{}
	}
	if _, ok := p.names[id]; !ok && n.Kind == cluster.SwitchNode {
		p.names[id], _ = intended.PortNames(p.c, id)
	}
	for i, port := range n.Ports {
		q := &p.c.Ports[port]
		device := ""
		if n.Host >= 0 && q.NIC >= 0 && len(p.c.Hosts[n.Host].NICs[q.NIC].Ports) == 1 {
			device = p.c.Hosts[n.Host].NICs[q.NIC].Device
		} else if i < len(p.names[id]) {
			device = p.names[id][i]
		}
		if strings.EqualFold(q.Name, e.port) || strings.EqualFold(device, e.port) {
			return port, true
		}
	}
	return 0, false
}

// endOf names a port of the plan.
func (p *plan) endOf(id cluster.PortID) end {
	q := &p.c.Ports[id]
	n := &p.c.Nodes[q.Node]
	e := end{n.Name, q.Name}
	if n.Host >= 0 && q.NIC >= 0 {
		e.port = p.c.Hosts[n.Host].NICs[q.NIC].Device
	} else if names := p.names[q.Node]; int(q.Index) < len(names) {
		e.port = names[q.Index]
	}
	return e
}

// cables compares and appends.
func (p *plan) cables() {
	seen := map[cluster.LinkID]bool{}  // cables of the plan that were found
	wrong := map[cluster.LinkID]bool{} // and those found elsewhere
	for _, l := range p.k.links {
		if !p.known(l.a.node) || !p.known(l.b.node) {
			continue // the device itself was left out, which is said
		}
		a, okA := p.port(l.a)
		b, okB := p.port(l.b)
		if okA && p.c.Ports[a].Link == cluster.LinkID(cluster.None) {
			okA = false // a free port
		}
		switch {
		case okA && okB && p.c.Ports[a].Peer == b, okA && !okB && p.fits(a, l.b), okB && !okA && p.fits(b, l.a):
			at := a
			if !okA {
				at = b
			}
			seen[p.c.Ports[at].Link] = true
		case okA || okB:
			at, e, other := a, l.a, l.b
			if !okA {
				at, e, other = b, l.b, l.a
			}
			seen[p.c.Ports[at].Link], wrong[p.c.Ports[at].Link] = true, true
			p.findings = append(p.findings, miscabled(e, p.endOf(p.c.Ports[at].Peer), other.String(), l.from))
		case l.a.port == "" || l.b.port == "":
			// Without ports nothing tells it from a cable of the plan.
		case p.explicit() && p.doc.appendItem("fabric.links", "- "+p.k.linkLine(l)+"\n"):
			p.added = append(p.added, "cable "+l.a.String()+" to "+l.b.String())
		default:
			p.k.leftOut = append(p.k.leftOut, fmt.Sprintf("cable %s to %s: the plan has no such port, and no list fabric.links that it could join", l.a, l.b))
		}
	}
	for i := range p.c.Links {
		id := cluster.LinkID(i)
		a, b := p.endOf(p.c.Links[i].A), p.endOf(p.c.Links[i].B)
		if seen[id] || wrong[id] || !p.tells(a.node) || !p.tells(b.node) {
			continue
		}
		p.findings = append(p.findings, miscabled(a, b, "no neighbour", ""))
	}
}

func (p *plan) known(node string) bool {
	_, ok := p.nodes[node]
	return ok || p.fresh[node]
}

// fits reports whether a neighbour whose port's name says nothing to the plan can
// be the planned one.
func (p *plan) fits(at cluster.PortID, other end) bool {
	peer := p.endOf(p.c.Ports[at].Peer)
	return peer.node == other.node && (other.port == "" || !switchPort(other.port) || !switchPort(peer.port))
}

// tells reports whether a device told of its neighbours.
func (p *plan) tells(node string) bool {
	d := p.k.devices[node]
	return d != nil && d.lldp
}

func miscabled(e, want end, found, from string) audit.Finding {
	f := audit.Finding{Device: e.node, Port: e.port, Setting: "cable", Expected: want.String(), Found: found,
		Consequence: "Traffic takes another way than planned: connections within a rail detour or fail, and routes do not match their ports.",
		Repair:      []audit.Step{{Commands: []string{}, Text: "Move the cable, or correct the file if the cabling is what is wanted.", Disruption: "flap", Scope: "port"}}, Undo: []audit.Step{}}
	f.Cause, f.Severity, f.Confidence, f.Where = "cabling-wrong", finding.Error, 1, e.String()
	f.Summary = fmt.Sprintf("%s has %s at its other end, the plan has %s.", e, found, want)
	f.Evidence = []finding.Evidence{{Source: from, Text: e.String() + " to " + found}}
	f.Fix = []finding.Fix{{Text: f.Repair[0].Text, Disruption: "flap"}}
	return f
}

// qos adds settings that the file leaves to defaults, and lists where it differs.
func (p *plan) qos() {
	for _, s := range p.k.settings() {
		have, stated := p.doc.scalar(s.path)
		switch {
		case stated && sameValue(p.c, s, have):
		case stated:
			from := ""
			if len(p.k.qos) > 0 {
				from = p.k.qos[0].source
			}
			p.k.conflicts = append(p.k.conflicts, Conflict{Where: s.path, Kept: have, Other: s.value, From: from})
		case p.doc.set(s.path, s.value):
			p.added = append(p.added, s.path+": "+s.value)
		default:
			p.k.leftOut = append(p.k.leftOut, s.path+": "+s.value+" could not be added to a mapping in one line")
		}
	}
}

// sameValue compares by what the model makes of the two: a value put over the
// file's must change nothing.
func sameValue(c *cluster.Cluster, s setting, have string) bool {
	if strings.EqualFold(s.value, have) {
		return true
	}
	in := &c.QoS
	switch s.path {
	case "qos.ecn.min":
		return s.value == sizeText(in.ECN.Min)
	case "qos.ecn.max":
		return s.value == sizeText(in.ECN.Max)
	case "qos.ecn.probability":
		return s.value == fmt.Sprintf("%g%%", in.ECN.Probability*100)
	}
	return false
}

// outdent takes n blanks from the start of each line.
func outdent(s string, n int) string {
	var b strings.Builder
	for l := range strings.Lines(s) {
		b.WriteString(strings.TrimPrefix(l, strings.Repeat(" ", n)))
	}
	return b.String()
}
