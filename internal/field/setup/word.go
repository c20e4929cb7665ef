package setup

import (
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func cut(s string) string { return s[:min(len(s), maxWord)] }

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
