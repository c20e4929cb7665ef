package qos

import "testing"

// Validation target V16: 32 x 40 Gb/s, 12 MB, 22.4 KB of headroom. The paper
// gives 24.47 KB and 21.75 KB; its 0.85 KB for the static rule is 0.765 by its
// own formula.
func TestThresholdRules(t *testing.T) {
	r := ThresholdRules{Buffer: 12_000_000, Ports: 32, Priorities: 8, Headroom: 22_400}
	if got := r.XOFF(); got != 24_475 {
		t.Errorf("XOFF %d, want 24475", got)
	}
	if got := r.StaticECN(); got != 764 {
		t.Errorf("static ECN %d, want 764", got)
	}
	if got := r.DynamicECN(8); got != 21_755 {
		t.Errorf("dynamic ECN %d, want 21755", got)
	}
	r.Headroom = 50_000 // more than there is
	if r.XOFF() != 0 || r.DynamicECN(8) != 0 {
		t.Error("bounds without a shared buffer")
	}
}
