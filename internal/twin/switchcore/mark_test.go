package switchcore

import (
	"math"
	"testing"

	"weir/internal/qos"
	"weir/units"
)

// scaled is a probability as outcomes carry it.
func scaled(p float64) float64 { return p * (1 << 32) }

func TestRamp(t *testing.T) {
	r := newRamp(qos.ECN{Enabled: true, Min: 100_000, Max: 400_000, Probability: 0.2})
	for _, c := range []struct {
		queue uint32
		want  float64 // probability
	}{
		{0, 0}, {100_000, 0}, {250_000, 0.1}, {175_000, 0.05}, {400_000, 0.2}, {400_001, 1}, {1 << 31, 1},
	} {
		if got := float64(r.mark(c.queue)); math.Abs(got-scaled(c.want)) > 1e-6*scaled(1) {
			t.Errorf("queue %d: %v, want %v", c.queue, got/scaled(1), c.want)
		}
	}
	// A step: nothing up to K, all above.
	r = newRamp(qos.ECN{Enabled: true, Min: 10_000, Max: 10_000, Probability: 1})
	if r.mark(10_000) != 0 || r.mark(10_001) != math.MaxUint32 {
		t.Error("a ramp without width is not a step")
	}
	// Probability 1 at max is "always" there, and a little less is not.
	r = newRamp(qos.ECN{Enabled: true, Min: 5_000, Max: 20_000, Probability: 1})
	if got := r.mark(20_000); got < math.MaxUint32-1<<16 {
		t.Errorf("at max: %d", got)
	}
	r = newRamp(qos.ECN{Min: 1, Max: 2, Probability: 1})
	if r.mark(math.MaxUint32) != 0 {
		t.Error("marks while disabled")
	}
}

func TestMarksDraws(t *testing.T) {
	if (Outcome{}).Marks(0) {
		t.Error("marks with probability 0")
	}
	if o := (Outcome{Mark: math.MaxUint32}); !o.Marks(math.MaxUint32) || !o.Marks(0) {
		t.Error("does not always mark")
	}
	if o := (Outcome{Mark: 1 << 31}); !o.Marks(1<<31-1) || o.Marks(1<<31) {
		t.Error("does not mark half of the draws")
	}
}

// stepAt marks all above k bytes.
func stepAt(k units.Bytes, at qos.MarkAt) Config {
	cfg := small(2)
	cfg.ECN[3] = qos.ECN{Enabled: true, Min: k, Max: k, Probability: 1, MarkAt: at}
	return cfg
}

// At enqueue the queue counts the packet itself and the one in service.
func TestMarkAtEnqueueCountsItselfAndService(t *testing.T) {
	const frame = 4176
	e := Entry{Bytes: frame, In: 0, Out: 1, Priority: 3, Flags: Capable}
	var d Entry
	var o Outcome
	for _, c := range []struct {
		k    units.Bytes
		want bool // the third of three packets, with the first in service, is marked
	}{{3*frame - 1, true}, {3 * frame, false}} {
		s := mustNew(t, stepAt(c.k, qos.MarkAtEnqueue))
		s.Enqueue(0, &e)
		s.Dequeue(0, 1, &d, &o)
		if o.Mark != 0 {
			t.Error("marked at dequeue")
		}
		s.Enqueue(0, &e)
		if got := s.Enqueue(0, &e).Mark == math.MaxUint32; got != c.want {
			t.Errorf("K = %d: marked %v, want %v", c.k, got, c.want)
		}
	}
	// Service ends after 4196 B at 100 Gb/s: 335.68 ns.
	for _, c := range []struct {
		now  units.Time
		want bool
	}{{335_679, true}, {335_680, false}} {
		s := mustNew(t, stepAt(frame, qos.MarkAtEnqueue))
		s.Enqueue(0, &e)
		s.Dequeue(0, 1, &d, &o)
		if got := s.Enqueue(c.now, &e).Mark != 0; got != c.want {
			t.Errorf("%d ps after the start of service: marked %v, want %v", c.now, got, c.want)
		}
	}
	// A packet of another priority in service is not in this queue.
	s := mustNew(t, stepAt(frame, qos.MarkAtEnqueue))
	other := e
	other.Priority = 0
	s.Enqueue(0, &other)
	s.Dequeue(0, 1, &d, &o)
	if s.Enqueue(1, &e).Mark != 0 {
		t.Error("counted another queue's packet in service")
	}
}

// At dequeue the queue is what the packet leaves behind.
func TestMarkAtDequeueLooksAtBytesLeft(t *testing.T) {
	s := mustNew(t, stepAt(2000, qos.MarkAtDequeue))
	for range 4 {
		if o := s.Enqueue(0, &Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3, Flags: Capable}); o.Mark != 0 {
			t.Error("marked at enqueue")
		}
	}
	var e Entry
	var o Outcome
	for left := 3; left >= 0; left-- {
		s.Dequeue(0, 1, &e, &o)
		if got, want := o.Mark != 0, left*1000 > 2000; got != want {
			t.Errorf("%d bytes left: marked %v, want %v", left*1000, got, want)
		}
	}
}

func TestWREDDropsWhatCannotBeMarked(t *testing.T) {
	s := mustNew(t, stepAt(1500, qos.MarkAtEnqueue))
	e := Entry{Packet: 1, Bytes: 1000, In: 0, Out: 1, Priority: 3}
	s.Enqueue(0, &e)
	e.Packet = 2
	o := s.Enqueue(0, &e)
	if o.Flags != WRED || o.Mark != math.MaxUint32 {
		t.Fatalf("outcome %+v", o)
	}
	var d Entry
	s.DropLast(1, 3, &d, &o)
	if d != e || s.QueueBytes(1, 3) != 1000 {
		t.Errorf("dropped %+v, %d bytes left", d, s.QueueBytes(1, 3))
	}
	check(t, s)
	if c := s.Counters(0, 1, 3); c.WREDDrops != 1 || c.LosslessDrops != 0 {
		t.Errorf("%+v", c)
	}
	s.CountMark(1, 3)
	if c := s.Counters(0, 1, 3); c.Marks != 1 {
		t.Errorf("%d marks", c.Marks)
	}
}

// A dropped packet whose arrival raised XOFF lowers it again.
func TestDropLastUndoesXOFF(t *testing.T) {
	cfg := stepAt(500, qos.MarkAtEnqueue)
	cfg.Threshold, cfg.StaticXOFF, cfg.StaticXON = StaticThreshold, 1000, 500
	s := mustNew(t, cfg)
	e := Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3}
	if o := s.Enqueue(0, &e); o.Flags != XOFF|WRED {
		t.Fatalf("flags %b", o.Flags)
	}
	var o Outcome
	if s.DropLast(1, 3, &e, &o); o.Flags != XON {
		t.Errorf("flags %b", o.Flags)
	}
	check(t, s)
}
