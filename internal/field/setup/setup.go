// Package setup reads the commands that set a host up for RoCE, in shell
// scripts, documents and pasted snippets, without running them: what they set
// becomes facts under the same keys as what the tools print, and what cannot
// work becomes a Mistake with its explanation.
//
// A script is parsed as shell. Variables, loops over words, functions and both
// the tested and the plain way into a block are followed; what a command would
// print is not known, but a substitution that looks below infiniband/DEVICE is
// taken for the network interface (or PCI address) of that device. A text that
// is not shell is read line by line.
package setup

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"weir/internal/fact"
)

// Limits: a longer text is not read, and a script that expands to more
// commands is cut.
const (
	MaxText     = 256 << 10 // keeps the parser's recursion far below the limit of a stack
	maxCommands = 20_000
	maxDepth    = 16
	maxWord     = 4096
	maxWords    = 4096
)

// A Mistake is a command or setting that does not do what it is meant to.
type Mistake struct {
	Line        int
	Source      string
	Text        string // the command, as written
	Setting     string
	Expected    string
	Explanation string
	Cause       string // id of package cause
}

// A Result is what a text sets.
type Result struct {
	Facts    []fact.Fact
	Mistakes []Mistake
	Commands int          // that were understood
	Lines    map[int]bool // that commands which were understood stand in
}

// starts are words that commands of interest begin with.
var starts = regexp.MustCompile(`(?m)^[ \t>*$#+-]*(?:sudo )?(?:mlnx_qos|dcb|cma_roce_(?:tos|mode)|mlxconfig|mstconfig|niccli|nicctl|ethtool -[AsK]|ip link set|sysctl|ib_(?:write|read|send)_\w+|priority-flow-control|(?:export +)?NCC?L_\w+[= ])|echo +["']?\d+["']? *>|infiniband/|rdma://|init_method|\bpriority +\d-\d`)

// Is reports whether a text holds commands that Read is for.
func Is(text string) bool {
	return len(text) <= MaxText && !strings.Contains(text[:min(len(text), 4096)], "\x00") && starts.MatchString(text)
}

// IsScript reports whether a text is nothing but such commands: a shell script.
func IsScript(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	return strings.HasPrefix(line, "#!") && (strings.Contains(line, "sh") || strings.Contains(line, "bash"))
}

// Read reads a text. host names the machine that it is for, "" if unknown.
func Read(text, source, host string) *Result {
	r := &reader{source: source, host: host, vars: map[string]string{}, funcs: map[string]*syntax.Stmt{}, out: &Result{Lines: map[int]bool{}}}
	if len(text) > MaxText {
		return r.out
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if f := parse(text, source); f != nil && (IsScript(text) || plain(text)) {
		r.statements(f.Stmts, 0)
	} else {
		r.byLine(text)
	}
	r.words(text)
	return r.out
}

// maxOpeners bounds what may nest in a text: the shell parser recurses without a
// bound of its own, up to 3 KB of stack a level.
const maxOpeners = 4000

var openers = regexp.MustCompile("[({`\\[!]|\\b(?:if|while|until|for|case|select|function|time|coproc|elif|else|then|do)\\b")

// parse parses shell; nil for what is none, or could nest too deeply.
func parse(text, source string) *syntax.File {
	if len(openers.FindAllStringIndex(text, maxOpeners+1)) > maxOpeners {
		return nil
	}
	if strings.Contains(text, "((") && strings.Count(text, "-")+strings.Count(text, "+")+strings.Count(text, "~") > maxOpeners {
		return nil
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), source)
	if err != nil {
		return nil
	}
	return f
}

// plain reports whether a text without #! reads like commands and not like a
// document: prose parses as shell, too.
func plain(text string) bool {
	return !regexp.MustCompile(`(?m)^(?:[#*>] |\x60{3}|- |\d+\. |[$] )`).MatchString(text)
}

type reader struct {
	source, host string
	vars         map[string]string
	funcs        map[string]*syntax.Stmt
	args         []string // of the function being followed
	out          *Result
	commands     int
}

