package junos

import (
	"fmt"
	"math"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// Names of what a rendered configuration defines.
const (
	classifierName = "WEIR"
	schedulerMap   = "WEIR"
	pauseProfile   = "WEIR"
)

// Partition is how the shared buffer is divided, in percent. Junos wants the
// three ingress parts to add up to 100.
type Partition struct {
	Lossless, Headroom, Lossy int
}

const lossyPercent = 10

// Partitions divides the buffer: headroom of all ports, rounded up, a tenth
// for lossy classes, the rest lossless.
func Partitions(d *qos.Device, buffer units.Bytes) (Partition, bool) {
	var room units.Bytes
	for i := range d.Ports {
		for _, prio := range dialect.Bits(d.Ports[i].PFCMask) {
			room += d.Ports[i].Ingress[prio].Headroom
		}
	}
	if buffer == 0 {
		return Partition{}, false
	}
	head := int(math.Ceil(100 * float64(room) / float64(buffer)))
	p := Partition{Headroom: head, Lossy: lossyPercent, Lossless: 100 - lossyPercent - head}
	return p, p.Lossless > 0
}

// Fill returns what a lossless queue holds at a fill level of 100 percent: all
// of the lossless egress partition. The guides do not say what the percentage
// of a dynamic queue refers to, so this is our reading.
func (p Partition) Fill(buffer units.Bytes) units.Bytes {
	return buffer * units.Bytes(p.Lossless) / 100
}

// Write returns "set" lines of a switch. Fill levels are percent, so the
// model's buffer must be known.
func Write(t *dialect.Target) ([]dialect.Text, error) {
	p, err := t.Common()
	if err != nil {
		return nil, err
	}
	part, ok := Partitions(t.Device, t.Buffer)
	if t.Buffer == 0 {
		return nil, t.Cannot("ECN thresholds in percent of the queue", "the packet buffer of the switch model "+t.Model)
	}
	if !ok {
		return nil, t.Cannot("headroom of all ports", "less than 90% of the buffer of "+t.Model)
	}
	w := dialect.NewWriter(grammar, "# ", 0)
	t.Head(w, "Juniper Junos")
	w.Prefix = "set "
	w.Put("", "hostname", "name", t.Device.Name)
	classLines(w, t, p)
	if err := schedulerLines(w, t, p, part); err != nil {
		return nil, err
	}
	pauseLines(w, t, p, part)
	for i := range t.Device.Ports {
		port := &t.Device.Ports[i]
		if d := t.Description(i); d != "" {
			w.Raw(0, fmt.Sprintf("interfaces %s description %q", port.Name, d))
		}
		if port.MTU > 0 {
			w.Put("", "mtu", "port", port.Name, "mtu", int(port.MTU+dialect.HeaderBytes))
		}
		w.Put("", "no-pause", "port", port.Name, "options", "ether-options")
		if p.PFC == qos.On {
			w.Put("", "port-pfc", "port", port.Name, "profile", pauseProfile)
		}
		w.Put("", "port-map", "port", port.Name, "map", schedulerMap)
		w.Put("", "port-classifier", "port", port.Name, "unit", "0", "kind", "dscp", "name", classifierName)
	}
	dialect.Verify(w, "show class-of-service interface "+p.Name, "show class-of-service congestion-notification "+pauseProfile, "show class-of-service shared-buffer",
		"show interfaces "+p.Name+" extensive", "show interfaces queue "+p.Name)
	body, err := w.Text()
	return []dialect.Text{{Suffix: ".set", Body: body}}, err
}

func bits(v, n int) string { return fmt.Sprintf("%0*b", n, v) }

func queueOf(p *qos.Port, prio int) int {
	if q := p.PriorityToQueue[prio]; q < qos.Priorities {
		return int(q)
	}
	return prio
}

// used reports whether packets have the priority.
func used(points [qos.Priorities][]int, p *qos.Port, prio int) bool {
	return len(points[prio]) > 0 || p.PFCMask>>prio&1 == 1
}

func classLines(w *dialect.Writer, t *dialect.Target, p *qos.Port) {
	points := dialect.Priorities(p)
	for prio := range points {
		if !used(points, p, prio) {
			continue
		}
		args := []any{"class", t.ClassName(uint8(prio)), "queue", queueOf(p, prio)}
		if p.PFC == qos.On && p.PFCMask>>prio&1 == 1 {
			args = append(args, "no-loss", "no-loss", "priority", prio)
		}
		w.Put("", "class", args...)
	}
	for prio, list := range points {
		for _, d := range list {
			w.Put("", "classifier", "kind", "dscp", "name", classifierName, "class", t.ClassName(uint8(prio)), "loss", "low", "point", bits(d, 6))
		}
	}
}

func schedulerLines(w *dialect.Writer, t *dialect.Target, p *qos.Port, part Partition) error {
	points := dialect.Priorities(p)
	percent := p.Percents(1)
	fill := part.Fill(t.Buffer)
	for prio := range points {
		if !used(points, p, prio) {
			continue
		}
		name, q := t.ClassName(uint8(prio)), queueOf(p, prio)
		queue := &p.Queues[q]
		w.Put("", "map", "map", schedulerMap, "class", name, "scheduler", name)
		if queue.Strict == qos.On {
			w.Put("", "priority", "scheduler", name, "level", "strict-high")
		} else {
			w.Put("", "priority", "scheduler", name, "level", "low")
			w.Put("", "rate", "scheduler", name, "percent", percent[q])
		}
		if queue.ECN != qos.On {
			continue
		}
		low, high := level(queue.Min, fill), level(queue.Max, fill)
		if high > 100 || low >= high {
			return t.Cannot(fmt.Sprintf("ECN from %v to %v on %s", queue.Min, queue.Max, t.Model), fmt.Sprintf("two different whole percents of the %v that its lossless buffer holds", fill))
		}
		w.Say("Fill levels are percent of the lossless buffer, %d bytes: %v are %d%%, %v are %d%%.", fill, queue.Min, low, queue.Max, high)
		w.Put("", "fill", "profile", name, "percent", low)
		w.Put("", "fill", "profile", name, "percent", high)
		w.Put("", "drop", "profile", name, "percent", 0)
		w.Put("", "drop", "profile", name, "percent", dialect.Percent(queue.Probability))
		w.Put("", "scheduler-profile", "scheduler", name, "loss", "any", "protocol", "any", "profile", name)
		w.Put("", "ecn", "scheduler", name)
	}
	return nil
}

func level(b, fill units.Bytes) int { return int(math.Round(100 * float64(b) / float64(fill))) }

func pauseLines(w *dialect.Writer, t *dialect.Target, p *qos.Port, part Partition) {
	if p.PFC != qos.On {
		return
	}
	w.Say("Headroom of all ports is %d%% of the buffer of %v (%s).", part.Headroom, t.Buffer, t.Model)
	for _, x := range []struct {
		side, name string
		percent    int
	}{{"ingress", "lossless", part.Lossless}, {"ingress", "lossless-headroom", part.Headroom}, {"ingress", "lossy", part.Lossy}, {"egress", "lossless", part.Lossless}, {"egress", "lossy", part.Lossy}} {
		w.Put("", "partition", "side", x.side, "partition", x.name, "percent", x.percent)
	}
	points := dialect.Priorities(p)
	for _, prio := range dialect.Bits(p.PFCMask) {
		for _, d := range points[prio] {
			w.Put("", "pfc-input", "profile", pauseProfile, "field", "dscp", "point", bits(d, 6))
		}
		w.Put("", "pfc-output", "profile", pauseProfile, "point", bits(prio, 3), "queue", queueOf(p, prio))
	}
	if l := t.Longest(); l > 0 {
		w.Put("", "cable", "profile", pauseProfile, "metres", int(math.Ceil(float64(l))))
	}
	if p.Watchdog != qos.On {
		return
	}
	w.Put("", "watchdog", "profile", pauseProfile)
	w.Put("", "watchdog-poll", "profile", pauseProfile, "ms", dialect.Milliseconds(defaultPoll))
	w.Put("", "watchdog-detect", "profile", pauseProfile, "times", dialect.Steps(p.WatchdogDetect, defaultPoll))
	w.Put("", "watchdog-recover", "profile", pauseProfile, "ms", dialect.Milliseconds(p.WatchdogRestore))
	w.Put("", "watchdog-action", "profile", pauseProfile, "action", p.WatchdogAction)
}
