package vrp

import "weir/internal/field/dialect"

// Where the forms are documented.
const (
	dcbGuide  = "Huawei CloudEngine Data Center Switch Configuration Guide, DCB"
	qosGuide  = "Huawei CloudEngine Data Center Switch Configuration Guide, QoS"
	commands  = "Huawei CloudEngine Data Center Switch Command Reference"
	aiGuide   = "Huawei CloudEngine Data Center Switch Configuration Guide, AI ECN"
	inProfile = "dcb pfc"
	inDomain  = "diffserv domain"
	inDrop    = "drop-profile"
	inPort    = "interface"
	inGroup   = "port-group"
	inAI      = "ai-service"
	inAIECN   = "ai-ecn"
)

const sizeUnit = "bytes|kbytes|mbytes|cells"

var grammar = dialect.Language{
	Separator: "#",
	Comments:  []string{"!", "//", "# "},
	Show:      []string{"display current", "dis cur", "display saved", "display this"},
	Forms:     append(append(globalForms, in(inPort, portForms)...), in(inGroup, append(portForms, memberForm))...),
	Others:    map[string][]string{"": others, inPort: portOthers, inGroup: portOthers, inAI: {"ai-service", "npcc", "icc", "iqcn", "model", "undo"}, inAIECN: {"mode", "undo", "delay", "throughput"}},
}.Compile()

func in(block string, forms []dialect.Form) []dialect.Form {
	out := make([]dialect.Form, len(forms))
	for i, f := range forms {
		f.In = block
		out[i] = f
	}
	return out
}