// byLine reads each line of a document as a command of its own.
func (r *reader) byLine(text string) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		at := i + 1
		line := strings.TrimSpace(lines[i])
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + " " + strings.TrimSpace(lines[i])
		}
		line = strings.TrimLeft(line, "$#>*-+` \t")
		line = strings.TrimRight(line, "`")
		if len(line) > maxWord {
			continue
		}
		f := parse(line, r.source)
		if f == nil {
			continue
		}
		before := len(r.out.Facts)
		wrong := len(r.out.Mistakes)
		seen := r.out.Lines
		r.out.Lines = map[int]bool{}
		r.statements(f.Stmts, 0)
		for k := range r.out.Facts[before:] {
			r.out.Facts[before+k].Origin.Line = at
		}
		for k := range r.out.Mistakes[wrong:] {
			r.out.Mistakes[wrong+k].Line = at
		}
		if len(r.out.Lines) > 0 {
			for k := at; k <= i+1; k++ {
				seen[k] = true
			}
		}
		r.out.Lines = seen
	}
}

func (r *reader) statements(list []*syntax.Stmt, depth int) {
	if depth > maxDepth {
		return
	}
	for _, s := range list {
		r.statement(s, depth+1)
	}
}

// statement follows one statement. Conditions are not evaluated: the body of
// an if is followed, its else is not, since scripts test for what is already set.
func (r *reader) statement(s *syntax.Stmt, depth int) {
	if s == nil || depth > maxDepth || r.commands >= maxCommands {
		return
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		r.call(s, c, depth)
	case *syntax.DeclClause:
		r.declare(c)
	case *syntax.BinaryCmd:
		r.statement(c.X, depth+1)
		r.statement(c.Y, depth+1)
		if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
			r.pipe(c)
		}
	case *syntax.Block:
		r.statements(c.Stmts, depth)
	case *syntax.Subshell:
		r.statements(c.Stmts, depth)
	case *syntax.IfClause:
		r.statements(c.Then, depth)
	case *syntax.WhileClause:
		r.statements(c.Do, depth)
	case *syntax.ForClause:
		r.loop(c, depth)
	case *syntax.FuncDecl:
		if c.Name != nil && len(r.funcs) < 1000 {
			r.funcs[c.Name.Value] = c.Body
		}
	}
}

func (r *reader) loop(c *syntax.ForClause, depth int) {
	it, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		return
	}
	var values []string
	for _, w := range it.Items {
		values = append(values, strings.Fields(r.word(w))...)
		if len(values) > maxWords {
			return
		}
	}
	for _, v := range values {
		if r.commands >= maxCommands {
			return
		}
		r.vars[it.Name.Value] = v
		r.statements(c.Do, depth)
	}
}

// declare reads export, local, readonly and declare.
func (r *reader) declare(c *syntax.DeclClause) {
	var bare []string
	for _, a := range c.Args {
		switch {
		case a.Name != nil && a.Value != nil:
			r.assign(a)
		case a.Name != nil:
			bare = append(bare, a.Name.Value)
		case a.Value != nil:
			bare = append(bare, r.word(a.Value))
		}
	}
	if len(bare) == 2 && strings.HasPrefix(bare[0], "NCCL_") {
		r.mistake(c.Pos().Line(), "export "+strings.Join(bare, " "), bare[0], "export "+bare[0]+"="+bare[1], "env-typo",
			"Without = between name and value nothing is set: the shell takes both for names, and the library runs with its default.")
	}
}

func (r *reader) assign(a *syntax.Assign) {
	if a.Name == nil || a.Append || a.Array != nil {
		return
	}
	value := ""
	if a.Value != nil {
		value = r.word(a.Value)
	}
	if len(r.vars) < 10_000 {
		r.vars[a.Name.Value] = value
	}
	if strings.HasPrefix(a.Name.Value, "NCCL_") || strings.HasPrefix(a.Name.Value, "NCLL_") || strings.HasPrefix(a.Name.Value, "NCL_") {
		r.text(a.Pos().Line(), r.hostSubject(), "nccl.env."+a.Name.Value, value)
		r.understood(a.Pos().Line())
	}
}

