// Package onyx reads the running configuration of NVIDIA Onyx (MLNX-OS), whose
// lines repeat the port ("interface ethernet 1/1-1/4 mtu 9216 force") or stand
// in blocks.
//
// The path of a packet there is DSCP or PCP (as trusted) -> switch priority ->
// traffic class, which is the queue; the switch priority is what PFC pauses.
// "roce" stands for a whole set of settings, filled in first.
package onyx

import (
	"io"
	"math"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// System is the name of this dialect in qos.Device and in cluster files.
const System = "onyx"

// DefaultMTU is what a port carries where the text sets nothing (Onyx User
// Manual, Ethernet interfaces).
const DefaultMTU = 1500

// What "roce" does (Onyx User Manual, RoCE Automation), and the watchdog's
// polling and robustness (the same hardware as Cumulus, with its defaults).
const (
	roceMin       = 150 * dialect.KByte
	roceMax       = 1500 * dialect.KByte
	defaultPoll   = 100 * units.Millisecond
	defaultRobust = 3
)

type portText struct {
	name       string
	line       int
	mtu        units.Bytes
	mtuAt      int
	rate       units.BitRate
	trust      qos.Trust
	trustAt    int
	defaultPri int
	dscp       map[uint8]uint8
	dscpAt     map[uint8]int
	pcp        map[int]uint8
	queueOf    map[int]int
	queueAt    map[int]int
	ecn        [8]*qos.Queue
	ecnAt      [8]int
	noECN      [8]bool
	strict     [8]qos.Tri
	weight     [8]int
	scheduleAt [8]int
	pfc        string
	pfcAt      int
	pauseRx    qos.Tri
	pauseTx    qos.Tri
	watchdog   qos.Tri
	watchdogAt int
	bound      map[int]string // priority -> ingress buffer
	buffers    map[string]qos.Ingress
	bufferAt   map[string]int
}

type parser struct {
	out        *dialect.Reading
	source     string
	roce       bool
	mode       string
	roceAt     int
	pfcGlobal  qos.Tri
	pfcAt      int
	mask       uint8
	maskAt     [8]int
	poll       units.Time
	robustness int
	ports      map[string]*portText
	order      []*portText
	work       int         // port names that statements expanded to
	current    []*portText // of the open block
}

// Parse reads a running configuration.
func Parse(r io.Reader, source string) (*dialect.Reading, error) {
	lines, err := dialect.Lines(r, source)
	if err != nil {
		return nil, err
	}
	p := &parser{source: source, mode: "lossless", poll: defaultPoll, robustness: defaultRobust, ports: make(map[string]*portText)}
	p.out = &dialect.Reading{Device: &qos.Device{Source: source, System: System}}
	unknown, prompt := grammar.Walk(lines, p.take)
	if p.out.Device.Name == "" {
		p.out.Device.Name = prompt
	}
	for _, l := range unknown {
		p.out.Unknown(source, System, l.Number, l.Text)
	}
	p.device()
	return p.out, nil
}

// Starts reports whether a line can stand at the top of a configuration.
func Starts(line string) bool { return grammar.Starts(line) }

// Score says how sure text is an Onyx configuration.
func Score(text []byte) int {
	return dialect.ScoreMarks(text, []dialect.Mark{
		{Text: "## Running database", Worth: 80},
		{Text: "interface ethernet 1/", Worth: 30},
		{Text: "dcb priority-flow-control", Worth: 60},
		{Text: "congestion-control ecn minimum-", Worth: 50},
		{Text: " qos trust L", Worth: 50},
		{Text: "traffic pool ", Worth: 30},
		{Text: "\nroce", Worth: 20},
		{Text: "\n   roce", Worth: 20},
		{Text: " mtu 9216 force", Worth: 30},
	})
}

func (p *parser) fact(line int, key string, v fact.Value, unit string) {
	name := p.out.Device.Name
	p.out.Facts = append(p.out.Facts, fact.Fact{Subject: fact.Subject{Kind: fact.Switch, Host: name, Name: name}, Key: key, Value: v, Unit: unit,
		Origin: fact.Origin{Source: p.source, Line: line, Tool: System}})
}

func (p *parser) take(s dialect.Statement) bool {
	if s.Form.In == inPort {
		ok := true
		for _, t := range p.current {
			ok = t.take(s) && ok
		}
		return ok
	}
	if !s.Args.Has("ports") {
		return p.global(s)
	}
	ports, ok := p.named(s)
	if !ok {
		return false
	}
	if s.Form.ID == "interface" {
		p.current = ports
		return true
	}
	for _, t := range ports {
		ok = t.take(s) && ok
	}
	return ok
}

// named finds or makes the ports of a statement.
func (p *parser) named(s dialect.Statement) ([]*portText, bool) {
	names, ok := dialect.ExpandPorts(s.Args["ports"])
	p.work += len(names)
	if !ok || p.work > dialect.MaxWork {
		return nil, false
	}
	prefix := map[string]string{"ethernet": "Eth", "port-channel": "Po", "mlag-port-channel": "Mpo"}[s.Args["kind"]]
	var ports []*portText
	for _, name := range names {
		name = prefix + name
		t := p.ports[name]
		if t == nil {
			if len(p.order) >= dialect.MaxPorts {
				return nil, false
			}
			t = &portText{name: name, line: s.Line, defaultPri: -1, dscp: map[uint8]uint8{}, dscpAt: map[uint8]int{}, pcp: map[int]uint8{}, queueOf: map[int]int{}, queueAt: map[int]int{},
				bound: map[int]string{}, buffers: map[string]qos.Ingress{}, bufferAt: map[string]int{}}
			p.ports[name] = t
			p.order = append(p.order, t)
		}
		ports = append(ports, t)
	}
	return ports, true
}

func (p *parser) global(s dialect.Statement) bool {
	prio := s.Args.Int("priority")
	switch s.Form.ID {
	case "hostname":
		p.out.Device.Name = s.Args["name"]
	case "roce", "no-roce":
		p.roce, p.roceAt = s.Form.ID == "roce", s.Line
		if s.Args.Has("mode") {
			p.mode = s.Args["mode"]
		}
		mode := p.mode
		if !p.roce {
			mode = "off"
		}
		p.fact(s.Line, "roce.mode", fact.OfText(mode), "")
	case "pfc-global", "no-pfc-global":
		p.pfcGlobal, p.pfcAt = qos.TriOf(s.Form.ID == "pfc-global"), s.Line
	case "pfc-priority":
		p.mask |= 1 << prio
		p.maskAt[prio] = s.Line
	case "no-pfc-priority":
		p.mask &^= 1 << prio
	case "pool-type":
		p.fact(s.Line, "buffer.pool."+s.Args["pool"]+".type", fact.OfText(s.Args["type"]), "")
	case "pool-share":
		p.fact(s.Line, "buffer.pool."+s.Args["pool"]+".share", fact.OfFloat(s.Args.Float("percent")), "percent")
	case "pool-priority":
		p.fact(s.Line, "buffer.pool."+s.Args["pool"]+".priorities", fact.OfList(strings.Fields(s.Args["priority"])), "")
	case "pool":
		p.fact(s.Line, "buffer.pool."+s.Args["pool"]+".size", fact.OfUint(uint64(s.Args.Int("bytes"))), "bytes")
	case "watchdog-poll":
		p.poll = units.Time(s.Args.Int("ms")) * units.Millisecond
	case "watchdog-robustness":
		p.robustness = s.Args.Int("times")
	}
	return true
}

func (t *portText) take(s dialect.Statement) bool {
	q := s.Args.Int("queue")
	switch s.Form.ID {
	case "mtu":
		t.mtu, t.mtuAt = units.Bytes(s.Args.Int("mtu")), s.Line
	case "speed":
		if rate, err := units.ParseBitRate(strings.ToUpper(strings.TrimRight(s.Args["speed"], "xX1248"))); err == nil {
			t.rate = rate
		}
	case "trust":
		t.trust = map[string]qos.Trust{"L2": qos.TrustPCP, "L3": qos.TrustDSCP, "both": qos.TrustBoth, "port": qos.TrustNone}[s.Args["mode"]]
		t.trustAt = s.Line
	case "default-priority":
		t.defaultPri = s.Args.Int("priority")
	case "map-dscp":
		list, ok := dialect.ParseDSCPs(s.Args["list"])
		for _, d := range list {
			t.dscp[d], t.dscpAt[d] = uint8(s.Args.Int("priority")), s.Line
		}
		return ok
	case "map-pcp":
		t.pcp[s.Args.Int("pcp")] = uint8(s.Args.Int("priority"))
	case "bind":
		list, ok := priorities(s.Args["list"])
		for _, prio := range list {
			t.queueOf[prio], t.queueAt[prio] = q, s.Line
		}
		return ok
	case "ecn", "ecn-relative", "no-ecn":
		t.marking(s, q)
	case "strict":
		t.strict[q], t.scheduleAt[q] = qos.On, s.Line
	case "wrr":
		t.strict[q], t.weight[q], t.scheduleAt[q] = qos.Off, s.Args.Int("weight"), s.Line
	case "pfc":
		t.pfc, t.pfcAt = s.Args["mode"], s.Line
	case "no-pfc":
		t.pfc, t.pfcAt = "off", s.Line
	case "pause":
		state := qos.TriOf(s.Args["state"] == "on")
		if s.Args["direction"] == "receive" {
			t.pauseRx = state
		} else {
			t.pauseTx = state
		}
	case "watchdog", "no-watchdog":
		t.watchdog, t.watchdogAt = qos.TriOf(s.Form.ID == "watchdog"), s.Line
	case "buffer-bind":
		list, ok := priorities(s.Args["list"])
		for _, prio := range list {
			t.bound[prio] = s.Args["group"]
		}
		return ok
	case "buffer":
		t.buffer(s)
	}
	return true
}

func priorities(words string) ([]int, bool) {
	return dialect.ParseList(strings.Join(strings.Fields(words), ","), 7)
}

func (t *portText) marking(s dialect.Statement, q int) {
	t.ecnAt[q] = s.Line
	t.ecn[q], t.noECN[q] = nil, s.Form.ID == "no-ecn"
	if t.noECN[q] {
		return
	}
	queue := &qos.Queue{WRED: qos.On, ECN: qos.TriOf(s.Args["marks"] != "red"), Probability: 1}
	unit := "kbytes"
	if s.Form.ID == "ecn-relative" {
		unit = "percent"
	}
	dialect.Threshold(queue, s.Args.Float("low"), unit, s.Args.Float("high"), unit)
	t.ecn[q] = queue
}

func (t *portText) buffer(s dialect.Statement) {
	group := s.Args["group"]
	in := qos.Ingress{Reserved: units.Bytes(s.Args.Int("reserved")), XOFF: units.Bytes(s.Args.Int("xoff")), XON: units.Bytes(s.Args.Int("xon"))}
	if in.XOFF > 0 {
		in.Headroom = max(0, in.Reserved-in.XOFF)
	}
	if s.Args["shared"] == "alpha" {
		if a, err := strconv.ParseFloat(s.Args["amount"], 64); err == nil && a >= 0 && !math.IsInf(a, 0) {
			in.Alpha = a
		} else if top, bottom, ok := strings.Cut(s.Args["amount"], "/"); ok {
			x, err1 := strconv.ParseFloat(top, 64)
			y, err2 := strconv.ParseFloat(bottom, 64)
			if err1 == nil && err2 == nil && y > 0 && x >= 0 && x < 1e6 {
				in.Alpha = x / y
			}
		}
	}
	t.buffers[group], t.bufferAt[group] = in, s.Line
}
