package sim

import (
	"weir/rc"
	"weir/roce"
	"weir/units"
)

// arriveNIC takes a frame that has come in at a NIC's port.
func (s *Sim) arriveNIC(p, i uint32) {
	pk := &s.pool.all[i]
	n := &s.nics[s.rx[p].unit]
	c := &n.count[pk.prio]
	c.rxFrames++
	c.rxBytes += uint64(pk.bytes)
	if s.credits != nil {
		s.leaveNIC(p, n, pk)
	}
	switch pk.kind {
	case dataPacket:
		s.receiveData(p, n, i)
	case ackPacket:
		s.receiveAck(i)
	case cnpPacket:
		s.congested(pk.qp)
		s.pool.put(i)
	case segmentPacket:
		s.arriveSegment(p, n, i)
	case answerPacket:
		s.arriveAnswer(n, i)
	}
}

// receiveData runs a data packet through the responder of its queue pair. The
// packet becomes its own acknowledgement if there is one to send.
func (s *Sim) receiveData(p uint32, n *nicPort, i uint32) {
	pk := &s.pool.all[i]
	qp := pk.qp
	r := &s.receivers[qp]
	count := &s.nicCounters[n.card]
	n.dataReceived++
	if d := &s.cards[n.card]; d.drain != 0 && !s.accept(p, n, d, pk) {
		count.Discards++
		s.pool.put(i)
		return
	}
	if pk.flags&marked != 0 {
		count.ECNMarked++
		if s.cards[n.card].flags&sendsNoCNPs != 0 {
			// the mark is seen and that is all
		} else if s.cnpOnAck {
			r.congested = true
		} else if at, ok := r.np.Marked(&s.dcqcn[r.rates], s.now); ok {
			s.sendCNP(qp, r, at)
		}
		pk = &s.pool.all[i] // the pool may have grown
	}

	var out rc.Packet
	var send bool
	delivered := r.resp.Delivered
	switch v := r.resp.Check(&pk.Packet); v {
	case rc.InOrder, rc.Ahead:
		if v == rc.Ahead {
			count.OutOfOrder++
		}
		send = r.resp.Commit(&s.rc, &pk.Packet, &out)
	case rc.Duplicate:
		count.Duplicates++
		send = r.resp.Refuse(&s.rc, s.now, v, &pk.Packet, &out)
	case rc.Gap:
		count.OutOfSequence++
		send = r.resp.Refuse(&s.rc, s.now, v, &pk.Packet, &out)
	default:
		send = r.resp.Refuse(&s.rc, s.now, v, &pk.Packet, &out)
		s.broken("queue pair %d: packet %d is an %v", qp, pk.PSN, v)
	}
	for ; delivered != r.resp.Delivered; delivered++ {
		s.messageArrived(qp, delivered)
		r = &s.receivers[qp] // whoever was told may have made connections
	}
	if !send {
		s.pool.put(i)
		return
	}
	pk = &s.pool.all[i]
	pk.Packet = out
	pk.kind, pk.prio, pk.flags, pk.hop = ackPacket, s.model.AckPriority, 0, 0
	pk.out, pk.bytes = s.routes[2*qp+1].out, s.wire.Ack
	if s.cards[n.card].flags&unmarked != 0 {
		pk.prio = 0
	}
	if r.congested {
		r.congested = false
		pk.Flags |= rc.Congested
		count.CNPSent++
	}
	pk.at = s.now + s.model.AckDelay
	s.nics[s.tx[r.port].unit].acks.push(s.pool.all, i)
	s.respond(r.port, pk.at)
}

// respond makes a port send the response that has just been queued for at.
func (s *Sim) respond(p uint32, at units.Time) {
	if at <= s.now {
		s.kick(p)
	} else {
		s.wakeAt(p, max(at, s.tx[p].busyUntil))
	}
}

// sendCNP queues a congestion notification for the sender of a queue pair.
func (s *Sim) sendCNP(qp uint32, r *receiver, at units.Time) {
	i := s.pool.get()
	s.pool.all[i] = packet{
		Packet: rc.Packet{PSN: roce.PSN(r.cnps & roce.PSNMask), Op: roce.CNP},
		qp:     qp, at: at, out: s.routes[2*qp+1].out, bytes: s.wire.CNP,
		kind: cnpPacket, prio: s.cards[s.nics[s.tx[r.port].unit].card].cnpPriority,
	}
	r.cnps++
	n := &s.nics[s.tx[r.port].unit]
	s.nicCounters[n.card].CNPSent++
	n.cnps.push(s.pool.all, i)
	s.respond(r.port, at)
}

// receiveAck runs a response through the requester of its queue pair.
func (s *Sim) receiveAck(i uint32) {
	pk := &s.pool.all[i]
	qp := pk.qp
	q := &s.senders[qp]
	n := &s.nics[s.tx[q.port].unit]
	if pk.Flags&rc.Congested != 0 {
		s.congested(qp)
	}
	event, completed := q.req.Handle(&s.rc, s.now, &pk.Packet)
	s.pool.put(i)
	switch event {
	case rc.SequenceError:
		s.nicCounters[n.card].SequenceErrors++
		q.attempt++
		q.notBefore = s.now + s.model.NakReaction
	case rc.Failed:
		s.failed(qp)
	}
	if completed != 0 {
		s.messagesDone(qp, completed)
	}
	s.resume(qp)
}

// resume puts a queue pair that has become able to send into its ring.
func (s *Sim) resume(qp uint32) {
	q := &s.senders[qp]
	if q.state != idle {
		return
	}
	ok, at := q.req.Ready(&s.rc, s.now)
	if !ok && at == units.Never {
		return
	}
	n := &s.nics[s.tx[q.port].unit]
	if q.nextAt = max(at, q.nextAt); q.nextAt > s.now {
		n.pace(qp, q)
		s.wakeAt(q.port, max(n.paced[0].at, s.tx[q.port].busyUntil))
		return
	}
	s.enroll(n, qp)
	s.kick(q.port)
}

// expire is the event of a queue pair's timer.
func (s *Sim) expire(qp uint32) {
	q := &s.senders[qp]
	q.timerSet = false
	if q.req.Deadline() <= s.now {
		switch q.req.Expire(&s.rc, s.now) {
		case rc.TimedOut:
			s.nicCounters[s.nics[s.tx[q.port].unit].card].Timeouts++
			q.attempt++
			s.resume(qp)
		case rc.Resumed:
			s.resume(qp)
		case rc.Failed:
			s.failed(qp)
		}
	}
	s.setTimer(qp)
}

// setTimer puts the event of a queue pair's timer in the queue, unless it has
// nothing to wait for. The event is not moved when the deadline is: it looks
// again when it comes.
func (s *Sim) setTimer(qp uint32) {
	q := &s.senders[qp]
	if at := q.req.Deadline(); at != units.Never && !q.timerSet {
		q.timerSet = true
		s.queue.push(max(at, s.now), makeKey(s.tx[q.port].node, kindTimer, qp))
	}
}
