// Package dialect holds what the packages below it share: each of them reads
// the configuration text of one switch operating system into a qos.Device, by
// effect rather than by text, and has room for writing it.
//
// Every sub-package offers
//
//	func Parse(r io.Reader, source string) (*dialect.Reading, error)
//	func Score(text []byte) int
//
// Parse fails only when the text cannot be read or exceeds a limit; lines that
// it does not know are kept in Reading.NotUnderstood, with secrets redacted.
// Score says from 0 (not this system) to 100 how sure the text is one of its
// configurations, by content alone.
//
// The statements of a command language are a table of forms (Form): one table
// per system, read by Grammar.Walk when parsing and filled by Form.Line when
// writing. Each form names where it is documented.
package dialect

import (
	"weir/internal/fact"
	"weir/internal/qos"
)

// A Reading is what one configuration text says.
type Reading struct {
	Device        *qos.Device
	Facts         []fact.Fact // what qos.Device has no room for: versions, pools, unused maps
	NotUnderstood []fact.NotUnderstood
}

// Limits of every dialect: a larger text is refused, more of anything is cut
// and reported as not understood.
const (
	MaxText    = 64 << 20 // bytes of configuration
	MaxLine    = 64 << 10 // bytes of one line
	MaxPorts   = 8192     // ports of one device
	MaxRange   = 4096     // ports that one range names
	MaxWork    = 2 << 20  // port names that the statements of a text may expand to
	MaxUnknown = 20000    // lines kept as not understood
	maxExcerpt = 200      // bytes of a line kept as not understood
	maxNesting = 32       // blocks within blocks
)
