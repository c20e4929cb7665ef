package sim

import (
	"math/bits"

	"weir/internal/qos"
	"weir/rc"
	"weir/roce"
	"weir/units"
)

// nicPort is what a NIC's port has besides a txPort.
type nicPort struct {
	// Responses wait here in the order of packet.at: when they may leave.
	acks, cnps fifo
	answers    fifo // of TCP, which may leave at once

	ready   uint8 // priorities whose ring is not empty
	turn    uint8 // priority served last
	paused  uint8 // priorities that the network has stopped
	starved uint8 // priorities without credits (InfiniBand)
	pausing uint8 // priorities that this port has stopped the network for
	card    uint32

	dataSent, dataReceived uint64 // packets

	// Queue pairs that may send now, as one ring for each priority, and those
	// that wait for a time. A queue pair that has nothing to send is in
	// neither. So a port never searches its queue pairs.
	paced   []pacedSender
	deficit [qos.Priorities]int32 // of the round robin among priorities
	rings   [qos.Priorities]fifo  // of indexes into Sim.senders, chained by sender.next

	count  [qos.Priorities]nicCount
	pauses [qos.Priorities]nicPauses
	until  [qos.Priorities]units.Time // end of the pause in force, Never: XON ends it
	since  [qos.Priorities]units.Time // its start, Never: none

	xoffAt units.Time // when XOFF was sent last
	obeys  uint8      // priorities that it obeys pause for, and pauses the network for
}

// card is what the ports of one NIC share: the way to memory.
type card struct {
	pace    units.Pace // of one byte over PCIe to the card; 0: no limit
	drain   units.Pace // and from it
	latency units.Time // doorbell to wire, and wire to memory
	fetched units.Time // when PCIe has brought what was sent so far
	drained units.Time // when PCIe has taken what arrived so far

	// Backlog of the receive buffer, as time to drain it: pause at xoff, resume
	// at xon, drop at full. Never: no limit.
	xoff, xon, full units.Time

	node        uint32
	flags       cardFlags
	cnpPriority uint8
	slow        units.Time // that the host is late with each message
	stalled     units.Time // that PCIe worked off a receive buffer at XOFF or above
	starved     units.Time // that a port could have sent and PCIe had not brought the data
	starvedTo   units.Time // until when that is counted
	copied      uint64     // bytes that crossed host memory

	// Copies between GPU and host memory, where the card does not reach the GPU.
	copyPace            units.Pace
	copiedOut, copiedIn units.Time

	inbox      []delivery // on their way to the host, from inboxFirst on
	inboxFirst int
}

type cardFlags uint8

const (
	ignoresCNPs cardFlags = 1 << iota
	sendsNoCNPs
	copiesHost // each byte crosses host memory
	oneQP      // connections use their first queue pair alone
	fixedPort  // queue pairs have one UDP source port
	unmarked   // packets leave without the priority that they should have
	isEdited   = oneQP | fixedPort | unmarked
)

// wait counts that a port waits for PCIe.
func (d *card) wait(from, to units.Time) {
	if from = max(from, d.starvedTo); to > from {
		d.starved += to - from
		d.starvedTo = to
	}
}

// stopped returns the priorities that may not send.
func (n *nicPort) stopped() uint8 { return n.paused | n.starved }

// kick makes a NIC's port look for something to send at once.
func (s *Sim) kick(p uint32) {
	if at := s.tx[p].busyUntil; at > s.now {
		s.wakeAt(p, at)
	} else {
		s.serveNIC(p)
	}
}

// serveNIC sends the next packet of a NIC's port, if it is idle and there is
// one, and sees to it that the port wakes up when there may be another.
func (s *Sim) serveNIC(p uint32) {
	t := &s.tx[p]
	if t.busyUntil > s.now {
		s.wakeAt(p, t.busyUntil)
		return
	}
	if t.flags&isHung != 0 {
		return
	}
	n := &s.nics[t.unit]
	if n.paused != 0 {
		s.lapse(n)
	}
	fetched := units.Time(0)
	if !s.sendResponse(p, n) {
		s.releasePaced(n)
		fetched = s.cards[n.card].fetched
		for n.ready&^n.stopped() != 0 && fetched <= s.now {
			if s.sendData(p, n, s.nextPriority(n)) {
				fetched = 0
				break
			}
		}
	}
	s.plan(p, n, fetched)
}

