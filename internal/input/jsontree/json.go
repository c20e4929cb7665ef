// Package jsontree reads JSON into a tree that keeps what parsers of tool
// outputs need and encoding/json loses: line numbers, the order of members, the
// digits of numbers beyond 2^53, and cut or unwrapped documents.
package jsontree

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a JSON document.
const (
	maxDepth = 200
	maxNodes = 1 << 20
)

// A NodeKind says what a Node is.
type NodeKind uint8

// The kinds of JSON value.
const (
	Null NodeKind = iota
	Object
	Array
	String
	Number
	True
	False
)

// A Node is a JSON value with the line it starts on. Members keep the order
// of the text; numbers keep their digits, since counters exceed 2^53.
// Accessors work on a nil Node, so that paths need no checks.
type Node struct {
	Kind  NodeKind
	Key   string // of the member in its object, "" in arrays
	Text  string // of a String or Number
	Line  int
	Items []*Node // of an Object or Array
}

// Get returns the member of that name, nil where there is none.
func (n *Node) Get(path ...string) *Node {
	for _, name := range path {
		if n == nil || n.Kind != Object {
			return nil
		}
		var found *Node
		for _, m := range n.Items {
			if m.Key == name {
				found = m
				break
			}
		}
		n = found
	}
	return n
}

// Has reports whether n is an object with all the members.
func (n *Node) Has(names ...string) bool {
	for _, name := range names {
		if n.Get(name) == nil {
			return false
		}
	}
	return n != nil
}

// First returns n, or for a list its first element: the node that
// recognition looks at.
func (n *Node) First() *Node {
	if n != nil && n.Kind == Array && len(n.Items) > 0 {
		return n.Items[0]
	}
	return n
}

// Each returns the elements of a list, or n itself where it is none: tools
// print one object or a list of them for the same request.
func (n *Node) Each() []*Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == Array:
		return n.Items
	}
	return []*Node{n}
}

// Members returns the members of an object.
func (n *Node) Members() []*Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	return n.Items
}

// Str returns the text of a string, number or truth value, "" for others.
func (n *Node) Str() string {
	if n == nil {
		return ""
	}
	switch n.Kind {
	case String, Number:
		return n.Text
	case True:
		return "true"
	case False:
		return "false"
	}
	return ""
}

// Uint returns a whole number, written as a number or as a string.
func (n *Node) Uint() (uint64, bool) {
	if n == nil || n.Kind != String && n.Kind != Number {
		return 0, false
	}
	u, err := strconv.ParseUint(n.Text, 10, 64)
	return u, err == nil
}

// Float returns a number, written as a number or as a string.
func (n *Node) Float() (float64, bool) {
	if n == nil || n.Kind != String && n.Kind != Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.Text, 64)
	return f, err == nil
}

// Bool returns a truth value.
func (n *Node) Bool() (value, ok bool) {
	if n == nil {
		return false, false
	}
	return n.Kind == True, n.Kind == True || n.Kind == False
}

// Parse reads the document that starts in text, whose first line has the
// given number. A text that starts with a member ("name": ...) is read as an
// object without its braces, and containers that the text leaves open are
// closed at its end: outputs are cut. rest is the text behind the document.
func Parse(text string, line int) (doc *Node, rest string, err error) {
	p := &jsonParser{s: text, line: line}
	p.blanks()
	if strings.HasPrefix(p.s[p.i:], `"`) && fragmentStart(p.s[p.i:]) {
		doc = &Node{Kind: Object, Line: p.line}
		err = p.members(doc, 1)
	} else {
		doc, err = p.value(0)
	}
	if errors.Is(err, errCut) {
		err = nil
	}
	return doc, p.s[p.i:], err
}

// Starts reports whether a line starts a JSON document, or a cut one.
func Starts(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" {
		return false
	}
	rest := strings.TrimSpace(text[1:])
	switch text[0] {
	case '{':
		return rest == "" || rest[0] == '"' || rest[0] == '}'
	case '[':
		return rest == "" || rest[0] == '{' || rest[0] == '['
	case '"':
		return fragmentStart(text)
	}
	return false
}

// fragmentStart recognises `"name": {`, `"name": [` and `"name": "value"`.
func fragmentStart(text string) bool {
	end := strings.IndexByte(text[1:], '"')
	if end < 0 {
		return false
	}
	after, ok := strings.CutPrefix(strings.TrimLeft(text[end+2:], " \t"), ":")
	after = strings.TrimLeft(after, " \t")
	return ok && after != "" && strings.IndexByte(`{["-0123456789tfn`, after[0]) >= 0
}

// ErrTooLarge tells that a document has more values, or a deeper nesting, than is read.
var ErrTooLarge = errors.New("document too large")

