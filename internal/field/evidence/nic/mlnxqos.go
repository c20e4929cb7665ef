package nic

import (
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
	"weir/units"
)

var mlnxQoS = tool.Parser{
	Tool:     "mlnx_qos",
	Versions: "mlnx-tools 5.x to 24.x; with and without receive buffers",
	Programs: []string{"mlnx_qos"},
	Keys: []string{
		"qos.dcbx.owner", "qos.trust", "qos.default_priority", "qos.dscp.{dscp}.priority", "qos.buffer.{n}.size", "qos.buffer.total",
		"qos.cable_length", "qos.pfc.enabled", "qos.priority.{priority}.buffer", "qos.priority.{priority}.tc", "qos.tc.{tc}.tsa",
		"qos.tc.{tc}.bandwidth", "qos.tc.{tc}.rate_limit", "qos.lldpad_running",
	},
	Recognise: func(w *tool.Window) tool.Score {
		switch t := strings.TrimSpace(w.First()); {
		case strings.HasPrefix(t, "DCBX mode: "), strings.HasPrefix(t, "Priority trust state: "), t == "dscp2prio mapping:", strings.HasPrefix(t, "PFC configuration:"):
			return tool.Sure
		case mlnxTC(t), strings.HasPrefix(t, "Receive buffer size (bytes):"):
			return tool.Sure
		case mlnxDSCP(t): // the head was cut
			return tool.Likely
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &mlnxQoSRun{ctx: ctx, nic: ctx.NIC(ctx.After("-i", "--interface"))}
	},
}

func mlnxTC(t string) bool {
	return strings.HasPrefix(t, "tc: ") && strings.Contains(t, "ratelimit: ")
}
func mlnxDSCP(t string) bool {
	return strings.HasPrefix(t, "prio:") && strings.Contains(t, " dscp:")
}

// mlnxQoSRun is one output of mlnx_qos. The PFC table's rows belong to the
// priorities of its head; the lines under a tc name the priorities in it.
type mlnxQoSRun struct {
	ctx        *tool.Context
	nic        fact.Subject
	started    bool
	priorities []string
	inTable    bool
	tc         string
}

func (m *mlnxQoSRun) Match(l *tool.Line) tool.Score {
	t := strings.TrimSpace(l.Text)
	label, _, ok := strings.Cut(t, ":")
	switch {
	case strings.HasPrefix(t, "DCBX mode: "):
		if m.started {
			return tool.No
		}
		return tool.Sure
	case mlnxTC(t), mlnxDSCP(t):
		return tool.Sure
	case strings.Contains(t, "lldpad service is running"):
		return tool.Sure
	case m.inTable && (strings.HasPrefix(t, "priority ") || strings.HasPrefix(t, "enabled ") || strings.HasPrefix(t, "buffer ")):
		return tool.Sure
	case ok && m.tc != "" && (label == "priority" || label == "up" || label == "skprio"):
		return tool.Sure
	}
	switch label {
	case "Priority trust state", "dscp2prio mapping", "default priority", "Receive buffer size (bytes)", "Cable len", "PFC configuration":
		return tool.Sure
	}
	return tool.No
}

func (m *mlnxQoSRun) Take(l *tool.Line, out *tool.Out) {
	m.started = true
	t := strings.TrimSpace(l.Text)
	label, value, _ := strings.Cut(t, ":")
	value = strings.TrimSpace(value)
	ok := true
	switch {
	case m.inTable && label == t:
		ok = m.table(l, out)
	case mlnxTC(t):
		ok = m.class(l, out, t)
	case mlnxDSCP(t):
		ok = m.dscp(l, out, t)
	case strings.Contains(t, "lldpad service is running"):
		out.Bool(l.N, m.nic, "qos.lldpad_running", true)
	default:
		ok = m.setting(l, out, label, value)
	}
	if !ok {
		out.NotUnderstood(l)
	}
}

func (m *mlnxQoSRun) End(*tool.Out) {}

func (m *mlnxQoSRun) setting(l *tool.Line, out *tool.Out, label, value string) bool {
	switch label {
	case "DCBX mode":
		owner, _, _ := strings.Cut(value, " ")
		out.Text(l.N, m.nic, "qos.dcbx.owner", strings.ToLower(owner))
	case "Priority trust state":
		out.Text(l.N, m.nic, "qos.trust", value)
	case "default priority":
		if value == "" {
			return true
		}
		return out.Number(l.N, m.nic, "qos.default_priority", value)
	case "dscp2prio mapping":
	case "Receive buffer size (bytes)":
		for i, v := range strings.Split(strings.TrimSuffix(value, ","), ",") {
			key := "qos.buffer." + strconv.Itoa(i) + ".size"
			if total, is := strings.CutPrefix(v, "max_buffer_size="); is {
				key, v = "qos.buffer.total", total
			}
			if !out.Number(l.N, m.nic, key, v) {
				return false
			}
		}
	case "Cable len":
		return out.Number(l.N, m.nic, "qos.cable_length", value)
	case "PFC configuration":
		m.inTable = true
	case "priority", "up":
		return out.Number(l.N, m.nic, "qos.priority."+value+".tc", m.tc)
	case "skprio": // how Linux maps a socket's priority; RDMA does not use it
	default:
		return false
	}
	return true
}

// table reads a row of the PFC table.
func (m *mlnxQoSRun) table(l *tool.Line, out *tool.Out) bool {
	f := strings.Fields(l.Text)
	if f[0] == "priority" {
		m.priorities = f[1:]
		return true
	}
	if len(f)-1 != len(m.priorities) {
		return false
	}
	if f[0] == "buffer" {
		for i, v := range f[1:] {
			if !out.Number(l.N, m.nic, "qos.priority."+m.priorities[i]+".buffer", v) {
				return false
			}
		}
		return true
	}
	on := []string{}
	for i, v := range f[1:] {
		if v == "1" {
			on = append(on, m.priorities[i])
		}
	}
	out.List(l.N, m.nic, "qos.pfc.enabled", on)
	return true
}

// class reads "tc: 3 ratelimit: 90.0 Gbps, tsa: ets, bw: 50%".
func (m *mlnxQoSRun) class(l *tool.Line, out *tool.Out, t string) bool {
	head, rest, _ := strings.Cut(t, " ratelimit: ")
	m.tc = strings.TrimPrefix(head, "tc: ")
	key := "qos.tc." + m.tc
	for i, part := range strings.Split(rest, ", ") {
		name, value, _ := strings.Cut(part, ": ")
		switch {
		case i == 0 && part == "unlimited":
			out.Absent(l.N, m.nic, key+".rate_limit")
		case i == 0:
			rate, err := units.ParseBitRate(strings.ReplaceAll(part, " ", ""))
			if err != nil {
				return false
			}
			out.Float(l.N, m.nic, key+".rate_limit", float64(rate))
		case name == "tsa":
			out.Text(l.N, m.nic, key+".tsa", value)
		case name == "bw":
			if !out.Number(l.N, m.nic, key+".bandwidth", strings.TrimSuffix(value, "%")) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// dscp reads "prio:3 dscp:31,30,29,". Further code points of the same
// priority follow on a line of the same form.
func (m *mlnxQoSRun) dscp(l *tool.Line, out *tool.Out, t string) bool {
	prio, list, _ := strings.Cut(strings.TrimPrefix(t, "prio:"), " dscp:")
	for _, d := range strings.Split(strings.TrimSuffix(list, ","), ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(d), 10, 8)
		if err != nil || n > 63 {
			return false
		}
		if !out.Number(l.N, m.nic, "qos.dscp."+strconv.FormatUint(n, 10)+".priority", prio) {
			return false
		}
	}
	return true
}
