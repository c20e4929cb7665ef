package setup

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/qos"
)

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
