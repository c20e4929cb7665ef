package evidence

import (
	"context"
	"slices"
	"strings"
	"testing"

	"weir/internal/fact"
)

// allCases are the outputs of all tools that the tests know.
func allCases() []toolCase {
	return slices.Concat(qosTools(), linkTools(), rdmaTools(), hostTools(), topologyTools(), perftestTools(), ncclTestsTools(), ncclLogTools(), switchTools())
}

// checkReport checks what holds for every report, whatever was read.
func checkReport(t *testing.T, r *Report, lines int) {
	t.Helper()
	for _, d := range r.Defects {
		t.Fatalf("the parser of %s failed at line %d: %s", d.Tool, d.Line, d.Text)
	}
	keys := map[string][]string{}
	for _, p := range Parsers() {
		keys[p.Tool] = append(keys[p.Tool], p.Keys...)
	}
	for _, f := range r.Facts {
		entry, ok := fact.Lookup(f.Key)
		switch {
		case !ok:
			t.Errorf("key %q of %s is not in the vocabulary", f.Key, f.Origin.Tool)
		case !slices.Contains(keys[f.Origin.Tool], entry.Name):
			t.Errorf("parser %s does not list its key %s", f.Origin.Tool, entry.Name)
		case f.Value.Kind() != entry.Form && !compatible(f, entry):
			t.Errorf("%s of %s is of form %d, the vocabulary says %d", f.Key, f.Origin.Tool, f.Value.Kind(), entry.Form)
		}
		if f.Origin.Line < 1 || f.Origin.Line > lines || f.Origin.Source == "" {
			t.Errorf("%s: place %+v of %d lines", f.Key, f.Origin, lines)
		}
		if t.Failed() {
			return
		}
	}
}

// compatible: a value may be absent; a number may be whole; counters of states
// may be texts; what a person states has the form it was written in.
func compatible(f fact.Fact, entry fact.Key) bool {
	return f.Value.Kind() == fact.Absent || f.Value.Kind() == fact.Uint && entry.Form == fact.Float || strings.HasPrefix(entry.Name, "counter.") || strings.HasPrefix(entry.Name, "stated.")
}

func TestKeysAreInTheVocabulary(t *testing.T) {
	for _, c := range allCases() {
		t.Run(c.name, func(t *testing.T) {
			checkReport(t, read(t, "x", c.text), strings.Count(c.text, "\n")+1)
		})
	}
	for _, p := range Parsers() {
		for _, k := range p.Keys {
			if _, ok := fact.Lookup(k); !ok {
				t.Errorf("parser %s lists %s, which the vocabulary does not have", p.Tool, k)
			}
		}
		if p.Tool == "" || p.Versions == "" || p.Recognise == nil && p.RecogniseJSON == nil && p.Command == nil || (p.Recognise == nil) != (p.New == nil) || (p.RecogniseJSON == nil) != (p.ParseJSON == nil) {
			t.Errorf("parser %q is not complete", p.Tool)
		}
	}
}

// FuzzRead reads any text with all parsers.
func FuzzRead(f *testing.F) {
	for _, c := range allCases() {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("\xff\xfeD\x00C\x00"))
	f.Add([]byte("{\n\"a\": [\n"))
	f.Add([]byte("0: a\n1: b\n0: c\n"))
	f.Add([]byte("[0] x\r\n\x1b[31mGID[  0]: fe80::1\b\b\b"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Read(context.Background(), Parsers(), bytesInput("x", b))
		if err != nil {
			t.Fatal(err)
		}
		checkReport(t, r, strings.Count(string(b), "\n")+1+strings.Count(string(b), "\x00"))
	})
}

// FuzzArchive reads any bytes as an archive.
func FuzzArchive(f *testing.F) {
	f.Add([]byte("PK\x03\x04"))
	f.Add([]byte("\x1f\x8b\x08\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x28\xb5\x2f\xfd\x04\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := Read(context.Background(), Parsers(), bytesInput("x", b)); err != nil {
			t.Fatal(err)
		}
	})
}
