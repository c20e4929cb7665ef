package switches

import (
	"regexp"
	"strings"

	"weir/internal/field/evidence/tool"
)

const vrpVersions = "CloudEngine V200R019 to V300R024"

// huaweiPFC is "display dcb pfc": a row of two lines, received above sent.
var huaweiPFC = tool.Parser{
	Tool: "huawei display dcb pfc", Versions: vrpVersions, Programs: []string{"display dcb pfc"},
	Keys: []string{"pfc.rx_frames", "pfc.tx_frames", "pfc.rx_frame_rate", "pfc.tx_frame_rate", "watchdog.storms", "watchdog.restores"},
	Recognise: func(w *tool.Window) tool.Score {
		if strings.HasPrefix(w.First(), "Interface") && strings.Contains(w.First(), "Received(Frames)") && strings.Contains(w.Line(1), "Transmitted(Frames)") {
			return tool.Sure
		}
		if strings.HasPrefix(w.First(), "M:") && modeLegend.MatchString(w.First()) && w.Any(4, func(t string) bool { return strings.Contains(t, "Received(Frames)") }) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &huaweiPFCSession{ctx: ctx} },
}

var (
	modeLegend   = regexp.MustCompile(`^M:Manual;\s*A:Auto`)
	huaweiFirst  = regexp.MustCompile(`^(\S*[A-Za-z]\S*)?\s+([0-7])\s+(\d+)\s+(\d+)\s+(\d+|-+)\s*$`)
	huaweiSecond = regexp.MustCompile(`^\s+(\d+)\s+(\d+)\s+(\d+|-+)\s*$`)
)

type huaweiPFCSession struct {
	ctx   *tool.Context
	port  string
	queue string // of a row whose second line is still to come
}

func (s *huaweiPFCSession) Match(l *tool.Line) tool.Score {
	switch {
	case strings.Contains(l.Text, "Received(Frames)"), strings.Contains(l.Text, "Transmitted(Frames)"):
		return tool.Sure
	case s.queue != "" && huaweiSecond.MatchString(l.Text), huaweiFirst.MatchString(l.Text):
		return tool.Sure
	}
	return tool.No
}

func (s *huaweiPFCSession) Take(l *tool.Line, out *tool.Out) {
	if m := huaweiSecond.FindStringSubmatch(l.Text); m != nil && s.queue != "" {
		s.put(l, out, m[1:], "pfc.tx_frames", "pfc.tx_frame_rate", "watchdog.restores")
		s.queue = ""
		return
	}
	if m := huaweiFirst.FindStringSubmatch(l.Text); m != nil {
		if m[1] != "" {
			s.port = m[1]
		}
		s.queue = m[2]
		s.put(l, out, m[3:], "pfc.rx_frames", "pfc.rx_frame_rate", "watchdog.storms")
	}
}

func (s *huaweiPFCSession) put(l *tool.Line, out *tool.Out, values []string, keys ...string) {
	for i, key := range keys {
		read := number
		if strings.HasSuffix(key, "_rate") {
			read = real
		}
		if v, ok := read(values[i]); ok {
			put(out, l.N, s.ctx.Queue(s.port, s.queue), key, v)
		}
	}
}

func (s *huaweiPFCSession) End(*tool.Out) {}

// huaweiBuffer is "display dcb pfc buffer": thresholds with their unit in
// brackets, bytes (B), kilobytes (K) or an index of the dynamic factor (D).
var huaweiBuffer = tool.Parser{
	Tool: "huawei display dcb pfc buffer", Versions: vrpVersions, Programs: []string{"display dcb pfc buffer"}, Keys: []string{"pg.size", "pg.headroom", "pg.xoff", "pg.xon"},
	Recognise: func(w *tool.Window) tool.Score {
		if t := w.First(); strings.HasPrefix(t, "Interface") && strings.Contains(t, "Queue") && strings.Contains(t, "Xoff") || strings.HasPrefix(t, "Xon:        PFC") {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &bufferSession{ctx: ctx} },
}

var (
	bufferRow  = regexp.MustCompile(`^(\S+)\s+([0-7])((?:\s+\d+\([BKD]\)){2,5})\s*$`)
	bufferCell = regexp.MustCompile(`(\d+)\(([BKD])\)`)
	bufferText = regexp.MustCompile(`^(?:Xon|Xoff|Hdrm|Guaranteed|B|K):\s*|^The actual PFC|^xon-lowest|^Interface\s+Queue`)
)

type bufferSession struct {
	ctx    *tool.Context
	titles []string
}

func (s *bufferSession) Match(l *tool.Line) tool.Score {
	if bufferRow.MatchString(l.Text) || bufferText.MatchString(l.Text) {
		return tool.Sure
	}
	return tool.No
}

func (s *bufferSession) Take(l *tool.Line, out *tool.Out) {
	if strings.HasPrefix(l.Text, "Interface") {
		s.titles = strings.Fields(l.Text)[1:]
		return
	}
	m := bufferRow.FindStringSubmatch(l.Text)
	if m == nil {
		return
	}
	for i, c := range bufferCell.FindAllStringSubmatch(m[3], -1) {
		if i+1 >= len(s.titles) || c[2] == "D" {
			continue
		}
		key := map[string]string{"Guaranteed": "pg.size", "Hdrm": "pg.headroom", "Xoff": "pg.xoff", "Xon": "pg.xon", "Xon-Lowest": "pg.xon"}[s.titles[i+1]]
		if v, ok := size(c[1] + c[2]); ok && key != "" {
			put(out, l.N, s.ctx.Queue(m[1], m[2]), key, v)
		}
	}
}

func (s *bufferSession) End(*tool.Out) {}

// huaweiAIECN is "display ai-ecn calculated state": the thresholds that the
// switch chose itself.
var huaweiAIECN = tool.Parser{
	Tool: "huawei display ai-ecn calculated state", Versions: vrpVersions, Programs: []string{"display ai-ecn"},
	Keys: []string{"ecn.enabled", "ecn.min", "ecn.max", "ecn.probability", "ecn.model"},
	Recognise: func(w *tool.Window) tool.Score {
		if t := w.First(); strings.HasPrefix(t, "Interface") && aiHead.MatchString(t) || (t != "" && (t[0] == 'A' || t[0] == 'M')) && aiLegend.MatchString(t) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if aiRow.MatchString(l.Text) || aiUnits.MatchString(l.Text) || aiHead.MatchString(l.Text) || aiLegend.MatchString(l.Text) {
					return tool.Sure
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) { aiThresholds(ctx, l, out) },
		}
	},
}

