package setup

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/qos"
)

func (r *reader) hostSubject() fact.Subject {
	return fact.Subject{Kind: fact.Host, Host: r.host, Name: r.host}
}

// nic names a card. A name that stands for a device's interface is the device.
func (r *reader) nic(name string) fact.Subject {
	return fact.Subject{Kind: fact.NIC, Host: r.host, Name: strings.TrimSuffix(strings.TrimPrefix(name, "@"), "/1")}
}

func (r *reader) put(line uint, s fact.Subject, key string, v fact.Value) {
	if entry, ok := fact.Lookup(key); ok {
		r.out.Facts = append(r.out.Facts, fact.Fact{Subject: s, Key: key, Value: v, Unit: entry.Unit,
			Origin: fact.Origin{Source: r.source, Line: int(line), Tool: "set-up commands"}})
	}
}

func (r *reader) text(line uint, s fact.Subject, key, v string) { r.put(line, s, key, fact.OfText(v)) }

func (r *reader) number(line uint, s fact.Subject, key, v string) bool {
	u, err := strconv.ParseUint(strings.TrimSpace(v), 0, 64)
	if err == nil {
		r.put(line, s, key, fact.OfUint(u))
	}
	return err == nil
}

func (r *reader) understood(line uint) {
	r.out.Commands++
	r.out.Lines[int(line)] = true
}

func (r *reader) mistake(line uint, text, setting, expected, cause, explanation string) {
	if len(r.out.Mistakes) < 1000 {
		r.out.Mistakes = append(r.out.Mistakes, Mistake{Line: int(line), Source: r.source, Text: text, Setting: setting, Expected: expected, Explanation: explanation, Cause: cause})
		r.out.Lines[int(line)] = true
	}
}

// command reads one command by its program.
func (r *reader) command(line uint, name string, words []string) {
	switch name {
	case "mlnx_qos":
		r.mlnxQoS(line, words)
	case "dcb":
		r.dcb(line, words)
	case "cma_roce_tos":
		o := options(words[1:])
		r.understood(line)
		if t, ok := o["-t"]; ok {
			r.tos(line, r.nic(o["-d"]), "roce.cma", t)
		}
	case "cma_roce_mode":
		o := options(words[1:])
		r.understood(line)
		if m, ok := o["-m"]; ok {
			mode := map[string]string{"1": "RoCE v1", "2": "RoCE v2"}[m]
			if mode == "" {
				mode = m
			}
			r.text(line, r.nic(o["-d"]), "roce.cma.mode", mode)
		}
	case "ip":
		r.ipLink(line, words)
	case "ethtool":
		r.ethtool(line, words)
	case "mlxconfig", "mstconfig":
		r.mlxconfig(line, words)
	case "sysctl":
		r.sysctl(line, words)
	case "ib_write_bw", "ib_read_bw", "ib_send_bw", "ib_write_lat", "ib_read_lat", "ib_send_lat":
		r.perftest(line, words)
	case "priority-flow-control", "pfc", "dcb-pfc":
	default:
		if strings.HasPrefix(name, "NCCL_") && len(words) == 2 {
			r.mistake(line, strings.Join(words, " "), name, name+"="+words[1], "env-typo",
				"Without = between name and value this is no setting: a configuration file skips it, a shell takes it for a command.")
		}
	}
}

// options reads "-d X", "--trust=X" and "--trust X".
func options(words []string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if !strings.HasPrefix(w, "-") {
			continue
		}
		if name, value, ok := strings.Cut(w, "="); ok {
			out[name] = value
			continue
		}
		if i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			out[w] = words[i+1]
			i++
			continue
		}
		out[w] = ""
	}
	return out
}

// mlnxOptions are the options of mlnx_qos that set something, and the long name
// of each short one.
var mlnxOptions = map[string]string{
	"-i": "--interface", "-f": "--pfc", "-p": "--prio_tc", "-s": "--tsa", "-t": "--tcbw", "-r": "--ratelimit", "-d": "--dcbx", "-a": "--all", "-h": "--help", "-v": "--version",
}

