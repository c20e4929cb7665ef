package diagnosis

import (
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
)

// Keys of what people say, where no tool's key fits. They live inside this
// package only.
const (
	saidMTUEqual    = "said.mtu_equal"    // Bool
	saidFirstGID    = "said.first_gid"    // Uint
	saidBondMembers = "said.bond_members" // Uint
	saidBondDevice  = "said.bond_device"  // Text
	saidPauseShare  = "said.pause_share"  // Float, percent of the time
	saidGlobalPause = "said.global_pause" // Bool: link-level pause is in use
	saidCured       = "said.cured."       // + variable; Text: the value that made it work
	saidUnset       = "said.unset."       // + variable; Bool
	saidLinkRate    = "said.link_rate"    // Float, bit/s
	saidMeasured    = "said.measured"     // Float, bit/s
	saidFell        = "said.fell"         // Float: times that a figure fell between two states
	saidChange      = "said.change"       // Text: what was changed before the trouble
)

// interpret reads the values that people wrote down (stated.*) as the facts
// that a tool would have given, by the words of their names: mtu and equal,
// peer and memory and module. The spelling of a name varies, its words do not.
func interpret(facts []fact.Fact) []fact.Fact {
	r := &reading{byLine: map[string][]*fact.Fact{}}
	for i := range facts {
		f := &facts[i]
		if strings.HasPrefix(f.Key, "stated.") {
			r.byLine[lineKey(f)] = append(r.byLine[lineKey(f)], f)
		}
	}
	for i := range facts {
		if name, ok := strings.CutPrefix(facts[i].Key, "stated."); ok {
			r.take(&facts[i], name)
		}
	}
	r.fell(facts)
	return r.out
}

type reading struct {
	out    []fact.Fact
	byLine map[string][]*fact.Fact
}

func lineKey(f *fact.Fact) string { return f.Origin.Source + "\x00" + strconv.Itoa(f.Origin.Line) }

func (r *reading) put(f *fact.Fact, s fact.Subject, key string, v fact.Value) {
	r.out = append(r.out, fact.Fact{Subject: s, Key: key, Value: v, Unit: fact.UnitOf(key), Origin: f.Origin})
}

// words are the parts of a name: "mtu_equal_on_both.x" is mtu equal on both x.
type words []string

func wordsOf(name string) words {
	return strings.FieldsFunc(strings.ToLower(name), func(c rune) bool { return c == '_' || c == '.' || c == '-' || c == ' ' })
}

func (w words) any(list ...string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return slices.Contains(w, s) })
}

func (w words) all(list ...string) bool {
	return !slices.ContainsFunc(list, func(s string) bool { return !slices.Contains(w, s) })
}

func (r *reading) take(f *fact.Fact, name string) {
	w := wordsOf(name)
	value := strings.TrimSpace(f.Value.String())
	low := strings.ToLower(value)
	r.variable(f, name, value)
	r.assignment(f, w, value)
	r.message(f, w, value)
	switch {
	case w.any("mtu"):
		r.mtu(f, w, low)
	case w.any("gdrdma", "gdr", "gpudirect") && !w.any("after", "enabling", "before"):
		if b, ok := truth(f, low); ok {
			r.put(f, f.Subject, "nccl.gdrdma", fact.OfBool(b))
		}
	case w.any("peermem", "peer") && w.any("peermem", "memory", "mem", "module"):
		r.peermem(f, low)
	case w.any("memlock") || w.all("ulimit", "l"):
		r.memlock(f, w, low)
	case w.any("nccl") && (w.any("version", "bad", "used") || len(w) == 1):
		r.put(f, f.Subject, "nccl.version", fact.OfText(value))
	case w.all("first", "gid") && w.any("index"):
		if n, ok := f.Value.Uint(); ok {
			r.put(f, f.Subject, saidFirstGID, fact.OfUint(n))
		}
	case w.any("bond", "lag") && w.any("members", "ports", "slaves"):
		if n, ok := f.Value.Uint(); ok {
			r.put(f, f.Subject, saidBondMembers, fact.OfUint(n))
		}
	case w.any("paused", "pause") && w.any("percent", "share"):
		if n, ok := f.Value.Float(); ok {
			r.put(f, f.Subject, saidPauseShare, fact.OfFloat(n))
		}
	case w.all("flow", "control"), w.any("pause"):
		if strings.Contains(low, "802.3x") || strings.Contains(low, "link level") || strings.Contains(low, "link-level") || strings.Contains(low, "global") {
			r.put(f, f.Subject, saidGlobalPause, fact.OfBool(true))
		}
	case w.any("link", "line", "nic") && w.any("rate", "speed"):
		r.rate(f, w, saidLinkRate)
	case w.any("measured", "achieved"):
		r.rate(f, w, saidMeasured)
	case w.any("device", "hca", "interface") && bonded(low):
		r.put(f, f.Subject, saidBondDevice, fact.OfText(value))
	case w.any("change", "changed", "upgrade", "upgraded", "bisected"):
		r.put(f, f.Subject, saidChange, fact.OfText(value))
	}
	r.port(f, name, value)
}

