package eos

import "weir/internal/field/dialect"

// Where the forms are documented.
const (
	manual = "Arista EOS User Manual, Quality of Service"
	avd    = "aristanetworks/avd, eos_cli_config_gen"
)

// The blocks of a configuration.
const (
	inProfile   = "qos profile"
	inInterface = "interface"
	inQueue     = "tx-queue"
	inMulticast = "mc-tx-queue"
	inClassMap  = "class-map"
	inPolicy    = "policy-map"
	inClass     = "policy-map class"
)

var grammar = dialect.Language{
	Separator: "!",
	Comments:  []string{"!"},
	Show:      []string{"show run", "sh run", "show startup", "show qos profile"},
	Forms:     append(append(globalForms, in(inProfile, portForms)...), in(inInterface, append(portForms, interfaceForms...))...),
	Others:    map[string][]string{"": others, inInterface: interfaceOthers},
}.Compile()

// in puts forms into a block.
func in(block string, forms []dialect.Form) []dialect.Form {
	out := make([]dialect.Form, len(forms))
	for i, f := range forms {
		f.In = block
		out[i] = f
	}
	return out
}

var globalForms = []dialect.Form{
	{ID: "hostname", Text: "hostname <name>", Source: manual},

	// Maps between fields and traffic classes.
	{ID: "map-dscp", Text: "qos map dscp <list+> to traffic-class <class:0-7> [drop-precedence <precedence:0-2>]", Source: manual},
	{ID: "map-cos", Text: "qos map cos <list+> to traffic-class <class:0-7>", Source: manual},
	{ID: "map-queue", Text: "qos map traffic-class <list+> to <kind:tx-queue|uc-tx-queue> <queue:0-7>", Source: manual},
	{Text: "qos map traffic-class <list+> to <field> <rest...>", Source: manual},
	{Text: "qos map <rest...>", Source: manual},
	{Text: "qos rewrite <rest...>", Source: manual},
	{Text: "qos random-detect <rest...>", Source: manual},
	{Text: "qos transmit-queue <rest...>", Source: manual},
	{ID: "profile", Text: "qos profile <name>", Opens: inProfile, Source: avd},

	// Classification by policy.
	{ID: "class-map", Text: "class-map [type <type:qos|quality-of-service>] [<match:match-any|match-all>] <name>", Opens: inClassMap, Source: manual},
	{Text: "class-map type <rest...>", Opens: dialect.Skip},
	{ID: "match-dscp", In: inClassMap, Text: "match [ip] dscp <dscps...>", Source: manual},
	{ID: "match-cos", In: inClassMap, Text: "match cos <list:list>", Source: manual},
	{In: inClassMap, Text: "match <rest...>", Source: manual},
	{ID: "policy-map", Text: "policy-map [type <type:qos|quality-of-service>] <name>", Opens: inPolicy, Source: manual},
	{Text: "policy-map type <rest...>", Opens: dialect.Skip},
	{ID: "class", In: inPolicy, Text: "class [type qos] <name>", Opens: inClass, Source: manual},
	{ID: "set-class", In: inClass, Text: "set traffic-class <class:0-7>", Source: manual},
	{In: inClass, Text: "set <rest...>", Source: manual},
	{In: inClass, Text: "police <rest...>", Opens: dialect.Skip, Source: manual},

	// PFC for the whole switch.
	{ID: "pfc-all-off", Text: "priority-flow-control all off", Source: avd},
	{ID: "watchdog-timeout", Text: "priority-flow-control pause watchdog default timeout <seconds:num>", Source: avd},
	{ID: "watchdog-recovery", Text: "priority-flow-control pause watchdog default recovery-time <seconds:num> [forced]", Source: avd},
	{Text: "priority-flow-control pause watchdog default polling-interval <seconds>", Source: avd},
	{ID: "watchdog-action", Text: "priority-flow-control pause watchdog action <action:drop|no-drop|notify-only|errdisable>", Source: avd},
	{Text: "priority-flow-control pause watchdog override action drop", Source: avd},
	{ID: "no-watchdog", Text: "no priority-flow-control pause watchdog", Source: manual},

	// Output queues.
	{ID: "no-priority", In: inQueue, Text: "no priority", Source: manual},
	{ID: "priority", In: inQueue, Text: "priority strict", Source: manual},
	{ID: "bandwidth", In: inQueue, Text: "bandwidth percent <percent:0-100>", Source: manual},
	{ID: "guaranteed", In: inQueue, Text: "bandwidth guaranteed percent <percent:0-100>", Source: manual},
	{In: inQueue, Text: "bandwidth guaranteed <rest...>", Source: manual},
	{ID: "ecn", In: inQueue, Source: manual, Text: "random-detect ecn minimum-threshold <min:num> <unit:bytes|kbytes|mbytes|segments|milliseconds|microseconds> " +
		"maximum-threshold <max:num> <max-unit:bytes|kbytes|mbytes|segments|milliseconds|microseconds> [max-mark-probability <probability:1-100>] [weight <weight:0-15>]"},
	{In: inQueue, Text: "random-detect ecn count", Source: manual},
	{ID: "no-ecn", In: inQueue, Text: "no random-detect ecn", Source: manual},
	{In: inQueue, Text: "no random-detect <rest...>", Source: manual},
	{ID: "drop", In: inQueue, Source: avd, Text: "random-detect drop [drop-precedence <precedence:0-2>] minimum-threshold <min:num> <unit:bytes|kbytes|mbytes|segments|milliseconds|microseconds> " +
		"maximum-threshold <max:num> <max-unit:bytes|kbytes|mbytes|segments|milliseconds|microseconds> [drop-probability <probability:1-100>] [weight <weight:0-15>]"},
	{In: inQueue, Text: "shape <rest...>", Source: manual},
	{In: inQueue, Text: "comment", Opens: dialect.Skip},
	{In: inQueue, Text: "latency <rest...>", Source: manual},
	{In: inQueue, Text: "drop-precedence <rest...>", Source: manual},
	{In: inQueue, Text: "mmu <rest...>", Source: manual},
	{In: inMulticast, Text: "<rest...>"},

	{ID: "interface", Text: "interface <name> [<rest...>]", Opens: inInterface, Source: manual},
}

