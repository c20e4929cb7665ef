package setup

import (
	"regexp"
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

func cut(s string) string { return s[:min(len(s), maxWord)] }

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

func hasSubstitution(w *syntax.Word) bool {
	found := false
	syntax.Walk(w, func(n syntax.Node) bool {
		if _, ok := n.(*syntax.CmdSubst); ok {
			found = true
		}
		return !found
	})
	return found
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

var below = regexp.MustCompile(`infiniband/(@?[\w.:-]+)`)

// fields evaluates words; those that stand for several become several.
func (r *reader) fields(list []*syntax.Word) []string {
	var out []string
	for _, w := range list {
		if values, ok := r.elements(w); ok {
			out = append(out, values...)
		} else if v := r.word(w); quotedWord(w) || !strings.ContainsAny(v, " \t\n") {
			if v != "" || quotedWord(w) {
				out = append(out, v)
			}
		} else {
			out = append(out, strings.Fields(v)...)
		}
		if len(out) > maxWords {
			return out[:maxWords]
		}
	}
	return out
}

func quotedWord(w *syntax.Word) bool {
	if w == nil {
		return false
	}
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.DblQuoted, *syntax.SglQuoted:
			return true
		}
	}
	return false
}

// elements evaluates "${a[@]}", "${!a[@]}" and "$@", alone in their word.
func (r *reader) elements(w *syntax.Word) ([]string, bool) {
	if w == nil || len(w.Parts) != 1 {
		return nil, false
	}
	part := w.Parts[0]
	if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
		part = q.Parts[0]
	}
	p, ok := part.(*syntax.ParamExp)
	if !ok || p.Param == nil {
		return nil, false
	}
	if p.Param.Value == "@" {
		return r.args, true
	}
	if !isAll(p.Index) {
		return nil, false
	}
	values := r.vars[p.Param.Value]
	if p.Excl {
		var indexes []string
		for i := range values {
			indexes = append(indexes, strconv.Itoa(i))
		}
		return indexes, true
	}
	return values, true
}

func isAll(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*")
}

// word evaluates a word as far as it is known.
func (r *reader) word(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	var b strings.Builder
	r.parts(&b, w.Parts, 0)
	s := cut(b.String())
	if m := below.FindStringSubmatch(s); m != nil {
		r.hint = strings.TrimPrefix(m[1], "@")
	}
	return s
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
			b.WriteString(r.parameter(p))
		case *syntax.ArithmExp:
			if n, ok := r.arithmetic(p.X, 0); ok {
				b.WriteString(strconv.FormatInt(n, 10))
			}
		case *syntax.CmdSubst:
			b.WriteString(r.substitute(p.Stmts))
		}
	}
}

// substitute follows the commands of $(...): what they print where that is known,
// else "@DEVICE" where they look at the files of an RDMA device: its interface, or
// its PCI address.
func (r *reader) substitute(list []*syntax.Stmt) string {
	if r.depth >= maxDepth {
		return ""
	}
	r.depth++
	var b strings.Builder
	savedCapture, savedHint, savedStop := r.capture, r.hint, r.stopped
	r.capture, r.hint = &b, ""
	r.statements(list, 0)
	out, hint := cut(strings.TrimRight(b.String(), "\n")), r.hint
	r.capture, r.stopped = savedCapture, savedStop
	if hint == "" {
		r.hint = savedHint // else a substitution around this one looks at the device, too
	}
	r.depth--
	if hint != "" && (out == "" || strings.Contains(out, "infiniband/")) {
		return "@" + hint
	}
	return out
}

func (r *reader) parameter(p *syntax.ParamExp) string {
	if p.Param == nil {
		return ""
	}
	name := p.Param.Value
	values, known := r.vars[name]
	value := ""
	if len(values) > 0 {
		value = values[0]
	}
	switch {
	case len(name) == 1 && name[0] >= '1' && name[0] <= '9':
		if n := int(name[0] - '1'); n < len(r.args) {
			value, known = r.args[n], true
		}
	case name == "*" || name == "@":
		value, known = r.joined(r.args), true
	case isAll(p.Index):
		value = r.joined(values)
	case p.Index != nil:
		value = ""
		if n, ok := r.arithmetic(p.Index, 0); ok && n >= 0 && int(n) < len(values) {
			value = values[n]
		}
	}
	if p.Excl && p.Index == nil { // the value of the variable that this one names
		value, known = "", false
	}
	if p.Length {
		return strconv.Itoa(len(value))
	}
	if p.Exp == nil {
		return cut(value)
	}
	arg := r.word(p.Exp.Word)
	switch p.Exp.Op {
	case syntax.DefaultUnset, syntax.DefaultUnsetOrNull:
		if !known || value == "" {
			value = arg
		}
	case syntax.RemSmallPrefix, syntax.RemLargePrefix:
		value = strip(value, arg, true, p.Exp.Op == syntax.RemLargePrefix)
	case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
		value = strip(value, arg, false, p.Exp.Op == syntax.RemLargeSuffix)
	}
	return cut(value)
}

func (r *reader) joined(list []string) string {
	separator := " "
	if ifs := r.vars["IFS"]; len(ifs) > 0 && ifs[0] != "" {
		separator = ifs[0][:1]
	}
	return cut(strings.Join(list[:min(len(list), maxElement)], separator))
}

// strip takes away a prefix "*c" or suffix "c*" as the shell's # and % do, or plain
// text.
func strip(value, pattern string, prefix, most bool) string {
	text := strings.Trim(pattern, "*")
	if text == "" || strings.ContainsAny(text, "*?[") {
		return value
	}
	if prefix {
		if !strings.HasPrefix(pattern, "*") {
			return strings.TrimPrefix(value, text)
		}
		i := strings.Index(value, text)
		if most {
			i = strings.LastIndex(value, text)
		}
		if i >= 0 {
			return value[i+len(text):]
		}
		return value
	}
	if !strings.HasSuffix(pattern, "*") {
		return strings.TrimSuffix(value, text)
	}
	i := strings.LastIndex(value, text)
	if most {
		i = strings.Index(value, text)
	}
	if i >= 0 {
		return value[:i]
	}
	return value
}

// arithmetic evaluates whole numbers, names of variables and their operators.
func (r *reader) arithmetic(x syntax.ArithmExpr, depth int) (int64, bool) {
	if depth > maxDepth {
		return 0, false
	}
	switch x := x.(type) {
	case *syntax.Word:
		s := r.word(x)
		if v, ok := r.vars[s]; ok && len(v) == 1 {
			s = v[0]
		}
		n, err := strconv.ParseInt(s, 0, 64)
		return n, err == nil
	case *syntax.ParenArithm:
		return r.arithmetic(x.X, depth+1)
	case *syntax.BinaryArithm:
		a, ok1 := r.arithmetic(x.X, depth+1)
		b, ok2 := r.arithmetic(x.Y, depth+1)
		if !ok1 || !ok2 {
			return 0, false
		}
		switch x.Op {
		case syntax.Add:
			return a + b, true
		case syntax.Sub:
			return a - b, true
		case syntax.Mul:
			return a * b, true
		case syntax.Quo:
			if b != 0 {
				return a / b, true
			}
		case syntax.Rem:
			if b != 0 {
				return a % b, true
			}
		case syntax.Shl:
			if b >= 0 && b < 63 {
				return a << b, true
			}
		case syntax.Shr:
			if b >= 0 && b < 63 {
				return a >> b, true
			}
		case syntax.And:
			return a & b, true
		case syntax.Or:
			return a | b, true
		}
	}
	return 0, false
}
