package nic

import (
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

const ethtoolVersions = "ethtool 5.x to 6.x"

// ethtoolNIC returns the interface that an ethtool command names.
func ethtoolNIC(ctx *tool.Context) fact.Subject {
	args := ctx.Args("ethtool")
	for i := 1; i < len(args); i++ {
		if !strings.HasPrefix(args[i], "-") {
			return ctx.NIC(args[i])
		}
	}
	return ctx.NIC("")
}

// headed returns the interface of a head such as "Settings for eth2:".
func headed(text, head string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimSpace(text), head)
	name, colon := strings.CutSuffix(name, ":")
	return name, ok && colon && name != "" && !strings.Contains(name, " ")
}

var ethtoolSettings = tool.Parser{
	Tool:     "ethtool",
	Versions: ethtoolVersions,
	Programs: []string{"ethtool"},
	Keys: []string{
		"link.state", "link.reason", "link.speed", "link.max_speed", "link.lanes", "link.duplex", "link.autoneg", "link.medium",
		"link.fec.supported", "link.fec.advertised",
	},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		if _, ok := headed(t, "Settings for "); ok {
			return tool.Sure
		}
		if strings.HasPrefix(t, "\t") { // the head was cut
			switch label, _, _ := strings.Cut(strings.TrimSpace(t), ":"); label {
			case "Link detected", "Supported link modes", "Auto-negotiation", "Advertised link modes", "Supported ports":
				return tool.Likely
			}
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &settings{ctx: ctx, nic: ethtoolNIC(ctx)} },
}

// settings is one output of "ethtool IFACE". A list of modes goes on in lines
// without a label.
type settings struct {
	ctx   *tool.Context
	nic   fact.Subject
	label string
	fast  uint64 // fastest supported mode in Mb/s
	line  int
}

func (s *settings) Match(l *tool.Line) tool.Score {
	t := l.Text
	if strings.HasPrefix(t, "\t") || s.label != "" && strings.HasPrefix(t, "        ") {
		return tool.Sure - 1 // an indented line may start something surer
	}
	if strings.HasPrefix(t, "Cannot get ") || strings.HasPrefix(t, "netlink error: ") {
		return tool.Likely
	}
	return tool.No
}

var modeSpeed = tool.MustCompile(`^(\d+)base`)

func (s *settings) Take(l *tool.Line, out *tool.Out) {
	if name, ok := headed(l.Text, "Settings for "); ok {
		s.nic = s.ctx.NIC(name)
		return
	}
	t := strings.TrimSpace(l.Text)
	label, value, ok := strings.Cut(t, ":")
	if !ok {
		if s.label == "Supported link modes" {
			s.modes(l, t)
		}
		return
	}
	s.label = label
	value = strings.TrimSpace(value)
	switch label {
	case "Supported link modes":
		s.modes(l, value)
	case "Supported FEC modes":
		fecModes(l, out, s.nic, "link.fec.supported", value)
	case "Advertised FEC modes":
		fecModes(l, out, s.nic, "link.fec.advertised", value)
	case "Speed":
		mbps, isNumber := strings.CutSuffix(value, "Mb/s")
		if u, err := strconv.ParseUint(mbps, 10, 32); isNumber && err == nil {
			out.Uint(l.N, s.nic, "link.speed", u*1_000_000)
		} else {
			out.Absent(l.N, s.nic, "link.speed")
		}
	case "Lanes":
		out.Number(l.N, s.nic, "link.lanes", value)
	case "Duplex":
		if strings.HasPrefix(value, "Unknown") {
			out.Absent(l.N, s.nic, "link.duplex")
		} else {
			out.Text(l.N, s.nic, "link.duplex", strings.ToLower(value))
		}
	case "Auto-negotiation":
		out.Bool(l.N, s.nic, "link.autoneg", value == "on")
	case "Port":
		out.Text(l.N, s.nic, "link.medium", value)
	case "Link detected":
		s.link(l, out, value)
	default:
		if strings.HasPrefix(t, "Cannot get ") || strings.HasPrefix(t, "netlink error") {
			out.NotUnderstood(l)
		}
	}
}

func fecModes(l *tool.Line, out *tool.Out, nic fact.Subject, key, value string) {
	if value == "Not reported" {
		out.Absent(l.N, nic, key)
		return
	}
	out.List(l.N, nic, key, strings.Fields(value))
}

func (s *settings) modes(l *tool.Line, value string) {
	for _, mode := range strings.Fields(value) {
		if m := modeSpeed.FindStringSubmatch(mode); m != nil {
			if u, err := strconv.ParseUint(m[1], 10, 32); err == nil && u > s.fast {
				s.fast, s.line = u, l.N
			}
		}
	}
}

