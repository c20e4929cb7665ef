package switches

import (
	"maps"
	"slices"
	"strings"

	"weir/internal/fact"
)

// nvueCounters are leaves of the counter trees with a key of their own.
var nvueCounters = map[string]string{
	"rx-stats/rx-pfc-stats/pause-packets":              "pfc.rx_frames",
	"rx-stats/rx-pfc-stats/pause-duration":             "pfc.rx_pause_time",
	"tx-stats/tx-pfc-stats/pause-packets":              "pfc.tx_frames",
	"tx-stats/tx-pfc-stats/pause-duration":             "pfc.tx_pause_time",
	"tx-stats/tx-ecn-stats/ecn-marked-packets":         "queue.ecn_marked_packets",
	"rx-stats/rx-roce-stats/roce-packets":              "roce.rx_packets",
	"rx-stats/rx-roce-stats/roce-bytes":                "roce.rx_bytes",
	"rx-stats/rx-roce-stats/no-buffer-discard":         "roce.rx_discards",
	"tx-stats/tx-roce-stats/roce-packets":              "roce.tx_packets",
	"tx-stats/tx-roce-stats/roce-bytes":                "roce.tx_bytes",
	"tx-stats/tx-roce-stats/unicast-no-buffer-discard": "roce.tx_discards",
	"tx-stats/tx-cnp-stats/cnp-packets":                "cnp.tx_packets",
	"tx-stats/tx-cnp-stats/cnp-bytes":                  "cnp.tx_bytes",
	"tx-stats/tx-cnp-stats/unicast-no-buffer-discard":  "cnp.tx_discards",
}

// leaf puts out one value of a tree; false where it is not known.
func (n *nvueReader) leaf(path []string, value string, line int) bool {
	name := strings.Join(path, "/")
	if strings.HasPrefix(name, "rx-stats/") || strings.HasPrefix(name, "tx-stats/") {
		v, ok := size(value)
		if !ok {
			return false
		}
		s := n.ctx.Port(n.port)
		if key := nvueCounters[name]; key != "" {
			put(n.out, line, s, key, v)
		} else {
			counter(n.out, line, s, strings.Join(path, "."), v)
		}
		return true
	}
	if group, last, ok := strings.Cut(name, "/"); ok && group == "lldp-app-tlv" {
		n.tlv[last], n.tlvLine = value, line
		return true
	}
	switch name {
	case "mode":
		n.out.Text(line, n.subject, "roce.mode", value)
	case "enable":
		if on, ok := truth(value); ok && !on {
			n.out.Text(line, n.subject, "roce.mode", "off")
		}
	case "trust/trust-mode", "trust":
		n.out.Text(line, n.subject, "qos.trust", trustName(value))
	case "state":
		if n.ctx.Ran("nv") && !strings.Contains(strings.Join(n.ctx.Command, " "), "pfc-watchdog") {
			return false
		}
		on, ok := truth(value)
		if ok {
			n.out.Bool(line, n.subject, "watchdog.enabled", on)
		}
		return ok
	case "polling-interval":
		return n.count(line, "watchdog.poll_interval", value)
	case "robustness":
		return n.count(line, "watchdog.robustness", value)
	default:
		return n.setting(path, value, line)
	}
	return true
}

func (n *nvueReader) count(line int, key, value string) bool {
	v, ok := size(value)
	if ok {
		put(n.out, line, n.subject, key, v)
	}
	return ok
}

