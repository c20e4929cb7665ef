package nic

import (
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	// "link mlx5_0/1 ...", "0/1: mlx5_0/1: ..." of older releases.
	rdmaLinkLine = tool.MustCompile(`^(?:link |\d+/\d+: )([A-Za-z][\w.-]*)/(\d+|-):? ?(.*)$`)
	rdmaDevLine  = tool.MustCompile(`^\d+: ([A-Za-z][\w.-]*): node_type (\S+)(.*)$`)
	rdmaPretty   = tool.MustCompile(`^    ([A-Za-z][\w ]*?) (\d+)$`)
)

const rdmaVersions = "iproute2 4.20 to 6.x, text, pretty and JSON"

var rdmaTool = tool.Parser{
	Tool:     "rdma",
	Versions: rdmaVersions,
	Programs: []string{"rdma link", "rdma stat", "rdma statistic", "rdma dev", "rdma -p", "rdma -j", "rdma -d", "rdma -jp"},
	Keys: []string{
		"rdma.port", "rdma.state", "rdma.phys_state", "rdma.netdev", "rdma.firmware", "rdma.guid",
		"rdma.optional_counters.supported", "rdma.optional_counters.enabled", "counter.{name...}",
	},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		if rdmaDevLine.MatchString(t) {
			return tool.Sure
		}
		m := rdmaLinkLine.FindStringSubmatch(t)
		switch {
		case m == nil:
			return tool.No
		case strings.HasPrefix(m[3], "state "), strings.Contains(m[3], " physical_state "), strings.Contains(m[3], "optional-counters"),
			strings.HasPrefix(m[3], "rx_write_requests "), m[3] == "" && rdmaPretty.MatchString(w.Line(1)):
			return tool.Sure
		}
		return tool.Likely
	},
	New: func(ctx *tool.Context) tool.Session { return &rdmaRun{ctx: ctx} },

	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		if first := doc.First(); first.Has("ifname", "port") && !first.Has("operstate") {
			return tool.Sure
		}
		return tool.No
	},
	ParseJSON: rdmaJSON,
}

// rdmaRun is one output of the rdma tool.
type rdmaRun struct {
	ctx     *tool.Context
	nic     fact.Subject
	pretty  bool // counters of nic follow, one a line
	started bool
}

func (r *rdmaRun) Match(l *tool.Line) tool.Score {
	switch {
	case rdmaLinkLine.MatchString(l.Text), rdmaDevLine.MatchString(l.Text):
		return tool.Sure
	case r.pretty && rdmaPretty.MatchString(l.Text):
		return tool.Sure
	case r.started && strings.HasPrefix(strings.TrimSpace(l.Text), "LQPN: <"): // queue pairs of a counter
		return tool.Likely
	}
	return tool.No
}

func (r *rdmaRun) End(*tool.Out) {}

func (r *rdmaRun) Take(l *tool.Line, out *tool.Out) {
	r.started = true
	if m := rdmaPretty.FindStringSubmatch(l.Text); m != nil && r.pretty {
		if !counter(l, out, r.nic, m[1], m[2]) {
			out.NotUnderstood(l)
		}
		return
	}
	if m := rdmaDevLine.FindStringSubmatch(l.Text); m != nil {
		r.nic = r.ctx.NIC(m[1])
		fields := strings.Fields(m[3])
		for i := 0; i+1 < len(fields); i += 2 {
			switch fields[i] {
			case "fw":
				out.Text(l.N, r.nic, "rdma.firmware", fields[i+1])
			case "node_guid":
				out.Text(l.N, r.nic, "rdma.guid", fields[i+1])
			}
		}
		return
	}
	m := rdmaLinkLine.FindStringSubmatch(l.Text)
	if m == nil {
		return // LQPN
	}
	r.nic = r.ctx.NIC(m[1] + "/" + m[2])
	out.Number(l.N, r.nic, "rdma.port", m[2])
	r.pretty = m[3] == ""
	r.link(l, out, m[3])
}

// link reads what follows the link's name: attributes, optional counters, or
// name and value of counters.
func (r *rdmaRun) link(l *tool.Line, out *tool.Out, rest string) {
	if before, list, ok := strings.Cut(rest, "optional-counters"); ok && !strings.ContainsAny(before, "0123456789") {
		key := "rdma.optional_counters.enabled"
		if strings.Contains(before, "supported") {
			key = "rdma.optional_counters.supported"
		}
		names := strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })
		out.List(l.N, r.nic, key, names)
		return
	}
	fields := strings.Fields(rest)
	if len(fields) > 0 && fields[0] == "cntn" { // a counter set of queue pairs, not of the port
		r.nic.Kind = fact.QueuePair
		r.nic.Name += "/cntn" + fields[min(1, len(fields)-1)]
		fields = fields[min(2, len(fields)):]
		if len(fields) > 1 && fields[0] == "type" {
			fields = fields[2:]
		}
	}
	var name []string // irdma has blanks in names
	for _, f := range fields {
		last := strings.Join(name, " ")
		if attribute(l, out, r.nic, last, f) || len(name) > 0 && counter(l, out, r.nic, last, f) {
			name = nil
			continue
		}
		name = append(name, f)
	}
	if len(name) > 0 {
		out.NotUnderstood(l)
	}
}

// attribute reads an attribute of a link and reports whether name is one.
func attribute(l *tool.Line, out *tool.Out, nic fact.Subject, name, value string) bool {
	switch name {
	case "state":
		out.Text(l.N, nic, "rdma.state", value)
	case "physical_state":
		out.Text(l.N, nic, "rdma.phys_state", value)
	case "netdev":
		out.Text(l.N, nic, "rdma.netdev", value)
	case "subnet_prefix", "lid", "sm_lid", "lmc", "netdev_index", "caps:":
	default:
		return false
	}
	return true
}

func rdmaJSON(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
	for _, link := range doc.Each() {
		nic := ctx.NIC(link.Get("ifname").Str() + "/" + link.Get("port").Str())
		out.Number(link.Line, nic, "rdma.port", link.Get("port").Str())
		for _, m := range link.Members() {
			l := &tool.Line{Text: m.Key + ": " + m.Str(), N: m.Line}
			switch {
			case m.Key == "ifname" || m.Key == "port" || m.Key == "ifindex":
			case attribute(l, out, nic, m.Key, m.Str()):
			case m.Key == "supported" || m.Key == "optional-counters":
				key := "rdma.optional_counters.enabled"
				if m.Key == "supported" {
					key = "rdma.optional_counters.supported"
				}
				out.List(m.Line, nic, key, names(m))
			case m.Kind == tool.Number && counter(l, out, nic, m.Key, m.Text):
			case m.Kind == tool.Object || m.Kind == tool.Array || m.Key == "mode" || m.Key == "type" || m.Key == "cntn":
			default:
				out.NotUnderstood(l)
			}
		}
	}
}

// names returns the texts of a list, or of the list inside an object.
func names(n *tool.Node) []string {
	var list []string
	for _, m := range n.Items {
		if m.Kind == tool.String {
			list = append(list, strings.Split(m.Text, ",")...)
		} else {
			list = append(list, names(m)...)
		}
	}
	if n.Kind == tool.String {
		list = strings.Split(n.Text, ",")
	}
	return list
}
