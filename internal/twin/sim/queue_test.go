package sim

import (
	"slices"
	"testing"
	"unsafe"

	"pgregory.net/rapid"

	"weir/units"
)

func TestEventSize(t *testing.T) {
	if n := unsafe.Sizeof(event{}); n != 16 {
		t.Errorf("an event takes %d bytes, want 16", n)
	}
}

func TestKeyRoundTrip(t *testing.T) {
	for _, c := range []struct {
		node  uint32
		kind  kind
		index uint32
	}{{0, 0, 0}, {maxNodes - 1, 15, maxIndexes - 1}, {5, 3, 77}} {
		k := makeKey(c.node, c.kind, c.index)
		if k.node() != c.node || k.kind() != c.kind || k.index() != c.index {
			t.Errorf("key of %v gives %d %d %d", c, k.node(), k.kind(), k.index())
		}
	}
	if makeKey(1, 0, 0) < makeKey(0, 15, maxIndexes-1) {
		t.Error("keys are not ordered by node first")
	}
}

// A queue must give events in the order of (time, key) whatever is pushed, as
// long as nothing is pushed into the past. The reference is a sorted slice.
func TestQueueOrder(t *testing.T) {
	for _, heapOnly := range []bool{false, true} {
		rapid.Check(t, func(t *rapid.T) {
			q := newQueue(heapOnly)
			var want []event
			now := units.Time(0)
			steps := rapid.SliceOfN(rapid.Uint64(), 1, 400).Draw(t, "steps")
			spread := rapid.SampledFrom([]uint64{1, 100, 1e4, 1e6, 1e9, 1e13}).Draw(t, "spread")
			for _, s := range steps {
				if s%3 == 0 && len(want) > 0 {
					popOne(t, q, &want, &now)
					continue
				}
				d := units.Time(s >> 8 % spread)
				if s%16 == 1 {
					d = units.Time(s >> 8 % 1e12)
				}
				e := event{now + d, key(s >> 40 & 7)}
				q.push(e.at, e.key)
				i, _ := slices.BinarySearchFunc(want, e, order)
				want = slices.Insert(want, i, e)
			}
			for len(want) > 0 {
				popOne(t, q, &want, &now)
			}
			if _, ok := q.next(); ok || q.len() != 0 {
				t.Fatal("events are left")
			}
		})
	}
}

func order(a, b event) int {
	switch {
	case a.before(b):
		return -1
	case b.before(a):
		return 1
	}
	return 0
}

func popOne(t *rapid.T, q *queue, want *[]event, now *units.Time) {
	if q.len() != len(*want) {
		t.Fatalf("len is %d, want %d", q.len(), len(*want))
	}
	e, ok := q.next()
	if !ok || e != (*want)[0] {
		t.Fatalf("next is %v %v, want %v", e, ok, (*want)[0])
	}
	q.drop()
	*now = e.at
	*want = (*want)[1:]
}

// The wheel must agree with the heap through changes of density by a factor
// of a million, which make it widen, narrow and split buckets.
func TestQueueTuning(t *testing.T) {
	wheel, ref := newQueue(false), newQueue(true)
	seed := uint64(1)
	random := func() uint64 {
		seed = seed*6364136223846793005 + 1442695040888963407
		return seed >> 20
	}
	for i := range 300 {
		e := event{units.Time(random() % 1e6), key(i)}
		wheel.push(e.at, e.key)
		ref.push(e.at, e.key)
	}
	spreads := []uint64{1e6, 1e2, 1e9, 1e3, 1e12, 5, 1e5}
	shifts := map[uint]bool{}
	for i := range 700_000 {
		a, _ := wheel.next()
		b, _ := ref.next()
		if a != b {
			t.Fatalf("event %d: wheel gives %v, heap %v", i, a, b)
		}
		wheel.drop()
		ref.drop()
		at := a.at + units.Time(random()%spreads[i/100_000])
		wheel.push(at, a.key)
		ref.push(at, a.key)
		shifts[wheel.shift] = true
	}
	if len(shifts) < 5 {
		t.Errorf("bucket widths used: %v; the wheel did not adapt", shifts)
	}
}

// Random inserts at one time must not cost a move of everything before.
func TestQueueCrowd(t *testing.T) {
	q := newQueue(false)
	const n = 200_000
	for i := range uint64(n) {
		q.push(0, key(i*7919%n))
	}
	for i := range key(n) {
		e, ok := q.next()
		if !ok || e.key != i {
			t.Fatalf("event %d: got key %d", i, e.key)
		}
		q.drop()
	}
}

// BenchmarkQueue is the hold model: with n events pending, take the earliest
// and push it back later. The mix is that of packets: serialisation times,
// link delays, timers and a few timeouts.
func BenchmarkQueue(b *testing.B) {
	for _, c := range []struct {
		name     string
		pending  int
		heapOnly bool
	}{{"wheel/1e3", 1e3, false}, {"wheel/1e5", 1e5, false}, {"heap/1e5", 1e5, true}} {
		b.Run(c.name, func(b *testing.B) {
			q := newQueue(c.heapOnly)
			seed := uint64(1)
			delta := func() units.Time {
				seed = seed*6364136223846793005 + 1442695040888963407
				r := seed >> 24
				switch p := r % 100; {
				case p < 45:
					return 83_840
				case p < 90:
					return []units.Time{1_000_000, 500_000}[r>>8&1]
				case p < 98:
					return 1_000_000 + units.Time(r>>8%10_000_000)
				}
				return units.Millisecond
			}
			for i := range c.pending {
				q.push(delta(), key(i)<<spareBits)
			}
			hold := func() {
				e, _ := q.next()
				q.drop()
				q.push(e.at+delta(), e.key)
			}
			for range 20 * c.pending {
				hold()
			}
			b.ReportAllocs()
			for b.Loop() {
				hold()
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mevents/s")
		})
	}
}
