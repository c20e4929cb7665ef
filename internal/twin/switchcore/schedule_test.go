package switchcore

import (
	"math"
	"testing"

	"weir/units"
)

// serve keeps the given priorities of port 1 backlogged with packets of the
// given sizes and returns the bytes that each sent of total.
func serve(t *testing.T, s *Switch, sizes map[uint8]uint32, total uint64) [8]uint64 {
	t.Helper()
	for p, size := range sizes {
		for range 4 {
			s.Enqueue(0, &Entry{Bytes: size, In: 0, Out: 1, Priority: p})
		}
	}
	var sent [8]uint64
	var e Entry
	var o Outcome
	for sum := uint64(0); sum < total; sum += uint64(e.Bytes) {
		if !s.Dequeue(0, 1, &e, &o) {
			t.Fatal("nothing to send")
		}
		sent[e.Priority] += uint64(e.Bytes)
		s.Enqueue(0, &Entry{Bytes: e.Bytes, In: 0, Out: 1, Priority: e.Priority})
	}
	check(t, s)
	return sent
}

func TestDeficitRoundRobinShares(t *testing.T) {
	for _, c := range []struct {
		name   string
		weight [8]uint32
		sizes  map[uint8]uint32
		want   map[uint8]float64
	}{
		{"equal", [8]uint32{3: 50, 0: 50}, map[uint8]uint32{0: 1500, 3: 4176}, map[uint8]float64{0: .5, 3: .5}},
		{"70 20 10", [8]uint32{3: 70, 4: 20, 0: 10}, map[uint8]uint32{0: 9216, 3: 64, 4: 1500}, map[uint8]float64{0: .1, 3: .7, 4: .2}},
		{"one of a hundred", [8]uint32{3: 99, 0: 1}, map[uint8]uint32{0: 9216, 3: 4176}, map[uint8]float64{0: .01, 3: .99}},
		{"only light ones are there", [8]uint32{7: 1000, 3: 1, 0: 1}, map[uint8]uint32{0: 9216, 3: 9216}, map[uint8]float64{0: .5, 3: .5}},
		{"weights left out", [8]uint32{}, map[uint8]uint32{0: 1000, 1: 700, 2: 300, 3: 100}, map[uint8]float64{0: .25, 1: .25, 2: .25, 3: .25}},
	} {
		cfg := small(2)
		cfg.Weight = c.weight
		const total = 100_000_000
		sent := serve(t, mustNew(t, cfg), c.sizes, total)
		for p, want := range c.want {
			if got := float64(sent[p]) / total; math.Abs(got-want) > 0.01*want {
				t.Errorf("%s: priority %d has %.5f of the link, want %.2f within 1 %%", c.name, p, got, want)
			}
		}
	}
}

// A queue that was empty or paused has saved nothing up: when it is back, it
// takes no more than its share over the next few rounds.
func TestRoundRobinSavesNothingUp(t *testing.T) {
	cfg := small(2)
	cfg.Lossless = 1<<3 | 1<<4
	cfg.Weight[3], cfg.Weight[4] = 50, 50
	s := mustNew(t, cfg)
	serve(t, s, map[uint8]uint32{3: 1000, 4: 1000}, 1_000_000)
	s.Pause(0, 1, 4, 65535)
	sent := serve(t, s, map[uint8]uint32{3: 1000}, 10_000_000)
	if sent[4] != 0 {
		t.Fatal("the paused queue sent")
	}
	s.Pause(1, 1, 4, 0)
	sent = serve(t, s, map[uint8]uint32{3: 1000, 4: 1000}, 200_000)
	if math.Abs(float64(sent[3])-float64(sent[4])) > 2*largestQuantum {
		t.Errorf("after the pause %d and %d bytes, want equal shares", sent[3], sent[4])
	}
}

// Nor has a queue that was served in many rounds but left most of its share
// unused.
func TestRoundRobinForgetsWhenEmpty(t *testing.T) {
	s := mustNew(t, small(2))
	for _, p := range []uint8{3, 5} {
		for range 100 {
			s.Enqueue(0, &Entry{Bytes: 4000, In: 0, Out: 1, Priority: p})
		}
	}
	var e Entry
	var o Outcome
	for i := range 20_000 {
		if i%20 == 0 {
			s.Enqueue(0, &Entry{Bytes: 64, In: 0, Out: 1, Priority: 4})
		}
		if s.Dequeue(0, 1, &e, &o); e.Priority != 4 {
			s.Enqueue(0, &Entry{Bytes: 4000, In: 0, Out: 1, Priority: e.Priority})
		}
	}
	sent := serve(t, s, map[uint8]uint32{3: 4000, 4: 64, 5: 4000}, 600_000)
	for p, n := range sent {
		if (p == 3 || p == 4 || p == 5) && math.Abs(float64(n)-200_000) > 2*largestQuantum {
			t.Errorf("priority %d sent %d bytes of 600000, want a third", p, n)
		}
	}
}

func TestStrictPrioritiesComeFirst(t *testing.T) {
	cfg := small(2)
	cfg.Strict = 1<<6 | 1<<7 | 1<<1
	cfg.Weight[3], cfg.Weight[0] = 90, 10
	s := mustNew(t, cfg)
	for _, p := range []uint8{0, 1, 3, 6, 7, 0, 1, 3, 6, 7} {
		enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: p})
	}
	var e Entry
	var o Outcome
	var order []uint8
	for s.Dequeue(0, 1, &e, &o) {
		order = append(order, e.Priority)
	}
	for i, want := range []uint8{7, 7, 6, 6, 1, 1} {
		if order[i] != want {
			t.Fatalf("order %v, want 7 7 6 6 1 1 first", order)
		}
	}
	if len(order) != 10 {
		t.Errorf("%d packets", len(order))
	}
	// A paused strict queue does not hold up the others.
	cfg.Lossless = 1 << 6
	s = mustNew(t, cfg)
	enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 6})
	enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 0})
	s.Pause(0, 1, 6, 10)
	if !s.Dequeue(0, 1, &e, &o) || e.Priority != 0 {
		t.Errorf("sent %+v", e)
	}
}

func TestQueuesAreFirstInFirstOut(t *testing.T) {
	s := mustNew(t, small(4))
	next := [4]uint32{}
	for i := range uint32(5000) {
		out := uint16(i*i) % 4
		s.Enqueue(units.Time(i), &Entry{Packet: i, Bytes: 100, In: uint16(i) % 4, Out: out, Priority: 3})
		if i%3 == 0 {
			continue
		}
		var e Entry
		var o Outcome
		if s.Dequeue(units.Time(i), out, &e, &o) {
			if e.Packet < next[out] {
				t.Fatalf("packet %d after %d", e.Packet, next[out])
			}
			next[out] = e.Packet
		}
	}
	check(t, s)
}
