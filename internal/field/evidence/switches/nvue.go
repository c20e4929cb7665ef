package switches

import (
	"regexp"
	"slices"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// nvueKeys are what trees and tables of "nv show" yield.
var nvueKeys = []string{"roce.mode", "roce.exception", "qos.pfc.enabled", "pfc.rx_enabled", "pfc.tx_enabled", "qos.cable_length", "qos.trust", "ecn.enabled", "ecn.queues", "ecn.min", "ecn.max", "ecn.min_printed", "ecn.max_printed", "ecn.probability", "ecn.drops",
	"qos.app.udp.{port}.priority", "qos.dscp.{dscp}.priority", "qos.pcp.{pcp}.priority", "roce.dscp", "dcqcn.cnp_dscp", "qos.priority.{priority}.tc", "qos.tc.{tc}.tsa", "qos.tc.{tc}.bandwidth",
	"buffer.pool.{pool}.mode", "buffer.pool.{pool}.size", "buffer.pool.{pool}.share", "buffer.pool.{pool}.usage", "buffer.pool.{pool}.max_usage", "buffer.pool.{pool}.priorities", "buffer.pool.{pool}.queues",
	"pfc.rx_frames", "pfc.tx_frames", "pfc.rx_pause_time", "pfc.tx_pause_time", "queue.ecn_marked_packets", "roce.rx_packets", "roce.tx_packets", "roce.rx_bytes", "roce.tx_bytes", "roce.rx_discards", "roce.tx_discards",
	"cnp.tx_packets", "cnp.tx_bytes", "cnp.tx_discards", "watchdog.enabled", "watchdog.state", "watchdog.storms", "watchdog.poll_interval", "watchdog.robustness", "pause.rx_frames", "pause.tx_frames", "pg.xoff", "pg.xon", "pg.size", "counter.{name...}"}

// nvueTree reads what "nv show" prints: a tree of settings with the columns
// operational and applied, or a table below a title. Outputs have several of
// them; each is a session of its own.
var nvueTree = tool.Parser{
	Tool: "nv show", Versions: "Cumulus Linux 5.0 to 5.12", Programs: []string{"nv show"}, Keys: nvueKeys,
	Recognise: func(w *tool.Window) tool.Score {
		first := w.First()
		if strings.Contains(first, "operational") && strings.Contains(first, "applied") {
			if _, ok := ruled(w.Line(1)); ok {
				return tool.Sure
			}
		}
		if !strings.HasPrefix(w.Line(1), "==") || !doubleRule.MatchString(w.Line(1)) {
			return tool.No
		}
		if _, known := nvueTables[strings.TrimSpace(first)]; known {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &nvueSession{ctx: ctx} },
}

var doubleRule = regexp.MustCompile(`^=+ *$`)

// A nvueRow is a row of a titled table by its column titles; the first column
// often has none.
type nvueRow map[string]string

// nvueTables are the tables by title; nil: rows that say nothing new.
var nvueTables = map[string]func(n *nvueReader, line int, r nvueRow){
	"RoCE PCP/DSCP->SP mapping configurations":   (*nvueReader).mapping,
	"RoCE SP->TC mapping and ETS configurations": (*nvueReader).classes,
	"SP->TC mapping configuration":               (*nvueReader).classes,
	"TC->DWRR weight configuration":              (*nvueReader).weights,
	"RoCE pool config":                           (*nvueReader).pool,
	"RoCE Pool Status":                           (*nvueReader).pool,
	"ECN Configurations":                         (*nvueReader).ecnRow,
	"PFC WD Status":                              (*nvueReader).watchdogRow,
	"Qos Port Statistics":                        (*nvueReader).portRow,
	"Exception List":                             (*nvueReader).exception,
	"PCP->SP mapping configuration":              (*nvueReader).mapping,
	"DSCP->SP mapping configuration":             (*nvueReader).mapping,
	"RoCE PCP/DSCP->SP mapping configuration":    (*nvueReader).mapping,
	"RoCE SP->TC mapping and ETS configuration":  (*nvueReader).classes,
}

type nvueSession struct {
	ctx    *tool.Context
	read   *nvueReader
	table  func(n *nvueReader, line int, r nvueRow)
	head   string
	spans  []span
	titles []string
	path   []nvueLevel
	lines  int
}

type nvueLevel struct {
	indent int
	name   string
}

func (s *nvueSession) Match(l *tool.Line) tool.Score {
	text := strings.TrimRight(l.Text, " ")
	switch {
	case s.spans == nil:
		return tool.Sure
	case strings.TrimSpace(text) == "":
		return tool.Weak
	case doubleRule.MatchString(text), strings.Contains(text, "operational") && strings.Contains(text, "applied"):
		return tool.No
	case text == "No Data":
		return tool.Likely
	case s.table != nil && (!fits(text, s.spans) || !strings.HasPrefix(text, " ")):
		return tool.No
	case s.table == nil && !s.isLeaf(text):
		return tool.No
	}
	return tool.Sure
}

// isLeaf reports whether a line can be one of the tree: a name of one word in
// the first column, and nothing between the columns.
func (s *nvueSession) isLeaf(text string) bool {
	name := strings.TrimSpace(text[:min(len(text), s.spans[0].hi)])
	return name != "" && !strings.Contains(name, " ") && fits(text, s.spans) && nvueName.MatchString(name)
}

var nvueName = regexp.MustCompile(`^\[?[a-z0-9][a-z0-9_./-]*\]?$`)

func (s *nvueSession) Take(l *tool.Line, out *tool.Out) {
	s.lines++
	text := strings.TrimRight(l.Text, " ")
	if s.read == nil {
		s.read = &nvueReader{ctx: s.ctx, out: out}
		s.read.start()
	}
	switch {
	case s.spans != nil:
		s.row(l, text)
	case s.lines == 1 && !strings.Contains(text, "operational"):
		s.table = nvueTables[strings.TrimSpace(text)]
	case doubleRule.MatchString(text):
	case s.head == "":
		if text == "No Data" {
			s.spans = []span{{0, 1 << 30}}
			return
		}
		s.head = text
	default:
		spans, ok := ruled(text)
		if !ok {
			spans = []span{{0, 1 << 30}}
		}
		s.spans, s.titles = spans, cells(s.head, spans)
	}
}

func (s *nvueSession) row(l *tool.Line, text string) {
	if strings.TrimSpace(text) == "" || text == "No Data" {
		return
	}
	row := cells(text, s.spans)
	if s.table != nil {
		r := make(nvueRow, len(row))
		for i, c := range row[:min(len(row), len(s.titles))] { // none after "No Data"
			r[s.titles[i]] = c
		}
		s.table(s.read, l.N, r)
		return
	}
	indent := len(text) - len(strings.TrimLeft(text, " "))
	for len(s.path) > 0 && s.path[len(s.path)-1].indent >= indent {
		s.path = s.path[:len(s.path)-1]
	}
	s.path = append(s.path, nvueLevel{indent, strings.Trim(row[0], "[]")})
	value := ""
	for i := 1; i < min(len(row), len(s.titles)) && value == ""; i++ {
		if s.titles[i] == "operational" || s.titles[i] == "applied" {
			value = row[i]
		}
	}
	if value == "" {
		return // a level of the tree, or a setting without value
	}
	var names []string
	for _, p := range s.path {
		names = append(names, p.name)
	}
	if !s.read.leaf(names, value, l.N) {
		s.read.out.NotUnderstood(l)
	}
}

func (s *nvueSession) End(*tool.Out) {
	if s.read != nil {
		s.read.end()
	}
}

// nvueJSON reads the same trees as JSON (-o json).
var nvueJSON = tool.Parser{
	Tool: "nv show -o json", Versions: "Cumulus Linux 5.0 to 5.12", Programs: []string{"nv show"}, Keys: nvueKeys,
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		switch {
		case doc.Get("rx-stats", "rx-roce-stats") != nil, doc.Get("tx-stats", "tx-roce-stats") != nil, doc.Get("rx-stats", "rx-pfc-stats") != nil:
			return tool.Sure
		case doc.Get("congestion-control") != nil && doc.Get("pfc") != nil && doc.Get("trust") != nil:
			return tool.Sure
		}
		return tool.No
	},
	ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
		n := &nvueReader{ctx: ctx, out: out}
		n.start()
		n.object(nil, doc)
		n.end()
	},
}