var mlnxLong = []string{"--interface", "--pfc", "--prio_tc", "--tsa", "--tcbw", "--ratelimit", "--dcbx", "--trust", "--dscp2prio", "--cable_len", "--prio2buffer", "--buffer_size", "--all", "--help", "--version", "--json", "--help"}

func (r *reader) mlnxQoS(line uint, words []string) {
	given := options(words[1:])
	o := map[string]string{}
	whole := strings.Join(words, " ")
	names := make([]string, 0, len(given))
	for name := range given {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		long := name
		if l, ok := mlnxOptions[name]; ok {
			long = l
		}
		if slices.Contains(mlnxLong, long) {
			o[long] = given[name]
			continue
		}
		expected := nearestOption(name)
		r.mistake(line, whole, name, expected, "env-typo",
			"mlnx_qos has no option "+name+": it prints its usage and sets nothing, so the port keeps what it had.")
	}
	r.understood(line)
	nic := r.nic(o["--interface"])
	if v, ok := o["--trust"]; ok {
		if v == "dscp" || v == "pcp" || v == "both" {
			r.text(line, nic, "qos.trust", v)
		} else {
			r.mistake(line, whole, "--trust", "--trust=dscp", "roce-in-default-priority", "mlnx_qos knows the trust states pcp and dscp; with "+strconv.Quote(v)+" it sets nothing.")
		}
	}
	if v, ok := o["--pfc"]; ok {
		r.mlnxPFC(line, nic, whole, v)
	}
	for v := range strings.SplitSeq(o["--dscp2prio"], " ") {
		f := strings.Split(v, ",")
		if len(f) == 3 && f[0] == "set" {
			r.number(line, nic, "qos.dscp."+f[1]+".priority", f[2])
		}
	}
	for i, v := range split(o["--prio_tc"]) {
		r.number(line, nic, fmt.Sprintf("qos.priority.%d.tc", i), v)
	}
	for i, v := range split(o["--tsa"]) {
		r.text(line, nic, fmt.Sprintf("qos.tc.%d.tsa", i), v)
	}
	for i, v := range split(o["--tcbw"]) {
		r.number(line, nic, fmt.Sprintf("qos.tc.%d.bandwidth", i), v)
	}
	if v, ok := o["--cable_len"]; ok {
		r.number(line, nic, "qos.cable_length", v)
	}
	switch o["--dcbx"] {
	case "os":
		r.text(line, nic, "qos.dcbx.owner", "os")
	case "fw":
		r.text(line, nic, "qos.dcbx.owner", "firmware")
	}
}

func split(list string) []string {
	if list == "" {
		return nil
	}
	out := strings.Split(list, ",")
	return out[:min(len(out), qos.Priorities)]
}

// mlnxPFC reads the list of eight switches.
func (r *reader) mlnxPFC(line uint, nic fact.Subject, whole, v string) {
	list := strings.Split(v, ",")
	on := []string{}
	ok := len(list) == qos.Priorities
	for i, s := range list {
		switch s {
		case "1":
			on = append(on, strconv.Itoa(i))
		case "0":
		default:
			ok = false
		}
	}
	if ok {
		r.put(line, nic, "qos.pfc.enabled", fact.OfList(on))
		return
	}
	expected := "--pfc 0,0,0,1,0,0,0,0"
	if n, err := strconv.Atoi(v); err == nil && n >= 0 && n < qos.Priorities {
		bits := [qos.Priorities]string{"0", "0", "0", "0", "0", "0", "0", "0"}
		bits[n] = "1"
		expected = "--pfc " + strings.Join(bits[:], ",")
	}
	r.mistake(line, whole, "--pfc", expected, "pfc-not-enabled-on-path",
		"--pfc takes eight zeros and ones, one for each priority from 0 to 7, not the numbers of priorities: "+strconv.Quote(v)+" is refused, and PFC stays as it was.")
}

