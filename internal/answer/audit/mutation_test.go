package audit_test

import (
	"strings"
	"testing"
)

// A mutation is one fault: a replacement in the base text of one system (every
// place where old stands, or the first with once), and the one finding that it
// must give.
type mutation struct {
	fault    string
	system   string
	old, new string
	once     bool
	cause    string
	setting  string
}

// mutations are faults that operators make, on each system that can express
// them. Which cause each is follows from cause's catalogue.
var mutations = []mutation{
	// The RoCE code point goes to another class.
	{"priority moved", "nxos", "match dscp 26", "match dscp 24", false, "roce-in-default-priority", "dscp.26"},
	{"priority moved", "eos", "qos map dscp 26 to traffic-class 3", "qos map dscp 26 to traffic-class 1", false, "roce-in-default-priority", "dscp.26"},
	{"priority moved", "nvue", "dscp 26 switch-priority 3", "dscp 26 switch-priority 0", false, "roce-in-default-priority", "dscp.26"},
	{"priority moved", "onyx", "dscp 26 to switch-priority 3", "dscp 26 to switch-priority 1", false, "roce-in-default-priority", "dscp.26"},
	{"priority moved", "sonic", `"26": "3"`, `"26": "0"`, false, "roce-in-default-priority", "dscp.26"},
	{"priority moved", "vrp", "ip-dscp-inbound 26 phb af3", "ip-dscp-inbound 26 phb af1", false, "roce-in-default-priority", "dscp.26"},
	{"priority moved", "comware", "import 26 export 3", "import 26 export 2", false, "roce-in-default-priority", "dscp.26"},
	{"priority moved", "junos", "code-points 011010", "code-points 011000", false, "roce-in-default-priority", "dscp.26"},
	{"priority moved", "host", "31,30,29,28,27,26,25,24,", "31,30,29,28,27,25,24,\n\tprio:0 dscp:26,", false, "roce-in-default-priority", "dscp.26"},
	{"priority moved", "setup", "set,26,3", "set,26,0", false, "roce-in-default-priority", "dscp.26"},
	{"priority moved", "dcb", "26:3", "26:0", false, "roce-in-default-priority", "dscp.26"},

	// The code point is not looked at.
	{"no classification", "nxos", "  service-policy type qos input MARKING\n", "", true, "roce-in-default-priority", "trust"},
	{"trust pcp", "eos", "qos trust dscp", "qos trust cos", false, "roce-in-default-priority", "trust"},
	{"trust pcp", "nvue", "trust both", "trust l2", false, "roce-in-default-priority", "trust"},
	{"trust pcp", "onyx", "qos trust L3", "qos trust L2", false, "roce-in-default-priority", "trust"},
	{"trust pcp", "vrp", " trust dscp\n", " trust 8021p\n", true, "roce-in-default-priority", "trust"},
	{"trust pcp", "comware", "qos trust dscp", "qos trust dot1p", true, "roce-in-default-priority", "trust"},
	{"trust pcp", "host", "Priority trust state: dscp", "Priority trust state: pcp", false, "roce-in-default-priority", "trust"},
	{"trust pcp", "setup", "--trust=dscp", "--trust=pcp", false, "roce-in-default-priority", "trust"},
	{"vendor's stock map", "sonic", `"26": "3"`, `"26": "1",` + "\n" + `"3": "3"`, false, "roce-in-default-priority", "dscp.26"},

	// Marking.
	{"ECN without ecn", "nxos", " weight 0 ecn", " weight 0", false, "wred-drops-before-pfc", "ecn.3"},
	{"ECN without ecn", "eos", "random-detect ecn minimum-threshold 500 kbytes maximum-threshold 1500 kbytes max-mark-probability 20", "random-detect drop minimum-threshold 500 kbytes maximum-threshold 1500 kbytes drop-probability 20", false, "wred-drops-before-pfc", "ecn.3"},
	{"ECN without ecn", "onyx", "congestion-control ecn", "congestion-control red", false, "wred-drops-before-pfc", "ecn.3"},
	{"ECN without ecn", "sonic", "ecn_all", "ecn_none", false, "wred-drops-before-pfc", "ecn.3"},
	{"ECN without ecn", "vrp", " qos queue 3 ecn\n", "", true, "ecn-not-configured", "ecn.3"},
	{"ECN without ecn", "comware", " qos wred queue 3 ecn\n", "", true, "wred-drops-before-pfc", "ecn.3"},
	{"ECN without ecn", "junos", "            explicit-congestion-notification;\n", "", false, "wred-drops-before-pfc", "ecn.4"},
	{"no ECN", "nxos", "    random-detect minimum-threshold 500 kbytes maximum-threshold 1500 kbytes drop-probability 20 weight 0 ecn\n", "", false, "ecn-not-configured", "ecn.3"},
	{"no ECN", "eos", "random-detect ecn minimum-threshold 500 kbytes maximum-threshold 1500 kbytes max-mark-probability 20", "no random-detect ecn", false, "ecn-not-configured", "ecn.3"},
	{"no ECN", "sonic", `"scheduler.1",` + "\n   " + `"wred_profile": "ROCE_LOSSLESS"`, `"scheduler.1"`, true, "ecn-not-configured", "ecn.3"},
	{"ECN too high", "nxos", "minimum-threshold 500 kbytes maximum-threshold 1500", "minimum-threshold 5000 kbytes maximum-threshold 15000", false, "ecn-threshold-too-high", "ecn.3"},
	{"ECN too high", "eos", "minimum-threshold 500 kbytes maximum-threshold 1500", "minimum-threshold 5000 kbytes maximum-threshold 15000", false, "ecn-threshold-too-high", "ecn.3"},
	{"ECN too high", "nvue", "max-threshold 1500000", "max-threshold 15000000", false, "ecn-threshold-too-high", "ecn.3"},
	{"ECN too high", "onyx", "maximum-absolute 1500", "maximum-absolute 5000", false, "ecn-threshold-too-high", "ecn.3"},
	{"ECN too high", "sonic", `"green_max_threshold": "1500000"`, `"green_max_threshold": "9000000"`, false, "ecn-threshold-too-high", "ecn.3"},
	{"ECN too high", "vrp", "high-limit 1500", "high-limit 9000", false, "ecn-threshold-too-high", "ecn.3"},
	{"ECN too high", "comware", "low-limit 1969 high-limit 5906", "low-limit 8000 high-limit 16000", false, "ecn-threshold-too-high", "ecn.3"},
	{"ECN too high", "junos", "fill-level [ 1 2 ]", "fill-level [ 55 90 ]", false, "ecn-threshold-too-high", "ecn.4"},
	{"ECN too low", "nxos", "minimum-threshold 500 kbytes", "minimum-threshold 15 kbytes", false, "ecn-threshold-too-low", "ecn.3"},
	{"ECN too low", "nvue", "min-threshold 500000", "min-threshold 7000", false, "ecn-threshold-too-low", "ecn.3"},
	{"ECN too low", "sonic", `"green_min_threshold": "500000"`, `"green_min_threshold": "10000"`, false, "ecn-threshold-too-low", "ecn.3"},
	{"ECN in the wrong unit", "vrp", "discard-percentage 20 kbytes", "discard-percentage 20 bytes", false, "ecn-threshold-too-low", "ecn.3"},
	{"ECN probability", "nxos", "drop-probability 20", "drop-probability 100", false, "ecn-threshold-too-low", "ecn.3"},
	{"ECN probability", "nvue", "probability 20", "probability 100", false, "ecn-threshold-too-low", "ecn.3"},
	{"ECN probability", "sonic", `"green_drop_probability": "20"`, `"green_drop_probability": "5"`, false, "ecn-threshold-too-high", "ecn.3"},

	// Pause.
	{"PFC auto", "nxos", "priority-flow-control mode on", "priority-flow-control mode auto", true, "dcbx-not-converged", "pfc"},
	{"PFC auto", "comware", "priority-flow-control enable\n priority-flow-control no-drop", "priority-flow-control auto\n priority-flow-control no-drop", true, "dcbx-not-converged", "pfc"},
	{"PFC off", "nxos", "priority-flow-control mode on", "priority-flow-control mode off", true, "pfc-not-enabled-on-path", "pfc"},
	{"PFC off", "eos", "   priority-flow-control on\n", "", false, "pfc-not-enabled-on-path", "pfc"},
	{"PFC off", "onyx", "interface ethernet 1/1-1/2 dcb priority-flow-control mode on force", "interface ethernet 1/1 dcb priority-flow-control mode on force", false, "pfc-not-enabled-on-path", "pfc"},
	{"PFC off", "sonic", `"pfc_enable": "3",`, "", true, "pfc-not-enabled-on-path", "pfc"},
	{"PFC off", "vrp", " dcb pfc enable mode manual\n", "", true, "pfc-not-enabled-on-path", "pfc"},
	{"PFC off", "comware", " priority-flow-control enable\n", "", true, "pfc-not-enabled-on-path", "pfc"},
	{"PFC off", "junos", "                        pfc;\n", "", false, "pfc-not-enabled-on-path", "pfc"},
	{"PFC off", "host", "enabled     0   0   0   1   0   0   0   0", "enabled     0   0   0   0   0   0   0   0", false, "pfc-not-enabled-on-path", "pfc"},
	{"PFC off", "setup", "--pfc 0,0,0,1,0,0,0,0", "--pfc 0,0,0,0,0,0,0,0", false, "pfc-not-enabled-on-path", "pfc"},
	{"PFC off", "dcb", "all:off 3:on", "all:off", false, "pfc-not-enabled-on-path", "pfc"},
	{"PFC on another priority", "onyx", "priority 3 enable", "priority 4 enable", false, "pfc-priority-mismatch", "pfc"},
	{"PFC on another priority", "eos", "priority 3 no-drop", "priority 4 no-drop", false, "pfc-priority-mismatch", "pfc"},
	{"PFC on another priority", "host", "enabled     0   0   0   1   0   0   0   0", "enabled     0   0   0   0   1   0   0   0", false, "pfc-priority-mismatch", "pfc"},
	{"PFC on another priority", "setup", "--pfc 0,0,0,1,0,0,0,0", "--pfc 0,0,0,0,1,0,0,0", false, "pfc-priority-mismatch", "pfc"},
	{"PFC on another priority", "dcb", "3:on", "4:on", false, "pfc-priority-mismatch", "pfc"},
	{"PFC on all priorities", "eos", "   priority-flow-control priority 3 no-drop\n", allNoDrop, false, "pfc-on-all-priorities", "pfc"},
	{"PFC on all priorities", "onyx", "   dcb priority-flow-control priority 3 enable\n", allOnyx, false, "pfc-on-all-priorities", "pfc"},
	{"PFC on all priorities", "host", "enabled     0   0   0   1   0   0   0   0", "enabled     1   1   1   1   1   1   1   1", false, "pfc-on-all-priorities", "pfc"},
	{"PFC on all priorities", "setup", "--pfc 0,0,0,1,0,0,0,0", "--pfc 1,1,1,1,1,1,1,1", false, "pfc-on-all-priorities", "pfc"},
	{"PFC on all priorities", "dcb", "all:off 3:on", "all:on", false, "pfc-on-all-priorities", "pfc"},
	{"PFC on two priorities", "nvue", "nv set qos roce mode lossless\n", "nv set qos roce mode lossless\nnv set qos pfc default-global switch-priority 3,4\n", false, "pfc-on-all-priorities", "pfc"},
	{"PFC on two priorities", "vrp", "dcb pfc\n priority 3\n", "dcb pfc\n priority 3 4\n", false, "pfc-on-all-priorities", "pfc"},
	{"link-level pause", "host", "RX:		off", "RX:		on", false, "global-pause-throttle", "pause"},
	{"link-level pause", "setup", "rx off tx off", "rx on tx on", false, "global-pause-throttle", "pause"},
	{"link-level pause", "eos", "   no switchport\n", "   no switchport\n   flowcontrol receive on\n", true, "global-pause-throttle", "pause"},
	{"link-level pause", "vrp", " undo flow-control\n", " flow-control\n", true, "global-pause-throttle", "pause"},

	// Watchdog.
	{"watchdog off", "nxos", "priority-flow-control watch-dog-interval on\ninterface", "interface", false, "pfc-storm", "watchdog"},
	{"watchdog off", "eos", "   priority-flow-control pause watchdog\n   priority-flow-control pause watchdog port action drop\n   priority-flow-control pause watchdog port timer timeout 0.2 polling-interval auto recovery-time 0.4 forced\n", "   no priority-flow-control pause watchdog\n", false, "pfc-storm", "watchdog"},
	{"watchdog off", "nvue", "nv set interface swp1-2 qos pfc-watchdog\n", "", false, "pfc-storm", "watchdog"},
	{"watchdog off", "onyx", "   interface ethernet 1/1-1/2 pfc-wd\n", "", false, "pfc-storm", "watchdog"},
	{"watchdog off", "sonic", `"Ethernet0": {` + "\n   " + `"action": "drop",` + "\n   " + `"detection_time": "200",` + "\n   " + `"restoration_time": "200"` + "\n  },", "", false, "pfc-storm", "watchdog"},
	{"watchdog off", "comware", " priority-flow-control deadlock enable\n", "", true, "pfc-storm", "watchdog"},
	{"watchdog off", "junos", "            pfc-watchdog;\n", "", false, "pfc-storm", "watchdog"},
	{"watchdog only reports", "eos", "port action drop", "port action notify-only", false, "pfc-storm", "watchdog"},
	{"watchdog too quick", "sonic", `"detection_time": "200"`, `"detection_time": "10"`, true, "pfc-watchdog-flapping", "watchdog"},

	// Congestion notifications.
	{"CNP in the RoCE queue", "nxos", "  class CNP\n    set qos-group 6", "  class CNP\n    set qos-group 3", false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP in the RoCE queue", "eos", "dscp 48 to traffic-class 6", "dscp 48 to traffic-class 3", false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP in the RoCE queue", "nvue", "dscp 48 switch-priority 6", "dscp 48 switch-priority 3", false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP in the RoCE queue", "onyx", "dscp 48 to switch-priority 6", "dscp 48 to switch-priority 3", false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP in the RoCE queue", "sonic", `"48": "6"`, `"48": "3"`, false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP in the RoCE queue", "vrp", "ip-dscp-inbound 48 phb cs6", "ip-dscp-inbound 48 phb af3", false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP in the RoCE queue", "comware", "import 48 export 6", "import 48 export 3", false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP in the RoCE queue", "junos", "class CNP queue-num 3;", "class CNP queue-num 4;", false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP in the RoCE queue", "setup", "set,48,6", "set,48,3", false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP in the default queue", "nxos", "match dscp 48", "match dscp 46", false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP in the default queue", "sonic", `"48": "6"`, `"48": "0"`, false, "cnp-in-wrong-queue", "dscp.48"},
	{"CNP with another code point", "host", "cnp_dscp:48", "cnp_dscp:46", false, "cnp-in-wrong-queue", "cnp_dscp"},
	{"CNP with another code point", "setup", "echo 48 >", "echo 46 >", false, "cnp-in-wrong-queue", "cnp_dscp"},
	{"CNP in the data's priority", "host", "cnp_802p_prio:6", "cnp_802p_prio:3", false, "cnp-in-wrong-queue", "cnp_priority"},
	{"CNP queue not strict", "nxos", "    priority level 1\n", "    bandwidth remaining percent 0\n", false, "cnp-in-wrong-queue", "schedule.6"},
	{"CNP queue not strict", "sonic", `"type": "STRICT"`, `"type": "DWRR", "weight": "1"`, false, "cnp-in-wrong-queue", "schedule.6"},

	// MTU.
	{"MTU 1500 on one hop", "nxos", "  mtu 9216\n  service", "  mtu 1500\n  service", true, "mtu-mismatch", "mtu"},
	{"MTU 1500 on one hop", "eos", "mtu 9214", "mtu 1500", true, "mtu-mismatch", "mtu"},
	{"MTU 1500 on one hop", "nvue", "nv set interface swp1-2 link mtu 9216\n", "nv set interface swp1 link mtu 9216\nnv set interface swp2 link mtu 1500\n", false, "mtu-mismatch", "mtu"},
	{"MTU 1500 on one hop", "onyx", "   interface ethernet 1/1-1/2 mtu 9216 force\n", "   interface ethernet 1/1 mtu 9216 force\n   interface ethernet 1/2 mtu 1500 force\n", false, "mtu-mismatch", "mtu"},
	{"MTU 1500 on one hop", "sonic", `"mtu": "9216"`, `"mtu": "1500"`, true, "mtu-mismatch", "mtu"},
	{"MTU 1500 on one hop", "vrp", "jumboframe enable 9234", "jumboframe enable 1518", true, "mtu-mismatch", "mtu"},
	{"MTU 1500 on one hop", "comware", "jumboframe enable 9234", "jumboframe enable 1522", true, "mtu-mismatch", "mtu"},
	{"MTU 1500 on one hop", "junos", "mtu 9230", "mtu 1514", true, "mtu-mismatch", "mtu"},
	{"MTU of the class", "nxos", "    mtu 9216\n    pause", "    mtu 1500\n    pause", false, "mtu-mismatch", "mtu.3"},
	{"MTU of the card", "host", "mtu:9000", "mtu:1500", false, "mtu-small", "mtu"},
	{"MTU of the card", "setup", "mtu 9000", "mtu 1500", false, "mtu-small", "mtu"},
	{"MTU of the card", "dcb", "mtu 9000", "mtu 1500", false, "mtu-small", "mtu"},

	// Scheduler.
	{"shares do not add up", "nxos", "c-out-8q-q-default\n    bandwidth remaining percent 50", "c-out-8q-q-default\n    bandwidth remaining percent 80", false, "switch-config-not-applied", "ets"},
	{"shares do not add up", "host", "tc: 0 ratelimit: unlimited, tsa: ets, bw: 50%", "tc: 0 ratelimit: unlimited, tsa: ets, bw: 20%", false, "switch-config-not-applied", "ets"},
	{"shares do not add up", "setup", "--tcbw 50,0,0,50", "--tcbw 60,0,0,50", false, "switch-config-not-applied", "ets"},
	{"shares do not add up", "dcb", "0:50 3:50 prio", "0:50 3:60 prio", false, "switch-config-not-applied", "ets"},
	{"RoCE starved", "sonic", `"scheduler.1": {` + "\n   " + `"type": "DWRR",` + "\n   " + `"weight": "50"`, `"scheduler.1": {` + "\n   " + `"type": "DWRR",` + "\n   " + `"weight": "5"`, false, "switch-config-not-applied", "schedule.3"},
	{"RoCE starved", "onyx", "traffic-class 3 dcb ets wrr 50", "traffic-class 3 dcb ets wrr 5", false, "switch-config-not-applied", "schedule.3"},
	{"RoCE starved", "comware", "qos wfq af3 group 1 byte-count 50", "qos wfq af3 group 1 byte-count 5", true, "switch-config-not-applied", "schedule.3"},

	// Headroom.
	{"cable longer than stated", "sonic", `"Ethernet0": "5m"`, `"Ethernet0": "1m"`, false, "headroom-too-small", "cable_length"},
	{"headroom too small", "comware", "dot1p 3 headroom 491", "dot1p 3 headroom 10", true, "headroom-too-small", "ingress.3"},

	// Hosts.
	{"traffic class of the card", "host", "Global tclass=106", "Global tclass=0", false, "roce-in-default-priority", "traffic_class"},
	{"traffic class of connections", "host", "-d mlx5_0\n106", "-d mlx5_0\n0", false, "roce-in-default-priority", "traffic_class"},
	{"traffic class of connections", "setup", "cma_roce_tos -d $dev -t 106", "cma_roce_tos -d $dev -t 26", false, "roce-in-default-priority", "traffic_class"},
	{"traffic class of the library", "host", "NCCL_IB_TC=106", "NCCL_IB_TC=26", false, "roce-in-default-priority", "NCCL_IB_TC"},
	{"traffic class of the library", "setup", "NCCL_IB_TC=106", "NCCL_IB_TC=0", false, "roce-in-default-priority", "NCCL_IB_TC"},
	{"notification point off", "host", "roce_np/enable/3:1", "roce_np/enable/3:0", false, "congestion-control-off", "np.priority.3"},
	{"reaction point off", "host", "roce_rp/enable/3:1", "roce_rp/enable/3:0", false, "congestion-control-off", "rp.priority.3"},
	{"reaction point off", "setup", "echo 1 > /sys/class/net/$netdev/ecn/roce_rp/enable/3", "echo 0 > /sys/class/net/$netdev/ecn/roce_rp/enable/3", false, "congestion-control-off", "rp.priority.3"},
	{"DCBX willing", "dcb", "willing off", "willing on", false, "dcbx-not-converged", "ets_willing"},
	{"sockets", "host", "NCCL_IB_TC=106\n", "NCCL_IB_TC=106\nNCCL_IB_DISABLE=1\n", false, "nccl-socket-fallback", "NCCL_IB_DISABLE"},
	{"retries", "host", "NCCL_IB_RETRY_CNT=7", "NCCL_IB_RETRY_CNT=1", false, "nccl-tuning", "NCCL_IB_RETRY_CNT"},
	{"timeout as a switch", "host", "NCCL_IB_TIMEOUT=20", "NCCL_IB_TIMEOUT=1", false, "nccl-tuning", "NCCL_IB_TIMEOUT"},
	{"service level", "host", "NCCL_IB_TC=106\n", "NCCL_IB_TC=106\nNCCL_IB_SL=106\n", false, "roce-in-default-priority", "NCCL_IB_SL"},
	{"name misspelt", "host", "NCCL_IB_TC=106\n", "NCCL_IB_TC=106\nNCCL_IB_GID_INDX=3\n", false, "env-typo", "NCCL_IB_GID_INDX"},
	{"option misspelt", "setup", "--trust=dscp", "--turstdscp", false, "env-typo", "--turstdscp"},
}