// plan sets the wake-up of a port, for its data not before fetched.
func (s *Sim) plan(p uint32, n *nicPort, fetched units.Time) {
	at := units.Never
	if n.ready&^n.stopped() != 0 {
		at = fetched
		if fetched > s.now {
			s.cards[n.card].wait(max(s.now, s.tx[p].busyUntil), fetched)
		}
	} else if len(n.paced) != 0 {
		at = n.paced[0].at
	}
	all := s.pool.all
	if i := n.acks.head; i != 0 && (n.stopped()>>all[i].prio&1 == 0 || s.model.FreeAcks) {
		at = min(at, all[i].at)
	}
	if i := n.cnps.head; i != 0 && n.stopped()>>all[i].prio&1 == 0 {
		at = min(at, all[i].at)
	}
	if i := n.answers.head; i != 0 && n.stopped()>>all[i].prio&1 == 0 {
		at = s.now
	}
	for m := n.paused; m != 0; m &= m - 1 {
		at = min(at, n.until[bits.TrailingZeros8(m)])
	}
	if at != units.Never {
		s.wakeAt(p, max(at, s.tx[p].busyUntil, s.now))
	}
}

// sendResponse sends a CNP or an acknowledgement if one is due.
func (s *Sim) sendResponse(p uint32, n *nicPort) bool {
	all := s.pool.all
	f := &n.cnps
	if i := f.head; i == 0 || all[i].at > s.now || n.stopped()>>all[i].prio&1 != 0 {
		f = &n.acks
		if i := f.head; i == 0 || all[i].at > s.now || n.stopped()>>all[i].prio&1 != 0 && !s.model.FreeAcks {
			f = &n.answers
			if i := f.head; i == 0 || n.stopped()>>all[i].prio&1 != 0 {
				return false
			}
		}
	}
	s.sendNIC(p, n, f.pop(all))
	return true
}

// sendNIC counts and transmits a packet.
func (s *Sim) sendNIC(p uint32, n *nicPort, i uint32) {
	pk := &s.pool.all[i]
	c := &n.count[pk.prio]
	c.txFrames++
	c.txBytes += uint64(pk.bytes)
	s.transmit(p, i, pk.bytes)
}

// sendData sends the next packet of the first queue pair in a ring, and puts
// it back behind the others. false: it had none to send.
func (s *Sim) sendData(p uint32, n *nicPort, prio uint8) bool {
	r := &n.rings[prio]
	qp := r.head
	q := &s.senders[qp]
	if r.head = q.next; r.head == 0 {
		n.ready &^= 1 << prio
	}
	q.state = idle
	if q.notBefore > s.now {
		q.state = inHeap
		pushPaced(&n.paced, pacedSender{q.notBefore, qp})
		return false
	}
	if q.socket != 0 {
		return s.sendSegment(p, n, q, qp)
	}
	i := s.pool.get()
	pk := &s.pool.all[i]
	if !q.req.Next(&s.rc, s.now, &pk.Packet) {
		s.pool.put(i)
		return false
	}
	pk.qp, pk.hop, pk.out = qp, 0, s.routes[2*qp].out
	pk.kind, pk.prio, pk.flags = dataPacket, prio, 0
	pk.paths, pk.attempt = 1, q.attempt
	pk.bytes = pk.Bytes + s.wire.Header
	if pk.Op == roce.RCWriteFirst || pk.Op == roce.RCWriteOnly {
		pk.bytes += s.wire.First
		s.begun(q, pk.Index)
	}
	n.dataSent++
	if pk.Flags&rc.Again != 0 {
		s.nicCounters[n.card].Retransmitted++
	}
	if d := &s.cards[n.card]; d.pace != 0 {
		d.fetched = max(d.fetched, s.now) + d.pace.Time(pk.Bytes)
		if d.flags&copiesHost != 0 {
			d.copied += uint64(pk.Bytes)
		}
	}
	n.deficit[prio] -= int32(pk.bytes)
	size := pk.bytes + s.wire.Gap
	s.sendNIC(p, n, i)
	if !q.timerSet && s.rc.Timeout != 0 {
		s.setTimer(qp)
	}
	q.nextAt = q.reaction.Sent(&s.dcqcn[q.rates], s.now, size)
	if s.wire.WholeNanoseconds {
		q.nextAt -= q.nextAt % units.Nanosecond
	}
	if q.nextAt <= s.tx[p].busyUntil {
		s.enroll(n, qp)
	} else {
		n.pace(qp, q)
	}
	return true
}

// pace makes a queue pair wait for its next time.
func (n *nicPort) pace(qp uint32, q *sender) {
	q.state = inHeap
	pushPaced(&n.paced, pacedSender{q.nextAt, qp})
}

// releasePaced moves the queue pairs whose time has come to their rings.
func (s *Sim) releasePaced(n *nicPort) {
	for len(n.paced) != 0 && n.paced[0].at <= s.now {
		s.enroll(n, popPaced(&n.paced))
	}
}

// enroll puts a queue pair at the end of its ring.
func (s *Sim) enroll(n *nicPort, qp uint32) {
	q := &s.senders[qp]
	q.state = inRing
	q.next = 0
	r := &n.rings[q.prio]
	if r.head == 0 {
		r.head = qp
		n.ready |= 1 << q.prio
	} else {
		s.senders[r.tail].next = qp
	}
	r.tail = qp
}
