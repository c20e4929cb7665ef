package switches

import (
	"regexp"
	"strings"

	"weir/internal/field/evidence/tool"
)

// netqFilters is the table of "netq show check-filter", whose rows may wrap
// into a second line.
var netqFilters = tool.Parser{
	Tool: "netq show check-filter", Versions: "NetQ 4.x", Programs: []string{"netq show check-filter"},
	Keys: []string{"netq.check.{id}.name", "netq.check.{id}.scope", "netq.check.{id}.active", "netq.check.{id}.until"},
	Recognise: func(w *tool.Window) tool.Score {
		at := 0
		if strings.HasPrefix(w.First(), "Matching config_check records") {
			at = 1
		}
		if strings.HasPrefix(w.Line(at), "Check Filter ID") {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &netqSession{ctx: ctx} },
}

type netqSession struct {
	ctx   *tool.Context
	spans []span
	id    string
}

func (s *netqSession) Match(l *tool.Line) tool.Score {
	text := strings.TrimSpace(l.Text)
	switch {
	case s.spans == nil, text == "":
		return tool.Sure
	case s.id != "" && wrapped.MatchString(text):
		return tool.Sure
	case netqID.MatchString(l.Text) && fits(l.Text[:min(len(l.Text), s.spans[3].lo)], s.spans[:3]):
		return tool.Own // its last cell may be a line of netq check
	case len(l.Text) > s.spans[len(s.spans)-1].lo/2 && fits(l.Text[:min(len(l.Text), s.spans[3].lo)], s.spans[:3]):
		return tool.Sure
	}
	return tool.No
}

var netqID = regexp.MustCompile(`^\w+_\d+ `)

var wrapped = regexp.MustCompile(`^(True|False)\b\s*(.*)$`)

func (s *netqSession) Take(l *tool.Line, out *tool.Out) {
	if s.spans == nil {
		if spans, ok := ruled(l.Text); ok && len(spans) >= 6 {
			s.spans = spans
		}
		return
	}
	text := strings.TrimSpace(l.Text)
	if m := wrapped.FindStringSubmatch(text); m != nil && s.id != "" {
		s.active(l, out, m[1], m[2])
		return
	}
	if text == "" {
		return
	}
	row := cells(l.Text, s.spans)
	s.id = keyPart(row[0])
	key := "netq.check." + s.id + "."
	out.Text(l.N, s.ctx.Switch(), key+"name", row[2])
	// The scope may be wider than its column: what follows is in the next line.
	scope := strings.TrimSpace(l.Text[min(len(l.Text), s.spans[3].lo):])
	if fits(l.Text, s.spans) {
		scope = row[3]
		if row[4] != "" {
			s.active(l, out, row[4], row[5])
		}
	}
	out.Text(l.N, s.ctx.Switch(), key+"scope", scope)
}

func (s *netqSession) active(l *tool.Line, out *tool.Out, active, until string) {
	key := "netq.check." + s.id + "."
	on, ok := truth(active)
	if !ok {
		out.NotUnderstood(l)
		return
	}
	out.Bool(l.N, s.ctx.Switch(), key+"active", on)
	if until = strings.TrimSpace(until); until != "" {
		out.Text(l.N, s.ctx.Switch(), key+"until", until)
	}
}

func (s *netqSession) End(*tool.Out) {}

// netqReasons are the sentences of the reason column of "netq check roce".
var netqReasons = tool.Parser{
	Tool: "netq check roce", Versions: "NetQ 4.x", Programs: []string{"netq check roce"}, Keys: []string{"netq.reason"},
	Recognise: func(w *tool.Window) tool.Score {
		if reason(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if reason(l.Text) {
					return tool.Sure
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				m := netqReason.FindStringSubmatch(l.Text)
				if m == nil {
					return
				}
				s := ctx.Switch()
				if fields := strings.Fields(strings.TrimSuffix(l.Text, m[0])); len(fields) > 0 { // a whole row: host first
					s.Host, s.Name = fields[0], fields[0]
				}
				out.Text(l.N, s, "netq.reason", strings.TrimSpace(m[0]))
			},
		}
	},
}

func reason(text string) bool {
	return (strings.Contains(text, "RoCE") || strings.Contains(text, "Invalid") || strings.Contains(text, "Congestion Config")) && netqReason.MatchString(text)
}

var netqReason = regexp.MustCompile(`(?:RoCE (?:Lossy|Lossless|[A-Z]\w+) [^|]*(?:inconsistent|[Mm]ismatch)|Invalid traffic-class mapping|Invalid [\w-]+ mapping for switch-priority|Congestion Config \S+ Mismatch|RoCE PFC Priority Mismatch)[^|]*$`)
