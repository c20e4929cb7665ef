package cluster

import (
	"fmt"
	"strings"
)

// Error says what is wrong with a cluster file, or with a value given by
// --set, in one line: where, what was found, what is allowed.
type Error struct {
	File         string // as given to Load
	Line, Column int    // from 1; 0 with Flag
	Flag         string // "--set PATH=VALUE" where that is the source, else empty
	Found        string // "7 leaves with 8 rails", or a whole clause such as `"10XB" is not a size`
	Allowed      string // may be empty where Found says it all
}

// Error returns "file:line:column: found X: allowed Y".
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Flag != "":
		b.WriteString(e.Flag)
	case e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d", e.File, e.Line, e.Column)
	default:
		b.WriteString(e.File)
	}
	b.WriteString(": ")
	b.WriteString(e.Found)
	if e.Allowed != "" {
		b.WriteString(": ")
		b.WriteString(e.Allowed)
	}
	return b.String()
}

// position is where a setting was written.
type position struct {
	line, column int
	flag         string
}

func (p position) known() bool { return p.line > 0 || p.flag != "" }

// found makes an Error in the usual wording. Load fills in the file.
func (p position) found(found, allowed string) *Error {
	return &Error{Line: p.line, Column: p.column, Flag: p.flag, Found: "found " + found, Allowed: "allowed " + allowed}
}

// clause makes an Error whose texts are whole clauses.
func (p position) clause(found, allowed string) *Error {
	return &Error{Line: p.line, Column: p.column, Flag: p.flag, Found: found, Allowed: allowed}
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
