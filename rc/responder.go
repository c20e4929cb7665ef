package rc

import (
	"weir/roce"
	"weir/units"
)

// Responder is the receiving side of one direction of a connection.
//
// For each request packet the caller asks Check, does what the packet asks of
// its memory, and tells the outcome: Commit, or Refuse with a verdict. Either
// may yield one packet to send. Next yields the rest. The caller should send
// what Next has before it handles more than a few further requests, and may
// pace it: an acknowledgement that would overtake a READ response waits inside
// the responder, so its place in the order is kept.
//
// It takes 96 bytes, without the caller's bitmap and replies.
type Responder struct {
	Sequence

	// Delivered counts completed requests since Reset, modulo 2^32: a SEND or
	// WRITE when its last packet and everything before it has arrived, a READ
	// or atomic when it is accepted. Its low 24 bits are the MSN. Compare it
	// before and after Commit to learn how many messages were delivered.
	Delivered uint32

	first    roce.PSN // of the message in progress (GoBack0 returns there)
	ackTo    roce.PSN // newest packet that asked for an ACK while ahead of a gap
	accepted uint32   // READs and atomics, modulo 2^32
	low      uint32   // oldest of them that may have something left to send
	due      roce.Syndrome
	flags    responderFlags
	nakAt    units.Time
	bitmap   []uint64 // first half: arrived ahead; second half: ends a message
	replies  []Reply
}

type responderFlags uint8

const (
	reported responderFlags = 1 << iota // the gap (or RNR) has been answered with a NAK
	broken                              // a fatal NAK was given: silent for good
	ackAhead                            // ackTo is valid
)

// Reply is what a responder keeps of a READ or atomic, to answer it and to
// answer it again, in a ring that the caller owns.
type Reply struct {
	First          roce.PSN
	Packets, Bytes uint32
	MSN            uint32
	Op             roce.Opcode

	again          bool     // was answered in full before
	start, at, end roce.PSN // of the answer being sent: begin, next packet, behind the last one
	tail           uint32   // bytes in its last packet
}

// Reset makes r expect psn first. replies is the ring for READs and atomics:
// its length, a power of two, is how many may be unanswered at a time, and how
// many are remembered for duplicates; nil refuses them all. bitmap is used with
// OutOfOrder or SelectiveRepeat: its length, a power of two, times 32 is how far
// ahead packets are placed; two bits a packet. Both are cleared, and owned by r
// from then on. Reset panics when a length is not a power of two.
func (r *Responder) Reset(p *Params, psn roce.PSN, replies []Reply, bitmap []uint64) {
	if len(replies)&(len(replies)-1) != 0 || len(bitmap)&(len(bitmap)-1) != 0 {
		panic("rc: length of a responder's ring is not a power of two")
	}
	if !p.OutOfOrder && p.Recovery != SelectiveRepeat || len(bitmap) < 2 {
		bitmap = nil
	}
	clear(replies)
	clear(bitmap)
	psn &= roce.PSNMask
	*r = Responder{Sequence: Sequence{Expected: psn, MTU: p.MTU}, first: psn, replies: replies, bitmap: bitmap}
}

// MSN returns the message sequence number, 24 bits.
func (r *Responder) MSN() uint32 { return r.Delivered & roce.PSNMask }

// Accepted returns the number, modulo 2^32, that the next READ or atomic gets
// when it is committed: the Index of its answers. The caller keeps address or
// result under this number, modulo the length of the replies, for as long as
// the responder may answer it again.
func (r *Responder) Accepted() uint32 { return r.accepted }

// Reply returns what is remembered of the READ or atomic with the given number.
// The memory that a READ response with Index i carries starts
// (PSN - Reply(i).First) x MTU bytes behind the address that was asked for.
func (r *Responder) Reply(index uint32) *Reply {
	return &r.replies[index&uint32(len(r.replies)-1)]
}

// Check judges a request packet. It has no effect.
func (r *Responder) Check(in *Packet) Verdict {
	// The usual case, which Sequence.Check knows as well, without a call: the
	// expected packet of a SEND or WRITE.
	sh := shapeOf(in.Op)
	open, full := shape(0), uint32(0)
	if sh&starts == 0 {
		open = sh & carries
	}
	if sh&ends == 0 {
		full = r.MTU
	}
	if in.PSN == r.Expected && sh&(request|asks) == request && r.open == open &&
		in.Bytes-full <= r.MTU-full && (in.Bytes != 0 || open == 0) && r.flags&broken == 0 {
		return InOrder
	}
	return r.check(in)
}

func (r *Responder) check(in *Packet) Verdict {
	v := r.Sequence.Check(in)
	switch {
	case r.flags&broken != 0:
		return Ignored
	case v == InOrder && shapeOf(in.Op)&asks != 0 && r.full():
		return Invalid
	case v == Gap && r.bitmap != nil:
		return r.checkAhead(in)
	}
	return v
}

func (r *Responder) full() bool {
	n := uint32(len(r.replies))
	return n == 0 || r.accepted-r.low >= n && !r.Reply(r.low).again
}