// nearestOption finds what a misspelt option stands for: that with the fewest
// letters out of place, at most a third of them. A value may have run into it.
func nearestOption(name string) string {
	word, _, _ := strings.Cut(strings.TrimLeft(name, "-"), "=")
	best, cost := "", len(word)
	for _, value := range []string{"", "dscp", "pcp", "both"} {
		stem, ok := strings.CutSuffix(word, value)
		if !ok || stem == "" {
			continue
		}
		for _, o := range mlnxLong {
			known := strings.TrimLeft(o, "-")
			d := distance(stem, known)
			if d > (len(known)+1)/3 || d >= cost {
				continue
			}
			best, cost = o, d
			if value != "" {
				best += "=" + value
			}
		}
	}
	if best == "" {
		return "an option of mlnx_qos"
	}
	return best
}

// distance counts letters put in, left out, replaced or exchanged with their
// neighbour.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	var rows [3][66]int
	for j := range len(b) + 1 {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		rows[2][0] = i
		for j := 1; j <= len(b); j++ {
			c := 1
			if a[i-1] == b[j-1] {
				c = 0
			}
			rows[2][j] = min(rows[1][j]+1, rows[2][j-1]+1, rows[1][j-1]+c)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[2][j] = min(rows[2][j], rows[0][j-2]+1)
			}
		}
		rows[0], rows[1] = rows[1], rows[2]
	}
	return rows[1][len(b)]
}

// dcb reads iproute2's "dcb pfc|app|ets set dev IF ...".
func (r *reader) dcb(line uint, words []string) {
	at := slices.Index(words, "dev")
	if at < 2 || at+1 >= len(words) {
		return
	}
	what, verb := words[at-2], words[at-1]
	if verb != "set" && verb != "replace" && verb != "add" {
		return
	}
	nic := r.nic(words[at+1])
	r.understood(line)
	param := ""
	pfc := map[string]bool{}
	sawPFC := false
	for _, w := range words[at+2:] {
		key, value, pair := strings.Cut(w, ":")
		if !pair {
			if what == "ets" && param == "willing" && (w == "on" || w == "off") {
				r.put(line, nic, "qos."+what+".willing", fact.OfBool(w == "on"))
				continue
			}
			param = w
			continue
		}
		keys := []string{key}
		if key == "all" {
			keys = []string{"0", "1", "2", "3", "4", "5", "6", "7"}
		}
		for _, k := range keys {
			switch what + " " + param {
			case "pfc prio-pfc":
				pfc[k], sawPFC = value == "on", true
			case "app dscp-prio":
				if d, ok := qos.ParseDSCP(k); ok {
					r.number(line, nic, fmt.Sprintf("qos.dscp.%d.priority", d), value)
					r.text(line, nic, "qos.trust", "dscp") // the kernel trusts DSCP while it has such entries
				}
			case "ets tc-tsa":
				r.text(line, nic, "qos.tc."+k+".tsa", value)
			case "ets tc-bw":
				r.number(line, nic, "qos.tc."+k+".bandwidth", value)
			case "ets prio-tc":
				r.number(line, nic, "qos.priority."+k+".tc", value)
			}
		}
	}
	if sawPFC {
		on := []string{}
		for p := range qos.Priorities {
			if pfc[strconv.Itoa(p)] {
				on = append(on, strconv.Itoa(p))
			}
		}
		r.put(line, nic, "qos.pfc.enabled", fact.OfList(on))
	}
}

// tos puts out a type-of-service or traffic class byte and its code point.
func (r *reader) tos(line uint, nic fact.Subject, prefix, v string) {
	n, err := strconv.ParseUint(v, 0, 8)
	if err != nil {
		return
	}
	if prefix == "roce.cma" {
		r.put(line, nic, "roce.cma.tos", fact.OfUint(n))
	} else {
		r.put(line, nic, "roce.traffic_class", fact.OfUint(n))
	}
	r.put(line, nic, prefix+".dscp", fact.OfUint(n>>2))
}

