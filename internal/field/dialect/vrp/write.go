package vrp

import (
	"strconv"
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
)

// behaviours are the per-hop behaviours of the queues.
var behaviours = [8]string{"be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7"}

const (
	domainName = "weir"
	dropName   = "weir-ecn-"
	maxRanges  = 8 // of code points in one statement
)

// Write returns the configuration of a switch: a packet's per-hop behaviour is
// its priority and its queue.
func Write(t *dialect.Target) ([]dialect.Text, error) {
	p, err := t.Common()
	if err != nil {
		return nil, err
	}
	for prio, q := range p.PriorityToQueue {
		if q < qos.Priorities && int(q) != prio {
			return nil, t.Cannot("queue "+strconv.Itoa(int(q))+" for priority "+strconv.Itoa(prio), "the queue of the priority's number, which is the only one in VRP")
		}
	}
	w := dialect.NewWriter(grammar, "# ", 1)
	t.Head(w, "Huawei VRP")
	w.Put("", "hostname", "name", t.Device.Name)
	w.Separate()
	pause(w, p)
	domainLines(w, p)
	for q := range p.Queues {
		if queue := &p.Queues[q]; queue.ECN == qos.On {
			w.Put("", "drop-profile", "name", dropName+strconv.Itoa(q))
			w.Put(inDrop, "threshold", "colour", "ecn", "low", dialect.KBytes(queue.Min), "high", dialect.KBytes(queue.Max),
				"percent", dialect.Percent(queue.Probability), "unit", "kbytes")
			w.Separate()
		}
	}
	for i := range t.Device.Ports {
		portLines(w, t, i)
		w.Separate()
	}
	w.Raw(0, "commit")
	dialect.Verify(w, "display dcb pfc interface "+p.Name, "display qos queue statistics interface "+p.Name, "display diffserv domain name "+domainName, "display dcb pfc buffer interface "+p.Name)
	body, err := w.Text()
	return []dialect.Text{{Suffix: ".cfg", Body: body}}, err
}

func pause(w *dialect.Writer, p *qos.Port) {
	if p.PFC != qos.On {
		return
	}
	if p.Watchdog == qos.On {
		w.Say("Detection and recovery count steps of %v: %v are %d, %v are %d.", defaultAccuracy, p.WatchdogDetect, dialect.Steps(p.WatchdogDetect, defaultAccuracy),
			p.WatchdogRestore, dialect.Steps(p.WatchdogRestore, defaultAccuracy))
		w.Put("", "detect-interval", "ms", dialect.Milliseconds(defaultAccuracy))
		if p.WatchdogAction != "" {
			w.Put("", "recover-action", "action", map[string]string{"drop": "discard", "forward": "forward"}[p.WatchdogAction])
		}
		w.Separate()
	}
	w.Raw(0, "dcb pfc")
	for _, prio := range dialect.Bits(p.PFCMask) {
		w.Put(inProfile, "priority", "list", prio)
		if p.Watchdog == qos.On {
			w.Put(inProfile, "deadlock", "priority", prio, "detect", dialect.Steps(p.WatchdogDetect, defaultAccuracy), "recover", dialect.Steps(p.WatchdogRestore, defaultAccuracy))
		}
	}
	w.Separate()
	w.Say("Models that know it pause by the priority of the DSCP with this; one line for each slot.")
	w.Put("", "dscp-mapping", "slot", 1)
	w.Separate()
}

func domainLines(w *dialect.Writer, p *qos.Port) {
	w.Put("", "domain", "name", domainName)
	for prio, list := range dialect.Priorities(p) {
		runs := dialect.Runs(list)
		for len(runs) > 0 {
			n := min(len(runs), maxRanges)
			var words []string
			for _, r := range runs[:n] {
				s := strconv.Itoa(r[0])
				if r[1] > r[0] {
					s += " to " + strconv.Itoa(r[1])
				}
				words = append(words, s)
			}
			w.Put(inDomain, "dscp", "list", strings.Join(words, " "), "phb", behaviours[prio], "colour", "green")
			runs = runs[n:]
		}
	}
	w.Separate()
}

func portLines(w *dialect.Writer, t *dialect.Target, i int) {
	p := &t.Device.Ports[i]
	w.Put("", "interface", "ports", p.Name)
	if d := t.Description(i); d != "" {
		w.Raw(1, "description "+d)
	}
	w.Put(inPort, "trust", "field", "dscp")
	w.Put(inPort, "upstream", "domain", domainName)
	if p.DefaultPriority < qos.Priorities {
		w.Put(inPort, "default-priority", "priority", p.DefaultPriority)
	}
	w.Put(inPort, "no-pause")
	if p.PFC == qos.On {
		w.Put(inPort, "pfc", "mode", "manual")
		for _, prio := range dialect.Bits(p.PFCMask) {
			if room := p.Ingress[prio].Headroom; room > 0 {
				w.Put(inPort, "pfc-buffer", "queue", prio, "settings", "hdrm "+strconv.Itoa(int((room+dialect.KByte-1)/dialect.KByte))+" kbytes")
			}
		}
	}
	percent := p.Percents(1)
	for q := range p.Queues {
		switch {
		case p.Queues[q].Strict == qos.On:
			w.Put(inPort, "strict", "first", q)
		case p.Used(q):
			w.Put(inPort, "weighted", "kind", "drr", "first", q)
			w.Put(inPort, "weight", "queue", q, "kind", "drr", "weight", percent[q])
		}
		if p.Queues[q].ECN == qos.On {
			w.Put(inPort, "wred", "queue", q, "profile", dropName+strconv.Itoa(q))
			w.Put(inPort, "ecn", "queue", q)
		}
	}
	if p.MTU > 0 {
		w.Put(inPort, "jumbo", "length", int(p.MTU+dialect.FramingSize))
	}
}
