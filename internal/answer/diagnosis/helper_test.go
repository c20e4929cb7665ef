package diagnosis

import (
	"strings"
	"testing"
	"unicode"

	"github.com/goccy/go-yaml"

	"weir/internal/finding"
)

type fix = finding.Fix

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// rightOf reads the causes that a case file takes as right.
func rightOf(t *testing.T, text []byte) []string {
	t.Helper()
	var c struct {
		Expect struct {
			Cause string   `yaml:"cause"`
			Also  []string `yaml:"also_acceptable"`
		} `yaml:"expect"`
	}
	if err := yaml.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return append([]string{c.Expect.Cause}, c.Expect.Also...)
}