// bonded reports a device whose name says that it is a bond. mlx5 calls its
// bonded RDMA devices mlx5_bond_N; networks call theirs bondN or lagN.
func bonded(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "bond") || strings.Contains(name, "lag") && !strings.Contains(name, "flag")
}

func truth(f *fact.Fact, low string) (value, ok bool) {
	if b, ok := f.Value.Bool(); ok {
		return b, true
	}
	switch low {
	case "yes", "on", "true", "enabled", "active":
		return true, true
	case "no", "off", "false", "disabled", "inactive", "absent", "none":
		return false, true
	}
	return false, false
}

// variable takes "nccl_ib_gid_index: 1" as a setting, whatever its case.
func (r *reading) variable(f *fact.Fact, name, value string) {
	upper := strings.ToUpper(name)
	if !knownVariable(upper) {
		return
	}
	switch low := strings.ToLower(value); {
	case low == "unset" || low == "default" || low == "not set" || f.Value.Kind() == fact.Absent:
		r.put(f, f.Subject, saidUnset+upper, fact.OfBool(true))
	case upper != name: // the parser has told those in capitals
		r.put(f, f.Subject, "nccl.env."+upper, fact.OfText(value))
	}
}

var assigned = regexp.MustCompile(`\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)=(\S+)`)

// assignment takes "UCX_RC_ECE=0" as the setting that cured, where the name or
// a value beside it says so.
func (r *reading) assignment(f *fact.Fact, w words, value string) {
	m := assigned.FindStringSubmatch(value)
	if m == nil || !knownVariable(m[1]) {
		return
	}
	cured := w.any("working", "works", "work", "cure", "cured", "fix", "fixed", "helps", "workaround", "good") || good(value)
	for _, other := range r.byLine[lineKey(f)] {
		cured = cured || good(other.Value.String()) || wordsOf(other.Key).any("restored", "recovered", "works")
	}
	if cured {
		r.put(f, f.Subject, saidCured+m[1], fact.OfText(strings.TrimRight(m[2], ",.;")))
	}
}

func good(value string) bool {
	low := " " + strings.ToLower(value) + " "
	for _, s := range []string{"restored", "recovers", "recovered", " works ", " worked ", " fixed ", " fixes ", " cures ", " ok ", "back to normal", " helps "} {
		if strings.Contains(low, s) {
			return true
		}
	}
	return false
}

var (
	statusWords = regexp.MustCompile(`(?i)(?:status ?=? ?|with error |error )(\d{1,2})\b`)
	vendorWords = regexp.MustCompile(`(?i)vendor[ _]err(?:or)?[ =]*(\d+)`)
)

// message takes an error text that a person copied as the event that it tells.
func (r *reading) message(f *fact.Fact, w words, value string) {
	if f.Value.Kind() != fact.Text {
		return
	}
	low := strings.ToLower(value)
	call := ""
	for _, c := range []string{"modify_qp", "reg_mr", "open_device", "query_gid", "create_cq", "create_qp"} {
		if strings.Contains(low, c) || strings.Contains(strings.Join(w, "_"), c) {
			call = "ibv_" + c
		}
	}
	switch vendor := vendorWords.FindStringSubmatch(value); {
	case strings.Contains(low, "access violation") || strings.Contains(low, "port error") || strings.Contains(low, "port_err"):
		r.put(f, f.Subject, "nccl.error.kind", fact.OfText("async_event"))
		r.put(f, f.Subject, "nccl.error.event", fact.OfText(value))
	case vendor != nil:
		r.put(f, f.Subject, "nccl.error.kind", fact.OfText("completion"))
		r.number(f, "nccl.error.vendor", vendor[1])
		if s := statusWords.FindStringSubmatch(value); s != nil {
			r.number(f, "nccl.error.status", s[1])
		}
	case call != "":
		r.put(f, f.Subject, "nccl.error.kind", fact.OfText("verbs"))
		r.put(f, f.Subject, "nccl.error.call", fact.OfText(call))
		for text, n := range errnoTexts {
			if strings.Contains(low, text) {
				r.put(f, f.Subject, "nccl.error.text", fact.OfText(text))
				r.put(f, f.Subject, "nccl.error.errno", fact.OfUint(n))
			}
		}
	}
}

// errnoTexts are the words of Linux for the errors that verbs return.
var errnoTexts = map[string]uint64{
	"cannot allocate memory": errnoNoMemory, "no such device": errnoNoDevice, "invalid argument": errnoInvalid, "network is down": errnoNetDown,
	"network is unreachable": errnoUnreachable, "connection timed out": errnoTimedOut, "no route to host": errnoNoRoute,
}

func (r *reading) number(f *fact.Fact, key, digits string) {
	if n, err := strconv.ParseUint(digits, 10, 32); err == nil {
		r.put(f, f.Subject, key, fact.OfUint(n))
	}
}

