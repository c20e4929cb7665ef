package audit

import (
	"fmt"
	"math"

	"weir/internal/cluster"
	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// checkSwitches looks at every port of a switch that has a cable.
func (a *auditor) checkSwitches() {
	for id := range a.c.Nodes {
		n := &a.c.Nodes[id]
		d := a.nodes[id]
		if n.Kind != cluster.SwitchNode || d == nil {
			continue
		}
		for _, port := range n.Ports {
			if s := a.ports[port]; s != nil {
				a.checkPort(cluster.NodeID(id), port, s)
			}
		}
	}
}

// checkPort compares one port of a switch or card.
func (a *auditor) checkPort(id cluster.NodeID, port cluster.PortID, s *portState) {
	n := &a.c.Nodes[id]
	k := &check{in: &a.c.QoS, p: &s.qos, stated: s.stated, nic: n.Kind == cluster.HostNode, rate: a.c.Ports[port].Rate, frame: a.mtu}
	if link := a.c.Ports[port].Link; link != cluster.LinkID(cluster.None) {
		l := &a.c.Links[link]
		k.rate, k.length, k.delay = l.Rate, l.Length, l.Delay
	}
	if n.Model != nil {
		k.cell, k.fill = n.Model.Cell, a.fillOf(id)
	}
	source, offset := "", 0
	if d := a.nodes[id]; d.config != nil {
		source, offset = d.config.Source, d.config.Offset
		k.system = d.config.Reading.Device.System
	} else if len(s.facts) > 0 {
		source = a.e.Facts[s.facts[0]].Origin.Source
	}
	k.report = func(d deviation) {
		d.node, d.port, d.onPort, d.name, d.source = id, port, true, s.name, source
		if d.line > 0 {
			d.line += offset
		}
		if d.line > 0 && len(s.facts) > 0 {
			d.source = a.sourceOf(s.facts, d.setting, d.line, source)
		}
		a.add(d)
	}
	k.port()
	for _, what := range k.blind {
		a.gap(Gap{Device: n.Name, Port: s.name, What: what})
	}
}

// sourceOf names the file of a setting of a card, whose facts come from several.
func (a *auditor) sourceOf(facts []int, setting string, line int, or string) string {
	for _, i := range facts {
		if f := &a.e.Facts[i]; f.Origin.Line == line && settingOf(f.Key) == settingOf("qos."+setting) {
			return f.Origin.Source
		}
	}
	for _, i := range facts {
		if f := &a.e.Facts[i]; f.Origin.Line == line {
			return f.Origin.Source
		}
	}
	return or
}

// largestFrame is the largest frame that a card may send: the largest interface
// MTU found, at least what the planned RDMA MTU needs.
func (a *auditor) largestFrame() units.Bytes {
	frame := RDMAFrame(a.c.QoS.MTU)
	for id := range a.c.Nodes {
		if a.c.Nodes[id].Kind != cluster.HostNode || a.nodes[id] == nil {
			continue
		}
		for _, p := range a.c.Nodes[id].Ports {
			// A card beyond the plan is its own fault, not that of all switches.
			if s := a.ports[p]; s != nil && s.qos.MTU <= a.c.QoS.PortMTU {
				frame = max(frame, s.qos.MTU)
			}
		}
	}
	return frame
}

// marking compares the ramp of the RoCE queue.
func (k *check) marking() {
	queue := k.roceQueue()
	q := &k.p.Queues[queue]
	setting := dialect.Key("ecn", queue)
	want := &k.in.ECN
	expected := ramp(want.Min, want.Max, want.Probability)
	if !want.Enabled {
		if q.ECN == qos.On {
			k.say(setting, "ecn-threshold-too-low", warning, "no marking", "marking", "The queue marks although the plan has no ECN: senders slow down without need.")
		}
		return
	}
	switch {
	case q.ECN == qos.On:
	case q.ECN == qos.Unset && q.WRED == qos.Unset && !k.stated:
		k.unknown("ECN")
		return
	case q.WRED == qos.On:
		k.say(setting, "wred-drops-before-pfc", critical, expected, "the same curve without ECN",
			"The thresholds drop lossless packets instead of marking them.")
		return
	default:
		k.say(setting, "ecn-not-configured", critical, expected, "no marking in queue "+number(queue),
			"Nothing tells senders to slow down: the queue grows until pauses spread through the fabric.")
		return
	}
	low, high, known := k.thresholds(q)
	if !known {
		k.unknown("ECN thresholds (" + q.Raw.Unit + ")")
	}
	found := ramp(low, high, q.Probability)
	quantum := k.quantum(q)
	cause := ""
	switch {
	case known && differs(low, want.Min, quantum):
		cause = threshold(low > want.Min)
	case known && differs(high, want.Max, quantum):
		cause = threshold(high > want.Max)
	case k.system == "onyx": // has no such setting: every packet is marked at max
	case q.Probability >= 0 && math.Abs(q.Probability-want.Probability) > 0.0151:
		cause = threshold(q.Probability < want.Probability)
	}
	switch cause {
	case "ecn-threshold-too-high":
		k.say(setting, cause, problem, expected, found, "Marking starts late or rarely: pauses come before senders slow down.")
	case "ecn-threshold-too-low":
		k.say(setting, cause, problem, expected, found, "Marking starts early or hits too many packets: senders slow down without need and the link runs below its rate.")
	}
}

func threshold(high bool) string {
	if high {
		return "ecn-threshold-too-high"
	}
	return "ecn-threshold-too-low"
}

func ramp(low, high units.Bytes, probability float64) string {
	s := fmt.Sprintf("ECN from %v to %v", low, high)
	if probability >= 0 {
		s += fmt.Sprintf(" at %g %%", math.Round(probability*1000)/10)
	}
	return s
}

// quantum is how far a threshold may be off for the device's own rounding.
func (k *check) quantum(q *qos.Queue) units.Bytes {
	switch q.Raw.Unit {
	case "cells":
		return 2 * k.cell
	case "percent":
		return k.fill / 100
	}
	return 0
}

func differs(found, want, quantum units.Bytes) bool {
	return max(found-want, want-found) > max(quantum, want/20, 2*units.KB)
}

// thresholds returns the ramp in bytes; false where the switch's data does not
// suffice to convert it.
func (k *check) thresholds(q *qos.Queue) (low, high units.Bytes, ok bool) {
	switch q.Raw.Unit {
	case "":
		return q.Min, q.Max, q.Max > 0 || q.Min > 0
	case "us":
		return bytesIn(k.rate, q.Raw.Min), bytesIn(k.rate, q.Raw.Max), k.rate > 0
	}
	return q.Raw.Bytes(k.cell, k.fill)
}

// fillOf is what a lossless queue of a Junos switch holds at a fill level of 100
// percent: the lossless partition of the shared buffer at the output, by the same
// reading of the guides as the renderer's. 0 where the text does not divide it.
func (a *auditor) fillOf(id cluster.NodeID) units.Bytes {
	d, m := a.nodes[id], a.c.Nodes[id].Model
	if d == nil || d.config == nil || m == nil {
		return 0
	}
	for _, f := range d.config.Reading.Facts {
		if share, ok := f.Value.Float(); ok && f.Key == "buffer.pool.egress-lossless.share" {
			return m.Buffer * units.Bytes(share) / 100
		}
	}
	return 0
}

func bytesIn(rate units.BitRate, us float64) units.Bytes {
	return units.Bytes(float64(rate) / 8 * us / 1e6)
}

// watchdog wants stormed queues cut off, neither at once nor too late.
func (k *check) watchdog() {
	want := &k.in.Watchdog
	if !want.Enabled || !k.in.PFC || k.p.PFC == qos.Off { // without PFC there is nothing to watch
		return
	}
	const storm = "A device that pauses without end stops this port, then everything that sends to it, and nothing cuts it off."
	switch p := k.p; {
	case p.Watchdog == qos.Unset:
		k.unknown("PFC watchdog")
	case p.Watchdog == qos.Off:
		k.say("watchdog", "pfc-storm", warning, "on", "off", storm)
	case p.WatchdogAction == "notify" || p.WatchdogAction == "notify-only" || p.WatchdogAction == "alert" || p.WatchdogAction == "log":
		k.say("watchdog", "pfc-storm", warning, "drops or forwards the stormed queue", "only reports it", storm)
	case p.WatchdogDetect > 0 && p.WatchdogDetect > 5*want.DetectAfter:
		k.say("watchdog", "pfc-storm", warning, "detects after "+want.DetectAfter.String(), p.WatchdogDetect.String(), "A storm reaches the whole fabric before the watchdog acts.")
	case p.WatchdogDetect > 0 && p.WatchdogDetect < want.DetectAfter/5:
		k.say("watchdog", "pfc-watchdog-flapping", warning, "detects after "+want.DetectAfter.String(), p.WatchdogDetect.String(), "The watchdog takes plain congestion for a storm and drops lossless packets.")
	}
}

// headroom compares with what must arrive after XOFF whatever the device: two
// cable delays and the frames that both ends have begun.
func (k *check) headroom() {
	if k.p.CableLength > 0 && k.length > 0 && k.p.CableLength < 0.99*k.length {
		k.say("cable_length", "headroom-too-small", problem, "at least "+fmt.Sprint(k.length), fmt.Sprint(k.p.CableLength),
			"Headroom is computed for a shorter cable: what is still on the way when the pause takes effect is dropped.")
	}
	need := k.in.Headroom
	if need == 0 {
		need = qos.HeadroomFirstPrinciples(k.rate, k.delay, 0, k.in.MTU, k.in.MTU)
	}
	for i := range k.in.Classes {
		c := &k.in.Classes[i]
		room := k.p.Ingress[c.Priority].Headroom
		if raw := k.p.Ingress[c.Priority].Raw; room == 0 && raw.Unit == "cells" {
			room = units.Bytes(raw.Max) * k.cell
		}
		if !c.Lossless || room == 0 || k.rate == 0 || room >= need-need/20 {
			continue
		}
		k.say(dialect.Key("ingress", c.Priority), "headroom-too-small", problem, "at least "+need.String(), room.String(),
			"Between the pause frame and its effect more arrives than fits, and lossless packets are dropped.")
	}
}
