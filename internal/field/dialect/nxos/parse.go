// Package nxos reads the running configuration of Cisco NX-OS (Nexus 3000
// and 9000): class maps, the policy maps of types qos, queuing and
// network-qos, system qos, and the ports' own lines.
//
// The path of a packet there is DSCP -> qos-group (class maps and the qos
// policy of the port, or of system qos) -> output queue of the same number
// (class c-out-8q-qN of the queuing policy); the network-qos class of the
// group decides whether and on which CoS it is paused.
package nxos

import (
	"cmp"
	"io"
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// System is the name of this dialect in qos.Device and in cluster files.
const System = "nxos"

// DefaultMTU is what a port carries where the text sets nothing (NX-OS
// Interfaces Configuration Guide).
const DefaultMTU = 1500

// The watchdog looks every 100 ms, shuts a queue down after one look without
// progress and restores it after ten quiet ones, unless multipliers say
// otherwise (NX-OS Quality of Service Configuration Guide, PFC watchdog).
const (
	watchdogPoll     = 100 * units.Millisecond
	shutdownMultiple = 1
	restoreMultiple  = 10
)

type classMap struct {
	dscp  []uint8
	cos   []int
	group int // -1: none
	other bool
}

type qosClass struct {
	class string
	group int
	line  int
}

type queueClass struct {
	class string
	queue qos.Queue
	in    qos.Ingress
	line  int // of the class
	ecn   int // line of random-detect
}

type netClass struct {
	class string
	mtu   units.Bytes
	pause bool
	cos   []int
	line  int
	mtuAt int
}

// policies that are in force, by kind, and the lines that say so.
type bound struct {
	qos, in, out string
	qosAt, outAt int
}

type portText struct {
	name             string
	pfc              string
	pfcAt            int
	watchdog         qos.Tri
	watchdogAt       int
	disableAction    bool
	mtu              units.Bytes
	mtuAt            int
	speed            units.BitRate
	pauseRx, pauseTx qos.Tri
	policies         bound
	group            string // port-channel
	line             int
	description      string
}

type parser struct {
	name, version string
	classes       map[string]*classMap
	qosPolicies   map[string][]*qosClass
	queuing       map[string][]*queueClass
	network       map[string][]*netClass
	system        bound
	systemNetwork string
	watchdog      qos.Tri
	watchdogAt    int
	shutdown      int
	restore       int
	override      bool
	ports         dialect.PortBlocks[portText]

	// What the walk is inside of.
	class *classMap
	pmap  string
	qc    *qosClass
	que   *queueClass
	nc    *netClass
	port  *portText
}

// Parse reads a running configuration.
func Parse(r io.Reader, source string) (*dialect.Reading, error) {
	lines, err := dialect.Lines(r, source)
	if err != nil {
		return nil, err
	}
	p := &parser{
		classes: make(map[string]*classMap), qosPolicies: make(map[string][]*qosClass),
		queuing: make(map[string][]*queueClass), network: make(map[string][]*netClass),
		shutdown: shutdownMultiple, restore: restoreMultiple,
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

// Score says how sure text is an NX-OS configuration.
func Score(text []byte) int {
	return dialect.ScoreMarks(text, []dialect.Mark{
		{Text: "type network-qos", Worth: 60},
		{Text: "class-map type qos", Worth: 20},
		{Text: "policy-map type queuing", Worth: 40},
		{Text: "class type queuing c-", Worth: 40},
		{Text: "priority-flow-control watch-dog-interval", Worth: 50},
		{Text: "\nfeature ", Worth: 15},
		{Text: "!Command: show running-config", Worth: 60},
		{Text: "set qos-group ", Worth: 30},
		{Text: "\nvdc ", Worth: 20},
		{Text: "\n!\n", Worth: -10},
		{Text: "\n   ", Worth: -5},
	})
}

func (p *parser) take(s dialect.Statement) bool {
	switch s.Form.In {
	case "":
		return p.top(s)
	case inClassMap:
		return p.classLine(s)
	case inQosPolicy, inQosClass:
		return p.qosLine(s)
	case inQueuing, inQueueClass:
		return p.queueLine(s)
	case inNetwork, inNetClass:
		return p.networkLine(s)
	case inSystem:
		if s.Args["type"] == "" {
			p.systemNetwork = s.Args["name"]
			return true
		}
		p.system.set(s)
		return true
	case inInterface:
		if p.port != nil {
			return p.port.take(s)
		}
		return true
	}
	return false
}

func (p *parser) top(s dialect.Statement) bool {
	switch s.Form.ID {
	case "hostname":
		p.name = s.Args["name"]
	case "version":
		p.version = s.Args["version"]
	case "class-map":
		p.class = &classMap{group: -1}
		p.classes[s.Args["name"]] = p.class
	case "policy-qos":
		p.pmap = s.Args["name"]
		p.qosPolicies[p.pmap] = nil
	case "policy-queuing":
		p.pmap = s.Args["name"]
		p.queuing[p.pmap] = nil
	case "policy-network":
		p.pmap = s.Args["name"]
		p.network[p.pmap] = nil
	case "watchdog":
		p.watchdog, p.watchdogAt = qos.TriOf(s.Args["state"] == "on"), s.Line
	case "no-watchdog":
		p.watchdog, p.watchdogAt = qos.Off, s.Line
	case "watchdog-shutdown":
		p.shutdown = s.Args.Int("times")
	case "watchdog-restore":
		p.restore = s.Args.Int("times")
	case "override":
		p.override = true
	case "interface":
		p.port = nil
		name, ok := dialect.TypedPorts(s.Args["name"] + " " + s.Args["rest"])
		if !ok || !carriesFrames(name) {
			return ok
		}
		return p.openPorts(name, s.Line)
	}
	return true
}

// openPorts starts the ports that an interface line names. A range of them
// (typed, never in a running configuration) shares the lines that follow.
func (p *parser) openPorts(name string, line int) bool {
	names, ok := dialect.ExpandPorts(name)
	if !ok {
		return false
	}
	t, fresh := p.ports.Open(names)
	if fresh {
		*t = portText{name: strings.Join(names, ","), line: line}
	}
	p.port = t
	return t != nil
}

func carriesFrames(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "eth") || strings.HasPrefix(name, "port-channel") || strings.HasPrefix(name, "po") && len(name) > 2 && name[2] >= '0' && name[2] <= '9'
}

func (p *parser) classLine(s dialect.Statement) bool {
	switch s.Form.ID {
	case "match-dscp":
		list, ok := dialect.ParseDSCPs(s.Args["dscps"])
		p.class.dscp = append(p.class.dscp, list...)
		return ok
	case "match-cos":
		list, ok := dialect.ParseList(s.Args["list"], 7)
		p.class.cos = append(p.class.cos, list...)
		return ok
	case "match-group":
		p.class.group = s.Args.Int("group")
	case "match-other":
		p.class.other = true
	}
	return true
}

func (p *parser) qosLine(s dialect.Statement) bool {
	switch s.Form.ID {
	case "class":
		p.qc = &qosClass{class: s.Args["name"], group: -1, line: s.Line}
		p.qosPolicies[p.pmap] = append(p.qosPolicies[p.pmap], p.qc)
	case "set-group":
		p.qc.group = s.Args.Int("group")
	}
	return true
}

func (p *parser) queueLine(s dialect.Statement) bool {
	if s.Form.ID == "class" {
		p.que = &queueClass{class: s.Args["name"], line: s.Line, queue: qos.Queue{Probability: -1, Averaging: -1}}
		p.queuing[p.pmap] = append(p.queuing[p.pmap], p.que)
		return true
	}
	q := &p.que.queue
	switch s.Form.ID {
	case "priority":
		q.Strict = qos.On
	case "bandwidth":
		q.Share = float64(s.Args.Int("percent")) / 100
		if q.Strict == qos.Unset {
			q.Strict = qos.Off
		}
	case "random-detect-burst", "random-detect":
		p.que.ecn = s.Line
		q.WRED = qos.On
		// The word ecn may come on a line of its own beside the thresholds.
		if q.ECN != qos.On {
			q.ECN = qos.TriOf(s.Args.Has("ecn") || strings.HasSuffix(s.Form.Text, "detect ecn"))
		}
		p.que.randomDetect(s.Args)
	case "pause-buffer":
		p.que.in = qos.Ingress{Reserved: units.Bytes(s.Args.Int("size"))}
		if s.Args.Has("xoff") {
			xoff := units.Bytes(s.Args.Int("xoff"))
			p.que.in.XOFF, p.que.in.XON = xoff, units.Bytes(s.Args.Int("xon"))
			p.que.in.Headroom = max(0, p.que.in.Reserved-xoff)
		}
	}
	return true
}

func (c *queueClass) randomDetect(args dialect.Args) {
	q := &c.queue
	if args.Has("profile") {
		q.Raw = qos.Raw{Unit: args["profile"]}
	}
	if args.Has("min") || args.Has("max") {
		// Without a unit NX-OS counts packets.
		low, high := cmp.Or(args["min-unit"], args["max-unit"], "packets"), cmp.Or(args["max-unit"], args["min-unit"], "packets")
		dialect.Threshold(q, args.Float("min"), low, args.Float("max"), high)
	}
	if args.Has("probability") {
		q.Probability = float64(args.Int("probability")) / 100
	}
	if args.Has("weight") {
		q.Averaging = args.Int("weight")
	}
}

func (p *parser) networkLine(s dialect.Statement) bool {
	switch s.Form.ID {
	case "class":
		p.nc = &netClass{class: s.Args["name"], line: s.Line}
		p.network[p.pmap] = append(p.network[p.pmap], p.nc)
	case "mtu":
		p.nc.mtu, p.nc.mtuAt = units.Bytes(s.Args.Int("mtu")), s.Line
	case "pause":
		list, ok := dialect.ParseList(s.Args["cos"], 7)
		if !ok && s.Args.Has("cos") {
			return false
		}
		p.nc.pause, p.nc.cos, p.nc.line = true, list, s.Line
	case "no-pause":
		p.nc.pause, p.nc.cos = false, nil
	}
	return true
}

func (b *bound) set(s dialect.Statement) {
	name := s.Args["name"]
	switch kind := s.Args["type"]; {
	case kind == "qos" || kind == "":
		b.qos, b.qosAt = name, s.Line
	case s.Args["direction"] == "input":
		b.in = name
	default:
		b.out, b.outAt = name, s.Line
	}
}

func (t *portText) take(s dialect.Statement) bool {
	switch s.Form.ID {
	case "description":
		t.description = s.Args["text"]
	case "pfc-mode":
		t.pfc, t.pfcAt = s.Args["mode"], s.Line
	case "no-pfc-mode":
		t.pfc, t.pfcAt = "", s.Line
	case "watchdog":
		t.watchdog, t.watchdogAt = qos.TriOf(s.Args["state"] == "on"), s.Line
	case "no-watchdog":
		t.watchdog, t.watchdogAt = qos.Unset, s.Line
	case "watchdog-disable-action":
		t.disableAction = true
	case "mtu":
		t.mtu, t.mtuAt = units.Bytes(s.Args.Int("mtu")), s.Line
	case "speed":
		t.speed = units.BitRate(s.Args.Int("megabits")) * units.Mbps
	case "link-pause":
		state := qos.TriOf(s.Args["state"] == "on")
		if s.Args["direction"] == "receive" {
			t.pauseRx = state
		} else {
			t.pauseTx = state
		}
	case "service-policy":
		t.policies.set(s)
	case "channel-group":
		t.group = "port-channel" + s.Args["number"]
	}
	return true
}
