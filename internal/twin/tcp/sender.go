package tcp

import "weir/units"

// Params are the settings of a connection.
type Params struct {
	MSS           uint32
	Control       Control
	InitialWindow uint32 // segments
	MinRTO        units.Time
}

// Timers of RFC 6298 and of Linux's tail loss probe (RFC 8985, section 7).
const (
	firstRTO   = units.Second
	longestRTO = 120 * units.Second
	probeSlack = 2 * units.Millisecond
)

// duplicates is how many segments beyond a gap tell a loss (RFC 5681).
const duplicates = 3

// A Segment is what Next hands out.
type Segment struct {
	Seq   uint64
	Bytes uint32
	Again bool // sent before
}

// An Ack is what a Receiver answers: everything below Next has come, and so
// has the span from From up to To, if it is not empty. Marked counts bytes that
// came with a congestion mark since the last one. Window is the receiver's
// room beyond Next.
type Ack struct {
	Next, From, To uint64
	Marked, Window uint64
}

// Sender is the sending side. Sequence numbers are offsets in the stream and
// do not wrap.
type Sender struct {
	Window Window

	written uint64 // by the application
	next    uint64 // first byte never sent
	una     uint64 // first byte not acknowledged
	limit   uint64 // by the receiver's window

	// Loss recovery. Below fack, what is not in sacked counts as lost (forward
	// acknowledgement: networks that keep a flow on a path do not reorder).
	sacked    spans
	sackBytes uint64
	fack      uint64
	recover   uint64 // recovery ends when this is acknowledged; 0: none
	resend    uint64 // first byte that may have to be sent again
	again     uint64 // bytes sent again and not acknowledged
	againAt   uint64 // next when the first gap was sent again
	timedOut  bool
	probed    bool // a tail loss probe is out
	held      bool // the window alone held Next back

	// Timing: one segment a round trip is timed, none that was sent twice.
	srtt, rttvar, rto units.Time
	timedSeq          uint64
	timedAt           units.Time // Never: none
	deadline          units.Time
	probing           bool // the deadline is the probe's
	params            *Params
}

// Reset makes the sender of a new connection. p must stay as it is.
func (s *Sender) Reset(p *Params, window uint64) {
	*s = Sender{params: p, limit: window, rto: firstRTO, timedAt: units.Never, deadline: units.Never, sacked: s.sacked[:0]}
	s.Window.Reset(p.Control, p.MSS, p.InitialWindow)
}

// Write appends bytes to the stream.
func (s *Sender) Write(bytes uint64) { s.written += bytes }

// Written returns the length of the stream so far, Acknowledged what of it has
// certainly come.
func (s *Sender) Written() uint64 { return s.written }

// Acknowledged returns how much of the stream has certainly come.
func (s *Sender) Acknowledged() uint64 { return s.una }

// Sent returns the first byte that was never sent.
func (s *Sender) Sent() uint64 { return s.next }

// RTT returns the smoothed round-trip time; 0: not known.
func (s *Sender) RTT() units.Time { return s.srtt }

// Recovering reports whether losses are being repaired.
func (s *Sender) Recovering() bool { return s.recover != 0 }

// pipe estimates what is in the network.
func (s *Sender) pipe() uint64 {
	if s.recover == 0 && s.sackBytes == 0 {
		return s.next - s.una
	}
	if s.recover == 0 {
		return s.next - s.una - s.sackBytes
	}
	return s.next - max(s.fack, s.una) + s.again
}

// Ready reports whether Next would return a segment.
func (s *Sender) Ready() bool {
	if s.recover != 0 && s.gap() {
		return s.fits()
	}
	s.held = false
	if s.next >= s.written || s.next >= s.limit {
		return false
	}
	s.held = !s.fits()
	return !s.held
}

// shut tells whether the receiver's window alone holds back a sender that has
// nothing under way, so that a lost update would stop it for good.
func (s *Sender) shut() bool {
	return s.una == s.next && s.next < s.written && s.next >= s.limit
}

// fits tells whether the window takes one more segment; an empty network
// always does.
func (s *Sender) fits() bool {
	pipe := s.pipe()
	return pipe == 0 || pipe+uint64(s.params.MSS) <= s.Window.Bytes()
}

// gap moves resend to the next byte that counts as lost.
func (s *Sender) gap() bool {
	s.resend = max(s.resend, s.una)
	for i := range s.sacked {
		if a := &s.sacked[i]; s.resend >= a.from && s.resend < a.to {
			s.resend = a.to
		}
	}
	return s.resend < s.fack
}

// Next fills in the segment to send now; false: none.
func (s *Sender) Next(now units.Time, out *Segment) bool {
	if !s.Ready() {
		if s.shut() && s.deadline == units.Never {
			s.deadline, s.probing = now+s.rto, false
		}
		return false
	}
	mss := uint64(s.params.MSS)
	if s.recover != 0 && s.gap() {
		end := min(s.resend+mss, s.fack)
		for i := range s.sacked {
			if a := &s.sacked[i]; a.from > s.resend {
				end = min(end, a.from)
				break
			}
		}
		*out = Segment{Seq: s.resend, Bytes: uint32(end - s.resend), Again: true}
		if s.resend == s.una {
			s.againAt = s.next
		}
		s.again += end - s.resend
		s.resend = end
		s.timedAt = units.Never
	} else {
		n := min(mss, s.written-s.next, s.limit-s.next)
		*out = Segment{Seq: s.next, Bytes: uint32(n)}
		if s.timedAt == units.Never && s.recover == 0 {
			s.timedSeq, s.timedAt = s.next+n, now
		}
		s.next += n
	}
	if s.deadline == units.Never {
		s.arm(now)
	}
	return true
}

