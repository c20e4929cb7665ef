package nxos

import (
	"strconv"

	"weir/internal/field/dialect"
	"weir/internal/qos"
)

// Names of what a rendered configuration defines.
const (
	inputPolicy  = "WEIR-IN"
	outputPolicy = "WEIR-OUT"
	lossless     = "WEIR-LOSSLESS"
)

// Write returns the configuration of a switch. The qos-group of a class is its
// queue; PFC pauses its priority.
func Write(t *dialect.Target) ([]dialect.Text, error) {
	p, err := t.Common()
	if err != nil {
		return nil, err
	}
	if p.Watchdog == qos.On && p.WatchdogAction != "drop" && p.WatchdogAction != "" {
		return nil, t.Cannot("watchdog action "+p.WatchdogAction, "drop, which is what the NX-OS watchdog does")
	}
	w := dialect.NewWriter(grammar, "! ", 2)
	t.Head(w, "Cisco NX-OS")
	w.Put("", "hostname", "name", t.Device.Name)
	if err := classes(w, t, p); err != nil {
		return nil, err
	}
	queues(w, p)
	network(w, p)
	w.Put("", "system")
	w.Put(inSystem, "service-policy", "name", lossless)
	w.Put(inSystem, "service-policy", "type", "queuing", "direction", "output", "name", outputPolicy)
	if p.Watchdog == qos.On {
		detect, restore := dialect.Steps(p.WatchdogDetect, watchdogPoll), dialect.Steps(p.WatchdogRestore, watchdogPoll)
		w.Say("The watchdog polls every %v: %v to detect is %d polls, %v to restore is %d.", watchdogPoll, p.WatchdogDetect, detect, p.WatchdogRestore, restore)
		w.Put("", "watchdog", "state", "on")
		w.Put("", "watchdog-shutdown", "times", detect)
		w.Put("", "watchdog-restore", "times", restore)
	}
	t.SayHeadroom(w, "NX-OS reserves headroom itself")
	for i := range t.Device.Ports {
		port(w, t, i)
	}
	dialect.Verify(w, "show policy-map system type network-qos", "show queuing interface "+p.Name, "show interface priority-flow-control",
		"show queuing pfc-queue interface "+p.Name+" detail", "show policy-map interface "+p.Name+" input type qos")
	body, err := w.Text()
	return []dialect.Text{{Suffix: ".cfg", Body: body}}, err
}

func classes(w *dialect.Writer, t *dialect.Target, p *qos.Port) error {
	points := dialect.Priorities(p)
	rest := p.DefaultPriority
	if rest >= qos.Priorities {
		rest = 0
	}
	for prio, list := range points {
		if len(list) == 0 || uint8(prio) == rest {
			continue
		}
		w.Put("", "class-map", "type", "qos", "match", "match-any", "name", t.ClassName(uint8(prio)))
		w.Put(inClassMap, "match-dscp", "dscps", dialect.Join(list, "-", ","))
	}
	w.Put("", "policy-qos", "name", inputPolicy)
	for prio, list := range points {
		if len(list) == 0 || uint8(prio) == rest {
			continue
		}
		w.Put(inQosPolicy, "class", "name", t.ClassName(uint8(prio)))
		w.Put(inQosClass, "set-group", "group", group(p, prio))
	}
	w.Put(inQosPolicy, "class", "name", "class-default")
	w.Put(inQosClass, "set-group", "group", group(p, int(rest)))
	for prio := range points {
		if p.PFCMask>>prio&1 == 1 && group(p, prio) == 0 {
			return t.Cannot("priority "+strconv.Itoa(prio)+" lossless in qos-group 0", "another priority: NX-OS has no pause for the default class")
		}
	}
	return nil
}

func group(p *qos.Port, prio int) int {
	if q := p.PriorityToQueue[prio]; q < qos.Priorities {
		return int(q)
	}
	return prio
}

func queueName(prefix string, q int) string {
	if q == 0 {
		return prefix + "q-default"
	}
	return prefix + "q" + strconv.Itoa(q)
}

func queues(w *dialect.Writer, p *qos.Port) {
	w.Put("", "policy-queuing", "name", outputPolicy)
	percent := p.Percents(0)
	level := 0
	for q := qos.Priorities - 1; q >= 0; q-- {
		queue := &p.Queues[q]
		name := queueName("c-out-8q-", q)
		if q == 0 {
			name = "c-out-8q-q-default"
		}
		w.Put(inQueuing, "class", "name", name)
		if queue.Strict == qos.On {
			level++
			w.Put(inQueueClass, "priority", "level", level)
		} else {
			w.Put(inQueueClass, "bandwidth", "percent", percent[q])
		}
		if queue.ECN == qos.On {
			// Without the word ecn this line drops.
			w.Put(inQueueClass, "random-detect", "min", dialect.KBytes(queue.Min), "min-unit", "kbytes", "max", dialect.KBytes(queue.Max), "max-unit", "kbytes",
				"probability", dialect.Percent(queue.Probability), "weight", max(0, queue.Averaging), "ecn", "ecn")
		}
	}
}

func network(w *dialect.Writer, p *qos.Port) {
	w.Put("", "policy-network", "name", lossless)
	for prio := range qos.Priorities {
		if p.PFC != qos.On || p.PFCMask>>prio&1 == 0 {
			continue
		}
		w.Put(inNetwork, "class", "name", queueName("c-8q-n", group(p, prio)))
		if p.MTU > 0 {
			w.Put(inNetClass, "mtu", "mtu", int(p.MTU))
		}
		w.Put(inNetClass, "pause", "cos", prio)
	}
	w.Put(inNetwork, "class", "name", "c-8q-nq-default")
	if p.MTU > 0 {
		w.Put(inNetClass, "mtu", "mtu", int(p.MTU))
	}
}

func port(w *dialect.Writer, t *dialect.Target, i int) {
	p := &t.Device.Ports[i]
	w.Put("", "interface", "name", p.Name)
	if d := t.Description(i); d != "" {
		w.Put(inInterface, "description", "text", d)
	}
	state := "off"
	if p.PFC == qos.On {
		state = "on"
	}
	w.Put(inInterface, "link-pause", "direction", "receive", "state", "off")
	w.Put(inInterface, "link-pause", "direction", "send", "state", "off")
	w.Put(inInterface, "pfc-mode", "mode", state)
	if p.Watchdog == qos.On {
		w.Put(inInterface, "watchdog", "state", "on")
	}
	if p.MTU > 0 {
		w.Put(inInterface, "mtu", "mtu", int(p.MTU))
	}
	w.Put(inInterface, "service-policy", "type", "qos", "direction", "input", "name", inputPolicy)
}
