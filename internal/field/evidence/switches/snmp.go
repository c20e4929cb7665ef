package switches

import (
	"regexp"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// snmpPFC reads walks of IEEE8021-PFC-MIB, by number or by name. Counters are
// of 32 bits and of the port as a whole. Where the walk has IF-MIB's ifName,
// ports get their names.
var snmpPFC = tool.Parser{
	Tool: "snmpwalk IEEE8021-PFC-MIB", Versions: "net-snmp 5.x", Programs: []string{"snmpwalk", "snmpbulkwalk", "snmpget"},
	Keys: []string{"pfc.link_delay", "pfc.tx_frames", "pfc.rx_frames"},
	Recognise: func(w *tool.Window) tool.Score {
		if t := w.First(); t != "" && strings.IndexByte(".1iI", t[0]) >= 0 && (pfcOID.MatchString(t) || nameOID.MatchString(t)) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &snmpSession{ctx: ctx, names: make(map[string]string)}
	},
}

var (
	pfcOID  = regexp.MustCompile(`^(?:(?:\.?1|iso)\.3\.111\.2\.802\.1\.1\.21\.1\.1\.1\.([123])|(?:IEEE8021-PFC-MIB::)?ieee8021Pfc(LinkDelayAllowance|Requests|Indications))\.(\d{1,10})\s*=\s*(?:[A-Za-z]+\d*:\s*)?(\d{1,20})\s*$`)
	nameOID = regexp.MustCompile(`^(?:(?:\.?1|iso)\.3\.6\.1\.2\.1\.31\.1\.1\.1\.1|(?:IF-MIB::)?ifName)\.(\d{1,10})\s*=\s*(?:STRING:\s*)?"?([^"]{1,100}?)"?\s*$`)
)

// maxWalk bounds the rows that are held until the end of the walk.
const maxWalk = 100_000

type snmpRow struct {
	line       int
	index, key string
	value      fact.Value
}

type snmpSession struct {
	ctx   *tool.Context
	names map[string]string
	rows  []snmpRow
}

func (s *snmpSession) Match(l *tool.Line) tool.Score {
	if pfcOID.MatchString(l.Text) || nameOID.MatchString(l.Text) {
		return tool.Sure
	}
	return tool.No
}

func (s *snmpSession) Take(l *tool.Line, out *tool.Out) {
	if len(s.rows) >= maxWalk || len(s.names) >= maxWalk {
		s.End(out)
		s.rows, s.names = nil, make(map[string]string)
	}
	if m := nameOID.FindStringSubmatch(l.Text); m != nil {
		s.names[m[1]] = m[2]
		return
	}
	m := pfcOID.FindStringSubmatch(l.Text)
	if m == nil {
		return
	}
	key := map[string]string{"1": "pfc.link_delay", "2": "pfc.tx_frames", "3": "pfc.rx_frames", // sent requests, received indications
		"LinkDelayAllowance": "pfc.link_delay", "Requests": "pfc.tx_frames", "Indications": "pfc.rx_frames"}[m[1]+m[2]]
	if v, ok := number(m[4]); ok {
		s.rows = append(s.rows, snmpRow{l.N, m[3], key, v})
	}
}

func (s *snmpSession) End(out *tool.Out) {
	for _, r := range s.rows {
		name := s.names[r.index]
		if name == "" {
			name = r.index
		}
		put(out, r.line, s.ctx.Port(name), r.key, r.value)
	}
	s.rows = nil
}
