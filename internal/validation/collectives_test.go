package validation

import "testing"

// The short targets of collectives are met, or missed with the reason in the row.
func TestCollectiveTargets(t *testing.T) {
	checkTargets(t, collectiveTargets())
}
