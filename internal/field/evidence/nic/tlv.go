package nic

import (
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	tlvHead = tool.MustCompile(`^(?:IEEE 802\S+ .*TLV|\S.* TLV):?$`)
	tlvBits = tool.MustCompile(`^[01](?:,[01]){7}$`)
	tlvText = tool.MustCompile(`^\s+\S|^(?:willing|enabled|delay|MBC|up2tc|tcbw|tsa|cbs|maxtcs|TC Rate Limit|mode):?\s*\S*`)
)

var tlvKeys = []string{
	"qos.ets.willing", "qos.pfc.willing", "qos.pfc.classes", "qos.pfc.enabled", "qos.pfc.delay", "qos.priority.{priority}.tc", "qos.tc.{tc}.bandwidth", "qos.tc.{tc}.tsa",
	"qos.dscp.{dscp}.priority", "qos.app.udp.{port}.priority", "qos.app.tcp.{port}.priority", "qos.app.port.{port}.priority", "qos.app.ethertype.{type}.priority",
	"qos.default_priority", "qos.tc.{tc}.rate_limit_share", "link.neighbour", "link.neighbour.address", "link.neighbour.mtu", "link.mac",
}

var lldptool = tool.Parser{
	Tool:     "lldptool",
	Versions: "layouts of lldpad: -t with and without -c, own and neighbour's TLVs",
	Programs: []string{"lldptool"},
	Keys:     tlvKeys,
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		switch {
		case strings.HasPrefix(t, "IEEE 802") && strings.HasSuffix(t, " TLV"), t == "Chassis ID TLV", t == "Port ID TLV", t == "System Name TLV":
			return tool.Sure
		case (strings.HasPrefix(t, "willing: ") || strings.HasPrefix(t, "enabled: ")) && w.Any(6, func(t string) bool { return strings.HasPrefix(t, "MBC: ") || strings.HasPrefix(t, "delay: ") }),
			strings.HasPrefix(t, "willing: ") && w.Any(6, func(t string) bool { return strings.HasPrefix(t, "tsa: ") || strings.HasPrefix(t, "up2tc: ") }):
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		neighbour := false
		for _, w := range ctx.Args("lldptool") {
			neighbour = neighbour || w == "-n" || strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") && strings.Contains(w, "n") && strings.Contains(w, "t")
		}
		return &tlvRun{ctx: ctx, nic: ctx.NIC(ctx.After("-i")), neighbour: neighbour}
	},
}

var niccli = tool.Parser{
	Tool:     "niccli",
	Versions: "layouts of niccli getqos and get_dscp2prio",
	Programs: []string{"niccli", "bnxtqos", "bnxtnvm"},
	Keys:     tlvKeys,
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		switch {
		case strings.HasPrefix(t, "IEEE 802") && strings.HasSuffix(t, " TLV:"):
			return tool.Sure
		case strings.TrimSpace(t) == "dscp2prio mapping:" && bnxtDSCP.MatchString(w.Line(1)), bnxtDSCP.MatchString(t):
			return tool.Sure + 1 // mlnx_qos has the same head
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tlvRun{ctx: ctx, nic: ctx.NIC(ctx.After("-dev", "-i", "--dev"))}
	},
}

// "priority:3  dscp: 26" of niccli.
var bnxtDSCP = tool.MustCompile(`^\s*priority:\s*(\d)\s+dscp:\s*(\d+(?:[, ]+\d+)*),?\s*$`)

// tlvRun reads LLDP TLVs as lldpad and niccli print them: heads, and indented
// lines of label and value.
type tlvRun struct {
	ctx       *tool.Context
	nic       fact.Subject
	neighbour bool
	tlv       string
	priority  string // of the APP entry being read
	selector  string
	system    string // of the neighbour
	port      string
	line      int
}

func (r *tlvRun) Match(l *tool.Line) tool.Score {
	switch {
	case tlvHead.MatchString(l.Text), bnxtDSCP.MatchString(l.Text):
		return tool.Sure
	case tlvText.MatchString(l.Text):
		return tool.Likely + 10
	}
	return tool.No
}

func (r *tlvRun) End(out *tool.Out) {
	if !r.neighbour || r.system == "" {
		return
	}
	out.Text(r.line, r.nic, "link.neighbour", strings.TrimSuffix(r.system+"/"+r.port, "/"))
}

func (r *tlvRun) Take(l *tool.Line, out *tool.Out) {
	if m := bnxtDSCP.FindStringSubmatch(l.Text); m != nil {
		for _, d := range strings.FieldsFunc(m[2], func(c rune) bool { return c == ',' || c == ' ' }) {
			out.Number(l.N, r.nic, "qos.dscp."+d+".priority", m[1])
		}
		return
	}
	if tlvHead.MatchString(l.Text) {
		r.tlv = l.Text
		return
	}
	t := strings.TrimSpace(l.Text)
	label, value, _ := strings.Cut(t, ":")
	value = strings.TrimSpace(value)
	if !r.value(l, out, label, value) && !r.identity(l, out, t, label, value) {
		out.NotUnderstood(l)
	}
}

