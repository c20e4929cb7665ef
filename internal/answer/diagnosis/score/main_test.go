package main

import (
	"os"
	"strings"
	"testing"
)

// The table of docs/diagnosis.md is what the command prints.
func TestTableInDocumentation(t *testing.T) {
	const cases, page = "../../../../../shared/cases", "../../../../docs/diagnosis.md"
	if _, err := os.Stat(cases); err != nil {
		t.Skip("the shared cases are not here")
	}
	var out strings.Builder
	met, err := run(cases, &out)
	if err != nil {
		t.Fatal(err)
	}
	if !met {
		t.Errorf("a target is missed:\n%s", out.String())
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), strings.TrimSpace(out.String())) {
		t.Errorf("%s does not hold the table: run go run ./internal/answer/diagnosis/score ../shared/cases\n%s", page, out.String())
	}
}

func TestRunRefusesAnEmptyDirectory(t *testing.T) {
	if _, err := run(t.TempDir(), &strings.Builder{}); err == nil {
		t.Error("a directory without cases was scored")
	}
}
