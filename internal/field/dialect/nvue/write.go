package nvue

import (
	"fmt"
	"math"

	"weir/internal/field/dialect"
	"weir/internal/qos"
)

// Write returns the "nv set" commands of a switch. It states every setting and
// leaves "qos roce" alone, whose values differ from release to release.
func Write(t *dialect.Target) ([]dialect.Text, error) {
	p, err := t.Common()
	if err != nil {
		return nil, err
	}
	if p.Watchdog == qos.On && p.WatchdogAction != "drop" && p.WatchdogAction != "" {
		return nil, t.Cannot("watchdog action "+p.WatchdogAction, "drop, which is what the Cumulus watchdog does")
	}
	w := dialect.NewWriter(grammar, "# ", 0)
	t.Head(w, "NVIDIA Cumulus Linux 5")
	w.Prefix = "nv set "
	w.Put("", "hostname", "name", t.Device.Name)
	w.Put("", "trust", "profile", global, "mode", map[qos.Trust]string{qos.TrustDSCP: "l3", qos.TrustBoth: "both"}[p.Trust])
	if p.DefaultPriority < qos.Priorities {
		w.Put("", "default-priority", "profile", global, "priority", p.DefaultPriority)
	}
	for d := range uint8(64) {
		if prio := p.Priority(d); prio < qos.Priorities {
			w.Put("", "map-dscp", "profile", global, "list", d, "priority", prio)
		}
	}
	for prio, q := range p.PriorityToQueue {
		if q < qos.Priorities {
			w.Put("", "map-queue", "profile", global, "list", prio, "queue", q)
		}
	}
	queueLines(w, p)
	if err := pauseLines(w, t, p); err != nil {
		return nil, err
	}
	for i := range t.Device.Ports {
		port := &t.Device.Ports[i]
		w.Say("%s: %s", port.Name, t.Description(i))
		if port.MTU > 0 {
			w.Put("", "mtu", "ports", port.Name, "mtu", int(port.MTU))
		}
		if port.Watchdog == qos.On {
			w.Put("", "watchdog", "ports", port.Name)
		}
	}
	w.Prefix = ""
	w.Raw(0, "nv config apply")
	dialect.Verify(w, "nv show interface "+p.Name+" qos", "nv show interface "+p.Name+" qos pfc", "nv show interface "+p.Name+" qos congestion-control",
		"nv show interface "+p.Name+" qos egress-scheduler", "nv show interface "+p.Name+" counters qos")
	body, err := w.Text()
	return []dialect.Text{{Suffix: ".nvue", Body: body}}, err
}

func queueLines(w *dialect.Writer, p *qos.Port) {
	percent := p.Percents(1)
	for q := range p.Queues {
		if p.Queues[q].Strict == qos.On {
			w.Put("", "schedule-mode", "profile", global, "list", q, "mode", "strict")
			continue
		}
		w.Put("", "schedule-mode", "profile", global, "list", q, "mode", "dwrr")
		w.Put("", "schedule-share", "profile", global, "list", q, "percent", percent[q])
	}
	for q := range p.Queues {
		queue := &p.Queues[q]
		switch {
		case queue.ECN == qos.On:
			w.Put("", "ecn-min", "profile", global, "list", q, "bytes", int(queue.Min))
			w.Put("", "ecn-max", "profile", global, "list", q, "bytes", int(queue.Max))
			w.Put("", "ecn-probability", "profile", global, "list", q, "percent", dialect.Percent(queue.Probability))
			w.Put("", "ecn", "profile", global, "list", q, "state", "enable")
		case q == 0: // marks from the start
			w.Put("", "ecn", "profile", global, "list", q, "state", "disable")
		}
	}
}

func pauseLines(w *dialect.Writer, t *dialect.Target, p *qos.Port) error {
	if p.PFC != qos.On {
		return nil
	}
	for _, prio := range dialect.Bits(p.PFCMask) {
		w.Put("", "pfc-priority", "profile", global, "list", prio)
	}
	w.Put("", "pfc-direction", "profile", global, "direction", "rx", "state", "enable")
	w.Put("", "pfc-direction", "profile", global, "direction", "tx", "state", "enable")
	if l := t.Longest(); l > 0 {
		w.Say("The switch computes headroom from the cable length; one profile for all ports takes the longest.")
		w.Put("", "pfc-cable", "profile", global, "metres", int(math.Ceil(float64(l))))
	}
	if a := p.Ingress[dialect.Bits(p.PFCMask)[0]].Alpha; a > 0 {
		name, ok := alphaName(a)
		if !ok {
			return t.Cannot(fmt.Sprintf("alpha %g", a), "a power of two from 1/128 to 64, as Cumulus names them")
		}
		w.Put("", "alpha", "profile", global, "alpha", name)
	}
	if p.Watchdog == qos.On {
		step := p.WatchdogRestore
		w.Say("A queue without pause for one polling interval is restored, so the interval is %v; %v to detect is %d of them.", step, p.WatchdogDetect, dialect.Steps(p.WatchdogDetect, step))
		w.Put("", "watchdog-poll", "ms", dialect.Milliseconds(step))
		w.Put("", "watchdog-robustness", "times", dialect.Steps(p.WatchdogDetect, step))
	}
	return nil
}

func alphaName(a float64) (string, bool) {
	e := math.Log2(a)
	if e != math.Trunc(e) || e < -7 || e > 6 {
		return "", false
	}
	if e < 0 {
		return fmt.Sprintf("alpha_1_%d", int(math.Exp2(-e))), true
	}
	return fmt.Sprintf("alpha_%d", int(a)), true
}