func (r *tlvRun) value(l *tool.Line, out *tool.Out, label, value string) bool {
	switch label {
	case "Willing", "willing":
		key := "qos.pfc.willing"
		if strings.Contains(r.tlv, "ETS") {
			key = "qos.ets.willing"
		}
		out.Bool(l.N, r.nic, key, value == "yes" || value == "true" || value == "1")
	case "PFC capable traffic classes":
		return out.Number(l.N, r.nic, "qos.pfc.classes", value)
	case "PFC enabled", "enabled":
		out.List(l.N, r.nic, "qos.pfc.enabled", priorities(value))
	case "delay":
		return out.Number(l.N, r.nic, "qos.pfc.delay", value)
	case "PRIO_MAP", "up2tc":
		return r.pairs(value, func(i, v string) bool { return out.Number(l.N, r.nic, "qos.priority."+i+".tc", v) })
	case "TSA_MAP", "tsa":
		return r.pairs(value, func(i, v string) bool { out.Text(l.N, r.nic, "qos.tc."+i+".tsa", v); return true })
	case "TC Bandwidth", "tcbw":
		return r.shares(l, out, value, ".bandwidth")
	case "TC Rate Limit":
		return r.shares(l, out, value, ".rate_limit_share")
	case "Priority":
		r.priority = value
	case "Sel":
		r.selector = value
	case "DSCP", "UDP or DCCP", "TCP or SCTP", "TCP/SCTP/UDP/DCCP", "Ethertype", "EtherType", "Protocol ID", "Protocol":
		return r.app(l, out, label, value)
	case "CBS", "dscp2prio mapping", "MAX_TCS", "MACsec Bypass Capable", "MBC", "cbs", "maxtcs", "mode":
	default:
		return strings.HasPrefix(strings.ToUpper(label), "APP#")
	}
	return true
}

// app reads the last line of an application entry. Selectors: 1 EtherType,
// 2 TCP or SCTP, 3 UDP or DCCP, 4 any of them, 5 DSCP (IEEE 802.1Q, table D-9).
func (r *tlvRun) app(l *tool.Line, out *tool.Out, label, value string) bool {
	key := map[string]string{"1": "qos.app.ethertype.", "2": "qos.app.tcp.", "3": "qos.app.udp.", "4": "qos.app.port.", "5": "qos.dscp."}[r.selector]
	switch {
	case r.selector == "1" && (value == "0" || value == "0x0" || value == "0x0000"):
		return out.Number(l.N, r.nic, "qos.default_priority", r.priority)
	case key == "" && label == "DSCP":
		key = "qos.dscp."
	case key == "":
		return false
	}
	value, _, _ = strings.Cut(value, " ")
	return value != "" && !strings.Contains(value, ".") && out.Number(l.N, r.nic, key+value+".priority", r.priority)
}

func (r *tlvRun) pairs(value string, each func(index, value string) bool) bool {
	for _, item := range strings.FieldsFunc(value, func(c rune) bool { return c == ' ' || c == ',' }) {
		i, v, ok := strings.Cut(item, ":")
		if !ok || !each(i, v) {
			return false
		}
	}
	return true
}

func (r *tlvRun) shares(l *tool.Line, out *tool.Out, value, key string) bool {
	for i, v := range strings.FieldsFunc(value, func(c rune) bool { return c == ' ' || c == ',' }) {
		if !out.Number(l.N, r.nic, "qos.tc."+strconv.Itoa(i)+key, strings.TrimSuffix(v, "%")) {
			return false
		}
	}
	return true
}

// identity reads the TLVs that say who a station is; the neighbour's are kept.
func (r *tlvRun) identity(l *tool.Line, out *tool.Out, t, label, value string) bool {
	if !strings.HasSuffix(strings.TrimSuffix(r.tlv, ":"), "TLV") {
		return false
	}
	switch strings.TrimSuffix(r.tlv, ":") {
	case "System Name TLV":
		r.system, r.line = t, l.N
	case "Port ID TLV":
		if label == "Ifname" || label == "Local" || label == "Interface Name" {
			r.port = value
		}
	case "Management Address TLV":
		if r.neighbour && (label == "IPv4" || label == "IPv6") {
			out.Text(l.N, r.nic, "link.neighbour.address", value)
		}
	case "Maximum Frame Size TLV":
		if r.neighbour {
			return out.Number(l.N, r.nic, "link.neighbour.mtu", t)
		}
	}
	// Other TLVs say nothing about queues; those of 802.1Qaz say nothing else.
	return !strings.Contains(r.tlv, "8021QAZ")
}

// priorities reads "none", "3", "3 4", "3,4" or the bit list "0,0,0,1,0,0,0,0".
func priorities(value string) []string {
	on := []string{}
	if tlvBits.MatchString(value) {
		for i, bit := range strings.Split(value, ",") {
			if bit == "1" {
				on = append(on, strconv.Itoa(i))
			}
		}
		return on
	}
	for _, p := range strings.FieldsFunc(value, func(c rune) bool { return c == ',' || c == ' ' }) {
		if _, err := strconv.ParseUint(p, 10, 3); err == nil {
			on = append(on, p)
		}
	}
	return on
}
