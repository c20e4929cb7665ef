package cluster

import (
	"errors"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"weir/internal/input"
)

// A reader turns YAML into settings, guided by the key table.
type reader struct {
	anchors map[string]ast.Node
	flag    string // non-empty: the text came with this flag, whose name stands for the position
	nodes   int
}

func (r *reader) at(n ast.Node) position {
	if r.flag != "" {
		return position{flag: r.flag}
	}
	return tokenPosition(n.GetToken())
}

func tokenPosition(t *token.Token) position {
	if t == nil || t.Position == nil {
		return position{line: 1, column: 1}
	}
	return position{line: max(t.Position.Line, 1), column: max(t.Position.Column, 1)}
}

// document parses one YAML document and returns its body, nil if empty.
func (r *reader) document(data []byte) (ast.Node, error) {
	if err := check(data); err != nil {
		if r.flag != "" {
			err.File, err.Line, err.Column = r.flag, 0, 0
		}
		return nil, err
	}
	f, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, r.syntax(err)
	}
	var body ast.Node
	for _, d := range f.Docs {
		if d.Body == nil {
			continue
		}
		if body != nil {
			return nil, r.at(firstToken(d.Body)).found("a second document", "one YAML document in a file")
		}
		body = d.Body
	}
	return body, nil
}

func (r *reader) syntax(err error) error {
	pos := position{line: 1, column: 1}
	msg := err.Error()
	var ye yaml.Error
	if errors.As(err, &ye) {
		pos, msg = tokenPosition(ye.GetToken()), ye.GetMessage()
	}
	if r.flag != "" {
		pos = position{flag: r.flag}
	}
	return pos.clause("not valid YAML", oneLine(msg))
}

// value reads n as the value of key k.
func (r *reader) value(k *key, n ast.Node, depth int) (*node, error) {
	if r.nodes++; r.nodes > maxSettings {
		return nil, r.at(n).found("more settings than fit", strconv.Itoa(maxSettings)+" with aliases expanded")
	}
	if depth > maxDepth {
		return nil, r.at(n).found("nesting this deep", strconv.Itoa(maxDepth)+" levels")
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		if r.anchors == nil {
			r.anchors = map[string]ast.Node{}
		}
		out, err := r.value(k, n.Value, depth+1)
		r.anchors[n.Name.GetToken().Value] = n.Value
		return out, err
	case *ast.AliasNode:
		target, ok := r.anchors[n.Value.GetToken().Value]
		if !ok {
			return nil, r.at(n).found("alias "+quoted(n.Value.GetToken().Value), "an anchor that was defined before")
		}
		out, err := r.value(k, target, depth+1)
		return out, err
	case *ast.TagNode:
		return nil, r.at(n).found("a YAML tag", k.allowed())
	}
	switch k.kind {
	case mapping:
		return r.mapping(k, n, depth)
	case list:
		return r.list(k, n, depth)
	case table:
		return r.table(k, n, depth)
	}
	return r.scalar(k, n)
}

// entries returns the pairs of a mapping; ok is false if n is none.
func entries(n ast.Node) (pairs []*ast.MappingValueNode, ok bool) {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	case *ast.NullNode:
		return nil, true
	}
	return nil, false
}

func (r *reader) keyName(p *ast.MappingValueNode) (string, error) {
	switch k := p.Key.(type) {
	case *ast.StringNode:
		return k.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return k.GetToken().Value, nil
	}
	return "", r.at(p.Key).found("a merge key or a key that is not plain", "plain names as keys")
}

func (r *reader) mapping(k *key, n ast.Node, depth int) (*node, error) {
	pairs, ok := entries(n)
	if !ok {
		return nil, r.at(n).found(describe(n), k.allowed())
	}
	out := newNode(k, r.at(n))
	out.given = true
	written := make([]string, len(out.kids))
	for _, p := range pairs {
		name, err := r.keyName(p)
		if err != nil {
			return nil, err
		}
		i, single := k.child(name)
		if i < 0 {
			return nil, unknownKey(r.at(p.Key), k, name)
		}
		child := &k.keys[i]
		if old := out.kids[i]; old != nil {
			if written[i] != name {
				return nil, r.at(p.Key).found(name+" beside "+written[i], "one of them")
			}
			return nil, r.at(p.Key).found(quoted(name)+" again", "each key once in a mapping"+firstAt(old.pos))
		}
		var v *node
		if single {
			if v, err = r.value(&child.keys[0], p.Value, depth+1); err != nil {
				return nil, err
			}
			v.pos = r.at(p.Key)
			v = &node{key: child, given: true, kids: []*node{v}}
		} else if v, err = r.value(child, p.Value, depth+1); err != nil {
			return nil, err
		}
		if !child.scalar() {
			v.pos = r.at(p.Key)
		}
		out.kids[i], written[i] = v, name
	}
	return out, nil
}

