package cluster

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/input"
)

var manyDigits = regexp.MustCompile(`[0-9]{5}`)

// Any text either loads, and then its effective file loads to the same
// effective file, or is refused in one line.
func FuzzParse(f *testing.F) {
	for _, text := range roundTripFiles {
		f.Add(text, "qos.ecn.min=10KB")
	}
	examples, _ := filepath.Glob("../../examples/*.yaml")
	for _, e := range examples {
		if text, err := os.ReadFile(e); err == nil {
			f.Add(string(text), "jobs[0].size=1M")
		}
	}
	f.Add("a: &a [*a, *a]\nb: *a", "host.nic.rails.x=1")
	f.Add("host: &h {count: 2}\nhosts: [*h, *h]", "hosts[1]={count: 3}")
	f.Add("? [a]\n: b", "=")
	f.Add("- - - - a", "jobs[0].flows[0].src=host-0")
	f.Fuzz(func(t *testing.T, text, set string) {
		// The size of what is described is not the subject here.
		if manyDigits.MatchString(text) || manyDigits.MatchString(set) {
			return
		}
		file, err := Parse("f.yaml", []byte(text), []string{set})
		if err != nil {
			var e *input.Error
			if !errors.As(err, &e) || strings.ContainsAny(err.Error(), "\n\r") || e.File == "" {
				t.Fatalf("not a refusal in one line: %q", err)
			}
			return
		}
		checkWiring(t, file.Cluster)
		if _, err := Parse("e.yaml", file.Effective(), nil); err != nil {
			t.Fatalf("the effective file is refused: %v\n%s", err, file.Effective())
		}
	})
}
