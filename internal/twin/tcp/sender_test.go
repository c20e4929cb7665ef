package tcp

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"weir/units"
)

// A path carries segments and acknowledgements with half a round trip each way
// and loses what lose says.
type path struct {
	p    Params
	s    Sender
	r    Receiver
	now  units.Time
	half units.Time
	lose func() bool

	there []inFlight[Segment]
	back  []inFlight[Ack]
}

type inFlight[T any] struct {
	at units.Time
	v  T
}

func newPath(control Control, mss uint32, rtt units.Time, lose func() bool) *path {
	p := &path{p: Params{MSS: mss, Control: control, InitialWindow: 10, MinRTO: 200 * units.Millisecond}, half: rtt / 2, lose: lose}
	p.s.Reset(&p.p, 1<<40)
	p.r.Reset()
	return p
}

// step goes to the next event. It reports false when there is none.
func (p *path) step(t interface{ Fatalf(string, ...any) }) bool {
	var seg Segment
	send := func() {
		if !p.lose() {
			p.there = append(p.there, inFlight[Segment]{p.now + p.half, seg})
		}
	}
	for p.s.Next(p.now, &seg) {
		send()
	}
	at := p.s.Deadline()
	if len(p.there) != 0 {
		at = min(at, p.there[0].at)
	}
	if len(p.back) != 0 {
		at = min(at, p.back[0].at)
	}
	if at == units.Never {
		return false
	}
	p.now = max(p.now, at)
	switch {
	case len(p.there) != 0 && p.there[0].at == at:
		g := p.there[0].v
		p.there = p.there[1:]
		p.r.Take(g.Seq, g.Bytes, false)
		var a Ack
		p.r.Acknowledge(1<<30, &a)
		p.back = append(p.back, inFlight[Ack]{p.now + p.half, a})
	case len(p.back) != 0 && p.back[0].at == at:
		p.s.Take(p.now, &p.back[0].v)
		p.back = p.back[1:]
	default:
		if p.s.Expire(p.now, &seg) {
			send()
		}
	}
	if p.s.Acknowledged() > p.r.Next() || p.s.Sent() > p.s.Written() || p.s.sackBytes > p.s.next-p.s.una {
		t.Fatalf("acknowledged %d, received %d, sent %d, written %d", p.s.Acknowledged(), p.r.Next(), p.s.Sent(), p.s.Written())
	}
	return true
}

// Throughput under random loss is MSS/RTT x sqrt(1.5/p): Mathis, Semke, Mahdavi
// and Ott 1997 (validation row V07). CUBIC is as fast where round trips are short.
func TestMathis(t *testing.T) {
	for _, control := range []Control{Reno, CUBIC} {
		for _, c := range []struct{ loss, segments float64 }{{1e-3, 38.7}, {1e-2, 12.25}} {
			rng := rand.New(rand.NewPCG(7, 9))
			const rtt = 50 * units.Microsecond
			p := newPath(control, 1460, rtt, func() bool { return rng.Float64() < c.loss })
			p.s.Write(1460 * uint64(400/c.loss))
			for p.s.Acknowledged() < p.s.Written() && p.step(t) {
			}
			rounds := float64(p.now) / float64(rtt)
			near(t, "segments a round trip", float64(p.s.Written())/1460/rounds, c.segments, 0.20)
		}
	}
}

// Whatever is lost, everything arrives, without a hole, and the connection
// comes to rest.
func TestEverythingArrives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		loss := rapid.Float64Range(0, 0.4).Draw(rt, "loss")
		control := Control(rapid.IntRange(0, 2).Draw(rt, "control"))
		bytes := rapid.Uint64Range(1, 300_000).Draw(rt, "bytes")
		rng := rand.New(rand.NewPCG(seed, 1))
		p := newPath(control, 1000, units.Millisecond, func() bool { return rng.Float64() < loss })
		p.s.Write(bytes)
		steps := 0
		for p.step(rt) {
			if steps++; steps > 1_000_000 {
				rt.Fatalf("no end: %d of %d acknowledged at %v", p.s.Acknowledged(), bytes, p.now)
			}
		}
		if p.r.Next() != bytes || p.s.Acknowledged() != bytes {
			rt.Fatalf("%d of %d bytes received, %d acknowledged", p.r.Next(), bytes, p.s.Acknowledged())
		}
	})
}

// One lost segment of a window is repaired within two round trips, without the
// timer, and only it is sent again.
func TestFastRetransmit(t *testing.T) {
	count, again := 0, 0
	p := newPath(Reno, 1000, units.Millisecond, func() bool { count++; return count == 5 })
	p.s.Write(40_000)
	for p.step(t) {
	}
	again = count - 40
	if again != 1 || p.now > 6*units.Millisecond {
		t.Errorf("%d segments sent again, done at %v; want 1, below 6 ms", again, p.now)
	}
}

// The last segment of a message has nothing after it that would tell its loss:
// the probe finds it after two round trips, long before the timer (RFC 8985).
func TestTailLossProbe(t *testing.T) {
	count := 0
	p := newPath(CUBIC, 1000, units.Millisecond, func() bool { count++; return count == 30 })
	p.s.Write(30_000)
	for p.step(t) {
	}
	if p.now > 20*units.Millisecond {
		t.Errorf("done at %v, want well below the timer's 200 ms", p.now)
	}
}

// A dead path: after the probe the timer doubles (RFC 6298, section 5.5).
func TestBackoff(t *testing.T) {
	var s Sender
	p := Params{MSS: 1000, Control: Reno, InitialWindow: 10, MinRTO: 200 * units.Millisecond}
	s.Reset(&p, 1<<30)
	s.Write(1000)
	var seg Segment
	if !s.Next(0, &seg) {
		t.Fatal("nothing to send")
	}
	at := []units.Time{}
	for range 4 {
		now := s.Deadline()
		at = append(at, now)
		s.Expire(now, &seg)
		for s.Next(now, &seg) {
		}
	}
	for i, want := range []float64{1, 3, 7, 15} {
		if math.Abs(at[i].Seconds()-want) > 1e-9 {
			t.Errorf("time-out %d at %v, want %v s", i, at[i], want)
		}
	}
}

// A closed window is probed, so that a lost update does not stop the sender.
func TestClosedWindow(t *testing.T) {
	var s Sender
	p := Params{MSS: 1000, Control: Reno, InitialWindow: 10, MinRTO: 200 * units.Millisecond}
	s.Reset(&p, 2000)
	s.Write(5000)
	var seg Segment
	for s.Next(0, &seg) {
	}
	s.Take(units.Millisecond, &Ack{Next: 2000})
	if s.Deadline() == units.Never {
		t.Fatal("no timer")
	}
	if !s.Expire(s.Deadline(), &seg) || seg.Seq != 2000 || seg.Bytes != 1 {
		t.Errorf("probe %+v, want the byte beyond the window", seg)
	}
}

func TestNoAllocation(t *testing.T) {
	p := newPath(CUBIC, 1000, units.Millisecond, func() bool { return false })
	var seg Segment
	var a Ack
	n := 0
	if got := testing.AllocsPerRun(10_000, func() {
		p.s.Write(1000)
		if p.s.Next(p.now, &seg) {
			if n++; n%10 != 0 { // the tenth is lost for now, and repaired
				p.r.Take(seg.Seq, seg.Bytes, false)
			}
			p.r.Acknowledge(1<<20, &a)
			p.now += units.Microsecond
			p.s.Take(p.now, &a)
		}
	}); got != 0 {
		t.Errorf("%g allocations a segment", got)
	}
}