func (r *reader) ipLink(line uint, words []string) {
	if len(words) < 5 || words[1] != "link" && words[1] != "l" || words[2] != "set" {
		return
	}
	rest := words[3:]
	if rest[0] == "dev" {
		rest = rest[1:]
	}
	if i := slices.Index(rest, "mtu"); i > 0 && i+1 < len(rest) && r.number(line, r.nic(rest[0]), "link.mtu", rest[i+1]) {
		r.understood(line)
	}
}

func (r *reader) ethtool(line uint, words []string) {
	if len(words) < 4 || words[1] != "-A" && words[1] != "--pause" {
		return
	}
	r.understood(line)
	for i := 3; i+1 < len(words); i += 2 {
		if (words[i] == "rx" || words[i] == "tx") && (words[i+1] == "on" || words[i+1] == "off") {
			r.put(line, r.nic(words[2]), "pause."+words[i], fact.OfBool(words[i+1] == "on"))
		}
	}
}

func (r *reader) mlxconfig(line uint, words []string) {
	at := slices.Index(words, "set")
	if at < 0 {
		at = slices.Index(words, "s")
	}
	if at < 0 {
		return
	}
	nic := r.nic(options(words[1:at])["-d"])
	r.understood(line)
	for i, w := range words[at+1:] {
		name, value, ok := strings.Cut(w, "=")
		if !ok {
			if i+2 < len(words)-at && strings.ToUpper(name) == name && strings.Contains(name, "_") {
				r.mistake(line, strings.Join(words, " "), name, name+"="+words[at+2+i], "env-typo", "mlxconfig takes NAME=VALUE; without = the whole command is refused and nothing is set.")
			}
			continue
		}
		value = strings.TrimSuffix(value, ")")
		switch strings.TrimRight(strings.ToUpper(name), "0123456789") {
		case "ROCE_CC_PRIO_MASK_P":
			r.number(line, nic, "dcqcn.priority_mask", value)
		case "CNP_DSCP_P":
			r.number(line, nic, "dcqcn.cnp_dscp", value)
		}
		if strings.HasPrefix(strings.ToUpper(name), "CNP_802P_PRIO") {
			r.number(line, nic, "dcqcn.cnp_priority", value)
		}
	}
}

func (r *reader) sysctl(line uint, words []string) {
	for i, w := range words[1:] {
		if strings.HasPrefix(w, "-") {
			continue
		}
		if name, value, ok := strings.Cut(w, "="); ok {
			r.text(line, r.hostSubject(), "sysctl."+strings.TrimSpace(name), strings.TrimSpace(value))
			r.understood(line)
		} else if slices.Contains(words, "-w") && i+2 < len(words) && !strings.Contains(words[i+2], "=") && strings.Contains(w, ".") {
			r.mistake(line, strings.Join(words, " "), w, w+"="+words[i+2], "env-typo", "sysctl -w takes name=value; without = it prints an error and sets nothing.")
			return
		}
	}
}

// perftest finds options that do not mark what they are meant to mark.
func (r *reader) perftest(line uint, words []string) {
	o := options(words[1:])
	whole := strings.Join(words, " ")
	for _, name := range []string{"-S", "--sl"} {
		if n, err := strconv.Atoi(o[name]); err == nil && n > 15 {
			r.mistake(line, whole, name, "--tclass="+o[name], "roce-in-default-priority",
				"--sl is the service level, 0 to 15, which RoCE v2 packets do not carry. The traffic class byte is --tclass (or -T with -R).")
		}
	}
	_, cm := o["-R"]
	_, long := o["--rdma_cm"]
	for _, name := range []string{"-T", "--tos"} {
		if v, ok := o[name]; ok && !cm && !long {
			r.mistake(line, whole, name, "--tclass="+v+", or -R -T "+v, "roce-in-default-priority",
				"-T takes effect only with -R (connections made by the connection manager): without it the packets go out with traffic class 0.")
		}
	}
}