// setting is a leaf of PFC or congestion control, in the tree of RoCE or in
// one of its own ("nv show qos pfc default-global").
func (n *nvueReader) setting(path []string, value string, line int) bool {
	switch last := path[len(path)-1]; last {
	case "pfc-priority", "switch-priority":
		n.out.List(line, n.subject, "qos.pfc.enabled", priorityList(value))
	case "rx-enabled", "tx-enabled", "rx", "tx":
		on, ok := truth(value)
		if ok {
			n.out.Bool(line, n.subject, "pfc."+last[:2]+"_enabled", on)
		}
		return ok
	case "cable-length":
		return n.count(line, "qos.cable_length", strings.TrimSuffix(value, " m"))
	case "port-buffer":
		return n.count(line, "pg.size", value)
	case "xoff-threshold":
		return n.count(line, "pg.xoff", value)
	case "xon-threshold":
		return n.count(line, "pg.xon", value)
	case "congestion-mode":
		n.out.Bool(line, n.subject, "ecn.enabled", strings.Contains(strings.ToLower(value), "ecn"))
	case "ecn", "red":
		on, ok := truth(value)
		if ok {
			n.out.Bool(line, n.subject, map[string]string{"ecn": "ecn.enabled", "red": "ecn.drops"}[last], on)
		}
		return ok
	case "enabled-tc":
		n.out.List(line, n.subject, "ecn.queues", priorityList(value))
	case "min-threshold", "max-threshold":
		key := "ecn." + last[:3]
		n.out.Text(line, n.subject, key+"_printed", value)
		return n.count(line, key, value)
	case "probability":
		v, ok := real(value)
		if ok {
			put(n.out, line, n.subject, "ecn.probability", v)
		}
		return ok
	default:
		return false
	}
	return true
}

// trustName turns "pcp,dscp", "L3", "l2" into the word of the vocabulary.
func trustName(s string) string {
	s = strings.ToLower(s)
	pcp := strings.Contains(s, "pcp") || strings.Contains(s, "l2") || strings.Contains(s, "802.1p") || strings.Contains(s, "dot1p")
	dscp := strings.Contains(s, "dscp") || strings.Contains(s, "l3")
	switch {
	case pcp && dscp:
		return "both"
	case dscp:
		return "dscp"
	case pcp:
		return "pcp"
	}
	return s
}

// mapping is a row of code points and 802.1p values of a priority. In the
// output of one interface the rows are named cnp and roce.
func (n *nvueReader) mapping(line int, r nvueRow) {
	prio, ok := number(r["switch-prio"] + r["switch-priority"])
	if !ok || prio.Kind() != fact.Uint {
		return
	}
	for _, d := range priorityList(r["dscp"]) {
		v, _ := number(d)
		if !index(d) {
			continue
		}
		put(n.out, line, n.subject, "qos.dscp."+d+".priority", prio)
		switch r[""] {
		case "roce":
			put(n.out, line, n.subject, "roce.dscp", v)
		case "cnp":
			put(n.out, line, n.subject, "dcqcn.cnp_dscp", v)
		}
	}
	for _, c := range priorityList(r["pcp"]) {
		if index(c) {
			put(n.out, line, n.subject, "qos.pcp."+c+".priority", prio)
		}
	}
}

// classes is a row of a priority, its traffic class and how that is served.
func (n *nvueReader) classes(line int, r nvueRow) {
	tc := r["traffic-class"]
	v, ok := number(tc)
	if !ok || v.Kind() != fact.Uint {
		return
	}
	for _, prio := range priorityList(r["switch-prio"] + r["switch-priority"]) {
		if index(prio) {
			put(n.out, line, n.subject, "qos.priority."+prio+".tc", v)
		}
	}
	n.served(line, tc, r["scheduler-weight"])
}

// served reads "DWRR-50%", "strict priority", "dwrr".
func (n *nvueReader) served(line int, tc, how string) {
	if !index(tc) {
		return
	}
	how = strings.ToLower(how)
	key := "qos.tc." + tc + "."
	switch {
	case strings.HasPrefix(how, "strict"):
		n.out.Text(line, n.subject, key+"tsa", "strict")
	case strings.HasPrefix(how, "dwrr"):
		n.out.Text(line, n.subject, key+"tsa", "ets")
		share := strings.Trim(strings.TrimPrefix(how, "dwrr"), "-% ")
		if v, ok := number(share); ok && share != "" {
			put(n.out, line, n.subject, key+"bandwidth", v)
		}
	}
}