func firstAt(p position) string {
	if p.line == 0 {
		return ""
	}
	return "; the first is on line " + strconv.Itoa(p.line)
}

func unknownKey(pos position, k *key, name string) *input.Error {
	if hint := moved[k.name+"."+name]; hint != "" {
		return pos.found("key "+quoted(name), "the key "+hint)
	}
	return pos.found("unknown key "+quoted(name), strings.Join(k.names(), ", ")+Nearest(name, k.names()))
}

func (r *reader) list(k *key, n ast.Node, depth int) (*node, error) {
	out := newNode(k, r.at(n))
	out.given = true
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		if _, null := n.(*ast.NullNode); null {
			return out, nil
		}
		return nil, r.at(n).found(describe(n), k.allowed())
	}
	for _, item := range seq.Values {
		v, err := r.value(&k.keys[0], item, depth+1)
		if err != nil {
			return nil, err
		}
		if v.key.kind == mapping {
			v.pos = r.at(firstToken(item))
		}
		out.kids = append(out.kids, v)
	}
	return out, nil
}

// firstToken returns the node whose token starts the item: for a mapping the
// library's own token is the first colon.
func firstToken(n ast.Node) ast.Node {
	if p, ok := entries(n); ok && len(p) > 0 {
		return p[0].Key
	}
	return n
}

func (r *reader) table(k *key, n ast.Node, depth int) (*node, error) {
	pairs, ok := entries(n)
	if !ok {
		return nil, r.at(n).found(describe(n), k.allowed())
	}
	out := newNode(k, r.at(n))
	out.given = true
	seen := map[string]position{}
	for _, p := range pairs {
		name, err := r.keyName(p)
		if err != nil {
			return nil, err
		}
		if first, dup := seen[name]; dup {
			return nil, r.at(p.Key).found(quoted(name)+" again", "each key once in a mapping"+firstAt(first))
		}
		seen[name] = r.at(p.Key)
		if !validName(name) {
			return nil, r.at(p.Key).found(quoted(name), (&key{}).nameRule())
		}
		v, err := r.value(&k.keys[0], p.Value, depth+1)
		if err != nil {
			return nil, err
		}
		out.names = append(out.names, name)
		out.kids = append(out.kids, v)
	}
	return out, nil
}

func (*key) nameRule() string { return (&key{kind: name}).allowed() }

func (r *reader) scalar(k *key, n ast.Node) (*node, error) {
	var s string
	plain := true // not in quotes
	isText := false
	switch n := n.(type) {
	case *ast.StringNode:
		s, isText = n.Value, true
		plain = n.Token.Type != token.DoubleQuoteType && n.Token.Type != token.SingleQuoteType
	case *ast.LiteralNode:
		s, isText, plain = strings.TrimSuffix(n.Value.Value, "\n"), true, false
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		s = n.GetToken().Value
	default:
		return nil, r.at(n).found(describe(n), k.allowed())
	}
	pos := r.at(n)
	switch k.kind {
	case count, number, toggle:
		if !plain {
			return nil, pos.found(quoted(s)+" in quotes", k.allowed())
		}
	case text, name, choice:
		if !isText {
			return nil, pos.found(oneLine(s)+", which YAML reads as a number or truth value", k.allowed()+"; put it in quotes")
		}
	}
	return scalarNode(k, s, pos)
}

func scalarNode(k *key, s string, pos position) (*node, error) {
	v, err := k.parse(s)
	if err != nil {
		var c *clauseError
		if errors.As(err, &c) {
			return nil, pos.clause(c.found, c.allowed)
		}
		return nil, pos.clause(err.Error(), k.allowed())
	}
	return &node{key: k, pos: pos, given: true, has: true, val: v}, nil
}

func describe(n ast.Node) string {
	switch n := n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.NullNode:
		return "no value"
	case *ast.StringNode:
		return quoted(n.Value)
	case *ast.LiteralNode:
		return "text"
	}
	return oneLine(n.GetToken().Value)
}
