package audit

import (
	"fmt"
	"regexp"
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/input/jsontree"
	"weir/internal/qos"
	"weir/units"
)

// nvue writes the change of a Cumulus switch; it takes effect with nv config apply.
func (f *repairer) nvue() {
	set := func(in, id string, args ...string) string { return "nv set " + f.line("", id, args...) }
	const global = "default-global"
	add := func(do, undo string) { f.do, f.undo = append(f.do, do), append(f.undo, undo) }
	f.scope = "device"
	switch f.setting {
	case "trust":
		old := "l2"
		if f.port.Trust == qos.TrustNone {
			old = "port"
		}
		add(set("", "trust", "profile", global, "mode", "both"), set("", "trust", "profile", global, "mode", old))
	case "dscp":
		c := f.class()
		add(set("", "map-dscp", "profile", global, "list", itoa(c.DSCP), "priority", itoa(c.Priority)),
			set("", "map-dscp", "profile", global, "list", itoa(c.DSCP), "priority", itoa(f.port.DSCPToPriority[c.DSCP])))
	case "pfc":
		_, extra := f.priorities()
		for _, p := range extra {
			add("nv unset qos pfc "+global+" switch-priority "+itoa(p), set("", "pfc-priority", "profile", global, "list", itoa(p)))
		}
		if f.port.PFCMask&f.in.LosslessMask() != f.in.LosslessMask() {
			list := strings.ReplaceAll(spaced(dialect.Bits(f.in.LosslessMask())), " ", ",")
			add(set("", "pfc-priority", "profile", global, "list", list), "nv unset qos pfc "+global+" switch-priority "+list)
		}
	case "ecn":
		q, old := itoa(f.number), &f.port.Queues[f.number]
		add(set("", "ecn-min", "profile", global, "list", q, "bytes", itoa(int64(f.in.ECN.Min))), set("", "ecn-min", "profile", global, "list", q, "bytes", itoa(int64(old.Min))))
		add(set("", "ecn-max", "profile", global, "list", q, "bytes", itoa(int64(f.in.ECN.Max))), set("", "ecn-max", "profile", global, "list", q, "bytes", itoa(int64(old.Max))))
		add(set("", "ecn-probability", "profile", global, "list", q, "percent", percentOf(f.in.ECN.Probability)), set("", "ecn-probability", "profile", global, "list", q, "percent", percentOf(max(0, old.Probability))))
		if old.ECN != qos.On {
			add(set("", "ecn", "profile", global, "list", q, "state", "enable"), set("", "ecn", "profile", global, "list", q, "state", "disable"))
		}
	case "mtu":
		f.scope = "port"
		for _, n := range f.names {
			add(set("", "mtu", "ports", n, "mtu", itoa(int64(f.in.PortMTU))), set("", "mtu", "ports", n, "mtu", itoa(int64(f.port.MTU))))
		}
	case "watchdog":
		f.scope = "port"
		for _, n := range f.names {
			add(set("", "watchdog", "ports", n), "nv unset interface "+n+" qos pfc-watchdog")
		}
	case "schedule":
		q := itoa(f.number)
		if f.class().Strict {
			add(set("", "schedule-mode", "profile", global, "list", q, "mode", "strict"), set("", "schedule-mode", "profile", global, "list", q, "mode", "dwrr"))
		} else {
			add(set("", "schedule-share", "profile", global, "list", q, "percent", percentOf(f.in.RoCE().Share)), set("", "schedule-share", "profile", global, "list", q, "percent", percentOf(f.port.Queues[f.number].Share)))
		}
	}
	if len(f.do) > 0 {
		f.do, f.undo = append(f.do, "nv config apply"), append(f.undo, "nv config apply")
	}
}

