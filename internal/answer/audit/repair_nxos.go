package audit

import (
	"cmp"
	"strings"

	"weir/internal/field/dialect"
)

// nxos writes the change of a Nexus switch.
func (f *repairer) nxos() {
	const inPort = "interface"
	switch f.setting {
	case "trust":
		policy := f.find(`^policy-map type qos (\S+)`)
		s := f.line(inPort, "service-policy", "direction", "input", "name", policy)
		s = strings.Replace(s, "service-policy input", "service-policy type qos input", 1)
		f.eachPort([]string{s}, []string{"no " + s})
	case "dscp":
		f.nxosClass()
	case "pfc":
		f.nxosPFC()
	case "ecn":
		f.nxosECN()
	case "schedule", "ets":
		f.nxosSchedule()
	case "mtu":
		if n, text := f.at(dialect.Key("mtu", f.number)); f.number > 0 && n > 0 {
			f.disruption, f.scope = "pause", "device"
			f.change(f.around(n), []string{f.line("policy-map network-qos class", "mtu", "mtu", itoa(int64(f.in.PortMTU)))}, []string{text})
			return
		}
		f.eachPort([]string{f.line(inPort, "mtu", "mtu", itoa(int64(f.in.PortMTU)))}, []string{f.line(inPort, "mtu", "mtu", itoa(int64(f.port.MTU)))})
	case "watchdog":
		on := f.line("", "watchdog", "state", "on")
		if f.find(`^(priority-flow-control watch-dog-interval on)`) == "" {
			f.change(nil, []string{on}, []string{"no " + on})
		}
		f.eachPort([]string{f.line(inPort, "watchdog", "state", "on")}, []string{"no " + on})
	case "pause":
		f.eachPort([]string{f.line(inPort, "link-pause", "direction", "receive", "state", "off"), f.line(inPort, "link-pause", "direction", "send", "state", "off")},
			[]string{f.line(inPort, "link-pause", "direction", "receive", "state", onOff(f.port.GlobalPauseRx)), f.line(inPort, "link-pause", "direction", "send", "state", onOff(f.port.GlobalPauseTx))})
	}
}

// nxosClass moves a code point's class to its qos-group, or makes one for it.
func (f *repairer) nxosClass() {
	c := f.class()
	f.scope = "device"
	group := itoa(f.queueOf(c))
	set := f.line("policy-map qos class", "set-group", "group", group)
	if n, text := f.at(dialect.Key("dscp", f.number)); n > 0 {
		old := f.line("policy-map qos class", "set-group", "group", itoa(f.port.DSCPToQueue[c.DSCP]))
		f.change(append(f.around(n), text), []string{set}, []string{old})
		return
	}
	_, text := f.at("trust")
	policy := last(words(text))
	name := "WEIR-" + strings.ToUpper(c.Name)
	open := f.line("", "class-map", "type", "qos", "match", "match-any", "name", name)
	f.change([]string{open}, []string{f.line("class-map", "match-dscp", "dscps", itoa(c.DSCP))}, nil)
	block := []string{f.line("", "policy-qos", "name", policy)}
	f.change(append(block, "class "+name), []string{set}, nil)
	f.undo = appendBlock(f.undo, block, []string{"no class " + name})
	f.undo = append(f.undo, "no "+open)
	f.text = "A new class comes last in the policy: where another class takes the code point first, take it out there."
}

func (f *repairer) nxosPFC() {
	missing, extra := f.priorities()
	if len(missing) == 0 && len(extra) == 0 || f.port.PFCMode != "on" && f.port.PFCMask != 0 {
		f.eachPort([]string{f.line("interface", "pfc-mode", "mode", "on")}, []string{f.line("interface", "pfc-mode", "mode", cmp.Or(f.port.PFCMode, "auto"))})
		return
	}
	f.disruption, f.scope = "pause", "device"
	for _, p := range extra {
		if n, text := f.at(dialect.Key("pfc", p)); n > 0 {
			f.change(f.around(n), []string{"no " + text}, []string{text})
		}
	}
	policy := f.find(`service-policy type network-qos (\S+)`)
	for _, p := range missing {
		block := []string{f.line("", "policy-network", "name", policy), f.line("policy-map network-qos", "class", "name", "c-8q-nq"+itoa(p))}
		s := f.line("policy-map network-qos class", "pause", "cos", itoa(p))
		f.change(block, []string{s}, []string{"no " + s})
	}
	f.text = "A change of the network-qos policy stops traffic of the whole switch for a moment."
}

func (f *repairer) nxosECN() {
	f.scope = "device"
	ecn := &f.in.ECN
	s := f.line("policy-map queuing class", "random-detect", "min", kilobytes(ecn.Min), "min-unit", "kbytes", "max", kilobytes(ecn.Max), "max-unit", "kbytes",
		"probability", percentOf(ecn.Probability), "weight", "0", "ecn", "ecn")
	if n, text := f.at(dialect.Key("ecn", f.number)); n > 0 {
		f.change(f.around(n), []string{s}, []string{"no " + s, text})
	} else if n, text := f.at(dialect.Key("schedule", f.number)); n > 0 {
		f.change(append(f.around(n), text), []string{s}, []string{"no " + s})
	}
}

func (f *repairer) nxosSchedule() {
	f.scope = "device"
	const in = "policy-map queuing class"
	queue, share := f.number, f.in.RoCE().Share
	if f.setting == "ets" {
		q, rest, ok := f.restShare()
		if !ok {
			return
		}
		queue, share = q, rest
	}
	n, text := f.at(dialect.Key("schedule", queue))
	if n == 0 {
		return
	}
	block := append(f.around(n), text)
	old := "bandwidth remaining percent " + percentOf(f.port.Queues[queue].Share)
	if f.setting == "schedule" && f.class().Strict {
		s := f.line(in, "priority", "level", "1")
		f.change(block, []string{"no " + old, s}, []string{"no " + s, old})
		return
	}
	f.change(block, []string{f.line(in, "bandwidth", "percent", percentOf(share))}, []string{old})
}
