// Package sonic reads config_db.json of SONiC, whole or a fragment of it: the
// tables PORT, PORT_QOS_MAP, the maps that it names, QUEUE, SCHEDULER,
// WRED_PROFILE, BUFFER_PG, BUFFER_PROFILE, CABLE_LENGTH, PFC_WD and
// DEVICE_NEIGHBOR.
//
// The path of a packet there is DSCP -> traffic class -> queue and priority
// group; the priority group decides which PFC priority is sent back. Where a
// map is absent, the chip's default holds (SAI: all packets to class, queue
// and group 0). References between tables come as plain names or, in older
// releases, as "[TABLE|name]".
package sonic

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/input"
	"weir/internal/input/jsontree"
	"weir/internal/qos"
	"weir/units"
)

// System is the name of this dialect in qos.Device and in cluster files.
const System = "sonic"

// DefaultMTU is a port's MTU where PORT has none (sonic-port YANG model).
const DefaultMTU = 9100

// Defaults of the PFC watchdog (pfcwd start_default in sonic-utilities).
const (
	defaultDetect  = 200 * units.Millisecond
	defaultRestore = 200 * units.Millisecond
)

// Tables are the tables of config_db.json that this package understands.
var tables = []string{
	"BUFFER_PG", "BUFFER_POOL", "BUFFER_PROFILE", "BUFFER_QUEUE", "CABLE_LENGTH", "DEFAULT_LOSSLESS_BUFFER_PARAMETER", "DEVICE_METADATA",
	"DEVICE_NEIGHBOR", "DOT1P_TO_TC_MAP", "DSCP_TO_TC_MAP", "MAP_PFC_PRIORITY_TO_QUEUE", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", "PFC_WD", "PORT",
	"PORT_QOS_MAP", "QUEUE", "SCHEDULER", "TC_TO_PRIORITY_GROUP_MAP", "TC_TO_QUEUE_MAP", "WRED_PROFILE",
}

