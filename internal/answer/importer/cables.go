package importer

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"weir/internal/field/dialect"

	"weir/internal/answer/audit"
	"weir/internal/field/inventory"
)

// settlePorts names host ports by their RDMA devices, and makes cards of ports
// where a host tells nothing of its own.
func (k *knowledge) settlePorts() {
	dropped := map[string]int{}
	kept := k.links[:0]
	for _, l := range k.links {
		ok := true
		for _, e := range []*end{&l.a, &l.b} {
			d := k.devices[e.node]
			if d.kind != inventory.Host {
				continue
			}
			if dev, known := d.alias[e.port]; known {
				if s := d.speed[e.port]; s > 0 && d.cards[dev] != nil && d.cards[dev].speed == 0 {
					d.cards[dev].speed = s
				}
				e.port = dev
			}
			if d.hasRDMA() && d.cards[e.port] != nil && !d.cards[e.port].rdma || d.hasRDMA() && d.cards[e.port] == nil && e.port != "" && !strings.HasPrefix(e.port, "nic-") {
				dropped[d.name]++
				ok = false
			}
		}
		if ok {
			kept = append(kept, l)
		}
	}
	k.links = kept
	for _, d := range k.sorted() {
		if n := dropped[d.name]; n > 0 {
			k.leftOut = append(k.leftOut, fmt.Sprintf("%s: %d cables of ports that are no RDMA devices", d.name, n))
		}
		if d.kind == inventory.Host {
			d.dropOthers()
		}
	}
}

func (d *device) hasRDMA() bool {
	for _, c := range d.cards {
		if c.rdma {
			return true
		}
	}
	return false
}

// dropOthers forgets network interfaces beside RDMA devices, whose addresses go
// to the device.
func (d *device) dropOthers() {
	for name, c := range d.cards {
		if dev, ok := d.alias[name]; ok && d.cards[dev] != nil && dev != name {
			if d.cards[dev].address == "" {
				d.cards[dev].address = c.address
			}
			if d.cards[dev].speed == 0 {
				d.cards[dev].speed = d.speed[name]
			}
			delete(d.cards, name)
			continue
		}
		if !c.rdma {
			delete(d.cards, name)
		}
	}
}

// settleLinks joins what both ends of a cable say, and lists where they differ.
func (k *knowledge) settleLinks() {
	sort.SliceStable(k.links, func(i, j int) bool { return rank(k.links[i]) > rank(k.links[j]) })
	byEnd := map[end]int{}
	var out []link
	unnamed := map[[2]string]int{} // links between two devices that name both ports
	for _, l := range k.links {
		if k.devices[l.a.node].kind == inventory.Switch && k.devices[l.b.node].kind == inventory.Host {
			l.a, l.b = l.b, l.a
		}
		if k.devices[l.a.node].kind == inventory.Host && k.devices[l.b.node].kind == inventory.Host {
			k.leftOut = append(k.leftOut, fmt.Sprintf("a cable between the hosts %s and %s", l.a, l.b))
			continue
		}
		at := -1
		for _, e := range []end{l.a, l.b} {
			if i, ok := byEnd[e]; ok && e.port != "" {
				at = i
			}
		}
		pair := [2]string{min(l.a.node, l.b.node), max(l.a.node, l.b.node)}
		if at < 0 {
			if (l.a.port == "" || l.b.port == "") && unnamed[pair] > 0 {
				unnamed[pair]-- // told better already
				continue
			}
			byEnd[l.a], byEnd[l.b] = len(out), len(out)
			out = append(out, l)
			if l.a.port != "" && l.b.port != "" {
				unnamed[pair]++
			}
			continue
		}
		old := &out[at]
		same := old.a.node == l.a.node && old.b.node == l.b.node && compatible(old.a.port, l.a.port) && compatible(old.b.port, l.b.port) ||
			old.a.node == l.b.node && old.b.node == l.a.node && compatible(old.a.port, l.b.port) && compatible(old.b.port, l.a.port)
		switch {
		case !same && old.seen && !l.seen:
			f := k.misplaced(old, l)
			if !slices.ContainsFunc(k.findings, func(g audit.Finding) bool { return g.Summary == f.Summary }) {
				k.findings = append(k.findings, f)
			}
			continue
		case !same:
			k.conflicts = append(k.conflicts, Conflict{Where: "fabric.links: " + l.b.String(), Kept: old.a.String() + " to " + old.b.String(), Other: l.a.String() + " to " + l.b.String(), From: l.from})
			continue
		}
		old.length = max(old.length, l.length)
		old.speed = max(old.speed, l.speed)
	}
	k.links = out
	slices.SortFunc(k.links, func(x, y link) int {
		return cmp.Or(dialect.CompareNames(x.a.node, y.a.node), dialect.CompareNames(x.a.port, y.a.port), dialect.CompareNames(x.b.node, y.b.node), dialect.CompareNames(x.b.port, y.b.port))
	})
}

// misplaced says that a planned cable was seen elsewhere.
func (k *knowledge) misplaced(old *link, l link) audit.Finding {
	e, want, got := l.b, l.a, old.a
	switch {
	case old.b == l.b:
	case old.a == l.b:
		got = old.b
	case old.b == l.a:
		e, want, got = l.a, l.b, old.a
	default:
		e, want, got = l.a, l.b, old.b
	}
	return miscabled(e, want, got.String(), old.from)
}

// rank says how much a link tells.
func rank(l link) int {
	n := 0
	if l.seen {
		n = 4
	}
	if l.a.port != "" {
		n++
	}
	if l.b.port != "" {
		n++
	}
	return n
}

// compatible reports whether two names can be of one port: LLDP gives what it
// likes where no name is set.
func compatible(x, y string) bool {
	return x == "" || y == "" || strings.EqualFold(x, y) || switchPort(x) != switchPort(y) || !switchPort(x)
}
