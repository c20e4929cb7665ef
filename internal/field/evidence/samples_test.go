package evidence

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"weir/internal/fact"
)

const samplesDir = "../../../../shared/samples"

// A finder gets from a report what an index calls by one name.
type finder func(r *Report) any

// lookup returns the values of a key, whatever their subject.
func lookup(r *Report, key string) []fact.Value {
	var out []fact.Value
	for _, f := range r.Facts {
		if f.Key == key {
			out = append(out, f.Value)
		}
	}
	return out
}

// one finds the first value of a key; missing says that there is none.
func one(key string) finder {
	return func(r *Report) any {
		if v := lookup(r, key); len(v) > 0 {
			return v[0].Any()
		}
		return missing
	}
}

const missing = "(no such fact)"

// divided is one, divided by the unit of the index.
func divided(key string, by float64) finder {
	return func(r *Report) any {
		v := lookup(r, key)
		if len(v) == 0 {
			return missing
		}
		if v[0].Kind() == fact.Absent {
			return nil
		}
		f, _ := v[0].Float()
		return f / by
	}
}

// all finds every value of a key.
func all(key string) finder {
	return func(r *Report) any {
		list := []any{}
		for _, v := range lookup(r, key) {
			list = append(list, v.Any())
		}
		return list
	}
}

// indexed finds the values of keys with one placeholder, by what stands there.
func indexed(pattern string) func(r *Report) map[string][]any {
	before, after, _ := strings.Cut(pattern, "*")
	return func(r *Report) map[string][]any {
		out := map[string][]any{}
		for _, f := range r.Facts {
			rest, ok := strings.CutPrefix(f.Key, before)
			if rest, ok2 := strings.CutSuffix(rest, after); ok && ok2 && !strings.Contains(rest, ".") {
				out[rest] = append(out[rest], f.Value.Any())
			}
		}
		return out
	}
}

// asMap finds the first value of each, asLists all of them, asRow those of 0, 1, 2 ...
func asMap(pattern string) finder {
	return func(r *Report) any {
		m := map[string]any{}
		for k, v := range indexed(pattern)(r) {
			m[k] = v[0]
		}
		return m
	}
}

func asLists(pattern string) finder {
	return func(r *Report) any {
		m := map[string]any{}
		for k, v := range indexed(pattern)(r) {
			m[k] = v
		}
		return m
	}
}

func asRow(pattern string, from int) finder {
	return func(r *Report) any {
		m := indexed(pattern)(r)
		row := []any{}
		for i := from; len(m[strconv.Itoa(i)]) > 0; i++ {
			row = append(row, m[strconv.Itoa(i)][0])
		}
		return row
	}
}

// bySubject finds the values of a key by the subject's name.
func bySubject(key string) finder {
	return func(r *Report) any {
		m := map[string]any{}
		for _, f := range r.Facts {
			if f.Key == key {
				m[f.Subject.Name] = f.Value.Any()
			}
		}
		return m
	}
}

func counterOf(name string) finder { return one("counter." + name) }

// where returns the keys (or subjects) for which test holds.
func where(pattern string, test func(v any) bool) finder {
	return func(r *Report) any {
		list := []any{}
		for k, v := range indexed(pattern)(r) {
			if test(v[0]) {
				list = append(list, k)
			}
		}
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
		return list
	}
}

// has returns a name if a condition on the facts holds: an index lists labels
// of what its sample shows, and the facts must carry that.
func has(label string, conditions ...string) func(r *Report) string {
	return func(r *Report) string {
		for _, c := range conditions {
			key, want, _ := strings.Cut(c, "=")
			if !slices.ContainsFunc(lookup(r, key), func(v fact.Value) bool { return holds(v, want) }) {
				return "not " + label + ": no fact " + c
			}
		}
		return label
	}
}

func holds(v fact.Value, want string) bool {
	if want == ">0" {
		f, ok := v.Float()
		return ok && f > 0
	}
	return v.String() == want
}

func labels(list ...func(r *Report) string) finder {
	return func(r *Report) any {
		out := []any{}
		for _, l := range list {
			out = append(out, l(r))
		}
		return out
	}
}

func links(r *Report) []string {
	var list []string
	for _, f := range r.Facts {
		if f.Key == "rdma.port" {
			list = append(list, f.Subject.Name+"/"+f.Value.String())
		}
	}
	return list
}

// checkIndex compares every expected value of an index with what is found.
// find returns the finder for a name of a file.
func checkIndex(t *testing.T, folder, index string, find map[string]finder) {
	t.Helper()
	dir := filepath.Join(samplesDir, folder)
	text, err := os.ReadFile(filepath.Join(dir, index))
	if err != nil {
		t.Skipf("no samples beside the repository: %v", err)
	}
	var doc struct {
		Samples []struct {
			File   string         `yaml:"file"`
			Expect map[string]any `yaml:"expect"`
		} `yaml:"samples"`
	}
	if err := yaml.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Samples) == 0 {
		t.Fatalf("%s/%s lists no samples", folder, index)
	}
	values := 0
	for _, s := range doc.Samples {
		r, err := ReadPaths(context.Background(), []string{filepath.Join(dir, s.File)}, nil)
		if err != nil || len(r.Refused) > 0 {
			t.Errorf("%s: %v %v", s.File, err, r.Refused)
			continue
		}
		checkReport(t, r, r.Sources[0].Lines)
		for name, want := range s.Expect {
			values++
			f := find[s.File+" "+name]
			if f == nil {
				f = find[name]
			}
			if f == nil {
				t.Errorf("%s: the test does not say how to find %q", s.File, name)
				continue
			}
			if got := f(r); !same(want, got) {
				t.Errorf("%s %s: expected %v, found %v", s.File, name, want, got)
			}
		}
	}
	t.Logf("%s/%s: %d values of %d samples", folder, index, values, len(doc.Samples))
}

// same compares a value of YAML with one of a fact: numbers by value, lists in
// order, mappings by their expected members.
func same(want, got any) bool {
	switch w := want.(type) {
	case nil:
		return got == nil || got == missing
	case map[string]any:
		g, ok := got.(map[string]any)
		for k, v := range w {
			ok = ok && same(v, g[k])
		}
		return ok
	case []any:
		switch g := got.(type) {
		case []any:
			ok := len(w) == len(g)
			for i := range w {
				ok = ok && same(w[i], g[i])
			}
			return ok
		case []string:
			ok := len(w) == len(g)
			for i := range w {
				ok = ok && fmt.Sprint(w[i]) == g[i]
			}
			return ok
		case int:
			return len(w) == g
		}
		return false
	}
	a, b := fmt.Sprint(want), fmt.Sprint(got)
	if a == b {
		return true
	}
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	_, wantWhole := want.(uint64)
	_, gotWhole := got.(uint64)
	if errX != nil || errY != nil || wantWhole && gotWhole {
		return false
	}
	return math.Abs(x-y) <= 1e-6*math.Abs(x)
}
