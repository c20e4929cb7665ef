package switches

import (
	"regexp"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/field/evidence/tool"
)

const nxosVersions = "NX-OS 7.0(3) to 10.4"

// nxosPFC is "show interface priority-flow-control". Port names differ in
// width, and the bitmap of priorities (hexadecimal) may be missing.
var nxosPFC = tool.Parser{
	Tool: "nxos show interface priority-flow-control", Versions: nxosVersions, Programs: []string{"show interface"},
	Keys: []string{"pfc.mode", "pfc.active", "qos.pfc.enabled", "pfc.rx_frames", "pfc.tx_frames"},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		if strings.HasPrefix(t, "Port") && strings.Contains(t, "Oper(VL bmap)") && strings.Contains(t, "RxPPP") {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &nxosPFCSession{ctx: ctx} },
}

var (
	nxosPFCRow  = regexp.MustCompile(`^\s*(Auto|On|Off)\s+(On|Off)\s*(?:\(\s*([0-9a-fA-F]{1,2})\s*\))?\s+(\d+)\s+(\d+)\s*$`)
	nxosPortTop = regexp.MustCompile(`^((?:Br-)?(?:Ethernet|Eth|port-channel|Po)\d\S*)(.*)$`)
)

type nxosPFCSession struct {
	ctx  *tool.Context
	port string // of a name that takes a line of its own
}

func (s *nxosPFCSession) Match(l *tool.Line) tool.Score {
	t := strings.TrimSpace(l.Text)
	if m := nxosPortTop.FindStringSubmatch(t); m != nil && (m[2] == "" || nxosPFCRow.MatchString(m[2])) {
		return tool.Sure
	}
	switch {
	case s.port != "" && nxosPFCRow.MatchString(l.Text):
		return tool.Sure
	case t == "":
		return tool.Weak
	}
	return tool.No
}

func (s *nxosPFCSession) Take(l *tool.Line, out *tool.Out) {
	rest := l.Text
	if m := nxosPortTop.FindStringSubmatch(strings.TrimSpace(l.Text)); m != nil {
		s.port, rest = m[1], m[2]
	}
	m := nxosPFCRow.FindStringSubmatch(rest)
	if m == nil {
		return
	}
	port := s.ctx.Port(s.port)
	s.port = ""
	out.Text(l.N, port, "pfc.mode", strings.ToLower(m[1]))
	out.Bool(l.N, port, "pfc.active", m[2] == "On")
	if mask, err := strconv.ParseUint(m[3], 16, 8); err == nil {
		out.List(l.N, port, "qos.pfc.enabled", maskList(uint8(mask)))
	}
	for i, key := range []string{"pfc.rx_frames", "pfc.tx_frames"} {
		if v, ok := number(m[4+i]); ok {
			put(out, l.N, port, key, v)
		}
	}
}

func (s *nxosPFCSession) End(*tool.Out) {}

// nxosPFCJSON is the same as JSON (| json).
var nxosPFCJSON = tool.Parser{
	Tool: "nxos show interface priority-flow-control | json", Versions: nxosVersions, Keys: []string{"pfc.mode", "pfc.active", "pfc.rx_frames", "pfc.tx_frames"},
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		if doc.Get("TABLE_pfc_interface") != nil || doc.Get("TABLE_module", "ROW_module").First().Get("TABLE_pfc_interface") != nil {
			return tool.Sure
		}
		return tool.No
	},
	ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
		modules := doc.Each()
		if rows := doc.Get("TABLE_module", "ROW_module"); rows != nil {
			modules = rows.Each()
		}
		for _, m := range modules {
			for _, row := range m.Get("TABLE_pfc_interface", "ROW_pfc_interface").Each() {
				nxosPFCRecord(ctx, out, row)
			}
		}
	},
}

func nxosPFCRecord(ctx *tool.Context, out *tool.Out, row *tool.Node) {
	name := row.Get("if_name_str").Str()
	if name == "" {
		return
	}
	port := ctx.Port(name)
	if n := row.Get("admin"); n != nil {
		out.Text(n.Line, port, "pfc.mode", strings.ToLower(n.Str()))
	}
	if n := row.Get("oper"); n != nil {
		word, _, _ := strings.Cut(n.Str(), " ") // "On (8)"
		if on, ok := truth(word); ok {
			out.Bool(n.Line, port, "pfc.active", on)
		}
	}
	for _, f := range [][2]string{{"rx-stats", "pfc.rx_frames"}, {"tx-stats", "pfc.tx_frames"}} {
		if n := row.Get(f[0]); n != nil {
			if v, ok := number(n.Str()); ok {
				put(out, n.Line, port, f[1], v)
			}
		}
	}
}

