package audit

import (
	"strconv"
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
)

func onOff(t qos.Tri) string {
	if t == qos.On {
		return "on"
	}
	return "off"
}

// eos writes the change of an Arista switch. Settings of a profile are changed
// there, for all ports that use it.
func (f *repairer) eos() {
	const inPort, inQueue = "interface", "tx-queue"
	switch f.setting {
	case "trust":
		s := f.line(inPort, "trust", "field", "dscp")
		if n, text := f.at("trust"); n > 0 {
			f.change(f.around(n), []string{s}, []string{text})
			return
		}
		f.eachPort([]string{s}, []string{"no " + s})
	case "dscp":
		c := f.class()
		f.scope = "device"
		old := "no qos map dscp " + itoa(c.DSCP)
		if q := f.port.DSCPToPriority[c.DSCP]; q < qos.Priorities && f.port.Lines[dialect.Key("dscp", f.number)] > 0 {
			old = f.line("", "map-dscp", "list", itoa(c.DSCP), "class", itoa(q))
		}
		f.change(nil, []string{f.line("", "map-dscp", "list", itoa(c.DSCP), "class", itoa(c.Priority))}, []string{old})
	case "pfc":
		f.eosPFC()
	case "ecn":
		ecn := &f.in.ECN
		s := f.line(inQueue, "ecn", "min", kilobytes(ecn.Min), "unit", "kbytes", "max", kilobytes(ecn.Max), "max-unit", "kbytes", "probability", percentOf(ecn.Probability))
		if n, text := f.at(dialect.Key("ecn", f.number)); n > 0 {
			do := []string{s}
			if strings.HasPrefix(text, "random-detect drop") {
				do = []string{"no random-detect drop", s}
			}
			f.change(f.around(n), do, []string{"no random-detect ecn", text})
		} else if n, _ := f.at(dialect.Key("schedule", f.number)); n > 0 {
			f.change(f.queueBlock(n), []string{s}, []string{"no random-detect ecn"})
		}
	case "schedule":
		n, _ := f.at(dialect.Key("schedule", f.number))
		if n == 0 {
			return
		}
		if f.class().Strict {
			f.change(f.queueBlock(n), []string{f.line(inQueue, "priority")}, []string{f.line(inQueue, "no-priority")})
			return
		}
		f.change(f.queueBlock(n), []string{f.line(inQueue, "no-priority"), f.line(inQueue, "bandwidth", "percent", percentOf(f.in.RoCE().Share))},
			[]string{f.line(inQueue, "bandwidth", "percent", percentOf(f.port.Queues[f.number].Share))})
	case "mtu":
		f.eachPort([]string{f.line(inPort, "mtu", "mtu", itoa(min(int64(f.in.PortMTU), 9214)))}, []string{f.line(inPort, "mtu", "mtu", itoa(int64(f.port.MTU)))})
	case "watchdog":
		f.eosWatchdog()
	case "pause":
		var do, undo []string
		for _, direction := range []string{"receive", "send"} {
			state := f.port.GlobalPauseRx
			if direction == "send" {
				state = f.port.GlobalPauseTx
			}
			do = append(do, f.line(inPort, "link-pause", "direction", direction, "state", "off"))
			undo = append(undo, f.line(inPort, "link-pause", "direction", direction, "state", onOff(state)))
		}
		f.eachPort(do, undo)
	}
}

// queueBlock is the block of a queue whose line, or a line in it, is given.
func (f *repairer) queueBlock(n int) []string {
	block := f.around(n)
	if text := textLine(f.config.Text, n); strings.Contains(text, "tx-queue") {
		block = append(block, text)
	}
	return block
}

// profile is the block that holds a port's PFC statements: its profile's where
// one of the port's lines stands in one, else its own.
func (f *repairer) profile() [][]string {
	for _, key := range []string{"pfc", "watchdog", "pfc.0", "pfc.1", "pfc.2", "pfc.3", "pfc.4", "pfc.5", "pfc.6", "pfc.7", "trust"} {
		if n, _ := f.at(key); n > 0 {
			if b := f.around(n); len(b) > 0 && strings.HasPrefix(b[0], "qos profile") {
				return [][]string{b[:1]}
			}
		}
	}
	var out [][]string
	for _, n := range f.names {
		out = append(out, []string{"interface " + n})
	}
	return out
}

func (f *repairer) eosPFC() {
	missing, extra := f.priorities()
	var do, undo []string
	if f.port.PFC != qos.On {
		do, undo = append(do, f.line("interface", "pfc-on")), append(undo, "no priority-flow-control on")
	}
	for _, p := range extra {
		s := f.line("interface", "pfc-priority", "priority", itoa(p), "effect", "no-drop")
		do, undo = append(do, "no "+s), append(undo, s)
	}
	for _, p := range missing {
		s := f.line("interface", "pfc-priority", "priority", itoa(p), "effect", "no-drop")
		do, undo = append(do, s), append(undo, "no "+s)
	}
	for _, b := range f.profile() {
		f.change(b, do, undo)
	}
}

func (f *repairer) eosWatchdog() {
	w := &f.in.Watchdog
	seconds := func(ms float64) string { return strconv.FormatFloat(ms/1000, 'f', -1, 64) }
	timer := f.line("interface", "watchdog-timer", "timeout", seconds(w.DetectAfter.Microseconds()/1000), "polling", "auto", "recovery", seconds(2*w.RestoreAfter.Microseconds()/1000), "forced", "forced")
	do := []string{f.line("interface", "watchdog"), f.line("interface", "watchdog-action", "action", "drop"), timer}
	undo := []string{"no " + do[0]}
	if p := f.port; p.Watchdog == qos.On {
		undo = nil
		if p.WatchdogAction != "" {
			undo = append(undo, f.line("interface", "watchdog-action", "action", p.WatchdogAction))
		}
		if p.WatchdogDetect > 0 {
			undo = append(undo, f.line("interface", "watchdog-timer", "timeout", seconds(p.WatchdogDetect.Microseconds()/1000), "polling", "auto", "recovery", seconds(p.WatchdogRestore.Microseconds()/1000), "forced", "forced"))
		}
	}
	for _, b := range f.profile() {
		f.change(b, do, undo)
	}
}
