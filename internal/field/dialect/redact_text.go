package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// maxDocuments bounds how many lines of a text are tried as the start of a JSON
// document that turns out to be none.
const maxDocuments = 64

// RedactText hides what may be secrets in outputs of devices. JSON documents in
// them stay valid JSON, with the lines that they had. Where a secret's name
// opens a block (a table of communities in SONiC's JSON or NVUE's YAML), the
// names of the entries in that block are the secrets.
func RedactText(b []byte) []byte {
	var out bytes.Buffer
	out.Grow(len(b))
	var open blockOfSecrets
	tries := 0
	for len(b) > 0 {
		if (b[0] == '{' || b[0] == '[') && tries < maxDocuments {
			if n := redactJSON(&out, b); n > 0 {
				b = b[n:]
				continue
			}
			tries++
		}
		line, rest, more := bytes.Cut(b, []byte{'\n'})
		out.WriteString(open.redact(string(line)))
		if more {
			out.WriteByte('\n')
		}
		b = rest
	}
	return out.Bytes()
}

// A blockOfSecrets follows a block of lines, indented below a line that ends
// with a secret's name.
type blockOfSecrets struct {
	active        bool
	parent, child int // indentations; child 0: no line yet
}

func (o *blockOfSecrets) redact(line string) string {
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	if strings.TrimSpace(line) == "" {
		return line
	}
	if o.active && indent <= o.parent {
		o.active = false
	}
	if o.active {
		if o.child == 0 {
			o.child = indent
		}
		if indent == o.child {
			start := wordStart(line)
			end := start + strings.IndexAny(line[start:]+" ", " \t:\"'{,")
			if start < end {
				return line[:start] + Redacted + Redact(line[end:])
			}
		}
		return Redact(line)
	}
	if opensSecrets(line) {
		*o = blockOfSecrets{active: true, parent: indent}
	}
	return Redact(line)
}

// opensSecrets reports whether a line ends with a secret's name and nothing but
// the punctuation that opens a block.
func opensSecrets(line string) bool {
	name := strings.TrimRight(line, " \t\r:={[\"'")
	if len(name) == len(strings.TrimRight(line, " \t\r\"'")) {
		return false
	}
	at := len(name)
	for at > 0 && inWord(name[at-1]) {
		at--
	}
	return isSecretWord(strings.ToLower(name[at:]))
}

// redactJSON writes the JSON object or array that b begins with, and returns
// its length; 0, and nothing written, where b begins with none.
func redactJSON(out *bytes.Buffer, b []byte) int {
	var raw json.RawMessage
	d := json.NewDecoder(bytes.NewReader(b))
	if d.Decode(&raw) != nil {
		return 0
	}
	doc := b[:d.InputOffset()]
	d = json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	type level struct {
		object, secret bool // secret: all that stands in it is
		names          bool // the names of its members are
		value          bool // a value is next
		hidden         int
	}
	var stack []level
	next := false // the value that comes is a secret
	from := int64(0)
	for {
		t, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil { // cannot be: the document was decoded
			out.WriteString(Redacted)
			break
		}
		to := d.InputOffset()
		text := doc[from:to]
		from = to
		if delim, ok := t.(json.Delim); ok && (delim == '}' || delim == ']') {
			stack = stack[:len(stack)-1]
			out.Write(text)
			continue
		}
		var top *level
		if len(stack) > 0 {
			top = &stack[len(stack)-1]
		}
		if top != nil && top.object && !top.value {
			name, _ := t.(string)
			shown := Redact(name)
			if top.names {
				if top.hidden++; top.hidden == 1 {
					shown = Redacted
				} else {
					shown = fmt.Sprintf("%s-%d", Redacted, top.hidden)
				}
			}
			replace(out, text, name, shown)
			top.value = true
			next = top.secret || isSecretWord(strings.ToLower(name))
			continue
		}
		secret := next || top != nil && top.secret
		if top != nil {
			top.value, next = false, false
		}
		switch v := t.(type) {
		case json.Delim:
			out.Write(text)
			stack = append(stack, level{object: v == '{', secret: secret, names: secret && (top == nil || !top.secret)})
		case string:
			shown := Redact(v)
			if secret && v != "" {
				shown = Redacted
			}
			replace(out, text, v, shown)
		case json.Number:
			if secret {
				replace(out, text, v.String(), Redacted)
			} else {
				out.Write(text)
			}
		default:
			out.Write(text)
		}
	}
	return len(doc)
}

// replace writes a token with what stands before it, shown as another string
// where that differs.
func replace(out *bytes.Buffer, text []byte, value, shown string) {
	if value == shown {
		out.Write(text)
		return
	}
	lead := 0
	for lead < len(text) && strings.IndexByte(" \t\r\n,:", text[lead]) >= 0 {
		lead++
	}
	out.Write(text[:lead])
	out.WriteByte('"')
	// Of a string that is shown in part, the rest may need escapes.
	quoted, err := json.Marshal(shown)
	if shown == Redacted || strings.HasPrefix(shown, Redacted+"-") || err != nil {
		out.WriteString(shown)
	} else {
		out.Write(bytes.ReplaceAll(bytes.ReplaceAll(quoted[1:len(quoted)-1], []byte(`\u003c`), []byte("<")), []byte(`\u003e`), []byte(">")))
	}
	out.WriteByte('"')
}
