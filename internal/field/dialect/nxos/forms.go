package nxos

import "weir/internal/field/dialect"

// Where the forms are documented.
const (
	qosGuide = "Cisco Nexus 9000 Series NX-OS Quality of Service Configuration Guide"
	ifGuide  = "Cisco Nexus 9000 Series NX-OS Interfaces Configuration Guide"
	aiGuide  = "Cisco Data Center Networking Blueprint for AI/ML Applications"
)

// The blocks of a configuration.
const (
	inClassMap   = "class-map"
	inQosPolicy  = "policy-map qos"
	inQosClass   = "policy-map qos class"
	inQueuing    = "policy-map queuing"
	inQueueClass = "policy-map queuing class"
	inNetwork    = "policy-map network-qos"
	inNetClass   = "policy-map network-qos class"
	inSystem     = "system qos"
	inInterface  = "interface"
)

var grammar = dialect.Language{
	Separator: "!",
	Comments:  []string{"!"},
	Show:      []string{"show run", "sh run", "show startup"},
	Forms:     forms,
	Others:    map[string][]string{"": others, inInterface: interfaceOthers},
}.Compile()

var forms = []dialect.Form{
	{ID: "hostname", Text: "hostname <name>", Source: qosGuide},
	{ID: "hostname", Text: "switchname <name>", Source: qosGuide},
	{ID: "version", Text: "version <version...>", Source: qosGuide},

	// Classification.
	{ID: "class-map", Text: "class-map <name>", Opens: inClassMap, Source: qosGuide},
	{ID: "class-map", Text: "class-map <match:match-any|match-all> <name>", Opens: inClassMap, Source: qosGuide},
	{ID: "class-map", Text: "class-map type <type:qos|queuing|network-qos> [<match:match-any|match-all>] <name>", Opens: inClassMap, Source: qosGuide},
	{Text: "class-map type <other> <rest...>", Opens: dialect.Skip},
	{ID: "match-dscp", In: inClassMap, Text: "match [ip] dscp <dscps...>", Source: qosGuide},
	{ID: "match-cos", In: inClassMap, Text: "match cos <list:list>", Source: qosGuide},
	{ID: "match-group", In: inClassMap, Text: "match qos-group <group:0-7>", Source: qosGuide},
	{ID: "match-other", In: inClassMap, Text: "match <rest...>", Source: qosGuide},
	{In: inClassMap, Text: "description <text...>"},

	{ID: "policy-qos", Text: "policy-map <name>", Opens: inQosPolicy, Source: qosGuide},
	{ID: "policy-qos", Text: "policy-map type qos <name>", Opens: inQosPolicy, Source: qosGuide},
	{ID: "policy-queuing", Text: "policy-map type queuing <name>", Opens: inQueuing, Source: qosGuide},
	{ID: "policy-network", Text: "policy-map type network-qos <name>", Opens: inNetwork, Source: qosGuide},
	{Text: "policy-map type <other> <rest...>", Opens: dialect.Skip},

	{ID: "class", In: inQosPolicy, Text: "class [type qos] <name>", Opens: inQosClass, Source: qosGuide},
	{In: inQosPolicy, Text: "description <text...>"},
	{ID: "set-group", In: inQosClass, Text: "set qos-group <group:0-7>", Source: qosGuide},
	{In: inQosClass, Text: "set <rest...>", Source: qosGuide},
	{In: inQosClass, Text: "police <rest...>", Opens: dialect.Skip, Source: qosGuide},

	// Output queues; input queues share the block.
	{ID: "class", In: inQueuing, Text: "class type queuing <name>", Opens: inQueueClass, Source: qosGuide},
	{In: inQueuing, Text: "description <text...>"},
	{ID: "priority", In: inQueueClass, Text: "priority [level <level:1-8>]", Source: qosGuide},
	{ID: "bandwidth", In: inQueueClass, Text: "bandwidth percent <percent:0-100>", Source: qosGuide},
	{ID: "bandwidth", In: inQueueClass, Text: "bandwidth remaining percent <percent:0-100>", Source: qosGuide},
	{ID: "random-detect-burst", In: inQueueClass, Text: "random-detect threshold <profile:burst-optimized|mesh-optimized> [ecn]", Source: qosGuide},
	{ID: "random-detect", In: inQueueClass, Text: "random-detect ecn", Source: qosGuide},
	{ID: "random-detect", In: inQueueClass, Text: "random-detect cos-based", Source: qosGuide},
	{ID: "random-detect", In: inQueueClass, Source: qosGuide,
		Text: "random-detect [minimum-threshold <min:num> [<min-unit:packets|bytes|kbytes|mbytes|ms|us>]] [maximum-threshold <max:num> [<max-unit:packets|bytes|kbytes|mbytes|ms|us>]] [drop-probability <probability:0-100>] [weight <weight:0-15>] [cap-average] [ecn]"},
	{ID: "pause-buffer", In: inQueueClass, Text: "pause buffer-size <size:0-2000000000> pause threshold <xoff:0-2000000000> resume threshold <xon:0-2000000000>", Source: qosGuide},
	{ID: "pause-buffer", In: inQueueClass, Text: "pause buffer-size <size:0-2000000000> [pause-threshold <xoff:0-2000000000> resume-threshold <xon:0-2000000000>]", Source: qosGuide},
	{In: inQueueClass, Text: "queue-limit <rest...>", Source: qosGuide},
	{In: inQueueClass, Text: "shape <rest...>", Source: qosGuide},
	{In: inQueueClass, Text: "afd <rest...>", Source: qosGuide},
	{In: inQueueClass, Text: "no <rest...>"},

	// No-drop classes.
	{ID: "class", In: inNetwork, Text: "class type network-qos <name>", Opens: inNetClass, Source: qosGuide},
	{In: inNetwork, Text: "description <text...>"},
	{ID: "mtu", In: inNetClass, Text: "mtu <mtu:576-9216>", Source: qosGuide},
	{ID: "pause", In: inNetClass, Text: "pause no-drop", Source: qosGuide},
	{ID: "pause", In: inNetClass, Text: "pause [no-drop] pfc-cos <cos:list> [receive]", Source: qosGuide},
	{ID: "no-pause", In: inNetClass, Text: "no pause [<rest...>]", Source: qosGuide},
	{In: inNetClass, Text: "congestion-control <rest...>", Source: qosGuide},
	{In: inNetClass, Text: "queue-limit <rest...>", Source: qosGuide},
	{In: inNetClass, Text: "multicast-optimize", Source: qosGuide},

	{ID: "system", Text: "system qos", Opens: inSystem, Source: qosGuide},
	{ID: "service-policy", In: inSystem, Text: "service-policy type network-qos <name>", Source: qosGuide},
	{ID: "service-policy", In: inSystem, Text: "service-policy type <type:qos|queuing> <direction:input|output> <name>", Source: qosGuide},

	// PFC watchdog, for the whole switch.
	{ID: "watchdog", Text: "priority-flow-control watch-dog-interval <state:on|off>", Source: qosGuide},
	{ID: "no-watchdog", Text: "no priority-flow-control watch-dog-interval [<rest...>]", Source: qosGuide},
	{ID: "watchdog-shutdown", Text: "priority-flow-control watch-dog shutdown-multiplier <times:1-100>", Source: qosGuide},
	{ID: "watchdog-restore", Text: "priority-flow-control auto-restore multiplier <times:0-100>", Source: qosGuide},
	{ID: "watchdog-restore", Text: "priority-flow-control fixed-restore multiplier <times:0-100>", Source: qosGuide},
	{Text: "priority-flow-control watch-dog <rest...>", Source: qosGuide},
	{ID: "override", Text: "priority-flow-control override-interface mode off", Source: qosGuide},

	// Ports.
	{ID: "interface", Text: "interface <name> [<rest...>]", Opens: inInterface, Source: ifGuide},
	{ID: "description", In: inInterface, Text: "description <text...>", Source: ifGuide},
	{ID: "pfc-mode", In: inInterface, Text: "priority-flow-control mode <mode:on|off|auto> [send-tlv]", Source: qosGuide},
	{ID: "no-pfc-mode", In: inInterface, Text: "no priority-flow-control mode [<rest...>]", Source: qosGuide},
	{ID: "watchdog", In: inInterface, Text: "priority-flow-control watch-dog-interval <state:on|off>", Source: qosGuide},
	{ID: "no-watchdog", In: inInterface, Text: "no priority-flow-control watch-dog-interval [<rest...>]", Source: qosGuide},
	{ID: "watchdog-disable-action", In: inInterface, Text: "priority-flow-control watch-dog-interval disable-action", Source: qosGuide},
	{In: inInterface, Text: "priority-flow-control watch-dog-interval interface-multiplier <times:0-100>", Source: qosGuide},
	{ID: "mtu", In: inInterface, Text: "mtu <mtu:576-9216>", Source: ifGuide},
	{ID: "speed", In: inInterface, Text: "speed <megabits:10-1600000>", Source: ifGuide},
	{In: inInterface, Text: "speed auto"},
	{ID: "link-pause", In: inInterface, Text: "flowcontrol <direction:receive|send> <state:on|off>", Source: ifGuide},
	{ID: "service-policy", In: inInterface, Text: "service-policy type <type:qos|queuing> <direction:input|output> <name> [no-stats]", Source: qosGuide},
	{ID: "service-policy", In: inInterface, Text: "service-policy <direction:input|output> <name> [no-stats]", Source: qosGuide},
	{ID: "channel-group", In: inInterface, Text: "channel-group <number:1-4096> [force] [mode <mode>]", Source: ifGuide},
}