var (
	aiRow    = regexp.MustCompile(`^(\S+)\s+([0-7])\s+(\d+|-+)\s+(\d+|-+)\s+(\d+|-+)\s+(\S+)`)
	aiHead   = regexp.MustCompile(`^Interface\s+Queue\s+Low-Threshold\s+High-Threshold`)
	aiLegend = regexp.MustCompile(`^(?:AI-ECN Model Version\s*:|Mode\s*: NN - )`)
	aiUnits  = regexp.MustCompile(`^\s+\(Byte\)\s+\(Byte\)`)
)

func aiThresholds(ctx *tool.Context, l *tool.Line, out *tool.Out) {
	m := aiRow.FindStringSubmatch(l.Text)
	if m == nil {
		return
	}
	s := ctx.Queue(m[1], m[2])
	out.Bool(l.N, s, "ecn.enabled", true)
	for i, key := range []string{"ecn.min", "ecn.max"} {
		if v, ok := number(strings.Trim(m[3+i], "-")); ok {
			put(out, l.N, s, key, v)
		}
	}
	if v, ok := real(strings.Trim(m[5], "-")); ok {
		put(out, l.N, s, "ecn.probability", v)
	}
	out.Text(l.N, s, "ecn.model", m[6])
}

// h3cPFC is "display priority-flow-control interface". The cell Dot1pList may
// be empty, so columns count and blanks do not.
var h3cPFC = tool.Parser{
	Tool: "h3c display priority-flow-control interface", Versions: "Comware 7 and 9", Programs: []string{"display priority-flow-control"},
	Keys: []string{"pfc.mode", "pfc.active", "qos.pfc.enabled", "pfc.rx_frames", "pfc.tx_frames", "pfc.rx_frame_rate", "pfc.tx_frame_rate"},
	Recognise: func(w *tool.Window) tool.Score {
		if strings.HasPrefix(w.First(), "Interface") && strings.Contains(w.First(), "AdminMode") && strings.Contains(w.First(), "Dot1pList") {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &h3cSession{ctx: ctx} },
}

var h3cTitles = []string{"Interface", "AdminMode", "OperMode", "Dot1pList", "Prio", "Recv", "Send", "Inpps", "Outpps"}

type h3cSession struct {
	ctx   *tool.Context
	spans []span
	port  string
}

func (s *h3cSession) Match(l *tool.Line) tool.Score {
	if strings.HasPrefix(l.Text, "Interface") {
		return tool.No
	}
	row := s.cells(l.Text)
	if row == nil {
		return tool.No
	}
	return tool.Sure
}

// cells cuts a row, nil for other lines. A port of several priorities is
// named in the first of its rows only.
func (s *h3cSession) cells(text string) []string {
	if s.spans == nil || strings.TrimSpace(text) == "" {
		return nil
	}
	row := cells(text, s.spans)
	for i, c := range row {
		if strings.Contains(c, " ") || i >= 4 && c == "" {
			return nil
		}
		if _, ok := number(c); i >= 4 && !ok {
			return nil
		}
	}
	if row[0] == "" && s.port == "" {
		return nil
	}
	return row
}

func (s *h3cSession) Take(l *tool.Line, out *tool.Out) {
	if s.spans == nil {
		titles := h3cTitles
		if !strings.Contains(l.Text, "Inpps") { // older releases print no rates
			titles = titles[:7]
		}
		s.spans, _ = headed(l.Text, titles...)
		return
	}
	row := s.cells(l.Text)
	if row == nil {
		return
	}
	if row[0] != "" {
		s.port = row[0]
		port := s.ctx.Port(s.port)
		mode := map[string]string{"enabled": "on", "disabled": "off", "auto": "auto"}[strings.ToLower(row[1])]
		out.Text(l.N, port, "pfc.mode", mode)
		if on, ok := truth(row[2]); ok {
			out.Bool(l.N, port, "pfc.active", on)
		}
		out.List(l.N, port, "qos.pfc.enabled", priorityList(row[3]))
	}
	queue := s.ctx.Queue(s.port, row[4])
	for i, key := range []string{"pfc.rx_frames", "pfc.tx_frames", "pfc.rx_frame_rate", "pfc.tx_frame_rate"}[:len(row)-5] {
		v, _ := number(row[5+i])
		put(out, l.N, queue, key, v)
	}
}

func (s *h3cSession) End(*tool.Out) {}
