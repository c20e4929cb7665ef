package nic

import (
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
	"weir/units"
)

var (
	nicctlHead = tool.MustCompile(`^NIC\s*: \S+\s*\((\S+)\)`)
	nicctlLine = tool.MustCompile(`^\s*([A-Z][A-Za-z0-9 -]*?)\s*:\s*(.*)$`)
	nicctlDSCP = tool.MustCompile(`^([0-9, -]+)\s*==> priority : (\d)$`)
	nicctlRow  = tool.MustCompile(`^\s+(\d)\s+(DWRR|strict|Strict)\s+(\d+|N/A)\s+(\S+)\s*$`)
)

// nicctlDCQCN maps the words of "nicctl show dcqcn". AMD's firmware counts
// rates, periods and alpha in units of its own, so only what is a plain number
// shares a key with other cards.
var nicctlDCQCN = map[string]string{
	"DSCP value used for CNP": "dcqcn.cnp_dscp",
	"Rate increase threshold": "dcqcn.threshold",
}

var nicctl = tool.Parser{
	Tool:     "nicctl",
	Versions: "layouts of nicctl show qos, show dcqcn, show port",
	Programs: []string{"nicctl"},
	Keys: []string{
		"qos.trust", "qos.dscp.{dscp}.priority", "qos.pfc.enabled", "qos.tc.{tc}.tsa", "qos.tc.{tc}.bandwidth", "qos.tc.{tc}.rate_limit",
		"dcqcn.enabled", "dcqcn.cnp_dscp", "dcqcn.threshold", "dcqcn.other.{name...}", "link.bus", "link.speed", "link.state", "link.mtu", "link.mac", "link.fec.active", "pause.rx", "pause.tx",
		"module.part", "rdma.firmware",
	},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		if nicctlHead.MatchString(t) || strings.HasPrefix(strings.TrimSpace(t), "Classification type ") && strings.Contains(t, ":") {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &nicctlRun{ctx: ctx, nic: ctx.NIC(ctx.After("-r", "--roce-device"))}
	},
}

// nicctlRun reads the blocks that nicctl prints for each card. A card is named
// by its PCI address until the name of its RDMA device is seen.
type nicctlRun struct {
	ctx   *tool.Context
	nic   fact.Subject
	bus   string
	dcqcn bool
}

func (r *nicctlRun) Match(l *tool.Line) tool.Score {
	switch {
	case nicctlHead.MatchString(l.Text), nicctlRow.MatchString(l.Text):
		return tool.Sure
	case nicctlLine.MatchString(l.Text):
		return tool.Likely + 10
	case strings.HasPrefix(strings.TrimSpace(l.Text), "Priority ") || strings.HasPrefix(strings.TrimSpace(l.Text), "Type "):
		return tool.Likely
	}
	return tool.No
}

func (r *nicctlRun) End(*tool.Out) {}

func (r *nicctlRun) Take(l *tool.Line, out *tool.Out) {
	if m := nicctlHead.FindStringSubmatch(l.Text); m != nil {
		r.bus, r.dcqcn = m[1], false
		r.nic = fact.Subject{Kind: fact.PCI, Host: r.ctx.Host, Name: m[1]}
		return
	}
	if m := nicctlRow.FindStringSubmatch(l.Text); m != nil {
		r.row(l, out, m)
		return
	}
	if m := nicctlLine.FindStringSubmatch(l.Text); m != nil && !r.value(l, out, m[1], strings.TrimSpace(m[2])) {
		out.NotUnderstood(l)
	}
}

// row reads a line of the scheduling table: priority, type, share, limit.
func (r *nicctlRun) row(l *tool.Line, out *tool.Out, m []string) {
	key := "qos.tc." + m[1]
	tsa := "ets"
	if strings.EqualFold(m[2], "strict") {
		tsa = "strict"
	}
	out.Text(l.N, r.nic, key+".tsa", tsa)
	if m[3] == "N/A" {
		out.Absent(l.N, r.nic, key+".bandwidth")
	} else {
		out.Number(l.N, r.nic, key+".bandwidth", m[3])
	}
	if !out.Decimal(l.N, r.nic, key+".rate_limit", m[4], 1e9) {
		out.Absent(l.N, r.nic, key+".rate_limit")
	}
}

func (r *nicctlRun) value(l *tool.Line, out *tool.Out, label, value string) bool {
	switch label {
	case "ROCE device":
		r.dcqcn = true
		r.nic = r.ctx.NIC(value)
		if r.bus != "" {
			out.Text(l.N, r.nic, "link.bus", r.bus)
		}
	case "Classification type":
		out.Text(l.N, r.nic, "qos.trust", strings.ToLower(value))
	case "DSCP":
		m := nicctlDSCP.FindStringSubmatch(value)
		return m == nil && !r.dcqcn || m != nil && r.dscps(l, out, m[1], m[2])
	case "PFC no-drop priorities":
		out.List(l.N, r.nic, "qos.pfc.enabled", priorities(value))
	case "Status":
		if !r.dcqcn {
			return true
		}
		out.Bool(l.N, r.nic, "dcqcn.enabled", strings.EqualFold(value, "enabled"))
	case "speed", "Speed":
		rate, err := units.ParseBitRate(value)
		if err == nil {
			out.Uint(l.N, r.nic, "link.speed", uint64(rate))
		}
	case "Operational status":
		out.Text(l.N, r.nic, "link.state", strings.ToLower(value))
	case "MTU":
		return out.Number(l.N, r.nic, "link.mtu", value)
	case "MAC address":
		out.Text(l.N, r.nic, "link.mac", value)
	case "FEC type":
		out.Text(l.N, r.nic, "link.fec.active", value)
	case "Transceiver PID":
		out.Text(l.N, r.nic, "module.part", value)
	default:
		r.setting(l, out, label, value)
	}
	return true
}

// setting keeps the congestion control settings; other labels say nothing
// about the network.
func (r *nicctlRun) setting(l *tool.Line, out *tool.Out, label, value string) {
	if !r.dcqcn || value == "" {
		return
	}
	if key := nicctlDCQCN[label]; key != "" && out.Number(l.N, r.nic, key, value) {
		return
	}
	out.Text(l.N, r.nic, "dcqcn.other."+strings.ToLower(strings.ReplaceAll(label, " ", "_")), value)
}

// dscps reads "0-9, 11-45, 63".
func (r *nicctlRun) dscps(l *tool.Line, out *tool.Out, list, priority string) bool {
	for _, part := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.ParseUint(from, 10, 8)
		b, errB := strconv.ParseUint(to, 10, 8)
		if errA != nil || errB != nil || b > 63 {
			return false
		}
		for d := a; d <= b; d++ {
			out.Number(l.N, r.nic, "qos.dscp."+strconv.FormatUint(d, 10)+".priority", priority)
		}
	}
	return true
}
