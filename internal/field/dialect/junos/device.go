package junos

import (
	"maps"
	slashpath "path"
	"slices"
	"strconv"
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

func (p *parser) port(name string, line int) *portText {
	t := p.ports[name]
	if t == nil {
		if len(p.order) >= dialect.MaxPorts {
			return nil
		}
		t = &portText{name: name, line: line}
		p.ports[name] = t
		p.order = append(p.order, t)
	}
	return t
}

// portLine takes a statement on a port, or on ports by a pattern ("et-*").
func (p *parser) portLine(s dialect.Statement) bool {
	if s.Form.ID == "member" {
		p.ranges[s.Args["range"]] = append(p.ranges[s.Args["range"]], s.Args["port"])
		return len(p.ranges[s.Args["range"]]) <= dialect.MaxRange
	}
	name := s.Args["port"]
	if s.Form.ID == "" || !carriesFrames(name) {
		return true
	}
	t := p.port(name, s.Line)
	if t == nil {
		return false
	}
	t.cos = t.cos || strings.HasPrefix(s.Form.Text, "class-of-service")
	switch s.Form.ID {
	case "port-pfc":
		t.pfc, t.pfcAt = s.Args["profile"], s.Line
	case "port-map":
		t.schedMap = s.Args["map"]
	case "port-classifier":
		t.trustAt = s.Line
		if s.Args["kind"] == "ieee-802.1" {
			t.pcp = s.Args["name"]
		} else if s.Args["kind"] == "dscp" || t.dscp == "" {
			t.dscp = s.Args["kind"] + " " + s.Args["name"]
		}
	case "port-class":
		t.class = s.Args["class"]
	case "mtu":
		t.mtu, t.mtuAt = units.Bytes(s.Args.Int("mtu")), s.Line
	case "speed":
		if rate, err := units.ParseBitRate(strings.ToUpper(s.Args["speed"])); err == nil {
			t.rate = rate
		}
	case "pause", "no-pause":
		t.pause = qos.TriOf(s.Form.ID == "pause")
	}
	return true
}

func carriesFrames(name string) bool {
	for _, prefix := range []string{"et-", "xe-", "ge-", "mge-", "ae", "all", "*"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// device gives each real port what the patterns below class-of-service say.
// A pattern that meets no port stays as a port of that name.
func (p *parser) device() {
	var patterns, named []*portText
	for _, t := range p.order {
		if strings.Contains(t.name, "*") || t.name == "all" {
			patterns = append(patterns, t)
		} else {
			named = append(named, t)
		}
	}
	used := make(map[*portText]bool)
	for _, t := range named {
		for _, pat := range patterns {
			if matches(pat.name, t.name) {
				t.fill(pat)
				used[pat] = true
			}
		}
		p.out.Device.Ports = append(p.out.Device.Ports, p.effect(t))
	}
	for _, pat := range patterns {
		if !used[pat] {
			p.out.Device.Ports = append(p.out.Device.Ports, p.effect(pat))
		}
	}
}

func matches(pattern, name string) bool {
	if pattern == "all" {
		return true
	}
	// "*" of Junos crosses slashes, that of the package does not.
	ok, err := slashpath.Match(strings.ReplaceAll(pattern, "/", "_"), strings.ReplaceAll(name, "/", "_"))
	return err == nil && ok
}

func (t *portText) fill(from *portText) {
	if t.pfc == "" {
		t.pfc, t.pfcAt = from.pfc, from.pfcAt
	}
	if t.schedMap == "" {
		t.schedMap = from.schedMap
	}
	if t.dscp == "" && t.pcp == "" {
		t.dscp, t.pcp, t.trustAt = from.dscp, from.pcp, from.trustAt
	}
	if t.class == "" {
		t.class = from.class
	}
	if t.mtu == 0 {
		t.mtu, t.mtuAt = from.mtu, from.mtuAt
	}
}

func (p *parser) effect(t *portText) qos.Port {
	port := qos.NewPort(t.name)
	port.Note("port", t.line)
	port.Speed = t.rate
	port.GlobalPauseRx, port.GlobalPauseTx = t.pause, t.pause
	media := t.mtu
	switch {
	case media > 0:
		port.Note("mtu", t.mtuAt)
	case !p.interfaces: // class-of-service alone does not tell
		media = dialect.HeaderBytes
	default:
		media = DefaultMTU
		port.Explain("mtu", "no mtu statement: the default media MTU is 1514 bytes, header included")
	}
	port.MTU = media - dialect.HeaderBytes
	p.flowControl(&port, t)
	p.classify(&port, t)
	p.queues(&port, t)
	return port
}

// flowControl: PFC acts for a class when the port's profile pauses a code
// point of it and the class has a priority.
func (p *parser) flowControl(port *qos.Port, t *portText) {
	n := p.profiles[t.pfc]
	if n == nil {
		port.PFC, port.PFCMode, port.Watchdog = qos.Off, "off", qos.Off
		port.Explain("pfc", "no congestion-notification-profile on the port")
		if t.pfc != "" {
			port.Explain("pfc", "congestion-notification-profile "+t.pfc+" is not in this text")
		}
		return
	}
	port.PFC, port.PFCMode = qos.On, "on"
	port.Note("pfc", t.pfcAt)
	port.CableLength = n.cable
	for prio, at := range n.pcp {
		port.PFCMask |= 1 << prio
		port.Note(dialect.Key("pfc", prio), at)
	}
	c := p.classifiers[t.dscp]
	for d, at := range n.dscp {
		if c == nil {
			continue
		}
		cl := p.classes[c.dscp[d]]
		switch {
		case cl == nil:
			port.Explain("pfc", "code point "+strconv.Itoa(int(d))+" is paused, but the classifier puts it into no lossless class")
		case cl.prio < 0 || !cl.noLoss:
			port.Explain("pfc", "code point "+strconv.Itoa(int(d))+" is paused, but its forwarding class has no pfc-priority or is not no-loss")
		default:
			port.PFCMask |= 1 << cl.prio
			port.Note(dialect.Key("pfc", cl.prio), at)
			if q, ok := n.queueOf[cl.prio]; ok && q != cl.queue {
				port.Explain(dialect.Key("pfc", cl.prio), "a received pause of this priority stops queue "+strconv.Itoa(q)+", but its packets leave by queue "+strconv.Itoa(cl.queue))
			}
		}
	}
	if port.PFCMask == 0 {
		port.Explain("pfc", "the congestion-notification-profile pauses no priority")
	}
	port.Watchdog = qos.Off
	if n.wd {
		port.Watchdog = qos.On
		port.Note("watchdog", n.wdAt)
		port.WatchdogDetect = units.Time(n.detect) * n.poll
		port.WatchdogRestore = n.recover
		port.WatchdogAction = n.action
	} else {
		port.Explain("watchdog", "the congestion-notification-profile has no pfc-watchdog")
	}
}

// priorityOf is the priority of a class: its own, or by 802.1p PFC that of
// its code point.
func (p *parser) priorityOf(port *qos.Port, name string) (prio, queue uint8) {
	c := p.classes[name]
	if c == nil {
		return qos.Undefined, qos.Undefined
	}
	prio, queue = qos.Undefined, qos.Undefined
	if c.queue < qos.Priorities {
		queue = uint8(c.queue)
	}
	if c.prio >= 0 {
		prio = uint8(c.prio)
		if port.PriorityToQueue[prio] == qos.Undefined {
			port.PriorityToQueue[prio] = queue
		}
	}
	return prio, queue
}

func (p *parser) classify(port *qos.Port, t *portText) {
	dscp, pcp := p.classifiers[t.dscp], p.classifiers["ieee-802.1 "+t.pcp]
	if t.trustAt > 0 {
		port.Note("trust", t.trustAt)
	}
	switch {
	case t.dscp != "" && t.pcp != "":
		port.Trust = qos.TrustBoth
	case t.dscp != "":
		port.Trust = qos.TrustDSCP
	case t.pcp != "":
		port.Trust = qos.TrustPCP
	case t.class != "":
		port.Trust = qos.TrustNone
		port.DefaultPriority, _ = p.priorityOf(port, t.class)
		return
	case !t.cos:
		port.Explain("trust", "no classifier below class-of-service for this port: the default classifier holds")
		return
	}
	if t.dscp != "" && dscp == nil {
		port.Explain("trust", "classifier "+t.dscp+" is not in this text")
	}
	if dscp != nil {
		for d := range port.DSCPToPriority {
			name, said := dscp.dscp[uint8(d)]
			if !said {
				name = "best-effort"
			}
			port.DSCPToPriority[d], port.DSCPToQueue[d] = p.priorityOf(port, name)
			if said {
				port.Note(dialect.Key("dscp", d), dscp.dscpAt[uint8(d)])
				if p.classes[name] == nil {
					port.Explain(dialect.Key("dscp", d), "forwarding class "+name+" is not defined in this text")
				}
			}
		}
	}
	if pcp != nil {
		for v := range port.PCPToPriority {
			port.PCPToPriority[v] = uint8(v)
			if _, queue := p.priorityOf(port, pcp.pcp[v]); queue != qos.Undefined {
				port.PriorityToQueue[v] = queue
			}
		}
	}
}

func (p *parser) queues(port *qos.Port, t *portText) {
	m, ok := p.maps[t.schedMap]
	if !ok {
		reason := "no scheduler-map on the port: the default scheduler marks nothing"
		if t.schedMap != "" {
			reason = "scheduler-map " + t.schedMap + " is not in this text"
		}
		port.Explain("schedule", reason)
		return
	}
	// In order: two classes may share a queue, and the last one's scheduler counts.
	for _, name := range slices.Sorted(maps.Keys(m)) {
		sched := m[name]
		c, s := p.classes[name], p.schedulers[sched]
		if c == nil || c.queue >= qos.Priorities {
			continue
		}
		queue := &port.Queues[c.queue]
		if s == nil {
			port.Explain(dialect.Key("schedule", c.queue), "scheduler "+sched+" is not in this text")
			continue
		}
		port.Note(dialect.Key("schedule", c.queue), s.line)
		queue.Share, queue.Strict = s.share, s.strict
		if queue.Strict == qos.Unset {
			queue.Strict = qos.Off
		}
		p.marking(port, c.queue, s)
	}
}

func (p *parser) marking(port *qos.Port, q int, s *scheduler) {
	queue, key := &port.Queues[q], dialect.Key("ecn", q)
	if s.ecnAt > 0 {
		port.Note(key, s.ecnAt)
	}
	d := p.drops[s.profile]
	switch {
	case s.profile == "" && s.ecn:
		port.Explain(key, "explicit-congestion-notification without a drop profile: there are no fill levels to mark at")
		return
	case s.profile == "":
		return
	case d == nil:
		port.Explain(key, "drop profile "+s.profile+" is not in this text")
		return
	}
	queue.WRED, queue.ECN = qos.On, qos.TriOf(s.ecn)
	if !s.ecn {
		port.Explain(key, "a drop profile without explicit-congestion-notification drops packets instead of marking them")
	}
	pairs := min(len(d.fill), len(d.drop))
	if pairs == 0 {
		port.Explain(key, "drop profile "+s.profile+" has no pair of fill level and probability")
		return
	}
	// The ramp starts at the last level without drops and ends at the last pair.
	first := 0
	for first+1 < pairs && d.drop[first+1] == 0 {
		first++
	}
	queue.Raw = qos.Raw{Min: float64(d.fill[first]), Max: float64(d.fill[pairs-1]), Unit: "percent"}
	queue.Probability = float64(d.drop[pairs-1]) / 100
}
