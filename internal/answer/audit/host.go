package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/answer/diagnosis"
	"weir/internal/cluster"
	"weir/internal/fact"
	"weir/internal/finding"
)

// checkHosts looks at each card, then at what the host as a whole sets.
func (a *auditor) checkHosts() {
	for id := range a.c.Nodes {
		n := &a.c.Nodes[id]
		d := a.nodes[id]
		if n.Kind != cluster.HostNode || d == nil {
			continue
		}
		host := &a.c.Hosts[n.Host]
		for i := range host.NICs {
			for k, p := range host.NICs[i].Ports {
				if s := a.ports[p]; s != nil && k == 0 {
					a.checkPort(cluster.NodeID(id), p, s)
					a.checkCard(cluster.NodeID(id), p, s)
				}
			}
		}
		a.checkEnvironment(cluster.NodeID(id), host, d)
	}
}

// A hostCheck says things about one card, or the host where port is not set.
type hostCheck struct {
	a      *auditor
	node   cluster.NodeID
	port   cluster.PortID
	onPort bool
	name   string
}

func (h *hostCheck) say(f *fact.Fact, setting, cause string, s finding.Severity, expected, found, consequence string) {
	h.a.add(deviation{node: h.node, port: h.port, onPort: h.onPort, name: h.name, setting: setting, cause: cause, severity: s,
		expected: expected, found: found, consequence: consequence, source: f.Origin.Source, line: f.Origin.Line})
}

