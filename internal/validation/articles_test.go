package validation

import (
	"context"
	"os"
	"testing"
)

// The short targets of the articles are met, or missed with the reason in the row.
func TestArticleTargets(t *testing.T) {
	checkTargets(t, articleTargets())
}

func checkTargets(t *testing.T, targets []Target) {
	for _, target := range targets {
		if target.Long && os.Getenv("WEIR_LONG") == "" {
			continue
		}
		t.Run(target.ID, func(t *testing.T) {
			rows, err := target.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.Status == Missed && r.Note == "" {
					t.Errorf("%s: got %s, want %s (%s)", r.Case, r.Measured, r.Expected, r.Tolerance)
				}
				t.Logf("%-8s %s: %s, want %s", r.Status, r.Case, r.Measured, r.Expected)
			}
		})
	}
}
