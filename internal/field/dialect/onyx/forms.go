package onyx

import "weir/internal/field/dialect"

// Where the forms are documented.
const (
	manual  = "NVIDIA Onyx User Manual, Quality of Service"
	roce    = "NVIDIA Onyx User Manual, RoCE Automation"
	inPort  = "interface"
	numbers = "0-4294967295"
)

var grammar = dialect.Language{
	Comments: []string{"##", "#", "!"},
	Show:     []string{"show running-config", "show run"},
	Forms:    append(append(append(globalForms, oneLine(portForms)...), inBlock(portForms)...), otherLines()...),
	OneLine:  true,
	Others:   map[string][]string{"": others, inPort: portOthers},
}.Compile()

// oneLine puts "interface ethernet 1/1-1/4" before each statement, as the
// running configuration prints them; inBlock puts them into a block.
func oneLine(forms []dialect.Form) []dialect.Form {
	out := make([]dialect.Form, len(forms))
	for i, f := range forms {
		f.Text = "interface <kind:ethernet|port-channel|mlag-port-channel> <ports> " + f.Text
		out[i] = f
	}
	return out
}

func inBlock(forms []dialect.Form) []dialect.Form {
	out := make([]dialect.Form, len(forms))
	for i, f := range forms {
		f.In = inPort
		out[i] = f
	}
	return out
}

// otherLines are one-line statements of ports that say nothing about queues, and
// those of interfaces that carry no frames of hosts.
func otherLines() []dialect.Form {
	forms := []dialect.Form{
		{Text: "dcb <other:application-priority|ets> [<rest...>]", Source: manual},
		{In: inPort, Text: "dcb <other:application-priority|ets> [<rest...>]", Source: manual},
		{Text: "interface <kind:ethernet|port-channel|mlag-port-channel> <ports> dcb <other:application-priority|ets> [<rest...>]", Source: manual},
		{Text: "interface <kind:loopback|mgmt0|mgmt1|nve|vlan|ib> [<rest...>]", Opens: dialect.Skip, Source: manual},
	}
	for _, w := range portOthers {
		forms = append(forms, dialect.Form{Text: "interface <kind:ethernet|port-channel|mlag-port-channel> <ports> " + w + " [<rest...>]", Source: manual})
	}
	return forms
}

var globalForms = []dialect.Form{
	{ID: "hostname", Text: "hostname <name>", Source: manual},
	{ID: "roce", Text: "roce [<mode:lossless|semi-lossless|lossy>]", Source: roce},
	{ID: "no-roce", Text: "no roce", Source: roce},
	{Text: "roce <rest...>", Source: roce},
	{ID: "pfc-global", Text: "dcb priority-flow-control enable [force]", Source: manual},
	{ID: "no-pfc-global", Text: "no dcb priority-flow-control enable [force]", Source: manual},
	{ID: "pfc-priority", Text: "dcb priority-flow-control priority <priority:0-7> enable", Source: manual},
	{ID: "no-pfc-priority", Text: "no dcb priority-flow-control priority <priority:0-7> enable", Source: manual},
	{ID: "pool-type", Text: "traffic pool <pool> type <type:lossless|lossy>", Source: roce},
	{ID: "pool-share", Text: "traffic pool <pool> memory percent <percent:num>", Source: roce},
	{ID: "pool-priority", Text: "traffic pool <pool> map switch-priority <priority+>", Source: roce},
	{ID: "pool", Text: "pool <pool> size <bytes:" + numbers + "> type <type:dynamic|static>", Source: manual},
	{Text: "pool <rest...>", Source: manual},
	{Text: "advanced buffer management [force]", Source: manual},
	{ID: "watchdog-poll", Text: "pfc-wd polling-interval <ms:1-1000000>", Source: manual},
	{ID: "watchdog-robustness", Text: "pfc-wd robustness <times:1-100000>", Source: manual},
	{ID: "interface", Text: "interface <kind:ethernet|port-channel|mlag-port-channel> <ports>", Opens: inPort, Source: manual},
}

