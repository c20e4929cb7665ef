package tool

import (
	"testing"

	"pgregory.net/rapid"
)

func TestPatternNeeds(t *testing.T) {
	for expr, want := range map[string]string{
		`^Settings for (\S+):`:      "Settings for ",
		`(\d+) GT/s x(\d+)`:         " GT/s x",
		`^(?:a|b)*\s+:\s`:           ":",
		`(?i)link (up|down)`:        "",
		`^x?(?:abc)+y`:              "abc",
		`a.*bcd(?:efghij)?|klmnopq`: "",
	} {
		if p := MustCompile(expr); p.need != want {
			t.Errorf("%s needs %q, expected %q", expr, p.need, want)
		}
	}
}

// The literal must never refuse what the expression takes.
func TestPatternAgreesWithItsExpression(t *testing.T) {
	exprs := []string{`^ab(c|d)+e?`, `b+c`, `^(?:ab)?c`, `(?:a|bc)d`, `^a{2,3}b`, `(ab){0,2}c`, `(?i)ab`, `a[bc]d`, `^abc`, `(a(bc)d)+`}
	rapid.Check(t, func(t *rapid.T) {
		p := MustCompile(rapid.SampledFrom(exprs).Draw(t, "expr"))
		s := rapid.StringOfN(rapid.RuneFrom([]rune("abcdeA")), 0, 8, -1).Draw(t, "text")
		if p.MatchString(s) != p.Regexp.MatchString(s) {
			t.Fatalf("%s on %q", p, s)
		}
		if (p.FindStringSubmatch(s) == nil) != (p.Regexp.FindStringSubmatch(s) == nil) {
			t.Fatalf("%s finds in %q", p, s)
		}
	})
}
