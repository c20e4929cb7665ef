package junos

import "weir/internal/field/dialect"

// Where the forms are documented.
const (
	cosGuide = "Junos OS Evolved Traffic Management User Guide (QFX Series)"
	jvd      = "Juniper Validated Design, AI data center network"
	ifGuide  = "Junos OS Interfaces User Guide for Switches"
)

// The forms are what follows "set": a path in the configuration tree. Trees
// with braces hold the same paths; a list in brackets is a path for each item.
var grammar = dialect.Language{
	Forms: []dialect.Form{
		{ID: "hostname", Text: "system host-name <name>", Source: ifGuide},

		// Classification.
		{ID: "classifier", Text: "class-of-service classifiers <kind:dscp|dscp-ipv6|ieee-802.1> <name> forwarding-class <class> loss-priority <loss> code-points <point>", Source: cosGuide},
		{Text: "class-of-service classifiers <kind> <name> import <from>", Source: cosGuide},
		{ID: "alias", Text: "class-of-service code-point-aliases dscp <name> <bits>", Source: cosGuide},
		{Text: "class-of-service code-point-aliases <rest...>", Source: cosGuide},
		{ID: "class", Text: "class-of-service forwarding-classes class <class> queue-num <queue:0-11> [no-loss] [pfc-priority <priority:0-7>]", Source: jvd},
		{ID: "class-no-loss", Text: "class-of-service forwarding-classes class <class> no-loss", Source: jvd},
		{ID: "class-priority", Text: "class-of-service forwarding-classes class <class> pfc-priority <priority:0-7>", Source: jvd},
		{ID: "class-queue", Text: "class-of-service forwarding-classes queue <queue:0-11> <class>", Source: cosGuide},
		{Text: "class-of-service rewrite-rules <rest...>", Source: cosGuide},
		{Text: "class-of-service traceoptions <rest...>", Source: cosGuide},
		{Text: "class-of-service host-outbound-traffic <rest...>", Source: cosGuide},
		{Text: "class-of-service multi-destination <rest...>", Source: cosGuide},
		{Text: "class-of-service traffic-control-profiles <rest...>", Source: cosGuide},
		{Text: "class-of-service forwarding-class-sets <rest...>", Source: cosGuide},
		{Text: "class-of-service system-defaults <rest...>", Source: cosGuide},

		// Marking and scheduling.
		{ID: "fill", Text: "class-of-service drop-profiles <profile> interpolate fill-level <percent:0-100>", Source: jvd},
		{ID: "drop", Text: "class-of-service drop-profiles <profile> interpolate drop-probability <percent:0-100>", Source: jvd},
		{ID: "step", Text: "class-of-service drop-profiles <profile> fill-level <fill:0-100> drop-probability <drop:0-100>", Source: cosGuide},
		{ID: "scheduler-profile", Text: "class-of-service schedulers <scheduler> drop-profile-map loss-priority <loss> protocol <protocol> drop-profile <profile>", Source: jvd},
		{ID: "ecn", Text: "class-of-service schedulers <scheduler> explicit-congestion-notification", Source: jvd},
		{ID: "rate", Text: "class-of-service schedulers <scheduler> transmit-rate percent <percent:0-100> [exact]", Source: jvd},
		{Text: "class-of-service schedulers <scheduler> transmit-rate <rest...>", Source: cosGuide},
		{ID: "priority", Text: "class-of-service schedulers <scheduler> priority <level:low|medium-low|medium-high|high|strict-high>", Source: jvd},
		{Text: "class-of-service schedulers <scheduler> <other:shaping-rate|buffer-size|buffer-dynamic-threshold|excess-rate|excess-priority> <rest...>", Source: cosGuide},
		{ID: "map", Text: "class-of-service scheduler-maps <map> forwarding-class <class> scheduler <scheduler>", Source: jvd},

		// PFC.
		{ID: "pfc-input", Text: "class-of-service congestion-notification-profile <profile> input <field:dscp|ieee-802.1> code-point <point> pfc", Source: jvd},
		{Text: "class-of-service congestion-notification-profile <profile> input <field:dscp|ieee-802.1> code-point <point> <other:mru|xon|xoff|headroom> <rest...>", Source: cosGuide},
		{ID: "cable", Text: "class-of-service congestion-notification-profile <profile> input cable-length <metres:0-100000>", Source: cosGuide},
		{ID: "pfc-output", Text: "class-of-service congestion-notification-profile <profile> output ieee-802.1 code-point <point> flow-control-queue <queue:0-11>", Source: jvd},
		{ID: "watchdog", Text: "class-of-service congestion-notification-profile <profile> pfc-watchdog", Source: jvd},
		{ID: "watchdog-poll", Text: "class-of-service congestion-notification-profile <profile> pfc-watchdog poll-interval <ms:1-100000>", Source: cosGuide},
		{ID: "watchdog-detect", Text: "class-of-service congestion-notification-profile <profile> pfc-watchdog detection <times:1-1000>", Source: cosGuide},
		{ID: "watchdog-recover", Text: "class-of-service congestion-notification-profile <profile> pfc-watchdog recovery <ms:1-1000000>", Source: cosGuide},
		{ID: "watchdog-action", Text: "class-of-service congestion-notification-profile <profile> pfc-watchdog watchdog-action <action:drop|forward>", Source: cosGuide},

		// Buffers.
		{ID: "partition", Text: "class-of-service shared-buffer <side:ingress|egress> buffer-partition <partition> percent <percent:num>", Source: jvd},
		{ID: "partition-alpha", Text: "class-of-service shared-buffer <side:ingress|egress> buffer-partition <partition> dynamic-threshold <index:0-20>", Source: jvd},
		{ID: "shared", Text: "class-of-service shared-buffer <side:ingress|egress> percent <percent:num>", Source: cosGuide},
		{ID: "dedicated", Text: "class-of-service dedicated-buffer <side:ingress|egress> percent <percent:num>", Source: jvd},

		// Ports.
		{ID: "port-pfc", Text: "class-of-service interfaces <port> congestion-notification-profile <profile>", Source: jvd},
		{ID: "port-map", Text: "class-of-service interfaces <port> scheduler-map <map>", Source: jvd},
		{ID: "port-classifier", Text: "class-of-service interfaces <port> unit <unit> classifiers <kind:dscp|dscp-ipv6|ieee-802.1> <name>", Source: jvd},
		{ID: "port-classifier", Text: "class-of-service interfaces <port> classifiers <kind:dscp|dscp-ipv6|ieee-802.1> <name>", Source: cosGuide},
		{ID: "port-class", Text: "class-of-service interfaces <port> unit <unit> forwarding-class <class>", Source: cosGuide},
		{ID: "port-class", Text: "class-of-service interfaces <port> forwarding-class <class>", Source: cosGuide},
		{Text: "class-of-service interfaces <port> unit <unit> rewrite-rules <rest...>", Source: cosGuide},
		{Text: "class-of-service interfaces <port> <other:rewrite-rules|shaping-rate|forwarding-class-set|output-traffic-control-profile|buffer-size> <rest...>", Source: cosGuide},
		{ID: "mtu", Text: "interfaces <port> mtu <mtu:256-16384>", Source: ifGuide},
		{ID: "speed", Text: "interfaces <port> speed <speed>", Source: ifGuide},
		{ID: "speed", Text: "interfaces <port> ether-options speed <speed>", Source: ifGuide},
		{ID: "pause", Text: "interfaces <port> <options:ether-options|gigether-options> flow-control", Source: ifGuide},
		{ID: "no-pause", Text: "interfaces <port> <options:ether-options|gigether-options> no-flow-control", Source: ifGuide},
		{ID: "member", Text: "interfaces interface-range <range> member <port>", Source: ifGuide},
		{ID: "range-mtu", Text: "interfaces interface-range <range> mtu <mtu:256-16384>", Source: ifGuide},
		{Text: "interfaces <port>", Source: ifGuide},
		{Text: "interfaces <port> <other:" + portOthers + "> [<rest...>]", Source: ifGuide},
		{Text: "interfaces interface-range <range> [<rest...>]", Source: ifGuide},
		{Text: "interfaces <kind:traceoptions|apply-groups|apply-groups-except> [<rest...>]", Source: ifGuide},
	},
	Others: map[string][]string{"": {
		"access", "accounting-options", "applications", "apply-groups", "bridge-domains", "chassis", "event-options", "ethernet-switching-options", "fabric", "firewall", "forwarding-options", "groups", "multi-chassis", "policy-options", "poe", "protocols", "redundant-power-system", "routing-instances", "routing-options", "security", "services", "snmp", "switch-options", "system", "tenants", "version", "virtual-chassis", "vlans", "vmhost", "logical-systems", "event", "schedulers-policy", "cloud-analytics", "unified-edge",
	}},
}.Compile()

