// Package junos reads the class-of-service and interfaces parts of Junos
// (QFX, Junos Evolved), in braces or as "set" lines.
//
// The path of a packet there is DSCP -> forwarding class (classifier of the
// port) -> queue (queue-num). A forwarding class with no-loss and a
// pfc-priority is paused on that priority, which need not be the queue's
// number; a class without has no priority at all.
package junos

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// System is the name of this dialect in qos.Device and in cluster files.
const System = "junos"

// DefaultMTU is the media MTU of a port that sets none, with the header of 14
// bytes (Junos OS Interfaces User Guide for Switches).
const DefaultMTU = 1514

// Defaults of the PFC watchdog (Junos OS Traffic Management User Guide, PFC
// watchdog).
const (
	defaultPoll    = 100 * units.Millisecond
	defaultDetect  = 2
	defaultRecover = 200 * units.Millisecond
)

type class struct {
	queue  int
	noLoss bool
	prio   int // -1: none
	line   int
}

type classifier struct {
	dscp   map[uint8]string
	pcp    map[int]string
	dscpAt map[uint8]int
}

type dropProfile struct{ fill, drop []int }

type scheduler struct {
	profile string
	ecn     bool
	ecnAt   int
	share   float64
	strict  qos.Tri
	line    int
}

type notification struct {
	dscp    map[uint8]int // code point -> line
	pcp     map[int]int
	queueOf map[int]int // priority -> flow-control-queue
	wd      bool
	wdAt    int
	poll    units.Time
	detect  int
	recover units.Time
	action  string
	cable   units.Metres
}

type portText struct {
	name      string
	line      int
	pfc       string
	pfcAt     int
	schedMap  string
	dscp, pcp string
	trustAt   int
	class     string
	mtu       units.Bytes
	mtuAt     int
	rate      units.BitRate
	pause     qos.Tri
	cos       bool // named below class-of-service
}

type parser struct {
	out         *dialect.Reading
	source      string
	aliases     map[string]uint8
	classes     map[string]*class
	classifiers map[string]*classifier
	drops       map[string]*dropProfile
	schedulers  map[string]*scheduler
	maps        map[string]map[string]string
	profiles    map[string]*notification
	ports       map[string]*portText
	order       []*portText
	ranges      map[string][]string
	interfaces  bool // the text has the ports' own part
}

// Parse reads a configuration, or its class-of-service part.
func Parse(r io.Reader, source string) (*dialect.Reading, error) {
	lines, err := dialect.Lines(r, source)
	if err != nil {
		return nil, err
	}
	p := &parser{source: source, aliases: map[string]uint8{}, classifiers: map[string]*classifier{}, drops: map[string]*dropProfile{},
		schedulers: map[string]*scheduler{}, maps: map[string]map[string]string{}, profiles: map[string]*notification{}, ports: map[string]*portText{}, ranges: map[string][]string{},
		// The forwarding classes of the factory (Traffic Management User Guide).
		classes: map[string]*class{
			"best-effort": {queue: 0, prio: -1}, "fcoe": {queue: 3, noLoss: true, prio: -1}, "no-loss": {queue: 4, noLoss: true, prio: -1}, "network-control": {queue: 7, prio: -1},
		}}
	p.out = &dialect.Reading{Device: &qos.Device{Source: source, System: System}}
	statements, unknown, name := paths(lines)
	p.out.Device.Name = name
	for _, l := range unknown {
		p.out.Unknown(source, System, l.Number, l.Text)
	}
	whole := slices.ContainsFunc(statements, func(s path) bool { return s.words[0] == "class-of-service" })
	part := !whole && slices.ContainsFunc(statements, func(s path) bool { return cosParts[s.words[0]] })
	for _, s := range statements {
		if part {
			s.words = append([]string{"class-of-service"}, s.words...)
		}
		p.statement(s)
	}
	p.device()
	return p.out, nil
}

// Starts reports whether a line can stand at the top of a configuration: a
// "set" line of a known part, a part with its brace, or the end of one.
func Starts(line string) bool {
	text := strings.TrimSpace(line)
	if rest, ok := strings.CutPrefix(text, "set "); ok {
		text = rest
	} else if rest, ok := strings.CutSuffix(text, "{"); ok {
		text = rest
	} else {
		return text == "}" || strings.HasPrefix(text, "## Last ")
	}
	first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return tops[first] || cosParts[first] || grammar.Other("", first)
}