var (
	errCut    = errors.New("the text ends inside the document")
	errSyntax = errors.New("not JSON")
)

type jsonParser struct {
	s     string
	i     int
	line  int
	nodes int
}

func (p *jsonParser) blanks() {
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case '\n':
			p.line++
		case ' ', '\t', '\r':
		default:
			return
		}
		p.i++
	}
}

// value reads one value. A container that is cut comes back together with errCut.
func (p *jsonParser) value(depth int) (*Node, error) {
	p.blanks()
	if p.nodes++; p.nodes > maxNodes {
		return nil, ErrTooLarge
	}
	if depth > maxDepth {
		return nil, ErrTooLarge
	}
	if p.i == len(p.s) {
		return nil, errCut
	}
	n := &Node{Line: p.line}
	switch c := p.s[p.i]; {
	case c == '{':
		p.i++
		n.Kind = Object
		return n, p.members(n, depth+1)
	case c == '[':
		p.i++
		n.Kind = Array
		return n, p.elements(n, depth+1)
	case c == '"':
		s, err := p.str()
		n.Kind, n.Text = String, s
		return n, err
	default:
		return n, p.word(n)
	}
}

func (p *jsonParser) members(n *Node, depth int) error {
	for {
		p.blanks()
		switch {
		case p.i == len(p.s):
			return errCut
		case p.s[p.i] == '}':
			p.i++
			return nil
		case p.s[p.i] == ',':
			p.i++
			continue
		case p.s[p.i] != '"':
			return errSyntax
		}
		key, err := p.str()
		if err != nil {
			return err
		}
		p.blanks()
		if p.i == len(p.s) {
			return errCut
		}
		if p.s[p.i] != ':' {
			return errSyntax
		}
		p.i++
		v, err := p.value(depth)
		if v != nil && (err == nil || errors.Is(err, errCut)) {
			v.Key = key
			n.Items = append(n.Items, v)
		}
		if err != nil {
			return err
		}
	}
}

func (p *jsonParser) elements(n *Node, depth int) error {
	for {
		p.blanks()
		switch {
		case p.i == len(p.s):
			return errCut
		case p.s[p.i] == ']':
			p.i++
			return nil
		case p.s[p.i] == ',':
			p.i++
			continue
		}
		v, err := p.value(depth)
		if v != nil && (err == nil || errors.Is(err, errCut)) {
			n.Items = append(n.Items, v)
		}
		if err != nil {
			return err
		}
	}
}

// word reads a number, true, false or null.
func (p *jsonParser) word(n *Node) error {
	start := p.i
	for p.i < len(p.s) && strings.IndexByte("+-.0123456789abcdefghijklmnopqrstuvwxyzE", p.s[p.i]) >= 0 {
		p.i++
	}
	switch w := p.s[start:p.i]; w {
	case "true":
		n.Kind = True
	case "false":
		n.Kind = False
	case "null":
		n.Kind = Null
	default:
		if _, err := strconv.ParseFloat(w, 64); err != nil && !errors.Is(err, strconv.ErrRange) || !strings.ContainsAny(w, "0123456789") {
			p.i = start
			return errSyntax
		}
		n.Kind, n.Text = Number, w
	}
	return nil
}

// str reads a string from its opening quote on.
func (p *jsonParser) str() (string, error) {
	p.i++
	start := p.i
	for p.i < len(p.s) && p.s[p.i] != '"' && p.s[p.i] != '\\' && p.s[p.i] != '\n' {
		p.i++
	}
	if p.i < len(p.s) && p.s[p.i] == '"' {
		p.i++
		return p.s[start : p.i-1], nil
	}
	var b strings.Builder
	b.WriteString(p.s[start:p.i])
	for p.i < len(p.s) {
		switch c := p.s[p.i]; c {
		case '"':
			p.i++
			return b.String(), nil
		case '\n':
			return "", errSyntax // a line break inside a string: not JSON
		case '\\':
			p.escape(&b)
		default:
			b.WriteByte(c)
			p.i++
		}
	}
	return "", errCut
}

func (p *jsonParser) escape(b *strings.Builder) {
	p.i++
	if p.i == len(p.s) {
		return
	}
	c := p.s[p.i]
	p.i++
	if k := strings.IndexByte("bfnrt", c); k >= 0 {
		b.WriteByte("\b\f\n\r\t"[k])
		return
	}
	if c != 'u' || p.i+4 > len(p.s) {
		b.WriteByte(c)
		return
	}
	r, err := strconv.ParseUint(p.s[p.i:p.i+4], 16, 32)
	if err != nil {
		b.WriteRune(utf8.RuneError)
		return
	}
	p.i += 4
	b.WriteRune(rune(r)) // halves of a surrogate pair become the replacement character
}
