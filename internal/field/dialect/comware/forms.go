package comware

import "weir/internal/field/dialect"

// Where the forms are documented.
const (
	pfcGuide  = "H3C S9825/S9855 Interface Configuration Guide, Configuring PFC"
	qosGuide  = "H3C S9825/S9855 ACL and QoS Configuration Guide"
	commands  = "H3C S9825/S9855 Command References"
	inMap     = "qos map-table"
	inTable   = "qos wred queue table"
	inPort    = "interface"
	queueName = "be|af1|af2|af3|af4|ef|cs6|cs7|0|1|2|3|4|5|6|7"
)

var grammar = dialect.Language{
	Separator: "#",
	Comments:  []string{"!", "# "},
	Show:      []string{"display current", "dis cur", "display saved", "display this"},
	Forms:     forms,
	Others:    map[string][]string{"": others, inPort: portOthers},
}.Compile()

var forms = []dialect.Form{
	{ID: "hostname", Text: "sysname <name>", Source: commands},
	{ID: "version", Text: "version <version...>", Source: commands},

	// PFC for the whole switch.
	{ID: "deadlock-interval", Text: "priority-flow-control deadlock cos <cos:0-7> interval <interval:0-100000>", Source: pfcGuide},
	{ID: "deadlock-precision", Text: "priority-flow-control deadlock precision <precision:high|normal|low>", Source: pfcGuide},
	{ID: "deadlock-delay", Text: "priority-flow-control deadlock auto-recover cos <cos:0-7> delay <delay:0-100000>", Source: pfcGuide},
	{ID: "deadlock-action", Text: "priority-flow-control deadlock auto-recover action <action:discard|forwarding>", Source: pfcGuide},
	{Text: "priority-flow-control deadlock threshold <rest...>", Source: pfcGuide},
	{ID: "pool", Text: "priority-flow-control poolid <pool:0-100> headroom <cells:0-2000000000>", Source: commands},
	{ID: "pfc", Text: "priority-flow-control <mode:enable|auto>", Source: pfcGuide},
	{ID: "no-drop", Text: "priority-flow-control no-drop dot1p <list+>", Source: pfcGuide},
	{Text: "buffer <rest...>", Source: commands},

	// Priority maps.
	{ID: "map", Text: "qos map-table <map:dscp-dot1p|dscp-lp|dot1p-lp|dscp-dp|dscp-dscp|dot1p-dp|exp-dot1p|dot1p-exp|dot1p-dot1p|dot1p-dscp>", Opens: inMap, Source: qosGuide},
	{ID: "import", In: inMap, Text: "import <list+> export <to:0-63>", Source: qosGuide},
	{ID: "table", Text: "qos wred queue table <name>", Opens: inTable, Source: qosGuide},
	{ID: "wred", In: inTable, Text: "queue <queue:0-7> [drop-level <level:0-2>] low-limit <low:0-2000000000> high-limit <high:0-2000000000> [discard-probability <probability:0-100>]", Source: qosGuide},
	{ID: "ecn", In: inTable, Text: "queue <queue:0-7> ecn", Source: qosGuide},
	{ID: "weighting", In: inTable, Text: "queue <queue:0-7> weighting-constant <exponent:0-15>", Source: qosGuide},

	// Ports.
	{ID: "interface", Text: "interface range <ports...>", Opens: inPort, Source: commands},
	{ID: "interface", Text: "interface <ports...>", Opens: inPort, Source: commands},
	{ID: "jumbo", In: inPort, Text: "jumboframe enable [<length:1518-16384>]", Source: commands},
	{ID: "no-jumbo", In: inPort, Text: "undo jumboframe enable", Source: commands},
	{ID: "mtu", In: inPort, Text: "mtu <mtu:46-16384>", Source: commands},
	{ID: "routed", In: inPort, Text: "port link-mode route", Source: commands},
	{ID: "deadlock", In: inPort, Text: "priority-flow-control deadlock enable", Source: pfcGuide},
	{In: inPort, Text: "priority-flow-control deadlock <rest...>", Source: pfcGuide},
	{In: inPort, Text: "priority-flow-control early-warning <rest...>", Source: pfcGuide},
	{ID: "pfc", In: inPort, Text: "priority-flow-control <mode:enable|auto>", Source: pfcGuide},
	{ID: "no-pfc", In: inPort, Text: "undo priority-flow-control", Source: pfcGuide},
	{ID: "no-drop", In: inPort, Text: "priority-flow-control no-drop dot1p <list+>", Source: pfcGuide},
	{ID: "headroom", In: inPort, Text: "priority-flow-control dot1p <priority:0-7> headroom <cells:0-2000000000>", Source: commands},
	{ID: "reserved", In: inPort, Text: "priority-flow-control dot1p <priority:0-7> reserved-buffer <cells:0-2000000000>", Source: commands},
	{ID: "ingress-dynamic", In: inPort, Text: "priority-flow-control dot1p <priority:0-7> ingress-buffer dynamic <ratio:0-2000000000>", Source: commands},
	{ID: "ingress-static", In: inPort, Text: "priority-flow-control dot1p <priority:0-7> ingress-buffer static <cells:0-2000000000>", Source: commands},
	{ID: "resume-offset", In: inPort, Text: "priority-flow-control dot1p <priority:0-7> ingress-threshold-offset <cells:0-2000000000>", Source: commands},
	{In: inPort, Text: "priority-flow-control dot1p <rest...>", Source: commands},
	{ID: "pause", In: inPort, Text: "flow-control [<direction:receive>] [enable]", Source: commands},
	{ID: "trust", In: inPort, Text: "qos trust <field:dscp|dot1p|none|tunnel-dot1p>", Source: qosGuide},
	{ID: "no-trust", In: inPort, Text: "undo qos trust", Source: qosGuide},
	{ID: "default-priority", In: inPort, Text: "qos priority [dot1p] <priority:0-7>", Source: qosGuide},
	{ID: "scheduler", In: inPort, Text: "qos <kind:wfq|wrr> <unit:byte-count|weight>", Source: qosGuide},
	{ID: "all-strict", In: inPort, Text: "qos sp", Source: qosGuide},
	{ID: "strict", In: inPort, Text: "qos <kind:wfq|wrr> <queue:" + queueName + "> group sp", Source: qosGuide},
	{ID: "weight", In: inPort, Text: "qos <kind:wfq|wrr> <queue:" + queueName + "> group <group:1|2> <unit:byte-count|weight> <weight:1-100000>", Source: qosGuide},
	{ID: "weight", In: inPort, Text: "qos <kind:wfq|wrr> <queue:" + queueName + "> <unit:byte-count|weight> <weight:1-100000>", Source: qosGuide},
	{ID: "apply", In: inPort, Text: "qos wred apply [<table>]", Source: qosGuide},
	{ID: "wred", In: inPort, Text: "qos wred queue <queue:0-7> [drop-level <level:0-2>] low-limit <low:0-2000000000> high-limit <high:0-2000000000> [discard-probability <probability:0-100>]", Source: qosGuide},
	{ID: "ecn", In: inPort, Text: "qos wred queue <queue:0-7> ecn", Source: qosGuide},
	{ID: "weighting", In: inPort, Text: "qos wred queue <queue:0-7> weighting-constant <exponent:0-15>", Source: qosGuide},
	{In: inPort, Text: "qos gts <rest...>", Source: qosGuide},
	{In: inPort, Text: "qos lr <rest...>", Source: qosGuide},
	{In: inPort, Text: "qos bandwidth <rest...>", Source: qosGuide},
	{In: inPort, Text: "qos apply <rest...>", Source: qosGuide},
	{In: inPort, Text: "qos <kind:wfq|wrr> <rest...>", Source: qosGuide},
}

