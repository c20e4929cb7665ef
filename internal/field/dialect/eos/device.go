package eos

import (
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

func (p *parser) device(d *qos.Device) {
	for _, t := range p.profileOrder {
		if len(d.Profiles) < dialect.MaxPorts {
			d.Profiles = append(d.Profiles, p.effect(t, t.trust))
		}
	}
	bundles := make(map[string]*portText)
	for _, t := range p.ports.Order {
		bundles[strings.ToLower(t.name)] = t
	}
	for _, t := range p.ports.Order {
		bundle := bundles[t.group]
		if t.group == "" {
			bundle = nil
		}
		for _, port := range p.portEffects(t, bundle) {
			if len(d.Ports) < dialect.MaxPorts {
				d.Ports = append(d.Ports, port)
			}
		}
	}
}

func (p *parser) portEffects(t, bundle *portText) []qos.Port {
	own := t.settings
	if bundle != nil {
		own.fill(&bundle.settings)
		if t.profile == "" {
			t.profile, t.profileAt = bundle.profile, bundle.profileAt
		}
		if t.mtu == 0 {
			t.mtu, t.mtuAt = bundle.mtu, bundle.mtuAt
		}
		t.routed = t.routed || bundle.routed
	}
	profile, missing := p.profiles[t.profile], ""
	if profile != nil {
		own.fill(profile)
	} else if t.profile != "" {
		missing = t.profile
	}
	trust := own.trust
	if trust == qos.TrustUnknown {
		// A routed port trusts DSCP, a switched one CoS (EOS User Manual).
		trust = qos.TrustPCP
		if t.routed {
			trust = qos.TrustDSCP
		}
	}
	port := p.effect(&own, trust)
	if own.trust == qos.TrustUnknown {
		port.Explain("trust", "no qos trust statement: a routed port trusts DSCP, a switched one CoS")
	}
	if missing != "" {
		port.Explain("profile", "qos profile "+missing+" is not in this text")
		port.Note("profile", t.profileAt)
	}
	port.Speed = t.speed
	port.GlobalPauseRx, port.GlobalPauseTx = t.pauseRx, t.pauseTx
	p.mtu(&port, t)
	names, ok := dialect.ExpandPorts(t.name)
	if !ok {
		names = []string{t.name}
	}
	out := make([]qos.Port, 0, len(names))
	for _, name := range names {
		c := port.Clone()
		c.Name = name
		out = append(out, c)
	}
	return out
}

// fill takes from a profile or a port-channel what s leaves open.
func (s *settings) fill(from *settings) {
	if s.trust == qos.TrustUnknown {
		s.trust, s.trustAt = from.trust, from.trustAt
	}
	if s.defaultDSCP < 0 {
		s.defaultDSCP = from.defaultDSCP
	}
	if s.defaultCOS < 0 {
		s.defaultCOS = from.defaultCOS
	}
	if s.policy == "" {
		s.policy, s.policyAt = from.policy, from.policyAt
	}
	for i, q := range from.queues {
		if s.queues[i] == nil {
			s.queues[i] = q
		} else if q != nil && s.queues[i].queue == (qos.Queue{Probability: -1, Averaging: -1}) {
			s.queues[i] = q // the port's own block only counts or comments
		}
	}
	if s.pfc == qos.Unset {
		s.pfc, s.pfcAt = from.pfc, from.pfcAt
	}
	for n := range 8 {
		if s.pfcSaid>>n&1 == 0 && from.pfcSaid>>n&1 == 1 {
			s.pfcSaid |= 1 << n
			s.pfcMask |= from.pfcMask & (1 << n)
			s.pfcLines[n] = from.pfcLines[n]
		}
	}
	if s.watchdog == qos.Unset {
		s.watchdog, s.watchdogAt = from.watchdog, from.watchdogAt
	}
	if s.action == "" {
		s.action = from.action
	}
	if s.timeout < 0 {
		s.timeout, s.recovery = from.timeout, from.recovery
	}
}

func (p *parser) mtu(port *qos.Port, t *portText) {
	port.MTU = t.mtu
	if t.l2mtu > 0 && (port.MTU == 0 || t.l2mtu < port.MTU) {
		port.MTU = t.l2mtu
	}
	switch {
	case port.MTU > 0:
		port.Note("mtu", t.mtuAt)
	case t.routed:
		port.MTU = DefaultRoutedMTU
		port.Explain("mtu", "no mtu statement: the default of a routed port is 1500 bytes")
	default:
		port.MTU = DefaultSwitchedMTU
		port.Explain("mtu", "no mtu statement: a switched port carries 9214 bytes")
	}
}

// effect is what settings do under a trust mode.
func (p *parser) effect(t *settings, trust qos.Trust) qos.Port {
	port := qos.NewPort(t.name)
	port.Note("port", t.line)
	port.Trust = trust
	if t.trustAt > 0 {
		port.Note("trust", t.trustAt)
	}
	port.PriorityToQueue = p.queueOf
	port.PCPToPriority = p.classOfCOS
	port.DSCPToPriority = p.classOfDSCP
	for d, at := range p.dscpAt {
		if at > 0 {
			port.Note(dialect.Key("dscp", d), at)
		}
	}
	p.defaultClass(&port, t)
	p.applyPolicy(&port, t)
	applyQueues(&port, t)
	p.applyPFC(&port, t)
	p.applyWatchdog(&port, t)
	return port
}

// defaultClass is the class of packets that the trusted field does not
// decide: that of the port's default CoS or DSCP.
func (p *parser) defaultClass(port *qos.Port, t *settings) {
	switch {
	case t.defaultDSCP >= 0 && port.Trust != qos.TrustPCP:
		port.DefaultPriority = p.classOfDSCP[t.defaultDSCP]
	case t.defaultCOS >= 0:
		port.DefaultPriority = p.classOfCOS[t.defaultCOS]
	default:
		port.DefaultPriority = p.classOfCOS[0]
	}
}

// applyPolicy lets an input policy override the trusted field.
func (p *parser) applyPolicy(port *qos.Port, t *settings) {
	if t.policy == "" {
		return
	}
	policy, known := p.policies[t.policy]
	if !known {
		port.Explain("trust", "policy map "+t.policy+" is not in this text")
		return
	}
	var done [64]bool
	for _, c := range policy {
		cm := p.classes[c.class]
		if cm == nil || c.traffic < 0 {
			continue
		}
		for _, d := range cm.dscp {
			if !done[d] {
				port.DSCPToPriority[d], done[d] = uint8(c.traffic), true
				port.Note(dialect.Key("dscp", d), c.line)
			}
		}
		for _, cos := range cm.cos {
			port.PCPToPriority[cos] = uint8(c.traffic)
		}
		if len(cm.dscp) > 0 && port.Trust != qos.TrustDSCP {
			port.Trust = qos.TrustBoth
		}
	}
}

// applyQueues fills in the scheduler. All queues are strict unless a queue
// says "no priority", which puts it and all queues below it into round robin
// (EOS User Manual, Transmit Queue Priority).
func applyQueues(port *qos.Port, t *settings) {
	highest := -1
	for n, q := range t.queues {
		if q != nil && (q.queue.Strict == qos.Off) {
			highest = n
		}
	}
	for n := range port.Queues {
		strict := qos.TriOf(n > highest)
		if q := t.queues[n]; q != nil {
			port.Queues[n] = q.queue
			port.Note(dialect.Key("schedule", n), q.line)
			if q.ecnAt > 0 {
				port.Note(dialect.Key("ecn", n), q.ecnAt)
			}
			if q.queue.WRED == qos.On && q.queue.ECN == qos.Off {
				port.Explain(dialect.Key("ecn", n), "random-detect drop drops packets instead of marking them")
			}
		}
		if port.Queues[n].Strict == qos.Unset {
			port.Queues[n].Strict = strict
		}
	}
}

func (p *parser) applyPFC(port *qos.Port, t *settings) {
	port.PFC, port.PFCMask = t.pfc, t.pfcMask
	for n, at := range t.pfcLines {
		if at > 0 {
			port.Note(dialect.Key("pfc", n), at)
		}
	}
	if t.pfcAt > 0 {
		port.Note("pfc", t.pfcAt)
	}
	switch {
	case p.pfcAllOff > 0:
		port.PFC = qos.Off
		port.Note("pfc", p.pfcAllOff)
		port.Explain("pfc", "priority-flow-control all off disables PFC on all ports")
	case t.pfc == qos.Unset:
		port.PFC = qos.Off
		reason := "no priority-flow-control on statement: PFC is off by default"
		if t.pfcMask != 0 {
			reason = "priorities are no-drop, but priority-flow-control on is missing"
		}
		port.Explain("pfc", reason)
	case t.pfc == qos.On && t.pfcMask == 0:
		port.Explain("pfc", "PFC is on, but no priority is no-drop")
	}
	port.PFCMode = port.PFC.String()
}

func (p *parser) applyWatchdog(port *qos.Port, t *settings) {
	at, timeout, recovery, action := t.watchdogAt, t.timeout, t.recovery, t.action
	if timeout < 0 {
		timeout, recovery = p.timeout, p.recovery
	}
	if action == "" {
		action = p.action
	}
	if at == 0 {
		at = p.watchdogAt
	}
	if at > 0 {
		port.Note("watchdog", at)
	}
	port.Watchdog = qos.Off
	switch {
	case t.watchdog == qos.Off || p.watchdogOff && t.watchdog != qos.On:
	case port.PFC != qos.On:
		port.Explain("watchdog", "the watchdog works on ports with PFC only")
	case t.watchdog == qos.On || timeout > 0:
		port.Watchdog = qos.On
		port.WatchdogAction = action
		port.WatchdogDetect, port.WatchdogRestore = seconds(timeout), seconds(recovery)
		p.watchdogReach(port, t)
	default:
		port.Explain("watchdog", "no priority-flow-control pause watchdog statement, for the switch or on the port")
	}
}

// watchdogReach notes lossless queues that the watchdog does not look at:
// those without guaranteed bandwidth (EOS, PFC watchdog).
func (p *parser) watchdogReach(port *qos.Port, t *settings) {
	for _, prio := range dialect.Bits(port.PFCMask) {
		if q := t.queues[p.queueOf[prio]]; q == nil || !q.guaranteed {
			port.Explain(dialect.Key("watchdog", prio), "the watchdog looks only at queues with guaranteed bandwidth, and this one has none")
		}
	}
}

func seconds(s float64) units.Time {
	if s <= 0 || s > 1e6 {
		return 0
	}
	return units.Time(s*1e6+0.5) * units.Microsecond
}