// object walks a JSON tree. Tables stand there as objects by row number.
func (n *nvueReader) object(path []string, o *tool.Node) {
	if len(path) > 20 {
		return
	}
	row := make(nvueRow)
	for _, m := range o.Members() {
		if m.Kind != tool.Object && m.Kind != tool.Array {
			row[m.Key] = m.Str()
		}
	}
	label := ""
	if len(path) > 0 {
		label = path[len(path)-1]
	}
	row[""] = label
	prio := row["switch-prio"] + row["switch-priority"]
	switch {
	case prio != "" && row["dscp"] != "":
		n.mapping(o.Line, row)
		return
	case prio != "" && row["traffic-class"] != "":
		n.classes(o.Line, row)
		return
	case row["name"] != "" && row["size"] != "":
		n.pool(o.Line, row)
		return
	}
	for _, m := range o.Members() {
		below := append(slices.Clone(path), m.Key)
		if m.Kind == tool.Object {
			n.object(below, m)
		} else if m.Kind != tool.Array && m.Str() != "" {
			n.leaf(below, m.Str(), m.Line)
		}
	}
}

// A nvueReader turns leaves and rows into facts.
type nvueReader struct {
	ctx      *tool.Context
	out      *tool.Out
	subject  fact.Subject // the port of the command, or the switch
	port     string
	tlv      map[string]string
	tlvLine  int
	profiles string
}

func (n *nvueReader) start() {
	n.subject = n.ctx.Switch()
	if n.port = n.ctx.After("interface"); n.port != "" {
		n.subject = n.ctx.Port(n.port)
	}
	if n.profiles = n.ctx.After("congestion-control"); n.profiles == "" {
		n.profiles = "default-global"
	}
	n.tlv = make(map[string]string)
}

// end puts out the LLDP application entry, whose parts stand on three lines.
func (n *nvueReader) end() {
	if n.tlv["priority"] != "" && strings.EqualFold(n.tlv["selector"], "UDP") {
		if v, ok := number(n.tlv["priority"]); ok {
			put(n.out, n.tlvLine, n.subject, "qos.app.udp."+n.tlv["protocol-id"]+".priority", v)
		}
	}
}
