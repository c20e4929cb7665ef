package vrp

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

func (t *portText) take(s dialect.Statement) bool {
	switch s.Form.ID {
	case "trust":
		t.trust, t.trustAt = qos.TrustPCP, s.Line
		if s.Args["field"] == "dscp" {
			t.trust = qos.TrustDSCP
		}
	case "no-trust":
		t.trust, t.trustAt = qos.TrustNone, s.Line
	case "upstream":
		t.domain = s.Args["domain"]
	case "default-priority":
		t.defaultPri = s.Args.Int("priority")
	case "pfc":
		t.pfc, t.pfcAt = qos.On, s.Line
		t.pfcMode, t.pfcProfile = cmp.Or(s.Args["mode"], "auto"), cmp.Or(s.Args["profile"], "default")
	case "no-pfc":
		t.pfc, t.pfcAt, t.pfcMode = qos.Off, s.Line, "off"
	case "pfc-buffer":
		return t.buffer(s)
	case "pause", "no-pause":
		state := qos.TriOf(s.Form.ID == "pause")
		if s.Args["direction"] != "transmit" {
			t.pauseRx = state
		}
		if s.Args["direction"] != "receive" {
			t.pauseTx = state
		}
	case "jumbo":
		t.frame, t.mtuAt = units.Bytes(s.Args.Int("length")), s.Line
	case "mtu":
		t.mtu = units.Bytes(s.Args.Int("mtu"))
	case "routed":
		t.routed = true
	case "trunk":
		t.trunk = "Eth-Trunk" + s.Args["number"]
	default:
		t.queueLine(s)
	}
	return true
}

func (t *portText) queueLine(s dialect.Statement) {
	q := s.Args.Int("queue")
	switch s.Form.ID {
	case "strict", "weighted":
		first, last := s.Args.Int("first"), s.Args.Int("first")
		if s.Args.Has("last") {
			last = s.Args.Int("last")
		}
		for i := first; i <= last; i++ {
			t.strict[i], t.scheduleAt[i] = qos.TriOf(s.Form.ID == "strict"), s.Line
		}
	case "weight":
		t.weight[q], t.scheduleAt[q] = s.Args.Int("weight"), s.Line
	case "wred":
		t.wred[q], t.ecnAt[q] = s.Args["profile"], s.Line
	case "ecn", "no-ecn":
		t.ecn[q], t.ecnAt[q] = qos.TriOf(s.Form.ID == "ecn"), s.Line
	}
}

// buffer reads "xoff static 1500 cells hdrm 40 kbytes", "xoff dynamic 5" and
// the like: keys with an optional kind, a number and an optional unit.
func (t *portText) buffer(s dialect.Statement) bool {
	queue := s.Args.Int("queue")
	in := &t.buffers[queue]
	t.bufferAt[queue] = s.Line
	words := strings.Fields(s.Args["settings"])
	for len(words) > 0 {
		key := words[0]
		words = words[1:]
		kind := "static"
		if len(words) > 0 && (words[0] == "static" || words[0] == "dynamic") {
			kind, words = words[0], words[1:]
		}
		if len(words) == 0 {
			return false
		}
		v, err := strconv.ParseFloat(words[0], 64)
		if err != nil || v < 0 || v > 1e12 {
			return false
		}
		words = words[1:]
		unit := ""
		if len(words) > 0 && strings.Contains("|"+sizeUnit+"|", "|"+words[0]+"|") {
			unit, words = words[0], words[1:]
		}
		if !setBuffer(in, key, kind, v, unit) {
			return false
		}
	}
	return true
}

func setBuffer(in *qos.Ingress, key, kind string, v float64, unit string) bool {
	if kind == "dynamic" {
		// The threshold grows with the free buffer by a power of two that the
		// model's manual lists; the number itself is its index.
		in.Raw = qos.Raw{Max: v, Min: in.Raw.Min, Unit: "alpha index"}
		return key == "xoff"
	}
	var q qos.Queue
	dialect.Threshold(&q, 0, unit, math.Min(v, 1e12), unit)
	if q.Raw.Unit != "" {
		in.Raw.Unit = q.Raw.Unit
	}
	switch key {
	case "xoff":
		in.XOFF = q.Max
		if q.Raw.Unit != "" {
			in.Raw.Min = v
		}
	case "hdrm":
		in.Headroom = q.Max
		if q.Raw.Unit != "" {
			in.Raw.Max = v
		}
	case "guaranteed":
		in.Reserved = q.Max
	case "xon", "xon-lowest":
		in.XON = q.Max
	case "xon-offset":
	default:
		return false
	}
	return true
}

