package rc

import "weir/roce"

// shape is what the state machines need to know of an opcode.
type shape uint8

const (
	request  shape = 1 << iota
	starts         // FIRST or ONLY, or a request of one packet
	ends           // LAST or ONLY, or a request of one packet
	isSend         // some SEND packet
	isWrite        // some WRITE packet
	isRead         // READ request
	isAtomic       // COMPARE SWAP or FETCH ADD
	response       // READ response
)

const (
	carries = isSend | isWrite  // the request carries its payload
	asks    = isRead | isAtomic // the answer is more than an acknowledgement
	unsure  = carries | isRead  // of Sequence.open: anything may come next
)

var shapes = [32]shape{
	roce.RCSendFirst:          request | isSend | starts,
	roce.RCSendMiddle:         request | isSend,
	roce.RCSendLast:           request | isSend | ends,
	roce.RCSendLastImmediate:  request | isSend | ends,
	roce.RCSendLastInvalidate: request | isSend | ends,
	roce.RCSendOnly:           request | isSend | starts | ends,
	roce.RCSendOnlyImmediate:  request | isSend | starts | ends,
	roce.RCSendOnlyInvalidate: request | isSend | starts | ends,
	roce.RCWriteFirst:         request | isWrite | starts,
	roce.RCWriteMiddle:        request | isWrite,
	roce.RCWriteLast:          request | isWrite | ends,
	roce.RCWriteLastImmediate: request | isWrite | ends,
	roce.RCWriteOnly:          request | isWrite | starts | ends,
	roce.RCWriteOnlyImmediate: request | isWrite | starts | ends,
	roce.RCReadRequest:        request | isRead | starts | ends,
	roce.RCCompareSwap:        request | isAtomic | starts | ends,
	roce.RCFetchAdd:           request | isAtomic | starts | ends,
	roce.RCReadResponseFirst:  response | starts,
	roce.RCReadResponseMiddle: response,
	roce.RCReadResponseLast:   response | ends,
	roce.RCReadResponseOnly:   response | starts | ends,
}

func shapeOf(op roce.Opcode) shape {
	if op >= 32 {
		return 0
	}
	return shapes[op&31]
}

// Verdict is what becomes of a request packet at the responder: the first ones
// from Check, and the last three from the caller, whose memory and receive
// queue decide them.
type Verdict uint8

// The verdicts. InOrder and Ahead packets are for Commit once the caller has
// done what they ask; every other verdict is for Refuse.
const (
	InOrder     Verdict = iota
	Ahead               // behind a gap, but within the bitmap: its payload may be placed now
	Duplicate           // before the expected PSN, or placed already
	Gap                 // packets before it are missing
	Invalid             // opcode out of order, wrong length, too many READs and atomics
	Ignored             // no request of a reliable connection, or the responder has failed
	NotReady            // no receive buffer: RNR NAK
	AccessError         // key, rights or bounds
	Inoperable          // the responder cannot do it for reasons of its own
)

// String returns the verdict in words, as in "in order".
func (v Verdict) String() string {
	return [...]string{
		"in order", "ahead", "duplicate", "gap", "invalid request", "ignored",
		"receiver not ready", "remote access error", "remote operational error",
	}[min(v, Inoperable)]
}

// Sequence checks the order of the request packets of one connection: expected
// PSN, opcode order, packet lengths, and the PSNs that a READ request takes.
// The zero value expects PSN 0 and knows no MTU: lengths are not checked then,
// and a READ takes one PSN.
type Sequence struct {
	Expected roce.PSN
	MTU      uint32 // 0: not known
	// open tells the message in progress: isSend or isWrite, both when it is
	// not known which, 0 between messages, unsure when nothing is known.
	open shape
}

// Check judges a packet against the sequence, without effect: InOrder,
// Duplicate, Gap, Invalid (in order by PSN, but not by opcode or length), or
// Ignored, when it is no request.
func (s *Sequence) Check(in *Packet) Verdict {
	sh := shapeOf(in.Op)
	if sh&request == 0 {
		return Ignored
	}
	if d := in.PSN.Sub(s.Expected); d != 0 {
		if d < 0 {
			return Duplicate
		}
		return Gap
	}
	if sh&starts != 0 {
		if s.open != 0 && s.open != unsure {
			return Invalid
		}
	} else if s.open&sh == 0 {
		return Invalid
	}
	if !s.fits(sh, in.Bytes) {
		return Invalid
	}
	return InOrder
}

// fits reports whether a packet of this shape may carry (or a READ may ask for)
// n bytes: FIRST and MIDDLE exactly the MTU, LAST 1 to MTU, ONLY 0 to MTU.
func (s *Sequence) fits(sh shape, n uint32) bool {
	switch {
	case s.MTU == 0:
		return true
	case sh&ends == 0:
		return n == s.MTU
	case sh&carries != 0:
		return n <= s.MTU && (n != 0 || sh&starts != 0)
	case sh&isRead != 0:
		return packets(n, s.MTU) <= maxFlight
	}
	return true
}

// Span returns how many PSNs a request packet takes: one, or, for a READ
// request, as many as its responses have packets.
func (s *Sequence) Span(in *Packet) uint32 {
	if in.Op != roce.RCReadRequest || s.MTU == 0 {
		return 1
	}
	return min(packets(in.Bytes, s.MTU), maxFlight)
}

// Advance moves the sequence on behind a packet, wherever that is.
func (s *Sequence) Advance(in *Packet) {
	s.Expected = in.PSN.Add(int32(s.Span(in)))
	s.open = 0
	if sh := shapeOf(in.Op); sh&ends == 0 {
		s.open = sh & carries
	}
}

// Restart makes the sequence expect psn. With anywhere, it is not known whether
// that lies inside a message, and any opcode may come first; otherwise a message
// must start there.
func (s *Sequence) Restart(psn roce.PSN, anywhere bool) {
	s.Expected = psn & roce.PSNMask
	s.open = 0
	if anywhere {
		s.open = unsure
	}
}

// packets returns how many packets of mtu bytes n bytes take; an empty message
// takes one.
func packets(n, mtu uint32) uint32 {
	if n <= mtu {
		return 1
	}
	return (n-1)/mtu + 1
}
