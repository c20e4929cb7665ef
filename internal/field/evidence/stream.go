package evidence

import (
	"fmt"
	"path"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

const (
	// maxOpen is the number of sessions that a stream keeps open.
	maxOpen = 4
	// maxIdle is the number of lines that nobody took after which the last
	// session may no longer claim a line by its mere shape.
	maxIdle = 4
	// maxText is the length of a line that may start an output. Longer ones are
	// offered to open sessions only: no tool starts so, and a hundred patterns
	// must not be tried on megabytes.
	maxText = 16 << 10
	// maxWords bounds a command line that goes over several lines.
	maxWords = 10_000
	// maxJSON and maxJSONLines bound a JSON document: the counter dump of a
	// large switch has a few MB.
	maxJSON      = 24 << 20
	maxJSONLines = 500_000
)

// A stream is the lines of one source that carry the same prefix.
type stream struct {
	r       *reader
	ctx     *tool.Context
	open    []*session // the one that took the last line is at the end
	idle    int        // lines since then that nobody took
	pending []tool.Line
	current tool.Line // the line being read

	goesOn    bool      // the command line goes on in the next line
	commandAt tool.Line // its first line
	refused   shapes
	json      *strings.Builder // a document being gathered, nil if none
	jsonLines []tool.Line
	jsonDepth jsonDepth
	noJSON    int // lines up to this number were tried as JSON and are not
}

type session struct {
	parser *tool.Parser
	tool.Session
	out *tool.Out
}

func (s *stream) last() *session {
	if len(s.open) == 0 {
		return nil
	}
	return s.open[len(s.open)-1]
}

// push takes the next line of the stream.
func (s *stream) push(l tool.Line) {
	if s.json != nil {
		s.gather(l)
		return
	}
	if len(s.pending) == 0 {
		last := s.last()
		s.current = l
		if last != nil && last.Match(&s.current) >= tool.Own {
			s.take(last, &s.current)
			return
		}
		if last == nil && l.Text == "" {
			return
		}
	}
	s.pending = append(s.pending, l)
	s.r.pending++
	for len(s.pending) >= tool.Ahead || len(s.pending) > 0 && s.r.pending > maxPending {
		s.step()
	}
}

// finish reads what is pending and ends all sessions.
func (s *stream) finish() {
	for len(s.pending) > 0 || s.json != nil {
		for len(s.pending) > 0 {
			s.step()
		}
		if s.json != nil {
			s.endJSON()
		}
	}
	s.endAll()
}

func (s *stream) endAll() {
	open := s.open
	s.open = nil
	for _, o := range open {
		s.finishSession(o)
	}
}

func (s *stream) finishSession(o *session) {
	defer s.survive(o.parser, s.current.N)
	o.End(o.out)
}

// step gives the first pending line to whom it belongs.
func (s *stream) step() {
	s.current = s.pending[0]
	l := &s.current
	w := tool.NewWindow(s.ctx, s.pending)
	owner, score := s.claim(l)
	if score < tool.Sure && l.N > s.noJSON && tool.JSONStart(l.Text) {
		s.startJSON()
		return
	}
	s.pending = s.pending[1:]
	s.r.pending--
	if s.continued(l) {
		return
	}
	short := len(l.Text) <= maxText
	if short && score < tool.Likely && !decoration(l.Text) {
		if c, ok := s.r.prompts.find(l.Text); ok {
			s.startCommand(c, l)
			return
		}
	}
	if short && score < tool.Own && !decoration(l.Text) {
		owner, score = s.recognised(w, owner, score)
	}
	switch {
	case score > tool.No:
		s.take(owner, l)
	case decoration(l.Text):
	default:
		s.idle++
		s.r.notUnderstood(l)
	}
}

// claim asks the open sessions for the line, the last one first. It may not
// claim by shape alone after several lines that it did not know. An earlier one
// must be sure, and where the last one claims the line the line must be its own.
func (s *stream) claim(l *tool.Line) (*session, tool.Score) {
	var owner *session
	best := tool.No
	for i := len(s.open) - 1; i >= 0; i-- {
		score := s.open[i].Match(l)
		switch {
		case i == len(s.open)-1:
			if score < tool.Likely && s.idle > maxIdle {
				continue
			}
		case score < tool.Sure, best >= tool.Likely && score < tool.Own:
			continue
		}
		if score > best {
			owner, best = s.open[i], score
		}
	}
	return owner, best
}

// recognised starts a session for the window's first line if a parser knows it
// better than the session that claims it.
func (s *stream) recognised(w *tool.Window, owner *session, score tool.Score) (*session, tool.Score) {
	claim := ""
	if owner != nil {
		claim = owner.parser.Tool
	}
	shape := s.refused.of(w.First(), claim, score)
	if s.refused.hopeless(shape) {
		return owner, score
	}
	if p, ps := s.recognise(w, owner, min(score, tool.Sure-1)); p != nil {
		return s.begin(p), ps
	}
	s.refused.count(shape)
	return owner, score
}

// recognise returns the parser whose output starts at the window's first line,
// if its score is above that of the open session which claims the line. That
// session's own parser is not asked: it would start anew at each line that also
// could be a first one.
func (s *stream) recognise(w *tool.Window, owner *session, beat tool.Score) (*tool.Parser, tool.Score) {
	var best *tool.Parser
	for i := range s.r.parsers {
		p := &s.r.parsers[i]
		if p.Recognise == nil || owner != nil && owner.parser == p {
			continue
		}
		if score := p.Recognise(w); score > beat {
			best, beat = p, score
		}
	}
	return best, beat
}

// begin opens a session, and ends an earlier one of the same tool and the
// oldest one of too many.
func (s *stream) begin(p *tool.Parser) *session {
	for i, o := range s.open {
		if o.parser == p {
			s.end(i)
			break
		}
	}
	if len(s.open) >= maxOpen {
		s.end(0)
	}
	s.r.sawTool(p.Tool)
	o := &session{p, p.New(s.ctx), tool.NewOut(s.r, p.Tool, s.ctx.Source)}
	s.open = append(s.open, o)
	return o
}

func (s *stream) end(i int) {
	s.finishSession(s.open[i])
	s.open = append(s.open[:i], s.open[i+1:]...)
}

func (s *stream) take(o *session, l *tool.Line) {
	if s.last() != o {
		for i := range s.open {
			if s.open[i] == o {
				s.open = append(append(s.open[:i:i], s.open[i+1:]...), o)
				break
			}
		}
	}
	s.idle = 0
	defer s.survive(o.parser, l.N)
	o.Take(l, o.out)
}

// survive keeps a defect of a parser from taking the process down: input must
// never do that. The defect is told in the report, and tests fail on it.
func (s *stream) survive(p *tool.Parser, line int) {
	if defect := recover(); defect != nil {
		s.r.report.Defects = append(s.r.report.Defects, Defect{p.Tool, s.ctx.Source, line, fmt.Sprint(defect)})
		s.r.NotUnderstood(fact.NotUnderstood{
			Origin: fact.Origin{Source: s.ctx.Source, Line: line, Tool: p.Tool},
			Text:   fmt.Sprintf("the parser of %s has a defect here: %v", p.Tool, defect),
		})
	}
}

// startCommand starts a new context. A command line that ends in a backslash
// goes on in the next line.
func (s *stream) startCommand(c command, l *tool.Line) {
	s.endAll()
	ctx := *s.ctx
	ctx.Command = c.words
	if c.host != "" {
		ctx.Host = c.host
	}
	ctx.Path = s.r.base.Path // not that of the command before
	if c.path != "" {
		ctx.Path = path.Clean(c.path)
	}
	s.ctx = &ctx
	s.idle = 0
	s.refused.forget()
	s.goesOn = strings.HasSuffix(strings.TrimSpace(l.Text), "\\")
	s.commandAt = *l
	if s.goesOn {
		ctx.Command = ctx.Command[:len(ctx.Command)-1]
		return
	}
	s.r.commandLine(s.ctx, l)
}

// continued takes the next line of a command line that goes on.
func (s *stream) continued(l *tool.Line) bool {
	if !s.goesOn {
		return false
	}
	text := strings.TrimSpace(l.Text)
	text, s.goesOn = strings.CutSuffix(text, "\\")
	s.ctx.Command = append(s.ctx.Command, splitWords(text)...)
	s.goesOn = s.goesOn && len(s.ctx.Command) < maxWords
	if !s.goesOn {
		s.r.commandLine(s.ctx, &s.commandAt)
	}
	return true
}
