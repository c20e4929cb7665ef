package nvue

import (
	"slices"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

const global = "default-global"

// DefaultMTU is what a port carries where the text sets nothing (Cumulus
// Linux 5 User Guide, Switch Port Attributes).
const DefaultMTU = 9216

// What "nv set qos roce" and a switch without it do, from the guides named in
// the table of forms: ECN between 150,000 and 1,500,000 bytes at 100 percent
// on traffic class 0 (with RoCE also on 3), DWRR shares, cable lengths, and
// the watchdog's polling interval and number of intervals.
const (
	ecnMin         = 150_000
	ecnMax         = 1_500_000
	ecnProbability = 1.0
	roceCable      = 100
	pfcCable       = 10
	defaultPoll    = 100 * units.Millisecond
	defaultRobust  = 3
)

var plainShares = [8]float64{0.12, 0.13, 0.12, 0.13, 0.12, 0.13, 0.12, 0.13}

type portText struct {
	name       string
	line       int
	mtu        units.Bytes
	mtuAt      int
	speed      units.BitRate
	watchdog   qos.Tri
	watchdogAt int
	profiles   map[string]string // part -> profile
}

type parser struct {
	out        *dialect.Reading
	roce       bool
	roceAt     int
	mode       string
	roceCable  units.Metres
	poll       units.Time
	robustness int
	profiles   map[string]*profile
	ports      map[string]*portText
	order      []*portText
	work       int // port names that statements expanded to
	pools      []fact.Fact
}

func newParser(out *dialect.Reading) *parser {
	return &parser{out: out, mode: "lossless", poll: defaultPoll, robustness: defaultRobust,
		profiles: make(map[string]*profile), ports: make(map[string]*portText)}
}

func (p *parser) profile(name string) *profile {
	f := p.profiles[name]
	if f == nil {
		f = newProfile()
		p.profiles[name] = f
	}
	return f
}

// port takes a statement on a set of ports.
func (p *parser) port(s dialect.Statement) bool {
	names, ok := dialect.ExpandPorts(s.Args["ports"])
	p.work += len(names)
	if !ok || p.work > dialect.MaxWork {
		return false
	}
	if rest, qosPart := strings.CutPrefix(s.Args["rest"], "qos "); qosPart {
		word, _, _ := strings.Cut(rest, " ")
		if !slices.Contains(silent, word) {
			return false
		}
	}
	for _, name := range names {
		if !strings.HasPrefix(name, "swp") {
			continue
		}
		t := p.ports[name]
		if t == nil {
			if len(p.order) >= dialect.MaxPorts {
				return false
			}
			t = &portText{name: name, line: s.Line, profiles: make(map[string]string)}
			p.ports[name] = t
			p.order = append(p.order, t)
		}
		t.take(s)
	}
	return true
}

func (t *portText) take(s dialect.Statement) {
	switch s.Form.ID {
	case "profile":
		kind := s.Args["kind"]
		if kind == "" {
			kind = "congestion-control"
		}
		t.profiles[kind] = s.Args["profile"]
	case "watchdog":
		t.watchdog, t.watchdogAt = qos.On, s.Line
	case "watchdog-state":
		t.watchdog, t.watchdogAt = qos.TriOf(s.Args["state"] == "enable"), s.Line
	case "mtu":
		t.mtu, t.mtuAt = units.Bytes(s.Args.Int("mtu")), s.Line
	case "speed":
		if rate, err := units.ParseBitRate(strings.ToUpper(s.Args["speed"])); err == nil {
			t.speed = rate
		}
	}
}

func (p *parser) device() {
	d := p.out.Device
	sw := fact.Subject{Kind: fact.Switch, Host: d.Name, Name: d.Name}
	for _, f := range p.pools {
		f.Subject = sw
		p.out.Facts = append(p.out.Facts, f)
	}
	if p.roceAt > 0 {
		mode := p.mode
		if !p.roce {
			mode = "off"
		}
		p.out.Facts = append(p.out.Facts, fact.Fact{Subject: sw, Key: "roce.mode", Value: fact.OfText(mode), Origin: p.origin(p.roceAt)})
	}
	// What every port without a profile of its own does.
	base := p.effect(&portText{name: global})
	base.MTU = 0
	delete(base.Reasons, "mtu")
	delete(base.Lines, "port")
	d.Profiles = append(d.Profiles, base)
	for _, t := range p.order {
		d.Ports = append(d.Ports, p.effect(t))
	}
}

// part returns the profile that a port uses for one part of the settings.
func (p *parser) part(port *qos.Port, t *portText, kind string) *profile {
	name := t.profiles[kind]
	if name == "" {
		name = global
	}
	f := p.profiles[name]
	if f == nil {
		if name != global {
			port.Explain(kind, kind+" profile "+name+" is not in this text")
		}
		f = newProfile()
	}
	return f
}

func (p *parser) effect(t *portText) qos.Port {
	port := qos.NewPort(t.name)
	if t.line > 0 {
		port.Note("port", t.line)
	}
	port.Speed = t.speed
	port.MTU = t.mtu
	if t.mtu == 0 {
		port.MTU = DefaultMTU
		port.Explain("mtu", "no link mtu statement: the default of 9216 bytes holds")
	} else {
		port.Note("mtu", t.mtuAt)
	}
	p.classify(&port, p.part(&port, t, "mapping"))
	p.queues(&port, t)
	p.marking(&port, p.part(&port, t, "congestion-control"))
	p.flowControl(&port, t, p.part(&port, t, "pfc"))
	pause := p.part(&port, t, "link-pause")
	if t.profiles["link-pause"] != "" {
		port.GlobalPauseRx, port.GlobalPauseTx = pause.pauseRx, pause.pauseTx
	}
	p.watchdog(&port, t)
	return port
}

// classify: without a statement 802.1p is trusted, with RoCE both fields;
// eight code points share a priority.
func (p *parser) classify(port *qos.Port, f *profile) {
	port.Trust = f.trust
	if f.trustAt > 0 {
		port.Note("trust", f.trustAt)
	}
	if port.Trust == qos.TrustUnknown {
		port.Trust = qos.TrustPCP
		if p.roce {
			port.Trust = qos.TrustBoth
		} else {
			port.Explain("trust", "no trust statement: 802.1p is trusted, the DSCP is not looked at")
		}
	}
	port.DefaultPriority = uint8(max(0, f.defaultPrio))
	for c := range port.PCPToPriority {
		port.PCPToPriority[c] = uint8(c)
		if f.pcp[c].line > 0 {
			port.PCPToPriority[c] = f.pcp[c].value
		}
	}
	for d := range port.DSCPToPriority {
		port.DSCPToPriority[d] = uint8(d / 8)
		if v := f.dscp[d]; v.line > 0 {
			port.DSCPToPriority[d] = v.value
			port.Note(dialect.Key("dscp", d), v.line)
		}
	}
}

// queues: priorities map to the queue of their number; with RoCE, 3 and 6
// keep theirs and all others share queue 0.
func (p *parser) queues(port *qos.Port, t *portText) {
	mapping := p.profiles[global] // NVUE has this profile only
	for prio := range port.PriorityToQueue {
		queue := prio
		if p.roce && prio != 3 && prio != 6 {
			queue = 0
		}
		port.PriorityToQueue[prio] = uint8(queue)
		if mapping != nil && mapping.queue[prio].line > 0 {
			port.PriorityToQueue[prio] = mapping.queue[prio].value
			port.Note(dialect.Key("queue", prio), mapping.queue[prio].line)
		}
	}
	f := p.part(port, t, "egress-scheduler")
	own := t.profiles["egress-scheduler"] != "" // a profile of its own starts empty
	for q := range port.Queues {
		queue := &port.Queues[q]
		switch {
		case own:
		case p.roce && (q == 0 || q == 3):
			queue.Share, queue.Strict = 0.5, qos.Off
		case p.roce && q == 6:
			queue.Strict = qos.On
		case p.roce:
			queue.Strict = qos.Off
		default:
			queue.Share, queue.Strict = plainShares[q], qos.Off
		}
		if f.scheduleAt[q] == 0 {
			continue
		}
		port.Note(dialect.Key("schedule", q), f.scheduleAt[q])
		if f.strict[q] != qos.Unset {
			queue.Strict = f.strict[q]
		}
		if f.share[q] >= 0 {
			queue.Share = float64(f.share[q]) / 100
		}
		if queue.Strict == qos.On {
			queue.Share = 0
		}
	}
}

// marking: queue 0, and with RoCE queue 3, mark from the start; naming a
// queue in a profile switches its marking on.
func (p *parser) marking(port *qos.Port, f *profile) {
	custom := f.hasCC && f != p.profiles[global]
	for q := range port.Queues {
		queue := &port.Queues[q]
		e := &f.ecn[q]
		on := (q == 0 || p.roce && q == 3) && !custom
		if on || e.line > 0 {
			queue.Min, queue.Max, queue.Probability = ecnMin, ecnMax, ecnProbability
			queue.ECN, queue.WRED = qos.On, qos.On
		}
		if e.line == 0 {
			continue
		}
		port.Note(dialect.Key("ecn", q), e.line)
		if e.hasMin {
			queue.Min = e.min
		}
		if e.hasMax {
			queue.Max = e.max
		}
		if e.probability >= 0 {
			queue.Probability = float64(e.probability) / 100
		}
		if e.ecn == qos.Off {
			queue.ECN = qos.Off
			queue.WRED = qos.TriOf(e.red == qos.On)
			if e.red == qos.On {
				port.Explain(dialect.Key("ecn", q), "ecn disable with red enable: packets are dropped instead of marked")
			}
		}
	}
}

func (p *parser) flowControl(port *qos.Port, t *portText, f *profile) {
	lossless := p.roce && p.mode != "lossy"
	mask := uint8(0)
	switch {
	case f.pfcSaid: // a stated set takes the place of RoCE's
		mask = f.pfc
	case lossless && t.profiles["pfc"] == "":
		mask = 1 << 3
		port.Note("pfc", p.roceAt)
	}
	for prio, at := range f.pfcAt {
		if at > 0 {
			port.Note(dialect.Key("pfc", prio), at)
		}
	}
	port.PFCMask = mask
	port.PFC = qos.TriOf(mask != 0)
	if mask == 0 {
		port.Explain("pfc", "no priority has PFC: neither qos roce in a lossless mode nor a pfc profile is set")
	}
	if mask != 0 && (f.rx == qos.Off || f.tx == qos.Off) {
		port.PFC = qos.Off
		port.Note("pfc", f.directionAt)
		half := "sent"
		if f.rx == qos.Off {
			half = "honoured"
			if f.tx == qos.Off {
				half = "sent or honoured"
			}
		}
		port.Explain("pfc", "PFC frames are not "+half+" (rx or tx disable)")
	}
	port.PFCMode = port.PFC.String()
	port.CableLength = f.cable
	if f.cable == 0 && mask != 0 {
		port.CableLength = pfcCable
		if lossless && !f.pfcSaid {
			port.CableLength = roceCable
		}
		if lossless && p.roceCable > 0 {
			port.CableLength = p.roceCable
		}
	}
	alpha := float64(0)
	if g := p.profiles[global]; g != nil {
		alpha = g.alpha
	}
	for _, prio := range dialect.Bits(mask) {
		in := &port.Ingress[prio]
		*in = f.ingress
		in.Alpha = alpha
		if f.ingress.XOFF > 0 && f.xonDelta > 0 {
			in.XON = max(0, f.ingress.XOFF-f.xonDelta)
		}
	}
}

// watchdog: a paused queue without progress for all intervals is stormed; one
// interval without pause restores it.
func (p *parser) watchdog(port *qos.Port, t *portText) {
	port.Watchdog = qos.Off
	if t.watchdogAt > 0 {
		port.Note("watchdog", t.watchdogAt)
	}
	switch {
	case t.watchdog != qos.On:
		port.Explain("watchdog", "no qos pfc-watchdog statement for this port")
		if t.watchdog == qos.Off {
			port.Explain("watchdog", "pfc-watchdog state disable")
		}
	case port.PFC != qos.On:
		port.Explain("watchdog", "the watchdog works on ports with PFC only")
	default:
		port.Watchdog = qos.On
		port.WatchdogDetect = units.Time(p.robustness) * p.poll
		port.WatchdogRestore = p.poll
		port.WatchdogAction = "drop"
	}
}
