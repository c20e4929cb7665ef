package switches

import (
	"regexp"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/field/evidence/tool"
)

// onyxRoCE is "show roce" of Onyx. Thresholds are in KB of 1000 bytes.
var onyxRoCE = tool.Parser{
	Tool: "onyx show roce", Versions: "Onyx 3.8 to 3.10", Programs: []string{"show roce"},
	Keys: []string{"roce.mode", "qos.trust", "qos.app.udp.{port}.priority", "ecn.enabled", "ecn.min", "ecn.max", "qos.pfc.enabled", "qos.priority.{priority}.tc", "qos.tc.{tc}.tsa", "qos.tc.{tc}.bandwidth"},
	Recognise: func(w *tool.Window) tool.Score {
		if strings.HasPrefix(w.First(), "RoCE mode") && onyxMode.MatchString(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &onyxSession{ctx: ctx, tlv: map[string]string{}} },
}

var (
	onyxMode = regexp.MustCompile(`^RoCE mode\s*:\s*(\S+)`)
	onyxPair = regexp.MustCompile(`^\s*([A-Za-z][A-Za-z0-9 -]*?)\s*:\s*(.*?)\s*$`)
	onyxPFC  = regexp.MustCompile(`^\s*switch-priority (\d)\s*:\s*(enabled|disabled)`)
	onyxHead = regexp.MustCompile(`^(?:Switch-Priority\s+TC|RoCE used TCs|RoCE buffer pools|Exceptions? list)`)
	onyxRow  = regexp.MustCompile(`^(\d)\s+(\d)\s+(\S+)\s+(WRR \d+%|Strict)`)
)

type onyxSession struct {
	ctx     *tool.Context
	section string
	tlv     map[string]string
	tlvLine int
	pfc     []string
	pfcLine int
}

func (s *onyxSession) Match(l *tool.Line) tool.Score {
	t := l.Text
	switch {
	case onyxMode.MatchString(t):
		return tool.No
	case onyxPFC.MatchString(t), onyxHead.MatchString(t), onyxRow.MatchString(t):
		return tool.Sure
	case onyxPair.MatchString(t):
		name := onyxPair.FindStringSubmatch(t)[1]
		if strings.HasPrefix(t, "  ") || strings.HasPrefix(name, "Port ") || name == "LLDP" || name == "PFC" || name == "Application TLV" {
			return tool.Sure
		}
	case strings.TrimSpace(t) == "":
		return tool.Weak
	}
	return tool.No
}

func (s *onyxSession) Take(l *tool.Line, out *tool.Out) {
	t, sw := l.Text, s.ctx.Switch()
	if m := onyxPFC.FindStringSubmatch(t); m != nil {
		if m[2] == "enabled" {
			s.pfc = append(s.pfc, m[1])
		}
		return
	}
	if m := onyxRow.FindStringSubmatch(t); m != nil {
		if v, ok := number(m[2]); ok {
			put(out, l.N, sw, "qos.priority."+m[1]+".tc", v)
		}
		if share, ok := strings.CutPrefix(m[4], "WRR "); ok {
			out.Text(l.N, sw, "qos.tc."+m[2]+".tsa", "ets")
			if v, ok := number(strings.TrimSuffix(share, "%")); ok {
				put(out, l.N, sw, "qos.tc."+m[2]+".bandwidth", v)
			}
		} else {
			out.Text(l.N, sw, "qos.tc."+m[2]+".tsa", "strict")
		}
		return
	}
	m := onyxPair.FindStringSubmatch(t)
	if m == nil {
		return
	}
	name, value := m[1], m[2]
	if value == "" {
		s.section = name
		return
	}
	switch {
	case name == "RoCE mode":
		out.Text(l.N, sw, "roce.mode", value)
	case name == "Port trust mode":
		out.Text(l.N, sw, "qos.trust", trustName(value))
	case name == "PFC":
		s.section, s.pfcLine = name, l.N
	case s.section == "Application TLV":
		s.tlv[name], s.tlvLine = value, l.N
	case s.section == "Port congestion-control":
		s.marking(l, out, name, value)
	}
}

func (s *onyxSession) marking(l *tool.Line, out *tool.Out, name, value string) {
	sw := s.ctx.Switch()
	if name == "Mode" {
		out.Bool(l.N, sw, "ecn.enabled", strings.Contains(strings.ToLower(value), "ecn"))
		return
	}
	key := map[string]string{"Min": "ecn.min", "Max": "ecn.max"}[name]
	v, ok := number(strings.TrimSuffix(strings.TrimSuffix(value, "KB"), " "))
	if key == "" || !ok {
		return
	}
	if u, isUint := v.Uint(); isUint && u < 1<<40 {
		put(out, l.N, sw, key, fact.OfUint(u*uint64(dialect.KByte)))
	}
}

func (s *onyxSession) End(out *tool.Out) {
	if s.pfcLine > 0 {
		if s.pfc == nil {
			s.pfc = []string{}
		}
		out.List(s.pfcLine, s.ctx.Switch(), "qos.pfc.enabled", s.pfc)
	}
	if strings.EqualFold(s.tlv["Selector"], "udp") && s.tlv["Protocol"] != "" {
		if v, ok := number(s.tlv["Priority"]); ok {
			put(out, s.tlvLine, s.ctx.Switch(), "qos.app.udp."+keyPart(s.tlv["Protocol"])+".priority", v)
		}
	}
}
