package sim

import (
	"testing"

	"weir/units"
)

// Every time lies in its bucket, whose lower bound is at most 1/256 below.
func TestHistogram(t *testing.T) {
	for _, at := range []units.Time{0, 1 * units.Nanosecond, 255 * units.Nanosecond, 256 * units.Nanosecond, 846671 * units.Nanosecond, 17 * units.Second, 3 * 3600 * units.Second} {
		var h Histogram
		h.add(at)
		got := h.Quantile(0.5)
		if got > at || at-got > at/256 {
			t.Errorf("%v is told as %v", at, got)
		}
	}
	var h Histogram
	for i := range 100 {
		h.add(units.Time(i+1) * units.Microsecond)
	}
	var twice Histogram
	twice.Add(&h)
	twice.Add(&h)
	for q, want := range map[float64]units.Time{0.5: 50 * units.Microsecond, 0.99: 99 * units.Microsecond, 1: 100 * units.Microsecond} {
		for _, g := range []*Histogram{&h, &twice} {
			if got := g.Quantile(q); got > want || want-got > want/256 {
				t.Errorf("quantile %v of 1 to 100 us is %v, want %v", q, got, want)
			}
		}
	}
}
