package nic

import (
	"strings"

	"weir/internal/field/evidence/tool"
)

var (
	moduleLine = tool.MustCompile(`^\s*([A-Z][A-Za-z0-9 (),./%+-]*?)\s+:\s?(.*)$`)
	moduleLane = tool.MustCompile(`\((?:Channel|Chan|Lane) (\d+)\)`)
	dBm        = tool.MustCompile(`(-?\d+(?:\.\d+)?) dBm`)
	inParens   = tool.MustCompile(`\(([^)]*)\)`)
	copper     = tool.MustCompile(`(?i)Base-CR|\bCR\d?\b|copper|passive|\bDAC\b`)
)

var ethtoolModule = tool.Parser{
	Tool:     "ethtool -m",
	Versions: ethtoolVersions + "; SFF-8472, SFF-8636 and CMIS modules",
	Keys: []string{
		"module.type", "module.media", "module.copper", "module.vendor", "module.part", "module.serial", "module.length",
		"module.temperature", "module.voltage", "module.lane.{n}.bias", "module.lane.{n}.tx_power", "module.lane.{n}.rx_power", "module.alarm",
	},
	Recognise: func(w *tool.Window) tool.Score {
		m := moduleLine.FindStringSubmatch(w.First())
		switch {
		case m == nil:
		case m[1] == "Identifier" && strings.HasPrefix(m[2], "0x"):
			return tool.Sure
		case m[1] == "Module temperature", m[1] == "Laser tx bias current (Channel 1)", m[1] == "Vendor PN", m[1] == "Transceiver type":
			return tool.Likely // the head was cut
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return newModule(ctx) },
}

func newModule(ctx *tool.Context) *tool.Each {
	nic := ethtoolNIC(ctx)
	started, isCopper, seen := false, false, 0
	return &tool.Each{
		Belongs: func(l *tool.Line) tool.Score {
			m := moduleLine.FindStringSubmatch(l.Text)
			if m == nil || started && m[1] == "Identifier" {
				return tool.No
			}
			return tool.Likely + 10
		},
		Read: func(l *tool.Line, out *tool.Out) {
			started = true
			m := moduleLine.FindStringSubmatch(l.Text)
			label, value := m[1], strings.TrimSpace(m[2])
			lane := "1"
			if c := moduleLane.FindStringSubmatch(label); c != nil {
				lane = c[1]
			}
			switch what, _, _ := strings.Cut(label, " ("); {
			case label == "Identifier":
				if p := inParens.FindStringSubmatch(value); p != nil {
					out.Text(l.N, nic, "module.type", p[1])
				}
			case label == "Transceiver type":
				out.Text(l.N, nic, "module.media", value)
				isCopper, seen = isCopper || copper.MatchString(value), l.N
			case label == "Cable technology", label == "Transmitter technology", label == "Device technology":
				isCopper, seen = isCopper || strings.Contains(value, "opper"), l.N
			case label == "Vendor name":
				out.Text(l.N, nic, "module.vendor", value)
			case label == "Vendor PN":
				out.Text(l.N, nic, "module.part", value)
			case label == "Vendor SN":
				out.Text(l.N, nic, "module.serial", value)
			case strings.HasPrefix(label, "Length (Copper") || label == "Cable assembly length":
				out.Decimal(l.N, nic, "module.length", strings.TrimSuffix(value, "m"), 1)
			case strings.HasSuffix(what, " alarm") || strings.HasSuffix(what, " warning"):
				if value == "On" {
					out.Text(l.N, nic, "module.alarm", label)
				}
			case strings.Contains(label, "threshold"):
			default:
				moduleLevel(l, out, ctx, what, lane, value)
			}
		},
		Finish: func(out *tool.Out) {
			if seen > 0 {
				out.Bool(seen, nic, "module.copper", isCopper)
			}
		},
	}
}

// moduleLevel reads a measured value of the module or a lane.
func moduleLevel(l *tool.Line, out *tool.Out, ctx *tool.Context, what, lane, value string) {
	nic := ethtoolNIC(ctx)
	number, _, _ := strings.Cut(value, " ")
	what = strings.TrimSuffix(strings.TrimSuffix(what, "("), "(Channel")
	key := "module.lane." + lane
	switch {
	case what == "Module temperature":
		out.Decimal(l.N, nic, "module.temperature", number, 1)
	case what == "Module voltage":
		out.Decimal(l.N, nic, "module.voltage", number, 1)
	case what == "Laser tx bias current", what == "Laser bias current":
		out.Decimal(l.N, nic, key+".bias", number, 1)
	case strings.HasPrefix(what, "Transmit avg optical power"), what == "Laser output power":
		if m := dBm.FindStringSubmatch(value); m != nil {
			out.Decimal(l.N, nic, key+".tx_power", m[1], 1)
		}
	case strings.HasPrefix(what, "Rcvr signal avg optical power"), what == "Receiver signal average optical power", strings.HasPrefix(what, "Receiver signal OMA"):
		if m := dBm.FindStringSubmatch(value); m != nil {
			out.Decimal(l.N, nic, key+".rx_power", m[1], 1)
		}
	}
}