// checkCard looks at the settings of a card that a switch does not have.
func (a *auditor) checkCard(id cluster.NodeID, port cluster.PortID, s *portState) {
	h := &hostCheck{a: a, node: id, port: port, onPort: true, name: s.name}
	last := map[string]*fact.Fact{}
	for _, i := range s.facts {
		last[a.e.Facts[i].Key] = &a.e.Facts[i]
	}
	keys := make([]string, 0, len(last))
	for k := range last {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	in := &a.c.QoS
	roce, cnp := in.RoCE(), in.CNP()
	for _, key := range keys {
		f := last[key]
		u, isUint := f.Value.Uint()
		b, isBool := f.Value.Bool()
		switch {
		case isUint && (key == "roce.dscp" || key == "roce.cma.dscp") && u != uint64(roce.DSCP):
			what := "connections made through the connection manager send"
			if key == "roce.dscp" {
				what = "the card sends"
			}
			h.say(f, "traffic_class", "roce-in-default-priority", critical, dscpText(uint64(roce.DSCP)), dscpText(u),
				strings.ToUpper(what[:1])+what[1:]+" a code point that the fabric does not take for RoCE: the data runs in a lossy class on the whole path.")
		case isBool && !b && (key == fmt.Sprintf("dcqcn.rp.priority.%d", roce.Priority) || key == fmt.Sprintf("dcqcn.np.priority.%d", roce.Priority)) && a.c.DCQCN.Enabled:
			side := "reaction point"
			consequence := "The card ignores congestion notifications and sends on at full rate; only pauses hold it back."
			if strings.HasPrefix(key, "dcqcn.np") {
				side, consequence = "notification point", "The card answers marks with nothing: senders never learn of congestion, and only pauses hold them back."
			}
			h.say(f, strings.TrimPrefix(key, "dcqcn."), "congestion-control-off", critical, side+" on for priority "+number(roce.Priority), "off", consequence)
		case isBool && !b && key == "dcqcn.enabled" && a.c.DCQCN.Enabled,
			isUint && key == "dcqcn.priority_mask" && u>>roce.Priority&1 == 0 && a.c.DCQCN.Enabled:
			h.say(f, "dcqcn", "congestion-control-off", critical, "on for priority "+number(roce.Priority), f.Value.String(),
				"The card neither answers marks nor obeys notifications; only pauses hold senders back.")
		case isUint && key == "dcqcn.min_dec_fac" && u >= 100 && a.c.DCQCN.Enabled:
			h.say(f, "dcqcn.min_dec_fac", "congestion-control-off", critical, "50", strconv.FormatUint(u, 10),
				"A cut may leave 100 % of the rate: the card obeys notifications and never slows down.")
		case isUint && key == "dcqcn.cnp_dscp" && u != uint64(cnp.DSCP):
			h.say(f, "cnp_dscp", "cnp-in-wrong-queue", problem, dscpText(uint64(cnp.DSCP)), dscpText(u),
				"Congestion notifications leave with a code point that the switches do not put into their strict queue.")
		case isUint && key == "dcqcn.cnp_priority" && (u == uint64(roce.Priority) || u == 0):
			h.say(f, "cnp_priority", "cnp-in-wrong-queue", problem, "priority "+number(cnp.Priority), "priority "+strconv.FormatUint(u, 10),
				"Congestion notifications leave the card in the data's or the default queue and wait there.")
		case isBool && b && (key == "qos.dcbx.willing" || key == "qos.pfc.willing"):
			h.say(f, "dcbx", "dcbx-not-converged", warning, "not willing", "willing",
				"The card takes PFC settings from its neighbour: what the switch announces replaces what is set here.")
		case isBool && b && key == "qos.ets.willing":
			h.say(f, "ets_willing", "dcbx-not-converged", warning, "not willing", "willing",
				"The card takes shares and priorities from its neighbour: what the switch announces replaces what is set here.")
		case isBool && b && key == "qos.lldpad_running":
			h.say(f, "lldpad", "dcbx-not-converged", warning, "one agent", "lldpad runs beside the card's own settings",
				"A second LLDP agent may overwrite PFC and ETS at any time.")
		case isUint && key == "rdma.active_mtu" && u < uint64(in.MTU) && s.qos.MTU == 0:
			h.say(f, "mtu", "mtu-small", problem, fmt.Sprintf("RDMA MTU %d", in.MTU), strconv.FormatUint(u, 10),
				"The card sends smaller RDMA packets: more headers, more packets a second, and peers with another MTU may not connect.")
		case key == "roce.cma.mode" && !strings.Contains(strings.ToLower(f.Value.String()), "v2") && a.c.Transport == cluster.RoCEv2:
			h.say(f, "roce_mode", "roce-version-mismatch", problem, "RoCE v2", f.Value.String(), "Connections are made with RoCE v1, which routers do not carry and DSCP does not mark.")
		}
	}
}

func dscpText(d uint64) string { return fmt.Sprintf("DSCP %d (traffic class %d)", d, d<<2) }

// checkEnvironment looks at the variables and kernel settings of a host.
func (a *auditor) checkEnvironment(id cluster.NodeID, host *cluster.Host, d *device) {
	h := &hostCheck{a: a, node: id}
	last := map[[2]string]*fact.Fact{} // by key and source: the last one of a source counts
	for _, part := range d.facts {
		for _, i := range part {
			f := &a.e.Facts[i]
			if !strings.HasPrefix(f.Key, "nccl.env.") && !strings.HasPrefix(f.Key, "sysctl.") {
				continue
			}
			// The shell's reading of a line goes before a plain one.
			k := [2]string{f.Key, f.Origin.Source}
			if old := last[k]; old == nil || old.Origin.Line < f.Origin.Line {
				last[k] = f
			}
		}
	}
	var list []*fact.Fact
	for _, f := range last {
		list = append(list, f)
	}
	slices.SortStableFunc(list, func(x, y *fact.Fact) int {
		return cmp.Or(strings.Compare(x.Key, y.Key), strings.Compare(x.Value.String(), y.Value.String()), strings.Compare(x.Origin.Source, y.Origin.Source), x.Origin.Line-y.Origin.Line)
	})
	list = slices.CompactFunc(list, func(x, y *fact.Fact) bool { // each value of a name is judged once
		return x.Key == y.Key && x.Value.String() == y.Value.String()
	})
	for _, f := range list {
		if name, ok := strings.CutPrefix(f.Key, "nccl.env."); ok {
			h.variable(name, f.Value.String(), f, host)
		} else if name, ok := strings.CutPrefix(f.Key, "sysctl."); ok && len(host.NICs) > 1 {
			h.sysctl(name, f)
		}
	}
}

// variable checks one variable of NCCL against the plan.
func (h *hostCheck) variable(name, value string, f *fact.Fact, host *cluster.Host) {
	roce := h.a.c.QoS.RoCE()
	n, err := strconv.ParseInt(value, 0, 64)
	whole := err == nil
	switch name {
	case "NCCL_IB_TC":
		if whole && n >= 0 && n>>2 != int64(roce.DSCP) {
			consequence := "The library marks its packets with a code point that the fabric does not take for RoCE: they run in a lossy class."
			if n == int64(roce.DSCP) {
				consequence = "This is the code point, but the traffic class is the whole byte, four times as much: packets go out with DSCP " + strconv.FormatInt(n>>2, 10) + " and run in a lossy class."
			}
			h.say(f, name, "roce-in-default-priority", critical, strconv.Itoa(int(roce.DSCP)<<2), value, consequence)
		}
	case "NCCL_IB_SL":
		if whole && n > 15 {
			h.say(f, name, "roce-in-default-priority", problem, "unset, or 0 to 7", value,
				"This looks like a traffic class, which is NCCL_IB_TC: the service level does not mark RoCE v2 packets, so they run in the default class.")
		}
	case "NCCL_IB_DISABLE":
		if whole && n != 0 {
			h.say(f, name, "nccl-socket-fallback", critical, "unset", value, "The library does not use RDMA at all.")
		}
	case "NCCL_IB_TIMEOUT":
		if whole && (n < 14 || n > 22) {
			h.say(f, name, "nccl-tuning", warning, strconv.Itoa(int(h.a.c.RDMA.Timeout)), value,
				"The value is an exponent, 4.096 us x 2^N, not a switch or a time: small ones break connections on a short pause, from 23 on a dead peer goes unnoticed for minutes.")
		}
	case "NCCL_IB_RETRY_CNT":
		if whole && (n < 3 || n > 7) {
			h.say(f, name, "nccl-tuning", warning, "7", value, "Three bits hold it: below 3 a short pause breaks connections, above 7 the value is refused.")
		}
	case "NCCL_IB_GID_INDEX":
		h.gidIndex(f, value)
	case "NCCL_IB_HCA":
		h.adapters(f, value, host)
	default:
		if !diagnosis.KnownVariable(name) {
			meant, _ := diagnosis.Misspelled(name)
			expected := "a variable that the library reads"
			if meant != "" {
				expected = meant
			}
			h.say(f, name, "env-typo", problem, expected, name, "The library does not read this name and runs with its default.")
		}
	}
}

// gidIndex checks a pinned index against the GID tables of the host's cards.
func (h *hostCheck) gidIndex(f *fact.Fact, value string) {
	if n, err := strconv.Atoi(value); err != nil || n < 0 {
		return
	}
	for part, list := range h.a.nodes[h.node].facts {
		for _, i := range list {
			g := &h.a.e.Facts[i]
			if g.Key == "gid."+value+".version" && g.Value.String() != "v2" {
				h.say(f, "NCCL_IB_GID_INDEX", "gid-index-wrong", critical, "unset, or the index of a RoCE v2 entry", value+", which is RoCE v1 on "+part,
					"Connections are made with RoCE v1 packets, which routed fabrics drop.")
				return
			}
		}
	}
}

// adapters checks a list of cards without "=": a name then stands for all that
// begin with it.
func (h *hostCheck) adapters(f *fact.Fact, value string, host *cluster.Host) {
	list := strings.TrimPrefix(value, "^")
	exact := strings.HasPrefix(list, "=")
	list = strings.TrimPrefix(list, "=")
	for name := range strings.SplitSeq(list, ",") {
		device, _, _ := strings.Cut(name, ":")
		hits := 0
		known := false
		for i := range host.NICs {
			d := host.NICs[i].Device
			known = known || d == device
			if strings.HasPrefix(d, device) {
				hits++
			}
		}
		switch {
		case exact && !known && device != "":
			h.say(f, "NCCL_IB_HCA", "ib-hca-selection-wrong", problem, "cards of the host", device, "The host has no card of this name: fewer cards carry the job, or none.")
			return
		case !exact && known && hits > 1:
			h.say(f, "NCCL_IB_HCA", "ib-hca-selection-wrong", problem, "="+list, value,
				fmt.Sprintf("Without = a name stands for all that begin with it: %s takes %d cards.", device, hits))
			return
		}
	}
}

// sysctl checks that cards of one host answer for themselves alone.
func (h *hostCheck) sysctl(name string, f *fact.Fact) {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if !strings.HasPrefix(name, "net.ipv4.conf.") {
		return
	}
	value := f.Value.String()
	switch {
	case last == "arp_ignore" && value == "0" && strings.Contains(name, ".all."):
		h.say(f, name, "arp-flux", problem, "1", value, "Any card answers for the addresses of all: peers learn the wrong card's MAC address.")
	case last == "arp_announce" && value == "0" && strings.Contains(name, ".all."):
		h.say(f, name, "arp-flux", problem, "2", value, "Requests carry the address of another card: peers learn the wrong card's MAC address.")
	case last == "rp_filter" && value == "1":
		h.say(f, name, "path-unreachable", problem, "2 or 0", value, "The kernel drops packets that come in on another card than answers would leave by.")
	}
}

// settingOf groups keys that are parts of one setting.
func settingOf(key string) string {
	key = strings.TrimPrefix(key, "qos.")
	head, rest, _ := strings.Cut(key, ".")
	switch head {
	case "tc":
		return "schedule"
	case "dscp":
		n, _, _ := strings.Cut(rest, ".")
		return "dscp." + n
	case "link":
		return rest
	}
	return head
}