const (
	allNoDrop = `   priority-flow-control priority 0 no-drop
   priority-flow-control priority 1 no-drop
   priority-flow-control priority 2 no-drop
   priority-flow-control priority 3 no-drop
   priority-flow-control priority 4 no-drop
   priority-flow-control priority 5 no-drop
   priority-flow-control priority 6 no-drop
   priority-flow-control priority 7 no-drop
`
	allOnyx = `   dcb priority-flow-control priority 0 enable
   dcb priority-flow-control priority 1 enable
   dcb priority-flow-control priority 2 enable
   dcb priority-flow-control priority 3 enable
   dcb priority-flow-control priority 4 enable
   dcb priority-flow-control priority 5 enable
   dcb priority-flow-control priority 6 enable
   dcb priority-flow-control priority 7 enable
`
)

// files are the base texts of one system and both hosts, one of them changed.
func (m *mutation) files(t *testing.T) (system, map[string]string) {
	s := systems[0]
	for _, other := range systems {
		if other.name == m.system {
			s = other
		}
	}
	texts := map[string]string{s.file: base(t, s.name), "h1/state.txt": base(t, "host"), "h2/setup.sh": base(t, "setup")}
	name := s.file
	switch m.system {
	case "host":
		name = "h1/state.txt"
	case "setup":
		name = "h2/setup.sh"
	case "dcb":
		delete(texts, "h2/setup.sh")
		name = "h2/dcb.sh"
		texts[name] = base(t, "dcb")
	}
	n := -1
	if m.once {
		n = 1
	}
	changed := strings.Replace(texts[name], m.old, m.new, n)
	if changed == texts[name] {
		t.Fatalf("%q does not stand in %s", m.old, name)
	}
	texts[name] = changed
	return s, texts
}

func TestMutations(t *testing.T) {
	for i := range mutations {
		m := &mutations[i]
		t.Run(m.fault+"/"+m.system, func(t *testing.T) {
			s, files := m.files(t)
			if name := changedFile(m, s); m.system != "host" { // the others are as planned
				files = map[string]string{name: files[name]}
			}
			r := withoutSystem(run(t, plan(t, s, ""), files))
			if len(r.Findings) != 1 {
				t.Fatalf("%d findings, want %s alone:\n%s", len(r.Findings), m.cause, list(r))
			}
			f := &r.Findings[0]
			if f.Cause != m.cause || f.Setting != m.setting {
				t.Errorf("%s of %s, want %s of %s", f.Cause, f.Setting, m.cause, m.setting)
			}
			if f.Consequence == "" || f.Expected == "" || f.Found == "" || len(f.Evidence) == 0 || f.Evidence[0].Line == 0 {
				t.Errorf("incomplete: %+v", f)
			}
		})
	}
}
