package cluster

import (
	"strconv"

	"weir/units"
)

// A node is one setting of the file: what the user wrote, or the default
// that was put in its place, with its origin. The builders read settings
// through the methods below; what they read is what the effective file shows.
type node struct {
	key   *key
	pos   position
	given bool   // by the file or --set, not a default
	has   bool   // holds a value
	used  bool   // was read
	from  string // origin of a default
	val   value
	kids  []*node  // of a mapping by index of key.keys, nil where absent; items of a list or table
	names []string // of a table's items
}

func newNode(k *key, pos position) *node {
	n := &node{key: k, pos: pos}
	if k.kind == mapping {
		n.kids = make([]*node, len(k.keys))
	}
	return n
}

// at returns the setting of the given name in a mapping, which it makes if
// the user did not.
func (n *node) at(name string) *node {
	i, _ := n.key.child(name)
	if i < 0 {
		panic("cluster: no key " + name + " in " + n.key.name)
	}
	n.used = true
	if n.kids[i] == nil {
		n.kids[i] = newNode(&n.key.keys[i], position{})
	}
	k := n.kids[i]
	if k.key.kind <= table {
		k.used = true
	}
	return k
}

// gave reports whether the user gave the setting. It does not count as reading it.
func (n *node) gave(name string) bool {
	i, _ := n.key.child(name)
	return n.kids[i] != nil && n.kids[i].given
}

// prefer drops the setting loser of the file where a flag gave winner, which
// cannot stand beside it.
func (n *node) prefer(winner, loser string) {
	i, _ := n.key.child(winner)
	j, _ := n.key.child(loser)
	w, l := n.kids[i], n.kids[j]
	if w != nil && l != nil && w.given && l.given && w.pos.flag != "" && l.pos.flag == "" {
		n.kids[j] = nil
	}
}

// where returns the position of the first of the named settings that the user
// wrote, else that of n.
func (n *node) where(names ...string) position {
	for _, name := range names {
		if n.gave(name) {
			i, _ := n.key.child(name)
			if p := n.kids[i].pos; p.known() {
				return p
			}
		}
	}
	return n.pos
}

// value returns what was given, or the default of the key table.
func (n *node) value() value {
	n.used = true
	if !n.has {
		v, err := n.key.parse(n.key.def)
		if err != nil {
			panic("cluster: bad default of " + n.key.name + ": " + err.Error())
		}
		n.val, n.has, n.from = v, true, "default"
	}
	return n.val
}

// or returns what was given, or v, which then shows in the effective file
// with its origin.
func (n *node) or(v value, from string) value {
	n.used = true
	if !n.has {
		n.val, n.has, n.from = v, true, from
	}
	return n.val
}

func (n *node) int(name string) int64          { return n.at(name).value().i }
func (n *node) float(name string) float64      { return n.at(name).value().f }
func (n *node) bool(name string) bool          { return n.at(name).value().i != 0 }
func (n *node) string(name string) string      { return n.at(name).value().s }
func (n *node) time(name string) units.Time    { return units.Time(n.int(name)) }
func (n *node) bytes(name string) units.Bytes  { return units.Bytes(n.int(name)) }
func (n *node) bits(name string) units.BitRate { return units.BitRate(n.int(name)) }

func (n *node) intOr(name string, v int64, from string) int64 {
	return n.at(name).or(value{i: v}, from).i
}

func (n *node) floatOr(name string, v float64, from string) float64 {
	return n.at(name).or(value{f: v}, from).f
}

func (n *node) stringOr(name, v, from string) string {
	return n.at(name).or(value{s: v}, from).s
}

func (n *node) boolOr(name string, v bool, from string) bool {
	i := int64(0)
	if v {
		i = 1
	}
	return n.at(name).or(value{i: i}, from).i != 0
}

// optional returns the value if it was given; without it the setting stays
// out of the effective file.
func (n *node) optional(name string) (value, bool) {
	if !n.gave(name) {
		return value{}, false
	}
	return n.at(name).value(), true
}

// items returns the items of a list, marked as read.
func (n *node) items(name string) []*node {
	l := n.at(name)
	for _, k := range l.kids {
		k.used = true
	}
	return l.kids
}

// strings returns the items of a list of texts, names or choices.
func (n *node) strings(name string) []string {
	var out []string
	for _, k := range n.items(name) {
		out = append(out, k.val.s)
	}
	return out
}

// stringsOr returns the items, or puts the default list in.
func (n *node) stringsOr(name string, v []string, from string) []string {
	l := n.at(name)
	if !l.given && len(l.kids) == 0 {
		l.from = from
		for _, s := range v {
			l.kids = append(l.kids, &node{key: &l.key.keys[0], has: true, used: true, val: value{s: s}, from: from})
		}
	}
	return n.strings(name)
}

// unused returns the first setting, in the order of the table, that the user
// gave, nobody read and matches: it has no effect in this file.
func (n *node) unused(path string, match func(*node) bool) (*node, string) {
	if n.given && !n.used && match(n) {
		return n, path
	}
	for i, k := range n.kids {
		if k == nil {
			continue
		}
		if u, up := k.unused(n.pathOf(path, i), match); u != nil {
			return u, up
		}
	}
	return nil, ""
}

// pathOf returns the path of child i, as --set takes it.
func (n *node) pathOf(path string, i int) string {
	k := n.kids[i]
	switch n.key.kind {
	case list:
		if n.key.single != "" && len(n.kids) == 1 {
			return path
		}
		return path + "[" + strconv.Itoa(i) + "]"
	case table:
		return path + "." + n.names[i]
	}
	name := k.key.name
	if k.key.single != "" && len(k.kids) == 1 {
		name = k.key.single
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// missing returns the first mapping that lacks a key it needs.
func (n *node) missing() error {
	if n.key.kind == mapping {
		var need []string
		lacks := ""
		for i := range n.key.keys {
			k := &n.key.keys[i]
			if !k.need {
				continue
			}
			need = append(need, k.name)
			if lacks == "" && (n.kids[i] == nil || !n.kids[i].given) {
				lacks = k.name
			}
		}
		if lacks != "" {
			return n.pos.found("a "+n.key.name+" without "+lacks, "a "+n.key.name+" with "+joinWords(need))
		}
	}
	for _, k := range n.kids {
		if k == nil || k.key.scalar() {
			continue
		}
		if err := k.missing(); err != nil {
			return err
		}
	}
	return nil
}