// apply lets a port group's lines act on a port, where they came last.
func (t *portText) apply(g *portText) {
	if g.trust != qos.TrustUnknown {
		t.trust, t.trustAt = g.trust, g.trustAt
	}
	t.domain = cmp.Or(t.domain, g.domain)
	if g.defaultPri >= 0 {
		t.defaultPri = g.defaultPri
	}
	if t.pfc == qos.Unset {
		t.pfc, t.pfcMode, t.pfcProfile, t.pfcAt = g.pfc, g.pfcMode, g.pfcProfile, g.pfcAt
	}
	if t.pauseRx == qos.Unset {
		t.pauseRx, t.pauseTx = g.pauseRx, g.pauseTx
	}
	for q := range t.wred {
		if t.scheduleAt[q] == 0 {
			t.strict[q], t.weight[q], t.scheduleAt[q] = g.strict[q], g.weight[q], g.scheduleAt[q]
		}
		if t.ecnAt[q] == 0 {
			t.wred[q], t.ecn[q], t.ecnAt[q] = g.wred[q], g.ecn[q], g.ecnAt[q]
		}
		if t.bufferAt[q] == 0 {
			t.buffers[q], t.bufferAt[q] = g.buffers[q], g.bufferAt[q]
		}
	}
	if t.mtuAt == 0 {
		t.frame, t.mtuAt = g.frame, g.mtuAt
	}
	t.routed = t.routed || g.routed
}

func (p *parser) device() {
	trunks := make(map[string]*portText)
	known := make(map[string]*portText)
	for _, t := range p.ports.Order {
		for _, name := range t.names {
			known[name] = t
			if strings.HasPrefix(name, "Eth-Trunk") {
				trunks[name] = t
			}
		}
	}
	for _, g := range p.groups {
		for _, name := range g.names {
			t := known[name]
			if t == nil {
				if len(p.ports.Order) >= dialect.MaxPorts {
					break
				}
				t = &portText{names: []string{name}, line: g.line, rate: g.rate, defaultPri: -1}
				known[name] = t
				p.ports.Order = append(p.ports.Order, t)
			}
			t.apply(g)
		}
	}
	for _, t := range p.ports.Order {
		if trunk := trunks[t.trunk]; trunk != nil && t.trunk != "" {
			t.apply(trunk)
		}
		port := p.effect(t)
		for _, name := range t.names {
			if len(p.out.Device.Ports) >= dialect.MaxPorts {
				return
			}
			c := port.Clone()
			c.Name = name
			p.out.Device.Ports = append(p.out.Device.Ports, c)
		}
	}
}

func (p *parser) effect(t *portText) qos.Port {
	port := qos.NewPort("")
	port.Note("port", t.line)
	port.Speed = t.rate
	port.GlobalPauseRx, port.GlobalPauseTx = t.pauseRx, t.pauseTx
	frame := t.frame
	if t.mtuAt > 0 {
		port.Note("mtu", t.mtuAt)
	}
	if frame == 0 {
		frame = DefaultFrame
		port.Explain("mtu", "no jumboframe length: frames of 9216 bytes pass by default")
	}
	port.MTU = frame - dialect.FramingSize
	if t.routed && t.mtu > 0 {
		port.MTU = min(port.MTU, t.mtu)
	}
	p.classify(&port, t)
	p.queues(&port, t)
	p.flowControl(&port, t)
	return port
}

func (p *parser) classify(port *qos.Port, t *portText) {
	port.Trust = t.trust
	if t.trustAt > 0 {
		port.Note("trust", t.trustAt)
	}
	if t.trust == qos.TrustUnknown {
		port.Trust = qos.TrustPCP
		if t.routed {
			port.Trust = qos.TrustDSCP
		}
		port.Explain("trust", "no trust statement: a layer-2 port trusts 802.1p, a layer-3 port DSCP")
	}
	name := cmp.Or(t.domain, "default")
	d := p.domains[name]
	if d == nil {
		d = newDomain()
		if t.domain != "" && t.domain != "default" {
			port.Explain("trust", "diffserv domain "+t.domain+" is not in this text; the default mappings are shown")
		}
	}
	port.DSCPToPriority, port.PCPToPriority = d.dscp, d.pcp
	port.DefaultPriority = uint8(max(0, t.defaultPri))
	for q := range port.PriorityToQueue {
		port.PriorityToQueue[q] = uint8(q)
	}
	for dscp, at := range d.dscpAt {
		if at > 0 {
			port.Note(dialect.Key("dscp", dscp), at)
		}
	}
}