// link reads "yes", "no" and "no (Autoneg, No partner detected)".
func (s *settings) link(l *tool.Line, out *tool.Out, value string) {
	state, reason, _ := strings.Cut(value, " ")
	if state == "yes" {
		out.Text(l.N, s.nic, "link.state", "up")
	} else {
		out.Text(l.N, s.nic, "link.state", "down")
	}
	if reason = strings.Trim(reason, "() "); reason != "" {
		out.Text(l.N, s.nic, "link.reason", reason)
	}
}

func (s *settings) End(out *tool.Out) {
	if s.fast > 0 {
		out.Uint(s.line, s.nic, "link.max_speed", s.fast*1_000_000)
	}
}

var ethtoolPause = tool.Parser{
	Tool:     "ethtool -a",
	Versions: ethtoolVersions,
	Keys:     []string{"pause.autoneg", "pause.rx", "pause.tx", "counter.{name...}"},
	Recognise: func(w *tool.Window) tool.Score {
		if _, ok := headed(w.First(), "Pause parameters for "); ok {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		nic := ethtoolNIC(ctx)
		return labelled(func(l *tool.Line, out *tool.Out, label, value string) bool {
			switch label {
			case "Autonegotiate":
				out.Bool(l.N, nic, "pause.autoneg", value == "on")
			case "RX":
				out.Bool(l.N, nic, "pause.rx", value == "on")
			case "TX":
				out.Bool(l.N, nic, "pause.tx", value == "on")
			case "RX negotiated", "TX negotiated", "Statistics":
			case "tx_pause_frames", "rx_pause_frames":
				return counter(l, out, nic, label, value)
			default:
				name, ok := headed(l.Text, "Pause parameters for ")
				nic = ctx.NIC(name)
				return ok
			}
			return true
		}, "Autonegotiate", "RX", "TX", "RX negotiated", "TX negotiated", "Statistics", "tx_pause_frames", "rx_pause_frames")
	},
}

var ethtoolFEC = tool.Parser{
	Tool:     "ethtool --show-fec",
	Versions: ethtoolVersions,
	Keys:     []string{"link.fec.configured", "link.fec.active", "counter.{name...}"},
	Recognise: func(w *tool.Window) tool.Score {
		if _, ok := headed(w.First(), "FEC parameters for "); ok {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		nic := ethtoolNIC(ctx)
		return labelled(func(l *tool.Line, out *tool.Out, label, value string) bool {
			switch label {
			case "Configured FEC encodings", "Supported/Configured FEC encodings":
				out.Text(l.N, nic, "link.fec.configured", value)
			case "Active FEC encoding", "Active FEC encodings":
				out.Text(l.N, nic, "link.fec.active", value)
			case "Statistics":
			case "corrected_blocks", "uncorrectable_blocks", "corrected_bits":
				return counter(l, out, nic, label, value)
			default:
				name, ok := headed(l.Text, "FEC parameters for ")
				nic = ctx.NIC(name)
				return ok
			}
			return true
		}, "Configured FEC encodings", "Supported/Configured FEC encodings", "Active FEC encoding", "Active FEC encodings",
			"Statistics", "corrected_blocks", "uncorrectable_blocks", "corrected_bits")
	},
}

var ethtoolDriver = tool.Parser{
	Tool:     "ethtool -i",
	Versions: ethtoolVersions,
	Keys:     []string{"link.driver", "link.driver_version", "link.firmware", "link.bus"},
	Recognise: func(w *tool.Window) tool.Score {
		if strings.HasPrefix(w.First(), "driver: ") && w.Any(6, func(t string) bool { return strings.HasPrefix(t, "firmware-version:") }) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		nic := ethtoolNIC(ctx)
		key := map[string]string{"driver": "link.driver", "version": "link.driver_version", "firmware-version": "link.firmware", "bus-info": "link.bus"}
		return labelled(func(l *tool.Line, out *tool.Out, label, value string) bool {
			if k := key[label]; k != "" && value != "" {
				out.Text(l.N, nic, k, value)
			}
			return true
		}, "version", "firmware-version", "expansion-rom-version", "bus-info", "supports-statistics", "supports-test",
			"supports-eeprom-access", "supports-register-dump", "supports-priv-flags")
	},
}

// labelled is a session of lines "label: value" with the given labels. read
// reports whether it knew the line; lines of other labels are another's.
func labelled(read func(l *tool.Line, out *tool.Out, label, value string) bool, labels ...string) *tool.Each {
	return &tool.Each{
		Belongs: func(l *tool.Line) tool.Score {
			label, _, ok := strings.Cut(strings.TrimSpace(l.Text), ":")
			if ok {
				for _, want := range labels {
					if label == want {
						return tool.Sure
					}
				}
			}
			return tool.No
		},
		Read: func(l *tool.Line, out *tool.Out) {
			label, value, _ := strings.Cut(strings.TrimSpace(l.Text), ":")
			if !read(l, out, label, strings.TrimSpace(value)) {
				out.NotUnderstood(l)
			}
		},
	}
}
