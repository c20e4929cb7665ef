// Package comware reads the configuration of H3C Comware switches: priority
// maps, PFC for the switch and for ports, WRED tables, and the ports' lines.
//
// The path of a packet there is DSCP -> 802.1p priority (map dscp-dot1p, where
// the port trusts DSCP) -> local precedence (map dot1p-lp), which is the queue.
// PFC works by the 802.1p priority. Buffers and thresholds count cells, whose
// size depends on the chip.
package comware

import (
	"io"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// System is the name of this dialect in qos.Device and in cluster files.
const System = "comware"

// DefaultFrame is the longest frame of a port that sets none, with header and
// checksum (H3C Interface Command Reference, jumboframe enable).
const DefaultFrame = 10000

// defaultLP is the map dot1p-lp where the text sets none (H3C ACL and QoS
// Configuration Guide, appendix on priority maps).
var defaultLP = [8]uint8{2, 0, 1, 3, 4, 5, 6, 7}

type wredTable struct {
	queues [8]qos.Queue
	ecnAt  [8]int
	said   [8]bool
}

type portText struct {
	names      []string
	line       int
	rate       units.BitRate
	frame      units.Bytes
	mtu        units.Bytes
	mtuAt      int
	routed     bool
	deadlockAt int
	pfc        string // "enable", "auto", "off"; "": not stated
	pfcAt      int
	mask       uint8
	maskAt     int
	ingress    [8]qos.Ingress
	ingressAt  [8]int
	dynamic    [8]string
	pauseRx    qos.Tri
	pauseTx    qos.Tri
	trust      qos.Trust
	trustAt    int
	defaultPri int
	weighted   bool
	allStrict  bool
	strict     [8]bool
	weight     [8]int
	group      [8]string
	scheduleAt [8]int
	wred       wredTable
	table      string
	tableAt    int
}

type parser struct {
	out       *dialect.Reading
	source    string
	maps      map[string]map[int]int
	mapAt     map[string]map[int]int
	tables    map[string]*wredTable
	ports     dialect.PortBlocks[portText]
	global    portText // PFC lines of the system view
	interval  [8]int   // -1: not stated
	delay     [8]int
	precision string
	action    string
	mapName   string
	table     *wredTable
	port      *portText
}

// Parse reads "display current-configuration", or a script.
func Parse(r io.Reader, source string) (*dialect.Reading, error) {
	lines, err := dialect.Lines(r, source)
	if err != nil {
		return nil, err
	}
	p := &parser{source: source, maps: make(map[string]map[int]int), mapAt: make(map[string]map[int]int), tables: make(map[string]*wredTable), precision: "normal"}
	for i := range p.interval {
		p.interval[i], p.delay[i] = -1, -1
	}
	p.out = &dialect.Reading{Device: &qos.Device{Source: source, System: System}}
	unknown, prompt := grammar.Walk(lines, p.take)
	if p.out.Device.Name == "" {
		p.out.Device.Name, _, _ = strings.Cut(prompt, "-")
	}
	for _, l := range unknown {
		p.out.Unknown(source, System, l.Number, l.Text)
	}
	p.device()
	return p.out, nil
}

// Starts reports whether a line can stand at the top of a configuration.
func Starts(line string) bool { return grammar.Starts(line) }

// Score says how sure text is a Comware configuration.
func Score(text []byte) int {
	return dialect.ScoreMarks(text, []dialect.Mark{
		{Text: "\n#\n", Worth: 10},
		{Text: "GigE1/", Worth: 40},
		{Text: "priority-flow-control no-drop dot1p", Worth: 70},
		{Text: "priority-flow-control deadlock", Worth: 50},
		{Text: "qos map-table ", Worth: 60},
		{Text: "qos wfq ", Worth: 50},
		{Text: "qos wred queue ", Worth: 40},
		{Text: "Comware Software", Worth: 40},
		{Text: "\n version 7.1", Worth: 30},
		{Text: "watch-dog-interval", Worth: -60},
	})
}

func newPort(line int) *portText { return &portText{line: line, defaultPri: -1} }

func (p *parser) fact(line int, key string, v uint64) {
	name := p.out.Device.Name
	p.out.Facts = append(p.out.Facts, fact.Fact{Subject: fact.Subject{Kind: fact.Switch, Host: name, Name: name}, Key: key, Value: fact.OfUint(v),
		Origin: fact.Origin{Source: p.source, Line: line, Tool: System}})
}

func (p *parser) take(s dialect.Statement) bool {
	switch s.Form.In {
	case "":
		return p.top(s)
	case inMap:
		return p.importLine(s)
	case inTable:
		p.table.take(s)
	case inPort:
		return p.port == nil || p.port.take(s)
	}
	return true
}

func (p *parser) top(s dialect.Statement) bool {
	switch s.Form.ID {
	case "hostname":
		p.out.Device.Name = s.Args["name"]
	case "deadlock-interval":
		p.interval[s.Args.Int("cos")] = s.Args.Int("interval")
		p.fact(s.Line, dialect.Key("pfc.watchdog.detect_steps", s.Args.Int("cos")), uint64(s.Args.Int("interval")))
	case "deadlock-precision":
		p.precision = s.Args["precision"]
	case "deadlock-delay":
		p.delay[s.Args.Int("cos")] = s.Args.Int("delay")
		p.fact(s.Line, dialect.Key("pfc.watchdog.restore_steps", s.Args.Int("cos")), uint64(s.Args.Int("delay")))
	case "deadlock-action":
		p.action = map[string]string{"discard": "drop", "forwarding": "forward"}[s.Args["action"]]
	case "pool":
		p.fact(s.Line, "buffer.pool."+s.Args["pool"]+".headroom_cells", uint64(s.Args.Int("cells")))
	case "pfc", "no-drop":
		return p.global.take(s)
	case "map":
		p.mapName = s.Args["map"]
		if p.maps[p.mapName] == nil {
			p.maps[p.mapName], p.mapAt[p.mapName] = make(map[int]int), make(map[int]int)
		}
	case "table":
		p.table = new(wredTable)
		p.tables[s.Args["name"]] = p.table
	case "interface":
		return p.openPort(s)
	}
	return true
}

func (p *parser) importLine(s dialect.Statement) bool {
	list, ok := dialect.ParseList(strings.Join(strings.Fields(strings.ReplaceAll(s.Args["list"], " to ", "-")), ","), 63)
	for _, from := range list {
		p.maps[p.mapName][from] = s.Args.Int("to")
		p.mapAt[p.mapName][from] = s.Line
	}
	return ok
}

func (p *parser) openPort(s dialect.Statement) bool {
	p.port = nil
	words := s.Args["ports"]
	lower := strings.ToLower(words)
	names, rate := []string{strings.ReplaceAll(words, " ", "")}, units.BitRate(0)
	if !strings.HasPrefix(lower, "bridge-aggregation") && !strings.HasPrefix(lower, "route-aggregation") {
		var ok bool
		if names, rate, ok = dialect.NamedPorts(words); !ok {
			_, _, port := dialect.NamedPort(words)
			return !port // a port's name with more behind it
		}
	}
	t, fresh := p.ports.Open(names)
	if fresh {
		*t = *newPort(s.Line)
		t.names, t.rate = names, rate
	}
	p.port = t
	return t != nil
}

func (t *portText) take(s dialect.Statement) bool {
	switch s.Form.ID {
	case "jumbo":
		t.frame, t.mtuAt = units.Bytes(s.Args.Int("length")), s.Line
	case "no-jumbo":
		t.frame, t.mtuAt = 1518, s.Line // frames of standard length pass
	case "mtu":
		t.mtu = units.Bytes(s.Args.Int("mtu"))
	case "routed":
		t.routed = true
	case "deadlock":
		t.deadlockAt = s.Line
	case "pfc":
		t.pfc, t.pfcAt = s.Args["mode"], s.Line
	case "no-pfc":
		t.pfc, t.pfcAt = "off", s.Line
	case "no-drop":
		list, ok := dialect.ParseList(strings.Join(strings.FieldsFunc(s.Args["list"], func(r rune) bool { return r == ' ' || r == ',' }), ","), 7)
		mask, _ := dialect.Mask(list)
		t.mask, t.maskAt = mask, s.Line
		return ok
	case "pause":
		t.pauseRx = qos.On
		if s.Args["direction"] != "receive" {
			t.pauseTx = qos.On
		}
	case "trust":
		t.trust = map[string]qos.Trust{"dscp": qos.TrustDSCP, "dot1p": qos.TrustPCP, "none": qos.TrustNone, "tunnel-dot1p": qos.TrustPCP}[s.Args["field"]]
		t.trustAt = s.Line
	case "no-trust":
		t.trust, t.trustAt = qos.TrustNone, s.Line
	case "default-priority":
		t.defaultPri = s.Args.Int("priority")
	case "apply":
		t.table, t.tableAt = s.Args["table"], s.Line
	case "wred", "ecn", "weighting":
		t.wred.take(s)
	case "scheduler":
		t.weighted = true
	case "all-strict":
		t.allStrict = true
	case "strict", "weight":
		q, _ := dialect.PHB(s.Args["queue"])
		t.weighted, t.scheduleAt[q] = true, s.Line
		t.strict[q], t.weight[q], t.group[q] = s.Form.ID == "strict", s.Args.Int("weight"), s.Args["group"]
	default:
		t.bufferLine(s)
	}
	return true
}

func (t *portText) bufferLine(s dialect.Statement) {
	prio := s.Args.Int("priority")
	in := &t.ingress[prio]
	t.ingressAt[prio] = s.Line
	cells := float64(s.Args.Int("cells"))
	switch s.Form.ID {
	case "headroom":
		in.Raw.Max, in.Raw.Unit = cells, "cells"
	case "resume-offset":
		in.Raw.Min, in.Raw.Unit = cells, "cells"
	case "ingress-dynamic":
		t.dynamic[prio] = s.Args["ratio"]
	}
}

func (w *wredTable) take(s dialect.Statement) {
	q := s.Args.Int("queue")
	queue := &w.queues[q]
	if !w.said[q] {
		*queue = qos.Queue{Probability: -1, Averaging: -1}
		w.said[q] = true
	}
	switch s.Form.ID {
	case "ecn":
		queue.ECN, w.ecnAt[q] = qos.On, s.Line
	case "weighting":
		queue.Averaging = s.Args.Int("exponent")
	case "wred":
		if s.Args.Int("level") > 0 {
			return // of packets that a policer coloured yellow or red
		}
		if w.ecnAt[q] == 0 {
			w.ecnAt[q] = s.Line
		}
		queue.WRED = qos.On
		queue.Raw = qos.Raw{Min: s.Args.Float("low"), Max: s.Args.Float("high"), Unit: "cells"}
		if s.Args.Has("probability") {
			queue.Probability = float64(s.Args.Int("probability")) / 100
		}
	}
}
