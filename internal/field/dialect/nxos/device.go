package nxos

import (
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// device puts together what the statements do.
func (p *parser) device(d *qos.Device) {
	bundles := make(map[string]*portText)
	for _, t := range p.ports.Order {
		bundles[strings.ToLower(t.name)] = t
	}
	for _, t := range p.ports.Order {
		if b := bundles[t.group]; b != nil && t.group != "" {
			t.inherit(b)
		}
		port := p.portEffect(t)
		for name := range strings.SplitSeq(t.name, ",") {
			if len(d.Ports) == dialect.MaxPorts {
				return
			}
			c := port.Clone()
			c.Name = name
			d.Ports = append(d.Ports, c)
		}
	}
}

// inherit takes from a port-channel what its member does not say itself.
func (t *portText) inherit(b *portText) {
	if t.pfc == "" {
		t.pfc, t.pfcAt = b.pfc, b.pfcAt
	}
	if t.mtu == 0 {
		t.mtu, t.mtuAt = b.mtu, b.mtuAt
	}
	if t.policies.qos == "" {
		t.policies.qos, t.policies.qosAt = b.policies.qos, b.policies.qosAt
	}
	if t.policies.out == "" {
		t.policies.out, t.policies.outAt = b.policies.out, b.policies.outAt
	}
	if t.policies.in == "" {
		t.policies.in = b.policies.in
	}
}

func (p *parser) portEffect(t *portText) qos.Port {
	port := qos.NewPort(t.name)
	port.Note("port", t.line)
	port.Speed = t.speed
	port.GlobalPauseRx, port.GlobalPauseTx = t.pauseRx, t.pauseTx
	port.MTU = t.mtu
	if t.mtu == 0 {
		port.MTU = DefaultMTU
		port.Explain("mtu", "no mtu statement: the default of 1500 bytes holds")
	} else {
		port.Note("mtu", t.mtuAt)
	}
	groups := p.classify(&port, t)
	p.applyNetwork(&port, groups)
	p.applyQueues(&port, t)
	p.applyPFC(&port, t)
	p.applyWatchdog(&port, t)
	return port
}

// groupMap says which qos-group each DSCP and CoS goes to.
type groupMap struct {
	dscp [64]int
	cos  [8]int
}

// classify follows the port's qos policy, or that of system qos. Without one
// all packets go to group 0.
func (p *parser) classify(port *qos.Port, t *portText) *groupMap {
	g := new(groupMap)
	name, at := t.policies.qos, t.policies.qosAt
	if name == "" {
		name, at = p.system.qos, p.system.qosAt
	}
	policy, known := p.qosPolicies[name]
	switch {
	case name == "":
		port.Trust, port.DefaultPriority = qos.TrustNone, 0
		port.Explain("trust", "no qos policy on the port or in system qos: all packets go to qos-group 0")
		return g
	case !known:
		port.Note("trust", at)
		port.Explain("trust", "policy map "+name+" is not in this text")
		return nil
	}
	port.Note("trust", at)
	var byDSCP, byCOS bool
	rest := 0
	var doneDSCP [64]bool
	var doneCOS [8]bool
	for _, c := range policy {
		group := max(c.group, 0)
		if c.class == "class-default" {
			rest = group
			continue
		}
		cm := p.classes[c.class]
		if cm == nil {
			port.Explain("trust", "class map "+c.class+" is not in this text")
			continue
		}
		for _, d := range cm.dscp {
			if !doneDSCP[d] {
				g.dscp[d], doneDSCP[d], byDSCP = group, true, true
				port.Note(dialect.Key("dscp", d), c.line)
			}
		}
		for _, cos := range cm.cos {
			if !doneCOS[cos] {
				g.cos[cos], doneCOS[cos], byCOS = group, true, true
			}
		}
	}
	for d := range g.dscp {
		if !doneDSCP[d] {
			g.dscp[d] = rest
		}
	}
	for c := range g.cos {
		if !doneCOS[c] {
			g.cos[c] = rest
		}
	}
	switch {
	case byDSCP && byCOS:
		port.Trust = qos.TrustBoth
	case byCOS:
		port.Trust = qos.TrustPCP
	case byDSCP:
		port.Trust = qos.TrustDSCP
	default:
		port.Trust = qos.TrustNone
	}
	port.DefaultPriority = uint8(rest)
	return g
}

// groupOf returns the qos-group that a class of a queuing or network-qos
// policy stands for: the predefined names carry it, others are class maps.
func (p *parser) groupOf(class string) (int, bool) {
	lower := strings.ToLower(class)
	if lower == "class-default" {
		return 0, true
	}
	for _, prefix := range []string{"c-out-8q-q", "c-out-q", "c-in-8q-q", "c-in-q", "c-8q-nq", "c-nq"} {
		rest, ok := strings.CutPrefix(lower, prefix)
		if !ok {
			continue
		}
		if strings.TrimPrefix(rest, "-") == "default" {
			return 0, true
		}
		if len(rest) == 1 && rest[0] >= '0' && rest[0] <= '7' {
			return int(rest[0] - '0'), true
		}
	}
	if cm := p.classes[class]; cm != nil && cm.group >= 0 {
		return cm.group, true
	}
	return 0, false
}

// applyNetwork turns groups into priorities: a group with a pause statement
// has the priority that it pauses, any other has its own number as long as no
// paused group took that.
func (p *parser) applyNetwork(port *qos.Port, g *groupMap) {
	prio := [8]uint8{qos.Undefined, qos.Undefined, qos.Undefined, qos.Undefined, qos.Undefined, qos.Undefined, qos.Undefined, qos.Undefined}
	var mtu [8]units.Bytes
	var mtuAt [8]int
	for _, c := range p.network[p.systemNetwork] {
		group, ok := p.groupOf(c.class)
		if !ok {
			continue
		}
		mtu[group], mtuAt[group] = c.mtu, c.mtuAt
		if !c.pause {
			continue
		}
		cos := c.cos
		if len(cos) == 0 {
			cos = p.cosOf(g, group)
		}
		for _, v := range cos {
			port.PFCMask |= 1 << v
			port.PriorityToQueue[v] = uint8(group)
			port.Note(dialect.Key("pfc", v), c.line)
		}
		prio[group] = uint8(cos[0])
	}
	for group := range prio {
		if prio[group] == qos.Undefined && port.PFCMask>>group&1 == 0 {
			prio[group] = uint8(group)
			port.PriorityToQueue[group] = uint8(group)
		}
		if v := prio[group]; v != qos.Undefined && mtu[group] > 0 {
			port.PriorityMTU[v] = mtu[group]
			port.Note(dialect.Key("mtu", v), mtuAt[group])
		}
	}
	if port.DefaultPriority != qos.Undefined {
		port.DefaultPriority = prio[port.DefaultPriority]
	}
	if g == nil || port.Trust == qos.TrustNone {
		return
	}
	for d, group := range g.dscp {
		port.DSCPToPriority[d], port.DSCPToQueue[d] = prio[group], uint8(group)
	}
	for c, group := range g.cos {
		port.PCPToPriority[c] = prio[group]
	}
}

// cosOf finds the CoS of "pause no-drop", which names none: what the qos
// policy puts in the group, else the group's own number.
func (p *parser) cosOf(g *groupMap, group int) []int {
	var cos []int
	if g != nil {
		for c, to := range g.cos {
			if to == group && group != 0 {
				cos = append(cos, c)
			}
		}
	}
	if len(cos) == 0 {
		cos = []int{group}
	}
	return cos
}

// applyQueues follows the queuing policies of the port, or of system qos.
func (p *parser) applyQueues(port *qos.Port, t *portText) {
	out := t.policies.out
	if out == "" {
		out = p.system.out
	}
	policy, known := p.queuing[out]
	if out == "" || !known {
		reason := "no queuing policy: the default one gives qos-group 0 all of the bandwidth and marks nothing"
		if out != "" {
			reason = "policy map " + out + " is not in this text"
		} else {
			port.Queues[0].Share = 1
		}
		port.Explain("schedule", reason)
	}
	for _, c := range policy {
		group, ok := p.groupOf(c.class)
		if !ok {
			continue
		}
		port.Queues[group] = c.queue
		port.Note(dialect.Key("schedule", group), c.line)
		if c.ecn > 0 {
			port.Note(dialect.Key("ecn", group), c.ecn)
		}
		if c.queue.WRED == qos.On && c.queue.ECN == qos.Off {
			port.Explain(dialect.Key("ecn", group), "random-detect without the word ecn drops packets instead of marking them")
		}
	}
	in := t.policies.in
	if in == "" {
		in = p.system.in
	}
	for _, c := range p.queuing[in] {
		if group, ok := p.groupOf(c.class); ok && c.in != (qos.Ingress{}) {
			for v, q := range port.PriorityToQueue {
				if int(q) == group {
					port.Ingress[v] = c.in
					port.Note(dialect.Key("ingress", v), c.line)
				}
			}
		}
	}
}

func (p *parser) applyPFC(port *qos.Port, t *portText) {
	port.PFCMode = t.pfc
	if t.pfcAt > 0 {
		port.Note("pfc", t.pfcAt)
	}
	switch t.pfc {
	case "on":
		port.PFC = qos.On
	case "off":
		port.PFC = qos.Off
	default:
		port.PFCMode = "auto"
		if t.pfc == "" {
			port.Explain("pfc", "no priority-flow-control mode statement: the default is auto, PFC comes up only if DCBX agrees")
		} else {
			port.Explain("pfc", "mode auto: PFC comes up only if DCBX agrees")
		}
	}
	if p.override {
		port.PFC, port.PFCMode = qos.Off, "off"
		port.Explain("pfc", "priority-flow-control override-interface mode off disables it on all ports")
	}
	if port.PFC == qos.On && port.PFCMask == 0 {
		port.Explain("pfc", "PFC is on, but no class of the network-qos policy in force has a pause statement")
	}
}

// applyWatchdog needs both the switch's statement and the port's.
func (p *parser) applyWatchdog(port *qos.Port, t *portText) {
	if t.watchdogAt > 0 {
		port.Note("watchdog", t.watchdogAt)
	}
	port.Watchdog = qos.Off
	switch {
	case t.watchdog != qos.On && p.watchdog != qos.On:
		port.Explain("watchdog", "no priority-flow-control watch-dog-interval on, neither for the switch nor on the port")
	case t.watchdog != qos.On:
		port.Explain("watchdog", "priority-flow-control watch-dog-interval is on for the switch but not on the port")
	case p.watchdog != qos.On:
		port.Explain("watchdog", "priority-flow-control watch-dog-interval is on for the port but not for the switch")
	default:
		port.Watchdog = qos.On
		port.WatchdogDetect = units.Time(p.shutdown) * watchdogPoll
		port.WatchdogRestore = units.Time(p.restore) * watchdogPoll
		port.WatchdogAction = "drop"
		if t.disableAction {
			port.WatchdogAction = "notify"
		}
	}
}
