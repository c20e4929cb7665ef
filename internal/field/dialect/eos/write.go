package eos

import (
	"fmt"
	"strconv"

	"weir/internal/field/dialect"
	"weir/internal/qos"
)

// profileName is the qos profile that all ports of a rendered switch use.
const profileName = "WEIR"

// Write returns the configuration of a switch: the traffic class of a packet
// is its priority.
func Write(t *dialect.Target) ([]dialect.Text, error) {
	p, err := t.Common()
	if err != nil {
		return nil, err
	}
	if err := expressible(t, p); err != nil {
		return nil, err
	}
	w := dialect.NewWriter(grammar, "! ", 3)
	t.Head(w, "Arista EOS")
	w.Put("", "hostname", "name", t.Device.Name)
	for prio, list := range dialect.Priorities(p) {
		if len(list) > 0 {
			w.Put("", "map-dscp", "list", dialect.Join(list, "-", " "), "class", prio)
		}
	}
	for prio, q := range p.PriorityToQueue {
		if q < qos.Priorities && int(q) != prio {
			w.Put("", "map-queue", "list", prio, "kind", "tx-queue", "queue", q)
		}
	}
	w.Separate()
	profile(w, p)
	t.SayHeadroom(w, "EOS reserves headroom itself")
	for i := range t.Device.Ports {
		port := &t.Device.Ports[i]
		w.Separate()
		w.Put("", "interface", "name", port.Name)
		if d := t.Description(i); d != "" {
			w.Put(inInterface, "description", "text", d)
		}
		if port.MTU > 0 {
			w.Put(inInterface, "mtu", "mtu", int(port.MTU))
		}
		w.Put(inInterface, "link-pause", "direction", "send", "state", "off")
		w.Put(inInterface, "link-pause", "direction", "receive", "state", "off")
		w.Put(inInterface, "service-profile", "name", profileName)
	}
	w.Separate()
	dialect.Verify(w, "show qos profile "+profileName, "show qos interfaces "+p.Name, "show priority-flow-control counters detail",
		"show priority-flow-control counters watchdog", "show qos interfaces ecn counters queue")
	body, err := w.Text()
	return []dialect.Text{{Suffix: ".cfg", Body: body}}, err
}

// expressible refuses what EOS has no form for: it serves queues by strict
// priority from 7 down to the first with "no priority", and the rest by weight.
func expressible(t *dialect.Target, p *qos.Port) error {
	if p.Watchdog == qos.On && p.WatchdogAction != "drop" && p.WatchdogAction != "" {
		return t.Cannot("watchdog action "+p.WatchdogAction, "drop: what no-drop of EOS does with queued packets is not documented at hand")
	}
	weighted := -1
	for q := range p.Queues {
		if p.Queues[q].Strict == qos.Off && p.Used(q) {
			weighted = q
		}
	}
	for q := range weighted {
		if p.Queues[q].Strict == qos.On {
			return t.Cannot("queue "+strconv.Itoa(q)+" strict below weighted queue "+strconv.Itoa(weighted), "a strict class of higher priority: EOS serves all queues below a weighted one by weight")
		}
	}
	return nil
}

func profile(w *dialect.Writer, p *qos.Port) {
	w.Put("", "profile", "name", profileName)
	w.Put(inProfile, "trust", "field", "dscp")
	percent := p.Percents(1)
	for q := range p.Queues {
		queue := &p.Queues[q]
		if !p.Used(q) {
			continue
		}
		w.Raw(1, "!")
		w.Raw(1, fmt.Sprintf("uc-tx-queue %d", q))
		if queue.Strict == qos.On {
			w.Put(inQueue, "priority")
		} else {
			w.Put(inQueue, "no-priority")
			w.Put(inQueue, "bandwidth", "percent", percent[q])
		}
		if p.PFC == qos.On && p.PFCMask>>q&1 == 1 && queue.Strict != qos.On {
			// The watchdog looks at queues with guaranteed bandwidth only.
			w.Put(inQueue, "guaranteed", "percent", percent[q])
		}
		if queue.ECN == qos.On {
			w.Put(inQueue, "ecn", "min", dialect.KBytes(queue.Min), "unit", "kbytes", "max", dialect.KBytes(queue.Max), "max-unit", "kbytes", "probability", dialect.Percent(queue.Probability))
			w.Raw(2, "random-detect ecn count")
		}
	}
	w.Raw(1, "!")
	if p.PFC != qos.On {
		w.Put(inProfile, "pfc-off")
		return
	}
	w.Raw(1, "priority-flow-control on")
	for _, prio := range dialect.Bits(p.PFCMask) {
		w.Put(inProfile, "pfc-priority", "priority", prio, "effect", "no-drop")
	}
	if p.Watchdog == qos.On {
		w.Put(inProfile, "watchdog")
		w.Put(inProfile, "watchdog-action", "action", "drop")
		w.Put(inProfile, "watchdog-timer", "timeout", p.WatchdogDetect.Seconds(), "polling", "auto", "recovery", p.WatchdogRestore.Seconds(), "forced", "forced")
	}
}
