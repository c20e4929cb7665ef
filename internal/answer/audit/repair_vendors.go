package audit

import (
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// behaviours are the names that VRP and Comware give to queues 0 to 7.
var behaviours = [...]string{"be", "af1", "af2", "af3", "af4", "ef", "cs6", "cs7"}

// comware writes the change of an H3C switch, whose thresholds count cells.
func (f *repairer) comware() {
	const inPort = "interface"
	cells := func(b units.Bytes) string { return itoa(int64(b) / int64(max(f.cell, 1))) }
	switch f.setting {
	case "trust":
		f.replaceOn("trust", f.line(inPort, "trust", "field", "dscp"), f.line(inPort, "no-trust"))
	case "dscp":
		c := f.class()
		f.scope = "device"
		old := itoa(f.port.DSCPToPriority[c.DSCP])
		block := []string{f.line("", "map", "map", "dscp-dot1p")}
		undo := "undo import " + itoa(c.DSCP)
		if f.port.Lines[dialect.Key("dscp", f.number)] > 0 {
			undo = f.line("qos map-table", "import", "list", itoa(c.DSCP), "to", old)
		}
		f.change(block, []string{f.line("qos map-table", "import", "list", itoa(c.DSCP), "to", itoa(c.Priority))}, []string{undo})
	case "pfc":
		missing, extra := f.priorities()
		var do, undo []string
		if f.port.PFC != qos.On {
			do, undo = append(do, f.line(inPort, "pfc", "mode", "enable")), append(undo, f.line(inPort, "no-pfc"))
			if f.port.PFCMode == "auto" {
				undo = []string{f.line(inPort, "pfc", "mode", "auto")}
			}
		}
		if len(missing)+len(extra) > 0 {
			do = append(do, f.line(inPort, "no-drop", "list", spaced(dialect.Bits(f.in.LosslessMask()))))
			if f.port.PFCMask != 0 {
				undo = append(undo, f.line(inPort, "no-drop", "list", spaced(dialect.Bits(f.port.PFCMask))))
			}
		}
		f.eachPort(do, undo)
	case "ecn":
		q := itoa(f.number)
		old := &f.port.Queues[f.number]
		var do, undo []string
		for level := range 3 {
			do = append(do, f.line(inPort, "wred", "queue", q, "level", itoa(level), "low", cells(f.in.ECN.Min), "high", cells(f.in.ECN.Max), "probability", percentOf(f.in.ECN.Probability)))
			if old.Raw.Unit == "cells" && old.Probability >= 0 {
				undo = append(undo, f.line(inPort, "wred", "queue", q, "level", itoa(level), "low", itoa(int64(old.Raw.Min)), "high", itoa(int64(old.Raw.Max)), "probability", percentOf(old.Probability)))
			}
		}
		do = append(do, f.line(inPort, "ecn", "queue", q))
		if old.ECN != qos.On {
			undo = append(undo, "undo "+f.line(inPort, "ecn", "queue", q))
		}
		f.eachPort(do, undo)
	case "schedule":
		name := behaviours[f.number&7]
		old := f.line(inPort, "weight", "kind", "wfq", "queue", name, "group", "1", "unit", "byte-count", "weight", itoa(max(1, f.port.Queues[f.number].Weight)))
		if f.class().Strict {
			f.eachPort([]string{f.line(inPort, "strict", "kind", "wfq", "queue", name)}, []string{old})
			return
		}
		f.eachPort([]string{f.line(inPort, "weight", "kind", "wfq", "queue", name, "group", "1", "unit", "byte-count", "weight", itoa(f.weightFor(f.in.RoCE().Share)))}, []string{old})
	case "mtu":
		f.eachPort([]string{f.line(inPort, "jumbo", "length", itoa(int64(f.in.PortMTU)+dialect.FramingSize))}, []string{f.line(inPort, "jumbo", "length", itoa(int64(f.port.MTU)+dialect.FramingSize))})
	case "watchdog":
		for _, p := range dialect.Bits(f.in.LosslessMask()) {
			if f.find(`^(priority-flow-control deadlock cos `+itoa(p)+` interval)`) == "" {
				s := f.line("", "deadlock-interval", "cos", itoa(p), "interval", "10")
				f.change(nil, []string{s}, []string{"undo priority-flow-control deadlock cos " + itoa(p) + " interval"})
			}
		}
		s := f.line(inPort, "deadlock")
		f.eachPort([]string{s}, []string{"undo " + s})
	case "ingress":
		s := f.line(inPort, "headroom", "priority", itoa(f.number), "cells", cells(f.room+f.cell-1))
		n, text := f.at(dialect.Key("ingress", f.number))
		if n > 0 && strings.Contains(text, "headroom") {
			f.eachPort([]string{s}, []string{text})
		}
	case "pause":
		f.eachPort([]string{"undo flow-control"}, []string{f.line(inPort, "pause")})
	}
}

// weightFor is the weight that gives the RoCE queue its share beside the other
// queues in use.
func (f *repairer) weightFor(share float64) int {
	k := &check{in: f.in, p: f.port}
	others := 0
	for i, used := range k.usedQueues() {
		if q := &f.port.Queues[i]; used && i != f.number && q.Strict != qos.On {
			others += max(1, q.Weight)
		}
	}
	return max(1, int(float64(max(1, others))*share/(1-min(share, 0.99))+0.5))
}

// replaceOn changes a port's own statement, or adds it.
func (f *repairer) replaceOn(setting, s, without string) {
	if n, text := f.at(setting); n > 0 {
		f.eachPort([]string{s}, []string{text})
		return
	}
	f.eachPort([]string{s}, []string{without})
}

func spaced(list []int) string {
	var b strings.Builder
	for i, n := range list {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(itoa(n))
	}
	return b.String()
}

// vrp writes the change of a Huawei switch; it takes effect with commit.
func (f *repairer) vrp() {
	const inPort = "interface"
	switch f.setting {
	case "trust":
		s := f.line(inPort, "trust", "field", "dscp")
		if n, text := f.at("trust"); n > 0 && strings.HasPrefix(text, "trust 8021p") {
			f.eachPort([]string{s}, []string{text})
		} else {
			f.eachPort([]string{s}, []string{"undo trust dscp"})
		}
	case "dscp":
		c := f.class()
		f.scope = "device"
		domain := f.find(`^diffserv domain (\S+)`)
		block := []string{f.line("", "domain", "name", domain)}
		old := "undo ip-dscp-inbound " + itoa(c.DSCP)
		if _, text := f.at(dialect.Key("dscp", f.number)); strings.HasPrefix(text, "ip-dscp-inbound "+itoa(c.DSCP)+" ") {
			old = text
		}
		f.change(block, []string{f.line("diffserv domain", "dscp", "list", itoa(c.DSCP), "phb", behaviours[c.Priority], "colour", "green")}, []string{old})
	case "pfc":
		missing, extra := f.priorities()
		if f.port.PFC != qos.On {
			undo := f.line(inPort, "no-pfc")
			if f.port.PFCMode == "auto" {
				undo = f.line(inPort, "pfc", "mode", "auto")
			}
			f.eachPort([]string{"dcb pfc enable mode manual"}, []string{undo})
			missing = nil
			if f.find(`^(dcb pfc) *$`) == "" {
				missing = dialect.Bits(f.in.LosslessMask())
			}
		}
		f.scope = "device"
		var do, undo []string
		for _, p := range extra {
			do, undo = append(do, "undo priority "+itoa(p)), append(undo, "priority "+itoa(p))
		}
		for _, p := range missing {
			do, undo = append(do, "priority "+itoa(p)), append(undo, "undo priority "+itoa(p))
		}
		f.change([]string{"dcb pfc"}, do, undo)
	case "ecn":
		f.vrpECN()
	case "mtu":
		f.eachPort([]string{f.line(inPort, "jumbo", "length", itoa(int64(f.in.PortMTU)+dialect.FramingSize))}, []string{f.line(inPort, "jumbo", "length", itoa(int64(f.port.MTU)+dialect.FramingSize))})
	case "pause":
		f.eachPort([]string{f.line(inPort, "no-pause")}, []string{f.line(inPort, "pause")})
	}
	if len(f.do) > 0 {
		f.do = append(f.do, "commit")
		f.undo = append(f.undo, "commit")
	}
}

func (f *repairer) vrpECN() {
	const inPort, inDrop = "interface", "drop-profile"
	profile := f.find(`qos queue ` + itoa(f.number) + ` wred (\S+)`)
	var do, undo []string
	if profile == "" {
		profile = "weir-ecn"
	}
	if f.port.Queues[f.number].ECN != qos.On {
		wred := f.line(inPort, "wred", "queue", itoa(f.number), "profile", profile)
		if !strings.Contains(f.config.Text, wred) {
			do, undo = append(do, wred), append(undo, "undo "+wred)
		}
		s := f.line(inPort, "ecn", "queue", itoa(f.number))
		do, undo = append(do, s), append(undo, "undo "+s)
		f.eachPort(do, undo)
		if profile != "weir-ecn" {
			return
		}
	}
	f.scope = "device"
	old := "undo ecn"
	lines := strings.Split(f.config.Text, "\n")
	for i, l := range lines {
		if strings.TrimSpace(l) != "drop-profile "+profile {
			continue
		}
		for _, l := range lines[i+1:] {
			if indentOf(l) == 0 {
				break
			}
			if strings.Contains(l, "buffer-size") {
				old = strings.TrimSpace(l)
				break
			}
		}
	}
	form := "ecn buffer-size low-limit " + kilobytes(f.in.ECN.Min) + " high-limit " + kilobytes(f.in.ECN.Max) + " discard-percentage " + percentOf(f.in.ECN.Probability) + " kbytes"
	if got, _ := f.grammar.Read(inDrop, form); got == nil {
		f.failed = true
	}
	f.change([]string{f.line("", "drop-profile", "name", profile)}, []string{form}, []string{old})
}

// onyx writes the change of an Onyx switch: each statement names its ports.
func (f *repairer) onyx() {
	const in = "interface"
	on := func(do, undo string) {
		for _, n := range f.names {
			port := "interface ethernet " + strings.TrimPrefix(n, "Eth") + " "
			f.do, f.undo = append(f.do, port+do), append(f.undo, port+undo)
		}
	}
	switch f.setting {
	case "trust":
		old := "L2"
		if f.port.Trust == qos.TrustNone {
			old = "port"
		}
		on(f.line(in, "trust", "mode", "L3"), f.line(in, "trust", "mode", old))
	case "dscp":
		c := f.class()
		old := f.port.DSCPToPriority[c.DSCP]
		on(f.line(in, "map-dscp", "list", itoa(c.DSCP), "priority", itoa(c.Priority)), f.line(in, "map-dscp", "list", itoa(c.DSCP), "priority", itoa(old)))
	case "pfc":
		missing, extra := f.priorities()
		if f.port.PFC != qos.On {
			on(f.line(in, "pfc", "mode", "on", "force", "force"), "no dcb priority-flow-control mode force")
			if f.find(`^ *(dcb priority-flow-control enable)`) == "" {
				f.change(nil, []string{"dcb priority-flow-control enable force"}, []string{"no dcb priority-flow-control enable force"})
			}
		}
		for _, p := range extra {
			f.scope = "device"
			f.change(nil, []string{f.line("", "no-pfc-priority", "priority", itoa(p))}, []string{f.line("", "pfc-priority", "priority", itoa(p))})
		}
		for _, p := range missing {
			if strings.Contains(f.config.Text, f.line("", "pfc-priority", "priority", itoa(p))) {
				continue
			}
			f.scope = "device"
			f.change(nil, []string{f.line("", "pfc-priority", "priority", itoa(p))}, []string{f.line("", "no-pfc-priority", "priority", itoa(p))})
		}
	case "ecn":
		q := &f.port.Queues[f.number]
		undo := f.line(in, "no-ecn", "queue", itoa(f.number))
		if q.WRED == qos.On && q.Max > 0 {
			marks := "red"
			if q.ECN == qos.On {
				marks = "ecn"
			}
			undo = f.line(in, "ecn", "queue", itoa(f.number), "marks", marks, "low", kilobytes(q.Min), "high", kilobytes(q.Max))
		}
		on(f.line(in, "ecn", "queue", itoa(f.number), "marks", "ecn", "low", kilobytes(f.in.ECN.Min), "high", kilobytes(f.in.ECN.Max)), undo)
	case "schedule":
		old := f.line(in, "wrr", "queue", itoa(f.number), "weight", itoa(f.port.Queues[f.number].Weight))
		if f.class().Strict {
			on(f.line(in, "strict", "queue", itoa(f.number)), old)
			return
		}
		on(f.line(in, "wrr", "queue", itoa(f.number), "weight", itoa(min(100, f.weightFor(f.in.RoCE().Share)))), old)
	case "mtu":
		on(f.line(in, "mtu", "mtu", itoa(int64(f.in.PortMTU)), "force", "force"), f.line(in, "mtu", "mtu", itoa(int64(f.port.MTU)), "force", "force"))
	case "watchdog":
		on(f.line(in, "watchdog"), f.line(in, "no-watchdog"))
	case "pause":
		on(f.line(in, "pause", "direction", "receive", "state", "off", "force", "force"), f.line(in, "pause", "direction", "receive", "state", onOff(f.port.GlobalPauseRx), "force", "force"))
		on(f.line(in, "pause", "direction", "send", "state", "off", "force", "force"), f.line(in, "pause", "direction", "send", "state", onOff(f.port.GlobalPauseTx), "force", "force"))
	}
}
