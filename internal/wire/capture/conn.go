package capture

import (
	"weir/rc"
	"weir/roce"
	"weir/units"
)

// A conn follows the requests of one direction of a connection, and what comes
// back for them.
type conn struct {
	tracker   rc.Tracker
	transport roce.Transport // RC or UC
	mtu       uint32         // largest FIRST or MIDDLE payload, 0 if none was seen

	// Requests, by what the tracker makes of them.
	messages        uint64 // new ones that ended
	asking          uint64 // new packets that ask for an answer
	newBytes        uint64
	readBytes       uint64 // that came back
	gaps            uint64
	missing         uint64
	retransmissions uint64
	duplicates      uint64
	outOfOrder      uint64
	strays          uint64
	badOrder        uint64
	resyncs         uint64
	damaged         uint64 // with wrong ICRC: the receiver dropped them

	rounds  rounds
	answers answers

	firstPSN    roce.PSN // lowest seen, while the sequence holds
	firstGap    uint64   // packet numbers of examples; 0: none
	firstAgain  uint64
	firstDouble uint64
	firstLate   uint64
	firstOdd    uint64
	lastNew     units.Time
	newest      roce.PSN // of the last new request's last PSN

	order   sendOrder
	pending pending
	latency *histogram
	curve   *timeline
	congest congestion
}

// rounds tells how the sender went back.
type rounds struct {
	goBackN    uint64 // returns of two packets and more
	single     uint64
	byNAK      uint64 // asked for by a sequence NAK
	byRNR      uint64
	byGap      uint64 // READ requests for the rest, after a gap in the responses
	byTimer    uint64 // by nobody
	length     uint64 // of the one in progress; 0: none
	deaf       uint64 // of those: what was sent again had been acknowledged
	first      uint64 // packet number of the first round by timer
	firstQuiet units.Time
	longest    units.Time
	shortest   units.Time // silences before rounds by timer
	gapsSeen   uint64     // of answers.readGaps
	lastStart  roce.PSN
	tries      uint64 // rounds in a row from the same PSN
}

func (r *rounds) end() {
	switch {
	case r.length == 1:
		r.single++
	case r.length > 1:
		r.goBackN++
	}
	r.length = 0
}

// request takes a good request packet of a reliable connection.
func (a *Analyser) request(f *flow, s *stream, at units.Time) {
	c := f.conn
	if c == nil {
		c = a.newConn(f)
	}
	p := &a.packet
	d := descriptor(p)
	quiet := at - s.lastAt
	sight := c.tracker.RequestSent(at, &d, c.order.sent(p))
	a.seen.Class, a.seen.Round = sight.Class, sight.Round
	if sight.BadOrder {
		c.badOrder++
		note(&c.firstOdd, a.frames)
	}
	switch sight.Class {
	case rc.First, rc.Resynchronized:
		if sight.Class == rc.Resynchronized {
			c.resyncs++
		}
		c.firstPSN = d.PSN
		c.forward(a, f, &d, at)
	case rc.New:
		c.forward(a, f, &d, at)
	case rc.Skipped:
		c.gaps++
		c.missing += uint64(sight.Missing)
		note(&c.firstGap, a.frames)
		c.forward(a, f, &d, at)
	case rc.OutOfOrder:
		c.outOfOrder++
		note(&c.firstLate, a.frames)
	case rc.Retransmission:
		c.again(a, &d, sight, at, quiet)
	case rc.Repeated:
		c.duplicates++
		note(&c.firstDouble, a.frames)
	case rc.Stray:
		c.strays++
	}
	if sight.Fills {
		c.deliver(a, f, &d, at)
	}
	if c.mtu == 0 && !d.Op.IsLast() {
		c.mtu = d.Bytes
		a.learnMTU(f, c.mtu)
	}
}

// note keeps the first of some packet numbers.
func note(first *uint64, n uint64) {
	if *first == 0 {
		*first = n
	}
}