// Score says how sure text is a Junos configuration.
func Score(text []byte) int {
	return dialect.ScoreMarks(text, []dialect.Mark{
		{Text: "class-of-service {", Worth: 90},
		{Text: "set class-of-service ", Worth: 90},
		{Text: "congestion-notification-profile", Worth: 50},
		{Text: "forwarding-classes", Worth: 40},
		{Text: "\nset interfaces ", Worth: 30},
		{Text: "\nset system host-name", Worth: 40},
		{Text: "interfaces {", Worth: 30},
		{Text: "## Last commit:", Worth: 40},
		{Text: "code-points ", Worth: 30},
	})
}

func (p *parser) statement(s path) {
	line := strings.Join(s.words, " ")
	p.interfaces = p.interfaces || s.words[0] == "interfaces"
	form, args := grammar.Read("", line)
	if form == nil {
		if !grammar.Known("", line) {
			p.out.Unknown(p.source, System, s.line, line)
		}
		return
	}
	st := dialect.Statement{Form: form, Line: s.line, Args: args}
	ok := true
	switch {
	case strings.Contains(form.Text, "congestion-notification-profile <profile> "):
		ok = p.notification(st)
	case args.Has("port"):
		ok = p.portLine(st)
	case args.Has("scheduler") && !args.Has("map"):
		p.schedulerLine(st)
	default:
		ok = p.take(st)
	}
	if !ok {
		p.out.Unknown(p.source, System, s.line, line)
	}
}

func (p *parser) fact(line int, key string, v fact.Value, unit string) {
	name := p.out.Device.Name
	p.out.Facts = append(p.out.Facts, fact.Fact{Subject: fact.Subject{Kind: fact.Switch, Host: name, Name: name}, Key: key, Value: v, Unit: unit,
		Origin: fact.Origin{Source: p.source, Line: line, Tool: System}})
}

// point reads a code point: bits, an alias, or a name of the standard.
func (p *parser) point(s string, bits int) (uint8, bool) {
	if d, ok := p.aliases[s]; ok && bits == 6 {
		return d, true
	}
	if len(s) == bits && strings.Trim(s, "01") == "" {
		v, err := strconv.ParseUint(s, 2, 8)
		return uint8(v), err == nil
	}
	if bits == 6 {
		if _, err := strconv.Atoi(s); err != nil {
			return qos.ParseDSCP(s)
		}
	}
	return 0, false
}

func (p *parser) take(s dialect.Statement) bool {
	switch s.Form.ID {
	case "hostname":
		p.out.Device.Name = s.Args["name"]
	case "alias":
		d, ok := p.point(s.Args["bits"], 6)
		p.aliases[s.Args["name"]] = d
		return ok
	case "classifier":
		return p.classifierLine(s)
	case "class", "class-queue":
		c := p.class(s.Args["class"])
		c.queue, c.line = s.Args.Int("queue"), s.Line
		c.noLoss = c.noLoss || s.Args.Has("no-loss")
		if s.Args.Has("priority") {
			c.prio = s.Args.Int("priority")
		}
	case "class-no-loss":
		p.class(s.Args["class"]).noLoss = true
	case "class-priority":
		p.class(s.Args["class"]).prio = s.Args.Int("priority")
	case "fill", "drop", "step":
		p.dropLine(s)
	case "map":
		m := p.maps[s.Args["map"]]
		if m == nil {
			m = make(map[string]string)
			p.maps[s.Args["map"]] = m
		}
		m[s.Args["class"]] = s.Args["scheduler"]
	case "partition":
		p.fact(s.Line, "buffer.pool."+s.Args["side"]+"-"+s.Args["partition"]+".share", fact.OfFloat(s.Args.Float("percent")), "percent")
	case "partition-alpha":
		p.fact(s.Line, "buffer.pool."+s.Args["side"]+"-"+s.Args["partition"]+".alpha_index", fact.OfUint(uint64(s.Args.Int("index"))), "")
	case "shared", "dedicated":
		p.fact(s.Line, "buffer.pool."+s.Form.ID+"-"+s.Args["side"]+".share", fact.OfFloat(s.Args.Float("percent")), "percent")
	case "range-mtu":
		for _, name := range p.ranges[s.Args["range"]] {
			t := p.port(name, s.Line)
			if t == nil {
				return false
			}
			t.mtu, t.mtuAt = units.Bytes(s.Args.Int("mtu")), s.Line
		}
	}
	return true
}

