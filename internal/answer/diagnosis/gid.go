package diagnosis

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
)

// A gidEntry is one row of a GID table.
type gidEntry struct {
	index   int
	addr    netip.Addr
	version string // v1, v2 or "" unknown
	netdev  string
	fact    *fact.Fact // of the address
}

func (e *gidEntry) routable() bool {
	return e.addr.IsValid() && !linkLocal(e.addr) && !e.addr.IsUnspecified()
}

// A gidTable is one reading of the GID table of a NIC.
type gidTable struct {
	nic     fact.Subject
	source  string
	entries []gidEntry // sorted by index
	count   *fact.Fact // how many rows there were; nil where only some GIDs are known
}

// gidTablesOf gathers GID facts into tables: a new one starts where the same
// NIC of one source shows an index again or its rows were counted.
func gidTablesOf(facts []fact.Fact) []gidTable {
	type key struct {
		source string
		nic    fact.Subject
	}
	open := map[key]int{}
	var out []gidTable
	for i := range facts {
		f := &facts[i]
		rest, ok := strings.CutPrefix(f.Key, "gid.")
		if !ok {
			continue
		}
		k := key{f.Origin.Source, f.Subject}
		n, ok := open[k]
		if !ok {
			n = len(out)
			open[k] = n
			out = append(out, gidTable{nic: f.Subject, source: f.Origin.Source})
		}
		if rest == "count" {
			out[n].count = f
			delete(open, k)
			continue
		}
		number, field, _ := strings.Cut(rest, ".")
		at, err := strconv.Atoi(number)
		if err != nil {
			continue
		}
		if field == "address" && out[n].at(at) != nil && out[n].at(at).addr.IsValid() {
			n = len(out)
			open[k] = n
			out = append(out, gidTable{nic: f.Subject, source: f.Origin.Source})
		}
		out[n].put(at, field, f)
	}
	for i := range out {
		slices.SortFunc(out[i].entries, func(a, b gidEntry) int { return a.index - b.index })
	}
	return out
}

func (t *gidTable) put(at int, field string, f *fact.Fact) {
	e := t.at(at)
	if e == nil {
		t.entries = append(t.entries, gidEntry{index: at, fact: f})
		e = &t.entries[len(t.entries)-1]
	}
	switch field {
	case "address":
		e.addr, _ = netip.ParseAddr(f.Value.String())
		e.fact = f
	case "version":
		e.version = f.Value.String()
	case "netdev":
		e.netdev = f.Value.String()
	case "ipv4":
		if !e.addr.IsValid() {
			if a, err := netip.ParseAddr(f.Value.String()); err == nil {
				e.addr = netip.AddrFrom16(a.As16())
			}
		}
	}
}

func (t *gidTable) at(index int) *gidEntry {
	for i := range t.entries {
		if t.entries[i].index == index {
			return &t.entries[i]
		}
	}
	return nil
}

// used returns the entries that hold an address.
func (t *gidTable) used() []*gidEntry {
	var out []*gidEntry
	for i := range t.entries {
		if e := &t.entries[i]; e.addr.IsValid() && !e.addr.IsUnspecified() {
			out = append(out, e)
		}
	}
	return out
}

// best returns the entry that a connection should use: RoCE v2 with a
// routable address, IPv4 first; nil if there is none.
func (t *gidTable) best() *gidEntry {
	var best *gidEntry
	for _, e := range t.used() {
		if e.version == "v1" || !e.routable() {
			continue
		}
		if best == nil || !best.addr.Unmap().Is4() && e.addr.Unmap().Is4() {
			best = e
		}
	}
	return best
}

// known reports whether the reading lists the whole table.
func (t *gidTable) known() bool { return t.count != nil || len(t.entries) > 1 }

func (e *gidEntry) String() string {
	s := fmt.Sprintf("GID %d: %s", e.index, e.addr)
	if a := e.addr.Unmap(); a.Is4() {
		s = fmt.Sprintf("GID %d: %s", e.index, a)
	}
	if e.version != "" {
		s += ", RoCE " + e.version
	}
	return s
}

// A pin is a GID index that something was told to use.
type pin struct {
	index  int
	host   fact.Subject // whose setting it is
	device string       // "" any
	fact   *fact.Fact
}

// pinVariables set the GID index of a library. Sources: NCCL, UCX, NVSHMEM
// and Mooncake manuals.
var pinVariables = [...]string{"NCCL_IB_GID_INDEX", "UCX_IB_GID_INDEX", "NVSHMEM_IB_GID_INDEX", "MC_GID_INDEX", "MORI_IB_GID_INDEX"}

// pins returns the GID indexes in use: set by variables, used by tests, and
// told by logs.
func (x *index) pins() []pin { return x.pinned }

func (x *index) findPins() []pin {
	var out []pin
	for _, name := range pinVariables {
		for _, f := range once(x.env(name)) {
			if n, err := strconv.Atoi(f.Value.String()); err == nil && n >= 0 {
				out = append(out, pin{n, fact.Subject{Host: f.Subject.Host}, "", f})
			}
		}
	}
	for _, f := range x.all("perftest.gid_index") {
		out = append(out, pin{int(whole(f)), fact.Subject{Host: f.Subject.Host}, text(x.about(f.Subject, "perftest.device")), f})
	}
	for _, f := range once(x.all("nccl.qp.gid_index")) {
		out = append(out, pin{int(whole(f)), fact.Subject{Host: f.Subject.Host}, "", f})
	}
	for i := range x.events {
		if e := &x.events[i]; e.gidIndex != none {
			out = append(out, pin{e.gidIndex, fact.Subject{Host: e.subject.Host}, e.device, e.facts[0]})
		}
	}
	return out
}

// tablesFor returns the tables that a pin may refer to.
func (x *index) tablesFor(p pin) []*gidTable {
	var out []*gidTable
	take := func(list []*gidTable) {
		for _, t := range list {
			if sameName(p.device, t.nic.Name) && x.inUse(t.nic) {
				out = append(out, t)
			}
		}
	}
	if p.host.Host != "" {
		take(x.byHost[p.host.Host])
		take(x.byHost[""])
		return out
	}
	for _, h := range sortedKeys(x.byHost) {
		take(x.byHost[h])
	}
	return out
}

// inUse reports whether a NIC may carry the job: it is not when a list of
// devices is known and leaves it out.
func (x *index) inUse(nic fact.Subject) bool {
	if nic.Name == "" {
		return true
	}
	if nic.Host == "" {
		return len(x.listed[""]) == 0 || x.listed[""][nic.Name]
	}
	own, unnamed := x.listed[nic.Host], x.listedWithoutHost()
	return len(own) == 0 && len(unnamed) == 0 || own[nic.Name] || unnamed[nic.Name]
}

// listedWithoutHost returns the devices of lists whose source names no host,
// where no source names one.
func (x *index) listedWithoutHost() map[string]bool {
	if len(x.listed) == 1 {
		return x.listed[""]
	}
	return nil
}

// deviceName takes the port off "mlx5_0:1".
func deviceName(d string) string {
	name, _, _ := strings.Cut(d, ":")
	return name
}