// silent are the tables of config_db.json that say nothing about queues.
var silent = []string{
	"AAA", "ACL_RULE", "ACL_TABLE", "ACL_TABLE_TYPE", "ASIC_SENSORS", "AUTO_TECHSUPPORT", "AUTO_TECHSUPPORT_FEATURE", "BANNER_MESSAGE", "BGP_ALLOWED_PREFIXES", "BGP_DEVICE_GLOBAL",
	"BGP_AF", "BGP_AGGREGATE_ADDRESS", "BGP_BBR", "BGP_GLOBALS", "BGP_GLOBALS_AF", "BGP_GLOBALS_AF_AGGREGATE_ADDR", "BGP_GLOBALS_AF_NETWORK", "BGP_INTERNAL_NEIGHBOR", "BGP_MONITORS", "BGP_NEIGHBOR", "BGP_NEIGHBOR_AF", "BGP_PEER_GROUP", "BGP_PEER_GROUP_AF", "BGP_PEER_RANGE", "BGP_SENTINELS", "BGP_VOQ_CHASSIS_NEIGHBOR",
	"BREAKOUT_CFG", "BREAKOUT_PORTS", "BUFFER_PORT_EGRESS_PROFILE_LIST", "BUFFER_PORT_INGRESS_PROFILE_LIST", "CHASSIS_MODULE", "CONSOLE_PORT", "CONSOLE_SWITCH", "COPP_GROUP", "COPP_TRAP", "CRM", "DASH_HA_GLOBAL_CONFIG", "DEBUG_COUNTER", "DEBUG_COUNTER_DROP_REASON",
	"DEVICE_NEIGHBOR_METADATA", "DHCP_RELAY", "DHCP_SERVER", "DNS_NAMESERVER", "DSCP_TO_FC_MAP", "EXP_TO_FC_MAP", "FEATURE", "FG_NHG", "FG_NHG_MEMBER", "FG_NHG_PREFIX", "FLEX_COUNTER_TABLE", "FLOW_COUNTER_ROUTE_PATTERN", "GNMI", "GNMI_CLIENT_CERT", "INTERFACE", "IP_PREFIX_LIST", "KDUMP", "KUBERNETES_MASTER", "LDAP", "LDAP_SERVER",
	"LLDP", "LOGGER", "LOOPBACK", "LOOPBACK_INTERFACE", "LOSSLESS_TRAFFIC_PATTERN", "MAC", "MACSEC_PROFILE", "MCLAG_DOMAIN", "MCLAG_INTERFACE", "MEMORY_STATISTICS", "MGMT_INTERFACE", "MGMT_PORT", "MGMT_VRF_CONFIG", "MIRROR_SESSION", "MPLS_TC_TO_TC_MAP", "MUX_CABLE", "MUX_LINKMGR", "NAT_BINDINGS", "NAT_GLOBAL", "NAT_POOL", "NEIGH", "NTP", "NTP_KEY", "NTP_SERVER", "NVGRE_TUNNEL", "NVGRE_TUNNEL_MAP",
	"PASSW_HARDENING", "PBH_HASH", "PBH_HASH_FIELD", "PBH_RULE", "PBH_TABLE", "PEER_SWITCH", "PFC_PRIORITY_TO_QUEUE_MAP", "POLICER", "PORT_STORM_CONTROL", "PORTCHANNEL", "PORTCHANNEL_INTERFACE", "PORTCHANNEL_MEMBER", "PORT_QUALITY_LEVEL", "PREFIX_SET", "QOS_MAP", "RADIUS", "RADIUS_SERVER", "RESTAPI", "ROUTE_MAP", "ROUTE_MAP_SET", "ROUTE_REDISTRIBUTE", "SCHEDULER_GROUP", "SERIAL_CONSOLE", "SFLOW", "SFLOW_COLLECTOR", "SFLOW_SESSION",
	"SNMP", "SNMP_AGENT_ADDRESS_CONFIG", "SNMP_COMMUNITY", "SNMP_USER", "SPANNING_TREE", "SRV6_MY_LOCATORS", "SRV6_MY_SIDS", "SSH_SERVER", "STATIC_DNS", "STATIC_ROUTE", "STP", "STP_PORT", "STP_VLAN", "SUBNET_DECAP", "SUPPRESS_ASIC_SDK_HEALTH_EVENT", "SWITCH", "SWITCH_HASH", "SWITCH_TRIMMING", "SYSLOG_CONFIG", "SYSLOG_CONFIG_FEATURE", "SYSLOG_SERVER", "SYSTEM_DEFAULTS", "SYSTEM_PORT", "SYSTEM_PORT_INTERFACE",
	"TACPLUS", "TACPLUS_SERVER", "TC_TO_DOT1P_MAP", "TC_TO_DSCP_MAP", "TELEMETRY", "TELEMETRY_CLIENT", "TUNNEL", "TUNNEL_MAP", "VERSIONS", "VLAN", "VLAN_INTERFACE", "VLAN_MEMBER", "VLAN_SUB_INTERFACE", "VNET", "VNET_ROUTE_TUNNEL", "VOQ_INBAND_INTERFACE", "VRF", "VRRP", "VRRP6", "VXLAN_EVPN_NVO", "VXLAN_TUNNEL", "VXLAN_TUNNEL_MAP", "WARM_RESTART", "XCVRD_LOG", "ZTP",
}

// Parse reads config_db.json.
func Parse(r io.Reader, source string) (*dialect.Reading, error) {
	text, err := dialect.ReadAll(r, source)
	if err != nil {
		return nil, err
	}
	doc, rest, err := jsontree.Parse(string(text), 1)
	if err != nil {
		return nil, &input.Error{File: source, Found: "not readable as JSON: " + err.Error(), Allowed: "config_db.json, or some of its tables"}
	}
	out := Read(doc, source)
	if rest = strings.TrimSpace(rest); strings.Trim(rest, "}], \n\r\t") != "" {
		first, _, _ := strings.Cut(rest, "\n")
		out.Unknown(source, System, 1+strings.Count(string(text), "\n")-strings.Count(rest, "\n"), first)
	}
	return out, nil
}

// Read reads config_db.json that is a tree already.
func Read(doc *jsontree.Node, source string) *dialect.Reading {
	p := &parser{doc: doc, source: source}
	out := &dialect.Reading{Device: &qos.Device{Name: doc.Get("DEVICE_METADATA", "localhost", "hostname").Str(), Source: source, System: System}}
	p.out = out
	for _, t := range doc.Members() {
		if _, known := slices.BinarySearch(tables, t.Key); !known && !slices.Contains(silent, t.Key) {
			out.Unknown(source, System, t.Line, "table "+t.Key)
		}
	}
	p.facts()
	p.queues = p.byPort("QUEUE")
	p.groups = p.byPort("BUFFER_PG")
	p.ports()
	p.profiles()
	return out
}

