package diagnosis

import (
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/goccy/go-yaml"

	"weir/internal/cause"
	"weir/internal/finding"
	"weir/internal/telemetry"
)

type fix = finding.Fix

var loadOnce = sync.OnceValues(cause.Load)

// Every counter that is explained stands in the metric table, and every
// setting among the known names.
func TestReferenceNamesExist(t *testing.T) {
	counters, err := cause.Counters()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range counters {
		if _, ok := telemetry.Lookup(c.Metric); !ok {
			t.Errorf("%s is no metric", c.Metric)
		}
	}
	variables, err := cause.Variables()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range variables {
		if !KnownVariable(v.Name) {
			t.Errorf("%s is not among the known variables", v.Name)
		}
	}
}

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
