package setup

import (
	"fmt"
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
	case "niccli":
		r.niccli(line, words)
	case "nicctl":
		r.nicctl(line, words)
	case "config", "counterpoll":
		// SONiC's: they load and keep what stands in files of its own.
		r.understood(line)
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
