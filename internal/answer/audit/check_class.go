package audit

import (
	"fmt"

	"weir/internal/field/dialect"
	"weir/internal/qos"
)

// findMoved notices that the class as a whole, pause included, sits on another
// priority: one fault, not three.
func (k *check) findMoved() {
	roce, want := k.in.RoCE(), k.in.LosslessMask()
	p := k.p.DSCPToPriority[roce.DSCP]
	if !k.in.PFC || !roce.Lossless || p >= qos.Priorities || p == roce.Priority || k.p.PFC == qos.Off {
		return
	}
	mask := k.p.PFCMask
	k.moved = mask>>p&1 == 1 && mask>>roce.Priority&1 == 0 && want>>p&1 == 0
	k.at = p
}

// trust reports whether the DSCP decides.
func (k *check) trust() bool {
	switch k.p.Trust {
	case qos.TrustPCP:
		k.say("trust", "roce-in-default-priority", critical, "dscp", "pcp",
			"The port looks at the VLAN tag, which routed RoCE packets do not carry: they run in the default, lossy class, without PFC and without marking.")
		return false
	case qos.TrustNone:
		k.say("trust", "roce-in-default-priority", critical, "dscp", "none",
			"The port trusts no marking: RoCE packets run in the default, lossy class, without PFC and without marking.")
		return false
	case qos.TrustUnknown:
		if !k.mapped() {
			k.unknown("trust")
			return false
		}
	}
	return true
}

// mapped reports whether the port's map of code points is known at all.
func (k *check) mapped() bool {
	for d := range k.p.DSCPToPriority {
		if k.p.DSCPToPriority[d] != qos.Undefined || k.p.DSCPToQueue[d] != qos.Undefined {
			return true
		}
	}
	return false
}

// class follows one class from its code point to its queue.
func (k *check) class(c *qos.Class, i int) {
	if !k.mapped() {
		if i == 0 {
			k.unknown("DSCP map")
		}
		return
	}
	if i == 1 {
		k.notifications(c)
		return
	}
	setting := dialect.Key("dscp", c.DSCP)
	prio := k.p.DSCPToPriority[c.DSCP]
	queue := k.p.Queue(c.DSCP)
	// A class of its own that pauses nowhere: PFC is what is missing.
	own := c.Lossless && prio == qos.Undefined && queue < qos.Priorities && queue != k.p.Queue(0) && k.p.PFCMask>>c.Priority&1 == 0
	k.misplaced = k.misplaced || i == 0 && prio != c.Priority && !own
	want := "priority " + number(c.Priority)
	name := "RoCE packets"
	if i > 0 {
		name = "Packets of class " + c.Name
	}
	switch {
	case prio == c.Priority && i == 0 && queue != qos.Undefined && queue == k.p.Queue(0) && k.p.DSCPToPriority[0] != c.Priority:
		k.say(dialect.Key("queue", c.Priority), "roce-in-default-priority", problem, "a queue of its own", "queue "+number(queue)+", with all default traffic",
			name+" share a queue with default traffic: it waits with them, is paused with them, and their marking and share do not hold.")
	case prio == c.Priority && i == 0 && k.p.DSCPToPriority[0] == c.Priority:
		k.say("dscp.0", "pfc-on-all-priorities", problem, "another priority than "+number(c.Priority), "priority "+number(c.Priority),
			"Default traffic runs in the lossless class: it fills its buffer, and pauses meant for one stop the other.")
	case prio == c.Priority, i == 0 && k.moved, own:
	case c.Lossless && prio < qos.Priorities && k.p.PFC != qos.Off && k.p.PFCMask>>prio&1 == 1:
		k.say(setting, "pfc-priority-mismatch", critical, want, "priority "+number(prio),
			name+" run in another lossless priority than the rest of the path: pauses sent for the one do not stop the other.")
	case c.Lossless:
		k.say(setting, "roce-in-default-priority", critical, want, priorityText(prio, queue),
			name+" run in a lossy class here: neither PFC nor marking protects them, and any burst drops them.")
	case prio < qos.Priorities && k.in.LosslessMask()>>prio&1 == 1:
		k.say(setting, "pfc-on-all-priorities", problem, want, "priority "+number(prio),
			name+" run in a lossless class that is not theirs and fill its buffer.")
	default:
		k.say(setting, "switch-config-not-applied", warning, want, priorityText(prio, queue),
			name+" do not run in the class that the plan gives them.")
	}
}

func number[N ~uint8 | ~int](n N) string { return fmt.Sprintf("%d", n) }

func priorityText(prio, queue uint8) string {
	switch {
	case prio < qos.Priorities:
		return "priority " + number(prio)
	case queue < qos.Priorities:
		return "queue " + number(queue) + ", no priority"
	}
	return "no priority"
}

// notifications checks that CNPs overtake the data. Any class that does so will
// do: by effect its number does not matter.
func (k *check) notifications(c *qos.Class) {
	roce := k.in.RoCE()
	prio, queue := k.p.DSCPToPriority[c.DSCP], k.p.Queue(c.DSCP)
	setting := dialect.Key("dscp", c.DSCP)
	want := "a strict queue of their own (priority " + number(c.Priority) + ")"
	const late = "Congestion notifications come late or are lost: senders slow down only after queues have filled and pauses have started."
	data := k.p.DSCPToPriority[roce.DSCP]
	switch {
	case prio == qos.Undefined && queue == qos.Undefined:
		k.say(setting, "cnp-in-wrong-queue", problem, want, "no priority", late)
	case prio == roce.Priority || prio != qos.Undefined && prio == data || queue != qos.Undefined && queue == k.roceQueue():
		k.say(setting, "cnp-in-wrong-queue", problem, want, "the RoCE class (priority "+number(roce.Priority)+")",
			"Congestion notifications wait behind the data whose congestion they report, and are paused with it.")
	case queue != qos.Undefined && queue == k.p.Queue(0), queue == qos.Undefined && prio == k.p.DSCPToPriority[0]:
		k.say(setting, "cnp-in-wrong-queue", problem, want, "the default class", late)
	case c.Strict && queue < qos.Priorities && k.p.Queues[queue].Strict == qos.Off:
		k.say(dialect.Key("schedule", queue), "cnp-in-wrong-queue", warning, "a strict queue", "queue "+number(queue)+" with a share", late)
	case c.Strict && k.nic && prio < qos.Priorities && k.p.PriorityToQueue[prio] < qos.Priorities && k.p.Queues[k.p.PriorityToQueue[prio]].Strict == qos.Off:
		k.say(dialect.Key("schedule", k.p.PriorityToQueue[prio]), "cnp-in-wrong-queue", warning, "a strict queue", "a queue with a share", late)
	}
}

// roceQueue is the queue of the lossless RoCE priority, whether or not the
// code point reaches it.
func (k *check) roceQueue() uint8 {
	roce := k.in.RoCE()
	if k.moved {
		if q := k.p.Queue(roce.DSCP); q < qos.Priorities {
			return q
		}
		return k.at
	}
	if q := k.p.PriorityToQueue[roce.Priority]; q < qos.Priorities {
		return q
	}
	if k.p.DSCPToPriority[roce.DSCP] == roce.Priority {
		if q := k.p.DSCPToQueue[roce.DSCP]; q < qos.Priorities {
			return q
		}
	}
	return roce.Priority
}
