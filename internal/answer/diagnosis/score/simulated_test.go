package main

import (
	"strings"
	"testing"
)

// TestSimulated runs a trial of each fault and looks at the table's form; what
// it says is measured by the command.
func TestSimulated(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	var b strings.Builder
	if _, err := onSimulator(t.Context(), &b, 1); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n| "); n < 34+4 {
		t.Errorf("%d rows:\n%s", n, b.String())
	}
}
