package nvue

import "weir/internal/field/dialect"

// Where the forms are documented.
const (
	qosGuide  = "NVIDIA Cumulus Linux 5.12 User Guide, Quality of Service"
	roceGuide = "NVIDIA Cumulus Linux 5.12 User Guide, RDMA over Converged Ethernet"
	ifGuide   = "NVIDIA Cumulus Linux 5.12 User Guide, Switch Port Attributes"
	nvueRef   = "NVIDIA NVUE Command Reference, Set and Unset Commands"
)

// The forms are what follows "nv set": a path in NVUE's object tree. The
// trees that "nv config show" prints hold the same paths.
var grammar = dialect.Language{
	Forms: []dialect.Form{
		{ID: "roce", Text: "qos roce", Source: roceGuide},
		{ID: "roce-enable", Text: "qos roce enable <state:on|off>", Source: nvueRef},
		{ID: "roce-enable", Text: "qos roce state <state:enabled|disabled>", Source: nvueRef},
		{ID: "roce-mode", Text: "qos roce mode <mode:lossless|lossy|lossless-single-ipool>", Source: roceGuide},
		{ID: "roce-cable", Text: "qos roce cable-length <metres:1-100000>", Source: nvueRef},

		{ID: "trust", Text: "qos mapping <profile> trust <mode:l2|l3|both|port>", Source: qosGuide},
		{ID: "default-priority", Text: "qos mapping <profile> port-default-sp <priority:0-7>", Source: qosGuide},
		{ID: "map-pcp", Text: "qos mapping <profile> pcp <list:list> switch-priority <priority:0-7>", Source: qosGuide},
		{ID: "map-dscp", Text: "qos mapping <profile> dscp <list> switch-priority <priority:0-7>", Source: qosGuide},
		{ID: "map-queue", Text: "qos egress-queue-mapping <profile> switch-priority <list:list> traffic-class <queue:0-7>", Source: qosGuide},

		{ID: "schedule-mode", Text: "qos egress-scheduler <profile> traffic-class <list:list> mode <mode:dwrr|strict>", Source: qosGuide},
		{ID: "schedule-share", Text: "qos egress-scheduler <profile> traffic-class <list:list> bw-percent <percent:0-100>", Source: qosGuide},

		{ID: "ecn-min", Text: "qos congestion-control <profile> traffic-class <list:list> min-threshold-bytes <bytes:0-4294967295>", Source: qosGuide},
		{ID: "ecn-min", Text: "qos congestion-control <profile> traffic-class <list:list> min-threshold <bytes:0-4294967295>", Source: qosGuide},
		{ID: "ecn-max", Text: "qos congestion-control <profile> traffic-class <list:list> max-threshold-bytes <bytes:0-4294967295>", Source: qosGuide},
		{ID: "ecn-max", Text: "qos congestion-control <profile> traffic-class <list:list> max-threshold <bytes:0-4294967295>", Source: qosGuide},
		{ID: "ecn-probability", Text: "qos congestion-control <profile> traffic-class <list:list> probability <percent:0-100>", Source: qosGuide},
		{ID: "ecn", Text: "qos congestion-control <profile> traffic-class <list:list> ecn <state:enable|disable>", Source: qosGuide},
		{ID: "red", Text: "qos congestion-control <profile> traffic-class <list:list> red <state:enable|disable>", Source: qosGuide},

		{ID: "pfc-priority", Text: "qos pfc <profile> switch-priority <list:list>", Source: qosGuide},
		{ID: "pfc-direction", Text: "qos pfc <profile> <direction:rx|tx> <state:enable|disable>", Source: qosGuide},
		{ID: "pfc-cable", Text: "qos pfc <profile> cable-length <metres:1-100000>", Source: qosGuide},
		{ID: "pfc-buffer", Text: "qos pfc <profile> port-buffer <bytes:0-4294967295>", Source: qosGuide},
		{ID: "pfc-xoff", Text: "qos pfc <profile> xoff-threshold <bytes:0-4294967295>", Source: qosGuide},
		{ID: "pfc-xon", Text: "qos pfc <profile> xon-threshold <bytes:0-4294967295>", Source: qosGuide},
		{ID: "pause-direction", Text: "qos link-pause <profile> <direction:rx|tx> <state:enable|disable>", Source: qosGuide},
		{Text: "qos link-pause <rest...>", Source: qosGuide},
		{ID: "alpha", Text: "qos advance-buffer-config <profile> ingress-lossless-buffer shared-alpha <alpha>", Source: qosGuide},

		{ID: "watchdog-poll", Text: "qos pfc-watchdog polling-interval <ms:1-1000000>", Source: qosGuide},
		{ID: "watchdog-robustness", Text: "qos pfc-watchdog robustness <times:1-100000>", Source: qosGuide},
		{ID: "pool-share", Text: "qos traffic-pool <pool> memory-percent <percent:0-100>", Source: qosGuide},
		{ID: "pool-priority", Text: "qos traffic-pool <pool> switch-priority <list:list>", Source: qosGuide},

		{ID: "hostname", Text: "system hostname <name>", Source: nvueRef},

		{ID: "profile", Text: "interface <ports> qos <kind:mapping|pfc|congestion-control|egress-scheduler|link-pause> profile <profile>", Source: qosGuide},
		{ID: "profile", Text: "interface <ports> qos congestion-control <profile>", Source: qosGuide},
		{ID: "watchdog-state", Text: "interface <ports> qos pfc-watchdog state <state:enable|disable>", Source: qosGuide},
		{ID: "watchdog", Text: "interface <ports> qos pfc-watchdog", Source: qosGuide},
		{ID: "mtu", Text: "interface <ports> link mtu <mtu:68-16384>", Source: ifGuide},
		{ID: "speed", Text: "interface <ports> link speed <speed>", Source: ifGuide},
		{ID: "breakout", Text: "interface <ports> link breakout <rest...>", Source: ifGuide},
		{ID: "interface", Text: "interface <ports> [<rest...>]", Source: nvueRef},
	},
	Others: map[string][]string{"": {
		"system", "router", "vrf", "bridge", "evpn", "nve", "mlag", "service", "platform", "acl", "qos-remark", "maintenance", "header", "cluster", "ib", "fae", "sdn",
	}},
}.Compile()

// silent are the parts of the qos tree that do not move a packet to another
// queue or change what a queue does.
var silent = []string{"remark", "egress-shaper", "advance-buffer-config", "buffer", "headroom"}
