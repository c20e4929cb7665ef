package cluster

import (
	"strings"

	"weir/internal/input"
)

// A position is where a setting was written: a line and column of the file,
// or the flag that gave it.
type position struct {
	line, column int
	flag         string // "--set PATH=VALUE"
}

func (p position) known() bool { return p.line > 0 || p.flag != "" }

// found makes a refusal in the usual wording. Parse fills in the file.
func (p position) found(found, allowed string) *input.Error {
	return p.clause("found "+found, "allowed "+allowed)
}

// clause makes a refusal whose texts are whole clauses.
func (p position) clause(found, allowed string) *input.Error {
	return &input.Error{File: p.flag, Line: p.line, Column: p.column, Found: found, Allowed: allowed}
}

// oneLine makes s fit for one line of a message: control characters become
// spaces and long text is cut.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	const limit = 80
	if r := []rune(s); len(r) > limit {
		s = string(r[:limit]) + "..."
	}
	return s
}

func quoted(s string) string { return `"` + oneLine(s) + `"` }