// checkAhead judges a packet behind a gap. READs and atomics are not taken out
// of order: their effects would be.
func (r *Responder) checkAhead(in *Packet) Verdict {
	sh := shapeOf(in.Op)
	half := uint32(len(r.bitmap) / 2)
	if sh&asks != 0 || uint32(in.PSN.Sub(r.Expected)) >= half*64 {
		return Gap
	}
	if !r.fits(sh, in.Bytes) {
		return Invalid
	}
	if r.bitmap[uint32(in.PSN)/64&(half-1)]&(1<<(in.PSN&63)) != 0 {
		return Duplicate
	}
	return Ahead
}

// Commit takes a packet that Check found InOrder or Ahead, after the caller's
// memory has taken it. It reports whether out is to be sent: an
// acknowledgement. READs and atomics are answered by Next.
func (r *Responder) Commit(p *Params, in, out *Packet) bool {
	if in.PSN != r.Expected {
		return r.commitAhead(p, in, out)
	}
	sh := shapeOf(in.Op)
	r.flags &^= reported
	if r.due > roce.SyndromeACK {
		r.due = roce.SyndromeACK // the NAK that waits is out of date, what it acknowledges is not
	}
	ack := in.Flags&AckRequest != 0
	if sh&asks != 0 {
		r.accept(in)
		ack = false
	} else {
		r.step(sh&ends != 0, sh&carries)
	}
	if r.bitmap != nil && r.closeGap(p) {
		ack = true
	}
	if !ack {
		return false
	}
	return r.answer(roce.SyndromeACK, out)
}

// step moves the sequence on by one packet of a SEND or WRITE.
func (r *Responder) step(last bool, class shape) {
	r.Expected = r.Expected.Add(1)
	r.open = class
	if last {
		r.open = 0
		r.first = r.Expected
		r.Delivered++
	}
}

func (r *Responder) commitAhead(p *Params, in, out *Packet) bool {
	half := uint32(len(r.bitmap) / 2)
	word, bit := uint32(in.PSN)/64&(half-1), uint64(1)<<(in.PSN&63)
	r.bitmap[word] |= bit
	if shapeOf(in.Op)&ends != 0 {
		r.bitmap[half+word] |= bit
	}
	if p.Recovery == SelectiveRepeat {
		*out = Packet{
			PSN: in.PSN, MSN: uint32(r.Expected), Op: roce.RCAcknowledge,
			Syndrome: roce.SyndromeACK, Flags: Selective,
		}
		return true
	}
	if in.Flags&AckRequest != 0 && (r.flags&ackAhead == 0 || r.ackTo.Less(in.PSN)) {
		r.flags |= ackAhead
		r.ackTo = in.PSN
	}
	return false
}

// closeGap moves on over packets that arrived ahead, and reports whether an
// acknowledgement is due for them: one asked for it, or (SelectiveRepeat) the
// requester has to learn that the gap is closed.
func (r *Responder) closeGap(p *Params) (ack bool) {
	half := uint32(len(r.bitmap) / 2)
	moved := false
	for {
		word, bit := uint32(r.Expected)/64&(half-1), uint64(1)<<(r.Expected&63)
		if r.bitmap[word]&bit == 0 {
			break
		}
		last := r.bitmap[half+word]&bit != 0
		r.bitmap[word] &^= bit
		r.bitmap[half+word] &^= bit
		r.step(last, carries)
		moved = true
	}
	if r.flags&ackAhead != 0 && r.ackTo.Less(r.Expected) {
		r.flags &^= ackAhead
		return true
	}
	return moved && p.Recovery == SelectiveRepeat
}

// accept queues the answer to a READ or atomic.
func (r *Responder) accept(in *Packet) {
	span := r.Span(in)
	if r.accepted-r.low >= uint32(len(r.replies)) {
		r.low++ // a repetition that nobody waits for any more
	}
	r.Delivered++
	e := r.Reply(r.accepted)
	*e = Reply{First: in.PSN, Packets: span, Bytes: in.Bytes, MSN: r.MSN(), Op: in.Op}
	e.ask(in.PSN, span, in.Bytes, r.MTU)
	r.accepted++
	r.skip()
	r.Advance(in)
	r.first = r.Expected
}

// ask sets the answer to be sent: n packets from psn on, size bytes.
func (e *Reply) ask(psn roce.PSN, n, size, mtu uint32) {
	e.start, e.at, e.end = psn, psn, psn.Add(int32(n))
	e.tail = size - (n-1)*mtu
	if e.Op != roce.RCReadRequest {
		e.tail = 0
	}
}

// answer puts an acknowledgement or NAK into out, unless answers of READs and
// atomics have to go first: then Next yields it after them.
func (r *Responder) answer(s roce.Syndrome, out *Packet) bool {
	if r.low != r.accepted {
		r.due = s
		return false
	}
	r.due = 0
	r.acknowledge(s, out)
	return true
}

