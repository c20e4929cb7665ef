package switchcore

import (
	"testing"

	"weir/units"
)

// Validation target V24: a quantum is 512 bit times; 65535 of them withhold
// 4,194,240 bytes at any rate.
func TestPauseArithmetic(t *testing.T) {
	for _, c := range []struct {
		rate   units.BitRate
		quanta uint16
		want   units.Time // picoseconds
	}{
		{100 * units.Gbps, 65535, 335_539_200},
		{200 * units.Gbps, 65535, 167_769_600},
		{400 * units.Gbps, 65535, 83_884_800},
		{800 * units.Gbps, 65535, 41_942_400},
		{100 * units.Gbps, 1, 5_120},
		{400 * units.Gbps, 1, 1_280},
		{100 * units.Gbps, 0, 0},
	} {
		if got := PauseTime(c.rate, c.quanta); got != c.want {
			t.Errorf("%d quanta at %v: %d ps, want %d", c.quanta, c.rate, got, c.want)
		}
		if got := c.rate.BytesIn(PauseTime(c.rate, c.quanta)); c.quanta == 65535 && got != 4_194_240 {
			t.Errorf("%v: %d bytes withheld, want 4194240", c.rate, got)
		}
	}
}

func enqueue(t testing.TB, s *Switch, now units.Time, e Entry) Outcome {
	t.Helper()
	o := s.Enqueue(now, &e)
	check(t, s)
	return o
}

func sends(s *Switch, now units.Time, port uint16) bool {
	var e Entry
	var o Outcome
	return s.Dequeue(now, port, &e, &o)
}

func TestPauseLapsesExactly(t *testing.T) {
	s := mustNew(t, small(2))
	for i := range uint32(4) {
		enqueue(t, s, 0, Entry{Packet: i, Bytes: 1000, In: 0, Out: 1, Priority: 3})
	}
	const start, end = 1000, 1000 + 10*5120 // 10 quanta at 100 Gb/s
	s.Pause(start, 1, 3, 10)
	if got := s.PausedUntil(1, 3); got != end {
		t.Errorf("paused until %d, want %d", got, end)
	}
	if got := s.WakeAt(start, 1); got != end {
		t.Errorf("wakes at %d, want %d", got, end)
	}
	if s.Sendable(end-1, 1) || sends(s, end-1, 1) {
		t.Error("sends during the pause")
	}
	if !s.Sendable(end, 1) || s.WakeAt(end, 1) != end || !sends(s, end, 1) {
		t.Error("does not send when the pause has lapsed")
	}

	// XON ends a pause at once; the time paused adds up.
	s.Pause(end+1000, 1, 3, 65535)
	if c := s.Counters(end+1400, 1, 3); c.Paused != 10*5120+400 {
		t.Errorf("paused for %d in the middle of a pause, want %d", c.Paused, 10*5120+400)
	}
	s.Pause(end+1500, 1, 3, 0)
	if !sends(s, end+1500, 1) {
		t.Error("does not send after XON")
	}
	c := s.Counters(end+9999, 1, 3)
	if c.Paused != 10*5120+500 || c.PauseRx != 2 || c.ResumeRx != 1 {
		t.Errorf("paused for %d, %d pause, %d resume; want %d, 2, 1", c.Paused, c.PauseRx, c.ResumeRx, 10*5120+500)
	}
}

func TestPauseIsReplacedByTheNext(t *testing.T) {
	s := mustNew(t, small(2))
	enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3})
	s.Pause(0, 1, 3, 65535)
	s.Pause(1000, 1, 3, 2) // shorter: counts from its own arrival
	if got := s.WakeAt(1000, 1); got != 1000+2*5120 {
		t.Errorf("wakes at %d, want %d", got, 1000+2*5120)
	}
	if c := s.Counters(1<<40, 1, 3); c.Paused != 1000+2*5120 {
		t.Errorf("paused for %d, want %d", c.Paused, 1000+2*5120)
	}
}

func TestPauseConcernsItsPriorityAlone(t *testing.T) {
	cfg := small(2)
	cfg.Lossless = 1<<3 | 1<<4
	s := mustNew(t, cfg)
	for p := range uint8(8) {
		enqueue(t, s, 0, Entry{Packet: uint32(p), Bytes: 1000, In: 0, Out: 1, Priority: p})
		s.Pause(0, 1, p, 65535) // of no effect on lossy priorities
	}
	sent := map[uint8]bool{}
	var e Entry
	var o Outcome
	for s.Dequeue(1, 1, &e, &o) {
		sent[e.Priority] = true
	}
	if len(sent) != 6 || sent[3] || sent[4] {
		t.Errorf("sent %v, want all but 3 and 4", sent)
	}
}

