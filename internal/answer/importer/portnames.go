package importer

import (
	"slices"
	"strings"
)

// settleNames writes a switch's port in one way, the longest that is told:
// tables of neighbours print "Et3/1" and "HGE1/0/1" for what configurations and
// neighbours call Ethernet3/1 and HundredGigE1/0/1. A name that could be short
// for several stays.
func (k *knowledge) settleNames() {
	told := map[string]map[string]bool{}
	for i := range k.links {
		for _, e := range []end{k.links[i].a, k.links[i].b} {
			if told[e.node] == nil {
				told[e.node] = map[string]bool{}
				for name := range k.devices[e.node].speed {
					told[e.node][name] = true
				}
			}
			told[e.node][e.port] = true
		}
	}
	for _, c := range k.s.Configs {
		d := k.devices[shortName(k.ownerOf(&c))]
		if d == nil || told[d.name] == nil {
			continue
		}
		for i := range c.Reading.Device.Ports {
			told[d.name][c.Reading.Device.Ports[i].Name] = true
		}
	}
	long := map[end]string{}
	for node, names := range told {
		byNumber := map[string][]string{}
		for name := range names {
			if _, number := splitName(name); number != "" {
				byNumber[number] = append(byNumber[number], name)
			}
		}
		for _, same := range byNumber {
			for _, short := range same {
				if full := fullName(short, same); full != "" {
					long[end{node, short}] = full
				}
			}
		}
	}
	for i := range k.links {
		for _, e := range []*end{&k.links[i].a, &k.links[i].b} {
			if full := long[*e]; full != "" {
				e.port = full
			}
		}
	}
}

// fullName is the one name among others that short is short for; "" where there
// is none, or more than one that are not short for each other.
func fullName(short string, names []string) string {
	var longer []string
	for _, n := range names {
		if isShort(short, n) {
			longer = append(longer, n)
		}
	}
	for _, n := range longer {
		if !slices.ContainsFunc(longer, func(o string) bool { return o != n && !isShort(o, n) }) {
			return n
		}
	}
	return ""
}

// splitName cuts a port's name at its numbers: "HundredGigE", "1/0/1". Speeds
// that a name begins with ("100GE1/0/1") belong to its letters.
func splitName(name string) (letters, number string) {
	at := len(name)
	for at > 0 && strings.IndexByte("0123456789/:.", name[at-1]) >= 0 {
		at--
	}
	return name[:at], name[at:]
}

// isShort reports whether a name has the number of another, and letters that
// stand in it in that order, from the first on.
func isShort(short, long string) bool {
	s, n := splitName(strings.ToLower(short))
	l, m := splitName(strings.ToLower(long))
	if n != m || s == "" || len(s) >= len(l) || s[0] != l[0] {
		return false
	}
	for i := 0; i < len(l) && s != ""; i++ {
		if l[i] == s[0] {
			s = s[1:]
		}
	}
	return s == ""
}
