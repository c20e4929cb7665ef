package inventory

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"

	"weir/internal/input/jsontree"
	"weir/units"
)

// readNetBoxJSON reads what NetBox' API gives for cables, devices and interfaces
// (dcim, versions 2.9 to 4): a list, or an object with results. Several answers
// may stand in one file as a list of lists.
func readNetBoxJSON(text []byte, source string) *Graph {
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' && trimmed[0] != '[' || !bytes.Contains(text, []byte("_termination")) && !bytes.Contains(text, []byte("termination_")) && !bytes.Contains(text, []byte(`"device_type"`)) && !bytes.Contains(text, []byte(`"connected_endpoint`)) {
		return nil
	}
	doc, _, err := jsontree.Parse(string(text), 1)
	if err != nil {
		return nil
	}
	b := newBuilder(source, "netbox")
	seen := false
	var walk func(n *jsontree.Node, depth int)
	walk = func(n *jsontree.Node, depth int) {
		if r := n.Get("results"); r != nil {
			n = r
		}
		for _, row := range n.Each() {
			switch {
			case row.Kind == jsontree.Array && depth < 3, row.Get("results") != nil && depth < 3:
				walk(row, depth+1)
			case row.Get("a_terminations") != nil, row.Get("termination_a") != nil:
				seen = true
				b.netboxCable(row)
			case row.Get("device_type") != nil:
				seen = true
				b.netboxDevice(row)
			case row.Get("device", "name").Str() != "" && (row.Get("connected_endpoints") != nil || row.Get("connected_endpoint") != nil):
				seen = true
				b.netboxInterface(row)
			}
		}
	}
	walk(doc, 0)
	if !seen {
		return nil
	}
	b.dedupe()
	return b.g
}

// name prefers a node's name to what the interface displays.
func name(n *jsontree.Node) string {
	if s := n.Get("name").Str(); s != "" {
		return s
	}
	return n.Get("display").Str()
}

func (b *builder) netboxDevice(row *jsontree.Node) {
	role := row.Get("role")
	if role == nil {
		role = row.Get("device_role")
	}
	n := Node{Name: name(row), Line: row.Line, Model: row.Get("device_type", "model").Str(), Kind: kindOfRole(role.Get("slug").Str() + " " + role.Get("name").Str()),
		System: system(row.Get("platform", "slug").Str() + " " + row.Get("platform", "name").Str())}
	if n.System == "" && n.Kind == Switch {
		n.System = system(row.Get("device_type", "manufacturer", "slug").Str())
	}
	if n.Kind == Unknown && n.System != "" {
		n.Kind = Switch
	}
	b.node(n)
}

// kindOfRole reads a role's name: its words say whether it switches.
func kindOfRole(role string) Kind {
	r := strings.ToLower(role)
	for _, w := range []string{"leaf", "spine", "switch", "tor", "core", "aggregation", "super-spine", "fabric"} {
		if strings.Contains(r, w) && !strings.Contains(r, "storage") {
			return Switch
		}
	}
	for _, w := range []string{"server", "gpu", "host", "compute", "node", "worker", "hgx", "dgx"} {
		if strings.Contains(r, w) {
			return Host
		}
	}
	return Unknown
}

func (b *builder) netboxCable(row *jsontree.Node) {
	if s := row.Get("status", "value").Str(); s != "" && s != "connected" {
		b.g.note(row.Line, "a cable that is "+s+" was left out")
		return
	}
	end := func(side string) End {
		t := row.Get(side + "_terminations").First()
		o := t.Get("object")
		if t == nil {
			o = row.Get("termination_" + side)
		}
		e := End{name(o.Get("device")), name(o)}
		if e.Node == "" {
			e.Node = name(o.Get("parent_object"))
		}
		return e
	}
	l := Link{A: end("a"), B: end("b"), Line: row.Line}
	if l.A.Node == "" || l.B.Node == "" {
		b.g.note(row.Line, "a cable whose ends are not two devices")
		return
	}
	unit := row.Get("length_unit", "value").Str()
	if unit == "" {
		unit = row.Get("length_unit").Str()
	}
	if length, err := strconv.ParseFloat(row.Get("length").Str(), 64); err == nil {
		l.Length = metres(length, unit)
	}
	b.node(Node{Name: l.A.Node, Line: row.Line})
	b.node(Node{Name: l.B.Node, Line: row.Line})
	b.g.link(l)
}

