package nic

import (
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	// "ROCE_CC_PRIO_MASK_P1   255", with -e three columns and a star for
	// what differs from the default: "*  LINK_TYPE_P1  IB(1)  ETH(2)  ETH(2)".
	mlxSetting = tool.MustCompile(`^\*?\s+(?:RO\s+)?([A-Z][A-Z0-9_]+(?:\[[^\]]*\])?)\s+(\S+(?: \S+)*)(?:\s{2,}(\S+))?(?:\s{2,}(\S+))?\s*$`)
	mlxHead    = tool.MustCompile(`^(?:Device #\d+:|Device type:|Name:|Description:|Device:|Configurations:)`)
	mlxNumber  = tool.MustCompile(`^[A-Za-z_0-9]+\((-?(?:0x)?[0-9a-fA-F]+)\)$`)
	pciAddress = tool.MustCompile(`^(?:[0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$`)
	mlxPort    = tool.MustCompile(`^(.+)_P(\d)$`)
)

var mlxconfig = tool.Parser{
	Tool:     "mlxconfig",
	Versions: "layouts of MFT: query with and without -e",
	Programs: []string{"mlxconfig", "mstconfig"},
	Keys: []string{
		"firmware.setting.{name...}", "rdma.model", "dcqcn.priority_mask", "dcqcn.ai_rate", "dcqcn.hai_rate", "dcqcn.min_rate", "dcqcn.max_rate",
		"dcqcn.first_cnp_rate", "dcqcn.time_reset", "dcqcn.byte_reset", "dcqcn.threshold", "dcqcn.gd", "dcqcn.dce_tcp_g", "dcqcn.dce_tcp_rtt",
		"dcqcn.initial_alpha", "dcqcn.min_dec_fac", "dcqcn.reduce_period", "dcqcn.clamp_target", "dcqcn.clamp_target_ati", "dcqcn.cnp_dscp",
		"dcqcn.cnp_priority", "dcqcn.min_time_between_cnps",
	},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		head := func(t string) bool {
			return strings.HasPrefix(t, "Configurations:") && (strings.Contains(t, "Next") || strings.Contains(t, "Current"))
		}
		switch {
		case head(t), mlxHead.MatchString(t) && w.Any(12, head):
			return tool.Sure
		}
		if m := mlxSetting.FindStringSubmatch(t); m != nil && (mlxPort.MatchString(m[1]) || mlxNumber.MatchString(m[2])) {
			return tool.Likely // the head was cut, or grep took lines out
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &mlxconfigRun{ctx: ctx, dev: mlxDevice(ctx, ctx.After("-d", "-dev", "--dev"))}
	},
}

func mlxDevice(ctx *tool.Context, name string) fact.Subject {
	if pciAddress.MatchString(name) {
		if strings.Count(name, ":") == 1 {
			name = "0000:" + name
		}
		return fact.Subject{Kind: fact.PCI, Host: ctx.Host, Name: name}
	}
	return ctx.NIC(name)
}

type mlxconfigRun struct {
	ctx     *tool.Context
	dev     fact.Subject
	columns int // of values: 1, or 3 with -e
}

func (m *mlxconfigRun) Match(l *tool.Line) tool.Score {
	if mlxHead.MatchString(l.Text) {
		return tool.Sure
	}
	if mlxSetting.MatchString(l.Text) {
		return tool.Sure - 1
	}
	return tool.No
}

func (m *mlxconfigRun) End(*tool.Out) {}

func (m *mlxconfigRun) Take(l *tool.Line, out *tool.Out) {
	if mlxHead.MatchString(l.Text) {
		label, value, _ := strings.Cut(l.Text, ":")
		value = strings.TrimSpace(value)
		switch label {
		case "Device":
			m.dev = mlxDevice(m.ctx, value)
		case "Configurations":
			m.columns = len(strings.Fields(strings.ReplaceAll(value, "Next ", "Next")))
		}
		return
	}
	s := mlxSetting.FindStringSubmatch(l.Text)
	value := s[2]
	if f := strings.Fields(s[2] + " " + s[3] + " " + s[4]); len(f) > 1 && m.columns == 3 {
		value = f[len(f)-1] // default, current, next boot
	}
	out.Text(l.N, m.dev, "firmware.setting."+s[1], value)
	number := value
	if v := mlxNumber.FindStringSubmatch(value); v != nil {
		number = v[1]
	}
	name, dev := s[1], m.dev
	if p := mlxPort.FindStringSubmatch(name); p != nil {
		name = p[1]
		if p[2] != "1" {
			dev.Name += "/" + p[2]
		}
		dcqcnSetting(l.N, out, dev, name, number)
	}
}