// others start statements that say nothing about queues.
var (
	others = []string{
		"acl", "ai-ecn", "ai-service", "arp", "bfd", "bgp", "bridge", "clock", "collaboration", "command-alias", "configuration", "controller", "copyright-info", "customlog", "device", "dhcp", "diagnostic-logfile", "dns", "domain", "drni", "evpn", "ftp", "grpc", "hardware-resource", "hash", "header", "hwtacacs", "info-center", "ip", "ipv6", "irf", "irf-port", "isis", "l2vpn", "lacp",
		"license", "line", "lldp", "load-balance", "local-user", "log", "loopback-detection", "m-lag", "mac-address", "mirroring-group", "mlag", "monitor-link", "mpls", "netconf", "nqa", "ntp-service", "object-group", "ospf", "ospfv3", "packet-drop", "parity-error", "password-control", "password-recovery", "pim", "pki", "port-security", "probe", "ptp", "public-key", "qos", "radius", "restful", "rmon", "role", "route-policy", "router", "routing-policy",
		"sampler", "scheduler", "security", "segment-routing", "session", "sflow", "snmp-agent", "ssh", "ssl", "stp", "super", "switch-mode", "system-working-mode", "tcp", "telemetry", "telnet", "time-range", "track", "traffic", "traffic-policy", "transceiver", "tunnel", "undo", "user-group", "user-interface", "vlan", "vrrp", "vxlan", "warm-reboot", "xbar", "ifmgr", "interface-mode", "management", "mdc", "monitor", "fan", "set", "forward-path-detection", "itu-channel", "ntp", "public-key-code",
	}
	portOthers = []string{
		"arp", "bandwidth", "bfd", "bpdu-drop", "broadcast-suppression", "combo", "dampening", "description", "dhcp", "dldp", "drni", "duplex", "eee", "evpn", "fec", "flow-interval", "ifmonitor", "ip", "ipv6", "isis", "lacp", "link-aggregation", "link-delay", "lldp", "load-sharing", "loopback", "loopback-detection", "mac-address", "mac-based", "mdi", "mirroring-group", "mlag", "monitor-link", "mpls", "multicast-suppression", "ospf", "ospfv3", "packet-filter", "pim", "port", "ptp",
		"qos-policy", "sflow", "shutdown", "speed", "stp", "storm-constrain", "traffic-policy", "undo", "unicast-suppression", "using", "vlan", "vrrp", "vtep", "vxlan", "service-instance", "snmp-agent", "port-isolate", "m-lag", "poe", "transceiver", "training", "default", "ddns", "icmp", "dcbx", "priority", "binding", "link-flap",
	}
)
