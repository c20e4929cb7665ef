// Package eos reads the running configuration of Arista EOS: maps from DSCP
// and CoS to traffic classes, qos profiles, the ports' own lines, and the PFC
// watchdog.
//
// The path of a packet there is DSCP or CoS (as the port trusts) -> traffic
// class -> transmit queue; the traffic class is also the priority that PFC
// pauses.
package eos

import (
	"io"
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// System is the name of this dialect in qos.Device and in cluster files.
const System = "eos"

// Layer-3 and layer-2 MTU where the text sets none (EOS User Manual, Data
// Transfer).
const (
	DefaultRoutedMTU   = 1500
	DefaultSwitchedMTU = 9214
)

// defaultDSCP maps blocks of eight code points to traffic classes, and
// likewise CoS: best effort rides above scavenger (EOS User Manual, Quality
// of Service, default maps of the Trident, Tomahawk, Arad and Jericho
// platforms).
var defaultClass = [8]uint8{1, 0, 2, 3, 4, 5, 6, 7}

type classMap struct {
	dscp []uint8
	cos  []int
}

type policyClass struct {
	class   string
	traffic int // -1: not set
	line    int
}

// settings are what a profile and a port may both say.
type settings struct {
	name        string
	line        int
	trust       qos.Trust
	trustAt     int
	defaultDSCP int // -1: not stated
	defaultCOS  int
	policy      string
	policyAt    int
	queues      [8]*queueText
	pfc         qos.Tri
	pfcAt       int
	pfcMask     uint8
	pfcSaid     uint8 // priorities that a statement names
	pfcLines    [8]int
	watchdog    qos.Tri
	watchdogAt  int
	action      string
	timeout     float64 // s; negative: not stated
	recovery    float64
}

type queueText struct {
	queue      qos.Queue
	guaranteed bool
	line       int
	ecnAt      int
}

type portText struct {
	settings
	routed, switched bool
	mtu, l2mtu       units.Bytes
	mtuAt            int
	speed            units.BitRate
	profile          string
	profileAt        int
	pauseRx, pauseTx qos.Tri
	group            string
}

type parser struct {
	name           string
	classOfDSCP    [64]uint8
	dscpAt         [64]int
	classOfCOS     [8]uint8
	queueOf        [8]uint8
	classes        map[string]*classMap
	policies       map[string][]*policyClass
	profiles       map[string]*settings
	profileOrder   []*settings
	ports          dialect.PortBlocks[portText]
	pfcAllOff      int
	timeout        float64 // of the whole switch; negative: not stated
	recovery       float64
	action         string
	watchdogOff    bool
	watchdogAt     int
	class          *classMap
	pmap           string
	pc             *policyClass
	profile        *settings
	port           *portText
	queue          *queueText
	ignoreSettings bool
}

func newSettings(name string, line int) settings {
	return settings{name: name, line: line, defaultDSCP: -1, defaultCOS: -1, timeout: -1, recovery: -1}
}

// Parse reads a running configuration.
func Parse(r io.Reader, source string) (*dialect.Reading, error) {
	lines, err := dialect.Lines(r, source)
	if err != nil {
		return nil, err
	}
	p := &parser{
		classes: make(map[string]*classMap), policies: make(map[string][]*policyClass), profiles: make(map[string]*settings),
		timeout: -1, recovery: -1, classOfCOS: defaultClass,
	}
	for d := range p.classOfDSCP {
		p.classOfDSCP[d] = defaultClass[d/8]
	}
	for q := range p.queueOf {
		p.queueOf[q] = uint8(q)
	}
	unknown, prompt := grammar.Walk(lines, p.take)
	if p.name == "" {
		p.name = prompt
	}
	out := &dialect.Reading{Device: &qos.Device{Name: p.name, Source: source, System: System}}
	for _, l := range unknown {
		out.Unknown(source, System, l.Number, l.Text)
	}
	p.device(out.Device)
	return out, nil
}

// Starts reports whether a line can stand at the top of a configuration.
func Starts(line string) bool { return grammar.Starts(line) }

// Score says how sure text is an EOS configuration.
func Score(text []byte) int {
	return dialect.ScoreMarks(text, []dialect.Mark{
		{Text: "\n! Command: show running-config", Worth: 30},
		{Text: "\n! device:", Worth: 60},
		{Text: "EOS-", Worth: 20},
		{Text: "\nqos profile ", Worth: 60},
		{Text: "service-profile ", Worth: 30},
		{Text: "uc-tx-queue ", Worth: 50},
		{Text: "to traffic-class ", Worth: 50},
		{Text: "priority-flow-control pause watchdog", Worth: 60},
		{Text: "random-detect ecn minimum-threshold", Worth: 30},
		{Text: "\n!\n", Worth: 10},
		{Text: "\n   no switchport", Worth: 20},
		{Text: "type network-qos", Worth: -60},
	})
}

func (p *parser) take(s dialect.Statement) bool {
	switch s.Form.In {
	case "":
		return p.top(s)
	case inProfile:
		return p.portLine(p.profile, s)
	case inInterface:
		if p.port == nil {
			return true
		}
		if p.port.take(s) {
			return true
		}
		return p.portLine(&p.port.settings, s)
	case inQueue:
		return p.ignoreSettings || p.queue.take(s)
	case inClassMap:
		return p.classLine(s)
	case inPolicy:
		p.pc = &policyClass{class: s.Args["name"], traffic: -1, line: s.Line}
		p.policies[p.pmap] = append(p.policies[p.pmap], p.pc)
	case inClass:
		p.pc.traffic = s.Args.Int("class")
	}
	return true
}

func (p *parser) top(s dialect.Statement) bool {
	switch s.Form.ID {
	case "hostname":
		p.name = s.Args["name"]
	case "map-dscp":
		list, ok := dialect.ParseDSCPs(s.Args["list"])
		for _, d := range list {
			p.classOfDSCP[d], p.dscpAt[d] = uint8(s.Args.Int("class")), s.Line
		}
		return ok
	case "map-cos", "map-queue":
		list, ok := dialect.ParseList(strings.ReplaceAll(s.Args["list"], " ", ","), 7)
		for _, n := range list {
			if s.Form.ID == "map-cos" {
				p.classOfCOS[n] = uint8(s.Args.Int("class"))
			} else {
				p.queueOf[n] = uint8(s.Args.Int("queue"))
			}
		}
		return ok
	case "profile":
		t := newSettings(s.Args["name"], s.Line)
		p.profile = &t
		p.profiles[t.name] = p.profile
		p.profileOrder = append(p.profileOrder, p.profile)
	case "class-map":
		p.class = new(classMap)
		p.classes[s.Args["name"]] = p.class
	case "policy-map":
		p.pmap = s.Args["name"]
		p.policies[p.pmap] = nil
	case "pfc-all-off":
		p.pfcAllOff = s.Line
	case "watchdog-timeout":
		p.timeout, p.watchdogAt = s.Args.Float("seconds"), s.Line
	case "watchdog-recovery":
		p.recovery = s.Args.Float("seconds")
	case "watchdog-action":
		p.action = s.Args["action"]
	case "no-watchdog":
		p.watchdogOff, p.watchdogAt = true, s.Line
	case "interface":
		return p.openPort(s)
	}
	return true
}

func (p *parser) openPort(s dialect.Statement) bool {
	p.port = nil
	name, ok := dialect.TypedPorts(s.Args["name"] + " " + s.Args["rest"])
	if !ok {
		p.ignoreSettings = true
		return false
	}
	lower := strings.ToLower(name)
	p.ignoreSettings = !strings.HasPrefix(lower, "et") && !strings.HasPrefix(lower, "po")
	if p.ignoreSettings {
		return true
	}
	t, fresh := p.ports.Open([]string{name})
	if fresh {
		t.settings = newSettings(name, s.Line)
	}
	p.port = t
	return t != nil
}

func (p *parser) classLine(s dialect.Statement) bool {
	var ok bool
	if s.Form.ID == "match-dscp" {
		var list []uint8
		list, ok = dialect.ParseDSCPs(s.Args["dscps"])
		p.class.dscp = append(p.class.dscp, list...)
	} else {
		var list []int
		list, ok = dialect.ParseList(s.Args["list"], 7)
		p.class.cos = append(p.class.cos, list...)
	}
	return ok
}

// portLine takes a statement that profiles and ports share.
func (p *parser) portLine(t *settings, s dialect.Statement) bool {
	switch s.Form.ID {
	case "trust":
		t.trust, t.trustAt = qos.TrustPCP, s.Line
		if s.Args["field"] == "dscp" {
			t.trust = qos.TrustDSCP
		}
	case "no-trust":
		t.trust, t.trustAt = qos.TrustNone, s.Line
	case "default-cos":
		t.defaultCOS = s.Args.Int("cos")
	case "default-dscp":
		t.defaultDSCP = s.Args.Int("dscp")
	case "policy":
		t.policy, t.policyAt = s.Args["name"], s.Line
	case "queue":
		n := s.Args.Int("queue")
		if t.queues[n] == nil {
			t.queues[n] = &queueText{line: s.Line, queue: qos.Queue{Probability: -1, Averaging: -1}}
		}
		p.queue, p.ignoreSettings = t.queues[n], false
	default:
		return t.flowControl(s)
	}
	return true
}

func (t *settings) flowControl(s dialect.Statement) bool {
	switch s.Form.ID {
	case "pfc-on":
		t.pfc, t.pfcAt = qos.On, s.Line
	case "pfc-off":
		t.pfc, t.pfcAt = qos.Off, s.Line
	case "pfc-priority", "pfc-no-priority":
		n := s.Args.Int("priority")
		t.pfcSaid |= 1 << n
		t.pfcMask &^= 1 << n
		t.pfcLines[n] = s.Line
		if s.Args["effect"] == "no-drop" {
			t.pfcMask |= 1 << n
		}
	case "watchdog":
		t.watchdog, t.watchdogAt = qos.On, s.Line
	case "watchdog-off":
		t.watchdog, t.watchdogAt = qos.Off, s.Line
	case "watchdog-action":
		t.action = s.Args["action"]
	case "watchdog-timer":
		t.timeout, t.recovery = s.Args.Float("timeout"), s.Args.Float("recovery")
		if t.watchdog == qos.Unset {
			t.watchdog, t.watchdogAt = qos.On, s.Line
		}
	default:
		return false
	}
	return true
}

func (t *portText) take(s dialect.Statement) bool {
	switch s.Form.ID {
	case "mtu":
		t.mtu, t.mtuAt = units.Bytes(s.Args.Int("mtu")), s.Line
	case "l2-mtu":
		t.l2mtu, t.mtuAt = units.Bytes(s.Args.Int("mtu")), s.Line
	case "routed":
		t.routed = true
	case "switched":
		t.switched = true
	case "service-profile":
		t.profile, t.profileAt = s.Args["name"], s.Line
	case "speed":
		t.speed = speed(s.Args["speed"])
	case "link-pause":
		state := qos.TriOf(s.Args["state"] == "on")
		if s.Args["direction"] == "receive" {
			t.pauseRx = state
		} else {
			t.pauseTx = state
		}
	case "channel-group":
		t.group = "port-channel" + s.Args["number"]
	case "description":
	default:
		return false
	}
	return true
}

// speed reads "400g-8", "100g", "100gfull", "1000full"; 0 for others.
func speed(s string) units.BitRate {
	n := 0
	i := 0
	for i < len(s) && i < 7 && s[i] >= '0' && s[i] <= '9' {
		n = n*10 + int(s[i]-'0')
		i++
	}
	if i < len(s) && (s[i] == 'g' || s[i] == 'G') {
		return units.BitRate(n) * units.Gbps
	}
	return units.BitRate(n) * units.Mbps
}

func (q *queueText) take(s dialect.Statement) bool {
	switch s.Form.ID {
	case "no-priority":
		q.queue.Strict = qos.Off
	case "priority":
		q.queue.Strict = qos.On
	case "bandwidth":
		q.queue.Share = float64(s.Args.Int("percent")) / 100
	case "guaranteed":
		q.guaranteed = true
		if q.queue.Share == 0 {
			q.queue.Share = float64(s.Args.Int("percent")) / 100
		}
	case "no-ecn":
		q.queue.ECN = qos.Off
	case "ecn", "drop":
		if s.Form.ID == "drop" && q.queue.ECN == qos.On {
			return true // marks first; the drop ramp is for packets that cannot be marked
		}
		q.ecnAt = s.Line
		q.queue.WRED, q.queue.ECN = qos.On, qos.TriOf(s.Form.ID == "ecn")
		dialect.Threshold(&q.queue, s.Args.Float("min"), s.Args["unit"], s.Args.Float("max"), s.Args["max-unit"])
		if s.Args.Has("probability") {
			q.queue.Probability = float64(s.Args.Int("probability")) / 100
		}
		if s.Args.Has("weight") {
			q.queue.Averaging = s.Args.Int("weight")
		}
	}
	return true
}
