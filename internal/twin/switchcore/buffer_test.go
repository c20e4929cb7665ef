package switchcore

import (
	"testing"

	"weir/internal/qos"
	"weir/units"
)

// Validation target V27 (Choudhury and Hahne 1998): n congested queues with
// threshold alpha x free settle at alpha x B/(1 + n x alpha) each. Here every
// ingress port offers packets whenever it may, one egress port sends them.
func TestDynamicThresholdSteadyState(t *testing.T) {
	const frame, ports, departures = 4176, 9, 20_000
	for _, c := range []struct {
		n     int
		alpha float64
		want  int64 // bytes of each queue, of a shared buffer of 9,216,000
	}{
		{1, 0.125, 1_024_000}, // B/9
		{8, 0.125, 576_000},   // B/16
		{1, 1, 4_608_000},     // B/2
		{4, 1, 1_843_200},     // B/5
	} {
		cfg := small(ports)
		cfg.AlphaIngress, cfg.XONOffset = c.alpha, 0
		cfg.Buffer = 9_216_000 + ports*40*units.KB // the headrooms are apart
		s := mustNew(t, cfg)
		offer := func() (accepted int) {
			for in := range uint16(c.n) {
				if !s.XOFFInForce(in, 3) {
					s.Enqueue(0, &Entry{Bytes: frame, In: in, Out: ports - 1, Priority: 3})
					accepted++
				}
			}
			return accepted
		}
		for offer() != 0 {
		}
		sum := make([]int64, c.n)
		for range departures {
			if !sends(s, 0, ports-1) {
				t.Fatal("nothing to send")
			}
			offer()
			for in := range sum {
				used, headroom := s.IngressBytes(uint16(in), 3)
				sum[in] += int64(used) + int64(headroom)
			}
		}
		check(t, s)
		for in := range sum {
			if got := sum[in] / departures; got < c.want-frame || got > c.want+frame {
				t.Errorf("n = %d, alpha = %v: queue %d has %d bytes in the mean, want %d within %d", c.n, c.alpha, in, got, c.want, frame)
			}
		}
	}
}

// The same law holds for lossy egress queues, which drop instead.
func TestLossyDynamicThreshold(t *testing.T) {
	cfg := small(4)
	cfg.Lossless, cfg.Buffer, cfg.AlphaEgress = 0, 9_000_000, 1
	s := mustNew(t, cfg)
	for range 10_000 {
		for out := range uint16(2) {
			s.Enqueue(0, &Entry{Bytes: 1000, In: 3, Out: out, Priority: 0})
		}
	}
	check(t, s)
	for out := range uint16(2) { // B/3
		if got := s.QueueBytes(out, 0); got < 2_999_000 || got > 3_001_000 {
			t.Errorf("queue %d has %d bytes, want 3000000", out, got)
		}
		if c := s.Counters(0, out, 0); c.Drops != 7000 || c.LosslessDrops != 0 {
			t.Errorf("queue %d: %d drops, want 7000", out, c.Drops)
		}
	}
	if shared, _ := s.Watermarks(); shared != 6_000_000 {
		t.Errorf("high-water mark %v", shared)
	}
}

// Validation target V16 (DCQCN, SIGCOMM 2015, section 4): 32 ports of 40 Gb/s,
// 12 MB, 8 lossless priorities with 22.4 KB of headroom each, XOFF at
// 8 x free/8. With marking from 21.75 KB on, some packet is marked before the
// first XOFF even in the worst pattern: in each priority, one ingress port
// spreads over all egress ports, so its use is the sum of 32 queues that are
// each just short of the threshold.
func TestMarkingBoundComesBeforePause(t *testing.T) {
	const ports, frame = 32, 64 // small packets come closest to the bound
	first := func(threshold units.Bytes) (marked, paused bool) {
		cfg := Config{Buffer: 12_000_000, Lossless: 0xff, PFC: true, AlphaIngress: 1, XONOffset: 3000, PauseQuanta: 65535}
		for range ports {
			cfg.Ports = append(cfg.Ports, PortConfig{Rate: 40 * units.Gbps, Headroom: 22_400})
		}
		for p := range cfg.ECN {
			cfg.ECN[p] = qos.ECN{Enabled: true, Min: threshold, Max: threshold, Probability: 1}
		}
		s := mustNew(t, cfg)
		for {
			for prio := range uint8(8) {
				for out := range uint16(ports) {
					o := s.Enqueue(0, &Entry{Bytes: frame, In: uint16(prio), Out: out, Priority: prio, Flags: Capable})
					marked = marked || o.Mark != 0
					paused = paused || o.Flags&XOFF != 0
					if marked || paused {
						return marked, paused
					}
				}
			}
		}
	}
	if marked, paused := first(21_750); !marked || paused {
		t.Errorf("at the bound: marked %v, paused %v first", marked, paused)
	}
	// The bound is tight: from 21,755.6 B on, with room for one packet, pause is first.
	if marked, paused := first(21_756 + frame); marked || !paused {
		t.Errorf("above the bound: marked %v, paused %v first", marked, paused)
	}
}

