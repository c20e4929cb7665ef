package switches

import (
	"regexp"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// snmpWalk reads walks of IEEE8021-PFC-MIB, IF-MIB and the pause counters of
// EtherLike-MIB, by number or by name. The PFC counters are of 32 bits and of
// the port as a whole. Where the walk has ifName (or ifDescr), ports get their
// names.
var snmpWalk = tool.Parser{
	Tool: "snmpwalk", Versions: "net-snmp 5.x: IEEE8021-PFC-MIB, IF-MIB, EtherLike-MIB", Programs: []string{"snmpwalk", "snmpbulkwalk", "snmpget"},
	Keys: []string{"pfc.link_delay", "pfc.tx_frames", "pfc.rx_frames", "pause.rx_frames", "pause.tx_frames", "link.mtu", "link.speed", "link.state",
		"port.rx_bytes", "port.tx_bytes", "port.rx_packets", "port.tx_packets", "port.rx_errors", "port.tx_errors", "port.rx_drops", "port.tx_drops"},
	Recognise: func(w *tool.Window) tool.Score {
		if _, _, ok := snmpObject(w.First()); ok {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &snmpSession{ctx: ctx, names: make(map[string]string)}
	},
}

// snmpKeys maps columns to the vocabulary, by number below 1.3 and by name:
// RFC 2863 (ifTable, ifXTable), RFC 3635 (dot3PauseTable), IEEE 802.1Q's PFC
// module. A request is a frame sent, an indication one received. 32-bit octet
// counters are left to their 64-bit columns.
var snmpKeys = map[string]string{
	"111.2.802.1.1.21.1.1.1.1": "pfc.link_delay", "ieee8021PfcLinkDelayAllowance": "pfc.link_delay",
	"111.2.802.1.1.21.1.1.1.2": "pfc.tx_frames", "ieee8021PfcRequests": "pfc.tx_frames",
	"111.2.802.1.1.21.1.1.1.3": "pfc.rx_frames", "ieee8021PfcIndications": "pfc.rx_frames",
	"6.1.2.1.10.7.10.1.3": "pause.rx_frames", "dot3InPauseFrames": "pause.rx_frames",
	"6.1.2.1.10.7.10.1.4": "pause.tx_frames", "dot3OutPauseFrames": "pause.tx_frames",
	"6.1.2.1.2.2.1.2": ifName, "ifDescr": ifName, "6.1.2.1.31.1.1.1.1": ifName, "ifName": ifName,
	"6.1.2.1.2.2.1.4": "link.mtu", "ifMtu": "link.mtu",
	"6.1.2.1.2.2.1.8": "link.state", "ifOperStatus": "link.state",
	"6.1.2.1.31.1.1.1.15": "link.speed", "ifHighSpeed": "link.speed",
	"6.1.2.1.31.1.1.1.6": "port.rx_bytes", "ifHCInOctets": "port.rx_bytes",
	"6.1.2.1.31.1.1.1.10": "port.tx_bytes", "ifHCOutOctets": "port.tx_bytes",
	"6.1.2.1.31.1.1.1.7": "port.rx_packets", "ifHCInUcastPkts": "port.rx_packets",
	"6.1.2.1.31.1.1.1.11": "port.tx_packets", "ifHCOutUcastPkts": "port.tx_packets",
	"6.1.2.1.2.2.1.14": "port.rx_errors", "ifInErrors": "port.rx_errors",
	"6.1.2.1.2.2.1.20": "port.tx_errors", "ifOutErrors": "port.tx_errors",
	"6.1.2.1.2.2.1.13": "port.rx_drops", "ifInDiscards": "port.rx_drops",
	"6.1.2.1.2.2.1.19": "port.tx_drops", "ifOutDiscards": "port.tx_drops",
}

const ifName = "name"

// snmpLine takes a line apart: object, row, value.
var snmpLine = regexp.MustCompile(`^((?:\.?1|iso)\.3\.[0-9.]{4,60}|(?:(?:IEEE8021-PFC-MIB|IF-MIB|EtherLike-MIB)::)?(?:ieee8021Pfc|if[A-Z]|dot3)\w{2,40})\.(\d{1,10})\s*=\s*(?:[A-Za-z]+\d*:\s*)?"?([^"]{0,100}?)"?\s*$`)

// An snmpValue is one row of a column.
type snmpValue struct{ key, index, text string }

// snmpObject reads a line of a walk, and reports whether it is one of a column
// that is known.
func snmpObject(t string) (v snmpValue, name bool, ok bool) {
	if t == "" || strings.IndexByte(".1iIEd", t[0]) < 0 {
		return v, false, false
	}
	m := snmpLine.FindStringSubmatch(t)
	if m == nil {
		return v, false, false
	}
	object := m[1][strings.LastIndexByte(m[1], ':')+1:]
	for _, root := range [...]string{".1.3.", "1.3.", "iso.3."} {
		if rest, cut := strings.CutPrefix(object, root); cut {
			object = rest
			break
		}
	}
	key, ok := snmpKeys[object]
	return snmpValue{key, m[2], m[3]}, key == ifName, ok
}

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
	if snmpLine.MatchString(l.Text) {
		return tool.Sure
	}
	return tool.No
}

func (s *snmpSession) Take(l *tool.Line, out *tool.Out) {
	if len(s.rows) >= maxWalk || len(s.names) >= maxWalk {
		s.End(out)
		s.rows, s.names = nil, make(map[string]string)
	}
	o, name, ok := snmpObject(l.Text)
	switch {
	case !ok: // other columns of the same tables say nothing of the traffic
		return
	case name:
		s.names[o.index] = o.text // ifName comes after ifDescr and wins
		return
	}
	v, ok := snmpNumber(o)
	if !ok {
		out.NotUnderstood(l)
		return
	}
	s.rows = append(s.rows, snmpRow{l.N, o.index, o.key, v})
}

// snmpNumber reads the value of a column in the key's unit.
func snmpNumber(o snmpValue) (fact.Value, bool) {
	switch o.key {
	case "link.state": // up(1), down(2), ...
		word, _, _ := strings.Cut(o.text, "(")
		switch word {
		case "1", "up":
			return fact.OfText("up"), true
		case "2", "down":
			return fact.OfText("down"), true
		}
		return fact.OfText(word), word != ""
	case "link.speed": // megabits a second
		n, err := strconv.ParseUint(o.text, 10, 40)
		return fact.OfUint(n * 1_000_000), err == nil
	}
	word, _, _ := strings.Cut(o.text, " ")
	return number(word)
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
