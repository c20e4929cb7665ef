// Package fact holds what is known about a cluster: one value of one key of
// one subject, with the place that it was learnt from. Parsers, live readers
// and the simulator produce facts; audit, diagnosis, acceptance and import
// consume them.
package fact

import "strconv"

// Kind says what a Subject is.
type Kind uint8

// The kinds of subject.
const (
	Unknown   Kind = iota
	Cluster        // the fabric or job as a whole
	Host           // Name: host name
	NIC            // Name: device (mlx5_0) or interface (eth2) on Host
	Port           // Name: switch port (Ethernet1/1) on Host = switch
	QueuePair      // Name: queue pair number, or "local-remote"
	Rank           // Name: rank number
	Switch         // Name: switch name
	Queue          // Name: "port/queue" or "port/priority" on Host = switch
	GPU            // Name: index on Host
	Process        // Name: process id or container on Host
	Test           // Name: program of the test, with #2 ... for further runs in a source
	PCI            // Name: PCI address on Host
)

// String returns the name used in output: "host", "nic", "queue_pair" ...
func (k Kind) String() string {
	names := [...]string{"unknown", "cluster", "host", "nic", "port", "queue_pair", "rank", "switch", "queue", "gpu", "process", "test", "pci"}
	if int(k) < len(names) {
		return names[k]
	}
	return "unknown"
}

// A Subject is what a fact is about. Host is the host or switch that it
// belongs to ("" where the source does not say).
type Subject struct {
	Kind Kind
	Host string
	Name string
}

// String prints "host-7/mlx5_0", or the name alone where there is no host.
func (s Subject) String() string {
	switch {
	case s.Host == "" || s.Host == s.Name:
		return s.Name
	case s.Name == "":
		return s.Host
	}
	return s.Host + "/" + s.Name
}

// A Value is a text, a whole number, a real number, a truth value or a list
// of texts. Counters stay whole numbers: they may exceed 2^53.
type Value struct {
	kind ValueKind
	u    uint64
	f    float64
	s    string
	l    []string
}

// ValueKind says which form a Value has.
type ValueKind uint8

// The forms of a Value. The zero Value is Absent: the source names the key
// and says that it has no value ("-", "N/A"), which is not zero.
const (
	Absent ValueKind = iota
	Text
	Uint
	Float
	Bool
	List
)

// The constructors.
func OfText(s string) Value   { return Value{kind: Text, s: s} }
func OfUint(u uint64) Value   { return Value{kind: Uint, u: u} }
func OfFloat(f float64) Value { return Value{kind: Float, f: decimal(f)} }
func OfList(l []string) Value { return Value{kind: List, l: l} }

// decimal rounds to the 15 significant digits that a double holds of any
// decimal number: a factor between units leaves 7.000000000000001 otherwise.
func decimal(f float64) float64 {
	g, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 15, 64), 64)
	if err != nil { // beyond the largest double
		return f
	}
	return g
}

func OfBool(b bool) Value {
	v := Value{kind: Bool}
	if b {
		v.u = 1
	}
	return v
}

// Kind returns the form of v.
func (v Value) Kind() ValueKind { return v.kind }

// Uint returns a whole number and whether v is one.
func (v Value) Uint() (uint64, bool) { return v.u, v.kind == Uint }

// Bool returns a truth value and whether v is one.
func (v Value) Bool() (value, ok bool) { return v.u == 1, v.kind == Bool }

// Float returns a number, whole or real, and whether v is one.
func (v Value) Float() (float64, bool) {
	switch v.kind {
	case Uint:
		return float64(v.u), true
	case Float:
		return v.f, true
	}
	return 0, false
}

// List returns a list of texts, which the caller must not change.
func (v Value) List() []string { return v.l }

// Any returns v as nil, string, uint64, float64, bool or []string, for JSON.
func (v Value) Any() any {
	switch v.kind {
	case Text:
		return v.s
	case Uint:
		return v.u
	case Float:
		return v.f
	case Bool:
		return v.u == 1
	case List:
		return v.l
	}
	return nil
}

// String prints v for people.
func (v Value) String() string {
	switch v.kind {
	case Text:
		return v.s
	case Uint:
		return strconv.FormatUint(v.u, 10)
	case Float:
		return strconv.FormatFloat(v.f, 'g', -1, 64)
	case Bool:
		return strconv.FormatBool(v.u == 1)
	case List:
		out := ""
		for i, s := range v.l {
			if i > 0 {
				out += ","
			}
			out += s
		}
		return out
	}
	return "-"
}

// An Origin is the place that a fact was learnt from: a source (file name,
// "-" for standard input, or a member of a bundle) and its line from 1, or a
// metric over an interval.
type Origin struct {
	Source   string
	Line     int
	Tool     string // "mlnx_qos", "nccl", "nxos show interface priority-flow-control"
	Metric   string
	Interval string
}

// A Fact is one value of one key of one subject. Keys are dotted lower-case
// names of the vocabulary in this package; Unit is "" for plain numbers and
// texts, else one of "bytes", "bits_per_s", "us", "ms", "s", "percent",
// "dBm", "celsius", "V", "mA", "W", "m", "GT/s", "messages_per_s"; for counters
// also "words4" (words of four bytes), "frames", "packets", "ticks".
type Fact struct {
	Subject Subject
	Key     string
	Value   Value
	Unit    string
	Origin  Origin
}

// NotUnderstood is a line that no parser took, kept so that nothing is lost
// in silence.
type NotUnderstood struct {
	Origin Origin
	Text   string // at most 200 bytes of it
}
