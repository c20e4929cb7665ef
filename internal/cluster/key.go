package cluster

import "strings"

// kind is the type of a key's value.
type kind uint8

const (
	mapping   kind = iota // of the keys in key.keys
	list                  // of items of key.keys[0]
	table                 // of the user's own keys, each with a value of key.keys[0]
	count                 // whole number
	number                // number with fraction
	size                  // units.Bytes
	testSize              // units.Bytes, K, M and G are 1024 as nccl-tests reads them
	duration              // units.Time
	micros                // units.Time; a plain number is microseconds
	rate                  // units.BitRate
	megabits              // units.BitRate; a plain number is Mb/s
	length                // units.Metres
	share                 // 0 to 1
	frequency             // Hz
	toggle                // true, false
	text                  // free text
	name                  // name of a node or class
	choice                // one of key.choices
)

// A key is one row of the table that the parser, the schema, the reference
// and the printer of effective files all work from.
type key struct {
	name    string
	kind    kind
	min     float64  // of count, number, size, duration, rate, length, frequency, in the base unit
	max     float64  // 0: no upper limit but the type's own
	choices []string // of choice; of count: the only values
	auto    string   // a word that may stand instead of a value: "auto"
	def     string   // the default as one would write it; empty where it is computed or there is none
	from    string   // how a computed default comes about
	when    string   // where the key has an effect, if not everywhere
	need    bool     // its mapping must have it
	doc     string
	single  string // of a list: a name under which one item may stand without the list
	keys    []key
}

// child returns the index of the key of a mapping, or -1. single reports that
// the name is that of one item of a list.
func (k *key) child(name string) (i int, single bool) {
	for i := range k.keys {
		switch name {
		case k.keys[i].name:
			return i, false
		case k.keys[i].single:
			if name != "" {
				return i, true
			}
		}
	}
	return -1, false
}

// names lists what a mapping may hold, for suggestions.
func (k *key) names() []string {
	var out []string
	for i := range k.keys {
		out = append(out, k.keys[i].name)
		if k.keys[i].single != "" {
			out = append(out, k.keys[i].single)
		}
	}
	return out
}

func (k *key) scalar() bool { return k.kind > table }

// Limits of a cluster file. Node and port numbers must fit the simulator's
// event keys (20 and 24 bits); the rest keeps a hostile file from filling
// the memory.
const (
	maxFile     = 4 << 20
	maxNodes    = 1 << 20
	maxPorts    = 1 << 20
	maxFlows    = 1 << 20
	maxSettings = 4 << 20 // nodes of the parsed file, aliases expanded
	maxDepth    = 32
	maxText     = 255
)

// value holds one scalar: whole numbers (count, size, duration, rate,
// toggle) in i, the rest of the numbers in f, text in s. The word of key.auto
// is s with i and f zero.
type value struct {
	i int64
	f float64
	s string
}

func (k *key) whole() bool {
	switch k.kind {
	case count, size, testSize, duration, micros, rate, megabits, toggle:
		return true
	}
	return false
}

var kindNames = [...]string{"mapping", "list", "table", "whole number", "number", "size", "size", "time", "time", "rate", "rate", "length", "share", "frequency", "true or false", "text", "name", "choice"}

// allowed says what a key takes, for messages.
func (k *key) allowed() string {
	s := ""
	switch k.kind {
	case mapping:
		s = "a mapping of keys to values"
	case list:
		s = "a list"
	case table:
		s = "a mapping from names to values"
	case count:
		s = "a whole number"
		switch {
		case len(k.choices) > 0:
			s = strings.Join(k.choices, ", ")
		case k.max != 0:
			s += " from " + trimNumber(k.min) + " to " + trimNumber(k.max)
		case k.min != 0:
			s += " of at least " + trimNumber(k.min)
		}
	case number:
		s = "a number"
		if k.max != 0 {
			s += " from " + trimNumber(k.min) + " to " + trimNumber(k.max)
		}
	case size, testSize:
		s = "a number with unit B, KB, MB, GB (1000) or KiB, MiB, GiB (1024), as in 150KB"
	case duration:
		s = "a number with unit ps, ns, us, ms, s, min or h, as in 30us"
	case micros:
		s = "microseconds or a number with unit, as in 300us"
	case rate:
		s = "a number with unit Mbps, Gbps or Tbps, as in 400Gbps"
	case megabits:
		s = "Mb/s or a number with unit, as in 5Mbps"
	case length:
		s = "a number with unit m, as in 30m"
	case share:
		s = "a percentage between 0% and 100% or a number between 0 and 1"
	case frequency:
		s = "a number with unit GHz or MHz, as in 2.5GHz"
	case toggle:
		s = "true or false"
	case text:
		s = "text of up to 255 characters"
	case name:
		s = "a name of up to 255 letters, digits, dots, hyphens and underscores, not . or .."
	case choice:
		s = strings.Join(k.choices, ", ")
	}
	if k.auto != "" {
		s += ", or " + k.auto
	}
	return s
}

// limitsText says what range a number must lie in.
func (k *key) limitsText() string {
	switch {
	case len(k.choices) > 0:
		return strings.Join(k.choices, ", ")
	case k.max == 0:
		return "at least " + k.limit(k.min)
	}
	return k.limit(k.min) + " to " + k.limit(k.max)
}

func (k *key) limit(v float64) string {
	if k.whole() {
		return k.format(value{i: int64(v)})
	}
	return k.format(value{f: v})
}
