package evidence

import (
	"fmt"
	"io"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// WriteTable writes docs/evidence.md: each tool with the versions that its
// parser was written for and the facts that it produces, then the vocabulary.
func WriteTable(w io.Writer, parsers []tool.Parser) error {
	d := document{w: w}
	d.line("# Evidence: what weir reads")
	d.line("")
	d.line("Generated from the parser table; do not edit (`WEIR_UPDATE=1 go test ./internal/field/evidence` writes it).")
	d.line("")
	d.line("Tools are recognised by content: any mixture of files, directories, archives and standard input will do,")
	d.line("several outputs in one file too, with or without command lines, rank prefixes and terminal escapes.")
	d.line("")
	d.line("## Tools")
	d.line("")
	d.line("| tool | versions | facts |")
	d.line("|---|---|---|")
	for _, p := range parsers {
		d.line("| %s | %s | %s |", cell(p.Tool), cell(p.Versions), keyList(p.Keys))
	}
	d.line("")
	d.line("## Vocabulary")
	d.line("")
	d.line("A part in braces stands for a name or number. Absent (`null` in JSON) means that the source names the key and")
	d.line("gives no value, which is not zero. Facts of one event share source and line.")
	d.line("")
	d.line("| key | unit | form | meaning |")
	d.line("|---|---|---|---|")
	for _, k := range fact.Vocabulary() {
		d.line("| `%s` | %s | %s | %s |", k.Name, k.Unit, form(k.Form), cell(k.Meaning))
	}
	return d.err
}

type document struct {
	w   io.Writer
	err error
}

func (d *document) line(format string, args ...any) {
	if d.err == nil {
		_, d.err = fmt.Fprintf(d.w, format+"\n", args...)
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// keyList joins keys that share all but their last part: `qos.tc.{tc}.tsa`,
// `.bandwidth`.
func keyList(keys []string) string {
	var parts []string
	last := ""
	for _, k := range keys {
		i := strings.LastIndexByte(k, '.')
		if strings.HasSuffix(k, "...}") {
			i = strings.IndexByte(k, '{') - 1
		}
		if i > 0 && k[:i] == last {
			parts = append(parts, "`"+k[i:]+"`")
			continue
		}
		parts = append(parts, "`"+k+"`")
		last = k[:max(i, 0)]
	}
	return strings.Join(parts, ", ")
}

func form(k fact.ValueKind) string {
	return [...]string{"", "text", "whole number", "number", "yes or no", "list"}[k]
}
