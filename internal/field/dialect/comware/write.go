package comware

import (
	"math"
	"strconv"
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

var queueNames = [8]string{"be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7"}

// deadlockStep is taken for the step of the deadlock detection at high
// precision. The guides at hand do not say it; the rendered file does.
const deadlockStep = 10 * units.Millisecond

// Write returns the configuration of a switch. Thresholds and headroom count
// cells, so the switch model's cell size must be known.
func Write(t *dialect.Target) ([]dialect.Text, error) {
	p, err := t.Common()
	if err != nil {
		return nil, err
	}
	if t.Cell == 0 {
		return nil, t.Cannot("ECN thresholds and headroom in cells", "the cell size of "+strings.TrimSpace("the switch model "+t.Model))
	}
	w := dialect.NewWriter(grammar, "# ", 1)
	t.Head(w, "H3C Comware")
	w.Say("Thresholds and headroom count cells of %d bytes (%s).", t.Cell, t.Model)
	w.Put("", "hostname", "name", t.Device.Name)
	w.Separate()
	deadlock(w, p)
	w.Put("", "map", "map", "dscp-dot1p")
	for prio, list := range dialect.Priorities(p) {
		if len(list) > 0 {
			w.Put(inMap, "import", "list", dialect.Join(list, " to ", " "), "to", prio)
		}
	}
	w.Separate()
	w.Put("", "map", "map", "dot1p-lp")
	for prio, q := range p.PriorityToQueue {
		if q < qos.Priorities {
			w.Put(inMap, "import", "list", prio, "to", q)
		}
	}
	w.Separate()
	for i := range t.Device.Ports {
		portLines(w, t, i)
		w.Separate()
	}
	dialect.Verify(w, "display priority-flow-control interface "+p.Name, "display qos queue-statistics interface "+p.Name+" outbound", "display qos map-table dscp-dot1p",
		"display qos wred interface "+p.Name, "display buffer usage interface "+p.Name)
	body, err := w.Text()
	return []dialect.Text{{Suffix: ".cfg", Body: body}}, err
}

func deadlock(w *dialect.Writer, p *qos.Port) {
	if p.Watchdog != qos.On {
		return
	}
	detect, restore := dialect.Steps(p.WatchdogDetect, deadlockStep), dialect.Steps(p.WatchdogRestore, deadlockStep)
	w.Say("Deadlock times count steps whose length depends on the model. Taken for %v at high precision: %v are %d, %v are %d.\nCheck the model's manual.",
		deadlockStep, p.WatchdogDetect, detect, p.WatchdogRestore, restore)
	w.Put("", "deadlock-precision", "precision", "high")
	for _, prio := range dialect.Bits(p.PFCMask) {
		w.Put("", "deadlock-interval", "cos", prio, "interval", detect)
		w.Put("", "deadlock-delay", "cos", prio, "delay", restore)
	}
	if p.WatchdogAction != "" {
		w.Put("", "deadlock-action", "action", map[string]string{"drop": "discard", "forward": "forwarding"}[p.WatchdogAction])
	}
	w.Separate()
}

// list writes priorities singly, which every release takes.
func list(mask uint8) string {
	var words []string
	for _, prio := range dialect.Bits(mask) {
		words = append(words, strconv.Itoa(prio))
	}
	return strings.Join(words, ",")
}

func cells(b, cell units.Bytes) int { return int(math.Round(float64(b) / float64(cell))) }

func portLines(w *dialect.Writer, t *dialect.Target, i int) {
	p := &t.Device.Ports[i]
	w.Put("", "interface", "ports", p.Name)
	if d := t.Description(i); d != "" {
		w.Raw(1, "description "+d)
	}
	if p.MTU > 0 {
		w.Put(inPort, "jumbo", "length", int(p.MTU+dialect.FramingSize))
	}
	if p.PFC == qos.On {
		w.Raw(1, "undo flow-control")
		w.Put(inPort, "pfc", "mode", "enable")
		w.Put(inPort, "no-drop", "list", list(p.PFCMask))
		for _, prio := range dialect.Bits(p.PFCMask) {
			if room := p.Ingress[prio].Headroom; room > 0 {
				w.Put(inPort, "headroom", "priority", prio, "cells", int((room+t.Cell-1)/t.Cell))
			}
		}
		if p.Watchdog == qos.On {
			w.Put(inPort, "deadlock")
		}
	}
	w.Put(inPort, "trust", "field", "dscp")
	if p.DefaultPriority < qos.Priorities {
		w.Put(inPort, "default-priority", "priority", p.DefaultPriority)
	}
	w.Put(inPort, "scheduler", "kind", "wfq", "unit", "byte-count")
	percent := p.Percents(1)
	for q := range p.Queues {
		queue := &p.Queues[q]
		if queue.Strict == qos.On {
			w.Put(inPort, "strict", "kind", "wfq", "queue", queueNames[q])
		} else {
			w.Put(inPort, "weight", "kind", "wfq", "queue", queueNames[q], "group", 1, "unit", "byte-count", "weight", max(1, percent[q]))
		}
		if queue.ECN != qos.On {
			continue
		}
		for level := range 3 {
			w.Put(inPort, "wred", "queue", q, "level", level, "low", cells(queue.Min, t.Cell), "high", cells(queue.Max, t.Cell), "probability", dialect.Percent(queue.Probability))
		}
		w.Put(inPort, "weighting", "queue", q, "exponent", max(0, queue.Averaging))
		w.Put(inPort, "ecn", "queue", q)
	}
}