var globalForms = []dialect.Form{
	{ID: "hostname", Text: "sysname <name>", Source: commands},

	// PFC profiles; the one without a name is "default".
	{ID: "dscp-mapping", Text: "dcb pfc dscp-mapping enable slot <slot>", Source: dcbGuide},
	{ID: "detect-interval", Text: "dcb pfc deadlock-detect interval <ms:1-10000>", Source: commands},
	{ID: "detect-timer", Text: "dcb pfc deadlock-detect timer <time:0-10000>", Source: commands},
	{ID: "recover-timer", Text: "dcb pfc deadlock-recovery timer <time:0-10000>", Source: commands},
	{ID: "recover-action", Text: "dcb pfc deadlock recovery action <action:forward|discard> [<rest...>]", Source: commands},
	{Text: "dcb pfc deadlock <rest...>", Source: commands},
	{Text: "dcb pfc uplink-group <rest...>", Opens: dialect.Skip, Source: commands},
	{ID: "profile", Text: "dcb pfc [<name>]", Opens: inProfile, Source: dcbGuide},
	{ID: "turn-off", In: inProfile, Text: "priority <priority:0-7> turn-off threshold <times:1-1000>", Source: dcbGuide},
	{ID: "deadlock", In: inProfile, Text: "priority <priority:0-7> [deadlock-detect time <detect:0-10000>] [deadlock-recovery time <recover:0-10000>]", Source: commands},
	{In: inProfile, Text: "priority <priority:0-7> error-down <rest...>", Source: commands},
	{ID: "priority", In: inProfile, Text: "priority <list+>", Source: dcbGuide},
	{In: inProfile, Text: "undo <rest...>"},

	// Classification.
	{ID: "domain", Text: "diffserv domain <name>", Opens: inDomain, Source: qosGuide},
	{ID: "dscp", In: inDomain, Text: "ip-dscp-inbound <list+> phb <phb:be|af1|af2|af3|af4|ef|cs6|cs7> [<colour:green|yellow|red>]", Source: qosGuide},
	{ID: "pcp", In: inDomain, Text: "8021p-inbound <list+> phb <phb:be|af1|af2|af3|af4|ef|cs6|cs7> [<colour:green|yellow|red>]", Source: qosGuide},
	{In: inDomain, Text: "ip-dscp-outbound <rest...>", Source: qosGuide},
	{In: inDomain, Text: "8021p-outbound <rest...>", Source: qosGuide},
	{In: inDomain, Text: "mpls-exp-inbound <rest...>", Source: qosGuide},
	{In: inDomain, Text: "mpls-exp-outbound <rest...>", Source: qosGuide},

	// Marking.
	{ID: "drop-profile", Text: "drop-profile <name>", Opens: inDrop, Source: qosGuide},
	{ID: "threshold", In: inDrop, Text: "<colour:ecn|green> buffer-size low-limit <low:num> [<low-unit:" + sizeUnit + ">] high-limit <high:num> [<high-unit:" + sizeUnit + ">] discard-percentage <percent:0-100> [<unit:" + sizeUnit + ">]", Source: qosGuide},
	{ID: "threshold", In: inDrop, Text: "color <colour:green> buffer-size low-limit <low:num> [<low-unit:" + sizeUnit + ">] high-limit <high:num> [<high-unit:" + sizeUnit + ">] discard-percentage <percent:0-100> [<unit:" + sizeUnit + ">]", Source: qosGuide},
	{ID: "threshold-percent", In: inDrop, Text: "color <colour:green> low-limit <low:num> high-limit <high:num> discard-percentage <percent:0-100>", Source: qosGuide},
	{ID: "threshold-percent", In: inDrop, Text: "<colour:ecn> low-limit <low:num> high-limit <high:num> discard-percentage <percent:0-100>", Source: qosGuide},
	{In: inDrop, Text: "color <colour> <rest...>", Source: qosGuide},
	{In: inDrop, Text: "description <rest...>"},
	{Text: "ai-service", Opens: inAI, Source: aiGuide},
	{In: inAI, Text: "ai-ecn", Opens: inAIECN, Source: aiGuide},
	{ID: "ai-enable", In: inAIECN, Text: "ai-ecn enable", Source: aiGuide},
	{ID: "ai-queue", In: inAIECN, Text: "assign queue <list+>", Source: aiGuide},

	{ID: "headroom-pool", Text: "qos buffer headroom-pool size <size:num> <unit:" + sizeUnit + "> [slot <slot>]", Source: dcbGuide},
	{Text: "qos <other:buffer|car|global|group|lr|phb|queue-profile|schedule-profile|schedule-template|tail-drop-profile> [<rest...>]", Opens: dialect.Skip, Source: qosGuide},
	{Text: "dcb <other:app-profile|compliance|dcbx|ets-profile> [<rest...>]", Opens: dialect.Skip, Source: dcbGuide},
	{Text: "interface <port> mode l2", Opens: dialect.Skip, Source: commands},
	{ID: "interface", Text: "interface range <ports...>", Opens: inPort, Source: commands},
	{ID: "interface", Text: "interface <ports...>", Opens: inPort, Source: commands},
	{ID: "group", Text: "port-group <name...>", Opens: inGroup, Source: commands},
}

var memberForm = dialect.Form{ID: "member", Text: "group-member <ports...>", Source: commands}