func (r *reader) call(s *syntax.Stmt, c *syntax.CallExpr, depth int) {
	for _, a := range c.Assigns {
		r.assign(a)
	}
	if len(c.Args) == 0 {
		return
	}
	r.commands++
	var words []string
	for _, w := range c.Args {
		v := r.word(w)
		if len(words) < maxWords {
			words = append(words, v)
		}
	}
	for len(words) > 1 && (slices.Contains([]string{"sudo", "run", "exec", "command", "nohup", "env"}, words[0]) || strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-")) {
		if name, value, ok := strings.Cut(words[0], "="); ok && strings.HasPrefix(name, "NCCL_") {
			r.text(c.Pos().Line(), r.hostSubject(), "nccl.env."+name, value)
		}
		words = words[1:]
	}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if body, ok := r.funcs[name]; ok && depth < maxDepth {
		saved := r.args
		r.args = words[1:]
		r.statement(body, depth+1)
		r.args = saved
	}
	line := c.Pos().Line()
	r.command(line, name, words)
	for _, d := range s.Redirs {
		if (d.Op == syntax.RdrOut || d.Op == syntax.AppOut || d.Op == syntax.RdrClob) && (name == "echo" || name == "printf") && len(words) > 1 {
			r.write(line, r.word(d.Word), strings.TrimSuffix(words[len(words)-1], `\n`))
		}
	}
}

// pipe reads "echo VALUE | tee PATH".
func (r *reader) pipe(c *syntax.BinaryCmd) {
	x, ok1 := c.X.Cmd.(*syntax.CallExpr)
	y, ok2 := c.Y.Cmd.(*syntax.CallExpr)
	if !ok1 || !ok2 || len(x.Args) < 2 || len(y.Args) < 2 || r.word(x.Args[0]) != "echo" {
		return
	}
	at := 0
	if r.word(y.Args[0]) == "sudo" {
		at = 1
	}
	if len(y.Args) > at+1 && r.word(y.Args[at]) == "tee" {
		r.write(c.Pos().Line(), r.word(y.Args[len(y.Args)-1]), r.word(x.Args[len(x.Args)-1]))
	}
}

var below = regexp.MustCompile(`infiniband/([\w.:-]+)`)

// word evaluates a word as far as it is known.
func (r *reader) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	r.parts(&b, w.Parts, 0)
	return b.String()
}

func (r *reader) parts(b *strings.Builder, parts []syntax.WordPart, depth int) {
	if depth > maxDepth {
		return
	}
	for _, p := range parts {
		if b.Len() > maxWord {
			return
		}
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			r.parts(b, p.Parts, depth+1)
		case *syntax.ParamExp:
			r.parameter(b, p)
		case *syntax.CmdSubst:
			var inner strings.Builder
			for _, s := range p.Stmts {
				syntax.Walk(s, func(n syntax.Node) bool {
					if w, ok := n.(*syntax.Word); ok && inner.Len() < maxWord {
						r.parts(&inner, w.Parts, depth+4)
						inner.WriteByte(' ')
						return false
					}
					return true
				})
			}
			if m := below.FindStringSubmatch(inner.String()); m != nil {
				b.WriteString("@" + m[1]) // stands for the device
			} else if m := standsFor.FindStringSubmatch(inner.String()); m != nil {
				b.WriteString(m[0])
			}
		}
	}
}

// standsFor finds a device that a function was asked about.
var standsFor = regexp.MustCompile(`@[\w.:-]+|\b(?:mlx5|bnxt_re|irdma|ionic|rocep|mlx4|rdma)_?\w+`)

func (r *reader) parameter(b *strings.Builder, p *syntax.ParamExp) {
	if p.Param == nil {
		return
	}
	name := p.Param.Value
	value, known := r.vars[name]
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		if n := int(name[0] - '1'); n < len(r.args) {
			value, known = r.args[n], true
		}
	}
	if !known && p.Exp != nil && p.Exp.Word != nil && (p.Exp.Op == syntax.DefaultUnset || p.Exp.Op == syntax.DefaultUnsetOrNull) {
		value = r.word(p.Exp.Word)
	}
	b.WriteString(value)
}
