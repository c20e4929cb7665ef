package nvue

import (
	"strings"

	"weir/internal/input"
	"weir/internal/input/jsontree"

	"github.com/goccy/go-yaml/ast"
	yamltext "github.com/goccy/go-yaml/parser"
)

// maxYAML bounds what is read as YAML: a startup.yaml of a switch with 512
// ports has some hundred kilobytes.
const maxYAML = 8 << 20

// looksYAML recognises the first lines of startup.yaml and of "nv config show".
func looksYAML(head string) bool {
	for line := range strings.Lines(head) {
		line = strings.TrimRight(line, " \r\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#") || line == "---":
			continue
		case strings.HasPrefix(line, "- header:"), strings.HasPrefix(line, "- set:"), line == "set:", line == "header:", line == "interface:", line == "qos:", line == "system:", line == "bridge:":
			return true
		}
		return false
	}
	return false
}

func yamlTree(text []byte, source string) (*jsontree.Node, error) {
	if len(text) > maxYAML {
		return nil, &input.Error{File: source, Found: "more than 8 MiB of YAML", Allowed: "the configuration of one switch"}
	}
	file, err := yamltext.ParseBytes(text, 0)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, &input.Error{File: source, Found: "not readable as YAML: " + first, Allowed: "what nv config show prints"}
	}
	doc := &jsontree.Node{Kind: jsontree.Array, Line: 1}
	for _, d := range file.Docs {
		if d.Body == nil {
			continue
		}
		n := yamlNode(d.Body, 0)
		if n.Kind == jsontree.Array {
			doc.Items = append(doc.Items, n.Items...)
		} else {
			doc.Items = append(doc.Items, n)
		}
	}
	return doc, nil
}

// yamlNode turns a node of the YAML library into a tree of our own, with lines.
func yamlNode(n ast.Node, depth int) *jsontree.Node {
	out := &jsontree.Node{Kind: jsontree.Null, Line: 1}
	if n == nil || depth > 64 {
		return out
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		out.Line = t.Position.Line
	}
	switch v := n.(type) {
	case *ast.MappingNode:
		out.Kind = jsontree.Object
		for _, m := range v.Values {
			out.Items = append(out.Items, yamlMember(m, depth))
		}
	case *ast.MappingValueNode:
		out.Kind = jsontree.Object
		out.Items = append(out.Items, yamlMember(v, depth))
	case *ast.SequenceNode:
		out.Kind = jsontree.Array
		for _, e := range v.Values {
			out.Items = append(out.Items, yamlNode(e, depth+1))
		}
	case *ast.NullNode:
	case *ast.StringNode:
		out.Kind, out.Text = jsontree.String, v.Value
	case *ast.BoolNode:
		out.Kind = jsontree.False
		if v.Value {
			out.Kind = jsontree.True
		}
		// NVUE writes on and off as words; the library may read them as truth values.
		if t := v.GetToken(); t != nil && t.Value != "true" && t.Value != "false" {
			out.Kind, out.Text = jsontree.String, t.Value
		}
	default:
		if t := n.GetToken(); t != nil {
			out.Kind, out.Text = jsontree.String, t.Value
		}
	}
	return out
}

func yamlMember(m *ast.MappingValueNode, depth int) *jsontree.Node {
	v := yamlNode(m.Value, depth+1)
	if t := m.Key.GetToken(); t != nil {
		v.Key = t.Value
		if t.Position != nil {
			v.Line = t.Position.Line
		}
	}
	return v
}
