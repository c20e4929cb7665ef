package fault

import (
	"os"
	"strings"
	"testing"

	"weir/internal/cause"
	"weir/internal/fact"
	"weir/internal/telemetry"
)

// docs/faults.md is the table; WEIR_UPDATE=1 go test rewrites it.
func TestReference(t *testing.T) {
	const file = "../../../docs/faults.md"
	if os.Getenv("WEIR_UPDATE") != "" {
		if err := os.WriteFile(file, Reference(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(Reference()) {
		t.Errorf("%s is not what the table says: WEIR_UPDATE=1 go test ./internal/twin/fault", file)
	}
}

// Ids are causes; what moves is a metric, a key of the vocabulary or a name of
// the run's result.
func TestTable(t *testing.T) {
	catalogue, err := cause.Load()
	if err != nil {
		t.Fatal(err)
	}
	metrics := map[string]bool{"time": true}
	for _, m := range telemetry.Table() {
		metrics[m.Name] = true
	}
	seen := map[string]bool{}
	for _, k := range Table() {
		if _, ok := catalogue.Find(k.ID); !ok {
			t.Errorf("%s is no cause", k.ID)
		}
		if seen[k.ID] || len(k.Places) == 0 || k.Effect == "" || len(k.Moves) == 0 || k.apply == nil || (k.Severity == "") != (k.Default == 0) {
			t.Errorf("%s: twice or incomplete", k.ID)
		}
		seen[k.ID] = true
		for _, m := range k.Moves {
			key, isFact := strings.CutPrefix(m, "fact ")
			if _, known := fact.Lookup(key); isFact && !known || !isFact && !metrics[m] {
				t.Errorf("%s moves %q, which is neither a metric nor a fact", k.ID, m)
			}
		}
	}
	if len(seen) != 34 {
		t.Errorf("%d faults, expected 34", len(seen))
	}
}
