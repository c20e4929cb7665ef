package rc

import (
	"weir/roce"
	"weir/units"
)

// Class is how a request packet stands to those seen before it.
type Class uint8

// The classes. What a single point of the network cannot tell apart is decided
// by what the responder asked for and by time, as the comments say.
const (
	NotRequest     Class = iota // no request packet of a reliable connection
	First                       // the first one seen: the sequence starts here, perhaps in mid-stream
	New                         // the expected one
	Skipped                     // new, but Missing PSNs before it were not seen
	OutOfOrder                  // fills a gap, soon and unasked: it was overtaken
	Retransmission              // sent again: fills a gap that was reported or is old, or was seen long before, or continues a round
	Repeated                    // seen a moment ago, and nobody asked for it: the network doubled it
	Stray                       // far from everything: damaged, of an earlier connection, or the first of a new one
	Resynchronized              // the second packet in a row there: the sequence has moved
)

// String returns the class in words.
func (c Class) String() string {
	return [...]string{
		"not a request", "first", "new", "new after a gap", "out of order", "retransmission",
		"duplicate", "stray", "resynchronized",
	}[min(c, Resynchronized)]
}

// Sighting is what a Tracker makes of one request packet.
type Sighting struct {
	Class   Class
	Missing uint32 // of Skipped: how many PSNs were not seen
	Behind  uint32 // how many PSNs before the newest expected one; 0 for new packets
	// Round: the packet is the first of a return of the sender, which sends
	// again from here (go-back-N, or a single packet).
	Round bool
	// Asked: a NAK or RNR NAK asked for this packet or one before it; otherwise
	// a retransmission stems from a timer.
	Asked bool
	// Fills: it closes a gap, wholly or in part, so its payload is new.
	Fills bool
	// BadOrder: opcode or length does not fit the message in progress.
	BadOrder bool
}

// Sent is what a caller knows of the order in which packets left the sender,
// from the IP identification where that counts up. It decides what otherwise
// time must.
type Sent uint8

// SentUnknown: nothing is known. SentBefore: the packet left before the newest one
// seen, so it was overtaken. SentAfter: it left after all packets seen, so it
// was sent again if its PSN is older. SentTwin: it is a copy of a packet that
// was seen, down to the identification.
const (
	SentUnknown Sent = iota
	SentBefore
	SentAfter
	SentTwin
)

// Limits of a Tracker. They bound what is reordering or doubling by the network
// and what is the sender's doing, where nothing else tells: a sender needs a
// round trip or a timer for it.
const (
	overtaking   = 100 * units.Microsecond // a gap filled later than this was sent again
	doubling     = 10 * units.Microsecond  // a packet seen again later than this was sent again
	strayFrom    = 1 << 16                 // PSNs; farther off is no gap any more
	trackerHoles = 8
	trackerNewly = 8
)

// Tracker follows the request packets of one direction of a connection as they
// pass a point of the network, and the responses to them if it is shown those.
// It needs no memory of packets but the last few, so what it says of older ones
// rests on their PSN. It starts in mid-stream and finds its way again after
// losses of the capture. The zero value is ready; set MTU if it is known,
// otherwise it is learned from the packets.
type Tracker struct {
	Sequence // Expected is behind the newest packet seen

	holes  [trackerHoles]hole // in order of PSN; the last n
	nholes int
	newly  [trackerNewly]seen // the last packets
	next   int                // in newly

	synced     bool
	inRound    bool // roundNext continues a return of the sender
	maybeRound bool // or would prove that the last packet began one
	asked      bool
	straying   bool
	reading    bool     // a READ of unknown span is the newest packet
	roundNext  roce.PSN // what continues the round
	nak        roce.PSN // asked for
	strayNext  roce.PSN
	read       roce.PSN // that READ
	readBytes  uint32
}

// hole is a run of PSNs that were not seen, up to but not including to.
type hole struct {
	from, to roce.PSN
	at       units.Time
}

type seen struct {
	psn roce.PSN
	at  units.Time
	ok  bool
}

// Outstanding returns how many PSNs before the newest packet were not seen so
// far; of the oldest gaps only the last eight count.
func (t *Tracker) Outstanding() uint32 {
	var n uint32
	for _, h := range t.holes[:t.nholes] {
		n += uint32(h.to.Sub(h.from))
	}
	return n
}

