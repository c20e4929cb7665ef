package importer

import (
	"errors"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// A document is YAML text that lines are put into. The tree tells where; the text
// between stays as it is.
type document struct {
	lines    []string
	root     ast.Node
	inserts  []insert
	inserted []string
}

type insert struct {
	after int // line, from 1
	text  string
}

func newDocument(text []byte) (*document, error) {
	file, err := parser.ParseBytes(text, parser.ParseComments)
	if err != nil {
		return nil, errors.New("text that is no YAML")
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return nil, errors.New("not one YAML document")
	}
	return &document{lines: strings.Split(strings.TrimRight(string(text), "\n"), "\n"), root: file.Docs[0].Body}, nil
}

// text returns the document with what was put in.
func (d *document) text() []byte {
	slices.SortStableFunc(d.inserts, func(x, y insert) int { return x.after - y.after })
	var b strings.Builder
	at := 0
	for i, l := range d.lines {
		b.WriteString(l)
		b.WriteByte('\n')
		for at < len(d.inserts) && d.inserts[at].after == i+1 {
			b.WriteString(d.inserts[at].text)
			at++
		}
	}
	return []byte(b.String())
}

// find follows a path of keys: the node, and how many keys were found.
func (d *document) find(path []string) (ast.Node, int) {
	n := d.root
	for i, key := range path {
		next := member(n, key)
		if next == nil {
			return n, i
		}
		n = next
	}
	return n, len(path)
}

func member(n ast.Node, key string) ast.Node {
	for _, m := range mapping(n) {
		if m.Key.String() == key {
			return m.Value
		}
	}
	return nil
}

func mapping(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// scalar returns the value that the text has at a path.
func (d *document) scalar(path string) (string, bool) {
	parts := strings.Split(path, ".")
	n, depth := d.find(parts)
	if depth < len(parts) {
		return "", false
	}
	return n.GetToken().Value, true
}

// appendItem puts an item, written from column 1, behind the last one of a list
// in block style; false where the path is no such list.
func (d *document) appendItem(path, item string) bool {
	parts := strings.Split(path, ".")
	n, depth := d.find(parts)
	seq, ok := n.(*ast.SequenceNode)
	if depth < len(parts) || !ok || seq.IsFlowStyle || len(seq.Values) == 0 || seq.Start == nil {
		return false
	}
	column := seq.Start.Position.Column
	d.insert(d.end(seq.Start.Position.Line, column, true), column, item)
	return true
}

// set puts a key that is missing behind the last one of its mapping, which is made
// if need be.
func (d *document) set(path, value string) bool {
	parts := strings.Split(path, ".")
	n, depth := d.find(parts)
	if depth == len(parts) {
		return false
	}
	list := mapping(n)
	if m, ok := n.(*ast.MappingNode); ok && m.IsFlowStyle || len(list) == 0 {
		return false
	}
	at := list[0].Key.GetToken().Position
	text := ""
	for i, key := range parts[depth:] {
		text += strings.Repeat("  ", i) + key + ":"
		if i == len(parts)-depth-1 {
			text += " " + value
		}
		text += "\n"
	}
	// A key that an earlier call made here takes the next one in.
	if k := d.opened(parts[:depth+1]); k >= 0 && depth+1 < len(parts) {
		rest := ""
		for i, key := range parts[depth+1:] {
			rest += strings.Repeat(" ", at.Column-1) + strings.Repeat("  ", i+1) + key + ":"
			if i == len(parts)-depth-2 {
				rest += " " + value
			}
			rest += "\n"
		}
		d.inserts[k].text += rest
		return true
	}
	d.insert(d.end(at.Line, at.Column, false), at.Column, text)
	d.inserted[len(d.inserted)-1] = strings.Join(parts[:depth+1], ".")
	return true
}

// opened returns the insert that made the mapping of a path, or -1.
func (d *document) opened(path []string) int {
	return slices.Index(d.inserted, strings.Join(path, "."))
}

func (d *document) insert(after, column int, text string) {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(strings.Repeat(" ", column-1) + l)
	}
	d.inserts = append(d.inserts, insert{after, b.String()})
	d.inserted = append(d.inserted, text)
}

// end returns the last line with content of a block that starts on a line at a
// column: what follows is indented as far, and in a list begins with a dash.
func (d *document) end(line, column int, list bool) int {
	last := line
	for n := line + 1; n <= len(d.lines); n++ {
		l := d.lines[n-1]
		body := strings.TrimLeft(l, " ")
		if body == "" || body == "\r" || body[0] == '#' {
			continue
		}
		indent := len(l) - len(body) + 1
		if indent < column || list && indent == column && !strings.HasPrefix(body, "-") {
			break
		}
		last = n
	}
	return last
}