// maskList names the priorities of a mask.
func maskList(mask uint8) []string {
	out := []string{}
	for _, p := range dialect.Bits(mask) {
		out = append(out, strconv.Itoa(p))
	}
	return out
}

// nxosQueuing is "show queuing interface": a table of output queues, a box a
// qos-group, totals of the port, and the input side with its pause
// thresholds and PFC by CoS.
var nxosQueuing = tool.Parser{
	Tool: "nxos show queuing interface", Versions: nxosVersions, Programs: []string{"show queuing"},
	Keys: []string{"qos.tc.{tc}.bandwidth", "qos.tc.{tc}.tsa", "queue.packets", "queue.bytes", "queue.multicast_packets", "queue.multicast_bytes", "queue.drop_packets", "queue.drop_bytes", "queue.ecn_marked_packets", "queue.depth",
		"watchdog.dropped_packets", "port.wred_drops", "port.rx_drops", "pg.size", "pg.xoff", "pg.xon", "pfc.rx_frames", "pfc.tx_frames", "pfc.rx_paused", "pfc.tx_paused", "counter.{name...}"},
	Recognise: func(w *tool.Window) tool.Score {
		if t := w.First(); !strings.HasPrefix(t, "Egress") && !strings.HasPrefix(t, "Ingress") && !strings.HasPrefix(t, "slot") {
			return tool.No
		}
		if queuingHead.MatchString(w.First()) || queuingSlot.MatchString(w.First()) && w.Any(5, queuingHead.MatchString) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &queuingSession{ctx: ctx} },
}

var (
	queuingHead  = regexp.MustCompile(`^(Egress|Ingress) Queuing for (\S+)`)
	queuingSlot  = regexp.MustCompile(`^slot +\d+\s*$`)
	queuingGroup = regexp.MustCompile(`^\|\s*((?:CONTROL |SPAN )?QOS GROUP(?: \d)?)\s*\|`)
	queuingBox   = regexp.MustCompile(`^\|\s*([A-Za-z][A-Za-z0-9 &/_-]*?)\s*\|\s*(\d+)\s*\|(?:\s*(\d+)\s*\|)?`)
	queuingTotal = regexp.MustCompile(`^([A-Z][A-Za-z ]+? Pkts)\s+(\d+)\s*$`)
	queuingPPP   = regexp.MustCompile(`^TxPPP:\s*(\d+),\s*RxPPP:\s*(\d+)`)
	queuingCOS   = regexp.MustCompile(`^\s*(\d)\s+(\S+)\s+(\S+)\s+(Active|Inactive)\s+(\d+)\s+(Active|Inactive)\s+(\d+)\s*$`)
	queuingRow   = regexp.MustCompile(`^\s+(\d)((?:\s+(?:-|\d+(?:\([A-Z]\))?)){3,8})\s*$`)
	queuingText  = regexp.MustCompile(`^(?:\|?\s*\|?\s*Unicast|QoS-Group#|\s+(?:Min|Buff Size)\b|Port (?:Egress|Ingress) Statistics|PFC Statistics|\s*COS QOS Group|slot +\d+|Per Slice)|^\|[ |A-Za-z]*\|\s*$`)
)

type queuingSession struct {
	ctx     *tool.Context
	port    string
	ingress bool
	group   string // number, or "" for groups that have none
}

func (s *queuingSession) Match(l *tool.Line) tool.Score {
	t := l.Text
	for _, re := range []*regexp.Regexp{queuingHead, queuingGroup, queuingBox, queuingTotal, queuingPPP, queuingCOS, queuingRow, queuingText} {
		if re.MatchString(t) {
			return tool.Sure
		}
	}
	if strings.TrimSpace(t) == "" {
		return tool.Weak
	}
	return tool.No
}