func (r *Responder) acknowledge(s roce.Syndrome, out *Packet) {
	psn := r.Expected
	if s <= roce.SyndromeACK {
		psn = psn.Add(-1)
	}
	out.PSN, out.MSN, out.Index, out.Bytes = psn, r.MSN(), 0, 0
	out.Op, out.Syndrome, out.Flags = roce.RCAcknowledge, s, 0
}

// Refuse deals with a packet that cannot be committed, for the reason that
// Check or the caller's memory gave. It reports whether out is to be sent.
//
// A Gap is answered with one NAK until the expected packet arrives, or one in
// each NakInterval. A Duplicate SEND or WRITE that asks for an acknowledgement
// gets one for the newest packet that has arrived in order, a READ or atomic
// its answer again if it is remembered. NotReady draws an RNR NAK. Invalid,
// AccessError and Inoperable draw their NAK and silence the responder for good.
func (r *Responder) Refuse(p *Params, now units.Time, v Verdict, in, out *Packet) bool {
	if r.flags&broken != 0 {
		return false
	}
	switch v {
	case Duplicate:
		if shapeOf(in.Op)&asks != 0 {
			r.repeat(in)
			return false
		}
		if in.Flags&AckRequest == 0 {
			return false
		}
		if r.due > roce.SyndromeACK {
			return false // the NAK that waits says as much
		}
		return r.answer(roce.SyndromeACK, out)
	case Gap:
		return r.gap(p, now, out)
	case NotReady:
		r.flags |= reported
		r.nakAt = now
		return r.answer(roce.SyndromeRNR|roce.Syndrome(p.RNRTimer&31), out)
	case Invalid, AccessError, Inoperable:
		r.flags |= broken
		s := roce.SyndromeNAKInvalidRequest
		if v == AccessError {
			s = roce.SyndromeNAKRemoteAccessError
		} else if v == Inoperable {
			s = roce.SyndromeNAKRemoteOperational
		}
		return r.answer(s, out)
	}
	return false
}

func (r *Responder) gap(p *Params, now units.Time, out *Packet) bool {
	if p.Recovery == GoBack0 && r.open != 0 {
		r.Expected = r.first
		r.open = 0
	}
	if r.flags&reported != 0 && (p.NakInterval <= 0 || now-r.nakAt < p.NakInterval) {
		return false
	}
	r.flags |= reported
	r.nakAt = now
	return r.answer(roce.SyndromeNAKSequenceError, out)
}

// repeat queues the answer to a READ or atomic again, if it is remembered. The
// repetition of a READ may start inside the original.
func (r *Responder) repeat(in *Packet) {
	n := min(r.accepted, uint32(len(r.replies)))
	for i := r.accepted - 1; i != r.accepted-1-n; i-- {
		e := r.Reply(i)
		d := in.PSN.Sub(e.First)
		if d < 0 || uint32(d) >= e.Packets {
			continue
		}
		if e.Op != in.Op {
			return
		}
		span := r.Span(in)
		if e.Op == roce.RCReadRequest && (uint32(d)+span > e.Packets || uint64(d)*uint64(r.MTU)+uint64(in.Bytes) > uint64(e.Bytes)) {
			return
		}
		if e.at != e.end {
			if !in.PSN.Less(e.at) {
				return // will be sent anyway
			}
		} else {
			e.again = true
		}
		e.ask(in.PSN, span, in.Bytes, r.MTU)
		if int32(i-r.low) < 0 {
			r.low = i
		}
		return
	}
}

// Ready reports whether Next has a packet.
func (r *Responder) Ready() bool { return r.low != r.accepted || r.due != 0 }

// Next yields the next packet that the responder sends on its own: a READ
// response (Bytes from the memory that Index and PSN find), an atomic
// acknowledgement, or an acknowledgement or NAK that had to wait for them.
func (r *Responder) Next(p *Params, now units.Time, out *Packet) bool {
	if r.low == r.accepted {
		if r.due == 0 {
			return false
		}
		r.acknowledge(r.due, out)
		r.due = 0
		return true
	}
	e := r.Reply(r.low)
	*out = Packet{PSN: e.at, MSN: e.MSN, Index: r.low, Op: roce.RCAtomicAcknowledge, Syndrome: roce.SyndromeACK}
	begins := e.at == e.start
	e.at = e.at.Add(1)
	last := e.at == e.end
	if e.Op == roce.RCReadRequest {
		out.Op, out.Bytes = roce.RCReadResponseMiddle, r.MTU
		switch {
		case begins && last:
			out.Op = roce.RCReadResponseOnly
		case begins:
			out.Op = roce.RCReadResponseFirst
		case last:
			out.Op = roce.RCReadResponseLast
		}
		if last {
			out.Bytes = e.tail
		}
	}
	r.skip()
	return true
}

// skip moves low on to the oldest answer with something left to send.
func (r *Responder) skip() {
	for r.low != r.accepted && r.Reply(r.low).at == r.Reply(r.low).end {
		r.low++
	}
}
