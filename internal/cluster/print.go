package cluster

import (
	"bytes"
	"strconv"
	"strings"
)

// Effective returns the whole file as it works: every setting that has an
// effect, with a comment on each that the user did not give saying where it
// comes from ("default", "catalogue: connectx-6-dx", "computed: ...") and on
// each that a flag gave. Loading the text gives the same model.
func (f *File) Effective() []byte {
	p := &printer{}
	p.buf.WriteString("# Every setting of this cluster. A comment says where a value comes from that the file does not give.\n")
	p.mapping(f.settings, 0, "")
	return p.buf.Bytes()
}

type printer struct{ buf bytes.Buffer }

func (p *printer) indent(level int) { p.buf.WriteString(strings.Repeat("  ", level)) }

// shown reports whether a setting appears: it was read and has something to say.
func (n *node) shown() bool {
	if n == nil || !n.used {
		return false
	}
	switch n.key.kind {
	case mapping:
		for _, k := range n.kids {
			if k.shown() {
				return true
			}
		}
		return false
	case list, table:
		return len(n.kids) > 0
	}
	return n.has
}

// mapping prints the entries of a mapping. first, where not empty, goes
// before the first of them instead of the indent: "- " of a list item.
func (p *printer) mapping(n *node, level int, first string) {
	for _, k := range n.kids {
		if !k.shown() {
			continue
		}
		if first != "" {
			p.buf.WriteString(first)
			first = ""
		} else {
			p.indent(level)
		}
		p.entry(k, level)
	}
	if first != "" { // nothing to say: an empty item
		p.buf.WriteString(first + "{}\n")
	}
}

// entry prints one key and its value; the line's indent is already there.
func (p *printer) entry(k *node, level int) {
	name := k.key.name
	if k.key.single != "" && len(k.kids) == 1 {
		p.buf.WriteString(k.key.single + ":\n")
		p.mapping(k.kids[0], level+1, strings.Repeat("  ", level+1))
		return
	}
	p.buf.WriteString(name + ":")
	switch k.key.kind {
	case mapping:
		p.buf.WriteByte('\n')
		p.mapping(k, level+1, "")
	case table:
		p.comment(k)
		for i, c := range k.kids {
			p.indent(level + 1)
			p.buf.WriteString(plainKey(k.names[i]) + ": " + c.text())
			p.buf.WriteByte('\n')
		}
	case list:
		p.list(k, level)
	default:
		p.buf.WriteString(" " + k.text())
		p.comment(k)
	}
}

func (p *printer) list(k *node, level int) {
	if k.key.keys[0].scalar() {
		var items []string
		for _, c := range k.kids {
			items = append(items, c.text())
		}
		if line := strings.Join(items, ", "); len(line) < 2000 {
			p.buf.WriteString(" [" + line + "]")
			p.comment(k)
			return
		}
		p.comment(k)
		for _, it := range items {
			p.indent(level + 1)
			p.buf.WriteString("- " + it + "\n")
		}
		return
	}
	p.buf.WriteByte('\n')
	for _, c := range k.kids {
		p.mapping(c, level+2, strings.Repeat("  ", level+1)+"- ")
	}
}

// comment ends the line, with the origin of the value if it is not the file.
func (p *printer) comment(k *node) {
	switch {
	case k.pos.flag != "":
		p.buf.WriteString("  # " + k.pos.flag)
	case k.from != "":
		p.buf.WriteString("  # " + k.from)
	}
	p.buf.WriteByte('\n')
}

// text returns a scalar as YAML.
func (n *node) text() string {
	s := n.key.format(n.val)
	switch n.key.kind {
	case text, name, choice:
		if !plainText(s) {
			return yamlQuote(s)
		}
	}
	return s
}

func plainKey(s string) string {
	if plainText(s) {
		return s
	}
	return yamlQuote(s)
}

// plainText reports whether YAML reads s without quotes as that very text.
func plainText(s string) bool {
	if s == "" {
		return false
	}
	if c := s[0]; !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
		return false
	}
	for _, c := range []byte(s) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '-' || c == '_' || c == '/' || c == '~') {
			return false
		}
	}
	switch strings.ToLower(s) {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n", "inf", "nan":
		return false
	}
	return true
}

// yamlQuote writes s in double quotes with the escapes that YAML shares with JSON.
func yamlQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r == '\u2028' || r == '\u2029' || r == '\ufeff':
			b.WriteString(`\u` + hex4(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func hex4(r rune) string {
	s := strconv.FormatInt(int64(r), 16)
	return strings.Repeat("0", 4-len(s)) + s
}