// queuingNames are the rows of a box. "WD" are drops while the watchdog holds
// the queue.
var queuingNames = map[string]string{
	"Tx Pkts": "queue.packets", "Tx Byts": "queue.bytes", "WRED/AFD & Tail Drop Pkts": "queue.drop_packets", "WRED/AFD & Tail Drop Byts": "queue.drop_bytes",
	"Dropped Pkts": "queue.drop_packets", "Dropped Byts": "queue.drop_bytes", "WRED/AFD Drop Pkts": "queue.wred_drop_packets", "Tail Drop Pkts": "queue.drop_packets", "Tail Drop Byts": "queue.drop_bytes",
	"Q Depth Byts": "queue.depth", "WD & Tail Drop Pkts": "watchdog.dropped_packets", "Ecn Marked Pkts": "queue.ecn_marked_packets", "ECN Marked Pkts": "queue.ecn_marked_packets",
}

func (s *queuingSession) Take(l *tool.Line, out *tool.Out) {
	t := l.Text
	if m := queuingHead.FindStringSubmatch(t); m != nil {
		s.port, s.ingress, s.group = m[2], m[1] == "Ingress", ""
		return
	}
	if m := queuingGroup.FindStringSubmatch(t); m != nil {
		s.group, _ = strings.CutPrefix(m[1], "QOS GROUP ")
		if len(s.group) != 1 {
			s.group = ""
		}
		return
	}
	port := s.ctx.Port(s.port)
	if m := queuingPPP.FindStringSubmatch(t); m != nil {
		s.put(l, out, port, "pfc.tx_frames", m[1])
		s.put(l, out, port, "pfc.rx_frames", m[2])
		return
	}
	if m := queuingCOS.FindStringSubmatch(t); m != nil {
		prio := s.ctx.Queue(s.port, m[1])
		out.Bool(l.N, prio, "pfc.tx_paused", m[4] == "Active")
		s.put(l, out, prio, "pfc.tx_frames", m[5])
		out.Bool(l.N, prio, "pfc.rx_paused", m[6] == "Active")
		s.put(l, out, prio, "pfc.rx_frames", m[7])
		return
	}
	if m := queuingBox.FindStringSubmatch(t); m != nil {
		s.box(l, out, m)
		return
	}
	if m := queuingTotal.FindStringSubmatch(t); m != nil {
		key := map[string]string{"WRED Drop Pkts": "port.wred_drops", "Ingress Overflow Drop Pkts": "port.rx_drops"}[m[1]]
		if key != "" {
			s.put(l, out, port, key, m[2])
		} else if v, ok := number(m[2]); ok {
			counter(out, l.N, port, keyPart(m[1]), v)
		}
		return
	}
	if m := queuingRow.FindStringSubmatch(t); m != nil {
		s.row(l, out, m[1], strings.Fields(m[2]))
	}
}

func (s *queuingSession) put(l *tool.Line, out *tool.Out, subject fact.Subject, key, cell string) {
	if v, ok := number(cell); ok {
		put(out, l.N, subject, key, v)
	}
}

// box is a row of a group's box: unicast, and multicast where there is a
// second column.
func (s *queuingSession) box(l *tool.Line, out *tool.Out, m []string) {
	if s.group == "" {
		return
	}
	key := queuingNames[m[1]]
	queue := s.ctx.Queue(s.port, s.group)
	if key == "" {
		if v, ok := number(m[2]); ok {
			counter(out, l.N, queue, keyPart(m[1]), v)
		}
		return
	}
	s.put(l, out, queue, key, m[2])
	if second := map[string]string{"queue.packets": "queue.multicast_packets", "queue.bytes": "queue.multicast_bytes"}[key]; second != "" && m[3] != "" {
		s.put(l, out, queue, second, m[3])
	}
}

// row is a line of the output table (bandwidth, level, shape, limit) or of the
// input table (buffer, pause and resume thresholds, limit).
func (s *queuingSession) row(l *tool.Line, out *tool.Out, group string, f []string) {
	if s.ingress {
		if len(f) < 3 || absent(f[0]) {
			return
		}
		for i, key := range []string{"pg.size", "pg.xoff", "pg.xon"} {
			s.put(l, out, s.ctx.Queue(s.port, group), key, f[i])
		}
		return
	}
	key := "qos.tc." + group + "."
	port := s.ctx.Port(s.port)
	if !absent(f[1]) {
		out.Text(l.N, port, key+"tsa", "strict")
		return
	}
	out.Text(l.N, port, key+"tsa", "ets")
	if v, ok := number(f[0]); ok {
		put(out, l.N, port, key+"bandwidth", v)
	}
}

func (s *queuingSession) End(*tool.Out) {}
