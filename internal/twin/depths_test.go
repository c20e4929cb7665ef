package twin

import (
	"testing"

	"weir/units"
)

// Many samples become few points, in order, and the deepest of all stays.
func TestDepths(t *testing.T) {
	d := &Depths{span: 1}
	for i := range 100_000 {
		depth := units.Bytes(i % 7)
		if i == 54_321 {
			depth = 1 << 20
		}
		d.add(Depth{units.Time(i), depth})
	}
	points := d.Points()
	if len(points) > maxDepths || len(points) < maxDepths/2 {
		t.Errorf("%d points, want %d to %d", len(points), maxDepths/2, maxDepths)
	}
	var most units.Bytes
	for i, p := range points {
		most = max(most, p.Bytes)
		if i > 0 && p.At <= points[i-1].At {
			t.Fatal("times do not rise")
		}
	}
	if most != 1<<20 {
		t.Errorf("deepest %v, want 1 MiB", most)
	}
}
