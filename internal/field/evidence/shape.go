package evidence

import (
	"hash/maphash"

	"weir/internal/field/evidence/tool"
)

const (
	// maxRefusals is how often all parsers must have refused a line of one
	// shape before they are no longer asked: a training program prints the
	// same line a million times with other numbers, and so does a list of
	// counters that an open session reads.
	maxRefusals = 32
	maxShapes   = 4096
)

// shapes counts the lines that no parser took from the session that claims
// them, if any, by their text without numbers.
type shapes struct {
	seed   maphash.Seed
	counts map[uint64]uint8
	text   []byte // reused
}

// of returns the shape of a line that the session of a tool claims with a
// score: each run of digits is one digit.
func (s *shapes) of(text, claim string, score tool.Score) uint64 {
	if s.counts == nil {
		s.seed, s.counts = maphash.MakeSeed(), map[uint64]uint8{}
	}
	b := append(append(s.text[:0], claim...), 0, byte(score))
	digit := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		isDigit := c >= '0' && c <= '9'
		if !isDigit {
			b = append(b, c)
		} else if !digit {
			b = append(b, '0')
		}
		digit = isDigit
	}
	s.text = b
	return maphash.Bytes(s.seed, b)
}

// hopeless reports whether lines of the shape were refused often enough.
func (s *shapes) hopeless(shape uint64) bool { return s.counts[shape] >= maxRefusals }

// count counts a refusal.
func (s *shapes) count(shape uint64) {
	n := s.counts[shape]
	if n < maxRefusals && (n > 0 || len(s.counts) < maxShapes) {
		s.counts[shape] = n + 1
	}
}

// forget starts anew, as a command line changes what lines mean.
func (s *shapes) forget() { clear(s.counts) }
