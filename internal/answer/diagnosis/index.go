package diagnosis

import (
	"fmt"
	"net/netip"
	"slices"
	"sort"
	"strings"

	"weir/internal/fact"
	"weir/internal/finding"
)

// An index holds the facts by key, and the views that rules look at.
type index struct {
	keys  []string // sorted
	byKey map[string][]*fact.Fact
	first map[subjectKey]*fact.Fact // of a key about a subject; counters excepted

	// Views that many rules ask for, made once.
	used      map[fact.Subject]*fact.Fact
	usedNames map[string][]fact.Subject  // of used, by device name
	listed    map[string]map[string]bool // devices that logs list, by host; "" all of them
	lists     []hcaList
	devices   []*fact.Fact     // lists of devices that logs show
	pinsOf    map[string][]pin // by host
	pinned    []pin
	owned     []owned
	byHost    map[string][]*gidTable

	events   []event
	tables   []gidTable
	counters *counters
	hosts    int // hosts that sources name
}

type subjectKey struct {
	subject fact.Subject
	key     string
}

// newIndex orders the facts. It keeps pointers into the slice.
func newIndex(facts []fact.Fact) *index {
	x := &index{byKey: map[string][]*fact.Fact{}, first: map[subjectKey]*fact.Fact{}}
	hosts := map[string]bool{}
	for i := range facts {
		f := &facts[i]
		x.byKey[f.Key] = append(x.byKey[f.Key], f)
		if k := (subjectKey{f.Subject, f.Key}); !strings.HasPrefix(f.Key, "counter.") && x.first[k] == nil {
			x.first[k] = f
		}
		if f.Subject.Host != "" {
			hosts[f.Subject.Host] = true
		}
	}
	x.hosts = len(hosts)
	for k := range x.byKey {
		x.keys = append(x.keys, k)
	}
	sort.Strings(x.keys)
	x.events = eventsOf(facts)
	x.tables = gidTablesOf(facts)
	x.counters = countersOf(facts)
	x.prepare()
	return x
}

// prepare makes the views that many rules ask for. A bundle of a thousand
// hosts has the same lists and settings thousands of times.
func (x *index) prepare() {
	x.byHost = map[string][]*gidTable{}
	for i := range x.tables {
		x.byHost[x.tables[i].nic.Host] = append(x.byHost[x.tables[i].nic.Host], &x.tables[i])
	}
	x.devices = once(x.all("nccl.network_devices"))
	x.listed = map[string]map[string]bool{"": {}}
	for _, f := range x.networkDevices() {
		if x.listed[f.Subject.Host] == nil {
			x.listed[f.Subject.Host] = map[string]bool{}
		}
		for _, d := range f.Value.List() {
			x.listed[f.Subject.Host][deviceName(d)] = true
			x.listed[""][deviceName(d)] = true
		}
	}
	x.lists = x.findLists()
	x.used = x.findUsed()
	x.usedNames = map[string][]fact.Subject{}
	for s := range x.used {
		x.usedNames[s.Name] = append(x.usedNames[s.Name], s)
	}
	x.pinned = x.findPins()
	x.pinsOf = map[string][]pin{}
	for _, p := range x.pinned {
		x.pinsOf[p.host.Host] = append(x.pinsOf[p.host.Host], p)
	}
	x.owned = x.findAddresses()
}

// networkDevices returns the lists of devices that logs show, each once a host.
func (x *index) networkDevices() []*fact.Fact { return x.devices }

// once keeps the first of facts with equal host and value.
func once(facts []*fact.Fact) []*fact.Fact {
	type key struct{ host, value string }
	seen := map[key]bool{}
	var out []*fact.Fact
	for _, f := range facts {
		if k := (key{f.Subject.Host, f.Value.String()}); !seen[k] {
			seen[k] = true
			out = append(out, f)
		}
	}
	return out
}

// all returns the facts of a key, in the order of the inputs.
func (x *index) all(key string) []*fact.Fact { return x.byKey[key] }

// under returns the facts whose keys start with prefix, sorted by key.
func (x *index) under(prefix string) []*fact.Fact {
	var out []*fact.Fact
	for i := sort.SearchStrings(x.keys, prefix); i < len(x.keys) && strings.HasPrefix(x.keys[i], prefix); i++ {
		out = append(out, x.byKey[x.keys[i]]...)
	}
	return out
}

// has reports whether any fact has the key.
func (x *index) has(key string) bool { return len(x.byKey[key]) > 0 }

