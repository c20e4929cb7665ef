package nic

import (
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	lldpInterface = tool.MustCompile(`^Interface:\s+([^\s,]+), via: LLDP`)
	lldpKeyValue  = tool.MustCompile(`^lldp\.([^=\s]+?)\.(via|rid|age|chassis\.[\w.-]+|port\.[\w.-]+|vlan\S*|lldp-med\S*|unknown-tlvs\S*|ttl\.\S+|ppvid\S*|pi\.\S*)=(.*)$`)
	lldpLine      = tool.MustCompile(`^\s+([A-Za-z][A-Za-z0-9 ]*):\s+(.*)$`)
)

var lldpctl = tool.Parser{
	Tool:     "lldpctl",
	Versions: "lldpd 0.9 to 1.0: text, keyvalue, json and json0",
	Programs: []string{"lldpctl", "lldpcli"},
	Keys:     []string{"link.neighbour", "link.neighbour.address", "link.neighbour.mtu"},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		if t == "LLDP neighbors:" || lldpInterface.MatchString(t) || lldpKeyValue.MatchString(t) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &lldpRun{ctx: ctx} },
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		if lldp := doc.Get("lldp"); lldp != nil && (lldp.First().Get("interface") != nil || lldp.Kind == tool.Object || lldp.Kind == tool.Array) {
			return tool.Likely + 10
		}
		return tool.No
	},
	ParseJSON: lldpJSON,
}

// A neighbour is what LLDP says about the other end of one interface.
type neighbour struct {
	nic     fact.Subject
	line    int
	chassis string
	port    string // name of the port, else its description
	descr   string
	address string
	mtu     string
}

func (n *neighbour) put(out *tool.Out) {
	if n.chassis == "" && n.port == "" && n.descr == "" {
		return
	}
	if n.port == "" {
		n.port = n.descr
	}
	out.Text(n.line, n.nic, "link.neighbour", n.chassis+"/"+n.port)
	if n.address != "" {
		out.Text(n.line, n.nic, "link.neighbour.address", n.address)
	}
	if n.mtu != "" {
		out.Number(n.line, n.nic, "link.neighbour.mtu", n.mtu)
	}
}

// portID sets the port from an id with its type: a MAC address names no port.
func (n *neighbour) portID(kind, value string) {
	if kind == "mac" {
		return
	}
	n.port = value
}

// lldpRun reads the text and keyvalue forms.
type lldpRun struct {
	ctx *tool.Context
	cur *neighbour
}

func (r *lldpRun) Match(l *tool.Line) tool.Score {
	t := l.Text
	switch {
	case t == "LLDP neighbors:", lldpInterface.MatchString(t), lldpKeyValue.MatchString(t):
		return tool.Sure
	case lldpLine.MatchString(t), strings.HasPrefix(t, "  ") && strings.HasSuffix(t, ":"):
		return tool.Likely + 10
	}
	return tool.No
}

func (r *lldpRun) End(out *tool.Out) {
	if r.cur != nil {
		r.cur.put(out)
	}
}

func (r *lldpRun) start(out *tool.Out, name string, n int) {
	nic := r.ctx.NIC(name)
	if r.cur != nil && r.cur.nic == nic {
		return
	}
	r.End(out)
	r.cur = &neighbour{nic: nic, line: n}
}

func (r *lldpRun) Take(l *tool.Line, out *tool.Out) {
	if m := lldpInterface.FindStringSubmatch(l.Text); m != nil {
		r.End(out)
		r.cur = &neighbour{nic: r.ctx.NIC(m[1]), line: l.N}
		return
	}
	if m := lldpKeyValue.FindStringSubmatch(l.Text); m != nil {
		r.start(out, m[1], l.N)
		r.field(m[2], m[3])
		return
	}
	m := lldpLine.FindStringSubmatch(l.Text)
	if m == nil || r.cur == nil {
		return
	}
	value := strings.TrimSpace(m[2])
	switch m[1] {
	case "SysName":
		r.cur.chassis = value
	case "PortID":
		kind, id, _ := strings.Cut(value, " ")
		r.cur.portID(kind, id)
	case "PortDescr":
		r.cur.descr = value
	case "MgmtIP":
		if r.cur.address == "" {
			r.cur.address = value
		}
	case "MFS":
		r.cur.mtu = value
	}
}

// field reads a key of the keyvalue form.
func (r *lldpRun) field(key, value string) {
	switch key {
	case "chassis.name":
		r.cur.chassis = value
	case "port.ifname", "port.local":
		r.cur.port = value
	case "port.descr":
		r.cur.descr = value
	case "chassis.mgmt-ip":
		if r.cur.address == "" {
			r.cur.address = value
		}
	case "port.mfs":
		r.cur.mtu = value
	}
}

// lldpJSON reads "json", where names are keys, and "json0", where all is lists.
func lldpJSON(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
	for _, lldp := range doc.Get("lldp").Each() {
		for _, i := range lldp.Get("interface").Each() {
			if name := lldpString(i.Get("name")); name != "" {
				lldpNeighbour(i, ctx.NIC(name), out)
				continue
			}
			for _, m := range i.Members() {
				lldpNeighbour(m, ctx.NIC(m.Key), out)
			}
		}
	}
}

// lldpString returns a text, or the value of json0's [{"value": text}].
func lldpString(n *tool.Node) string {
	n = n.First()
	if v := n.Get("value"); v != nil {
		return v.Str()
	}
	return n.Str()
}

func lldpNeighbour(i *tool.Node, nic fact.Subject, out *tool.Out) {
	n := neighbour{nic: nic, line: i.Line}
	for _, c := range i.Get("chassis").Each() {
		if name := lldpString(c.Get("name")); name != "" {
			n.chassis = name
		} else if m := c.Members(); len(m) > 0 && m[0].Kind == tool.Object {
			n.chassis, c = m[0].Key, m[0] // the name is the key
		}
		if c.Get("id") == nil && n.chassis == "" {
			continue
		}
		n.address = lldpString(c.Get("mgmt-ip"))
	}
	for _, p := range i.Get("port").Each() {
		id := p.Get("id").First()
		n.portID(id.Get("type").Str(), id.Get("value").Str())
		n.descr = lldpString(p.Get("descr"))
		n.mtu = lldpString(p.Get("mfs"))
	}
	n.put(out)
}
