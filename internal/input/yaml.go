package input

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// Limits of YAML text, kept before the library sees it: its parser recurses
// with the nesting.
const (
	maxYAMLDepth = 64
	maxYAMLHead  = 512     // blanks, dashes and question marks that open a line
	maxYAMLLine  = 1 << 16 // bytes of a line
)

// YAML decodes a small file that people write into a struct, whose fields it
// must fit. name stands in messages. What is wrong with it is an *Error. Files
// as large as a cluster's have a reader of their own (package cluster).
func YAML(name string, text []byte, into any) (err error) {
	if err := nested(name, text); err != nil {
		return err
	}
	defer func() {
		// The library's decoder panics on some malformed documents.
		if defect := recover(); defect != nil {
			err = &Error{File: name, Found: "found what is not YAML"}
		}
	}()
	e := yaml.UnmarshalWithOptions(text, into, yaml.Strict())
	if e == nil {
		return nil
	}
	first := func(s string) string {
		line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
		return strings.ToValidUTF8(line, "?")
	}
	out := &Error{File: name, Found: first(e.Error())}
	var at yaml.Error
	if errors.As(e, &at) {
		out.Found = first(at.GetMessage())
		if tok := at.GetToken(); tok != nil && tok.Position != nil {
			out.Line, out.Column = tok.Position.Line, tok.Position.Column
		}
	}
	return out
}

// nested refuses text that nests deeper than any file that people write.
func nested(name string, text []byte) error {
	flow, line := 0, 0
	for rest := text; len(rest) > 0; {
		line++
		var l []byte
		l, rest, _ = bytes.Cut(rest, []byte{'\n'})
		refuse := func(found string, allowed int) error {
			return &Error{File: name, Line: line, Found: "found " + found, Allowed: fmt.Sprintf("at most %d", allowed)}
		}
		if len(l) > maxYAMLLine {
			return refuse("a longer line", maxYAMLLine)
		}
		if head := len(l) - len(bytes.TrimLeft(l, " \t-?:")); head > maxYAMLHead || bytes.Count(l[:head], []byte{'-'})+bytes.Count(l[:head], []byte{'?'}) > maxYAMLDepth {
			return refuse("deeper nesting", maxYAMLDepth)
		}
		for _, c := range l {
			switch c {
			case '[', '{':
				flow++
			case ']', '}':
				flow = max(0, flow-1)
			}
			if flow > maxYAMLDepth {
				return refuse("deeper nesting", maxYAMLDepth)
			}
		}
	}
	return nil
}
