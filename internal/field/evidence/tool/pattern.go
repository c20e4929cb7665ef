package tool

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// A Pattern is a regular expression that first looks for a literal which
// every match must hold. Nearly all lines of a log are no match of nearly all
// patterns, and a search for a literal tells that many times faster.
type Pattern struct {
	*regexp.Regexp
	need   string // contained in every match, "" if none is known
	prefix bool   // every match starts with need, at the start of the text
}

// MustCompile parses a regular expression, and panics if it is none.
func MustCompile(expr string) *Pattern {
	p := &Pattern{Regexp: regexp.MustCompile(expr)}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err == nil {
		p.need, p.prefix = required(tree.Simplify())
	}
	return p
}

// possible reports whether s may hold a match.
func (p *Pattern) possible(s string) bool {
	if p.prefix {
		return strings.HasPrefix(s, p.need)
	}
	return strings.Contains(s, p.need)
}

// MatchString is that of regexp.
func (p *Pattern) MatchString(s string) bool { return p.possible(s) && p.Regexp.MatchString(s) }

// FindStringSubmatch is that of regexp.
func (p *Pattern) FindStringSubmatch(s string) []string {
	if !p.possible(s) {
		return nil
	}
	return p.Regexp.FindStringSubmatch(s)
}

// required returns the longest literal that every match of an expression
// holds, and whether it is anchored at the start of the text.
func required(re *syntax.Regexp) (literal string, prefix bool) {
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	if len(parts) > 1 && parts[0].Op == syntax.OpBeginText && parts[1].Op == syntax.OpLiteral && parts[1].Flags&syntax.FoldCase == 0 && len(parts[1].Rune) > 2 {
		return string(parts[1].Rune), true
	}
	for _, part := range parts {
		if s := mandatory(part); len(s) > len(literal) {
			literal = s
		}
	}
	return literal, false
}

// mandatory returns a literal that a match of one part must hold.
func mandatory(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return mandatory(re.Sub[0])
	case syntax.OpConcat:
		best := ""
		for _, sub := range re.Sub {
			if s := mandatory(sub); len(s) > len(best) {
				best = s
			}
		}
		return best
	}
	return ""
}
