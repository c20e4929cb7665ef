package comware

import (
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

func (p *parser) device() {
	for _, t := range p.ports.Order {
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
		port.Explain("mtu", "no jumboframe length: frames of 10000 bytes pass by default")
	}
	port.MTU = frame - dialect.FramingSize
	if t.routed && t.mtu > 0 {
		port.MTU = min(port.MTU, t.mtu)
	}
	p.classify(&port, t)
	p.schedule(&port, t)
	p.marking(&port, t)
	p.flowControl(&port, t)
	return port
}

func (p *parser) mapped(name string, from, fallback int) (to, line int) {
	if v, ok := p.maps[name][from]; ok && v < 8 {
		return v, p.mapAt[name][from]
	}
	return fallback, 0
}

func (p *parser) classify(port *qos.Port, t *portText) {
	port.Trust = t.trust
	if t.trustAt > 0 {
		port.Note("trust", t.trustAt)
	}
	if t.trust == qos.TrustUnknown {
		port.Trust = qos.TrustNone
		port.Explain("trust", "no qos trust statement: packets get the priority of the port")
	}
	port.DefaultPriority = uint8(max(0, t.defaultPri))
	for prio := range port.PriorityToQueue {
		lp, _ := p.mapped("dot1p-lp", prio, int(defaultLP[prio]))
		port.PriorityToQueue[prio] = uint8(lp)
		port.PCPToPriority[prio] = uint8(prio)
	}
	for d := range port.DSCPToPriority {
		prio, at := p.mapped("dscp-dot1p", d, d/8)
		port.DSCPToPriority[d] = uint8(prio)
		if at > 0 {
			port.Note(dialect.Key("dscp", d), at)
		}
		if lp, at := p.mapped("dscp-lp", d, -1); lp >= 0 {
			port.DSCPToQueue[d] = uint8(lp)
			port.Note(dialect.Key("dscp", d), at)
		}
	}
}

// schedule: without wfq or wrr all queues are strict; with it a queue that no
// statement names has weight 1 in group 1.
func (p *parser) schedule(port *qos.Port, t *portText) {
	if !t.weighted || t.allStrict {
		if t.allStrict {
			for q := range port.Queues {
				port.Queues[q].Strict = qos.On
			}
		}
		return
	}
	total := 0
	for q := range port.Queues {
		if !t.strict[q] {
			total += max(1, t.weight[q])
		}
	}
	for q := range port.Queues {
		queue := &port.Queues[q]
		if t.scheduleAt[q] > 0 {
			port.Note(dialect.Key("schedule", q), t.scheduleAt[q])
		}
		queue.Strict = qos.TriOf(t.strict[q])
		if t.strict[q] {
			continue
		}
		queue.Weight = max(1, t.weight[q])
		queue.Share = float64(queue.Weight) / float64(total)
		if t.group[q] == "2" {
			port.Explain(dialect.Key("schedule", q), "the queue is in group 2: groups share the line as strict levels, so its share is an estimate")
		}
	}
}

func (p *parser) marking(port *qos.Port, t *portText) {
	table := &t.wred
	if t.table != "" {
		named := p.tables[t.table]
		if named == nil {
			for q := range port.Queues {
				port.Explain(dialect.Key("ecn", q), "WRED table "+t.table+" is not in this text")
			}
			return
		}
		table = named
	}
	for q := range port.Queues {
		if !table.said[q] {
			continue
		}
		from, queue, key := &table.queues[q], &port.Queues[q], dialect.Key("ecn", q)
		queue.Raw, queue.Probability, queue.Averaging = from.Raw, from.Probability, from.Averaging
		queue.WRED = from.WRED
		queue.ECN = qos.TriOf(from.ECN == qos.On)
		if table.ecnAt[q] > 0 {
			port.Note(key, table.ecnAt[q])
		}
		switch {
		case queue.WRED == qos.Unset:
			queue.ECN = qos.Off
			port.Explain(key, "ecn without limits of drop level 0: there are no thresholds to mark at")
		case queue.ECN == qos.Off:
			port.Explain(key, "wred without \"ecn\" drops packets instead of marking them")
		}
	}
}

func (p *parser) flowControl(port *qos.Port, t *portText) {
	// The system view and the port's own act on the same setting: what was
	// said last counts. A running configuration prints the port's own only
	// where it differs, below the system's.
	mode, at := t.pfc, t.pfcAt
	if mode == "" {
		mode, at = p.global.pfc, p.global.pfcAt
	}
	mask, maskAt := t.mask, t.maskAt
	if maskAt == 0 {
		mask, maskAt = p.global.mask, p.global.maskAt
	}
	if at > 0 {
		port.Note("pfc", at)
	}
	for _, prio := range dialect.Bits(mask) {
		port.Note(dialect.Key("pfc", prio), maskAt)
	}
	port.PFCMask = mask
	switch mode {
	case "enable":
		port.PFC, port.PFCMode = qos.On, "on"
		if mask == 0 {
			port.Explain("pfc", "PFC is on, but no priority is no-drop")
		}
	case "auto":
		port.PFCMode = "auto"
		port.Explain("pfc", "mode auto: PFC comes up only if DCBX agrees")
	default:
		port.PFC, port.PFCMode = qos.Off, "off"
		port.Explain("pfc", "no priority-flow-control statement: PFC is off by default")
	}
	for prio, at := range t.ingressAt {
		if at > 0 {
			port.Ingress[prio] = t.ingress[prio]
			port.Note(dialect.Key("ingress", prio), at)
			if t.dynamic[prio] != "" {
				port.Explain(dialect.Key("ingress", prio), "dynamic threshold "+t.dynamic[prio]+": what it means in bytes depends on the model")
			}
		}
	}
	p.watchdog(port, t)
}

// watchdog needs the port's statement and an interval for the priority.
func (p *parser) watchdog(port *qos.Port, t *portText) {
	port.Watchdog = qos.Off
	if t.deadlockAt == 0 {
		port.Explain("watchdog", "no priority-flow-control deadlock enable on the port")
		return
	}
	port.Note("watchdog", t.deadlockAt)
	var without []string
	for _, prio := range dialect.Bits(port.PFCMask) {
		if p.interval[prio] < 0 {
			without = append(without, string(rune('0'+prio)))
		}
	}
	switch {
	case port.PFC == qos.Off:
		port.Explain("watchdog", "the detection works on ports with PFC only")
	case len(without) > 0:
		port.Explain("watchdog", "no priority-flow-control deadlock interval for priority "+strings.Join(without, ", "))
	default:
		port.Watchdog = qos.On
		port.WatchdogAction = p.action
		if p.action == "" {
			port.WatchdogAction = "forward" // the default action of the recovery (Configuring PFC)
		}
		port.WatchdogDetect, port.WatchdogRestore = units.Time(0), units.Time(0)
		port.Explain("watchdog", "the interval counts steps of "+p.precision+" precision, whose length depends on the model")
	}
}