// portForms stand in a qos profile and in an interface alike.
var portForms = []dialect.Form{
	{ID: "trust", Text: "qos trust <field:dscp|cos>", Source: manual},
	{ID: "no-trust", Text: "no qos trust", Source: manual},
	{ID: "default-cos", Text: "qos cos <cos:0-7>", Source: manual},
	{ID: "default-dscp", Text: "qos dscp <dscp:0-63>", Source: manual},
	{ID: "policy", Text: "service-policy [type <type:qos|quality-of-service>] input <name>", Source: manual},
	{Text: "shape <rest...>", Source: manual},
	{ID: "queue", Text: "uc-tx-queue <queue:0-7>", Opens: inQueue, Source: manual},
	{ID: "queue", Text: "tx-queue <queue:0-7>", Opens: inQueue, Source: manual},
	{Text: "mc-tx-queue <queue:0-7>", Opens: inMulticast, Source: manual},
	{ID: "pfc-on", Text: "priority-flow-control mode on", Source: manual},
	{ID: "pfc-on", Text: "priority-flow-control on", Source: manual},
	{ID: "pfc-off", Text: "no priority-flow-control [on]", Source: manual},
	{ID: "pfc-priority", Text: "priority-flow-control priority <priority:0-7> <effect:no-drop|drop>", Source: manual},
	{ID: "pfc-no-priority", Text: "no priority-flow-control priority <priority:0-7> [<rest...>]", Source: manual},
	{ID: "watchdog-action", Text: "priority-flow-control pause watchdog port action <action:drop|no-drop|notify-only|errdisable>", Source: avd},
	{ID: "watchdog-timer", Text: "priority-flow-control pause watchdog port timer timeout <timeout:num> polling-interval <polling> recovery-time <recovery:num> [forced]", Source: avd},
	{ID: "watchdog-off", Text: "priority-flow-control pause watchdog disable", Source: manual},
	{ID: "watchdog-off", Text: "no priority-flow-control pause watchdog", Source: manual},
	{ID: "watchdog", Text: "priority-flow-control pause watchdog", Source: avd},
}

var interfaceForms = []dialect.Form{
	{ID: "description", Text: "description <text...>", Source: manual},
	{ID: "mtu", Text: "mtu <mtu:68-10240>", Source: manual},
	{ID: "l2-mtu", Text: "l2 mtu <mtu:68-10240>", Source: manual},
	{ID: "routed", Text: "no switchport", Source: manual},
	{ID: "switched", Text: "switchport", Source: manual},
	{ID: "service-profile", Text: "service-profile <name>", Source: avd},
	{ID: "speed", Text: "speed [forced] <speed>", Source: manual},
	{ID: "link-pause", Text: "flowcontrol <direction:receive|send> <state:on|off|desired>", Source: manual},
	{ID: "channel-group", Text: "channel-group <number:1-999999> [mode <mode>]", Source: manual},
}

// others start statements that say nothing about queues.
var (
	others = []string{
		"aaa", "action", "address", "agent", "alias", "application", "arp", "as-path", "banner", "bfd", "boot", "clock", "control-plane", "cvx", "daemon", "default", "dhcp", "dns",
		"domain", "dot1x", "dynamic", "enable", "environment", "errdisable", "event-handler", "event-monitor", "flow", "fips", "generate", "group", "hardware", "interfaces", "ip", "ipv6", "key", "kernel", "lacp", "link",
		"lldp", "load-interval", "load-balance", "logging", "mac", "maintenance", "management", "match-list", "mcs", "metadata", "mlag", "monitor", "mpls", "no", "ntp", "password", "patch", "peer-filter", "platform", "poe", "port-channel", "prompt",
		"ptp", "queue-monitor", "radius-server", "redundancy", "role", "route-map", "router", "sample-policy", "service", "session", "sflow", "snmp-server", "spanning-tree", "stun", "switchport", "switch", "system", "tacacs-server", "tap",
		"tcam", "terminal", "traffic-policies", "trackers", "transceiver", "tunnel", "username", "virtual-router", "vlan", "vmtracer", "vrf", "vxlan", "monitoring", "class", "config", "copp", "schedule", "end",
	}
	interfaceOthers = []string{
		"arp", "bfd", "bgp", "channel-group", "dhcp", "dot1x", "encapsulation", "error-correction", "flow", "hardware", "ip", "ipv6", "isis", "l2", "l2-protocol", "lacp", "link", "link-debounce", "lldp", "load-interval", "logging",
		"mac", "mac-address", "mlag", "mpls", "multicast", "no", "pim", "poe", "port-channel", "profile", "ptp", "queue-monitor", "service-policy", "sflow", "shutdown", "snmp", "spanning-tree", "storm-control", "switchport", "traffic-loopback", "traffic-policy", "transceiver", "tunnel", "tx-queue",
		"unidirectional", "vlan", "vmtracer", "vrf", "vrrp", "xcvr", "esi", "evpn", "neighbor", "ospf", "comment", "phy", "node-segment", "default", "bandwidth", "counters", "parent",
	}
)
