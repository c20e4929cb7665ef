package importer

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/qos"
	"weir/units"
)

// sizeText writes a size so that it reads back the same.
func sizeText(n units.Bytes) string {
	switch {
	case n%units.KiB == 0:
		return strconv.FormatInt(int64(n/units.KiB), 10) + "KiB"
	case n%units.KB == 0:
		return strconv.FormatInt(int64(n/units.KB), 10) + "KB"
	}
	return strconv.FormatInt(int64(n), 10) + "B"
}

// A setting is one line of the qos part.
type setting struct{ path, value string }

// intent reads the plan's terms out of one port.
func intent(p *qos.Port) []setting {
	var out []setting
	add := func(path string, format string, args ...any) {
		out = append(out, setting{path, fmt.Sprintf(format, args...)})
	}
	lossless := func(d uint8) bool { return p.Lossless(d) }
	dscp := -1
	if lossless(26) {
		dscp = 26
	}
	for d := uint8(0); d < 64 && dscp < 0; d++ {
		if lossless(d) {
			dscp = int(d)
		}
	}
	if dscp < 0 {
		return nil
	}
	prio := p.Priority(uint8(dscp))
	add("qos.roce.dscp", "%d", dscp)
	add("qos.roce.priority", "%d", prio)
	if q := p.Priority(48); q < qos.Priorities && q != prio && q != p.Priority(0) {
		add("qos.cnp.priority", "%d", q)
	}
	if p.MTU >= 1280 && p.MTU <= 16384 {
		add("qos.port_mtu", "%d", p.MTU)
	}
	queue := p.Queue(uint8(dscp))
	if queue >= qos.Priorities {
		queue = prio
	}
	if e := &p.Queues[queue]; e.ECN == qos.On && e.Max > e.Min && e.Min > 0 && e.Raw.Unit == "" {
		add("qos.ecn.min", "%s", sizeText(e.Min))
		add("qos.ecn.max", "%s", sizeText(e.Max))
		if e.Probability >= 0 {
			add("qos.ecn.probability", "%g%%", e.Probability*100)
		}
	} else if e.ECN == qos.Off {
		add("qos.ecn.enabled", "false")
	}
	return out
}

// settings is what most ports agree on; where others differ stands in conflicts.
func (k *knowledge) settings() []setting {
	votes := map[setting]int{}
	who := map[setting]qosSeen{}
	var order []string
	for _, s := range k.qos {
		for _, v := range intent(s.port) {
			votes[v]++
			if _, ok := who[v]; !ok {
				who[v] = s
			}
			if !slices.Contains(order, v.path) {
				order = append(order, v.path)
			}
		}
	}
	var out []setting
	for _, path := range order {
		var best setting
		for v, n := range votes {
			if v.path == path && (best.path == "" || n > votes[best] || n == votes[best] && v.value < best.value) {
				best = v
			}
		}
		out = append(out, best)
		var others []setting
		for v := range votes {
			if v.path == path && v != best {
				others = append(others, v)
			}
		}
		slices.SortFunc(others, func(x, y setting) int { return strings.Compare(x.value, y.value) })
		for _, v := range others {
			k.conflicts = append(k.conflicts, Conflict{Where: path, Kept: best.value, Other: v.value + " on " + who[v].device + "/" + who[v].port.Name, From: who[v].source})
		}
	}
	return out
}

func (k *knowledge) writeQoS(b *bytes.Buffer) {
	list := k.settings()
	if len(list) == 0 {
		k.unknown = append(k.unknown, "queues, PFC and ECN (qos): no configuration with a lossless class was read; the defaults stand for them")
		return
	}
	b.WriteString("\nqos:\n")
	open := ""
	for _, s := range list {
		parts := strings.Split(s.path, ".")
		if len(parts) == 3 {
			if parts[1] != open {
				open = parts[1]
				fmt.Fprintf(b, "  %s:\n", open)
			}
			fmt.Fprintf(b, "    %s: %s\n", parts[2], s.value)
			continue
		}
		open = ""
		fmt.Fprintf(b, "  %s: %s\n", parts[1], s.value)
	}
}