// Request takes the next request packet, seen at the given time (of the
// capture; any epoch), and classifies it.
func (t *Tracker) Request(at units.Time, in *Packet) Sighting {
	return t.RequestSent(at, in, SentUnknown)
}

// RequestSent is Request with what is known of the order of sending.
func (t *Tracker) RequestSent(at units.Time, in *Packet, sent Sent) Sighting {
	sh := shapeOf(in.Op)
	if sh&request == 0 {
		return Sighting{}
	}
	psn := in.PSN & roce.PSNMask
	t.learn(psn, in, sh)
	var s Sighting
	d := psn.Sub(t.Expected)
	switch {
	case !t.synced:
		t.synced = true
		s.Class = First
		t.restart(in, sh)
	case d >= strayFrom || d < -strayFrom:
		return t.stray(at, in, sh)
	case d == 0:
		s.Class = New
		s.BadOrder = t.Sequence.Check(in) == Invalid
		t.forward(in, sh)
	case d > 0:
		s.Class, s.Missing = Skipped, uint32(d)
		s.BadOrder = !t.fits(sh, in.Bytes)
		t.addHole(hole{t.Expected, psn, at})
		t.forward(in, sh)
	default:
		s = t.behind(at, in, uint32(-d), sent)
	}
	t.straying = false
	t.remember(psn, at)
	return s
}

// restart makes the sequence go on from in, wherever that is.
func (t *Tracker) restart(in *Packet, sh shape) {
	t.Restart(in.PSN, true)
	t.nholes, t.asked = 0, false
	t.forward(in, sh)
}

// forward takes in for the newest packet.
func (t *Tracker) forward(in *Packet, sh shape) {
	t.Advance(in)
	t.inRound, t.maybeRound = false, false
	t.reading = sh&isRead != 0 && t.MTU == 0 && in.Bytes > 256
	if t.reading {
		t.read, t.readBytes = in.PSN&roce.PSNMask, in.Bytes
	}
}

// stray takes a packet far from the sequence.
func (t *Tracker) stray(at units.Time, in *Packet, sh shape) Sighting {
	psn := in.PSN & roce.PSNMask
	if t.straying && psn == t.strayNext {
		t.straying = false
		t.restart(in, sh)
		t.remember(psn, at)
		return Sighting{Class: Resynchronized}
	}
	t.straying = true
	t.strayNext = psn.Add(int32(t.Span(in)))
	return Sighting{Class: Stray}
}

// behind takes a packet that is not newer than what was seen.
func (t *Tracker) behind(at units.Time, in *Packet, distance uint32, sent Sent) Sighting {
	psn := in.PSN & roce.PSNMask
	s := Sighting{Class: Retransmission, Behind: distance}
	filled, since := t.fill(psn, t.Span(in))
	s.Fills = filled
	switch sent {
	case SentBefore:
		s.Class = OutOfOrder
		return s
	case SentTwin:
		s.Class = Repeated
		return s
	}
	guess := sent == SentUnknown
	switch {
	case t.inRound && !psn.Less(t.roundNext):
	case t.maybeRound && psn == t.roundNext && !filled:
		s.Round = true // it began with the packet before, which looked overtaken
	case t.asked && !psn.Less(t.nak):
		s.Round, s.Asked = true, true
		t.asked = false
	case guess && filled && at-since <= overtaking:
		s.Class = OutOfOrder
	case guess && !filled && t.justSeen(psn, at):
		s.Class = Repeated
		return s
	default:
		s.Round = true
	}
	t.roundNext = psn.Add(int32(t.Span(in)))
	t.inRound = s.Class == Retransmission
	t.maybeRound = !t.inRound
	return s
}

func (t *Tracker) remember(psn roce.PSN, at units.Time) {
	t.newly[t.next%trackerNewly] = seen{psn, at, true}
	t.next = (t.next + 1) % trackerNewly
}

func (t *Tracker) justSeen(psn roce.PSN, at units.Time) bool {
	for _, s := range t.newly {
		if s.ok && s.psn == psn && at-s.at <= doubling {
			return true
		}
	}
	return false
}