// write reads a value written to a file of /sys, /proc or configfs.
func (r *reader) write(line uint, path, value string) {
	value = strings.TrimSpace(strings.Trim(value, `"'`))
	if m := tcFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		r.tos(line, r.nic(m[1]), "roce", value)
	} else if m := cmaFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		r.tos(line, r.nic(m[1]), "roce.cma", value)
	} else if m := cnpFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		key := map[string]string{"cnp_dscp": "dcqcn.cnp_dscp", "cnp_802p_prio": "dcqcn.cnp_priority"}[m[2]]
		r.number(line, r.nic(m[1]), key, value)
	} else if m := pointFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		if value == "0" || value == "1" {
			r.put(line, r.nic(m[1]), "dcqcn."+m[2]+".priority."+m[3], fact.OfBool(value == "1"))
		}
	} else if m := procFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		r.text(line, r.hostSubject(), "sysctl."+strings.ReplaceAll(m[1], "/", "."), value)
	} else if m := paramsFile.FindStringSubmatch(path); m != nil {
		key := map[string]string{"np_cnp_dscp": "dcqcn.cnp_dscp", "np_cnp_prio": "dcqcn.cnp_priority", "rp_min_dec_fac": "dcqcn.min_dec_fac"}[m[2]]
		r.understood(line)
		if key != "" {
			r.number(line, r.nic(m[1]), key, value)
		}
	} else if m := mtuFile.FindStringSubmatch(path); m != nil && r.number(line, r.nic(m[1]), "link.mtu", value) {
		r.understood(line)
	}
}

var (
	tcFile     = regexp.MustCompile(`infiniband/([\w.:-]+)/tc/\d+/traffic_class$`)
	cmaFile    = regexp.MustCompile(`rdma_cm/([\w.:-]+)/ports/\d+/default_roce_tos$`)
	cnpFile    = regexp.MustCompile(`/net/(@?[\w.:-]+)/ecn/roce_np/(cnp_dscp|cnp_802p_prio)$`)
	pointFile  = regexp.MustCompile(`/net/(@?[\w.:-]+)/ecn/roce_([nr]p)/enable/([0-7])$`)
	procFile   = regexp.MustCompile(`^/proc/sys/([\w./-]+)$`)
	paramsFile = regexp.MustCompile(`(?:/mlx5/|mlx5_core/)?(@?[\w.:-]+)/cc_params/(\w+)$`)
	mtuFile    = regexp.MustCompile(`/net/(@?[\w.:-]+)/mtu$`)
)

var (
	rangePattern = regexp.MustCompile(`\b(?:pfc|priority-flow-control|no-drop|lossless|flow-control)\b.*\bpriority +(\d)-(\d)\b|^\s*priority +(\d)-(\d)\b`)
	rdmaMethod   = regexp.MustCompile(`rdma://[\w.:/$-]*`)
)

// words finds mistakes that are no matter of commands, anywhere in a text.
func (r *reader) words(text string) {
	for i, line := range strings.Split(text, "\n") {
		at := uint(i + 1)
		if len(line) > maxWord {
			continue
		}
		if rangePattern.MatchString(line) {
			r.mistake(at, strings.TrimSpace(line), "priority", "priority 3", "pfc-on-all-priorities",
				"A range makes every priority in it lossless, where the system takes a range at all: RoCE needs one. Each further one takes headroom from it, and traffic that may be dropped pauses the rest.")
		}
		if m := rdmaMethod.FindString(line); m != "" {
			r.mistake(at, strings.TrimSpace(line), "init_method", "tcp://HOST:PORT, or env://", "env-typo",
				"There is no rdma:// method: init_method names where processes meet, over TCP. Whether data then goes over RDMA is the library's choice of network.")
		}
	}
}