func (p *parser) queues(port *qos.Port, t *portText) {
	total := 0
	for q := range port.Queues {
		if t.strict[q] == qos.Off || t.weight[q] > 0 {
			total += max(t.weight[q], 1)
		}
	}
	for q := range port.Queues {
		queue := &port.Queues[q]
		queue.Strict = t.strict[q]
		if t.scheduleAt[q] > 0 {
			port.Note(dialect.Key("schedule", q), t.scheduleAt[q])
		}
		if t.strict[q] != qos.On && total > 0 && (t.strict[q] == qos.Off || t.weight[q] > 0) {
			queue.Strict, queue.Weight = qos.Off, max(t.weight[q], 1)
			queue.Share = float64(queue.Weight) / float64(total)
		}
		p.marking(port, t, q)
	}
}

func (p *parser) marking(port *qos.Port, t *portText, q int) {
	queue, key := &port.Queues[q], dialect.Key("ecn", q)
	if p.aiEnabled && p.aiQueues>>q&1 == 1 {
		queue.ECN, queue.WRED = qos.On, qos.On
		port.Note(key, p.aiAt)
		port.Explain(key, "AI ECN chooses the thresholds of this queue itself")
		return
	}
	if t.ecnAt[q] == 0 {
		return
	}
	port.Note(key, t.ecnAt[q])
	if t.wred[q] == "" {
		port.Explain(key, "the queue has no drop profile: there are no thresholds to mark at")
		return
	}
	d := p.drops[t.wred[q]]
	if d == nil {
		port.Explain(key, "drop profile "+t.wred[q]+" is not in this text")
		return
	}
	marks := t.ecn[q] == qos.On
	from := d.green
	if marks && d.hasECN {
		from = d.ecn
	}
	queue.Min, queue.Max, queue.Raw, queue.Probability = from.Min, from.Max, from.Raw, from.Probability
	queue.WRED = qos.TriOf(marks && d.hasECN || d.hasGreen)
	queue.ECN = qos.TriOf(marks)
	if !marks {
		port.Explain(key, "wred without \"qos queue "+strconv.Itoa(q)+" ecn\" drops packets instead of marking them")
		if !d.hasGreen {
			queue.Min, queue.Max, queue.Raw = d.ecn.Min, d.ecn.Max, d.ecn.Raw
		}
	}
}

func (p *parser) flowControl(port *qos.Port, t *portText) {
	port.PFCMode = t.pfcMode
	port.PFC = t.pfc
	if t.pfcAt > 0 {
		port.Note("pfc", t.pfcAt)
	}
	if t.pfc == qos.Unset {
		port.PFC, port.PFCMode = qos.Off, "off"
		port.Explain("pfc", "no dcb pfc enable statement on the port")
	}
	for q, at := range t.bufferAt {
		if at > 0 {
			port.Ingress[q] = t.buffers[q]
			port.Note(dialect.Key("ingress", q), at)
		}
	}
	f := p.profiles[t.pfcProfile]
	if t.pfc != qos.On {
		return
	}
	if f == nil {
		port.Explain("pfc", "PFC profile "+t.pfcProfile+" is not in this text")
		return
	}
	port.PFCMask = f.mask
	for prio, at := range f.lines {
		if at > 0 {
			port.Note(dialect.Key("pfc", prio), at)
		}
	}
	switch {
	case t.pfcMode == "auto":
		port.PFC = qos.Unset
		port.Explain("pfc", "mode auto: PFC comes up only if DCBX agrees")
	case port.Trust == qos.TrustDSCP && !p.dscpMapping:
		port.Explain("pfc", "no dcb pfc dscp-mapping enable: models that know the statement pause by 802.1p, not by the priority of the DSCP")
	}
	p.watchdog(port, f)
}

func (p *parser) watchdog(port *qos.Port, f *pfcProfile) {
	for _, prio := range dialect.Bits(f.mask) {
		if f.deadlocks[prio] == 0 {
			port.Explain("watchdog", "no deadlock-detect statement for a priority: models with detection in hardware use 100 ms")
			continue
		}
		port.Watchdog = qos.On
		port.Note("watchdog", f.deadlocks[prio])
		if f.detect[prio] >= 0 {
			port.WatchdogDetect = units.Time(f.detect[prio]) * p.accuracy
		}
		if f.recover[prio] >= 0 {
			port.WatchdogRestore = units.Time(f.recover[prio]) * p.accuracy
		}
		port.WatchdogAction = map[string]string{"forward": "forward", "discard": "drop"}[p.action]
	}
}
