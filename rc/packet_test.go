package rc_test

import (
	"testing"

	"weir/rc"
	"weir/units"
)

// TestTimeout holds the timer ladder: 4.096 us x 2^exponent, and the usual 7
// retries, hence eight tries. Source: section 9.7.6.1.3; values as in NCCL's
// guide for NCCL_IB_TIMEOUT.
func TestTimeout(t *testing.T) {
	for _, c := range []struct {
		exponent   uint8
		one, eight units.Time // ps
	}{
		{0, 0, 0},
		{1, 8_192_000, 65_536_000},
		{14, 67_108_864_000, 536_870_912_000},
		{18, 1_073_741_824_000, 8_589_934_592_000},
		{20, 4_294_967_296_000, 34_359_738_368_000},
		{22, 17_179_869_184_000, 137_438_953_472_000},
		{31, 8_796_093_022_208_000, 70_368_744_177_664_000},
	} {
		if got := rc.Timeout(c.exponent); got != c.one {
			t.Errorf("Timeout(%d) = %d ps, want %d", c.exponent, got, c.one)
		}
		if got := rc.RetryTime(rc.Timeout(c.exponent), 7); got != c.eight {
			t.Errorf("RetryTime of exponent %d = %d ps, want %d", c.exponent, got, c.eight)
		}
	}
}
