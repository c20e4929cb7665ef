package switchcore

import (
	"testing"

	"weir/internal/qos"
	"weir/units"
)

func guarded(action qos.WatchdogAction) Config {
	cfg := small(3)
	cfg.Watchdog = qos.Watchdog{Enabled: true, DetectAfter: 200 * units.Millisecond, RestoreAfter: 400 * units.Millisecond, Action: action}
	return cfg
}

// storm sends a pause every 100 us from start to end to port 1, running the
// watchdog at the times it asks for, and returns when it detected and restored.
func storm(t *testing.T, s *Switch, start, end units.Time, quanta uint16) (detected, restored units.Time) {
	t.Helper()
	next := units.Never
	run := func(now units.Time) {
		at, d, r := s.Watchdog(now, 1)
		if d != 0 {
			if d != 1<<3 || detected != 0 {
				t.Fatalf("detected %b at %v", d, now)
			}
			detected = now
		}
		if r != 0 {
			if r != 1<<3 || restored != 0 {
				t.Fatalf("restored %b at %v", r, now)
			}
			restored = now
		}
		if at <= now {
			t.Fatalf("asked at %v to be called at %v", now, at)
		}
		next = at
	}
	for now := start; now <= end; now += 100 * units.Microsecond {
		for next < now {
			run(next)
		}
		s.Pause(now, 1, 3, quanta)
		run(now)
	}
	for next != units.Never {
		run(next)
	}
	return detected, restored
}

func TestWatchdogTimesAreExact(t *testing.T) {
	s := mustNew(t, guarded(qos.WatchdogDrop))
	enqueue(t, s, 0, Entry{Packet: 7, Bytes: 1000, In: 0, Out: 1, Priority: 3})
	// 65535 quanta at 100 Gb/s outlast the 100 us between two pauses.
	const start, end = 5 * units.Millisecond, 1005 * units.Millisecond
	detected, restored := storm(t, s, start, end, 65535)
	if want := start + 200*units.Millisecond; detected != want {
		t.Errorf("detected at %v, want %v", detected, want)
	}
	// The last pause lapses after 335.5392 us; 400 ms later it is over.
	if want := end + 335_539_200 + 400*units.Millisecond; restored != want {
		t.Errorf("restored at %v, want %v", restored, want)
	}
	if c := s.Counters(restored, 1, 3); c.StormsDetected != 1 || c.StormsRestored != 1 {
		t.Errorf("detected %d, restored %d times", c.StormsDetected, c.StormsRestored)
	}
}

func TestWatchdogCountsFromTheFirstWaitingPacket(t *testing.T) {
	s := mustNew(t, guarded(qos.WatchdogForward))
	s.cfg.PauseForever = true
	s.Pause(0, 1, 3, 1)
	next, d, _ := s.Watchdog(0, 1)
	if next != 200*units.Millisecond || d != 0 {
		t.Fatalf("next %v, detected %b", next, d)
	}
	const first = 150 * units.Millisecond
	enqueue(t, s, first, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3})
	if next, d, _ = s.Watchdog(next, 1); next != first+200*units.Millisecond || d != 0 {
		t.Fatalf("next %v, detected %b", next, d)
	}
	if _, d, _ = s.Watchdog(next-1, 1); d != 0 {
		t.Error("detected a picosecond early")
	}
	if _, d, _ = s.Watchdog(next, 1); d != 1<<3 {
		t.Errorf("detected %b", d)
	}
	if !s.Sendable(next, 1) {
		t.Error("action forward, and nothing is sent")
	}
}

// Pauses that follow each other without a gap are one.
func TestWatchdogSeesUnbrokenPauses(t *testing.T) {
	cfg := guarded(qos.WatchdogDrop)
	cfg.Watchdog.DetectAfter = 100 * units.Microsecond
	s := mustNew(t, cfg)
	enqueue(t, s, 0, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3})
	for now := units.Time(0); now < 100*units.Microsecond; now += 5120 {
		s.Pause(now, 1, 3, 1)
	}
	if _, d, _ := s.Watchdog(100*units.Microsecond, 1); d != 1<<3 {
		t.Error("not detected")
	}
}

// Pauses that let a packet through now and then are congestion, not a storm.
func TestWatchdogSparesProgress(t *testing.T) {
	s := mustNew(t, guarded(qos.WatchdogDrop))
	for i := range uint32(100) {
		enqueue(t, s, 0, Entry{Packet: i, Bytes: 1000, In: 0, Out: 1, Priority: 3})
	}
	for now := units.Time(0); now < units.Second; now += 50 * units.Millisecond {
		for k := range units.Time(49) {
			s.Pause(now+k*units.Millisecond, 1, 3, 65535)
			if _, d, _ := s.Watchdog(now+k*units.Millisecond, 1); d != 0 {
				t.Fatalf("detected at %v", now)
			}
		}
		s.Pause(now+49*units.Millisecond, 1, 3, 0)
		if !sends(s, now+49*units.Millisecond, 1) {
			t.Fatal("nothing sent")
		}
	}
}

func TestWatchdogDropsAndRestores(t *testing.T) {
	s := mustNew(t, guarded(qos.WatchdogDrop))
	s.cfg.PauseForever = true
	for i := range uint32(3) {
		enqueue(t, s, 0, Entry{Packet: i, Bytes: 1000, In: 0, Out: 1, Priority: 3})
	}
	s.Pause(0, 1, 3, 1)
	if _, d, _ := s.Watchdog(200*units.Millisecond, 1); d != 1<<3 || s.StormedQueues(1) != 1<<3 {
		t.Fatal("not detected")
	}
	var e Entry
	var o Outcome
	for i := range uint32(3) {
		if !s.Drain(1, 3, &e, &o) || e.Packet != i {
			t.Fatalf("drained %+v", e)
		}
		check(t, s)
	}
	if s.Drain(1, 3, &e, &o) {
		t.Error("drained an empty queue")
	}
	if o := enqueue(t, s, 201*units.Millisecond, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3}); o.Flags != Dropped|LosslessDrop|Stormed {
		t.Errorf("flags %b", o.Flags)
	}
	if o := enqueue(t, s, 201*units.Millisecond, Entry{Bytes: 1000, In: 0, Out: 2, Priority: 3}); o.Flags != 0 {
		t.Errorf("another port: flags %b", o.Flags)
	}
	s.Pause(300*units.Millisecond, 1, 3, 0)
	if next, _, r := s.Watchdog(300*units.Millisecond, 1); next != 700*units.Millisecond || r != 0 {
		t.Errorf("next %v, restored %b", next, r)
	}
	if next, _, r := s.Watchdog(700*units.Millisecond, 1); next != units.Never || r != 1<<3 {
		t.Errorf("next %v, restored %b", next, r)
	}
	if o := enqueue(t, s, 701*units.Millisecond, Entry{Bytes: 1000, In: 0, Out: 1, Priority: 3}); o.Flags != 0 {
		t.Errorf("restored queue: flags %b", o.Flags)
	}
	if c := s.Counters(units.Second, 1, 3); c.Discards != 4 || c.LosslessDrops != 0 {
		t.Errorf("%d discards, %d lossless drops; want 4, 0", c.Discards, c.LosslessDrops)
	}
	if err := s.CheckLossless(0); err != nil {
		t.Error(err) // what the watchdog discards is no lack of headroom
	}
}
