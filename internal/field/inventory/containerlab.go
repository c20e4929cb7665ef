package inventory

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

var (
	labTop   = regexp.MustCompile(`(?m)^topology:[ \t]*(?:#.*)?\r?$`)
	labNodes = regexp.MustCompile(`(?m)^[ \t]+nodes:[ \t]*(?:#.*)?\r?$`)
)

// Bounds of a topology file, which keep the YAML parser's recursion small.
const (
	maxLab      = 4 << 20
	maxLabDepth = 200 // columns of indentation, and brackets in all
)

// readContainerlab reads a topology of containerlab: topology.nodes with their
// kinds, and topology.links with endpoints "node:interface".
func readContainerlab(text []byte, source string) *Graph {
	if len(text) > maxLab || !labTop.Match(text) || !labNodes.Match(text) || tooDeep(text) {
		return nil
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil || len(file.Docs) == 0 {
		return nil
	}
	top := value(file.Docs[0].Body, "topology")
	if value(top, "nodes") == nil {
		return nil
	}
	b := newBuilder(source, "containerlab")
	defaultKind := scalar(value(value(top, "defaults"), "kind"))
	for _, m := range members(value(top, "nodes")) {
		kind := scalar(value(m.Value, "kind"))
		if kind == "" {
			kind = scalar(value(value(value(top, "groups"), scalar(value(m.Value, "group"))), "kind"))
		}
		if kind == "" {
			kind = defaultKind
		}
		n := Node{Name: m.Key.String(), Line: m.Key.GetToken().Position.Line, System: system(kind), Model: scalar(value(m.Value, "type"))}
		switch {
		case n.System != "":
			n.Kind = Switch
		case kind == "linux" || kind == "":
			n.Kind = Host
			if strings.EqualFold(scalar(value(m.Value, "group")), "switch") {
				n.Kind = Switch
			}
		case kind == "bridge" || kind == "ovs-bridge":
			n.Kind = Switch
		default:
			n.Kind = Switch
			b.g.note(n.Line, "node "+n.Name+" of kind "+kind+": taken for a switch whose system is not known")
		}
		b.node(n)
	}
	for _, item := range items(value(top, "links")) {
		b.labLink(item)
	}
	return b.g
}

func (b *builder) labLink(item ast.Node) {
	line := item.GetToken().Position.Line
	var ends []End
	for _, e := range items(value(item, "endpoints")) {
		if s := scalar(e); s != "" {
			node, port, _ := strings.Cut(s, ":")
			ends = append(ends, End{node, port})
		} else {
			ends = append(ends, End{scalar(value(e, "node")), scalar(value(e, "interface"))})
		}
	}
	if len(ends) != 2 || slices.ContainsFunc(ends, func(e End) bool { return e.Node == "" }) {
		b.g.note(line, "a link without two endpoints")
		return
	}
	for _, e := range ends {
		if e.Node == "host" || e.Node == "mgmt-net" || e.Node == "macvlan" {
			return // to the machine that containerlab runs on
		}
	}
	b.g.link(Link{A: ends[0], B: ends[1], Line: line})
}

// tooDeep reports whether a text nests more than the parser should follow.
func tooDeep(text []byte) bool {
	if bytes.Count(text, []byte("[")) > 100_000 || bytes.Count(text, []byte("{")) > 100_000 {
		return true
	}
	depth := 0
	for line := range bytes.Lines(text) {
		indent := len(line) - len(bytes.TrimLeft(line, " "))
		dashes := bytes.Count(line[:min(len(line), 4096)], []byte("- "))
		if indent > maxLabDepth || dashes > maxLabDepth {
			return true
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				if depth++; depth > maxLabDepth {
					return true
				}
			case ']', '}':
				depth--
			}
		}
	}
	return false
}

// value returns the value of a key of a mapping, nil where there is none.
func value(n ast.Node, key string) ast.Node {
	if key == "" {
		return nil
	}
	for _, m := range members(n) {
		if m.Key.String() == key || strings.Trim(m.Key.String(), `"'`) == key {
			return m.Value
		}
	}
	return nil
}

func members(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func items(n ast.Node) []ast.Node {
	if s, ok := n.(*ast.SequenceNode); ok {
		return s.Values
	}
	return nil
}

func scalar(n ast.Node) string {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value
	case *ast.IntegerNode, *ast.FloatNode:
		return n.String()
	}
	return ""
}