// sonic writes the change of a SONiC switch into its CONFIG_DB.
func (f *repairer) sonic() {
	doc := f.config.Tree
	row := func(table, key string) *jsontree.Node { return doc.Get(table).Get(key) }
	seen := map[string]bool{}
	set := func(table, key, field, value string) {
		place := fmt.Sprintf("sonic-db-cli CONFIG_DB %%s '%s|%s' %s", table, key, quoteField(field))
		if seen[place] {
			return
		}
		seen[place] = true
		old := row(table, key).Get(field)
		f.do = append(f.do, fmt.Sprintf(place, "HSET")+" "+quoteField(value))
		if old != nil {
			f.undo = append(f.undo, fmt.Sprintf(place, "HSET")+" "+quoteField(old.Str()))
		} else {
			f.undo = append(f.undo, fmt.Sprintf(place, "HDEL"))
		}
	}
	ref := func(n *jsontree.Node) string {
		return strings.TrimSuffix(n.Str()[strings.LastIndexByte(n.Str(), '|')+1:], "]")
	}
	switch f.setting {
	case "trust":
		name := ""
		for _, m := range doc.Get("DSCP_TO_TC_MAP").Members() {
			name = m.Key
		}
		if name == "" {
			return
		}
		for _, n := range f.names {
			set("PORT_QOS_MAP", n, "dscp_to_tc_map", name)
		}
	case "dscp":
		c := f.class()
		f.scope = "device"
		for _, n := range f.names {
			m := row("PORT_QOS_MAP", n).Get("dscp_to_tc_map")
			if m == nil {
				m = row("PORT_QOS_MAP", "global").Get("dscp_to_tc_map")
			}
			if m != nil {
				set("DSCP_TO_TC_MAP", ref(m), itoa(c.DSCP), itoa(c.Priority))
			}
		}
	case "pfc":
		list := strings.ReplaceAll(spaced(dialect.Bits(f.in.LosslessMask())), " ", ",")
		for _, n := range f.names {
			set("PORT_QOS_MAP", n, "pfc_enable", list)
		}
	case "ecn":
		f.sonicECN(row, ref, set)
	case "schedule":
		for _, n := range f.names {
			s := row("QUEUE", n+"|"+itoa(f.number)).Get("scheduler")
			if s == nil {
				continue
			}
			f.scope = "device"
			if f.class().Strict {
				set("SCHEDULER", ref(s), "type", "STRICT")
			} else {
				set("SCHEDULER", ref(s), "weight", itoa(min(100, f.weightFor(f.in.RoCE().Share))))
			}
		}
	case "mtu":
		for _, n := range f.names {
			set("PORT", n, "mtu", itoa(int64(f.in.PortMTU)))
		}
	case "watchdog":
		for _, n := range f.names {
			set("PFC_WD", n, "action", "drop")
			set("PFC_WD", n, "detection_time", itoa(int64(f.in.Watchdog.DetectAfter.Microseconds()/1000)))
			set("PFC_WD", n, "restoration_time", itoa(int64(f.in.Watchdog.RestoreAfter.Microseconds()/1000)))
		}
	case "cable_length":
		for _, table := range doc.Get("CABLE_LENGTH").Members() {
			for _, n := range f.names {
				if table.Get(n) != nil {
					set("CABLE_LENGTH", table.Key, n, itoa(int64(float64(f.length)+0.99))+"m")
				}
			}
		}
	}
}

func (f *repairer) sonicECN(row func(table, key string) *jsontree.Node, ref func(*jsontree.Node) string, set func(table, key, field, value string)) {
	f.scope = "device"
	fill := func(profile string) {
		set("WRED_PROFILE", profile, "ecn", "ecn_all")
		set("WRED_PROFILE", profile, "wred_green_enable", "true")
		set("WRED_PROFILE", profile, "green_min_threshold", itoa(int64(f.in.ECN.Min)))
		set("WRED_PROFILE", profile, "green_max_threshold", itoa(int64(f.in.ECN.Max)))
		set("WRED_PROFILE", profile, "green_drop_probability", percentOf(f.in.ECN.Probability))
	}
	for _, n := range f.names {
		key := n + "|" + itoa(f.number)
		if p := row("QUEUE", key).Get("wred_profile"); p != nil {
			fill(ref(p))
			continue
		}
		fill("WEIR_ROCE")
		set("QUEUE", key, "wred_profile", "WEIR_ROCE")
	}
}

