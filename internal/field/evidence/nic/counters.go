package nic

import (
	"regexp"
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
	statLine = regexp.MustCompile(`^\s*(\S.*?):\s*(\d+)$`)
	// Counters of single queues: rx0_packets, tx12_bytes, ch3_events,
	// [5]: rx_ucast_packets, rx_queue_3_packets, queue_4_tx_cnt.
	perQueue = regexp.MustCompile(`^(?:(?:rx|tx|ch|rxq|txq|ptp_rq|qos_tx|rx_xsk|tx_xdp|rx_xdp)_?-?\d+_|\[\d+\]|(?:rx|tx)?_?queue[_-]?\d+|(?:Rx|Tx) ?Queue)`)
	// Names that drivers of RDMA NICs have and others have not.
	nicStat = regexp.MustCompile(`(?:^rx_|^tx_)prio\d_|_phy$|^pfc_pri\d_|_pfc_ena_frames_pri\d|_pri\d$|_cos\d$|^outbound_pci_|^tx_pause_storm_|^(?:rx|tx)_vport_|^frames_(?:rx|tx)_|^rx_pripause_|^rx_priority_\d_|^module_|_pci_signal_integrity$|continuous_roce_pause`)
)

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
		switch m := statLine.FindStringSubmatch(t); {
		case m == nil:
			return tool.No
		case nicStat.MatchString(m[1]):
			return tool.Likely
		}
		return tool.Weak / 2
	},
	New: func(ctx *tool.Context) tool.Session {
		nic := ethtoolNIC(ctx)
		queues, line := uint64(0), 0
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				switch m := statLine.FindStringSubmatch(l.Text); {
				case m == nil:
					return tool.No
				case nicStat.MatchString(m[1]), perQueue.MatchString(m[1]):
					return tool.Sure
				case strings.HasPrefix(l.Text, "     "):
					return tool.Likely
				}
				return tool.Weak
			},
			Read: func(l *tool.Line, out *tool.Out) {
				m := statLine.FindStringSubmatch(l.Text)
				switch {
				case m == nil: // the head
				case perQueue.MatchString(m[1]):
					queues, line = queues+1, l.N
				case !counter(l, out, nic, m[1], m[2]):
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
