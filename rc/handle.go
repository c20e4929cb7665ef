package rc

import (
	"weir/roce"
	"weir/units"
)

// Handle takes a response: an acknowledgement, NAK, READ response or atomic
// acknowledgement. It returns what it means and how many messages it completed;
// these are the oldest outstanding ones. With Response, in.Index is set to the
// message that the payload belongs to, and its place in that message is
// (in.PSN - Message(in.Index).First) x MTU.
//
// Responses outside the packets in flight have no effect: an old
// acknowledgement may come at any time.
func (r *Requester) Handle(p *Params, now units.Time, in *Packet) (e Event, completed uint32) {
	if in.Op == roce.RCAcknowledge && in.Syndrome <= roce.SyndromeACK && r.flags == 0 && r.sacked == nil && r.head != r.tail {
		// The usual case, which advance knows as well, without a call: the
		// acknowledgement of packets of the oldest message.
		m := r.message(r.head)
		n := (uint32(in.PSN-r.una) + 1) & roce.PSNMask
		flight, left := uint32(r.cur-r.una)&roce.PSNMask, uint32(m.First-r.una)+m.Packets
		if left &= roce.PSNMask; n-1 < flight && n <= left && m.shape&asks == 0 {
			r.una = r.una.Add(int32(n))
			if n == left {
				r.head++
				completed = 1
			}
			r.retries, r.rnrTries = 0, 0
			r.deadline = units.Never
			if n != flight && p.Timeout > 0 {
				r.deadline = now + p.Timeout
			}
			return Progress, completed
		}
	}
	return r.handle(p, now, in)
}

func (r *Requester) handle(p *Params, now units.Time, in *Packet) (Event, uint32) {
	if r.flags&failed != 0 {
		return Nothing, 0
	}
	switch in.Op {
	case roce.RCAcknowledge:
		switch {
		case in.Syndrome > roce.SyndromeACK:
			return r.refused(p, now, in)
		case in.Flags&Selective != 0:
			return r.selective(p, now, in)
		case r.sent(in.PSN):
			return r.advance(p, now, in.PSN.Add(1))
		}
	case roce.RCReadResponseFirst, roce.RCReadResponseMiddle, roce.RCReadResponseLast, roce.RCReadResponseOnly,
		roce.RCAtomicAcknowledge:
		return r.response(p, now, in)
	}
	return Nothing, 0
}

// sent reports whether psn is in flight.
func (r *Requester) sent(psn roce.PSN) bool {
	return psn.InWindow(r.una, uint32(r.high.Sub(r.una)))
}

// advance moves the oldest unacknowledged PSN on to psn, which is in flight or
// right behind. It stops at a READ or atomic, which no acknowledgement answers:
// that one's answer is lost, and it is asked for again (section 9.7.5.1.1).
func (r *Requester) advance(p *Params, now units.Time, psn roce.PSN) (e Event, completed uint32) {
	old := r.una
	for psn != r.una {
		m := r.message(r.head)
		if m.shape&asks != 0 {
			r.moved(p, now, old)
			return r.implied(p), completed
		}
		end := m.First.Add(int32(m.Packets))
		if psn.Less(end) {
			r.una = psn
			break
		}
		r.una = end
		r.head++
		completed++
	}
	if r.una == old {
		return Nothing, 0
	}
	r.moved(p, now, old)
	return Progress, completed
}

// moved mends what follows from una after it has moved on from old.
func (r *Requester) moved(p *Params, now units.Time, old roce.PSN) {
	if r.una == old {
		return
	}
	if int32(r.at-r.head) < 0 {
		r.at = r.head
	}
	if r.cur.Less(r.una) { // the return was needless for these
		r.cur = r.una
	}
	if r.sacked != nil {
		r.repairTo(old)
	}
	r.retries, r.rnrTries = 0, 0
	r.flags &^= askedAgain | waiting
	r.deadline = units.Never
	if r.cur != r.una && p.Timeout > 0 {
		r.deadline = now + p.Timeout
	}
}

