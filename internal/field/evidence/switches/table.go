package switches

import "strings"

// A span is the columns of a text that one cell takes; hi is exclusive.
type span struct{ lo, hi int }

// ruled cuts a ruler of dashes ("-----  ---") into spans. ok is false for any
// other line.
func ruled(text string) (spans []span, ok bool) {
	text = strings.TrimRight(text, " ")
	start := -1
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '-':
			if start < 0 {
				start = i
			}
		case ' ':
			if start >= 0 {
				spans = append(spans, span{start, i})
				start = -1
			}
		default:
			return nil, false
		}
	}
	if start >= 0 {
		spans = append(spans, span{start, len(text)})
	}
	return spans, len(spans) > 0
}

// cells cuts a line by the spans of a ruler. Tables of this form are computed
// from their cells, so no cell is wider than its span; the last one takes the
// rest of the line.
func cells(text string, spans []span) []string {
	out := make([]string, len(spans))
	for i, s := range spans {
		if s.lo >= len(text) {
			continue
		}
		hi := len(text)
		if i < len(spans)-1 {
			hi = min(s.hi, len(text))
		}
		out[i] = strings.TrimSpace(text[s.lo:hi])
	}
	return out
}

// fits reports whether a line can be a row of the spans: nothing stands
// between them.
func fits(text string, spans []span) bool {
	at := 0
	for _, s := range spans {
		for ; at < s.lo && at < len(text); at++ {
			if text[at] != ' ' {
				return false
			}
		}
		at = max(at, s.hi)
	}
	return strings.TrimSpace(text) != ""
}

// headed makes spans from a header whose columns are left-aligned: each cell
// goes from the start of its title to the start of the next.
func headed(header string, titles ...string) ([]span, bool) {
	var spans []span
	at := 0
	for _, t := range titles {
		i := strings.Index(header[at:], t)
		if i < 0 {
			return nil, false
		}
		at += i
		if n := len(spans); n > 0 {
			spans[n-1].hi = at
		}
		spans = append(spans, span{at, 1 << 30})
		at += len(t)
	}
	return spans, true
}
