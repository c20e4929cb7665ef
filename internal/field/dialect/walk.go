package dialect

import (
	"slices"
	"strings"
)

// A Language is the table of a system's statements.
type Language struct {
	Separator string   // a line of this alone ends blocks of its indentation: "!", "#"
	Comments  []string // lines that start with one of these are remarks
	Show      []string // commands whose output is this configuration: "show running-config"
	Forms     []Form

	// OneLine says that statements repeat the block they belong to: in a text
	// without indentation, one that says nothing about queues has no lines below
	// it to pass over.
	OneLine bool

	// Others are first words, by block, of statements that say nothing about
	// queues where no form takes them; the lines below them are passed over.
	Others map[string][]string
}

// A Grammar is a Language ready for reading. It is not changed by use.
type Grammar struct {
	lang  Language
	forms map[string][]compiled
	byID  map[string]*Form
}

// Compile prepares a language. It panics on a malformed form, which is a
// mistake of the program.
func (l Language) Compile() *Grammar {
	g := &Grammar{lang: l, forms: make(map[string][]compiled), byID: make(map[string]*Form)}
	add := func(f *Form) {
		c := compileForm(f)
		key := formKey(f.In, firstLiteral(c.elems))
		g.forms[key] = append(g.forms[key], c)
	}
	for i := range l.Forms {
		f := &l.Forms[i]
		add(f)
		if f.ID != "" {
			g.byID[f.In+"/"+f.ID] = f
		}
	}
	for in, words := range l.Others {
		for _, w := range words {
			add(&Form{In: in, Text: w + " [<rest...>]", Opens: Skip})
		}
	}
	return g
}

func formKey(block, word string) string { return block + "\x00" + strings.ToLower(word) }

func firstLiteral(elems []elem) string {
	if len(elems) > 0 && elems[0].kind == literal {
		return elems[0].text
	}
	return ""
}

// Form returns the form with this ID in this block, or nil. Where several
// spellings share an ID, the last of the table is the one to write.
func (g *Grammar) Form(in, id string) *Form { return g.byID[in+"/"+id] }

// Forms returns the table, for tests and for documentation.
func (g *Grammar) Forms() []Form { return g.lang.Forms }

// Read returns the form of the block that a line has, and its values; nil for
// a line that no form with an ID takes.
func (g *Grammar) Read(in, line string) (*Form, Args) {
	f, args := g.find(in, splitWords(line))
	if f == nil || f.ID == "" {
		return nil, nil
	}
	return f, args
}

// Known reports whether some form of the block takes the line, one without an
// ID, which says nothing about queues, as well.
func (g *Grammar) Known(in, line string) bool {
	f, _ := g.find(in, splitWords(line))
	return f != nil
}

// Starts reports whether a line can stand at the top of a configuration: a
// statement, a remark, a separator, or a prompt with one of these.
func (g *Grammar) Starts(line string) bool {
	text := strings.TrimSpace(line)
	if text == "" {
		return false
	}
	if text == g.lang.Separator {
		return true
	}
	for _, c := range g.lang.Comments {
		if strings.HasPrefix(text, c) {
			return true
		}
	}
	if _, command, ok := SplitPrompt(text); ok && command != "" {
		text = command
	}
	f, _ := g.find("", splitWords(text))
	return f != nil
}

// Other reports whether statements that start with word say nothing about
// queues, in the named block.
func (g *Grammar) Other(in, word string) bool { return slices.Contains(g.lang.Others[in], word) }

// A Statement is one line that matched a form.
type Statement struct {
	Form *Form
	Line int
	Args Args
}

// A Visitor takes statements in the order of the text. It returns false for
// a statement whose values make no sense, which then counts as not understood.
type Visitor func(s Statement) bool

type block struct {
	name   string
	indent int
}

// Walk reads lines by indentation and hands each statement to visit. Texts
// that lost their indentation are read by what can stand where. It returns the
// lines that no form took and, where a prompt showed it, the device's name.
func (g *Grammar) Walk(lines []Line, visit Visitor) (unknown []Line, name string) {
	w := walker{g: g, visit: visit, flat: true}
	for i := range lines {
		if lines[i].Indent > 0 {
			w.flat = false
			break
		}
	}
	for _, line := range lines {
		host, taken := w.line(line)
		if host != "" {
			name = host
		}
		if !taken {
			unknown = append(unknown, line)
		}
	}
	return unknown, name
}

