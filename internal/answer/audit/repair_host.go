package audit

import (
	"fmt"
	"strings"

	"weir/internal/qos"
)

// host writes the change of a host. Card names stand for their interfaces where
// the evidence does not name those.
func (f *repairer) host(d *deviation) {
	netdev := func(n string) string {
		if strings.HasPrefix(n, "mlx") || strings.HasPrefix(n, "bnxt_re") || strings.HasPrefix(n, "irdma") || strings.HasPrefix(n, "ionic") || strings.HasPrefix(n, "roce") {
			return "$(ls /sys/class/infiniband/" + n + "/device/net)"
		}
		return n
	}
	roce, cnp := f.in.RoCE(), f.in.CNP()
	each := func(do func(n string) string, undo func(n string) string) {
		for _, n := range f.names {
			f.do = append(f.do, do(n))
			if undo != nil {
				if u := undo(n); u != "" {
					f.undo = append(f.undo, u)
				}
			}
		}
	}
	fixed := func(s string) func(string) string { return func(n string) string { return fmt.Sprintf(s, netdev(n)) } }
	byDevice := func(s string) func(string) string { return func(n string) string { return fmt.Sprintf(s, n) } }
	switch f.setting {
	case "trust":
		each(fixed("mlnx_qos -i %s --trust=dscp"), fixed("mlnx_qos -i %s --trust="+map[bool]string{true: "pcp", false: "dscp"}[d.found == "pcp"]))
	case "dscp":
		c := f.class()
		each(fixed("mlnx_qos -i %s --dscp2prio set,"+itoa(c.DSCP)+","+itoa(c.Priority)), nil)
		if old, ok := strings.CutPrefix(d.found, "priority "); ok {
			for _, n := range f.names {
				f.undo = append(f.undo, fmt.Sprintf("mlnx_qos -i %s --dscp2prio set,%d,%s", netdev(n), c.DSCP, old))
			}
		}
	case "pfc":
		f.disruption = "pause"
		each(fixed("mlnx_qos -i %s --pfc "+bitList(f.in.LosslessMask())), fixed("mlnx_qos -i %s --pfc "+bitList(maskOf(d.found))))
	case "pause":
		f.disruption = "flap"
		each(fixed("ethtool -A %s rx off tx off"), fixed("ethtool -A %s rx on tx on"))
	case "mtu":
		f.disruption = "flap"
		old, _, _ := strings.Cut(d.found, " ")
		each(fixed("ip link set dev %s mtu "+itoa(int64(f.hostMTU))), fixed("ip link set dev %s mtu "+old))
	case "traffic_class":
		f.scope = "host"
		each(byDevice(fmt.Sprintf("echo %d > /sys/class/infiniband/%%s/tc/1/traffic_class", int(roce.DSCP)<<2)), nil)
		each(byDevice(fmt.Sprintf("cma_roce_tos -d %%s -t %d", int(roce.DSCP)<<2)), nil)
		f.text = "New connections use it; those that exist keep theirs."
	case "np", "rp":
		old := map[string]string{"np": "roce_np", "rp": "roce_rp"}[f.setting]
		each(fixed("echo 1 > /sys/class/net/%s/ecn/"+old+"/enable/"+itoa(roce.Priority)), fixed("echo 0 > /sys/class/net/%s/ecn/"+old+"/enable/"+itoa(roce.Priority)))
	case "cnp_dscp":
		each(fixed("echo "+itoa(cnp.DSCP)+" > /sys/class/net/%s/ecn/roce_np/cnp_dscp"), nil)
	case "cnp_priority":
		each(fixed("echo "+itoa(cnp.Priority)+" > /sys/class/net/%s/ecn/roce_np/cnp_802p_prio"), nil)
	case "schedule", "ets":
		rest := 100 - int(100*roce.Share+0.5)
		shares := [qos.Priorities]string{"0", "0", "0", "0", "0", "0", "0", "0"}
		tsa := [qos.Priorities]string{"ets", "ets", "ets", "ets", "ets", "ets", "ets", "ets"}
		tc := [qos.Priorities]string{"0", "0", "0", "0", "0", "0", "0", "0"}
		shares[0], shares[roce.Priority], tc[roce.Priority] = itoa(rest), percentOf(roce.Share), itoa(roce.Priority)
		if cnp.Strict {
			tsa[cnp.Priority], tc[cnp.Priority] = "strict", itoa(cnp.Priority)
		}
		each(fixed("mlnx_qos -i %s --prio_tc "+strings.Join(tc[:], ",")+" --tsa "+strings.Join(tsa[:], ",")+" --tcbw "+strings.Join(shares[:], ",")), nil)
	case "dcqcn":
		f.disruption, f.scope = "reload", "host"
		each(byDevice("mlxconfig -d %s -y set ROCE_CC_PRIO_MASK_P1=255 ROCE_CC_PRIO_MASK_P2=255"), nil)
		f.text = "Takes effect with the next reset of the firmware (mlxfwreset) or reboot."
	case "dcbx":
		f.disruption = "pause"
		each(fixed("mlnx_qos -i %s -d os"), nil)
	case "ets_willing":
		each(fixed("dcb ets set dev %s willing off"), fixed("dcb ets set dev %s willing on"))
	case "lldpad":
		f.scope = "host"
		f.do, f.undo = []string{"systemctl disable --now lldpad"}, []string{"systemctl enable --now lldpad"}
	default:
		f.variable(d)
	}
}

// variable repairs a setting of the library or the kernel.
func (f *repairer) variable(d *deviation) {
	f.scope = "host"
	name := d.setting
	switch {
	case strings.HasPrefix(name, "net.") && len(d.expected) > 0:
		value, _, _ := strings.Cut(d.expected, " ")
		f.do = []string{"sysctl -w " + name + "=" + value}
		f.undo = []string{"sysctl -w " + name + "=" + d.found}
	case d.cause == "env-typo" && strings.HasPrefix(d.expected, "NCCL_"):
		f.do = []string{"unset " + name, "export " + d.expected + "=..."}
		f.text = "Where jobs get their environment; they take it up when they start."
	case strings.HasPrefix(name, "NCCL_"):
		f.text = "Where jobs get their environment; they take it up when they start."
		if strings.HasPrefix(d.expected, "unset") {
			f.do = []string{"unset " + name}
		} else if !strings.Contains(d.expected, " ") {
			f.do = []string{"export " + name + "=" + d.expected}
		}
		if value, _, _ := strings.Cut(d.found, ","); len(f.do) > 0 {
			f.undo = []string{"export " + name + "=" + value}
		}
	}
}

func bitList(mask uint8) string {
	var out [qos.Priorities]string
	for p := range out {
		out[p] = itoa(mask >> p & 1)
	}
	return strings.Join(out[:], ",")
}

// maskOf reads "PFC on 3,4" back.
func maskOf(s string) uint8 {
	list, ok := strings.CutPrefix(s, "PFC on ")
	if !ok {
		return 0
	}
	var mask uint8
	for p := range strings.SplitSeq(list, ",") {
		if len(p) == 1 && p[0] >= '0' && p[0] <= '7' {
			mask |= 1 << (p[0] - '0')
		}
	}
	return mask
}
