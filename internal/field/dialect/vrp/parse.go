// Package vrp reads the configuration of Huawei VRP (CloudEngine switches):
// PFC profiles, DiffServ domains, drop profiles, and the ports' lines.
//
// The path of a packet there is DSCP or 802.1p (as trusted) -> per-hop
// behaviour of the DiffServ domain -> the queue of that behaviour (BE 0, AF1 1
// ... EF 5, CS6 6, CS7 7), which is also the priority that PFC pauses.
package vrp

import (
	"cmp"
	"io"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// System is the name of this dialect in qos.Device and in cluster files.
const System = "vrp"

// DefaultFrame is the longest frame of a port that sets none, with header and
// checksum (CloudEngine Command Reference, jumboframe enable).
const DefaultFrame = 9216

// The periods of the deadlock detection are multiples of an accuracy of 10 ms
// unless the switch sets another (CloudEngine Command Reference, dcb pfc
// deadlock-detect interval).
const defaultAccuracy = 10 * units.Millisecond

type pfcProfile struct {
	mask      uint8
	lines     [8]int
	detect    [8]int // in units of the accuracy; -1: not stated
	recover   [8]int
	deadlocks [8]int // lines
}

type domain struct {
	dscp   [64]uint8
	pcp    [8]uint8
	dscpAt [64]int
}

type dropProfile struct {
	ecn, green qos.Queue
	hasECN     bool
	hasGreen   bool
	line       int
}

type portText struct {
	names      []string
	line       int
	rate       units.BitRate
	trust      qos.Trust
	trustAt    int
	domain     string
	defaultPri int
	routed     bool
	pfc        qos.Tri
	pfcMode    string
	pfcProfile string
	pfcAt      int
	pauseRx    qos.Tri
	pauseTx    qos.Tri
	strict     [8]qos.Tri
	weight     [8]int
	scheduleAt [8]int
	wred       [8]string
	ecn        [8]qos.Tri
	ecnAt      [8]int
	buffers    [8]qos.Ingress
	bufferAt   [8]int
	frame      units.Bytes
	mtu        units.Bytes
	mtuAt      int
	trunk      string
}

type parser struct {
	out         *dialect.Reading
	source      string
	profiles    map[string]*pfcProfile
	domains     map[string]*domain
	drops       map[string]*dropProfile
	ports       dialect.PortBlocks[portText]
	groups      []*portText
	dscpMapping bool
	accuracy    units.Time
	action      string
	aiEnabled   bool
	aiQueues    uint8
	aiAt        int
	profile     *pfcProfile
	domain      *domain
	drop        *dropProfile
	port        *portText
}

// Parse reads "display current-configuration", or a script.
func Parse(r io.Reader, source string) (*dialect.Reading, error) {
	lines, err := dialect.Lines(r, source)
	if err != nil {
		return nil, err
	}
	for i := range lines { // manuals put remarks behind two slashes
		if cut := strings.Index(lines[i].Text, " //"); cut > 0 {
			lines[i] = dialect.MakeLine(lines[i].Number, lines[i].Indent, strings.TrimRight(lines[i].Text[:cut], " \t"))
		}
	}
	p := &parser{source: source, accuracy: defaultAccuracy,
		profiles: make(map[string]*pfcProfile), domains: make(map[string]*domain), drops: make(map[string]*dropProfile)}
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

// Score says how sure text is a VRP configuration.
func Score(text []byte) int {
	return dialect.ScoreMarks(text, []dialect.Mark{
		{Text: "\n#\n", Worth: 10},
		{Text: "\nsysname ", Worth: 15},
		{Text: "dcb pfc", Worth: 60},
		{Text: "\ndiffserv domain ", Worth: 50},
		{Text: "\ndrop-profile ", Worth: 40},
		{Text: "\n ip-dscp-inbound ", Worth: 50},
		{Text: "interface 100GE", Worth: 40},
		{Text: "interface 400GE", Worth: 40},
		{Text: "interface 25GE", Worth: 40},
		{Text: "\n trust upstream ", Worth: 30},
		{Text: "\n!Software Version V", Worth: 60},
		{Text: "GigE1/", Worth: -40},
		{Text: "priority-flow-control", Worth: -60},
	})
}

func newProfile() *pfcProfile {
	f := new(pfcProfile)
	for i := range f.detect {
		f.detect[i], f.recover[i] = -1, -1
	}
	return f
}

// newDomain has the mappings of the domain "default" (CloudEngine
// Configuration Guide, QoS, priority mapping): class selectors and assured
// forwarding go to their behaviours, all other code points to best effort.
func newDomain() *domain {
	d := new(domain)
	for i := range d.pcp {
		d.pcp[i] = uint8(i)
	}
	for i := range d.dscp {
		switch block := i / 8; {
		case i%8 == 0:
			d.dscp[i] = uint8(block)
		case block >= 1 && block <= 4 && i%2 == 0:
			d.dscp[i] = uint8(block)
		case i == 46:
			d.dscp[i] = 5
		}
	}
	return d
}

func (p *parser) take(s dialect.Statement) bool {
	switch s.Form.In {
	case "":
		return p.global(s)
	case inProfile:
		return p.profileLine(s)
	case inDomain:
		return p.domainLine(s)
	case inDrop:
		p.dropLine(s)
	case inAIECN:
		return p.aiLine(s)
	case inPort, inGroup:
		if s.Form.ID == "member" {
			names, rate, ok := dialect.NamedPorts(s.Args["ports"])
			p.port.names = append(p.port.names, names...)
			p.port.rate = rate
			return ok
		}
		return p.port == nil || p.port.take(s)
	}
	return true
}

func (p *parser) global(s dialect.Statement) bool {
	switch s.Form.ID {
	case "hostname":
		p.out.Device.Name = s.Args["name"]
	case "dscp-mapping":
		p.dscpMapping = true
	case "detect-interval":
		p.accuracy = units.Time(s.Args.Int("ms")) * units.Millisecond
	case "recover-action":
		p.action = s.Args["action"]
	case "profile":
		p.profile = p.pfc(cmp.Or(s.Args["name"], "default"))
	case "domain":
		name := s.Args["name"]
		if p.domains[name] == nil {
			p.domains[name] = newDomain()
		}
		p.domain = p.domains[name]
	case "drop-profile":
		p.drop = &dropProfile{line: s.Line}
		p.drops[s.Args["name"]] = p.drop
	case "headroom-pool":
		var q qos.Queue
		dialect.Threshold(&q, 0, s.Args["unit"], s.Args.Float("size"), s.Args["unit"])
		key, value, unit := "buffer.pool.headroom.size", fact.OfUint(uint64(q.Max)), "bytes"
		if q.Raw.Unit != "" {
			key, value, unit = "buffer.pool.headroom.cells", fact.OfUint(uint64(q.Raw.Max)), ""
		}
		p.fact(s.Line, key, value, unit)
	case "interface", "group":
		return p.openPort(s)
	}
	return true
}

func (p *parser) fact(line int, key string, v fact.Value, unit string) {
	name := p.out.Device.Name
	p.out.Facts = append(p.out.Facts, fact.Fact{Subject: fact.Subject{Kind: fact.Switch, Host: name, Name: name}, Key: key, Value: v, Unit: unit,
		Origin: fact.Origin{Source: p.source, Line: line, Tool: System}})
}

func (p *parser) pfc(name string) *pfcProfile {
	if p.profiles[name] == nil {
		p.profiles[name] = newProfile()
	}
	return p.profiles[name]
}

func (p *parser) openPort(s dialect.Statement) bool {
	p.port = nil
	words := s.Args["ports"]
	var names []string
	var rate units.BitRate
	if s.Form.ID == "group" {
		p.port = &portText{line: s.Line, defaultPri: -1}
		p.groups = append(p.groups, p.port)
		return true
	} else if lower := strings.ToLower(words); strings.HasPrefix(lower, "eth-trunk") {
		names = []string{"Eth-Trunk" + strings.TrimSpace(words[len("eth-trunk"):])}
	} else if list, r, ok := dialect.NamedPorts(words); ok {
		names, rate = list, r
	} else {
		_, _, port := dialect.NamedPort(words)
		return !port // a port's name with more behind it
	}
	t, fresh := p.ports.Open(names)
	if fresh {
		*t = portText{line: s.Line, defaultPri: -1, names: names, rate: rate}
	}
	p.port = t
	return t != nil
}

func (p *parser) profileLine(s dialect.Statement) bool {
	switch s.Form.ID {
	case "priority":
		list, ok := dialect.ParseList(strings.Join(strings.Fields(s.Args["list"]), ","), 7)
		for _, prio := range list {
			p.profile.mask |= 1 << prio
			p.profile.lines[prio] = s.Line
		}
		return ok
	case "deadlock":
		prio := s.Args.Int("priority")
		if !s.Args.Has("detect") && !s.Args.Has("recover") {
			p.profile.mask |= 1 << prio
			p.profile.lines[prio] = s.Line
			return true
		}
		p.profile.deadlocks[prio] = s.Line
		if s.Args.Has("detect") {
			p.profile.detect[prio] = s.Args.Int("detect")
			p.fact(s.Line, dialect.Key("pfc.watchdog.detect_steps", prio), fact.OfUint(uint64(s.Args.Int("detect"))), "")
		}
		if s.Args.Has("recover") {
			p.profile.recover[prio] = s.Args.Int("recover")
			p.fact(s.Line, dialect.Key("pfc.watchdog.restore_steps", prio), fact.OfUint(uint64(s.Args.Int("recover"))), "")
		}
	}
	return true
}

func (p *parser) domainLine(s dialect.Statement) bool {
	queue, _ := dialect.PHB(s.Args["phb"])
	if s.Form.ID == "pcp" {
		list, ok := dialect.ParseList(wordRange(s.Args["list"]), 7)
		for _, c := range list {
			p.domain.pcp[c] = uint8(queue)
		}
		return ok
	}
	list, ok := dialect.ParseDSCPs(wordRange(s.Args["list"]))
	for _, d := range list {
		p.domain.dscp[d], p.domain.dscpAt[d] = uint8(queue), s.Line
	}
	return ok
}

// wordRange turns "24 to 31 48" into "24-31,48".
func wordRange(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, " to ", "-")), ",")
}

func (p *parser) dropLine(s dialect.Statement) {
	q := qos.Queue{Probability: float64(s.Args.Int("percent")) / 100, Averaging: -1}
	low, high := "percent", "percent"
	if s.Form.ID == "threshold" { // without a unit the manual counts bytes
		low = cmp.Or(s.Args["low-unit"], s.Args["unit"], s.Args["high-unit"], "bytes")
		high = cmp.Or(s.Args["high-unit"], s.Args["unit"], s.Args["low-unit"], "bytes")
	}
	dialect.Threshold(&q, s.Args.Float("low"), low, s.Args.Float("high"), high)
	if s.Args["colour"] == "ecn" {
		p.drop.ecn, p.drop.hasECN = q, true
	} else {
		p.drop.green, p.drop.hasGreen = q, true
	}
	p.drop.line = s.Line
}

func (p *parser) aiLine(s dialect.Statement) bool {
	if s.Form.ID == "ai-enable" {
		p.aiEnabled, p.aiAt = true, s.Line
		return true
	}
	list, ok := dialect.ParseList(wordRange(s.Args["list"]), 7)
	mask, _ := dialect.Mask(list)
	p.aiQueues |= mask
	return ok
}
