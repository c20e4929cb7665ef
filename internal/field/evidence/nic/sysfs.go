package nic

import (
	"net/netip"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// A file of /sys about an RDMA device or a network interface, by its path.
var (
	sysPort    = tool.MustCompile(`(?:^|/)infiniband/([^/]+)/ports/(\d+)/(.+)$`)
	sysDevice  = tool.MustCompile(`(?:^|/)infiniband/([^/]+)/([^/]+(?:/.+)?)$`)
	sysNet     = tool.MustCompile(`(?:^|/)net/([^/]+)/(.+)$`)
	sysCC      = tool.MustCompile(`(?:^|/)(?:mlx5/([^/]+)/)?cc_params/(\w+)$`)
	sysBnxtCC  = tool.MustCompile(`(?:^|/)bnxt_re/([^/]+)/ports/(\d+)/cc/(\w+)$`)
	sysLoose   = tool.MustCompile(`(?:^|/)((?:hw_)?counters)/([^/]+)$`)
	grepLine   = tool.MustCompile(`^(/?(?:[\w.:@-]+/)+[\w.@ -]*\w):(.*)$`)
	bareLine   = tool.MustCompile(`^([A-Za-z][\w ]{0,60}):(-?\d+)$`)
	globalTC   = tool.MustCompile(`^Global tclass=(\d+)$`)
	sysState   = tool.MustCompile(`^\d+: (\S+)$`)
	sysRate    = tool.MustCompile(`^(\d+(?:\.\d+)?) Gb/sec(?: \((\d+)X)?`)
	ecnSetting = tool.MustCompile(`^ecn/roce_(rp|np)/(.+)$`)
)

var sysfs = tool.Parser{
	Tool:     "sysfs",
	Versions: "kernels 4.18 to 6.x: /sys/class/infiniband, /sys/class/net, debugfs cc_params, bnxt_re configfs; as trees or printed by grep",
	Programs: []string{"grep ."},
	Keys: []string{
		"counter.{name...}", "rdma.port", "rdma.state", "rdma.phys_state", "rdma.rate", "rdma.width", "rdma.layer", "rdma.firmware", "rdma.model", "rdma.guid",
		"rdma.netdev", "gid.{index}.address", "gid.{index}.version", "gid.{index}.netdev", "gid.{index}.ipv4", "roce.traffic_class", "roce.dscp",
		"link.mtu", "link.speed", "link.state", "link.mac", "link.duplex", "pcie.speed", "pcie.width", "pcie.max_speed", "pcie.max_width", "pcie.numa_node",
		"dcqcn.rp.priority.{priority}", "dcqcn.np.priority.{priority}", "dcqcn.ai_rate", "dcqcn.hai_rate", "dcqcn.min_rate", "dcqcn.max_rate", "dcqcn.first_cnp_rate",
		"dcqcn.time_reset", "dcqcn.byte_reset", "dcqcn.threshold", "dcqcn.gd", "dcqcn.dce_tcp_g", "dcqcn.dce_tcp_rtt", "dcqcn.initial_alpha", "dcqcn.min_dec_fac",
		"dcqcn.reduce_period", "dcqcn.clamp_target", "dcqcn.clamp_target_ati", "dcqcn.cnp_dscp", "dcqcn.cnp_priority", "dcqcn.cnp_priority_mode",
		"dcqcn.min_time_between_cnps", "dcqcn.other.{name...}",
	},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		if globalTC.MatchString(t) {
			return tool.Sure
		}
		if m := grepLine.FindStringSubmatch(t); m != nil {
			if knownPath(m[1]) {
				return tool.Sure
			}
		}
		if m := bareLine.FindStringSubmatch(t); m != nil {
			return bareScore(m[1])
		}
		if ctx := w.Context(); knownPath(ctx.Path) && ctx.Runs[readMark+ctx.Path] == 0 {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		if ctx.Runs != nil {
			ctx.Runs[readMark+ctx.Path]++
		}
		return &sysRun{ctx: ctx}
	},
}

// readMark marks a file of a tree whose one line was read: what follows in
// the same text is something else.
const readMark = "sysfs:"

func knownPath(p string) bool {
	return sysPort.MatchString(p) || sysDevice.MatchString(p) || sysNet.MatchString(p) || sysCC.MatchString(p) || sysBnxtCC.MatchString(p) || sysLoose.MatchString(p)
}

// Names of files under counters/ and hw_counters/, for outputs of grep in
// the directory itself.
var bareNames = tool.MustCompile(`^(?:[rn]p_\w+|(?:port|unicast|multicast)_(?:xmit|rcv)_\w+|rtt_resp_\w+|VL15_dropped|excessive_buffer_overrun_errors|link_downed|link_error_recovery|local_link_integrity_errors|symbol_error|out_of_(?:sequence|buffer)|packet_seq_err|local_ack_timeout_err|rnr_nak_retry_err|implied_nak_seq_err|duplicate_request|(?:req|resp)_\w+|roce_(?:adp|slow)_\w+|rx_(?:write|read|atomic)_requests|rx_dct_connect|rx_icrc_encapsulated|lifespan|cc_[rt]x_\w+|(?:In|Out)Rdma\w+|Rdma(?:Bnd|Inv)|RetransSegs|tcp\w+Segs\w*|RxECNMrkd|[RT]xUDP|cnp(?:Sent|Handled|Ignored)|ip[46](?:In|Out)\w+|active_(?:pds|ahs|qps|srqs|cqs|mrs|mws)|watermark_\w+|(?:to|seq_err|max_retry|rnr)_\w+|res_\w+|recoverable_errors|unrecoverable_err|oos_drop_count|rx_roce_\w+|tx_roce_\w+|(?:missing|bad)_resp\w*|local_(?:qp_op|protection)_err|mem_mgmt_op_err|remote_\w+_err|dup_req|(?:rx|tx)_rdma_\w+|(?:rx|tx)_cnp_pkts|rx_ecn_marked_pkts|Nak Sequence Error|RNR sent|RNR received|(?:rx|tx)_(?:pkts|bytes|(?:atomic|read|write|send)_re(?:q|sp))|pacing_\w+|latency_\w+|num_\w+)$`)

func bareScore(name string) tool.Score {
	if bareNames.MatchString(name) {
		return tool.Likely + 10
	}
	return tool.No
}

// sysRun reads files of a tree, or their paths and values as grep prints them.
type sysRun struct {
	ctx *tool.Context
}

func (s *sysRun) Match(l *tool.Line) tool.Score {
	if globalTC.MatchString(l.Text) {
		return tool.Sure
	}
	if m := grepLine.FindStringSubmatch(l.Text); m != nil && knownPath(m[1]) {
		return tool.Sure
	}
	if m := bareLine.FindStringSubmatch(l.Text); m != nil {
		return max(bareScore(m[1]), tool.Weak)
	}
	return tool.No
}

func (s *sysRun) End(*tool.Out) {}

func (s *sysRun) Take(l *tool.Line, out *tool.Out) {
	t := strings.TrimSpace(l.Text)
	if m := globalTC.FindStringSubmatch(t); m != nil {
		nic := s.ctx.NIC("")
		if d := sysDevice.FindStringSubmatch(s.ctx.Path); d != nil {
			nic = s.ctx.NIC(d[1])
		}
		if !trafficClass(l.N, out, nic, m[1]) {
			out.NotUnderstood(l)
		}
		return
	}
	p, value := s.ctx.Path, t
	if m := grepLine.FindStringSubmatch(t); m != nil && knownPath(m[1]) {
		p, value = m[1], strings.TrimSpace(m[2])
	} else if m := bareLine.FindStringSubmatch(t); m != nil {
		if !dcqcnBare(l, out, s.ctx, m[1], m[2]) {
			out.NotUnderstood(l)
		}
		return
	}
	if !s.file(l, out, p, value) {
		out.NotUnderstood(l)
	}
}

// dcqcnBare reads "np_cnp_dscp:48" or "out_of_sequence:12".
func dcqcnBare(l *tool.Line, out *tool.Out, ctx *tool.Context, name, value string) bool {
	nic := ctx.NIC("")
	if m := sysPort.FindStringSubmatch(ctx.Path); m != nil {
		nic = ctx.NIC(m[1] + "/" + m[2])
	}
	if strings.HasPrefix(name, "rp_") || strings.HasPrefix(name, "np_") {
		if dcqcnSetting(l.N, out, nic, name, value) {
			return true
		}
	}
	if strings.HasPrefix(name, "rtt_resp_") {
		out.Text(l.N, nic, "dcqcn.other."+name, value)
		return true
	}
	return lifespan(name) || counter(l, out, nic, name, value)
}

// lifespan reports whether a file under hw_counters is the setting of that
// name (how long a reading is kept, in milliseconds) and not a counter.
func lifespan(name string) bool { return name == "lifespan" }

func (s *sysRun) file(l *tool.Line, out *tool.Out, p, value string) bool {
	if m := sysCC.FindStringSubmatch(p); m != nil {
		nic := fact.Subject{Kind: fact.PCI, Host: s.ctx.Host, Name: m[1]}
		if m[1] == "" {
			nic = s.ctx.NIC("")
		}
		return dcqcnBareOf(l, out, nic, m[2], value)
	}
	if m := sysBnxtCC.FindStringSubmatch(p); m != nil {
		nic := s.ctx.NIC(m[1] + "/" + m[2])
		if m[3] == "cnp_dscp" || m[3] == "cnp_prio" {
			return dcqcnSetting(l.N, out, nic, m[3], value)
		}
		out.Text(l.N, nic, "dcqcn.other."+m[3], value)
		return true
	}
	if m := sysPort.FindStringSubmatch(p); m != nil {
		return portFile(l, out, s.ctx.NIC(m[1]+"/"+m[2]), m[2], m[3], value)
	}
	if m := sysDevice.FindStringSubmatch(p); m != nil {
		return deviceFile(l, out, s.ctx, m[1], m[2], value)
	}
	if m := sysNet.FindStringSubmatch(p); m != nil {
		return netFile(l, out, s.ctx.NIC(m[1]), m[2], value)
	}
	if m := sysLoose.FindStringSubmatch(p); m != nil {
		return lifespan(m[2]) || counter(l, out, s.ctx.NIC(""), m[2], value)
	}
	return false
}

func dcqcnBareOf(l *tool.Line, out *tool.Out, nic fact.Subject, name, value string) bool {
	if dcqcnSetting(l.N, out, nic, name, value) {
		return true
	}
	out.Text(l.N, nic, "dcqcn.other."+name, value)
	return true
}

// portFile reads a file under infiniband/DEV/ports/N.
func portFile(l *tool.Line, out *tool.Out, nic fact.Subject, port, rest, value string) bool {
	head, name, _ := strings.Cut(rest, "/")
	switch head {
	case "counters", "hw_counters":
		return lifespan(name) || value == "" || strings.HasPrefix(value, "N/A") || counter(l, out, nic, name, value)
	case "gids":
		addr, err := netip.ParseAddr(value)
		if err != nil {
			return false
		}
		if addr == netip.IPv6Unspecified() { // an empty slot
			return true
		}
		out.Text(l.N, nic, "gid."+name+".address", addr.String())
		if addr.Is4In6() {
			out.Text(l.N, nic, "gid."+name+".ipv4", addr.Unmap().String())
		}
	case "gid_attrs":
		what, index, _ := strings.Cut(name, "/")
		switch what {
		case "types":
			out.Text(l.N, nic, "gid."+index+".version", roceVersion(value))
		case "ndevs":
			out.Text(l.N, nic, "gid."+index+".netdev", value)
		}
	case "state":
		if m := sysState.FindStringSubmatch(value); m != nil {
			value = m[1]
		}
		out.Text(l.N, nic, "rdma.state", value)
		out.Number(l.N, nic, "rdma.port", port)
	case "phys_state":
		if m := sysState.FindStringSubmatch(value); m != nil {
			value = m[1]
		}
		out.Text(l.N, nic, "rdma.phys_state", value)
	case "rate":
		m := sysRate.FindStringSubmatch(value)
		if m == nil {
			return false
		}
		f, err := strconv.ParseFloat(m[1], 64)
		if err != nil || f > 1e6 {
			return false
		}
		out.Uint(l.N, nic, "rdma.rate", uint64(f*1e9))
		return m[2] == "" || out.Number(l.N, nic, "rdma.width", m[2])
	case "link_layer":
		out.Text(l.N, nic, "rdma.layer", value)
	case "cap_mask", "lid", "lid_mask_count", "sm_lid", "sm_sl", "pkeys", "cm_rx_duplicates", "cm_rx_msgs", "cm_tx_msgs", "cm_tx_retries", "has_smi":
	default:
		return false
	}
	return true
}

// deviceFile reads a file under infiniband/DEV.
func deviceFile(l *tool.Line, out *tool.Out, ctx *tool.Context, dev, rest, value string) bool {
	nic := ctx.NIC(dev)
	switch {
	case rest == "fw_ver":
		out.Text(l.N, nic, "rdma.firmware", value)
	case rest == "hca_type":
		out.Text(l.N, nic, "rdma.model", value)
	case rest == "node_guid":
		out.Text(l.N, nic, "rdma.guid", value)
	case strings.HasSuffix(rest, "traffic_class"):
		return trafficClass(l.N, out, nic, value)
	case strings.HasPrefix(rest, "hw_counters/"):
		name := strings.TrimPrefix(rest, "hw_counters/")
		return lifespan(name) || counter(l, out, nic, name, value)
	case strings.HasPrefix(rest, "device/net/"):
		if m := sysNet.FindStringSubmatch(rest); m != nil {
			out.Text(l.N, nic, "rdma.netdev", m[1])
			return netFile(l, out, ctx.NIC(m[1]), m[2], value)
		}
	case strings.HasPrefix(rest, "device/"):
		return pciFile(l, out, nic, strings.TrimPrefix(rest, "device/"), value)
	case rest == "board_id" || rest == "hw_rev" || rest == "node_desc" || rest == "node_type" || rest == "sys_image_guid" || rest == "uevent":
	default:
		return false
	}
	return true
}

func trafficClass(n int, out *tool.Out, nic fact.Subject, value string) bool {
	value = strings.TrimPrefix(value, "Global tclass=")
	tc, err := strconv.ParseUint(value, 10, 8)
	if err != nil {
		return value == ""
	}
	out.Uint(n, nic, "roce.traffic_class", tc)
	out.Uint(n, nic, "roce.dscp", tc>>2)
	return true
}

// netFile reads a file under net/IFACE.
func netFile(l *tool.Line, out *tool.Out, nic fact.Subject, rest, value string) bool {
	if name, ok := strings.CutPrefix(rest, "statistics/"); ok {
		return counter(l, out, nic, name, value)
	}
	if name, ok := strings.CutPrefix(rest, "device/"); ok {
		return pciFile(l, out, nic, name, value)
	}
	if m := ecnSetting.FindStringSubmatch(rest); m != nil {
		what, prio, each := strings.Cut(m[2], "/")
		if what == "enable" && each {
			out.Bool(l.N, nic, "dcqcn."+m[1]+".priority."+prio, value == "1")
			return true
		}
		return dcqcnBareOf(l, out, nic, m[1]+"_"+what, value)
	}
	switch rest {
	case "mtu":
		return out.Number(l.N, nic, "link.mtu", value)
	case "speed": // Mb/s, -1 when down
		u, err := strconv.ParseUint(value, 10, 32)
		if err != nil {
			out.Absent(l.N, nic, "link.speed")
			return value == "-1"
		}
		out.Uint(l.N, nic, "link.speed", u*1_000_000)
	case "operstate":
		out.Text(l.N, nic, "link.state", value)
	case "address":
		out.Text(l.N, nic, "link.mac", value)
	case "duplex":
		out.Text(l.N, nic, "link.duplex", value)
	default:
		return !strings.Contains(rest, "/") // the many other attributes of an interface say nothing here
	}
	return true
}

// pciFile reads a file of the device's PCI directory.
func pciFile(l *tool.Line, out *tool.Out, nic fact.Subject, name, value string) bool {
	switch name {
	case "numa_node":
		return value == "-1" || out.Number(l.N, nic, "pcie.numa_node", value)
	case "current_link_width":
		return out.Number(l.N, nic, "pcie.width", value)
	case "max_link_width":
		return out.Number(l.N, nic, "pcie.max_width", value)
	case "current_link_speed", "max_link_speed":
		key := map[bool]string{true: "pcie.speed", false: "pcie.max_speed"}[name == "current_link_speed"]
		number, _, _ := strings.Cut(value, " ") // "16.0 GT/s PCIe"
		return value == "Unknown" || out.Decimal(l.N, nic, key, number, 1)
	}
	return !strings.Contains(name, "/")
}
