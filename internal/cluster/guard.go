package cluster

import (
	"strconv"

	"weir/internal/input"
)

// Limits of the text, kept before the YAML library sees it: its parser
// recurses with the nesting and its cost grows with the square of the keys of
// one mapping and of the anchors of one file.
const (
	maxLine   = 1 << 16
	maxIndent = 512
	maxFlow   = 64
	maxKeys   = 256 // of one mapping
	maxMarks  = 1024
)

// A guard reads text byte by byte with a rough idea of YAML: quotes,
// comments, flow brackets and indentation.
type guard struct {
	line, column int
	quote        byte // '"' or '\'' inside such text, '#' inside a comment, '\\' behind a backslash in double quotes
	head         bool // still in the blanks, dashes and question marks that open a line
	blank        bool // nothing but spaces so far
	flow         []flowLevel
	keys         [maxIndent + 2]int // lines of the open blocks by column
	marks        int                // anchors, aliases and tags
	last         byte
}

type flowLevel struct {
	bracket byte
	commas  int
}

// check refuses text that breaks a limit.
func check(data []byte) *input.Error {
	g := &guard{line: 1, head: true, blank: true, last: '\n'}
	for _, c := range data {
		if err := g.next(c); err != nil {
			return err
		}
		g.last = c
	}
	return nil
}

func (g *guard) refuse(found, allowed string) *input.Error {
	return (position{line: g.line, column: g.column}).found(found, allowed)
}

func (g *guard) next(c byte) *input.Error {
	g.column++
	switch {
	case c == 0:
		return g.refuse("a NUL byte", "text in UTF-8")
	case c == '\n' && g.last == '\r':
		return nil
	case c == '\n', c == '\r':
		g.line, g.column, g.head, g.blank = g.line+1, 0, true, true
		if g.quote == '#' {
			g.quote = 0
		}
		return nil
	case g.column > maxLine:
		return g.refuse("a line this long", "lines of at most "+strconv.Itoa(maxLine)+" bytes")
	}
	if g.quote != 0 {
		g.quoted(c)
		return nil
	}
	return g.plain(c)
}

func (g *guard) quoted(c byte) {
	switch {
	case g.quote == '\\':
		g.quote = '"'
	case g.quote == '"' && c == '\\':
		g.quote = '\\'
	case g.quote == c && c != '#':
		g.quote = 0
	}
}

// starts reports whether a token may start behind the last byte.
func (g *guard) starts() bool {
	switch g.last {
	case ' ', '\t', '\n', '\r', '[', '{', ',', '-', ':', '?', '&', '*', '!':
		return true
	}
	return false
}

func (g *guard) plain(c byte) *input.Error {
	if g.head && c != ' ' && c != '\t' && c != '-' && c != '?' && c != ':' {
		g.head = false
	}
	if g.head && g.column > maxIndent {
		return g.refuse("nesting this deep", "at most "+strconv.Itoa(maxIndent)+" columns of indentation")
	}
	first := g.blank && c != ' '
	if c != ' ' {
		g.blank = false
	}
	switch {
	case c == '#' && g.starts():
		g.quote = '#'
		return nil
	case (c == '"' || c == '\'') && g.starts():
		g.quote = c
	case (c == '&' || c == '*' || c == '!') && g.starts():
		if g.marks++; g.marks > maxMarks {
			return g.refuse("more anchors, aliases and tags than fit", "at most "+strconv.Itoa(maxMarks))
		}
	}
	if first && len(g.flow) == 0 {
		if err := g.block(c); err != nil {
			return err
		}
	}
	return g.brackets(c)
}

// block counts the lines that start at one column without a line further left
// between them: at most so many keys can be in one mapping.
func (g *guard) block(c byte) *input.Error {
	col := min(g.column, maxIndent+1)
	clear(g.keys[col+1:])
	if c == '-' {
		g.keys[col] = 0
		return nil
	}
	if g.keys[col]++; g.keys[col] > maxKeys {
		return g.refuse("a mapping this long", "at most "+strconv.Itoa(maxKeys)+" keys")
	}
	return nil
}

func (g *guard) brackets(c byte) *input.Error {
	n := len(g.flow)
	switch c {
	case '[', '{':
		if n == maxFlow {
			return g.refuse("nesting this deep", "at most "+strconv.Itoa(maxFlow)+" levels")
		}
		g.flow = append(g.flow, flowLevel{bracket: c})
	case ']', '}':
		if n > 0 {
			g.flow = g.flow[:n-1]
		}
	case ',':
		if n == 0 || g.flow[n-1].bracket == '[' {
			return nil
		}
		if g.flow[n-1].commas++; g.flow[n-1].commas >= maxKeys {
			return g.refuse("a mapping this long", "at most "+strconv.Itoa(maxKeys)+" keys")
		}
	}
	return nil
}