// IsConfig reports how surely a document is config_db.json, from 0 to 100.
func IsConfig(doc *jsontree.Node) int {
	if doc == nil || doc.Kind != jsontree.Object {
		return 0
	}
	score := 0
	for _, t := range doc.Members() {
		if t.Kind != jsontree.Object || t.Key != strings.ToUpper(t.Key) {
			continue
		}
		if _, known := slices.BinarySearch(tables, t.Key); known {
			score += 60
		} else if slices.Contains(silent, t.Key) {
			score += 20
		}
	}
	return min(score, 100)
}

// Starts reports whether a line can start config_db.json, or a part of it.
func Starts(line string) bool { return jsontree.Starts(line) }

// Score says how sure text is config_db.json.
func Score(text []byte) int {
	var marks []dialect.Mark
	for _, t := range tables {
		marks = append(marks, dialect.Mark{Text: `"` + t + `": {`, Worth: 50}, dialect.Mark{Text: `"` + t + `":{`, Worth: 50})
	}
	marks = append(marks, dialect.Mark{Text: "COUNTERS:oid", Worth: -100})
	return dialect.ScoreMarks(text, marks)
}

// entry is one row of QUEUE or BUFFER_PG for one index of one port.
type entry struct {
	node *jsontree.Node
}

type parser struct {
	doc    *jsontree.Node
	source string
	out    *dialect.Reading
	queues map[string]map[int]entry
	groups map[string]map[int]entry
}

// byPort splits keys such as "Ethernet0,Ethernet4|3-4" and the chassis form
// "host|asic0|Ethernet0|3".
func (p *parser) byPort(table string) map[string]map[int]entry {
	out := make(map[string]map[int]entry)
	for _, row := range p.doc.Get(table).Members() {
		cut := strings.LastIndexByte(row.Key, '|')
		if cut < 0 {
			p.out.Unknown(p.source, System, row.Line, table+" "+row.Key)
			continue
		}
		indices, ok := dialect.ParseList(row.Key[cut+1:], 63)
		if !ok {
			p.out.Unknown(p.source, System, row.Line, table+" "+row.Key)
			continue
		}
		for port := range strings.SplitSeq(row.Key[:cut], ",") {
			port = port[strings.LastIndexByte(port, '|')+1:]
			m := out[port]
			if m == nil {
				m = make(map[int]entry)
				out[port] = m
			}
			for _, i := range indices {
				m[i] = entry{row}
			}
		}
	}
	return out
}

// ref takes the brackets and table off a reference: "[TABLE|name]" -> "name".
func ref(n *jsontree.Node) string {
	s := n.Str()
	if inner, ok := strings.CutPrefix(s, "["); ok {
		inner = strings.TrimSuffix(inner, "]")
		return inner[strings.IndexByte(inner, '|')+1:]
	}
	return s
}

// facts puts out what is not a port's: release data and buffer pools.
func (p *parser) facts() {
	sw := fact.Subject{Kind: fact.Switch, Host: p.out.Device.Name, Name: p.out.Device.Name}
	add := func(s fact.Subject, n *jsontree.Node, key string, v fact.Value, unit string) {
		p.out.Facts = append(p.out.Facts, fact.Fact{Subject: s, Key: key, Value: v, Unit: unit, Origin: fact.Origin{Source: p.source, Line: n.Line, Tool: System}})
	}
	meta := p.doc.Get("DEVICE_METADATA", "localhost")
	for _, name := range []string{"hwsku", "platform"} {
		if n := meta.Get(name); n.Str() != "" {
			add(sw, n, "switch."+name, fact.OfText(n.Str()), "")
		}
	}
	for _, pool := range p.doc.Get("BUFFER_POOL").Members() {
		if n := pool.Get("size"); n != nil {
			if u, ok := n.Uint(); ok {
				add(sw, n, "buffer.pool."+pool.Key+".size", fact.OfUint(u), "bytes")
			}
		}
		if n := pool.Get("xoff"); n != nil {
			if u, ok := n.Uint(); ok {
				add(sw, n, "buffer.pool."+pool.Key+".headroom", fact.OfUint(u), "bytes")
			}
		}
	}
}

func number(n *jsontree.Node) int {
	i, err := strconv.Atoi(strings.TrimSpace(n.Str()))
	if err != nil || i < 0 || i > 1<<40 {
		return -1
	}
	return i
}