// others start statements that say nothing about queues, at the top and in
// interfaces. Their blocks are passed over.
var (
	others = []string{
		"aaa", "banner", "bfd", "boot", "bridge-domain", "callhome", "cdp", "clock", "cli", "control-plane", "copp", "crypto", "email", "errdisable",
		"event", "evpn", "fabric", "fcoe", "feature", "feature-set", "fips", "flow", "gold", "hardware", "hsrp", "icam", "install", "interface-vlan", "ip", "ipv6",
		"key", "l2vpn", "lacp", "layer-2", "ldap-server", "license", "line", "lldp", "logging", "mac", "module", "monitor", "nbm", "nd", "ngoam", "ntp", "nv", "nxapi", "nxsdk",
		"object-group", "password", "poap", "port-channel", "port-profile", "power", "privilege", "ptp", "radius-server", "rmon", "role", "route-map", "router",
		"security", "segment-routing", "sensor-group", "service", "sflow", "slot", "snmp-server", "spanning-tree", "ssh", "system", "tacacs-server", "tacacs+", "telemetry", "telnet", "terminal",
		"track", "udld", "username", "userpassphrase", "vdc", "vlan", "vpc", "vrf", "vtp", "xml", "scheduler", "congestion-control", "rocev2", "time-range", "mpls", "platform", "no",
	}
	interfaceOthers = []string{
		"access-list", "bandwidth", "beacon", "bfd", "cdp", "delay", "dot1q", "duplex", "encapsulation", "evpn", "fabric", "fec", "hardware", "hsrp", "ip", "ipv6", "isis", "lacp", "link",
		"lldp", "load-interval", "logging", "mac", "mac-address", "mdix", "medium", "negotiate", "no", "ospf", "ospfv3", "port", "port-channel", "port-license", "private-vlan", "ptp", "sflow", "shutdown",
		"snmp", "spanning-tree", "storm-control", "switchport", "udld", "vpc", "vrf", "member", "source-interface", "host-reachability", "inherit", "power", "transceiver", "buffer-boost", "service-policy", "mpls", "nv",
	}
)
