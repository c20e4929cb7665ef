package nic

import (
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

const dcbVersions = "iproute2 5.11 to 6.x, text and JSON"

var dcbLine = tool.MustCompile(`^(?:willing (?:on|off) ets-cap|pfc-cap \d|(?:prio-pfc|tc-bw|pg-bw|tc-tsa|prio-tc|reco-tc-bw|reco-tc-tsa|reco-prio-tc|prio-buffer|buffer-size|tc-maxrate) 0:|(?:dscp|ethtype|stream-port|dgram-port|port|pcp)-prio |total-size \d|default-prio |apptrust order:|(?:host|nic-managed|cee|ieee)\b.* (?:on|off)|(?:requests|indications) )`)

var dcbTool = tool.Parser{
	Tool:     "dcb",
	Versions: dcbVersions,
	Programs: []string{"dcb pfc show", "dcb ets show", "dcb app show", "dcb buffer show", "dcb maxrate show", "dcb dcbx show", "dcb rewr show", "dcb apptrust show", "dcb -s", "dcb -j", "dcb -p", "dcb -jp", "dcb -pj", "dcb -sj", "dcb -js", "dcb -N", "dcb -n", "dcb --statistics", "dcb --json"},
	Keys: []string{
		"qos.pfc.classes", "qos.pfc.delay", "qos.pfc.enabled", "qos.ets.willing", "qos.tc.{tc}.bandwidth", "qos.tc.{tc}.tsa", "qos.priority.{priority}.tc",
		"qos.dscp.{dscp}.priority", "qos.priority.{priority}.buffer", "qos.buffer.{n}.size", "qos.buffer.total", "qos.default_priority",
		"qos.app.ethertype.{type}.priority", "qos.app.udp.{port}.priority", "qos.app.tcp.{port}.priority", "qos.app.port.{port}.priority",
		"qos.tc.{tc}.rate_limit", "qos.trust", "qos.dcbx.owner", "counter.{name...}",
	},
	Recognise: func(w *tool.Window) tool.Score {
		if dcbLine.MatchString(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		nic := ctx.NIC(ctx.After("dev"))
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if dcbLine.MatchString(l.Text) {
					return tool.Sure
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				if !readDCB(l, out, nic) {
					out.NotUnderstood(l)
				}
			},
		}
	},
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		for _, name := range []string{"prio_pfc", "tc_tsa", "dscp_prio", "prio_buffer", "tc_maxrate", "ethtype_prio", "port_prio", "dgram_port_prio"} {
			if doc.Has(name) {
				return tool.Sure
			}
		}
		return tool.No
	},
	ParseJSON: dcbJSON,
}

// readDCB reads a line: words of name and value, or a name with a list of
// index:value.
func readDCB(l *tool.Line, out *tool.Out, nic fact.Subject) bool {
	f := strings.Fields(l.Text)
	if len(f) < 2 {
		return false
	}
	switch f[0] {
	case "willing", "pfc-cap":
		for i := 0; i+1 < len(f); i += 2 {
			switch f[i] {
			case "willing":
				out.Bool(l.N, nic, "qos.ets.willing", f[i+1] == "on")
			case "pfc-cap":
				out.Number(l.N, nic, "qos.pfc.classes", f[i+1])
			case "delay":
				out.Number(l.N, nic, "qos.pfc.delay", f[i+1])
			}
		}
		return true
	case "total-size":
		return dcbSize(l, out, nic, "qos.buffer.total", f[1])
	case "default-prio":
		return out.Number(l.N, nic, "qos.default_priority", f[1])
	case "apptrust":
		return dcbTrust(l, out, nic, f[1:])
	case "host", "nic-managed", "cee", "ieee":
		for i := 0; i+1 < len(f); i += 2 {
			if f[i+1] == "on" && (f[i] == "host" || f[i] == "nic-managed") {
				out.Text(l.N, nic, "qos.dcbx.owner", map[string]string{"host": "os", "nic-managed": "firmware"}[f[i]])
			}
		}
		return true
	case "requests", "indications": // PFC frames sent and received, by priority (dcb-pfc(8))
		for _, item := range f[1:] {
			prio, n, ok := strings.Cut(item, ":")
			if !ok || !counter(l, out, nic, "pfc_"+f[0]+"."+prio, n) {
				return false
			}
		}
		return true
	}
	return dcbList(l, out, nic, f[0], f[1:])
}

func dcbTrust(l *tool.Line, out *tool.Out, nic fact.Subject, f []string) bool {
	if len(f) < 2 {
		return true
	}
	out.Text(l.N, nic, "qos.trust", strings.Join(f[1:], ","))
	return true
}

func dcbList(l *tool.Line, out *tool.Out, nic fact.Subject, name string, items []string) bool {
	on, ok := []string{}, true
	for _, item := range items {
		index, value, found := strings.Cut(item, ":")
		if !found {
			return false
		}
		if name == "prio-pfc" {
			if value == "on" {
				on = append(on, index)
			}
			continue
		}
		ok = dcbValue(l, out, nic, name, index, value) && ok
	}
	if name == "prio-pfc" {
		out.List(l.N, nic, "qos.pfc.enabled", on)
	}
	return ok
}

