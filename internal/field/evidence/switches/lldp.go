package switches

import (
	"strings"

	"weir/internal/field/evidence/tool"
)

// A lldpTable is one vendor's table of LLDP neighbours. Columns start where
// their titles do; the cells that matter hold no blanks.
type lldpTable struct {
	tool, versions, program string
	titles                  []string
	local, device, port     int // columns
}

// The tables of neighbours. SONiC's and EOS' have a ruler below the titles,
// which the columns follow as well.
var lldpTables = []lldpTable{
	{"sonic show lldp table", sonicVersions, "show lldp", []string{"LocalPort", "RemoteDevice", "RemotePortID", "Capability"}, 0, 1, 2},
	{"eos show lldp neighbors", eosVersions, "show lldp neighbors", []string{"Port", "Neighbor Device ID", "Neighbor Port ID", "TTL"}, 0, 1, 2},
	{"nxos show lldp neighbors", nxosVersions, "show lldp neighbors", []string{"Device ID", "Local Intf", "Hold-time", "Capability", "Port ID"}, 1, 0, 4},
	{"junos show lldp neighbors", "Junos 18 to 24", "show lldp neighbors", []string{"Local Interface", "Parent Interface", "Chassis Id", "Port info", "System Name"}, 0, 4, 3},
	{"huawei display lldp neighbor brief", vrpVersions, "display lldp neighbor", []string{"Local Interface", "Exptime(s)", "Neighbor Interface", "Neighbor Device"}, 0, 3, 2},
	{"huawei display lldp neighbor brief (older)", vrpVersions, "display lldp neighbor", []string{"Local Intf", "Neighbor Dev", "Neighbor Intf", "Exptime"}, 0, 1, 2},
	{"h3c display lldp neighbor-information list", "Comware 7 and 9", "display lldp neighbor-information", []string{"Local Interface", "Chassis ID", "Port ID", "System Name"}, 0, 3, 2},
	{"h3c display lldp neighbor-information list (older)", "Comware 7", "display lldp neighbor-information", []string{"System Name", "Local Interface", "Chassis ID", "Port ID"}, 1, 0, 3},
	{"onyx show lldp remote", "Onyx 3.8 to 3.10", "show lldp remote", []string{"Local Interface", "Device ID", "Port ID", "System Name"}, 0, 3, 2},
}

func lldpParsers() []tool.Parser {
	var out []tool.Parser
	for _, t := range lldpTables {
		out = append(out, t.parser())
	}
	return append(out, eosLLDPJSON, nxosLLDPJSON)
}

func (t lldpTable) parser() tool.Parser {
	return tool.Parser{
		Tool: t.tool, Versions: t.versions, Programs: []string{t.program}, Keys: []string{"link.neighbour"},
		Recognise: func(w *tool.Window) tool.Score {
			if !strings.HasPrefix(w.First(), t.titles[0]) {
				return tool.No
			}
			if _, ok := headed(w.First(), t.titles...); ok {
				return tool.Sure
			}
			return tool.No
		},
		New: func(ctx *tool.Context) tool.Session { return &lldpSession{table: t, ctx: ctx} },
	}
}

type lldpSession struct {
	table lldpTable
	ctx   *tool.Context
	spans []span
	ruler []span
	left  string // a device name that filled its line, with the rest in the next
}

func (s *lldpSession) Match(l *tool.Line) tool.Score {
	t := l.Text
	if s.spans == nil {
		return tool.Sure
	}
	if spans, ok := ruled(t); ok {
		if s.ruler == nil && len(spans) >= len(s.table.titles)-1 {
			return tool.Sure
		}
		return tool.No
	}
	if strings.TrimSpace(t) == "" {
		return tool.Weak
	}
	if strings.HasPrefix(t, s.table.titles[0]) {
		return tool.No
	}
	if local, device, port := s.row(t); local != "" && (device != "" || port != "") {
		return tool.Sure
	}
	if s.table.device == 0 && len(strings.Fields(t)) == 1 && !strings.HasPrefix(t, " ") {
		return tool.Likely // NX-OS puts a long device name into a line of its own
	}
	return tool.No
}

// row reads the three cells, "" where the line is no row.
func (s *lldpSession) row(text string) (local, device, port string) {
	spans := s.spans
	if s.ruler != nil {
		spans = s.ruler
	}
	row := cells(text, spans)
	at := func(i int) string {
		if i >= len(row) {
			return ""
		}
		first, _, _ := strings.Cut(row[i], " ")
		return first
	}
	local, device, port = at(s.table.local), at(s.table.device), at(s.table.port)
	if s.left != "" && device == "" {
		device = s.left
	}
	if !isPortName(local) {
		return "", "", ""
	}
	return local, device, port
}

// isPortName tells a port from a word: it has a digit and starts with a letter
// or is a number with slashes.
func isPortName(s string) bool {
	return strings.ContainsAny(s, "0123456789") && !strings.ContainsAny(s, "()=,") && len(s) <= 40
}

func (s *lldpSession) Take(l *tool.Line, out *tool.Out) {
	t := l.Text
	if s.spans == nil {
		s.spans, _ = headed(t, s.table.titles...)
		return
	}
	if spans, ok := ruled(t); ok {
		s.ruler = spans
		return
	}
	if strings.TrimSpace(t) == "" {
		return
	}
	local, device, port := s.row(t)
	if local == "" {
		s.left = strings.TrimSpace(t)
		return
	}
	s.left = ""
	if absent(device) {
		device = ""
	}
	out.Text(l.N, s.ctx.Port(local), "link.neighbour", strings.Trim(device+"/"+port, "/"))
}

func (s *lldpSession) End(*tool.Out) {}

// eosLLDPJSON and nxosLLDPJSON are the structured forms.
var eosLLDPJSON = tool.Parser{
	Tool: "eos show lldp neighbors | json", Versions: eosVersions, Keys: []string{"link.neighbour"},
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		if doc.Get("lldpNeighbors").First().Get("neighborDevice") != nil {
			return tool.Sure
		}
		return tool.No
	},
	ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
		for _, n := range doc.Get("lldpNeighbors").Each() {
			if port := n.Get("port").Str(); port != "" {
				out.Text(n.Line, ctx.Port(port), "link.neighbour", n.Get("neighborDevice").Str()+"/"+n.Get("neighborPort").Str())
			}
		}
	},
}

var nxosLLDPJSON = tool.Parser{
	Tool: "nxos show lldp neighbors | json", Versions: nxosVersions, Keys: []string{"link.neighbour"},
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		if doc.Get("TABLE_nbor", "ROW_nbor").First().Get("l_port_id") != nil {
			return tool.Sure
		}
		return tool.No
	},
	ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
		for _, n := range doc.Get("TABLE_nbor", "ROW_nbor").Each() {
			if port := n.Get("l_port_id").Str(); port != "" {
				out.Text(n.Line, ctx.Port(port), "link.neighbour", n.Get("chassis_id").Str()+"/"+n.Get("port_id").Str())
			}
		}
	},
}