// Take takes an acknowledgement. It returns how many bytes of the stream it
// acknowledges that were not before.
func (s *Sender) Take(now units.Time, a *Ack) (fresh uint64) {
	s.limit = max(s.limit, a.Next+a.Window)
	if a.Next > s.una {
		fresh = a.Next - s.una
		s.una = a.Next
		s.next = max(s.next, s.una)
		gone := s.sacked.below(s.una)
		s.sackBytes -= gone
		s.fack = max(s.fack, s.una)
		s.again -= min(s.again, fresh-gone)
		if s.timedAt != units.Never && s.una >= s.timedSeq {
			s.measure(now - s.timedAt)
			s.timedAt = units.Never
		}
	}
	news := fresh
	if a.To > a.From && a.To > s.una {
		n := s.sacked.add(max(a.From, s.una), a.To)
		s.sackBytes += n
		news += n
		if a.From < s.resend { // a gap that was filled
			s.again -= min(s.again, n)
		}
		s.fack = max(s.fack, a.To)
	}
	if s.Window.Notice(news, a.Marked, s.una, s.next) {
		s.held = false
	}
	s.detect()
	switch {
	case s.recover != 0 && s.una >= s.recover:
		s.recover, s.again, s.timedOut = 0, 0, false
	case fresh == 0:
	case s.recover == 0 && s.held, s.timedOut && s.Window.SlowStart():
		s.Window.Grow(now, fresh, s.srtt)
	}
	if fresh != 0 || news != 0 {
		if fresh != 0 {
			s.probed = false
		}
		s.deadline = units.Never
		switch {
		case s.una < s.next:
			s.arm(now)
		case s.shut():
			s.deadline, s.probing = now+s.rto, false
		}
	}
	return fresh
}

// detect looks for losses: enough acknowledged beyond the first gap, or
// anything after a probe; and for a repair that was lost itself: enough
// acknowledged of what was sent after it.
func (s *Sender) detect() {
	enough := uint64(duplicates-1) * uint64(s.params.MSS)
	if s.recover == 0 {
		if s.fack > s.una && (s.sackBytes > enough || s.probed && s.sackBytes > 0) {
			s.recover = s.next
			s.resend, s.again, s.againAt = s.una, 0, s.next
			s.timedAt = units.Never
			s.Window.Lost()
		}
		return
	}
	if s.una < s.resend && s.fack > s.againAt+enough {
		s.resend, s.again, s.againAt = s.una, 0, s.next
	}
}

// measure takes a round-trip time (RFC 6298, section 2).
func (s *Sender) measure(rtt units.Time) {
	if s.srtt == 0 {
		s.srtt, s.rttvar = rtt, rtt/2
	} else {
		d := s.srtt - rtt
		if d < 0 {
			d = -d
		}
		s.rttvar += (d - s.rttvar) / 4
		s.srtt += (rtt - s.srtt) / 8
	}
	s.rto = min(max(s.srtt+4*s.rttvar, s.params.MinRTO), longestRTO)
}

// arm sets the timer: a probe's, unless losses are being repaired or one is
// out, else that of the retransmission.
func (s *Sender) arm(now units.Time) {
	s.probing = s.recover == 0 && !s.probed && s.srtt != 0
	s.deadline = now + s.rto
	if s.probing {
		s.deadline = min(s.deadline, now+2*s.srtt+probeSlack)
	}
}

// Deadline returns when Expire is due; Never: nothing is under way.
func (s *Sender) Deadline() units.Time { return s.deadline }

// Expire is called at the deadline. probe asks for a segment to be sent at
// once, whatever the window: the end of what was sent, again, or a byte beyond
// a closed receiver's window. Otherwise all
// that is not acknowledged counts as lost, and Next sends it again.
func (s *Sender) Expire(now units.Time, out *Segment) (probe bool) {
	if s.una >= s.next {
		s.deadline = units.Never
		if !s.shut() {
			return false
		}
		*out = Segment{Seq: s.next, Bytes: 1}
		s.next++
		s.rto = min(2*s.rto, longestRTO)
		s.deadline = now + s.rto
		return true
	}
	if s.probing {
		s.probed, s.timedAt = true, units.Never
		s.arm(now)
		n := min(uint64(s.params.MSS), s.next-s.una)
		*out = Segment{Seq: s.next - n, Bytes: uint32(n), Again: true}
		return true
	}
	s.recover, s.fack = s.next, s.next
	s.resend, s.again, s.againAt = s.una, 0, s.next
	s.timedOut, s.probed, s.timedAt = true, false, units.Never
	s.Window.TimedOut()
	s.rto = min(2*s.rto, longestRTO)
	s.deadline = now + s.rto
	s.probing = false
	return false
}