// forward takes a request that is newer than all before.
func (c *conn) forward(a *Analyser, f *flow, d *rc.Packet, at units.Time) {
	c.rounds.end()
	c.rounds.tries = 0 // it goes on
	c.deliver(a, f, d, at)
	c.newest = c.tracker.Expected.Add(-1)
	c.lastNew = at
	if d.Op.IsLast() || d.Flags&rc.AckRequest != 0 {
		c.asking++
		c.pending.add(c.newest, at)
	}
	c.congest.sent(at, d.Bytes)
}

// deliver counts the payload of a request that was not seen before.
func (c *conn) deliver(a *Analyser, f *flow, d *rc.Packet, at units.Time) {
	if d.Op.IsLast() {
		c.messages++
	}
	if d.Op.HasPayload() {
		c.newBytes += uint64(d.Bytes)
		if c.curve != nil {
			c.curve.add(int64(at/units.Nanosecond), int(d.Bytes))
		}
	}
}

// again takes a request that the sender sends again.
func (c *conn) again(a *Analyser, d *rc.Packet, sight rc.Sighting, at, quiet units.Time) {
	c.retransmissions++
	note(&c.firstAgain, a.frames)
	c.pending.repeated(d.PSN)
	r := &c.rounds
	if !sight.Round && r.length > 0 {
		r.length++
		return
	}
	r.end()
	r.length = 1
	if d.PSN == r.lastStart && r.tries > 0 {
		r.tries++
	} else {
		r.lastStart, r.tries = d.PSN, 1
	}
	switch {
	case !sight.Asked && d.Op == roce.RCReadRequest && c.answers.readGaps > r.gapsSeen:
		r.byGap++
		r.gapsSeen = c.answers.readGaps
	case !sight.Asked:
		r.byTimer++
		if r.first == 0 {
			r.first, r.firstQuiet, r.shortest = a.frames, quiet, quiet
		}
		if w := &c.answers; w.hasAcked && !w.acked.Less(d.PSN) {
			r.deaf++
		}
		r.longest, r.shortest = max(r.longest, quiet), min(r.shortest, quiet)
	case c.answers.lastWasRNR:
		r.byRNR++
	default:
		r.byNAK++
	}
}

func (a *Analyser) newConn(f *flow) *conn {
	c := &conn{transport: a.packet.BTH.Opcode.Transport()}
	f.conn = c
	if a.details < maxDetails {
		a.details++
		c.curve = &timeline{}
		c.latency = &histogram{}
	}
	if p := a.flows.between(f); p.mtu != 0 {
		c.tracker.MTU = p.mtu
	}
	return c
}

// learnMTU notes a path MTU for the connections between two addresses that come later.
func (a *Analyser) learnMTU(f *flow, mtu uint32) {
	if p := a.flows.between(f); p.mtu == 0 {
		p.mtu = mtu
	}
	if p := a.flows.reverse(f); p != nil && p.mtu == 0 {
		p.mtu = mtu
	}
}

// pendingLen is how many requests may wait for an answer and have their time kept.
const pendingLen = 32

// pending holds the requests that ask for an answer, oldest first, with the time at which
// they passed.
type pending struct {
	ring  [pendingLen]waiting
	first uint32
	n     uint32
}

type waiting struct {
	psn   roce.PSN
	again bool // sent more than once: its answer tells no time (Karn's rule)
	at    units.Time
}

func (q *pending) add(psn roce.PSN, at units.Time) {
	if q.n == pendingLen {
		q.first++
		q.n--
	}
	q.ring[(q.first+q.n)%pendingLen] = waiting{psn: psn, at: at}
	q.n++
}

// repeated marks all that the sender sends again from psn on.
func (q *pending) repeated(psn roce.PSN) {
	for i := q.first + q.n; i != q.first; i-- {
		w := &q.ring[(i-1)%pendingLen]
		if w.psn.Less(psn) {
			return
		}
		w.again = true
	}
}

// answered drops all up to psn and returns how long psn itself has waited.
func (q *pending) answered(psn roce.PSN, at units.Time) (waited units.Time, ok bool) {
	for q.n > 0 {
		w := &q.ring[q.first%pendingLen]
		if psn.Less(w.psn) {
			break
		}
		if w.psn == psn && !w.again {
			waited, ok = at-w.at, true
		}
		q.first++
		q.n--
	}
	return waited, ok
}