// addHole notes a run of PSNs that were skipped, forgetting the oldest if need be.
func (t *Tracker) addHole(h hole) {
	if t.nholes == trackerHoles {
		copy(t.holes[:], t.holes[1:])
		t.nholes--
	}
	t.holes[t.nholes] = h
	t.nholes++
}

// fill takes n PSNs from psn on out of the holes. It reports whether psn was in
// one, and since when.
func (t *Tracker) fill(psn roce.PSN, n uint32) (filled bool, since units.Time) {
	end := psn.Add(int32(n))
	for i := 0; i < t.nholes; i++ {
		h := t.holes[i]
		if !h.from.Less(end) || !psn.Less(h.to) {
			continue
		}
		if !psn.Less(h.from) {
			filled, since = true, h.at
		}
		left, right := h.from.Less(psn), end.Less(h.to)
		switch {
		case left && right: // split; the older half is forgotten when there is no room
			t.holes[i].from = end
			if t.nholes < trackerHoles {
				copy(t.holes[i+1:t.nholes+1], t.holes[i:t.nholes])
				t.holes[i] = hole{h.from, psn, h.at}
				t.nholes++
			}
			return filled, since
		case left:
			t.holes[i].to = psn
		case right:
			t.holes[i].from = end
		default:
			copy(t.holes[i:], t.holes[i+1:t.nholes])
			t.nholes--
			i--
		}
	}
	return filled, since
}

// learn finds the path MTU: the size of every FIRST and MIDDLE packet, or the
// power of two that explains how many PSNs a READ took.
func (t *Tracker) learn(psn roce.PSN, in *Packet, sh shape) {
	if t.MTU != 0 {
		return
	}
	if sh&ends == 0 && in.Bytes != 0 {
		t.MTU = in.Bytes
	} else if t.reading {
		for mtu := uint32(256); mtu <= 4096; mtu *= 2 {
			if psn == t.read.Add(int32(min(packets(t.readBytes, mtu), maxFlight))) {
				t.MTU = mtu
			}
		}
	}
	t.learned()
}

// learned moves on behind a READ whose span can be told now.
func (t *Tracker) learned() {
	if t.MTU != 0 && t.reading {
		t.reading = false
		t.Expected = t.read.Add(int32(min(packets(t.readBytes, t.MTU), maxFlight)))
	}
}

// Response takes a packet of the responder, so that the tracker knows what was
// asked for again, and what arrived although the capture does not show it: it
// returns how many such PSNs this response newly acknowledges.
func (t *Tracker) Response(at units.Time, in *Packet) (unseen uint32) {
	if !t.synced {
		return 0
	}
	behind := in.PSN & roce.PSNMask // everything before it has arrived
	switch in.Op {
	case roce.RCAcknowledge:
		switch in.Syndrome & 0xe0 {
		case 0:
			behind = behind.Add(1)
		case roce.SyndromeRNR, roce.SyndromeNAKSequenceError & 0xe0:
			if d := behind.Sub(t.Expected); d >= 0 || d < -strayFrom {
				return 0
			}
			// What was under way still passes: the return begins with an older PSN.
			t.nak, t.asked = behind, true
		default:
			return 0
		}
	case roce.RCAtomicAcknowledge:
		behind = behind.Add(1)
	case roce.RCReadResponseFirst, roce.RCReadResponseMiddle:
		if t.MTU == 0 && in.Bytes != 0 {
			t.MTU = in.Bytes
			t.learned()
		}
	case roce.RCReadResponseLast, roce.RCReadResponseOnly:
	default:
		return 0
	}
	return t.arrived(behind)
}

// arrived takes everything before psn for delivered.
func (t *Tracker) arrived(psn roce.PSN) (unseen uint32) {
	d := psn.Sub(t.Expected)
	if d >= strayFrom || d < -strayFrom {
		return 0
	}
	for t.nholes > 0 && t.holes[0].from.Less(psn) {
		h := &t.holes[0]
		if psn.Less(h.to) {
			unseen += uint32(psn.Sub(h.from))
			h.from = psn
			break
		}
		unseen += uint32(h.to.Sub(h.from))
		copy(t.holes[:], t.holes[1:t.nholes])
		t.nholes--
	}
	if d > 0 && !t.reading {
		unseen += uint32(d)
		t.Restart(psn, true)
	}
	return unseen
}
