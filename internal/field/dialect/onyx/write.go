package onyx

import (
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
)

// Write returns the configuration of a switch, with the settings that all
// ports share on ranges of ports.
func Write(t *dialect.Target) ([]dialect.Text, error) {
	p, err := t.Common()
	if err != nil {
		return nil, err
	}
	switch q := &p.Queues; {
	case p.Watchdog == qos.On && p.WatchdogAction != "drop" && p.WatchdogAction != "":
		return nil, t.Cannot("watchdog action "+p.WatchdogAction, "drop, which is what the Onyx watchdog does")
	default:
		for i := range q {
			if q[i].ECN == qos.On && q[i].Probability >= 0 && q[i].Probability != 1 {
				return nil, t.Cannot("a marking probability other than 100%", "100%: Onyx has none to set and marks every packet at the maximum")
			}
		}
	}
	w := dialect.NewWriter(grammar, "## ", 3)
	t.Head(w, "NVIDIA Onyx")
	w.Put("", "hostname", "name", t.Device.Name)
	if p.PFC == qos.On {
		w.Put("", "pfc-global", "force", "force")
		for _, prio := range dialect.Bits(p.PFCMask) {
			w.Put("", "pfc-priority", "priority", prio)
		}
	}
	if p.Watchdog == qos.On {
		w.Say("A queue without pause for one polling interval is restored; %v to detect is %d intervals.", p.WatchdogDetect, dialect.Steps(p.WatchdogDetect, p.WatchdogRestore))
		w.Put("", "watchdog-poll", "ms", dialect.Milliseconds(p.WatchdogRestore))
		w.Put("", "watchdog-robustness", "times", dialect.Steps(p.WatchdogDetect, p.WatchdogRestore))
	}
	t.SayHeadroom(w, "Onyx sizes the lossless buffer itself unless advanced buffer management is on")
	names := make([]string, len(t.Device.Ports))
	for i := range names {
		names[i] = number(t.Device.Ports[i].Name)
	}
	for _, run := range dialect.PortRuns(names) {
		shared(w, p, run)
	}
	for i := range t.Device.Ports {
		port := &t.Device.Ports[i]
		if d := t.Description(i); d != "" {
			w.Raw(0, "interface ethernet "+number(port.Name)+` description "`+d+`"`)
		}
		if port.MTU > 0 {
			w.Put("", "mtu", "kind", "ethernet", "ports", number(port.Name), "mtu", int(port.MTU), "force", "force")
		}
	}
	first := "ethernet " + number(p.Name)
	dialect.Verify(w, "show qos interface "+first, "show dcb priority-flow-control", "show interfaces "+first+" congestion-control",
		"show interfaces "+first+" counters priority 3", "show buffers status interfaces "+first)
	body, err := w.Text()
	return []dialect.Text{{Suffix: ".cfg", Body: body}}, err
}

// number is a port's name without "Eth", as commands take it.
func number(name string) string { return strings.TrimPrefix(name, "Eth") }

// shared writes what is the same on all ports.
func shared(w *dialect.Writer, p *qos.Port, ports string) {
	put := func(id string, values ...any) {
		w.Put("", id, append([]any{"kind", "ethernet", "ports", ports}, values...)...)
	}
	put("pause", "direction", "send", "state", "off", "force", "force")
	put("pause", "direction", "receive", "state", "off", "force", "force")
	put("trust", "mode", map[qos.Trust]string{qos.TrustDSCP: "L3", qos.TrustBoth: "both"}[p.Trust])
	if p.DefaultPriority < qos.Priorities {
		put("default-priority", "priority", p.DefaultPriority)
	}
	for d := range uint8(64) {
		if prio := p.Priority(d); prio < qos.Priorities && prio != d/8 {
			put("map-dscp", "list", d, "priority", prio)
		}
	}
	var bound [qos.Priorities][]string
	for prio, q := range p.PriorityToQueue {
		if q < qos.Priorities {
			bound[q] = append(bound[q], string(rune('0'+prio)))
		}
	}
	percent := p.Percents(1)
	for q := range p.Queues {
		queue := &p.Queues[q]
		if len(bound[q]) > 0 {
			put("bind", "queue", q, "list", strings.Join(bound[q], " "))
		}
		if queue.Strict == qos.On {
			put("strict", "queue", q)
		} else {
			put("wrr", "queue", q, "weight", percent[q])
		}
		if queue.ECN == qos.On {
			put("ecn", "queue", q, "marks", "ecn", "low", dialect.KBytes(queue.Min), "high", dialect.KBytes(queue.Max))
		} else {
			put("no-ecn", "queue", q)
		}
	}
	if p.PFC == qos.On {
		put("pfc", "mode", "on", "force", "force")
	}
	if p.Watchdog == qos.On {
		put("watchdog")
	}
}
