package rc

import (
	"weir/roce"
	"weir/units"
)

// Requester is the sending side of one direction of a connection. The caller
// posts messages, takes packets from Next whenever its scheduler allows, feeds
// Handle with the responses, and calls Expire when Deadline has passed.
//
// It takes 112 bytes, without the caller's ring and bitmap.
type Requester struct {
	una  roce.PSN // oldest PSN that is not acknowledged
	cur  roce.PSN // next PSN to send
	high roce.PSN // behind the newest PSN ever sent; behind cur only after a return
	end  roce.PSN // behind the newest message

	head, at, tail uint32 // numbers of messages: oldest incomplete, the one at cur, next to be posted
	since          uint32 // packets since the last AckReq
	deadline       units.Time
	ring           []Message

	flags    requesterFlags
	reads    uint8 // READs and atomics before cur that are not answered
	retries  uint8
	rnrTries uint8
	failure  Failure

	repair repair
	sacked []uint64
}

type requesterFlags uint8

const (
	waiting    requesterFlags = 1 << iota // for the end of an RNR delay, which is deadline
	failed                                // no further packet
	askedAgain                            // an implied NAK for una has been answered
)

// Event is what Handle or Expire made of its call. The comments name the
// counter of the adapters that counts it, where there is one.
type Event uint8

// The events.
const (
	Nothing          Event = iota // no effect: stale, repeated, or not of this connection
	Progress                      // packets were acknowledged
	Response                      // a READ response or atomic acknowledgement was accepted: its payload belongs to message in.Index
	SequenceError                 // NAK: sending again (packet_seq_err)
	ImpliedError                  // a READ or atomic was passed over: asking again (implied_nak_seq_err)
	ReceiverNotReady              // RNR NAK: waiting (rnr_nak_retry_err counts them when retries run out)
	Resumed                       // the RNR delay is over: ask Next
	TimedOut                      // sending again (local_ack_timeout_err)
	Failed                        // for good; see Failure
)

// String returns the event in words.
func (e Event) String() string {
	return [...]string{
		"nothing", "progress", "response", "sequence error", "implied sequence error",
		"receiver not ready", "resumed", "timed out", "failed",
	}[min(e, Failed)]
}

// Failure is why a requester has failed.
type Failure uint8

// The failures, in the order of verbs' completion codes.
const (
	NoFailure         Failure = iota
	InvalidRequest            // NAK 0x61
	RemoteAccessError         // NAK 0x62
	RemoteOperational         // NAK 0x63 and unknown codes
	RetryExceeded             // no acknowledgement within all retries
	RNRRetryExceeded          // receiver not ready within all retries
)

// String returns the failure in the words of verbs.
func (f Failure) String() string {
	return [...]string{
		"success", "remote invalid request error", "remote access error", "remote operation error",
		"transport retry counter exceeded", "RNR retry counter exceeded",
	}[min(f, RNRRetryExceeded)]
}

// Reset makes r number its packets from psn on. ring, whose length is a power
// of two, holds the messages that are posted and not complete. bitmap is for
// SelectiveRepeat alone: its length, a power of two, times 64 bounds the
// window; with an empty bitmap such a requester goes back to the missing
// packet. Both are owned by r from then on. Reset panics when a length is not a
// power of two.
func (r *Requester) Reset(p *Params, psn roce.PSN, ring []Message, bitmap []uint64) {
	if len(ring) == 0 || len(ring)&(len(ring)-1) != 0 || len(bitmap)&(len(bitmap)-1) != 0 {
		panic("rc: length of a requester's ring is not a power of two")
	}
	if p.Recovery != SelectiveRepeat {
		bitmap = nil
	}
	clear(bitmap)
	psn &= roce.PSNMask
	*r = Requester{una: psn, cur: psn, high: psn, end: psn, deadline: units.Never, ring: ring, sacked: bitmap}
	r.repair.next, r.repair.to = psn, psn
}

