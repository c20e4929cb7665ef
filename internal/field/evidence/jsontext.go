package evidence

import (
	"errors"
	"strings"

	"weir/internal/field/evidence/tool"
)

// jsonDepth follows brackets and strings through a text, to find the line at
// which a document ends.
type jsonDepth struct {
	depth    int
	inString bool
	escaped  bool
	opened   bool
	fragment bool // starts with a member: ends with the text or an outer brace
}

func (d *jsonDepth) feed(text string) {
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case d.escaped:
			d.escaped = false
		case d.inString && c == '\\':
			d.escaped = true
		case c == '"':
			d.inString = !d.inString
		case d.inString:
		case c == '{' || c == '[':
			d.depth++
			d.opened = true
		case c == '}' || c == ']':
			d.depth--
		}
	}
	d.escaped, d.inString = false, false // no string spans lines
}

func (d *jsonDepth) done() bool {
	if d.fragment {
		return d.depth < 0
	}
	return d.opened && d.depth <= 0
}

// startJSON begins to gather a document at the first pending line.
func (s *stream) startJSON() {
	lines := s.pending
	s.pending = nil
	s.r.pending -= len(lines)
	s.json = &strings.Builder{}
	s.jsonLines = nil
	s.jsonDepth = jsonDepth{fragment: strings.HasPrefix(strings.TrimSpace(lines[0].Text), `"`)}
	for i, l := range lines {
		s.gather(l)
		if s.json == nil { // complete, or given up
			for _, l := range lines[i+1:] {
				s.push(l)
			}
			return
		}
	}
}

// gather adds a line to the document.
func (s *stream) gather(l tool.Line) {
	d := &s.jsonDepth
	if s.jsonBroken(&l) {
		s.endJSON()
		s.push(l)
		return
	}
	d.feed(l.Text)
	s.json.WriteString(l.Text)
	s.json.WriteByte('\n')
	s.jsonLines = append(s.jsonLines, l)
	if d.done() || s.json.Len() > maxJSON || len(s.jsonLines) > maxJSONLines {
		s.endJSON()
	}
}

// jsonBroken reports whether the document was cut before this line: a command
// line follows, or text that JSON does not have at the start of a line.
func (s *stream) jsonBroken(l *tool.Line) bool {
	t := strings.TrimSpace(l.Text)
	if len(s.jsonLines) == 0 || t == "" {
		return false
	}
	return strings.IndexByte(`{}[]",-0123456789tfn:`, t[0]) < 0
}

// endJSON reads the gathered document. What no parser knows is kept as not
// understood; what is no JSON at all is read as lines.
func (s *stream) endJSON() {
	text, lines := s.json.String(), s.jsonLines
	s.json, s.jsonLines = nil, nil
	doc, rest, err := tool.ParseJSON(text, lines[0].N)
	if errors.Is(err, tool.ErrTooLarge) || len(text) > maxJSON || len(lines) > maxJSONLines {
		s.r.tooLarge(&lines[0])
		return
	}
	rest = strings.Trim(rest, " \t\r\n,;}]")
	if err != nil || doc == nil || len(doc.Items) == 0 && doc.Kind != tool.Object && doc.Kind != tool.Array || rest != "" {
		s.noJSON = lines[len(lines)-1].N
		for _, l := range lines {
			s.push(l)
		}
		return
	}
	renumber(doc, lines)
	s.readJSON(doc, &lines[0])
}

// renumber turns line numbers that count from the first line into those of
// the source: other ranks' lines may stand between.
func renumber(n *tool.Node, lines []tool.Line) {
	if i := n.Line - lines[0].N; i >= 0 && i < len(lines) {
		n.Line = lines[i].N
	}
	for _, m := range n.Items {
		renumber(m, lines)
	}
}

func (s *stream) readJSON(doc *tool.Node, first *tool.Line) {
	var best *tool.Parser
	beat := tool.No
	for i := range s.r.parsers {
		p := &s.r.parsers[i]
		if p.RecogniseJSON == nil {
			continue
		}
		if score := p.RecogniseJSON(doc, s.ctx); score > beat {
			best, beat = p, score
		}
	}
	if best == nil {
		if len(doc.Items) > 0 { // an empty document says nothing
			s.r.notUnderstood(first)
		}
		return
	}
	s.r.sawTool(best.Tool)
	defer s.survive(best, first.N)
	best.ParseJSON(doc, s.ctx, tool.NewOut(s.r, best.Tool, s.ctx.Source))
}