func quoteField(s string) string {
	if s == "" || strings.ContainsAny(s, " |'\"$`\\;&<>()*?") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// junos writes the change of a Juniper switch; it takes effect with commit.
func (f *repairer) junos() {
	add := func(do, undo string) { f.do, f.undo = append(f.do, "set "+do), append(f.undo, undo) }
	one := func(pattern string) string { return f.find(pattern) }
	f.scope = "device"
	roce := f.in.RoCE()
	switch f.setting {
	case "dscp":
		c := f.class()
		queue := f.queueOf(c)
		class := one(`class (\S+) queue-num ` + itoa(queue))
		name := one(`dscp (\S+) (?:\{|forwarding-class)`)
		if c.DSCP != roce.DSCP || class == "" || name == "" {
			return
		}
		s := f.line("", "classifier", "kind", "dscp", "name", name, "class", class, "loss", "low", "point", fmt.Sprintf("%06b", c.DSCP))
		add(s, "delete "+s)
	case "ecn":
		f.junosECN(add)
	case "pfc":
		profile := one(`interfaces? .*congestion-notification-profile (\S+?);?$|^ +congestion-notification-profile (\S+?);$`)
		missing, _ := f.priorities()
		if profile == "" || len(missing) == 0 {
			return
		}
		line := f.line("", "pfc-input", "profile", profile, "field", "dscp", "point", fmt.Sprintf("%06b", roce.DSCP))
		add(line, "delete "+line)
	case "watchdog":
		if profile := one(`interfaces? .*congestion-notification-profile (\S+?);?$|^ +congestion-notification-profile (\S+?);$`); profile != "" {
			line := f.line("", "watchdog", "profile", profile)
			add(line, "delete "+line)
		}
	case "mtu":
		f.scope = "port"
		for _, n := range f.names {
			add(f.line("", "mtu", "port", n, "mtu", itoa(int64(f.in.PortMTU)+dialect.HeaderBytes)), "set "+f.line("", "mtu", "port", n, "mtu", itoa(int64(f.port.MTU)+dialect.HeaderBytes)))
		}
	}
	if len(f.do) > 0 {
		f.do, f.undo = append(f.do, "commit"), append(f.undo, "commit")
	}
}

// junosECN turns marking on, or moves its thresholds.
func (f *repairer) junosECN(add func(do, undo string)) {
	class := f.find(`class (\S+) queue-num ` + itoa(f.number))
	scheduler := f.find(`forwarding-class ` + regexp.QuoteMeta(class) + ` scheduler (\S+?);?$`)
	q := &f.port.Queues[f.number]
	if class == "" || scheduler == "" {
		return
	}
	if q.ECN != qos.On {
		line := f.line("", "ecn", "scheduler", scheduler)
		add(line, "delete "+line)
		return
	}
	profile := f.find(`drop-profile (\S+?);?$`)
	if profile == "" || f.fill == 0 || q.Raw.Unit != "percent" {
		return
	}
	percent := func(b units.Bytes) string { return itoa((100*int64(b) + int64(f.fill)/2) / int64(f.fill)) }
	level := "class-of-service drop-profiles " + profile + " interpolate fill-level"
	drop := "class-of-service drop-profiles " + profile + " interpolate drop-probability"
	f.do = append(f.do, "delete "+level, "delete "+drop)
	f.undo = append(f.undo, "delete "+level, "delete "+drop)
	for i, b := range []units.Bytes{f.in.ECN.Min, f.in.ECN.Max} {
		add(f.line("", "fill", "profile", profile, "percent", percent(b)), "set "+level+" "+itoa(int64([]float64{q.Raw.Min, q.Raw.Max}[i])))
	}
	for i, p := range []string{"0", percentOf(f.in.ECN.Probability)} {
		add(f.line("", "drop", "profile", profile, "percent", p), "set "+drop+" "+[]string{"0", percentOf(max(0, q.Probability))}[i])
	}
}