type walker struct {
	g     *Grammar
	visit Visitor
	flat  bool
	stack []block
}

func (w *walker) line(l Line) (host string, taken bool) {
	if w.g.lang.Separator != "" && l.Text == w.g.lang.Separator {
		w.pop(l.Indent)
		return "", true
	}
	for _, c := range w.g.lang.Comments {
		if strings.HasPrefix(l.Text, c) {
			return "", true
		}
	}
	flat := w.flat
	if l.Indent == 0 {
		var command string
		if name, rest, ok := SplitPrompt(l.Text); ok {
			if rest == "" || w.isShow(rest) {
				w.stack = w.stack[:0]
				return name, true
			}
			// A line typed at a prompt has no indentation to go by.
			host, command, flat = name, rest, true
			l.Text, l.Words = command, splitWords(command)
		} else if w.isShow(l.Text) {
			w.stack = w.stack[:0]
			return "", true
		}
	}
	if moved := w.move(l); moved {
		return host, true
	}
	if flat {
		return host, w.flatLine(l)
	}
	w.pop(l.Indent)
	name := ""
	if n := len(w.stack); n > 0 {
		name = w.stack[n-1].name
	}
	if name == Skip {
		return host, true
	}
	return host, w.try(name, l)
}

// move handles the words that only change the block one is in.
func (w *walker) move(l Line) bool {
	switch strings.ToLower(l.Text) {
	case "exit", "quit":
		if len(w.stack) > 0 {
			w.stack = w.stack[:len(w.stack)-1]
		}
		return true
	case "end", "return", "commit", "configure", "configure terminal", "conf t", "conf", "config terminal", "system-view", "enable":
		if l.Indent == 0 {
			w.stack = w.stack[:0]
			return true
		}
	}
	return false
}

// flatLine finds the innermost open block that the line can stand in.
func (w *walker) flatLine(l Line) bool {
	skipping := false
	for n := len(w.stack); n >= 0; n-- {
		name := ""
		if n > 0 {
			name = w.stack[n-1].name
		}
		if name == Skip {
			skipping = true
			continue
		}
		f, args := w.g.find(name, l.Words)
		if f == nil {
			continue
		}
		w.stack = w.stack[:n]
		return w.take(f, args, l)
	}
	return skipping
}

func (w *walker) try(name string, l Line) bool {
	f, args := w.g.find(name, l.Words)
	if f == nil {
		// Its lines, if it has any, belong to it: not to the block around it.
		w.push(block{"?", l.Indent})
		return false
	}
	return w.take(f, args, l)
}

func (w *walker) take(f *Form, args Args, l Line) bool {
	if f.Opens != "" && !(f.Opens == Skip && w.flat && w.g.lang.OneLine) {
		w.push(block{f.Opens, l.Indent})
	}
	return f.ID == "" || w.visit(Statement{f, l.Number, args})
}

func (w *walker) push(b block) {
	if len(w.stack) < maxNesting {
		w.stack = append(w.stack, b)
	}
}

func (w *walker) pop(indent int) {
	if w.flat {
		w.stack = w.stack[:0]
		return
	}
	n := len(w.stack)
	for n > 0 && w.stack[n-1].indent >= indent {
		n--
	}
	w.stack = w.stack[:n]
}

func (w *walker) isShow(command string) bool {
	for _, s := range w.g.lang.Show {
		if strings.HasPrefix(command, s) {
			return true
		}
	}
	return false
}

// find returns the first form of the block that takes the words.
func (g *Grammar) find(name string, words []string) (*Form, Args) {
	if len(words) == 0 {
		return nil, nil
	}
	for _, key := range [2]string{formKey(name, words[0]), formKey(name, "")} {
		for _, c := range g.forms[key] {
			args := make(Args)
			if match(c.elems, words, args) {
				return c.Form, args
			}
		}
	}
	return nil, nil
}
