package junos

import (
	"strings"

	"weir/internal/field/dialect"
)

// A path is one statement of the configuration as words from the top.
type path struct {
	words []string
	line  int
}

// Limits of a tree.
const (
	maxDepth = 40
	maxPaths = 500_000
)

// paths reads a configuration in braces or as "set" lines into statements.
// The second result holds the lines that are neither.
func paths(lines []dialect.Line) (out []path, unknown []dialect.Line, name string) {
	t := treeReader{}
	for _, l := range lines {
		text := l.Text
		if host, command, ok := dialect.SplitPrompt(text); ok && t.depth() == 0 {
			name = host
			if i := strings.LastIndexByte(name, '@'); i >= 0 {
				name = name[i+1:]
			}
			text = command
		}
		switch {
		case text == "", strings.HasPrefix(text, "#"), strings.HasPrefix(text, "show "), strings.HasPrefix(text, "[edit"), text == "{master:0}", text == "{master}", strings.HasPrefix(text, "{primary"), strings.HasPrefix(text, "## "):
			continue
		case strings.HasPrefix(text, "set "):
			t.emit(strings.Fields(unquote(text[4:])), l.Number)
			continue
		case strings.HasPrefix(text, "delete "), strings.HasPrefix(text, "deactivate "):
			t.remove(strings.Fields(unquote(text))[1:])
			continue
		}
		if !t.line(text, l.Number) {
			unknown = append(unknown, l)
		}
	}
	return t.out, unknown, name
}

func unquote(s string) string { return strings.ReplaceAll(s, `"`, "") }

type treeReader struct {
	out      []path
	stack    [][]string // words of the open blocks
	inactive []bool
	words    []string // of the statement being read
	start    int
	comment  bool
}

func (t *treeReader) depth() int { return len(t.stack) }

// line takes tokens of one line; false where the line cannot be Junos.
func (t *treeReader) line(text string, number int) bool {
	for tok := range tokens(text) {
		if t.comment {
			t.comment = tok != "*/"
			continue
		}
		switch tok {
		case "/*":
			t.comment = true
		case "{":
			if len(t.words) == 0 || len(t.stack) >= maxDepth {
				return false
			}
			words, off := active(t.words)
			t.stack = append(t.stack, words)
			t.inactive = append(t.inactive, off)
			t.words = nil
		case "}":
			if len(t.stack) == 0 {
				return false
			}
			t.stack = t.stack[:len(t.stack)-1]
			t.inactive = t.inactive[:len(t.inactive)-1]
			t.words = nil
		case ";":
			t.statement()
		default:
			if len(t.words) == 0 {
				t.start = number
			}
			if strings.HasPrefix(tok, "#") {
				return true // a remark to the end of the line
			}
			t.words = append(t.words, tok)
		}
	}
	// A statement may run over lines, a line of another language does not end.
	if len(t.stack) == 0 && len(t.words) > 0 {
		t.words = nil
		return false
	}
	return true
}

func active(words []string) ([]string, bool) {
	off := false
	for len(words) > 0 && (words[0] == "inactive:" || words[0] == "protect:" || words[0] == "replace:") {
		off = off || words[0] == "inactive:"
		words = words[1:]
	}
	return words, off
}

// statement puts out the words with those of the open blocks before them.
func (t *treeReader) statement() {
	words, off := active(t.words)
	t.words = nil
	for _, o := range t.inactive {
		off = off || o
	}
	if off || len(words) == 0 {
		return
	}
	var full []string
	for _, b := range t.stack {
		full = append(full, b...)
	}
	t.emit(append(full, words...), t.start)
}

// emit adds a path; a list in brackets becomes a path for each item.
func (t *treeReader) emit(words []string, line int) {
	if len(words) == 0 || len(t.out) >= maxPaths {
		return
	}
	for i, w := range words {
		if w != "[" {
			continue
		}
		for j := i + 1; j < len(words) && words[j] != "]"; j++ {
			item := append(append([]string{}, words[:i]...), words[j])
			t.out = append(t.out, path{item, line})
		}
		return
	}
	t.out = append(t.out, path{words, line})
}

// remove drops the paths below a deleted or deactivated one.
func (t *treeReader) remove(prefix []string) {
	kept := t.out[:0]
	for _, p := range t.out {
		if len(p.words) < len(prefix) || strings.Join(p.words[:len(prefix)], " ") != strings.Join(prefix, " ") {
			kept = append(kept, p)
		}
	}
	t.out = kept
}

// tokens cuts a line into words, braces, brackets, semicolons and comment marks.
func tokens(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for s != "" {
			switch c := s[0]; {
			case c == ' ' || c == '\t':
				s = s[1:]
				continue
			case strings.HasPrefix(s, "/*"), strings.HasPrefix(s, "*/"):
				if !yield(s[:2]) {
					return
				}
				s = s[2:]
			case strings.IndexByte("{};[]", c) >= 0:
				if !yield(s[:1]) {
					return
				}
				s = s[1:]
			case c == '"':
				word, rest, _ := strings.Cut(s[1:], `"`)
				if !yield(strings.ReplaceAll(word, " ", "_")) {
					return
				}
				s = rest
			default:
				i := strings.IndexAny(s, " \t{};[]\"")
				if i < 0 {
					i = len(s)
				}
				if !yield(s[:i]) {
					return
				}
				s = s[i:]
			}
		}
	}
}