// is returns the facts of a key that have the truth value.
func (x *index) is(key string, value bool) []*fact.Fact {
	var out []*fact.Fact
	for _, f := range x.byKey[key] {
		if v, ok := f.Value.Bool(); ok && v == value {
			out = append(out, f)
		}
	}
	return out
}

// env returns the settings of a variable, of NCCL or of others.
func (x *index) env(name string) []*fact.Fact {
	return slices.Concat(x.byKey["nccl.env."+name], x.byKey["env."+name])
}

// envOn returns the settings of a variable that have one of the values.
func (x *index) envIs(name string, values ...string) []*fact.Fact {
	var out []*fact.Fact
	for _, f := range x.env(name) {
		if slices.Contains(values, strings.ToUpper(f.Value.String())) {
			out = append(out, f)
		}
	}
	return out
}

// about returns the fact of a key about the very subject, nil if there is none.
func (x *index) about(s fact.Subject, key string) *fact.Fact { return x.first[subjectKey{s, key}] }

// sameHost reports whether two subjects may be of one machine: a source that
// does not name its host may be of any.
func sameHost(a, b fact.Subject) bool { return a.Host == "" || b.Host == "" || a.Host == b.Host }

// sameName reports whether two device names may mean one device.
func sameName(a, b string) bool { return a == "" || b == "" || a == b }

func number(f *fact.Fact) float64 {
	if f == nil {
		return 0
	}
	v, _ := f.Value.Float()
	return v
}

func whole(f *fact.Fact) uint64 {
	if f == nil {
		return 0
	}
	v, _ := f.Value.Uint()
	return v
}

func text(f *fact.Fact) string {
	if f == nil {
		return ""
	}
	return f.Value.String()
}

// quote makes an evidence line of a fact, near to the line that it was read from.
func quote(f *fact.Fact) finding.Evidence {
	e := finding.Evidence{Source: f.Origin.Source, Line: f.Origin.Line}
	value := f.Value.String()
	if f.Unit != "" && f.Value.Kind() != fact.Absent {
		value += " " + f.Unit
	}
	who := ""
	if n := f.Subject.String(); n != "" {
		who = n + ": "
	}
	switch key := f.Key; {
	case strings.HasPrefix(key, "nccl.env."):
		e.Text = strings.TrimPrefix(key, "nccl.env.") + "=" + value
	case strings.HasPrefix(key, "env."):
		e.Text = strings.TrimPrefix(key, "env.") + "=" + value
	case strings.HasPrefix(key, "counter."):
		e.Text = who + strings.TrimPrefix(key, "counter.") + ": " + f.Value.String()
	case strings.HasPrefix(key, "stated."):
		e.Text = "stated: " + strings.TrimPrefix(key, "stated.") + ": " + f.Value.String()
	case key == "nccl.warning", key == "kernel.message", key == "perftest.error.text", key == "nccl_tests.error", key == "host.module_error":
		e.Text = who + value
	default:
		e.Text = who + key + " = " + value
	}
	return e
}

// quotes makes evidence of several facts, of at most a few that read alike.
func quotes(facts ...*fact.Fact) []finding.Evidence {
	var out []finding.Evidence
	for _, f := range facts {
		if f != nil {
			out = append(out, quote(f))
		}
	}
	return out
}

// seen makes evidence in own words of what one fact shows.
func seen(f *fact.Fact, format string, args ...any) finding.Evidence {
	return finding.Evidence{Source: f.Origin.Source, Line: f.Origin.Line, Text: fmt.Sprintf(format, args...)}
}

// places names the subjects of facts, each once, sorted.
func places(facts ...*fact.Fact) string {
	var names []string
	seen := map[fact.Subject]bool{}
	for _, f := range facts {
		if f == nil || seen[f.Subject] {
			continue
		}
		seen[f.Subject] = true
		if n := f.Subject.String(); n != "" {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return unite("", strings.Join(slices.Compact(names), ", "))
}

// linkLocal reports an address that a router does not forward: fe80::/10 and
// 169.254/16, also mapped into IPv6 as GIDs are.
func linkLocal(a netip.Addr) bool { return a.IsValid() && a.Unmap().IsLinkLocalUnicast() }

// byHost groups facts by the host of their subject.
func byHost(facts []*fact.Fact) (hosts []string, groups map[string][]*fact.Fact) {
	groups = map[string][]*fact.Fact{}
	for _, f := range facts {
		h := f.Subject.Host
		if groups[h] == nil {
			hosts = append(hosts, h)
		}
		groups[h] = append(groups[h], f)
	}
	slices.Sort(hosts)
	return hosts, groups
}