// Post adds a message: m.Op and m.Bytes are the caller's, the rest is filled in
// in the ring. It reports false, and does nothing, when the ring is full, the
// message would take more than 2^22 packets, the opcode is not that of an
// unsegmented request, or the requester has failed. The message's number is the
// value of Posted before the call.
func (r *Requester) Post(p *Params, m Message) bool {
	sh := shapeOf(m.Op)
	if sh&(request|starts|ends) != request|starts|ends || r.tail-r.head >= uint32(len(r.ring)) || r.flags&failed != 0 {
		return false
	}
	m.Packets = 1
	if sh&isAtomic == 0 {
		m.Packets = packets(m.Bytes, p.MTU)
	}
	if m.Packets > maxFlight {
		return false
	}
	m.First, m.shape = r.end, sh
	*r.message(r.tail) = m
	r.end = r.end.Add(int32(m.Packets))
	r.tail++
	return true
}

func (r *Requester) message(n uint32) *Message { return &r.ring[n&uint32(len(r.ring)-1)] }

// Message returns the message with the given number. It stays what it was until
// a message with a number higher by the length of the ring is posted.
func (r *Requester) Message(number uint32) *Message { return r.message(number) }

// Posted returns how many messages were posted since Reset, modulo 2^32.
func (r *Requester) Posted() uint32 { return r.tail }

// Completed returns how many messages were completed since Reset, modulo 2^32.
// They complete in order.
func (r *Requester) Completed() uint32 { return r.head }

// Outstanding returns how many messages are posted and not complete.
func (r *Requester) Outstanding() int { return int(r.tail - r.head) }

// InFlight returns how many PSNs are sent and not acknowledged.
func (r *Requester) InFlight() uint32 { return uint32(r.cur.Sub(r.una)) }

// Unacknowledged returns the oldest PSN that is not acknowledged, and Unsent the
// next that was never sent.
func (r *Requester) Unacknowledged() roce.PSN { return r.una }

// Unsent returns the next PSN that was never sent.
func (r *Requester) Unsent() roce.PSN { return r.high }

// Failure returns why the requester has failed, or NoFailure.
func (r *Requester) Failure() Failure { return r.failure }

// window returns how many PSNs may be in flight.
func (r *Requester) window(p *Params) uint32 {
	w := p.Window
	if w-1 >= maxFlight { // 0 too
		w = maxFlight
	}
	if r.sacked != nil {
		w = min(w, uint32(len(r.sacked))*64)
	}
	return w
}

// Ready reports whether Next would yield a packet at time now. When it would
// not, at is when it will if nothing else happens: the end of an RNR delay, or
// Never. It is cheap, and has no effect.
func (r *Requester) Ready(p *Params, now units.Time) (ok bool, at units.Time) {
	if r.flags&(waiting|failed) != 0 {
		if r.flags&failed != 0 {
			return false, units.Never
		}
		if now < r.deadline {
			return false, r.deadline
		}
	}
	if r.repair.next != r.repair.to {
		return true, now
	}
	if r.at == r.tail || uint32(r.cur.Sub(r.una)) >= r.window(p) {
		return false, units.Never
	}
	if r.reads != 0 && r.reads >= p.MaxReads && r.message(r.at).shape&asks != 0 {
		return false, units.Never
	}
	return true, now
}

