package rc

import (
	"weir/roce"
	"weir/units"
)

// repair is the part of a requester that sends missing packets again one by one
// (SelectiveRepeat): a cursor of its own, from next up to to, that passes over
// what the bitmap says has arrived.
type repair struct {
	next, to roce.PSN // next == to: nothing to repair
	mark     roce.PSN // packets from here on were sent after una's last repetition
	at       uint32   // message of next
}

func (r *Requester) bit(psn roce.PSN) (word uint32, bit uint64) {
	return uint32(psn) / 64 & uint32(len(r.sacked)-1), 1 << (psn & 63)
}

// has reports whether psn, in flight, is known to have arrived.
func (r *Requester) has(psn roce.PSN) bool {
	word, bit := r.bit(psn)
	return r.sacked[word]&bit != 0 && uint32(psn.Sub(r.una)) < uint32(len(r.sacked))*64
}

// arrived returns the first PSN from una on that is not known to have arrived.
func (r *Requester) arrived() roce.PSN {
	psn := r.una
	for psn != r.high && r.has(psn) {
		psn = psn.Add(1)
	}
	return psn
}

// selective takes the acknowledgement of one packet behind a gap.
func (r *Requester) selective(p *Params, now units.Time, in *Packet) (e Event, completed uint32) {
	expected := roce.PSN(in.MSN & roce.PSNMask)
	if r.sacked == nil || !r.sent(in.PSN) {
		return Nothing, 0
	}
	if expected != r.una {
		if !r.sent(expected) {
			return Nothing, 0 // older than what is known
		}
		e, completed = r.advance(p, now, expected)
	}
	if !r.una.Less(in.PSN) || uint32(in.PSN.Sub(r.una)) >= uint32(len(r.sacked))*64 {
		return e, completed
	}
	word, bit := r.bit(in.PSN)
	if r.sacked[word]&bit != 0 {
		return e, completed
	}
	r.sacked[word] |= bit
	if e == Nothing {
		e = Progress
	}
	lost := in.PSN.Add(-int32(min(p.Reorder, maxFlight))) // before it, what has not arrived is lost
	if !r.una.Less(lost) {
		return e, completed
	}
	idle := r.repair.next == r.repair.to
	if r.una.Less(r.repair.next) && !lost.Less(r.repair.mark) {
		// una was repeated, and what was sent after that is here: lost again.
		// What is missing behind it goes once more with it, under way or not.
		r.repair.next, r.repair.at = r.una, r.head
	}
	if r.repair.to.Less(lost) {
		r.repair.to = lost
	}
	r.settle()
	if idle && r.repair.next != r.repair.to {
		e = SequenceError
	}
	return e, completed
}

// repairTo clears the bits from old up to una, and moves the repair on to una.
func (r *Requester) repairTo(old roce.PSN) {
	n := min(uint32(r.una.Sub(old)), uint32(len(r.sacked))*64)
	for psn := old; n > 0; n-- {
		word, bit := r.bit(psn)
		r.sacked[word] &^= bit
		psn = psn.Add(1)
	}
	if r.repair.next.Less(r.una) {
		r.repair.next = r.una
	}
	if int32(r.repair.at-r.head) < 0 {
		r.repair.at = r.head
	}
	if r.repair.to.Less(r.una) {
		r.repair.to = r.una
	}
	r.repair.mark = r.high
	r.settle()
}

// repairAll sends again everything in flight that is not known to have arrived.
func (r *Requester) repairAll() {
	r.repair.next, r.repair.to, r.repair.at = r.una, r.high, r.head
	r.settle()
	r.deadline = units.Never
}

// settle moves the repair on over what has arrived.
func (r *Requester) settle() {
	for r.repair.next.Less(r.repair.to) && r.has(r.repair.next) {
		r.repair.next = r.repair.next.Add(1)
	}
	if !r.repair.next.Less(r.repair.to) {
		r.repair.to = r.repair.next
		return
	}
	for m := r.message(r.repair.at); uint32(r.repair.next-m.First)&roce.PSNMask >= m.Packets; m = r.message(r.repair.at) {
		r.repair.at++
	}
}

// nextRepair yields the next packet to repeat.
func (r *Requester) nextRepair(p *Params, now units.Time, out *Packet) {
	m := r.message(r.repair.at)
	psn := r.repair.next
	r.repair.next = emit(p, m, psn, out)
	out.Index = r.repair.at
	out.Flags |= AckRequest | Again
	if psn == r.una {
		r.repair.mark = r.high
	}
	r.settle()
	if r.deadline == units.Never && p.Timeout > 0 {
		r.deadline = now + p.Timeout
	}
}
