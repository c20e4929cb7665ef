package host

import (
	"strings"

	"github.com/goccy/go-yaml"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	statedLine = tool.MustCompile(`^([A-Za-z][A-Za-z0-9_]*): ?(.*)$`)
	statedKey  = tool.MustCompile(`^[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+$`)
)

// maxStated bounds a file of stated values.
const maxStated = 2000

// stated reads what a person wrote down: a YAML mapping whose first name is of
// the form some_name. Everything else wins against it.
var stated = tool.Parser{
	Tool:     "stated values",
	Versions: "YAML mappings",
	Keys:     []string{"stated.{name...}", "nccl.env.{name}", "nccl.tc.dscp", "nccl.hca.exact", "nccl.hca.exclude", "nccl.hca.devices"},
	Recognise: func(w *tool.Window) tool.Score {
		names := 0
		for i := 0; i < w.Len(); i++ {
			m := statedLine.FindStringSubmatch(w.Line(i))
			switch {
			case m == nil && !strings.HasPrefix(w.Line(i), " ") && strings.TrimSpace(w.Line(i)) != "":
				return tool.No
			case m != nil && statedKey.MatchString(m[1]):
				names++
			case i == 0 && m == nil:
				return tool.No
			}
		}
		if names > 0 {
			return tool.Weak - 1
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Lines{
			Belongs: func(taken []tool.Line, l *tool.Line) tool.Score {
				if len(taken) < maxStated && (statedLine.MatchString(l.Text) || strings.HasPrefix(l.Text, " ") || strings.TrimSpace(l.Text) == "") {
					return tool.Weak
				}
				return tool.No
			},
			Read: func(taken []tool.Line, out *tool.Out) { readStated(taken, out, ctx) },
		}
	},
}

func readStated(taken []tool.Line, out *tool.Out, ctx *tool.Context) {
	var text strings.Builder
	line := map[string]int{}
	for i, l := range taken {
		text.WriteString(l.Text)
		text.WriteByte('\n')
		if m := statedLine.FindStringSubmatch(l.Text); m != nil {
			line[m[1]] = taken[i].N
		}
	}
	var doc yaml.MapSlice
	if err := yaml.UnmarshalWithOptions([]byte(text.String()), &doc, yaml.UseOrderedMap()); err != nil {
		for i := range taken {
			out.NotUnderstood(&taken[i])
		}
		return
	}
	for _, item := range doc {
		name, ok := item.Key.(string)
		if !ok {
			continue
		}
		n := line[name]
		if n == 0 {
			n = taken[0].N
		}
		putStated(out, n, ctx.HostSubject(), name, item.Value, 0)
	}
}

func putStated(out *tool.Out, n int, s fact.Subject, name string, value any, depth int) {
	key := "stated." + name
	switch v := value.(type) {
	case string:
		out.Text(n, s, key, v)
		if strings.HasPrefix(name, "NCCL_") {
			Variable(out, n, s, name, v)
		}
	case uint64:
		out.Uint(n, s, key, v)
	case int64:
		out.Float(n, s, key, float64(v))
	case float64:
		out.Float(n, s, key, v)
	case bool:
		out.Bool(n, s, key, v)
	case nil:
		out.Absent(n, s, key)
	case yaml.MapSlice:
		for _, item := range v {
			if k, ok := item.Key.(string); ok && depth < 4 {
				putStated(out, n, s, name+"."+k, item.Value, depth+1)
			}
		}
	case []any:
		putStatedList(out, n, s, name, v, depth)
	}
}

func putStatedList(out *tool.Out, n int, s fact.Subject, name string, list []any, depth int) {
	texts := []string{}
	for _, item := range list {
		if t, ok := item.(string); ok {
			texts = append(texts, t)
		} else if depth < 4 {
			putStated(out, n, s, name, item, depth+1)
		}
	}
	if len(texts) > 0 {
		out.List(n, s, "stated."+name, texts)
	}
}