func (p *parser) class(name string) *class {
	c := p.classes[name]
	if c == nil {
		c = &class{prio: -1}
		p.classes[name] = c
	}
	return c
}

func (p *parser) classifierLine(s dialect.Statement) bool {
	key := s.Args["kind"] + " " + s.Args["name"]
	c := p.classifiers[key]
	if c == nil {
		c = &classifier{dscp: map[uint8]string{}, pcp: map[int]string{}, dscpAt: map[uint8]int{}}
		p.classifiers[key] = c
	}
	if s.Args["kind"] == "ieee-802.1" {
		v, ok := p.point(s.Args["point"], 3)
		c.pcp[int(v)] = s.Args["class"]
		return ok
	}
	d, ok := p.point(s.Args["point"], 6)
	if ok {
		c.dscp[d], c.dscpAt[d] = s.Args["class"], s.Line
	}
	return ok
}

func (p *parser) dropLine(s dialect.Statement) {
	d := p.drops[s.Args["profile"]]
	if d == nil {
		d = new(dropProfile)
		p.drops[s.Args["profile"]] = d
	}
	switch {
	case len(d.fill) >= 64 || len(d.drop) >= 64: // Junos takes at most 64 pairs
	case s.Form.ID == "fill":
		d.fill = append(d.fill, s.Args.Int("percent"))
	case s.Form.ID == "drop":
		d.drop = append(d.drop, s.Args.Int("percent"))
	default:
		d.fill = append(d.fill, s.Args.Int("fill"))
		d.drop = append(d.drop, s.Args.Int("drop"))
	}
}

func (p *parser) schedulerLine(s dialect.Statement) {
	c := p.schedulers[s.Args["scheduler"]]
	if c == nil {
		c = &scheduler{line: s.Line}
		p.schedulers[s.Args["scheduler"]] = c
	}
	switch s.Form.ID {
	case "scheduler-profile":
		c.profile = s.Args["profile"]
	case "ecn":
		c.ecn, c.ecnAt = true, s.Line
	case "rate":
		c.share = float64(s.Args.Int("percent")) / 100
	case "priority":
		c.strict = qos.TriOf(s.Args["level"] == "strict-high")
	}
}

func (p *parser) notification(s dialect.Statement) bool {
	n := p.profiles[s.Args["profile"]]
	if n == nil {
		n = &notification{dscp: map[uint8]int{}, pcp: map[int]int{}, queueOf: map[int]int{}, poll: defaultPoll, detect: defaultDetect, recover: defaultRecover, action: "drop"}
		p.profiles[s.Args["profile"]] = n
	}
	if strings.HasPrefix(s.Form.ID, "watchdog") {
		n.wd, n.wdAt = true, s.Line
	}
	switch s.Form.ID {
	case "pfc-input":
		if s.Args["field"] == "dscp" {
			d, ok := p.point(s.Args["point"], 6)
			n.dscp[d] = s.Line
			return ok
		}
		v, ok := p.point(s.Args["point"], 3)
		n.pcp[int(v)] = s.Line
		return ok
	case "pfc-output":
		v, ok := p.point(s.Args["point"], 3)
		n.queueOf[int(v)] = s.Args.Int("queue")
		return ok
	case "watchdog-poll":
		n.poll = units.Time(s.Args.Int("ms")) * units.Millisecond
	case "watchdog-detect":
		n.detect = s.Args.Int("times")
	case "watchdog-recover":
		n.recover = units.Time(s.Args.Int("ms")) * units.Millisecond
	case "watchdog-action":
		n.action = s.Args["action"]
	case "cable":
		n.cable = units.Metres(s.Args.Int("metres"))
	}
	return true
}
