package setup

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A shell is the state of a script that is followed, not run.
type shell struct {
	vars    map[string][]string // one value, or the elements of an array
	funcs   map[string]*syntax.Stmt
	args    []string // of the function being followed
	locals  *[]local // of that function
	maybe   int      // how many branches deep nothing tells whether one gets there
	stopped bool     // return or exit was met for sure
	capture *strings.Builder
	hint    string // the RDMA device whose files the words of a substitution named
	depth   int
}

type local struct {
	name  string
	value []string
	was   bool
}

func newShell() shell {
	return shell{vars: map[string][]string{}, funcs: map[string]*syntax.Stmt{}}
}

// A status is what a command returns, as far as that is known.
type status uint8

const (
	unknown status = iota
	success
	failure
)

func statusOf(ok bool) status {
	if ok {
		return success
	}
	return failure
}

const (
	maxVars    = 10_000
	maxElement = 4096 // elements of an array
)

func (r *reader) statements(list []*syntax.Stmt, depth int) status {
	st := success
	for _, s := range list {
		if r.stopped {
			break
		}
		st = r.statement(s, depth+1)
	}
	return st
}

// statement follows one statement. Where nothing tells how a condition turns out,
// both sides of "||" and "&&" are followed, and of an if the first: scripts test
// for what is already set.
func (r *reader) statement(s *syntax.Stmt, depth int) status {
	if s == nil || depth > maxDepth || r.commands >= maxCommands || r.stopped {
		return unknown
	}
	st := unknown
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		st = r.call(s, c, depth)
	case *syntax.DeclClause:
		r.declare(c)
		st = success
	case *syntax.BinaryCmd:
		st = r.binary(c, depth)
	case *syntax.Block:
		st = r.statements(c.Stmts, depth)
	case *syntax.Subshell:
		stopped := r.stopped
		st = r.statements(c.Stmts, depth)
		r.stopped = stopped
	case *syntax.IfClause:
		r.branch(c, depth)
	case *syntax.WhileClause:
		r.maybe++
		r.statements(c.Do, depth)
		r.maybe--
	case *syntax.ForClause:
		r.loop(c, depth)
	case *syntax.CaseClause:
		r.choose(c, depth)
	case *syntax.FuncDecl:
		if c.Name != nil && len(r.funcs) < 1000 {
			r.funcs[c.Name.Value] = c.Body
		}
		st = success
	}
	if s.Negated && st != unknown {
		st = statusOf(st == failure)
	}
	return st
}

func (r *reader) binary(c *syntax.BinaryCmd, depth int) status {
	x := r.statement(c.X, depth+1)
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		y := r.statement(c.Y, depth+1)
		r.pipe(c)
		return y
	}
	if x != unknown && (x == success) != (c.Op == syntax.AndStmt) {
		return x
	}
	if x == unknown {
		r.maybe++
		defer func() { r.maybe-- }()
	}
	y := r.statement(c.Y, depth+1)
	if x == unknown {
		return unknown
	}
	return y
}

func (r *reader) branch(c *syntax.IfClause, depth int) {
	for ; c != nil; c = c.Else {
		if len(c.Cond) == 0 { // else
			r.statements(c.Then, depth)
			return
		}
		switch r.statements(c.Cond, depth) {
		case success:
			r.statements(c.Then, depth)
			return
		case unknown:
			r.maybe++
			r.statements(c.Then, depth)
			r.maybe--
			return
		}
	}
}

// choose follows the first case that a known word has, or all.
func (r *reader) choose(c *syntax.CaseClause, depth int) {
	word := r.word(c.Word)
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			if pattern := r.word(p); pattern == word || pattern == "*" {
				r.statements(item.Stmts, depth)
				return
			}
		}
	}
}

func (r *reader) loop(c *syntax.ForClause, depth int) {
	it, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		return
	}
	values := r.fields(it.Items)
	for _, v := range values {
		if r.commands >= maxCommands || r.stopped {
			return
		}
		r.commands++
		r.vars[it.Name.Value] = []string{v}
		r.statements(c.Do, depth)
	}
}

