package capture

import (
	"math/rand/v2"
	"slices"
	"testing"

	"weir/roce"
)

func TestPSNSet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var s psnSet
	budget := 1 << 12
	want := map[roce.PSN]bool{}
	for range 20000 {
		psn := roce.PSN(rnd.Uint32N(1 << 15)).Add(-100)
		added, exact := s.add(psn, &budget)
		if added == want[psn] || !exact {
			t.Fatalf("PSN %d: added %v, exact %v", psn, added, exact)
		}
		want[psn] = true
	}
	if s.count != len(want) {
		t.Errorf("count %d, want %d", s.count, len(want))
	}
	budget = 0
	if added, exact := s.add(0x800000, &budget); added || exact {
		t.Error("a page beyond the budget")
	}
}

func TestHistogram(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	var h histogram
	var all []int64
	for range 5000 {
		v := rnd.Int64N(1 << (4 + rnd.UintN(30)))
		h.add(v)
		all = append(all, v)
	}
	slices.Sort(all)
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
		want := all[int(q*float64(len(all)-1))]
		got := h.percentile(q)
		if d := float64(got - want); d > 0.032*float64(want)+1 || -d > 0.032*float64(want)+1 {
			t.Errorf("percentile %v = %d, want about %d", q, got, want)
		}
	}
	h.add(1 << 62)
	h.add(-5)
	if h.max != 1<<62 || h.percentile(1) < 1e12 {
		t.Error("the largest value is lost")
	}
}

func TestTimeline(t *testing.T) {
	var l timeline
	for at := int64(0); at < 1e9; at += 1e6 {
		l.add(at, 10)
	}
	l.add(-1, 10)
	var sum uint64
	for _, b := range l.bytes {
		sum += b
	}
	if sum != 10000 || l.width != 25600e3 || l.used != 40 || l.bytes[3] != 250 && l.bytes[3] != 260 {
		t.Errorf("sum %d, width %d, used %d, %v", sum, l.width, l.used, l.bytes)
	}
}
