package onyx

import (
	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

func (p *parser) device() {
	for _, t := range p.order {
		p.out.Device.Ports = append(p.out.Device.Ports, p.effect(t))
	}
}

func (p *parser) effect(t *portText) qos.Port {
	port := qos.NewPort(t.name)
	port.Note("port", t.line)
	port.Speed = t.rate
	port.GlobalPauseRx, port.GlobalPauseTx = t.pauseRx, t.pauseTx
	port.MTU = t.mtu
	if t.mtu == 0 {
		port.MTU = DefaultMTU
		port.Explain("mtu", "no mtu statement: the default of 1500 bytes holds")
	} else {
		port.Note("mtu", t.mtuAt)
	}
	p.classify(&port, t)
	p.queues(&port, t)
	p.flowControl(&port, t)
	p.watchdog(&port, t)
	return port
}

func (p *parser) classify(port *qos.Port, t *portText) {
	port.Trust = t.trust
	if t.trustAt > 0 {
		port.Note("trust", t.trustAt)
	}
	if port.Trust == qos.TrustUnknown {
		port.Trust = qos.TrustPCP
		if p.roce {
			port.Trust = qos.TrustDSCP
			port.Note("trust", p.roceAt)
		} else {
			port.Explain("trust", "no qos trust statement: L2, the DSCP is not looked at")
		}
	}
	port.DefaultPriority = uint8(max(0, t.defaultPri))
	for d := range port.DSCPToPriority {
		port.DSCPToPriority[d] = uint8(d / 8)
	}
	for d, prio := range t.dscp {
		port.DSCPToPriority[d] = prio
		port.Note(dialect.Key("dscp", d), t.dscpAt[d])
	}
	for c := range port.PCPToPriority {
		port.PCPToPriority[c] = uint8(c)
	}
	for c, prio := range t.pcp {
		port.PCPToPriority[c] = prio
	}
	for prio := range port.PriorityToQueue {
		queue := prio
		if p.roce && prio != 3 && prio != 6 {
			queue = 0
		}
		port.PriorityToQueue[prio] = uint8(queue)
	}
	for prio, q := range t.queueOf {
		port.PriorityToQueue[prio] = uint8(q)
		port.Note(dialect.Key("queue", prio), t.queueAt[prio])
	}
}

func (p *parser) queues(port *qos.Port, t *portText) {
	total := 0
	weights := t.weight
	strict := t.strict
	for q := range port.Queues {
		if strict[q] == qos.Unset {
			strict[q] = qos.Off
			switch {
			case p.roce && (q == 0 || q == 3):
				weights[q] = 50
			case p.roce && q == 6:
				strict[q] = qos.On
			case p.roce:
				weights[q] = 0
			default:
				weights[q] = 12 + q%2 // eight queues share alike
			}
		}
		if strict[q] == qos.Off {
			total += weights[q]
		}
	}
	for q := range port.Queues {
		queue := &port.Queues[q]
		queue.Strict = strict[q]
		if t.scheduleAt[q] > 0 {
			port.Note(dialect.Key("schedule", q), t.scheduleAt[q])
		}
		if strict[q] == qos.Off && total > 0 {
			queue.Weight = weights[q]
			queue.Share = float64(weights[q]) / float64(total)
		}
		p.marking(port, t, q)
	}
}

func (p *parser) marking(port *qos.Port, t *portText, q int) {
	queue, key := &port.Queues[q], dialect.Key("ecn", q)
	switch e := t.ecn[q]; {
	case e != nil:
		queue.Min, queue.Max, queue.Raw, queue.Probability = e.Min, e.Max, e.Raw, e.Probability
		queue.ECN, queue.WRED = e.ECN, e.WRED
		port.Note(key, t.ecnAt[q])
		if e.ECN == qos.Off {
			port.Explain(key, "congestion-control red drops packets instead of marking them")
		}
	case t.noECN[q]:
		queue.ECN, queue.WRED = qos.Off, qos.Off
		port.Note(key, t.ecnAt[q])
	case p.roce && q == 3:
		queue.Min, queue.Max, queue.Probability = roceMin, roceMax, 1
		queue.ECN, queue.WRED = qos.On, qos.On
		port.Note(key, p.roceAt)
	}
}

// flowControl needs PFC on the switch, for the priority, and on the port;
// roce in a lossless mode sets all three.
func (p *parser) flowControl(port *qos.Port, t *portText) {
	global, mask, mode := p.pfcGlobal, p.mask, t.pfc
	if p.roce && p.mode != "lossy" {
		if global == qos.Unset {
			global = qos.On
		}
		if mask == 0 {
			mask = 1 << 3
		}
		if mode == "" {
			mode = "on"
		}
		port.Note("pfc", p.roceAt)
	}
	for prio, at := range p.maskAt {
		if at > 0 {
			port.Note(dialect.Key("pfc", prio), at)
		}
	}
	if t.pfcAt > 0 {
		port.Note("pfc", t.pfcAt)
	}
	port.PFCMask, port.PFCMode = mask, mode
	switch {
	case global != qos.On:
		port.PFC = qos.Off
		port.Explain("pfc", "no dcb priority-flow-control enable for the switch")
	case mode == "on":
		port.PFC = qos.On
		if mask == 0 {
			port.Explain("pfc", "PFC is on, but no priority is enabled")
		}
	case mode == "auto":
		port.Explain("pfc", "mode auto: PFC comes up only if DCBX agrees")
	default:
		port.PFC = qos.Off
		port.Explain("pfc", "no dcb priority-flow-control mode on for the port")
	}
	if port.PFCMode == "" {
		port.PFCMode = "off"
	}
	for prio, group := range t.bound {
		if in, ok := t.buffers[group]; ok {
			port.Ingress[prio] = in
			port.Note(dialect.Key("ingress", prio), t.bufferAt[group])
		}
	}
}

func (p *parser) watchdog(port *qos.Port, t *portText) {
	port.Watchdog = qos.Off
	if t.watchdogAt > 0 {
		port.Note("watchdog", t.watchdogAt)
	}
	switch {
	case t.watchdog != qos.On:
		port.Explain("watchdog", "no pfc-wd statement for the port")
	case port.PFC == qos.Off:
		port.Explain("watchdog", "the watchdog works on ports with PFC only")
	default:
		port.Watchdog = qos.On
		port.WatchdogDetect = units.Time(p.robustness) * p.poll
		port.WatchdogRestore = p.poll
		port.WatchdogAction = "drop"
	}
}