// declare reads export, local, readonly and declare.
func (r *reader) declare(c *syntax.DeclClause) {
	var bare []string
	for _, a := range c.Args {
		if a.Name != nil && c.Variant.Value == "local" && r.locals != nil && len(*r.locals) < 1000 {
			old, was := r.vars[a.Name.Value]
			*r.locals = append(*r.locals, local{a.Name.Value, old, was})
		}
		switch {
		case a.Name != nil && (a.Value != nil || a.Array != nil):
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
	if a.Name == nil || a.Index != nil || len(r.vars) >= maxVars {
		return
	}
	name := a.Name.Value
	var values []string
	if a.Array != nil {
		var words []*syntax.Word
		for _, e := range a.Array.Elems {
			words = append(words, e.Value)
		}
		values = r.fields(words)
	} else {
		values = []string{r.word(a.Value)}
	}
	if a.Append {
		if a.Array == nil && len(r.vars[name]) == 1 {
			values = []string{cut(r.vars[name][0] + values[0])}
		} else {
			values = append(slices.Clone(r.vars[name]), values...)
		}
	}
	r.vars[name] = values[:min(len(values), maxElement)]
	if a.Array == nil && (strings.HasPrefix(name, "NCCL_") || strings.HasPrefix(name, "NCLL_") || strings.HasPrefix(name, "NCL_")) {
		r.text(a.Pos().Line(), r.hostSubject(), "nccl.env."+name, values[0])
		r.understood(a.Pos().Line())
	}
}

// forwarders run the command behind them.
var forwarders = []string{"sudo", "exec", "command", "nohup", "env", "nice"}

func (r *reader) call(s *syntax.Stmt, c *syntax.CallExpr, depth int) status {
	for _, a := range c.Assigns {
		r.assign(a)
	}
	if len(c.Args) == 0 {
		return success
	}
	r.commands++
	words := r.fields(c.Args)
	if len(words) == 0 {
		return success
	}
	if words[0] == "command" && len(words) > 1 && strings.HasPrefix(words[1], "-") {
		return unknown // whether a program is there
	}
	for len(words) > 1 && (slices.Contains(forwarders, words[0]) || strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-")) {
		if name, value, ok := strings.Cut(words[0], "="); ok && strings.HasPrefix(name, "NCCL_") {
			r.text(c.Pos().Line(), r.hostSubject(), "nccl.env."+name, value)
		}
		words = words[1:]
	}
	name := words[0][strings.LastIndexByte(words[0], '/')+1:]
	if body, ok := r.funcs[name]; ok {
		return r.function(body, words[1:], depth)
	}
	switch name {
	case "return", "exit":
		if r.maybe == 0 {
			r.stopped = true
		}
		return success
	case "true", ":":
		return success
	case "false":
		return failure
	case "shift":
		if len(r.args) > 0 {
			r.args = r.args[1:]
		}
		return success
	case "[", "test":
		return r.test(c.Args, words)
	}
	line := c.Pos().Line()
	r.command(line, name, words)
	return r.print(s, line, name, words)
}

// print follows echo and printf: into a file of /sys, or into a substitution.
func (r *reader) print(s *syntax.Stmt, line uint, name string, words []string) status {
	if name != "echo" && name != "printf" || len(words) < 2 {
		return unknown
	}
	text := strings.Join(words[1:], " ")
	if name == "printf" {
		text = strings.Join(words[2:], " ")
		if len(words) == 2 {
			text = words[1]
		}
	}
	text = strings.TrimSuffix(text, `\n`)
	for _, d := range s.Redirs {
		switch d.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrClob:
			r.write(line, r.word(d.Word), text)
			return unknown
		case syntax.DplOut:
			return success // to standard error
		}
	}
	if r.capture != nil && r.capture.Len() < maxWord {
		r.capture.WriteString(text)
	}
	return success
}

// function follows a call of a function of the script.
func (r *reader) function(body *syntax.Stmt, args []string, depth int) status {
	if r.depth >= maxDepth {
		return unknown
	}
	r.depth++
	var locals []local
	savedArgs, savedLocals := r.args, r.locals
	r.args, r.locals = args, &locals
	st := r.statement(body, depth/2+1)
	for _, l := range slices.Backward(locals) {
		if l.was {
			r.vars[l.name] = l.value
		} else {
			delete(r.vars, l.name)
		}
	}
	r.args, r.locals = savedArgs, savedLocals
	r.stopped = false
	r.depth--
	return st
}

// test evaluates comparisons whose both sides are known.
func (r *reader) test(source []*syntax.Word, words []string) status {
	for _, w := range source {
		if hasSubstitution(w) {
			return unknown
		}
	}
	if words[0] == "[" && words[len(words)-1] == "]" {
		words = words[:len(words)-1]
	}
	words = words[1:]
	negated := len(words) > 0 && words[0] == "!"
	if negated {
		words = words[1:]
	}
	st := unknown
	switch {
	case len(words) == 3 && (words[1] == "=" || words[1] == "=="):
		st = statusOf(words[0] == words[2])
	case len(words) == 3 && words[1] == "!=":
		st = statusOf(words[0] != words[2])
	case len(words) == 3 && (words[1] == "-eq" || words[1] == "-ne"):
		x, err1 := strconv.Atoi(words[0])
		y, err2 := strconv.Atoi(words[2])
		if err1 == nil && err2 == nil {
			st = statusOf((x == y) == (words[1] == "-eq"))
		}
	case len(words) == 2 && words[0] == "-n":
		st = statusOf(words[1] != "")
	case len(words) == 2 && words[0] == "-z":
		st = statusOf(words[1] == "")
	}
	if negated && st != unknown {
		st = statusOf(st == failure)
	}
	return st
}

// pipe reads "echo VALUE | tee PATH".
func (r *reader) pipe(c *syntax.BinaryCmd) {
	x, ok1 := c.X.Cmd.(*syntax.CallExpr)
	y, ok2 := c.Y.Cmd.(*syntax.CallExpr)
	if !ok1 || !ok2 {
		return
	}
	from, to := r.fields(x.Args), r.fields(y.Args)
	if len(to) > 0 && to[0] == "sudo" {
		to = to[1:]
	}
	if len(from) > 1 && from[0] == "echo" && len(to) > 1 && to[0] == "tee" {
		r.write(c.Pos().Line(), to[len(to)-1], from[len(from)-1])
	}
}
