package evidence

import (
	"bufio"
	"context"
	"io"
	"slices"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

const (
	// maxStreams is the number of ranks whose lines are told apart in a source.
	maxStreams = 4096
	// maxPending is the number of lines that all streams of a source together
	// hold back for recognition.
	maxPending = 20_000
)

// A rawLine is a line before its prefix is known.
type rawLine struct {
	text string
	n    int
}

// A reader reads one source: a file, an archive member, standard input.
type reader struct {
	parsers []tool.Parser
	prompts *prompts
	report  *Report
	src     Source
	base    tool.Context

	labels  labeller
	raw     []rawLine // lines held back until their prefix is decided
	streams map[string]*stream
	order   []*stream
	pending int
}

func newReader(parsers []tool.Parser, p *prompts, report *Report, in Input) *reader {
	r := &reader{
		parsers: parsers, prompts: p, report: report, src: Source{Name: in.Name},
		base:    tool.Context{Source: in.Name, Path: in.Path, Host: in.Host, Command: in.Command, Runs: map[string]int{}},
		streams: map[string]*stream{},
	}
	report.begin()
	return r
}

// read reads the whole source. The error is one of the input or of the
// context; text that nobody knows is none.
func (r *reader) read(ctx context.Context, in io.Reader) error {
	text, err := decoded(bufio.NewReaderSize(in, 64<<10))
	if err != nil {
		return err
	}
	err = eachLine(text, func(text string, n int, cut bool) error {
		if n%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if cut {
			r.NotUnderstood(fact.NotUnderstood{Origin: fact.Origin{Source: r.src.Name, Line: n}, Text: "a line longer than 32 MiB was cut: " + tool.Kept(text)[:40]})
		}
		r.src.Lines++
		text = clean(text)
		if strings.IndexByte(text, '\r') < 0 {
			r.line(rawLine{text, n})
			return nil
		}
		// Progress bars rewrite their line, and some old files know no other line end.
		for _, t := range strings.Split(text, "\r") {
			r.line(rawLine{t, n})
		}
		return nil
	})
	r.finish()
	return err
}

// line holds a line back while its prefix is uncertain.
func (r *reader) line(l rawLine) {
	if len(r.raw) == 0 && !r.labels.maybe(l.text) {
		r.deliver(l)
		return
	}
	r.raw = append(r.raw, l)
	if len(r.raw) >= labelAhead {
		r.decideLabel()
	}
}

// decideLabel decides on the first line held back, and delivers it with those
// behind it that need no decision.
func (r *reader) decideLabel() {
	r.labels.decide(r.raw)
	n := 1
	for n < len(r.raw) && !r.labels.maybe(r.raw[n].text) {
		n++
	}
	for _, l := range r.raw[:n] {
		r.deliver(l)
	}
	r.raw = append(r.raw[:0], r.raw[n:]...)
}

// deliver takes the prefixes off a line and gives it to its stream.
func (r *reader) deliver(l rawLine) {
	text, lb := certainPrefix(l.text)
	text, more := r.labels.strip(text)
	lb.stream += more.stream
	if more.rank != "" {
		lb.rank = more.rank
	}
	if more.host != "" {
		lb.host = more.host
	}
	if more.stream != "" { // "0: [2025-05-01 10:00:00] node-a:1:1 [0] NCCL ..."
		var inner label
		text, inner = certainPrefix(text)
		lb.stream += inner.stream
	}
	r.stream(lb).push(tool.Line{Text: text, N: l.n, Rank: lb.rank, Host: lb.host})
}

func (r *reader) stream(lb label) *stream {
	s := r.streams[lb.stream]
	if s == nil {
		if len(r.order) >= maxStreams {
			return r.order[0]
		}
		ctx := r.base
		ctx.Rank = lb.rank
		if lb.host != "" {
			ctx.Host = lb.host
		}
		s = &stream{r: r, ctx: &ctx}
		r.streams[strings.Clone(lb.stream)] = s
		r.order = append(r.order, s)
	}
	return s
}

func (r *reader) finish() {
	for len(r.raw) > 0 {
		r.decideLabel()
	}
	for _, s := range r.order {
		s.finish()
	}
	r.report.end(r.src)
}

// Fact implements tool.Sink.
func (r *reader) Fact(f fact.Fact) {
	r.src.Facts++
	r.report.addFact(f)
}

// Config implements tool.ConfigSink.
func (r *reader) Config(c tool.Config) { r.report.Configs = append(r.report.Configs, c) }

// NotUnderstood implements tool.Sink.
func (r *reader) NotUnderstood(n fact.NotUnderstood) {
	r.src.NotUnderstood++
	r.report.addNotUnderstood(n)
}

func (r *reader) notUnderstood(l *tool.Line) {
	r.NotUnderstood(fact.NotUnderstood{Origin: fact.Origin{Source: r.src.Name, Line: l.N}, Text: tool.Kept(l.Text)})
}

func (r *reader) tooLarge(l *tool.Line) {
	r.NotUnderstood(fact.NotUnderstood{
		Origin: fact.Origin{Source: r.src.Name, Line: l.N},
		Text:   "a JSON document that is too large to read: more than 24 MiB, 500,000 lines, a million values or 200 levels",
	})
}

func (r *reader) sawTool(name string) {
	if !slices.Contains(r.src.Tools, name) {
		r.src.Tools = append(r.src.Tools, name)
	}
}

// commandLine shows a command line to the parsers that read them.
func (r *reader) commandLine(ctx *tool.Context, l *tool.Line) {
	for i := range r.parsers {
		if p := &r.parsers[i]; p.Command != nil {
			before := r.src.Facts
			p.Command(ctx, l, tool.NewOut(r, p.Tool, r.src.Name))
			if r.src.Facts > before {
				r.sawTool(p.Tool)
			}
		}
	}
}
