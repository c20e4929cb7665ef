package nic

import (
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// counter puts out a counter and reports whether value is a whole number.
func counter(l *tool.Line, out *tool.Out, s fact.Subject, name, value string) bool {
	u, err := strconv.ParseUint(value, 10, 64)
	if err != nil {
		return false
	}
	out.Counter(l.N, s, name, fact.OfUint(u))
	return true
}

var (
	// Counters of single queues: rx0_packets, tx12_bytes, ch3_events,
	// [5]: rx_ucast_packets, rx_queue_3_packets, queue_4_tx_cnt.
	perQueue = tool.MustCompile(`^(?:(?:rx|tx|ch|rxq|txq|ptp_rq|qos_tx|rx_xsk|tx_xdp|rx_xdp)_?-?\d+_|\[\d+\]|(?:rx|tx)?_?queue[_-]?\d+|(?:Rx|Tx) ?Queue)`)
	// Names that drivers of RDMA NICs have and others have not.
	nicStat = tool.MustCompile(`(?:^rx_|^tx_)prio\d_|_phy$|^pfc_pri\d_|_pfc_ena_frames_pri\d|_pri\d$|_cos\d$|^outbound_pci_|^tx_pause_storm_|^(?:rx|tx)_vport_|^frames_(?:rx|tx)_|^rx_pripause_|^rx_priority_\d_|^module_|_pci_signal_integrity$|continuous_roce_pause`)
)

// stat splits "     rx_bytes: 12".
func stat(text string) (name, value string, ok bool) {
	t := strings.TrimLeft(text, " \t")
	i := strings.LastIndexByte(t, ':')
	if i < 1 {
		return "", "", false
	}
	value = strings.TrimLeft(t[i+1:], " \t")
	return t[:i], value, value != "" && strings.Trim(value, "0123456789") == ""
}

// roceStat reports whether a counter is one that drivers of RDMA NICs have.
func roceStat(name string) bool {
	return (strings.Contains(name, "prio") || strings.Contains(name, "_p") || strings.Contains(name, "pri") || strings.Contains(name, "_cos") ||
		strings.HasPrefix(name, "module_") || strings.Contains(name, "vport") || strings.HasPrefix(name, "frames_")) && nicStat.MatchString(name)
}

var ethtoolStatistics = tool.Parser{
	Tool:     "ethtool -S",
	Versions: ethtoolVersions + "; mlx5, bnxt_en, ice, ionic and other drivers",
	Keys:     []string{"counter.{name...}", "counters.per_queue"},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		if strings.TrimSpace(t) == "NIC statistics:" {
			return tool.Sure
		}
		if !strings.HasPrefix(t, "  ") { // without head: cut, or from grep
			return tool.No
		}
		switch name, _, ok := stat(t); {
		case !ok:
			return tool.No
		case roceStat(name):
			return tool.Likely
		}
		return tool.Weak / 2
	},
	New: func(ctx *tool.Context) tool.Session {
		nic := ethtoolNIC(ctx)
		queues, line, head := uint64(0), 0, false
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				switch name, _, ok := stat(l.Text); {
				case !ok:
					return tool.No
				case !strings.HasPrefix(l.Text, "     "):
					return tool.Weak
				case head && l.Text[5] != ' ': // ethtool's own indentation, below its own title
					return tool.Own
				case head || roceStat(name):
					return tool.Sure
				}
				return tool.Likely
			},
			Read: func(l *tool.Line, out *tool.Out) {
				name, value, ok := stat(l.Text)
				switch {
				case !ok:
					head = true
				case perQueue.MatchString(name):
					queues, line = queues+1, l.N
				case !counter(l, out, nic, name, value):
					out.NotUnderstood(l)
				}
			},
			Finish: func(out *tool.Out) {
				if queues > 0 {
					out.Uint(line, nic, "counters.per_queue", queues)
				}
			},
		}
	},
}
