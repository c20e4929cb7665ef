package validation

import (
	"testing"
)

// The simulated rows of transports are met, but for the one that says why not.
func TestTransportRows(t *testing.T) {
	for _, target := range transportTargets() {
		if target.ID != "V32" && target.ID != "V53" && target.ID != "V58" && target.ID != "V59" && target.ID != "V62" {
			continue
		}
		rows, err := target.Run(t.Context())
		if err != nil {
			t.Fatal(target.ID, err)
		}
		for _, r := range rows {
			t.Logf("%s %s: %s, expected %s (%s): %s", target.ID, r.Case, r.Measured, r.Expected, r.Tolerance, r.Status)
			if r.Status == Missed && r.Note == "" {
				t.Errorf("%s %s: %s, expected %s", target.ID, r.Case, r.Measured, r.Expected)
			}
		}
	}
}