func TestPauseForever(t *testing.T) {
	cfg := small(2)
	cfg.PauseForever = true
	s := mustNew(t, cfg)
	enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3})
	s.Pause(0, 1, 3, 1)
	if s.Sendable(units.Never-1, 1) || s.WakeAt(5, 1) != units.Never {
		t.Error("a pause that holds until XON has lapsed")
	}
	s.Pause(units.Second, 1, 3, 0)
	if !s.Sendable(units.Second, 1) {
		t.Error("held after XON")
	}
}

func TestPortsThatIgnoreOrObeyAll(t *testing.T) {
	cfg := small(3)
	cfg.Ports[1].NoPFC = 1 << 3
	cfg.Ports[2].ObeyAll = true
	s := mustNew(t, cfg)
	for _, port := range []uint16{1, 2} {
		for _, prio := range []uint8{0, 3} {
			enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: port, Priority: prio})
			s.Pause(0, port, prio, 100)
		}
	}
	for range 2 {
		if !sends(s, 1, 1) {
			t.Error("a port without PFC obeyed pause")
		}
	}
	if sends(s, 1, 2) {
		t.Error("a port that obeys global pause sent")
	}
}

// XOFF is raised once, refreshed at half its time, and ended by one XON.
func TestXOFFRefreshXON(t *testing.T) {
	cfg := small(2)
	cfg.Threshold, cfg.StaticXOFF, cfg.StaticXON = StaticThreshold, 10_000, 4_000
	cfg.Refresh = true
	s := mustNew(t, cfg)
	for i := range 9 {
		if o := enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3}); o.Flags != 0 {
			t.Fatalf("packet %d: flags %b", i, o.Flags)
		}
	}
	if s.NextRefresh(0, 3) != units.Never || s.XOFFInForce(0, 3) {
		t.Error("a refresh is due before XOFF")
	}
	if o := enqueue(t, s, 500, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3}); o.Flags != XOFF {
		t.Fatalf("packet that reaches the threshold: flags %b", o.Flags)
	}
	if o := enqueue(t, s, 600, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3}); o.Flags != 0 {
		t.Errorf("packet after XOFF: flags %b", o.Flags)
	}
	const half = 335_539_200 / 2
	if got := s.NextRefresh(0, 3); got != 500+half {
		t.Errorf("refresh at %d, want %d", got, 500+half)
	}
	early, due := s.Refresh(500+half-1, 0, 3), s.Refresh(500+half, 0, 3)
	if again := s.Refresh(500+half, 0, 3); early || !due || again {
		t.Errorf("refresh early %v, due %v, again %v", early, due, again)
	}
	if got := s.NextRefresh(0, 3); got != 500+2*half {
		t.Errorf("next refresh at %d, want %d", got, 500+2*half)
	}
	// One packet of 11 is in the headroom; XON when 4 are left.
	var e Entry
	var o Outcome
	for left := 10; left >= 0; left-- {
		s.Dequeue(units.Second, 1, &e, &o)
		check(t, s)
		if want := left == 4; want != (o.Flags == XON) {
			t.Errorf("%d packets left: flags %b", left, o.Flags)
		}
	}
	c := s.Counters(units.Second, 0, 3)
	if c.PauseTx != 2 || c.ResumeTx != 1 || c.XOFFs != 1 || s.NextRefresh(0, 3) != units.Never {
		t.Errorf("%d pause, %d resume, %d XOFF; want 2, 1, 1", c.PauseTx, c.ResumeTx, c.XOFFs)
	}
}

func TestPauseByPacket(t *testing.T) {
	cfg := small(2)
	cfg.Threshold, cfg.StaticXOFF, cfg.StaticXON = StaticThreshold, 2000, 1000
	cfg.PauseByPacket = true
	s := mustNew(t, cfg)
	enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3})
	for range 3 {
		if o := enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3}); o.Flags != XOFF {
			t.Errorf("flags %b", o.Flags)
		}
	}
	if c := s.Counters(0, 0, 3); c.PauseTx != 3 || c.XOFFs != 1 {
		t.Errorf("%d frames, %d XOFF; want 3, 1", c.PauseTx, c.XOFFs)
	}
}
