// Package input holds the one form of a complaint about an input: where it
// is, what was found, and what is allowed. Every parser of files that people
// write uses it, so that every command answers bad input with the same one
// line and exit status 2.
package input

import (
	"errors"
	"strconv"
	"strings"
)

// Error is a refused input. File is the name as the user gave it, or a flag
// ("--set qos.ecn.min=10XB"). Line and Column count from 1; 0 means that the
// complaint is about the whole file or flag.
type Error struct {
	File         string
	Line, Column int
	Found        string // what was found, in words
	Allowed      string // what is allowed instead; may be empty
}

// Error prints "file:line:column: found: allowed".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		b.WriteString(":" + strconv.Itoa(e.Line))
		if e.Column > 0 {
			b.WriteString(":" + strconv.Itoa(e.Column))
		}
	}
	b.WriteString(": " + e.Found)
	if e.Allowed != "" {
		b.WriteString(": " + e.Allowed)
	}
	return b.String()
}

// IsRefusal reports whether err is, or wraps, a refused input.
func IsRefusal(err error) bool {
	var e *Error
	return errors.As(err, &e)
}
