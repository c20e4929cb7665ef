package fact

import (
	"slices"
	"strings"
)

// A Key is one entry of the vocabulary. A placeholder {x} in the name stands
// for one dotted part, {x...} at the end for the rest of the name.
type Key struct {
	Name    string
	Unit    string // "" for texts and plain numbers
	Form    ValueKind
	Meaning string
}

// Vocabulary returns every key that parsers, live readers and the simulator
// use. Where a source says several things of one event (an error with its
// peer and status), the facts share source and line. A key may occur several
// times for one subject when the source says several things, as with a DSCP
// that maps to two priorities.
func Vocabulary() []Key {
	return slices.Concat(linkKeys[:], qosKeys[:], hostKeys[:], topologyKeys[:], ncclKeys[:], testKeys[:], switchKeys[:])
}

// UnitOf returns the unit that the vocabulary gives to a key, "" for keys
// without unit and for unknown ones.
func UnitOf(key string) string {
	if k, ok := Lookup(key); ok {
		return k.Unit
	}
	return ""
}

// Lookup returns the entry that a key is an instance of. A name without
// placeholders is preferred to one with.
func Lookup(key string) (Key, bool) {
	if i, ok := index.exact[key]; ok {
		return index.keys[i], true
	}
	head, _, _ := strings.Cut(key, ".")
	for _, i := range index.patterns[head] {
		if instance(index.keys[i].Name, key) {
			return index.keys[i], true
		}
	}
	return Key{}, false
}

// index finds entries by name; it is built once and never changed.
var index = buildIndex()

type keyIndex struct {
	keys     []Key
	exact    map[string]int
	patterns map[string][]int // by the first part of the name
}

func buildIndex() keyIndex {
	x := keyIndex{keys: Vocabulary(), exact: map[string]int{}, patterns: map[string][]int{}}
	for i, k := range x.keys {
		if strings.Contains(k.Name, "{") {
			head, _, _ := strings.Cut(k.Name, ".")
			x.patterns[head] = append(x.patterns[head], i)
		} else {
			x.exact[k.Name] = i
		}
	}
	return x
}

// instance reports whether key has the form of pattern.
func instance(pattern, key string) bool {
	for {
		p, prest, pmore := strings.Cut(pattern, ".")
		if strings.HasPrefix(pattern, "{") && strings.HasSuffix(pattern, "...}") {
			return key != ""
		}
		k, krest, kmore := strings.Cut(key, ".")
		if p != k && !(strings.HasPrefix(p, "{") && k != "") {
			return false
		}
		if !pmore || !kmore {
			return pmore == kmore
		}
		pattern, key = prest, krest
	}
}
