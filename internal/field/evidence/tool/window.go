package tool

import "strings"

// A Window is the line in question and those that follow it in the same
// stream, as far as they were read: up to Ahead lines, fewer at the end of the
// input and when many ranks' outputs are interleaved.
type Window struct {
	ctx   *Context
	lines []Line

	fields []string // of line 0
	split  bool
}

// Ahead is the number of lines that recognition may look at.
const Ahead = 64

// NewWindow returns a window on lines, of which there must be one at least.
func NewWindow(ctx *Context, lines []Line) *Window {
	return &Window{ctx: ctx, lines: lines[:min(len(lines), Ahead)]}
}

// Context returns what is known around the lines.
func (w *Window) Context() *Context { return w.ctx }

// First returns the text of line 0.
func (w *Window) First() string { return w.lines[0].Text }

// Fields returns the words of line 0, which the caller must not change.
func (w *Window) Fields() []string {
	if !w.split {
		w.fields, w.split = strings.Fields(w.lines[0].Text), true
	}
	return w.fields
}

// Len returns the number of lines.
func (w *Window) Len() int { return len(w.lines) }

// Line returns the text of line i, "" beyond the end.
func (w *Window) Line(i int) string {
	if i < len(w.lines) {
		return w.lines[i].Text
	}
	return ""
}

// Any reports whether one of the first n lines satisfies f.
func (w *Window) Any(n int, f func(text string) bool) bool {
	for i := 0; i < n && i < len(w.lines); i++ {
		if f(w.lines[i].Text) {
			return true
		}
	}
	return false
}
