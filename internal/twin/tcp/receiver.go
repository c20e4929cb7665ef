package tcp

// Receiver is the receiving side.
type Receiver struct {
	next   uint64 // all before has come
	ahead  spans  // what has come beyond
	last   span   // that the newest segment beyond next has joined
	marked uint64 // bytes marked since the last acknowledgement
}

// Reset makes the receiver of a new connection.
func (r *Receiver) Reset() { *r = Receiver{ahead: r.ahead[:0]} }

// Next returns how much of the stream has come in order.
func (r *Receiver) Next() uint64 { return r.next }

// Ahead returns how many bytes have come beyond a gap.
func (r *Receiver) Ahead() (n uint64) {
	for _, a := range r.ahead {
		n += a.to - a.from
	}
	return n
}

// Take takes a segment and returns how many of its bytes are new.
func (r *Receiver) Take(seq uint64, bytes uint32, marked bool) (fresh uint64) {
	end := seq + uint64(bytes)
	if marked {
		r.marked += uint64(bytes)
	}
	if end <= r.next {
		return 0
	}
	seq = max(seq, r.next)
	if seq > r.next || len(r.ahead) != 0 {
		fresh = r.ahead.add(seq, end)
		for _, a := range r.ahead {
			if a.from <= seq && seq < a.to {
				r.last = a
			}
		}
		if r.ahead[0].from <= r.next {
			r.next = r.ahead[0].to
			r.ahead.below(r.next)
		}
		return fresh
	}
	r.next = end
	return end - seq
}

// Acknowledge fills in an acknowledgement; room is what the receive buffer has
// left.
func (r *Receiver) Acknowledge(room uint64, out *Ack) {
	*out = Ack{Next: r.next, Marked: r.marked, Window: room}
	if len(r.ahead) != 0 && r.last.to > r.next {
		out.From, out.To = r.last.from, r.last.to
	}
	r.marked = 0
}