// implied answers the discovery that the READ or atomic at una was passed over,
// once until something moves.
func (r *Requester) implied(p *Params) Event {
	if r.flags&askedAgain != 0 || r.flags&waiting != 0 {
		return Nothing
	}
	r.flags |= askedAgain
	r.goBack(p)
	return ImpliedError
}

// goBack returns to the oldest unacknowledged packet, or to the first of its
// message.
func (r *Requester) goBack(p *Params) {
	if r.sacked != nil {
		r.repairAll()
		return
	}
	if p.Recovery == GoBack0 && r.head != r.tail {
		if m := r.message(r.head); m.shape&asks == 0 {
			r.una = m.First
		}
	}
	r.cur = r.una
	r.at = r.head
	r.reads = 0
	r.since = 0
	r.deadline = units.Never // Next sets it again
}

// refused takes a NAK or RNR NAK.
func (r *Requester) refused(p *Params, now units.Time, in *Packet) (Event, uint32) {
	psn := in.PSN
	if p.Recovery == GoBack0 && r.head != r.tail {
		// the responder went back behind what it had acknowledged
		if first := r.message(r.head).First; psn == first && r.una != r.high {
			psn = r.una
		}
	}
	if !r.sent(psn) {
		return Nothing, 0
	}
	rnr := in.Syndrome&0xe0 == roce.SyndromeRNR
	if !rnr && (in.Syndrome < roce.SyndromeNAKSequenceError || in.Syndrome > 0x7f) {
		return Nothing, 0 // reserved codes
	}
	if r.flags&waiting != 0 && psn == r.una && (rnr || in.Syndrome == roce.SyndromeNAKSequenceError) {
		return Nothing, 0 // said before; some responders add a sequence NAK for what followed
	}
	e, completed := r.advance(p, now, psn)
	if e == ImpliedError || r.una != psn {
		return e, completed // the answer before psn comes first
	}
	switch {
	case rnr:
		if p.RNRRetry < 7 {
			if r.rnrTries >= p.RNRRetry {
				return r.fail(RNRRetryExceeded), completed
			}
			r.rnrTries++
		}
		r.goBack(p)
		r.flags |= waiting
		r.deadline = now + units.Time(roce.RNRTime(uint8(in.Syndrome)))*units.Nanosecond
		return ReceiverNotReady, completed
	case in.Syndrome == roce.SyndromeNAKSequenceError:
		r.goBack(p)
		return SequenceError, completed
	case in.Syndrome == roce.SyndromeNAKInvalidRequest:
		return r.fail(InvalidRequest), completed
	case in.Syndrome == roce.SyndromeNAKRemoteAccessError:
		return r.fail(RemoteAccessError), completed
	}
	return r.fail(RemoteOperational), completed
}

// response takes a READ response or atomic acknowledgement. It acknowledges
// what was sent before its request (section 9.7.5.1.1).
func (r *Requester) response(p *Params, now units.Time, in *Packet) (Event, uint32) {
	if !r.sent(in.PSN) {
		return Nothing, 0
	}
	e, completed := r.advance(p, now, in.PSN)
	if r.una != in.PSN {
		return e, completed
	}
	m := r.message(r.head)
	if !r.answers(p, m, in) {
		return e, completed
	}
	in.Index = r.head
	old := r.una
	r.una = old.Add(1)
	if r.una == m.First.Add(int32(m.Packets)) {
		if int32(r.at-r.head) > 0 {
			r.reads--
		}
		r.head++
		completed++
	}
	r.moved(p, now, old)
	if r.sacked != nil { // behind the answered one there may be what has arrived already
		_, n := r.advance(p, now, r.arrived())
		completed += n
	}
	return Response, completed
}

// answers reports whether a response fits the message at una: kind and length.
func (r *Requester) answers(p *Params, m *Message, in *Packet) bool {
	sh := m.shape
	if in.Op == roce.RCAtomicAcknowledge {
		return sh&isAtomic != 0
	}
	k := uint32(in.PSN-m.First) & roce.PSNMask
	want := p.MTU
	if k+1 == m.Packets {
		want = m.Bytes - k*p.MTU
	}
	return sh&isRead != 0 && in.Bytes == want
}