// portOthers are statements of an interface that say nothing about queues.
const portOthers = "accounting-profile|aggregated-ether-options|apply-groups|apply-groups-except|apply-macro|auto-negotiation|clocking|damping|description|disable|enable|encapsulation|ether-options|ether-type|fabric-options|flexible-vlan-tagging|forwarding-class-accounting|framing|gigether-options|gratuitous-arp-reply|hold-time|layer2-policer|link-mode|mac|media-type|multicast-statistics|native-vlan-id|no-auto-negotiation|no-gratuitous-arp-reply|no-gratuitous-arp-request|no-per-unit-scheduler|no-traps|number-of-sub-ports|optics-options|passive-monitor-mode|per-unit-scheduler|port-mirror|sub-rate|traceoptions|traps|unit|unused|vlan-tagging|vlan-vci-tagging|esi|input-vlan-map|output-vlan-map|stacked-vlan-tagging|targeted-distribution|tunnel-port|otn-options|fec|loopback|rx-buckets|shared-scheduler|short-sequence|no-partition|partition|redundancy-group|redundancy-options|serial-options|sonet-options|vlan-id|family"

// tops are the first words of a whole configuration; cosParts those of what
// "show configuration class-of-service" prints.
var (
	tops     = map[string]bool{"class-of-service": true, "interfaces": true}
	cosParts = map[string]bool{"classifiers": true, "code-point-aliases": true, "congestion-notification-profile": true, "dedicated-buffer": true, "drop-profiles": true,
		"forwarding-classes": true, "scheduler-maps": true, "schedulers": true, "shared-buffer": true}
)
