package switchcore

import (
	"math/bits"

	"weir/internal/qos"
	"weir/units"
)

// Dequeue takes the next packet that egress port out may send: strict
// priorities first, highest first, then deficit round robin among the rest. It
// fills *e and *o and returns true, or returns false when nothing is sendable.
// The packet is taken to be in service from now for its bytes and the gap at
// the port's rate; the caller must not ask again before that.
//
// XON in the outcome means: send a resume frame for e.Priority by port e.In.
func (s *Switch) Dequeue(now units.Time, out uint16, e *Entry, o *Outcome) bool {
	p := &s.ports[out]
	if now >= p.lapse {
		s.settle(now, p)
	}
	ready := p.ready &^ p.held
	if ready == 0 {
		return false
	}
	var prio uint
	switch {
	case ready&(ready-1) == 0:
		prio = uint(bits.TrailingZeros8(ready))
	case ready&s.strict != 0:
		prio = uint(7 - bits.LeadingZeros8(ready&s.strict))
	default:
		prio = s.roundRobin(p, ready)
	}

	q := &p.out[prio&7]
	v := q.first()
	q.pop()
	size := packedBytes(v)
	s.remove(p, q, prio, size)
	q.txPackets++
	q.txBytes += uint64(size)
	p.service, p.serving = size, uint8(prio)
	p.busy = now + units.Time(p.pace*uint64(size+s.gap)>>paceShift)

	e.unpack(v, out, uint8(prio))
	o.Mark, o.Flags = 0, 0
	if s.lossless>>prio&1 == 0 {
		s.free += int64(size)
	} else if in := &s.ports[e.In].in[prio&7]; in.xoff|in.headroom == 0 && int64(in.bytes)-int64(size) >= s.reserve {
		in.bytes -= size
		s.free += int64(size)
	} else if o.Flags = s.release(in, prio, size); o.Flags != 0 {
		s.lower(e.In, e.Priority)
	}
	if r := &s.atDequeue[prio]; q.bytes > r.min && e.Flags&Capable != 0 {
		o.Mark = r.mark(q.bytes)
	}
	return true
}

// remove takes size bytes off an egress queue whose entry is gone.
func (s *Switch) remove(p *port, q *egress, prio uint, size uint32) {
	q.bytes -= size
	p.bytes -= size
	if q.n == 0 {
		p.ready &^= 1 << prio
		q.deficit = 0
	}
}

// release gives back the buffer of a packet and returns XON if a resume frame
// is due, else 0.
func (s *Switch) release(in *ingress, prio uint, size uint32) OutcomeFlags {
	if s.lossless>>prio&1 == 0 {
		s.free += int64(size)
		return 0
	}
	if in.headroom != 0 {
		room := min(in.headroom, size)
		in.headroom -= room
		s.room -= int64(room)
		size -= room
	}
	before := max(0, int64(in.bytes)-s.reserve)
	in.bytes -= size
	after := max(0, int64(in.bytes)-s.reserve)
	s.free += before - after
	if in.xoff == 0 || in.headroom != 0 {
		return 0
	}
	// A queue within its reserve resumes whatever the threshold has become,
	// or it might never.
	if after != 0 && after+s.xonOffset > s.threshold() {
		return 0
	}
	in.xoff = 0
	return XON
}

// roundRobin picks a queue among two or more ready ones by deficit round robin
// (Shreedhar and Varghese 1995) and charges it.
func (s *Switch) roundRobin(p *port, ready uint8) uint {
	queues := &p.out
	for lap := 0; ; {
		c := uint(p.cursor & 7)
		if ready>>c&1 != 0 {
			q := &queues[c]
			if size := int32(packedBytes(q.first())); q.deficit >= size {
				q.deficit -= size
				return c
			}
		}
		// The next ready queue after the cursor, cyclically.
		turned := bits.RotateLeft8(ready, -int(c+1))
		c = (c + 1 + uint(bits.TrailingZeros8(turned))) & 7
		p.cursor = uint8(c)
		queues[c].deficit += s.quantum[c]
		if lap++; lap > qos.Priorities {
			s.skipRounds(queues, ready)
			lap = 0
		}
	}
}

// skipRounds credits the rounds that would pass before any ready queue could
// send, but for the last, so that small weights cost no long search.
func (s *Switch) skipRounds(queues *[qos.Priorities]egress, ready uint8) {
	rounds := int32(1 << 30)
	for m := ready; m != 0; m &= m - 1 {
		c := bits.TrailingZeros8(m)
		q := &queues[c]
		lack := int32(packedBytes(q.first())) - q.deficit
		rounds = min(rounds, max(0, (lack-1)/s.quantum[c]))
	}
	for m := ready; m != 0; m &= m - 1 {
		c := bits.TrailingZeros8(m)
		queues[c].deficit += rounds * s.quantum[c]
	}
}

// largestQuantum is the deficit that the heaviest queue gains in a round: a
// few packets, so that rounds stay short against the delays of a fabric.
const largestQuantum = 16384

func (s *Switch) setQuanta() {
	var heaviest uint64 = 1
	for _, w := range s.cfg.Weight {
		heaviest = max(heaviest, uint64(w))
	}
	for i, w := range s.cfg.Weight {
		s.quantum[i] = int32(max(1, uint64(max(1, w))*largestQuantum/heaviest))
	}
}

// DropLast takes back the packet that the last Enqueue put at the tail of a
// queue, for WRED drops: no other call may have come between. o tells whether
// XON is due at e.In.
func (s *Switch) DropLast(out uint16, prio uint8, e *Entry, o *Outcome) {
	p := &s.ports[out]
	p.rarely()[prio].wredDrops++
	q := &p.out[prio&7]
	s.withdraw(q.popLast(), p, q, out, prio, e, o)
}

// Drain takes the first packet of a queue out of the switch without sending
// it, whatever pause is in force, and counts it as discarded. It returns false
// when the queue is empty. Callers use it when Watchdog reports
// a storm whose action is to drop, and when a link goes down.
func (s *Switch) Drain(out uint16, prio uint8, e *Entry, o *Outcome) bool {
	p := &s.ports[out]
	q := &p.out[prio&7]
	if q.n == 0 {
		return false
	}
	p.rarely()[prio].discards++
	v := q.first()
	q.pop()
	s.withdraw(v, p, q, out, prio, e, o)
	return true
}

func (s *Switch) withdraw(v uint64, p *port, q *egress, out uint16, prio uint8, e *Entry, o *Outcome) {
	size := packedBytes(v)
	s.remove(p, q, uint(prio), size)
	e.unpack(v, out, prio)
	*o = Outcome{Flags: s.release(&s.ports[e.In].in[prio&7], uint(prio), size)}
	if o.Flags != 0 {
		s.lower(e.In, prio)
	}
}
