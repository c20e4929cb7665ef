package tool

import (
	"math"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
)

// A Sink takes what was read.
type Sink interface {
	Fact(f fact.Fact)
	NotUnderstood(n fact.NotUnderstood)
}

// A Config is one whole configuration of a switch: what it does, and its text,
// which repairs need to find the block that a statement stands in. Text is empty
// for configurations that are trees. Line numbers of the reading count from
// Offset + 1 in the source.
type Config struct {
	Reading *dialect.Reading
	Text    string
	Tree    *Node // of configurations that are trees
	Offset  int
	Source  string
	Host    string // as the configuration or what surrounds it names the switch
}

// A ConfigSink is a Sink that also wants configurations as a whole.
type ConfigSink interface {
	Config(c Config)
}

// Config puts out a whole configuration, beside the facts that it yields.
func (o *Out) Config(c Config) {
	if s, ok := o.sink.(ConfigSink); ok {
		c.Source = o.src
		s.Config(c)
	}
}

// An Out puts facts of one run of a tool into a sink: it adds source and
// tool, and the unit that the vocabulary gives to the key.
type Out struct {
	sink Sink
	tool string
	src  string
}

// NewOut returns an Out for a tool's reading of a source.
func NewOut(sink Sink, toolName, source string) *Out { return &Out{sink, toolName, source} }

// Fact puts out one fact learnt from line n. A key that is made with a part of
// the text may turn out to be none (a priority of "x.y"); then the line is kept
// as not understood.
func (o *Out) Fact(n int, s fact.Subject, key string, v fact.Value) {
	entry, ok := fact.Lookup(key)
	if !ok {
		o.NotUnderstood(&Line{Text: key + " = " + v.String(), N: n})
		return
	}
	o.sink.Fact(fact.Fact{
		Subject: s, Key: key, Value: v, Unit: entry.Unit,
		Origin: fact.Origin{Source: o.src, Line: n, Tool: o.tool},
	})
}

// Text, Uint, Float, Bool and List are Fact with a plain value.
func (o *Out) Text(n int, s fact.Subject, key, v string)        { o.Fact(n, s, key, fact.OfText(v)) }
func (o *Out) Uint(n int, s fact.Subject, key string, v uint64) { o.Fact(n, s, key, fact.OfUint(v)) }
func (o *Out) Float(n int, s fact.Subject, key string, v float64) {
	o.Fact(n, s, key, fact.OfFloat(v))
}
func (o *Out) Bool(n int, s fact.Subject, key string, v bool)     { o.Fact(n, s, key, fact.OfBool(v)) }
func (o *Out) List(n int, s fact.Subject, key string, v []string) { o.Fact(n, s, key, fact.OfList(v)) }

// Absent puts out that the source names the key and gives no value ("-", "N/A").
func (o *Out) Absent(n int, s fact.Subject, key string) { o.Fact(n, s, key, fact.Value{}) }

// Measured is Fact for a value that is a reading of a metric of the metric table.
func (o *Out) Measured(n int, s fact.Subject, key, metric string, v fact.Value) {
	o.sink.Fact(fact.Fact{
		Subject: s, Key: key, Value: v, Unit: fact.UnitOf(key),
		Origin: fact.Origin{Source: o.src, Line: n, Tool: o.tool, Metric: metric},
	})
}

// Counter puts out a vendor's counter under "counter.<its name>", with the
// name that the metric table has for it.
func (o *Out) Counter(n int, s fact.Subject, name string, v fact.Value) {
	unit, metric := counterMeaning(o.tool, s, name)
	o.sink.Fact(fact.Fact{
		Subject: s, Key: "counter." + name, Value: v, Unit: unit,
		Origin: fact.Origin{Source: o.src, Line: n, Tool: o.tool, Metric: metric},
	})
}

// maxKept is the length to which a line is cut when it is kept as not understood.
const maxKept = 200

// NotUnderstood keeps a line that the session claimed but cannot read.
func (o *Out) NotUnderstood(l *Line) {
	o.sink.NotUnderstood(fact.NotUnderstood{
		Origin: fact.Origin{Source: o.src, Line: l.N, Tool: o.tool},
		Text:   Kept(l.Text),
	})
}

// Kept cuts a text to the length that is kept of a line nobody understood.
func Kept(text string) string {
	if len(text) > maxKept {
		cut := maxKept
		for cut > 0 && text[cut]&0xc0 == 0x80 {
			cut--
		}
		text = text[:cut]
	}
	return strings.Clone(text)
}

// Number puts out the whole number that text holds, decimal or with 0x, and
// reports whether it holds one.
func (o *Out) Number(n int, s fact.Subject, key, text string) bool {
	u, err := strconv.ParseUint(strings.TrimSpace(text), 0, 64)
	if err != nil { // a leading zero is no octal number here
		u, err = strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	}
	if err == nil {
		o.Uint(n, s, key, u)
	}
	return err == nil
}

// Decimal puts out the number that text holds, times a factor for its unit,
// and reports whether it holds a finite one.
func (o *Out) Decimal(n int, s fact.Subject, key, text string, factor float64) bool {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return false
	}
	o.Float(n, s, key, f*factor)
	return true
}
