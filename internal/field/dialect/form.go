package dialect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Form is one statement of a command language, for reading and writing.
//
// Text is the statement with places for values:
//
//	<name>         one word
//	<name:0-7>     a whole number in that range
//	<name:num>     a number, perhaps with a fraction
//	<name:list>    whole numbers and ranges: 0-3,5 (one word, no blanks)
//	<name:a|b>     one of these words
//	<name+>        one or more words, as few as fit
//	<name...>      the rest of the line, at least one word
//	[ ... ]        words that may be absent; a lone word is captured under itself
//
// All else stands for itself, in any letter case.
type Form struct {
	ID     string // what the statement does: "pfc-mode"; "" for statements that do not matter to queues
	In     string // block that it stands in; "" is the top
	Text   string
	Opens  string // block that its indented lines form; Skip: a block whose lines do not matter
	Source string // where the form is documented
}

// Skip as Form.Opens names a block whose lines do not matter to queues.
const Skip = "*"

// Args are the values of one statement by name.
type Args map[string]string

// Has reports whether the statement has the value, or the optional word.
func (a Args) Has(name string) bool { _, ok := a[name]; return ok }

// Int returns a value that the form restricts to whole numbers; 0 if absent.
func (a Args) Int(name string) int {
	n, _ := strconv.Atoi(a[name])
	return n
}

// Float returns a value that the form restricts to numbers; 0 if absent.
func (a Args) Float(name string) float64 {
	f, _ := strconv.ParseFloat(a[name], 64)
	return f
}

type elemKind uint8

const (
	literal elemKind = iota
	anyWord
	intRange
	number
	numberList
	choice
	manyWords
	restWords
	optional
)

type elem struct {
	kind    elemKind
	text    string // literal: the word; else the value's name
	lo, hi  int64
	choices []string
	group   []elem
}

type compiled struct {
	*Form
	elems []elem
}

func compileForm(f *Form) compiled {
	words := strings.Fields(strings.NewReplacer("[", " [ ", "]", " ] ").Replace(f.Text))
	elems, rest := compileElems(words, f)
	if len(rest) > 0 {
		panic("dialect: unbalanced ] in form " + f.Text)
	}
	return compiled{f, elems}
}

func compileElems(words []string, f *Form) (elems []elem, rest []string) {
	for len(words) > 0 {
		w := words[0]
		words = words[1:]
		switch {
		case w == "[":
			var group []elem
			group, words = compileElems(words, f)
			if len(words) == 0 || words[0] != "]" {
				panic("dialect: unbalanced [ in form " + f.Text)
			}
			words = words[1:]
			elems = append(elems, elem{kind: optional, group: group})
		case w == "]":
			return elems, append([]string{"]"}, words...)
		case w[0] == '<' && strings.HasSuffix(w, ">"):
			elems = append(elems, compileValue(w[1:len(w)-1]))
		default:
			elems = append(elems, elem{kind: literal, text: w})
		}
	}
	return elems, nil
}

func compileValue(spec string) elem {
	if name, ok := strings.CutSuffix(spec, "..."); ok {
		return elem{kind: restWords, text: name}
	}
	if name, ok := strings.CutSuffix(spec, "+"); ok {
		return elem{kind: manyWords, text: name}
	}
	name, kind, ok := strings.Cut(spec, ":")
	switch {
	case !ok:
		return elem{kind: anyWord, text: name}
	case kind == "num":
		return elem{kind: number, text: name}
	case kind == "list":
		return elem{kind: numberList, text: name}
	}
	if lo, hi, ok := strings.Cut(kind, "-"); ok {
		l, err1 := strconv.ParseInt(lo, 10, 64)
		h, err2 := strconv.ParseInt(hi, 10, 64)
		if err1 == nil && err2 == nil {
			return elem{kind: intRange, text: name, lo: l, hi: h}
		}
	}
	return elem{kind: choice, text: name, choices: strings.Split(kind, "|")}
}

