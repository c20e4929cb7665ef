package cause

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"
)

func TestCatalogueIsComplete(t *testing.T) {
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	disruptions := map[string]bool{"none": true, "pause": true, "flap": true, "reload": true}
	orders := map[int]string{}
	for _, e := range c.All() {
		if other, twice := orders[e.Order]; twice {
			t.Errorf("%s and %s share order %d", e.ID, other, e.Order)
		}
		orders[e.Order] = e.ID
		for name, text := range map[string]Text{"title": e.Title, "effect": e.Effect, "looks_like": e.LooksLike, "refuted_by": e.RefutedBy} {
			if text.En == "" || !hasHan(text.Zh) {
				t.Errorf("%s: %s lacks a language", e.ID, name)
			}
		}
		if e.DecidingTest == "" || len(e.Fixes) == 0 {
			t.Errorf("%s: no deciding test or no fix", e.ID)
		}
		for _, f := range e.Fixes {
			if !disruptions[f.Disruption] || f.En == "" || !hasHan(f.Zh) {
				t.Errorf("%s: fix %+v lacks a language or names no known disruption", e.ID, f)
			}
		}
	}
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// The id space is shared with the recorded cases.
func TestSameIDsAsSharedCases(t *testing.T) {
	text, err := os.ReadFile("../../../shared/cases/CAUSES.md")
	if err != nil {
		t.Skipf("the shared cases are not here: %v", err)
	}
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	shared := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^- `([a-z0-9-]+)`").FindAllStringSubmatch(string(text), -1) {
		shared[m[1]] = true
		if _, ok := c.Find(m[1]); !ok {
			t.Errorf("cause %s is not in the catalogue", m[1])
		}
	}
	for _, e := range c.All() {
		if !shared[e.ID] {
			t.Errorf("cause %s is not in the shared id space", e.ID)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"an unknown key":   "id: a\nfrob: 1\n",
		"another id":       "id: b\n",
		"what is not YAML": "id: [\n",
	} {
		if _, err := read(fstest.MapFS{"catalogue/a.yaml": {Data: []byte(text)}}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