var portForms = []dialect.Form{
	{ID: "trust", Text: "trust <field:dscp|8021p> [<which:inner|outer|override>]", Source: qosGuide},
	{ID: "no-trust", Text: "undo trust <field:dscp|8021p>", Source: qosGuide},
	{ID: "upstream", Text: "trust upstream <domain>", Source: qosGuide},
	{ID: "default-priority", Text: "port priority <priority:0-7>", Source: qosGuide},
	{ID: "pfc", Text: "dcb pfc enable [<profile>] mode <mode:manual|auto>", Source: dcbGuide},
	{ID: "pfc", Text: "dcb pfc enable [<profile>]", Source: dcbGuide},
	{ID: "no-pfc", Text: "undo dcb pfc enable", Source: dcbGuide},
	{ID: "pfc-buffer", Text: "dcb pfc buffer <queue:0-7> <settings...>", Source: dcbGuide},
	{ID: "pause", Text: "flow-control [<direction:receive|transmit>]", Source: commands},
	{ID: "no-pause", Text: "undo flow-control [<direction:receive|transmit>]", Source: commands},
	{ID: "strict", Text: "qos pq <first:0-7> [to <last:0-7>]", Source: qosGuide},
	{ID: "weighted", Text: "qos <kind:drr|wrr|wdrr> <first:0-7> [to <last:0-7>]", Source: qosGuide},
	{ID: "weight", Text: "qos queue <queue:0-7> <kind:drr|wrr|wdrr> weight <weight:0-1000>", Source: qosGuide},
	{ID: "wred", Text: "qos queue <queue:0-7> wred <profile>", Source: qosGuide},
	{ID: "ecn", Text: "qos queue <queue:0-7> ecn", Source: qosGuide},
	{ID: "no-ecn", Text: "undo qos queue <queue:0-7> ecn", Source: qosGuide},
	{Text: "qos queue <queue:0-7> <other:cir|length|shaping|statistics> [<rest...>]", Source: qosGuide},
	{Text: "qos <other:buffer|car|lr|phb|schedule-profile|schedule-template> [<rest...>]", Source: qosGuide},
	{Text: "dcb <other:app-profile|compliance|dcbx|ets|ets-profile> [<rest...>]", Source: dcbGuide},
	{ID: "jumbo", Text: "jumboframe enable [<length:1518-16384>] [<layer3:46-16384>]", Source: commands},
	{ID: "mtu", Text: "mtu <mtu:46-16384>", Source: commands},
	{ID: "routed", Text: "undo portswitch", Source: commands},
	{ID: "trunk", Text: "eth-trunk <number:0-16383> [<rest...>]", Source: commands},
}

// others start statements that say nothing about queues.
var (
	others = []string{
		"aaa", "acl", "arp", "assign", "bfd", "bgp", "bridge-domain", "car", "cfm", "clock", "cpu-defend", "defend", "dfs-group", "dhcp", "dns", "device", "drop", "efm", "error-down", "ethernet", "evpn", "evpn-overlay", "ftp", "grpc", "header",
		"http", "hwtacacs-server", "icmp", "info-center", "ip", "ipv6", "isis", "keychain", "lacp", "license", "lldp", "load-balance", "local-user", "loop-detection", "m-lag", "mac-address", "mpls", "netconf", "nqa", "ntp", "observe-port", "ops", "ospf", "ospfv3", "patch", "peer-public-key", "pki", "port",
		"radius", "radius-server", "router", "route-policy", "rsa", "dsa", "ecc", "security", "set", "sflow", "snmp-agent", "ssh", "ssl", "stack", "stelnet", "stp", "super", "system", "tcp", "telemetry", "telnet", "tm", "traffic", "traffic-policy", "tunnel", "undo", "user-interface", "user-security-policy", "vlan", "vrrp", "vxlan", "wlan", "xpl", "vm-manager", "capture-packet", "service", "monitor-link", "dragonfly", "slot", "sysname", "dldp", "trill", "eth-trunk",
	}
	portOthers = []string{
		"anti-attack", "arp", "bfd", "broadcast-suppression", "carrier", "combo-port", "description", "device", "dhcp", "dldp", "duplex", "efm", "fec", "fec-mode", "icmp", "ip", "ipv6", "isis", "lacp", "link-delay", "link-protocol", "lldp", "load-balance", "loopback", "mac-address", "mode", "mpls", "multicast-suppression", "negotiation", "npcc", "observe-port", "ospf", "ospfv3", "peer-link",
		"pim", "port", "port-isolate", "port-mirroring", "portswitch", "sflow", "shutdown", "speed", "stp", "traffic-filter", "traffic-policy", "training", "transceiver", "undo", "unicast-suppression", "vlan", "vrrp", "vxlan", "least", "set", "trap-threshold", "storm", "management-interface", "icc", "ai-ecn", "statistic", "restart", "vrf",
	}
)
