package sim

import (
	"weir/dcqcn"
	"weir/rc"
	"weir/roce"
	"weir/units"
)

// A sender is the requester's side of a queue pair, with what its NIC's
// scheduler keeps of it. Queue pairs have numbers from 1; the receiver of
// number n is in Sim.receivers[n]. The two halves belong to two NICs and share
// no word that changes while packets are under way.
type sender struct {
	req      rc.Requester
	reaction dcqcn.Reaction

	nextAt    units.Time // not before this for its pace
	notBefore units.Time // nor before this, after a NAK

	port  uint32
	next  uint32 // in the ring of its NIC
	conn  ConnID
	prio  uint8
	rates uint8 // index into Sim.dcqcn
	state senderState

	timerSet bool
	attempt  uint16 // rounds of retransmission
	socket   uint32 // of TCP; 0: a queue pair

	slots []uint32 // transfer by message number, modulo the length
	later []part   // not yet given to the requester: from laterAt on
	first int      // index of the first of later
}

type senderState uint8

const (
	idle   senderState = iota // nothing to send, or the window is closed
	inRing                    // waits for its turn
	inHeap                    // waits for a time
	dead                      // has failed
)

// A part is a message that a NIC has not begun to work on.
type part struct {
	at       units.Time // when the doorbell reaches the NIC
	transfer uint32
	bytes    uint32
}

// A receiver is the responder's side of a queue pair.
type receiver struct {
	resp rc.Responder
	np   dcqcn.Notification

	port      uint32
	cnps      uint32
	rates     uint8
	congested bool // the next acknowledgement carries a congestion notification
}

// A transfer is one posted piece of data, in one or more messages.
type transfer struct {
	cookie      uint64
	first       units.Time // first packet sent; Never: none yet
	conn        ConnID
	undelivered uint32 // messages
	incomplete  uint32
	next        uint32 // in the list of free ones
}

// maxMessagePackets bounds a message, well within what rc takes.
const maxMessagePackets = 1 << 21

// allocQP makes a queue pair without ports and routes and returns its number.
func (s *Sim) allocQP(ring int) uint32 {
	qp := uint32(len(s.senders))
	s.senders = append(s.senders, sender{})
	s.receivers = append(s.receivers, receiver{})
	s.routes = append(s.routes, route{}, route{})
	if s.flowlets != nil {
		s.flowlets = append(s.flowlets, make([]flowlet, 2*maxHops)...)
	}
	q, r := &s.senders[qp], &s.receivers[qp]
	var sacks, ahead []uint64
	if s.rc.Recovery == rc.SelectiveRepeat {
		sacks = make([]uint64, reorderWords)
	}
	if s.rc.OutOfOrder || s.rc.Recovery == rc.SelectiveRepeat {
		ahead = make([]uint64, 2*reorderWords)
	}
	q.req.Reset(&s.rc, 0, s.messages.take(ring), sacks)
	q.slots = s.slots.take(ring)
	r.resp.Reset(&s.rc, 0, nil, ahead)
	return qp
}

// reorderWords x 64 is how many packets a receiver places ahead of a gap.
const reorderWords = 64

// feed gives the requester the messages whose doorbell has rung, as far as its
// ring has room.
func (s *Sim) feed(q *sender) {
	for q.first < len(q.later) && q.later[q.first].at <= s.now {
		p := &q.later[q.first]
		number := q.req.Posted()
		if !q.req.Post(&s.rc, rc.Message{Op: roce.RCWriteOnly, Bytes: p.bytes}) {
			return
		}
		q.slots[number&uint32(len(q.slots)-1)] = p.transfer
		q.first++
	}
	if q.first == len(q.later) {
		q.later, q.first = q.later[:0], 0
	}
}

// doorbell is the event that a posted message reaches its NIC.
func (s *Sim) doorbell(qp uint32) {
	s.feed(&s.senders[qp])
	s.resume(qp)
}

// begun notes that the first packet of a message is being sent.
func (s *Sim) begun(q *sender, number uint32) {
	if t := &s.transfers[q.slots[number&uint32(len(q.slots)-1)]]; t.first == units.Never {
		t.first = s.now
	}
}

// messageArrived notes at the receiver that the message with this number has
// arrived in full, as have all before it.
func (s *Sim) messageArrived(qp, number uint32) {
	q := &s.senders[qp]
	id := q.slots[number&uint32(len(q.slots)-1)]
	t := &s.transfers[id]
	if t.undelivered == 0 {
		s.broken("queue pair %d: message %d was delivered twice", qp, number)
		return
	}
	t.undelivered--
	if t.undelivered == 0 {
		s.delivered(qp, t)
	}
}

// messagesDone notes at the sender that the oldest messages are acknowledged.
func (s *Sim) messagesDone(qp, completed uint32) {
	q := &s.senders[qp]
	number := q.req.Completed() - completed
	for range completed {
		q = &s.senders[qp]
		id := q.slots[number&uint32(len(q.slots)-1)]
		number++
		t := &s.transfers[id]
		t.incomplete--
		if t.incomplete != 0 {
			continue
		}
		if t.undelivered != 0 {
			s.broken("queue pair %d: message %d was acknowledged before it was delivered", qp, number-1)
		}
		if s.conns[t.conn].owner != ownerClear { // these carry no data
			s.latency.add(s.now - t.first)
		}
		conn, cookie, first := t.conn, t.cookie, t.first
		t.next = s.freeTransfer
		s.freeTransfer = id
		s.completed++
		s.completedAt(conn, cookie, first)
	}
	if q = &s.senders[qp]; len(q.later) != 0 {
		s.feed(q)
	}
}

func (s *Sim) newTransfer(conn ConnID, cookie uint64, parts uint32) uint32 {
	id := s.freeTransfer
	if id != 0 {
		s.freeTransfer = s.transfers[id].next
	} else {
		id = uint32(len(s.transfers))
		s.transfers = append(s.transfers, transfer{})
	}
	s.transfers[id] = transfer{cookie: cookie, first: units.Never, conn: conn, undelivered: parts, incomplete: parts}
	s.posted++
	return id
}

// congested tells a queue pair's reaction point of a congestion notification.
func (s *Sim) congested(qp uint32) {
	q := &s.senders[qp]
	k := s.nics[s.tx[q.port].unit].card
	if s.cards[k].flags&ignoresCNPs != 0 {
		s.nicCounters[k].CNPIgnored++
		return
	}
	s.nicCounters[k].CNPHandled++
	q.reaction.CNP(&s.dcqcn[q.rates], s.now)
}

// slab hands out small slices from large ones.
type slab[T any] struct{ rest []T }

const slabSize = 1 << 12

func (b *slab[T]) take(n int) []T {
	if len(b.rest) < n {
		b.rest = make([]T, max(n, slabSize))
	}
	part := b.rest[:n:n]
	b.rest = b.rest[n:]
	return part
}
