package evidence

import (
	"strconv"
	"strings"
)

// clean removes terminal escapes. Backspaces and cursor movements to the left
// overwrite what stands there, as on a terminal: pagers erase their prompt so.
func clean(text string) string {
	if strings.IndexFunc(text, isControl) < 0 {
		return text
	}
	var t terminal
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == 0x1b:
			i += t.escape(text[i:])
		case c == '\b':
			t.left(1)
			i++
		case c == '\t' || c == '\r' || c >= 0x20 && c != 0x7f:
			t.put(c)
			i++
		default:
			i++
		}
	}
	return string(t.cells)
}

func isControl(r rune) bool { return r < 0x20 && r != '\t' && r != '\r' || r == 0x7f }

type terminal struct {
	cells []byte
	at    int
}

func (t *terminal) put(c byte) {
	if t.at < len(t.cells) {
		t.cells[t.at] = c
	} else {
		t.cells = append(t.cells, c)
	}
	t.at++
}

func (t *terminal) left(n int) { t.at = max(0, t.at-n) }

// escape reads the escape sequence at the start of s and returns its length.
func (t *terminal) escape(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				t.control(c, s[2:i])
				return i + 1
			}
		}
		return len(s)
	case ']', 'P', '_', '^': // a string, up to BEL or ESC \
		for i := 2; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
		return len(s)
	case '(', ')', '#', '%', ' ':
		return min(3, len(s))
	}
	return 2
}

func (t *terminal) control(final byte, params string) {
	switch final {
	case 'D': // cursor left
		n, err := strconv.Atoi(params)
		if err != nil {
			n = 1
		}
		t.left(n)
	case 'K': // erase to the end of the line
		if params == "" || params == "0" {
			t.cells = t.cells[:min(t.at, len(t.cells))]
		}
	}
}

// decoration reports whether a line carries nothing: blank, a ruler, a pager's
// prompt.
func decoration(text string) bool {
	for _, r := range text {
		if !strings.ContainsRune(" \t-=*_+#~|.:`'─═", r) {
			t := strings.Trim(text, " -<>()")
			return strings.EqualFold(t, "more")
		}
	}
	return true
}