func TestReserveIsGuaranteed(t *testing.T) {
	cfg := small(4)
	cfg.Buffer, cfg.Reserve = 4*(40_000+3_000)+10_000, 3_000
	s := mustNew(t, cfg)
	// Lossy traffic takes the whole shared buffer.
	for range 20 {
		enqueue(t, s, 0, Entry{Bytes: 1000, In: 2, Out: 3, Priority: 0})
	}
	for i := range 3 {
		if o := enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3}); o.Flags&Dropped != 0 {
			t.Errorf("packet %d of the reserve dropped", i)
		}
	}
}

// A queue that fell back into its reserve resumes even if the threshold has
// fallen to nothing: otherwise its sender would wait for ever.
func TestResumesWithinReserve(t *testing.T) {
	cfg := small(4)
	cfg.Buffer, cfg.Reserve = 4*(40_000+1_000)+50_000, 1_000
	s := mustNew(t, cfg)
	for !s.XOFFInForce(0, 3) {
		enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3})
	}
	for s.Enqueue(0, &Entry{Bytes: 1000, In: 2, Out: 3, Priority: 0}).Flags&Dropped == 0 {
		s.alphaOut = 1 << 30
	}
	var e Entry
	var o Outcome
	for s.Dequeue(0, 1, &e, &o) {
		check(t, s)
	}
	if s.XOFFInForce(0, 3) {
		t.Error("an empty queue still holds its sender")
	}
}

func TestWithoutPFCLosslessDrops(t *testing.T) {
	cfg := small(2)
	cfg.PFC = false
	cfg.Threshold, cfg.StaticXOFF, cfg.StaticXON = StaticThreshold, 3_000, 1_000
	s := mustNew(t, cfg)
	for i := range 5 {
		o := enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3})
		if want := i >= 3; want != (o.Flags == Dropped|LosslessDrop) || o.Flags&XOFF != 0 {
			t.Errorf("packet %d: flags %b", i, o.Flags)
		}
	}
	s.Pause(0, 1, 3, 65535)
	if !s.Sendable(0, 1) {
		t.Error("obeyed pause without PFC")
	}
	if free, size := s.SharedFree(); size != 16*units.MB || free != size-3000 {
		t.Errorf("free %v of %v: headroom was set aside without PFC", free, size)
	}
	if err := s.CheckLossless(0); err == nil {
		t.Error("lossless drops are not reported")
	}
}

func TestLosslessEgressLimit(t *testing.T) {
	cfg := small(3)
	cfg.EgressLossless = 0.001 // 1/1024
	cfg.Buffer = 1024*5000 + 3*40_000
	s := mustNew(t, cfg)
	for i := range 6 {
		o := enqueue(t, s, 0, Entry{Bytes: 1000, In: uint16(i % 2), Out: 2, Priority: 3})
		if want := i >= 4; want != (o.Flags == Dropped|LosslessDrop) {
			t.Errorf("packet %d: flags %b", i, o.Flags)
		}
	}
	if c := s.Counters(0, 2, 3); c.LosslessDrops != 2 {
		t.Errorf("%d lossless drops at the egress port", c.LosslessDrops)
	}
}

// The packet that raises XOFF is in the shared part, so that the headroom is
// there for what follows, or in the headroom as the ns-3 models have it.
func TestTriggerPacket(t *testing.T) {
	for _, inHeadroom := range []bool{false, true} {
		cfg := small(2)
		cfg.Threshold, cfg.StaticXOFF, cfg.StaticXON = StaticThreshold, 2_500, 1_000
		cfg.TriggerInHeadroom = inHeadroom
		s := mustNew(t, cfg)
		for range 2 {
			enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3})
		}
		o := enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3})
		_, headroom := s.IngressBytes(0, 3)
		if o.Flags != XOFF || (headroom == 1000) != inHeadroom {
			t.Errorf("flags %b, %d bytes in headroom", o.Flags, headroom)
		}
	}
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	cfg := small(8)
	cfg.Threshold, cfg.StaticXOFF, cfg.StaticXON = StaticThreshold, 20_000, 10_000
	cfg.Refresh = true
	s := mustNew(t, cfg)
	i := 0
	cycle := func() {
		var e Entry
		var o Outcome
		for range 64 {
			i++
			e = Entry{Bytes: 4176, In: uint16(i) % 8, Out: uint16(i*3) % 8, Priority: 3}
			s.Enqueue(units.Time(i), &e)
			s.Pause(units.Time(i), e.Out, 3, 2)
		}
		for out := range uint16(8) {
			s.Pause(units.Time(i), out, 3, 0)
			for s.Dequeue(units.Time(i), out, &e, &o) {
			}
		}
	}
	cycle()
	if n := testing.AllocsPerRun(100, cycle); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
