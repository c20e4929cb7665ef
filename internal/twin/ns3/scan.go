package ns3

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"weir/internal/input"
	"weir/units"
)

// Bounds of what is read. The largest public cases have some ten thousand
// nodes and a million flows.
const (
	maxNodes     = 1 << 18
	maxLinks     = 1 << 20
	maxFlows     = 1 << 22
	maxLineBytes = 16 << 20
)

// scanner reads whitespace-separated fields line by line and knows where each
// stands, for messages.
type scanner struct {
	file   string
	in     *bufio.Scanner
	line   int
	fields []field
	next   int
}

type field struct {
	text   string
	column int
}

func newScanner(file string, r io.Reader) *scanner {
	in := bufio.NewScanner(r)
	in.Buffer(make([]byte, 64<<10), maxLineBytes)
	return &scanner{file: file, in: in}
}

// row reads the next line that is not empty; false at the end of the input.
func (s *scanner) row() (bool, error) {
	for s.in.Scan() {
		s.line++
		s.fields = s.fields[:0]
		s.next = 0
		text := s.in.Text()
		for i := 0; i < len(text); {
			if isSpace(text[i]) {
				i++
				continue
			}
			start := i
			for i < len(text) && !isSpace(text[i]) {
				i++
			}
			s.fields = append(s.fields, field{text[start:i], start + 1})
		}
		if len(s.fields) > 0 {
			return true, nil
		}
	}
	if err := s.in.Err(); err != nil {
		if err == bufio.ErrTooLong {
			return false, &input.Error{File: s.file, Line: s.line + 1, Found: "a line longer than 16 MiB", Allowed: "shorter lines"}
		}
		return false, err
	}
	return false, nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == ',' }

// word returns the next field, going on to the next line where the current one
// has no more: these formats let lists run over lines.
func (s *scanner) word(what string) (field, error) {
	for s.next >= len(s.fields) {
		ok, err := s.row()
		if err != nil {
			return field{}, err
		}
		if !ok {
			return field{}, &input.Error{File: s.file, Line: s.line + 1, Found: "end of file", Allowed: what}
		}
	}
	f := s.fields[s.next]
	s.next++
	return f, nil
}

// number reads a whole number from 0 to limit.
func (s *scanner) number(what string, limit uint64) (uint64, error) {
	f, err := s.word(what)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(f.text, 10, 64)
	if err != nil || n > limit {
		return 0, s.errorAt(f, fmt.Sprintf("%s, a whole number from 0 to %d", what, limit))
	}
	return n, nil
}

func (s *scanner) rate(what string) (units.BitRate, error) {
	f, err := s.word(what)
	if err != nil {
		return 0, err
	}
	r, err := units.ParseBitRate(f.text)
	if err != nil || r <= 0 {
		return 0, s.errorAt(f, what+", as in 100Gbps")
	}
	return r, nil
}

func (s *scanner) delay(what string) (units.Time, error) {
	f, err := s.word(what)
	if err != nil {
		return 0, err
	}
	t, err := units.ParseTime(f.text)
	if err != nil {
		return 0, s.errorAt(f, what+", as in 1000ns or 0.001ms")
	}
	return t, nil
}

// real reads a number from 0 to limit, which may have a fraction.
func (s *scanner) real(what string, limit float64) (float64, error) {
	f, err := s.word(what)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseFloat(f.text, 64)
	if err != nil || !(v >= 0 && v <= limit) {
		return 0, s.errorAt(f, fmt.Sprintf("%s, a number from 0 to %g", what, limit))
	}
	return v, nil
}

// seconds reads a time in plain seconds without losing picoseconds to binary
// fractions.
func (s *scanner) seconds(what string) (units.Time, error) {
	f, err := s.word(what)
	if err != nil {
		return 0, err
	}
	t, ok := parseSeconds(f.text)
	if !ok {
		return 0, s.errorAt(f, what+" in seconds, as in 2.000000001")
	}
	return t, nil
}

func parseSeconds(text string) (units.Time, bool) {
	whole, frac, _ := strings.Cut(text, ".")
	if whole == "" {
		whole = "0"
	}
	w, err := strconv.ParseUint(whole, 10, 32)
	if err != nil || w > 1e6 {
		return 0, false
	}
	t := units.Time(w) * units.Second
	scale := units.Second
	for _, c := range []byte(frac) {
		if c < '0' || c > '9' {
			return 0, false
		}
		scale /= 10
		t += units.Time(c-'0') * scale
	}
	return t, true
}

func (s *scanner) errorAt(f field, allowed string) error {
	return &input.Error{File: s.file, Line: s.line, Column: f.column, Found: strconv.Quote(clip(f.text)), Allowed: allowed}
}

// end refuses fields behind the last one of a row.
func (s *scanner) end(form string) error {
	if s.next < len(s.fields) {
		return s.errorAt(s.fields[s.next], "end of line: "+form)
	}
	return nil
}

func clip(text string) string {
	if len(text) > 40 {
		return text[:40] + "..."
	}
	return text
}