func dcbValue(l *tool.Line, out *tool.Out, nic fact.Subject, name, index, value string) bool {
	switch name {
	case "tc-bw":
		return out.Number(l.N, nic, "qos.tc."+index+".bandwidth", strings.TrimSuffix(value, "%"))
	case "tc-tsa":
		out.Text(l.N, nic, "qos.tc."+index+".tsa", value)
	case "prio-tc":
		return out.Number(l.N, nic, "qos.priority."+index+".tc", value)
	case "prio-buffer":
		return out.Number(l.N, nic, "qos.priority."+index+".buffer", value)
	case "buffer-size":
		return dcbSize(l, out, nic, "qos.buffer."+index+".size", value)
	case "dscp-prio":
		dscp, ok := codePoint(index)
		return ok && out.Number(l.N, nic, "qos.dscp."+strconv.Itoa(dscp)+".priority", value)
	case "ethtype-prio":
		return out.Number(l.N, nic, "qos.app.ethertype."+index+".priority", value)
	case "dgram-port-prio":
		return out.Number(l.N, nic, "qos.app.udp."+index+".priority", value)
	case "stream-port-prio":
		return out.Number(l.N, nic, "qos.app.tcp."+index+".priority", value)
	case "port-prio":
		return out.Number(l.N, nic, "qos.app.port."+index+".priority", value)
	case "tc-maxrate":
		return dcbRate(l, out, nic, "qos.tc."+index+".rate_limit", value)
	case "pcp-prio", "pg-bw", "reco-tc-bw", "reco-tc-tsa", "reco-prio-tc":
	default:
		return false
	}
	return true
}

var dcbNumber = tool.MustCompile(`^(\d+(?:\.\d+)?)([a-zA-Z]*)$`)

// dcbSize reads a size as tc prints it: b is bytes, and K, M, G are 1024
// (1000 with -i is written Ki: there the prefixes are as they say).
func dcbSize(l *tool.Line, out *tool.Out, nic fact.Subject, key, text string) bool {
	m := dcbNumber.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	f, err := strconv.ParseFloat(m[1], 64)
	factor, ok := map[string]float64{"": 1, "b": 1, "Kb": 1 << 10, "Mb": 1 << 20, "Gb": 1 << 30, "KiB": 1 << 10, "MiB": 1 << 20, "B": 1}[m[2]]
	if err != nil || !ok || f > 1e12 {
		return false
	}
	out.Uint(l.N, nic, key, uint64(f*factor))
	return true
}

func dcbRate(l *tool.Line, out *tool.Out, nic fact.Subject, key, text string) bool {
	m := dcbNumber.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	factor, ok := map[string]float64{"bit": 1, "Kbit": 1e3, "Mbit": 1e6, "Gbit": 1e9, "Tbit": 1e12, "bps": 8, "Kbps": 8e3, "Mbps": 8e6, "Gbps": 8e9}[m[2]]
	return ok && out.Decimal(l.N, nic, key, m[1], factor)
}

// codePoint reads a DSCP by number or by name: CS0 to CS7, AF11 to AF43, EF, BE.
func codePoint(text string) (int, bool) {
	if n, err := strconv.ParseUint(text, 0, 8); err == nil && n < 64 {
		return int(n), true
	}
	t := strings.ToUpper(text)
	switch {
	case t == "EF":
		return 46, true
	case t == "VA", t == "VOICE-ADMIT":
		return 44, true
	case t == "BE", t == "DF", t == "DEFAULT":
		return 0, true
	case t == "LE":
		return 1, true
	case len(t) == 3 && strings.HasPrefix(t, "CS") && t[2] >= '0' && t[2] <= '7':
		return int(t[2]-'0') * 8, true
	case len(t) == 4 && strings.HasPrefix(t, "AF") && t[2] >= '1' && t[2] <= '4' && t[3] >= '1' && t[3] <= '3':
		return int(t[2]-'0')*8 + int(t[3]-'0')*2, true // RFC 2597
	}
	return 0, false
}

// dcbJSON reads lists whose index is the priority or class, and for app lists
// of pairs.
func dcbJSON(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
	nic := ctx.NIC(ctx.After("dev"))
	for _, m := range doc.Members() {
		l := &tool.Line{Text: m.Key + " " + m.Str(), N: m.Line}
		name := strings.ReplaceAll(m.Key, "_", "-")
		ok := true
		switch {
		case name == "willing":
			out.Bool(m.Line, nic, "qos.ets.willing", m.Kind == tool.True)
		case name == "pfc-cap":
			ok = out.Number(m.Line, nic, "qos.pfc.classes", m.Str())
		case name == "delay":
			ok = out.Number(m.Line, nic, "qos.pfc.delay", m.Str())
		case name == "total-size":
			ok = dcbSize(l, out, nic, "qos.buffer.total", m.Str())
		case name == "default-prio":
			for _, p := range m.Each() {
				ok = out.Number(m.Line, nic, "qos.default_priority", p.Str()) && ok
			}
		case m.Kind == tool.Array:
			ok = dcbJSONList(l, out, nic, name, m)
		}
		if !ok {
			out.NotUnderstood(l)
		}
	}
}

func dcbJSONList(l *tool.Line, out *tool.Out, nic fact.Subject, name string, list *tool.Node) bool {
	var items []string
	for i, v := range list.Items {
		switch {
		case v.Kind == tool.Array && len(v.Items) == 2:
			items = append(items, v.Items[0].Str()+":"+v.Items[1].Str())
		case name == "tc-maxrate": // bytes a second
			if !out.Decimal(l.N, nic, "qos.tc."+strconv.Itoa(i)+".rate_limit", v.Str(), 8) {
				return false
			}
			continue
		case v.Kind == tool.True || v.Kind == tool.False:
			items = append(items, strconv.Itoa(i)+":"+map[bool]string{true: "on", false: "off"}[v.Kind == tool.True])
		default:
			items = append(items, strconv.Itoa(i)+":"+v.Str())
		}
	}
	return dcbList(l, out, nic, name, items)
}