func (n *nvueReader) weights(line int, r nvueRow) {
	how := r["mode"]
	if share := r["bw-percent"]; share != "" {
		how += "-" + share
	}
	n.served(line, r["traffic-class"], how)
}

func (n *nvueReader) pool(line int, r nvueRow) {
	if r["name"] == "" {
		return
	}
	s, key := n.ctx.Switch(), "buffer.pool."+keyPart(r["name"])+"."
	n.out.Text(line, s, key+"mode", strings.ToLower(r["mode"]))
	if share, percent := strings.CutSuffix(r["size"], "%"); percent {
		if v, ok := real(share); ok {
			put(n.out, line, s, key+"share", v)
		}
	} else if v, ok := size(r["size"]); ok {
		put(n.out, line, s, key+"size", v)
	}
	n.out.List(line, s, key+"priorities", priorityList(r["switch-priorities"]))
	n.out.List(line, s, key+"queues", priorityList(r["traffic-class"]))
	for _, u := range [][2]string{{"current-usage", "usage"}, {"max-usage", "max_usage"}} {
		if v, ok := size(r[u[0]]); ok && r[u[0]] != "" {
			put(n.out, line, s, key+u[1], v)
		}
	}
}

func (n *nvueReader) ecnRow(line int, r nvueRow) {
	tc := r["traffic-class"]
	if tc == "" {
		return
	}
	s := n.ctx.Queue(n.profiles, tc)
	if n.port != "" {
		s = n.ctx.Queue(n.port, tc)
	}
	if on, ok := truth(r["ECN"]); ok {
		n.out.Bool(line, s, "ecn.enabled", on)
	}
	if on, ok := truth(r["RED"]); ok {
		n.out.Bool(line, s, "ecn.drops", on)
	}
	if v, ok := size(r["Min Th"]); ok {
		put(n.out, line, s, "ecn.min", v)
	}
	if v, ok := size(r["Max Th"]); ok {
		put(n.out, line, s, "ecn.max", v)
	}
	if v, ok := real(r["Probability"]); ok {
		put(n.out, line, s, "ecn.probability", v)
	}
}

func (n *nvueReader) watchdogRow(line int, r nvueRow) {
	tc := r["traffic-class"]
	if tc == "" {
		return
	}
	s := n.ctx.Queue(n.port, tc)
	state := "operational"
	if strings.EqualFold(r["status"], "DEADLOCK") {
		state = "stormed"
	}
	put(n.out, line, s, "watchdog.state", fact.OfText(state))
	if v, ok := number(r["deadlock-count"]); ok {
		put(n.out, line, s, "watchdog.storms", v)
	}
}

// portRow is a counter with a column for each direction.
func (n *nvueReader) portRow(line int, r nvueRow) {
	name := r["Counter"]
	for _, d := range [][2]string{{"Receive", "rx"}, {"Transmit", "tx"}} {
		cell, direction := r[d[0]], d[1]
		if absent(cell) {
			continue
		}
		v, ok := number(cell)
		if !ok {
			continue
		}
		s := n.ctx.Port(n.port)
		switch {
		case name == "pause-frames":
			put(n.out, line, s, "pause."+direction+"_frames", v)
		case name == "ecn-marked-packets" && direction == "tx":
			put(n.out, line, s, "queue.ecn_marked_packets", v)
		default:
			counter(n.out, line, s, keyPart(direction+"-"+name), v)
		}
	}
}

func (n *nvueReader) exception(line int, r nvueRow) {
	var words []string
	for _, title := range slices.Sorted(maps.Keys(r)) {
		if r[title] != "" {
			words = append(words, r[title])
		}
	}
	if len(words) > 0 {
		n.out.Text(line, n.subject, "roce.exception", strings.Join(words, " "))
	}
}
