package switchcore

import "weir/units"

// Enqueue offers a packet that has come in by e.In and is to leave by e.Out.
// Unless the outcome says Dropped, the switch keeps the handle until Dequeue,
// DropLast or Drain gives it back. It does not allocate unless a ring grows.
func (s *Switch) Enqueue(now units.Time, e *Entry) Outcome {
	prio := uint(e.Priority) & 7
	bit := uint8(1) << prio
	size := e.Bytes
	p := &s.ports[e.Out]
	q := &p.out[prio]
	from := &s.ports[e.In]
	in := &from.in[prio]
	in.rxPackets++
	in.rxBytes += uint64(size)

	var o Outcome
	if p.stormed&bit != 0 && s.drops {
		return s.refuseStormed(e)
	}
	if s.lossless&bit != 0 {
		// Nearly all packets stay clear of threshold, reserve and headroom.
		// With the threshold as it is after them, they raise no XOFF either.
		free := s.free - int64(size)
		after := int64(in.bytes) + int64(size)
		if in.xoff|in.headroom == 0 && int64(in.bytes) >= s.reserve && free >= 0 && s.alphaKeep == 0 &&
			after-s.reserve < s.xoffBase+free*s.alphaIn>>alphaShift {
			in.bytes = uint32(after)
			in.maxBytes = max(in.maxBytes, in.bytes)
			s.free = free
			s.minFree = min(s.minFree, free)
		} else if o.Flags = s.admitLossless(now, e, q, from, in); o.Flags&Dropped != 0 {
			return o
		}
	} else {
		if limit := s.free * s.alphaOut >> alphaShift; int64(q.bytes)+int64(size) > limit || int64(size) > s.free {
			return s.refuse(e.Out, e, 0)
		}
		s.free -= int64(size)
		s.minFree = min(s.minFree, s.free)
	}

	if q.n == 0 {
		p.ready |= bit
		if p.paused&bit != 0 {
			s.stall(now, p, prio)
		}
	}
	q.push(pack(e))
	q.bytes += size
	q.maxBytes = max(q.maxBytes, q.bytes)
	p.bytes += size

	if r := &s.atEnqueue[prio]; q.bytes+p.service > r.min {
		seen := q.bytes
		if p.busy > now && uint(p.serving) == prio {
			seen += p.service
		}
		o.Mark = r.mark(seen)
		if e.Flags&Capable == 0 && o.Mark != 0 {
			o.Flags |= WRED
		}
	}
	return o
}

// admitLossless counts a packet at its ingress port and priority, or refuses
// it, and says whether XOFF is due.
func (s *Switch) admitLossless(now units.Time, e *Entry, q *egress, from *port, in *ingress) OutcomeFlags {
	size := int64(e.Bytes)
	sends := from.sends>>(e.Priority&7)&1 != 0
	if s.alphaKeep != 0 && int64(q.bytes)+size > s.free*s.alphaKeep>>alphaShift {
		return s.refuse(e.Out, e, LosslessDrop).Flags
	}

	limit := s.threshold()
	before := max(0, int64(in.bytes)-s.reserve)
	after := max(0, int64(in.bytes)+size-s.reserve)
	// The packet that raises XOFF is within the shared part unless the
	// configuration says otherwise.
	fits := after <= limit || sends && in.xoff == 0 && !s.trigger
	switch {
	case fits && after-before <= s.free:
		in.bytes += uint32(size)
		in.maxBytes = max(in.maxBytes, in.bytes)
		s.free -= after - before
		s.minFree = min(s.minFree, s.free)
	case sends && int64(in.headroom)+size <= int64(from.headroom):
		after = before
		in.headroom += uint32(size)
		s.noteHeadroom(from, e.Priority&7, in.headroom, size)
	default:
		return s.refuse(e.In, e, LosslessDrop).Flags
	}

	if !sends || in.xoff != 0 && !s.byPacket {
		return 0
	}
	if in.headroom > 0 || after >= s.threshold() {
		s.raise(now, from, in, e.Priority&7)
		return XOFF
	}
	return 0
}

// noteHeadroom keeps the high-water marks of headroom.
func (s *Switch) noteHeadroom(p *port, prio uint8, used uint32, size int64) {
	s.room += size
	s.maxRoom = max(s.maxRoom, s.room)
	r := &p.rarely()[prio]
	r.maxHeadroom = max(r.maxHeadroom, used)
}

// refuse counts a drop at port at and returns its outcome.
func (s *Switch) refuse(at uint16, e *Entry, lossless OutcomeFlags) Outcome {
	r := &s.ports[at].rarely()[e.Priority&7]
	r.drops++
	if lossless != 0 {
		r.losslessDrops++
	}
	return Outcome{Flags: Dropped | lossless}
}

// refuseStormed counts a packet that the watchdog drops.
func (s *Switch) refuseStormed(e *Entry) Outcome {
	s.ports[e.Out].rarely()[e.Priority&7].discards++
	flags := Dropped | Stormed
	if s.lossless>>(e.Priority&7)&1 != 0 {
		flags |= LosslessDrop
	}
	return Outcome{Flags: flags}
}