func metres(length float64, unit string) units.Metres {
	if !(length > 0 && length < 1e6) {
		return 0
	}
	scale := map[string]float64{"m": 1, "cm": 0.01, "km": 1000, "ft": 0.3048, "in": 0.0254, "mi": 1609.344, "meters": 1, "centimeters": 0.01, "feet": 0.3048, "inches": 0.0254}[strings.ToLower(unit)]
	return units.Metres(length * scale)
}

// netboxInterface reads an interface with what is connected to it.
func (b *builder) netboxInterface(row *jsontree.Node) {
	peer := row.Get("connected_endpoints").First()
	if peer == nil {
		peer = row.Get("connected_endpoint")
	}
	l := Link{A: End{name(row.Get("device")), name(row)}, B: End{name(peer.Get("device")), name(peer)}, Line: row.Line}
	if kbps, err := strconv.ParseInt(row.Get("speed").Str(), 10, 64); err == nil && kbps > 0 && kbps < 2_000_000_000 {
		l.Speed = units.BitRate(kbps) * 1000
	}
	b.node(Node{Name: l.A.Node, Line: row.Line})
	if l.B.Node == "" {
		return
	}
	b.node(Node{Name: l.B.Node, Line: row.Line})
	b.g.link(l)
}

// dedupe drops cables that were told from both ends.
func (b *builder) dedupe() {
	seen := map[[2]End]bool{}
	kept := b.g.Links[:0]
	for _, l := range b.g.Links {
		if l.A.Port != "" && (seen[[2]End{l.A, l.B}] || seen[[2]End{l.B, l.A}]) {
			continue
		}
		seen[[2]End{l.A, l.B}] = true
		kept = append(kept, l)
	}
	b.g.Links = kept
}

// csvColumns are the titles that exports of cables use for their columns.
var csvColumns = map[string][]string{
	"a node": {"device a", "side a parent", "side a device", "termination a device", "side_a_device", "a device"},
	"a port": {"termination a", "side a name", "side a", "side_a_name", "termination a name", "a interface", "interface a"},
	"b node": {"device b", "side b parent", "side b device", "termination b device", "side_b_device", "b device"},
	"b port": {"termination b", "side b name", "side b", "side_b_name", "termination b name", "b interface", "interface b"},
	"length": {"length"},
	"unit":   {"length unit", "length_unit"},
	"status": {"status"},
}

// readNetBoxCSV reads the table of cables as exported, or in the form that the
// import takes.
func readNetBoxCSV(text []byte, source string) *Graph {
	head, _, _ := bytes.Cut(text, []byte("\n"))
	if len(head) > 4096 || bytes.Count(head, []byte(",")) < 3 {
		return nil
	}
	titles, err := csv.NewReader(bytes.NewReader(head)).Read()
	if err != nil {
		return nil
	}
	column := map[string]int{}
	for i, t := range titles {
		for c, names := range csvColumns {
			for _, n := range names {
				if _, ok := column[c]; !ok && strings.EqualFold(strings.TrimSpace(t), n) {
					column[c] = i
				}
			}
		}
	}
	for _, c := range []string{"a node", "a port", "b node", "b port"} {
		if _, ok := column[c]; !ok {
			return nil
		}
	}
	b := newBuilder(source, "netbox")
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	for first := true; ; first = false {
		row, err := r.Read()
		line := 1
		if err == nil {
			line, _ = r.FieldPos(0)
		}
		if first && err == nil {
			continue
		}
		if err != nil {
			if err.Error() != "EOF" {
				b.g.note(line, "CSV: "+err.Error())
			}
			break
		}
		b.csvRow(line, row, column)
	}
	b.dedupe()
	return b.g
}

func (b *builder) csvRow(line int, row []string, column map[string]int) {
	cell := func(c string) string {
		if i, ok := column[c]; ok && i < len(row) {
			return strings.TrimSpace(row[i])
		}
		return ""
	}
	l := Link{A: End{cell("a node"), cell("a port")}, B: End{cell("b node"), cell("b port")}, Line: line}
	if l.A.Node == "" || l.B.Node == "" {
		b.g.note(line, "a cable whose ends are not two devices")
		return
	}
	if s := cell("status"); s != "" && !strings.EqualFold(s, "connected") {
		b.g.note(line, "a cable that is "+s+" was left out")
		return
	}
	number, unit, _ := strings.Cut(cell("length"), " ")
	if u := cell("unit"); u != "" {
		unit = u
	}
	if length, err := strconv.ParseFloat(number, 64); err == nil {
		l.Length = metres(length, unit)
	}
	b.node(Node{Name: l.A.Node, Line: line})
	b.node(Node{Name: l.B.Node, Line: line})
	b.g.link(l)
}