func (r *reading) mtu(f *fact.Fact, w words, low string) {
	if n, ok := f.Value.Uint(); ok {
		key := "link.mtu"
		if w.any("active", "rdma", "path", "qp") {
			key = "rdma.active_mtu"
		}
		who := slices.DeleteFunc(slices.Clone(w), func(s string) bool {
			return slices.Contains([]string{"mtu", "active", "rdma", "path", "qp", "on", "of", "interface", "port"}, s)
		})
		r.put(f, fact.Subject{Kind: fact.NIC, Host: strings.Join(who, "-")}, key, fact.OfUint(n))
		return
	}
	b, isTruth := truth(f, low)
	switch {
	case isTruth && w.any("equal", "same", "match", "matches", "identical", "consistent"):
		r.put(f, f.Subject, saidMTUEqual, fact.OfBool(b))
	case isTruth && w.any("differ", "differs", "different", "mismatch"):
		r.put(f, f.Subject, saidMTUEqual, fact.OfBool(!b))
	case strings.Contains(low, "differ") || strings.Contains(low, "not equal") || strings.Contains(low, "mismatch"):
		r.put(f, f.Subject, saidMTUEqual, fact.OfBool(false))
	}
}

func (r *reading) peermem(f *fact.Fact, low string) {
	if b, ok := truth(f, low); ok {
		r.put(f, f.Subject, "host.peermem", fact.OfBool(b))
		return
	}
	for _, m := range []string{"nvidia_peermem", "nvidia-peermem", "nv_peer_mem"} {
		if strings.Contains(low, m) && !strings.Contains(low, "not ") {
			r.put(f, f.Subject, "host.module."+strings.ReplaceAll(m, "-", "_"), fact.OfBool(true))
			r.put(f, f.Subject, "host.peermem", fact.OfBool(true))
		}
	}
}

func (r *reading) memlock(f *fact.Fact, w words, low string) {
	n, ok := f.Value.Uint()
	switch {
	case strings.Contains(low, "unlimited"):
		r.put(f, f.Subject, "host.memlock_unlimited", fact.OfBool(true))
	case ok && w.any("bytes"):
		r.put(f, f.Subject, "host.memlock", fact.OfUint(n))
	case ok: // ulimit -l counts in KiB
		r.put(f, f.Subject, "host.memlock", fact.OfUint(n<<10))
	}
}

func (r *reading) rate(f *fact.Fact, w words, key string) {
	n, ok := f.Value.Float()
	if !ok {
		return
	}
	switch {
	case w.any("gbps", "gbits", "gbit"):
		n *= 1e9
	case w.any("gbs", "gbytes"):
		n *= 8e9
	case w.any("mbps"):
		n *= 1e6
	default:
		return
	}
	r.put(f, f.Subject, key, fact.OfFloat(n))
}

// port takes "ports.DEV.address: 10.0.0.2/24" and "ports.DEV.state: ACTIVE".
func (r *reading) port(f *fact.Fact, name, value string) {
	parts := strings.Split(name, ".")
	if len(parts) < 3 {
		return
	}
	nic := fact.Subject{Kind: fact.NIC, Host: f.Subject.Host, Name: parts[len(parts)-2]}
	switch strings.ToLower(parts[len(parts)-1]) {
	case "address", "ip", "addr":
		word, _, _ := strings.Cut(value, " ")
		if _, err := netip.ParsePrefix(word); err == nil {
			r.put(f, nic, "link.address", fact.OfText(word))
		} else if _, err := netip.ParseAddr(word); err == nil {
			r.put(f, nic, "link.address", fact.OfText(word))
		}
	case "state":
		r.put(f, nic, "rdma.state", fact.OfText(strings.ToUpper(value)))
	}
}

// fell compares figures of one name in two states: "..._before_..." and
// "..._after_...", or several of one name in a list.
func (r *reading) fell(facts []fact.Fact) {
	type figure struct{ low, high *fact.Fact }
	figures := map[string]*figure{}
	for i := range facts {
		f := &facts[i]
		v, ok := f.Value.Float()
		name, stated := strings.CutPrefix(f.Key, "stated.")
		w := wordsOf(name)
		if !ok || !stated || v <= 0 || !w.any("busbw", "bandwidth", "bw", "throughput", "gbps", "gbs", "mbps") {
			continue
		}
		w = slices.DeleteFunc(w, func(s string) bool { return s == "before" || s == "after" })
		k := f.Origin.Source + strings.Join(w, "_")
		g := figures[k]
		if g == nil {
			figures[k] = &figure{f, f}
			continue
		}
		if v < number(g.low) {
			g.low = f
		}
		if v > number(g.high) {
			g.high = f
		}
	}
	for _, g := range figures {
		if number(g.high) >= 2*number(g.low) {
			r.put(g.low, g.low.Subject, saidFell, fact.OfFloat(number(g.high)/number(g.low)))
		}
	}
}