// Next yields the next packet to send at time now, if there is one:
// retransmissions first. A new packet asks for an acknowledgement when it ends
// a message, fills the window, or is the AckEvery-th.
func (r *Requester) Next(p *Params, now units.Time, out *Packet) bool {
	if r.flags&(waiting|failed) != 0 {
		if r.flags&failed != 0 || now < r.deadline {
			return false
		}
		r.flags &^= waiting
		r.deadline = units.Never
	}
	if r.repair.next != r.repair.to {
		r.nextRepair(p, now, out)
		return true
	}
	if r.at == r.tail {
		return false
	}
	flight, window := uint32(r.cur.Sub(r.una)), r.window(p)
	if flight >= window {
		return false
	}
	m, psn, number := r.message(r.at), r.cur, r.at
	var next roce.PSN
	if k := uint32(psn-m.First) & roce.PSNMask; k-1 < m.Packets-2 && m.shape&asks == 0 {
		// The usual case, which emit knows as well, without a call: inside a
		// SEND or WRITE.
		out.PSN, out.MSN, out.Bytes = psn, 0, p.MTU
		out.Op, out.Syndrome, out.Flags = middleOf(m.shape), 0, 0
		next = psn.Add(1)
	} else {
		if m.shape&asks != 0 {
			if r.reads != 0 && r.reads >= p.MaxReads {
				return false
			}
			r.reads++
		}
		next = emit(p, m, psn, out)
		if uint32(next-m.First)&roce.PSNMask == m.Packets {
			r.at++
		}
	}
	out.Index = number
	r.since++
	if r.since == p.AckEvery || flight+1 == window {
		out.Flags |= AckRequest
	}
	if out.Flags != 0 {
		r.since = 0
	}
	r.cur = next
	if psn == r.high {
		r.high = next
	} else { // after a return
		out.Flags |= Again
		if r.high.Less(next) {
			r.high = next
		}
	}
	if r.deadline == units.Never && p.Timeout > 0 {
		r.deadline = now + p.Timeout
	}
	return true
}

// emit describes the packet with the given PSN of message m in out, all but
// Index, and returns the PSN behind it. It asks for an acknowledgement if the
// packet ends the message.
func emit(p *Params, m *Message, psn roce.PSN, out *Packet) roce.PSN {
	k := uint32(psn-m.First) & roce.PSNMask
	out.PSN, out.MSN, out.Syndrome, out.Flags = psn, 0, 0, 0
	switch {
	case m.shape&asks != 0:
		out.Op, out.Bytes, out.Flags = m.Op, 0, AckRequest
		if m.shape&isRead != 0 {
			out.Bytes = m.Bytes - k*p.MTU
			return m.First.Add(int32(m.Packets))
		}
	case k+1 == m.Packets:
		out.Op, out.Bytes, out.Flags = m.Op, m.Bytes-k*p.MTU, AckRequest
		if k != 0 {
			out.Op = lastOf(m.Op)
		}
	default:
		out.Op, out.Bytes = middleOf(m.shape), p.MTU
		if k == 0 {
			out.Op-- // FIRST stands before MIDDLE
		}
	}
	return psn.Add(1)
}

// middleOf returns the opcode of the packets inside a message.
func middleOf(sh shape) roce.Opcode {
	if sh&isWrite != 0 {
		return roce.RCWriteMiddle
	}
	return roce.RCSendMiddle
}

// lastOf returns the opcode of the last packet of a message whose unsegmented
// form has opcode op.
func lastOf(op roce.Opcode) roce.Opcode {
	if op == roce.RCSendOnlyInvalidate {
		return roce.RCSendLastInvalidate
	}
	return op - 2 // LAST, LAST with immediate, ONLY, ONLY with immediate follow each other
}

// Deadline returns when Expire is to be called if nothing comes before: the end
// of the ACK timeout or of an RNR delay, or Never.
func (r *Requester) Deadline() units.Time { return r.deadline }

// Expire tells that time has passed. Before Deadline it does nothing. At the end
// of an RNR delay it yields Resumed; when an acknowledgement is overdue,
// TimedOut, or Failed after RetryCount retries without progress.
func (r *Requester) Expire(p *Params, now units.Time) Event {
	if now < r.deadline || r.flags&failed != 0 {
		return Nothing
	}
	if r.flags&waiting != 0 {
		r.flags &^= waiting
		r.deadline = units.Never
		return Resumed
	}
	if r.retries >= p.RetryCount {
		return r.fail(RetryExceeded)
	}
	r.retries++
	r.flags &^= askedAgain
	r.goBack(p)
	return TimedOut
}

func (r *Requester) fail(f Failure) Event {
	r.failure = f
	r.flags |= failed
	r.deadline = units.Never
	return Failed
}
