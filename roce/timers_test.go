package roce_test

import (
	"testing"
	"time"

	"weir/roce"
)

// The table as milliseconds, as manuals print it.
func TestRNRTime(t *testing.T) {
	want := [32]float64{
		655.36, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.24, 0.32, 0.48, 0.64, 0.96, 1.28, 1.92,
		2.56, 3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52,
	}
	for code, ms := range want {
		d := time.Duration(ms*1000+0.5) * time.Microsecond
		if got := roce.RNRTime(uint8(code)); got != d {
			t.Errorf("RNRTime(%d) = %v, want %v", code, got, d)
		}
		if got := roce.RNRTime(uint8(code) | 0xe0); got != d {
			t.Errorf("RNRTime(%d) with high bits = %v, want %v", code, got, d)
		}
		if got := roce.RNRCode(d); got != uint8(code) {
			t.Errorf("RNRCode(%v) = %d, want %d", d, got, code)
		}
	}
	for _, c := range []struct {
		d    time.Duration
		want uint8
	}{{0, 1}, {11 * time.Microsecond, 2}, {500 * time.Millisecond, 0}, {time.Hour, 0}} {
		if got := roce.RNRCode(c.d); got != c.want {
			t.Errorf("RNRCode(%v) = %d, want %d", c.d, got, c.want)
		}
	}
}

func TestAckTimeout(t *testing.T) {
	for _, c := range []struct {
		code uint8
		want time.Duration
	}{
		{0, 0}, {1, 8192}, {14, 67108864}, {16, 268435456}, {18, 1073741824}, {20, 4294967296}, {22, 17179869184}, {31, 8796093022208},
	} {
		if got := roce.AckTimeout(c.code); got != c.want {
			t.Errorf("AckTimeout(%d) = %v, want %v", c.code, got, c.want)
		}
		if got := roce.AckTimeoutCode(c.want); got != c.code {
			t.Errorf("AckTimeoutCode(%v) = %d, want %d", c.want, got, c.code)
		}
	}
	if got := roce.AckTimeoutCode(67108865); got != 15 {
		t.Errorf("AckTimeoutCode just above code 14 = %d, want 15", got)
	}
	if got := roce.AckTimeoutCode(1 << 62); got != 31 {
		t.Errorf("AckTimeoutCode(huge) = %d, want 31", got)
	}
}