var portForms = []dialect.Form{
	{ID: "mtu", Text: "mtu <mtu:64-16384> [force]", Source: manual},
	{ID: "speed", Text: "speed <speed> [no-autoneg] [force]", Source: manual},
	{ID: "trust", Text: "qos trust <mode:L2|L3|both|port>", Source: manual},
	{ID: "default-priority", Text: "qos default switch-priority <priority:0-7>", Source: manual},
	{ID: "map-dscp", Text: "qos map dscp <list> to switch-priority <priority:0-7>", Source: manual},
	{ID: "map-pcp", Text: "qos map pcp <pcp:0-7> [dei <dei:0-1>] to switch-priority <priority:0-7>", Source: manual},
	{ID: "bind", Text: "traffic-class <queue:0-7> bind switch-priority <list+>", Source: manual},
	{ID: "ecn", Text: "traffic-class <queue:0-7> congestion-control <marks:ecn|red|both> minimum-absolute <low:" + numbers + "> maximum-absolute <high:" + numbers + ">", Source: manual},
	{ID: "ecn-relative", Text: "traffic-class <queue:0-7> congestion-control <marks:ecn|red|both> minimum-relative <low:0-100> maximum-relative <high:0-100>", Source: manual},
	{ID: "no-ecn", Text: "no traffic-class <queue:0-7> congestion-control", Source: manual},
	{ID: "strict", Text: "traffic-class <queue:0-7> dcb ets strict", Source: manual},
	{ID: "wrr", Text: "traffic-class <queue:0-7> dcb ets wrr <weight:0-100>", Source: manual},
	{ID: "pfc", Text: "dcb priority-flow-control mode <mode:on|off|auto> [force]", Source: manual},
	{ID: "no-pfc", Text: "no dcb priority-flow-control mode [<rest...>]", Source: manual},
	{ID: "pause", Text: "flowcontrol <direction:send|receive> <state:on|off> [force]", Source: manual},
	{ID: "watchdog", Text: "pfc-wd", Source: manual},
	{ID: "no-watchdog", Text: "no pfc-wd", Source: manual},
	{ID: "buffer-bind", Text: "ingress-buffer <group> bind switch-priority <list+>", Source: manual},
	{ID: "buffer", Text: "ingress-buffer <group> map pool <pool> type <type:lossless|lossy> reserved <reserved:" + numbers + "> [xoff <xoff:" + numbers + ">] [xon <xon:" + numbers + ">] [shared <shared> <amount>]", Source: manual},
	{Text: "ingress-buffer <rest...>", Source: manual},
	{Text: "egress-buffer <rest...>", Source: manual},
	{Text: "traffic-class <queue:0-7> shape <rest...>", Source: manual},
}

// others start statements that say nothing about queues.
var (
	others = []string{
		"aaa", "banner", "bfd", "bgp", "cli", "clock", "crypto", "docker", "email", "enable", "evpn", "fae", "file", "ftp-server", "gnmi-server", "help", "image", "ip", "ipv4", "ipv6", "job", "json-gw", "lacp", "ldap", "ldap-server", "license", "lldp", "logging", "mac", "mac-address-table", "magp", "mlag", "mlag-channel-group", "mlag-vip", "module-type", "monitor", "no", "ntp", "ospf", "port", "port-channel", "protocol", "ptp", "radius-server",
		"router", "route-map", "sflow", "snmp-server", "spanning-tree", "ssh", "stats", "system", "tacacs-server", "telemetry", "telnet-server", "terminal", "usb", "username", "vlan", "vrf", "vrrp", "vxlan", "web", "xml-gw", "network", "internal", "load-balance", "default", "show", "configuration", "roce-counters",
	}
	portOthers = []string{
		"channel-group", "description", "fec-override", "ip", "ipv6", "lldp", "load-interval", "mlag-channel-group", "no", "ospf", "router", "shutdown", "sflow", "spanning-tree", "storm-control", "switchport", "vrf", "access-list", "mac", "magp", "module-type", "breakout", "telemetry",
	}
)
