package setup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/qos"
)

// niccli reads what sets QoS with Broadcom's tool, in the newer form ("niccli
// --dev X qos --pfc --enable 3") and in the older ("niccli -dev X pfc -enable 3",
// "niccli -i 1 set_ets tsa 0:ets,1:ets up2tc 0:0,3:1 tcbw 50,50").
func (r *reader) niccli(line uint, words []string) {
	nic, what, acts := r.nic(""), "", false
	o := map[string]string{}
	for i := 1; i < len(words); i++ {
		w := strings.TrimLeft(words[i], "-")
		next := ""
		if i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			next = words[i+1]
		}
		name, value, joined := strings.Cut(w, "=")
		if !joined {
			value = next
		}
		switch name {
		case "dev", "i", "pci":
			nic = r.nic(value)
		case "ets", "pfc", "apptlv", "set_ets", "set_pfc", "set_apptlv":
			what = strings.TrimPrefix(name, "set_")
			continue
		case "add", "set":
			acts = true
			continue
		case "show", "get", "getqos", "get_qos", "del", "delete":
			return
		case "tsa", "up2tc", "priority2tc", "tcbw", "enable", "app":
			o[name] = value
		default:
			continue
		}
		if !joined && next != "" {
			i++
		}
	}
	switch {
	case what == "ets" && len(o) > 0:
		for _, key := range []string{"up2tc", "priority2tc"} {
			for k, v := range pairs(o[key]) {
				r.number(line, nic, "qos.priority."+k+".tc", v)
			}
		}
		for k, v := range pairs(o["tsa"]) {
			r.text(line, nic, "qos.tc."+k+".tsa", v)
		}
		for i, v := range split(o["tcbw"]) {
			r.number(line, nic, fmt.Sprintf("qos.tc.%d.bandwidth", i), strings.TrimSuffix(v, "%"))
		}
	case what == "pfc" && o["enable"] != "":
		r.priorities(line, nic, split(o["enable"]))
	case what == "apptlv" && acts:
		// Priority, selector, protocol: selector 5 is a code point.
		f := split(o["app"])
		if len(f) != 3 || f[1] != "5" {
			break
		}
		if d, ok := qos.ParseDSCP(f[2]); ok && r.number(line, nic, fmt.Sprintf("qos.dscp.%d.priority", d), f[0]) {
			r.text(line, nic, "qos.trust", "dscp")
		}
	default:
		return
	}
	r.understood(line)
}

// priorities puts out a list of priorities that PFC is on for.
func (r *reader) priorities(line uint, nic fact.Subject, list []string) {
	for _, p := range list {
		if n, err := strconv.ParseUint(p, 10, 8); err != nil || n >= qos.Priorities {
			return
		}
	}
	slices.Sort(list)
	r.put(line, nic, "qos.pfc.enabled", fact.OfList(slices.Compact(list)))
}

// pairs yields the entries of "0:ets,1:strict" in their order. What is no
// entry for one of eight priorities or classes is left out.
func pairs(list string) func(func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for _, entry := range split(list) {
			k, v, ok := strings.Cut(entry, ":")
			if ok && len(k) == 1 && k[0] >= '0' && k[0] < '0'+qos.Priorities && !yield(k, v) {
				return
			}
		}
	}
}

// nicctl reads what sets QoS with AMD's tool. Its commands are for all cards of
// the host, unless --card names one.
func (r *reader) nicctl(line uint, words []string) {
	at := slices.Index(words, "update")
	if at < 0 || at+1 >= len(words) {
		return
	}
	o := options(words[at+1:])
	card := o["--card"]
	if card == "" {
		card = o["-c"]
	}
	nic := r.nic(card)
	what := words[at+1]
	if what == "qos" && at+2 < len(words) && !strings.HasPrefix(words[at+2], "-") {
		what += " " + words[at+2]
	}
	p, err := strconv.ParseUint(o["--priority"], 10, 8)
	known := err == nil && p < qos.Priorities
	switch {
	case what == "port" && o["--pause-type"] != "":
		// Of the whole link; PFC's own pauses are another setting.
		for _, way := range []string{"rx", "tx"} {
			if v := o["--"+way+"-pause"]; v != "" {
				r.put(line, nic, "pause."+way, fact.OfBool(o["--pause-type"] == "link" && v == "enable"))
			}
		}
	case what == "qos" && o["--classification-type"] != "":
		r.text(line, nic, "qos.trust", strings.ToLower(o["--classification-type"]))
	case what == "qos dscp-to-priority" && known:
		for _, v := range split(o["--dscp"]) {
			for d := range ranged(v) {
				r.number(line, nic, fmt.Sprintf("qos.dscp.%d.priority", d), o["--priority"])
			}
		}
	case what == "qos pfc" && known && o["--no-drop"] != "":
		if r.noDrop == nil {
			r.noDrop = map[string]uint8{}
		}
		if len(r.noDrop) >= maxVars {
			return
		}
		mask := r.noDrop[nic.Name] &^ (1 << p)
		if o["--no-drop"] == "enable" {
			mask |= 1 << p
		}
		r.noDrop[nic.Name] = mask
		list := []string{}
		for i := range qos.Priorities {
			if mask>>i&1 == 1 {
				list = append(list, strconv.Itoa(i))
			}
		}
		r.put(line, nic, "qos.pfc.enabled", fact.OfList(list))
	case what == "qos scheduling" && o["--priority"] != "":
		weights := split(o["--dwrr"])
		for i, q := range split(o["--priority"]) {
			if n, err := strconv.ParseUint(q, 10, 8); err != nil || n >= qos.Priorities || i >= len(weights) {
				continue
			}
			tsa := "ets"
			if weights[i] == "0" {
				tsa = "strict"
			}
			r.text(line, nic, "qos.tc."+q+".tsa", tsa)
			r.number(line, nic, "qos.tc."+q+".bandwidth", weights[i])
		}
	default:
		return
	}
	r.understood(line)
}

// ranged yields the code points of "26" or "24-31".
func ranged(s string) func(func(uint8) bool) {
	return func(yield func(uint8) bool) {
		from, to, isRange := strings.Cut(s, "-")
		low, ok := qos.ParseDSCP(strings.TrimSpace(from))
		high := low
		if isRange {
			var okHigh bool
			high, okHigh = qos.ParseDSCP(strings.TrimSpace(to))
			ok = ok && okHigh
		}
		for d := int(low); ok && d <= int(high); d++ {
			if !yield(uint8(d)) {
				return
			}
		}
	}
}
