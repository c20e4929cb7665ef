package systems_test

import (
	"strings"
	"testing"

	"weir/internal/cause"
	"weir/internal/field/dialect/systems"
)

// What an explanation says a system calls a setting is a statement of that system.
func TestExplainedStatements(t *testing.T) {
	settings, err := cause.Settings()
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, s := range settings {
		for name, line := range s.Vendors {
			sys, ok := systems.Named(name)
			if !ok || sys.Statements == nil || strings.HasPrefix(line, "no such") || strings.HasPrefix(line, "chosen") {
				continue
			}
			g := sys.Statements()
			known := false
			for i, f := range g.Forms() {
				if i > 0 && g.Forms()[i-1].In == f.In {
					continue
				}
				if got, _ := g.Read(f.In, line); got != nil {
					known = true
				}
			}
			if !known {
				t.Errorf("%s: %s has no statement %q", s.Name, name, line)
			}
			read++
		}
	}
	if read < 60 {
		t.Errorf("%d statements", read)
	}
}