// match fills args from words; it reports whether all words were taken.
func match(elems []elem, words []string, args Args) bool {
	if len(elems) == 0 {
		return len(words) == 0
	}
	e := &elems[0]
	if e.kind == optional {
		return matchOptional(e, elems[1:], words, args)
	}
	if len(words) == 0 {
		return false
	}
	if e.kind == manyWords {
		for n := 1; n <= len(words); n++ {
			if match(elems[1:], words[n:], args) {
				args[e.text] = strings.Join(words[:n], " ")
				return true
			}
		}
		return false
	}
	value := words[0]
	rest := words[1:]
	if e.kind == restWords {
		value = strings.Join(words, " ")
		rest = nil
	} else if !e.takes(value) {
		return false
	}
	if !match(elems[1:], rest, args) {
		return false
	}
	if e.kind == choice { // as the form spells it
		value = e.choices[slices.IndexFunc(e.choices, func(c string) bool { return strings.EqualFold(c, value) })]
	}
	if e.kind != literal {
		args[e.text] = value
	}
	return true
}

func matchOptional(e *elem, after []elem, words []string, args Args) bool {
	if len(e.group) == 1 && e.group[0].kind == literal {
		w := e.group[0].text
		if len(words) > 0 && strings.EqualFold(words[0], w) && match(after, words[1:], args) {
			args[w] = w
			return true
		}
		return match(after, words, args)
	}
	joined := make([]elem, 0, len(e.group)+len(after))
	joined = append(append(joined, e.group...), after...)
	return match(joined, words, args) || match(after, words, args)
}

func (e *elem) takes(word string) bool {
	switch e.kind {
	case literal:
		return strings.EqualFold(word, e.text)
	case anyWord:
		return true
	case intRange:
		n, err := strconv.ParseInt(word, 10, 64)
		return err == nil && n >= e.lo && n <= e.hi && word[0] != '+'
	case number:
		if word[0] == '+' {
			return false
		}
		f, err := strconv.ParseFloat(word, 64)
		return err == nil && f >= 0 && f < 1e15
	case numberList:
		_, ok := ParseList(word, 1<<20)
		return ok
	case choice:
		return slices.ContainsFunc(e.choices, func(c string) bool { return strings.EqualFold(c, word) })
	}
	return false
}

// A Place is one value of a form.
type Place struct {
	Name     string
	Optional bool
	Kind     string // "word", "number", "integer", "list", "choice", "words", or "literal": an optional word
	Lo, Hi   int64  // of an integer
	Choices  []string
}

// Places returns the values of a form in their order.
func (f *Form) Places() []Place { return places(compileForm(f).elems, false) }

func places(elems []elem, opt bool) []Place {
	var out []Place
	for _, e := range elems {
		switch e.kind {
		case literal:
		case optional:
			if len(e.group) == 1 && e.group[0].kind == literal {
				out = append(out, Place{Name: e.group[0].text, Optional: true, Kind: "literal"})
				continue
			}
			out = append(out, places(e.group, true)...)
		default:
			kind := [...]string{anyWord: "word", intRange: "integer", number: "number", numberList: "list", choice: "choice", manyWords: "words", restWords: "words"}[e.kind]
			out = append(out, Place{e.text, opt, kind, e.lo, e.hi, e.choices})
		}
	}
	return out
}

// Line writes the statement with these values. Optional words are written
// where all their values are given. It fails when a value is missing or is not
// one that the form takes.
func (f *Form) Line(args Args) (string, error) {
	words, err := fill(compileForm(f).elems, args, f)
	return strings.Join(words, " "), err
}

func fill(elems []elem, args Args, f *Form) ([]string, error) {
	var words []string
	for i := range elems {
		e := &elems[i]
		switch e.kind {
		case literal:
			words = append(words, e.text)
		case optional:
			if given(e.group, args) {
				group, err := fill(e.group, args, f)
				if err != nil {
					return nil, err
				}
				words = append(words, group...)
			}
		default:
			v, ok := args[e.text]
			if !ok || v == "" || e.kind < manyWords && (strings.ContainsAny(v, " \t") || !e.takes(v)) {
				return nil, fmt.Errorf("%s: value %q of %s does not fit %q", f.ID, v, e.text, f.Text)
			}
			words = append(words, v)
		}
	}
	return words, nil
}

func given(group []elem, args Args) bool {
	if len(group) == 1 && group[0].kind == literal {
		return args.Has(group[0].text)
	}
	for i := range group {
		switch group[i].kind {
		case literal, optional:
		default:
			if !args.Has(group[i].text) {
				return false
			}
		}
	}
	return true
}
