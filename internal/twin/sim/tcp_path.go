package sim

import (
	"weir/internal/twin/tcp"
	"weir/roce"
	"weir/units"
)

// resumeSocket puts a socket that may send into the ring of its NIC.
func (s *Sim) resumeSocket(id uint32) {
	k := &s.tcp.all[id]
	q := &s.senders[k.qp]
	if q.state != idle || !k.hasUrgent && !k.snd.Ready() {
		return
	}
	s.enroll(&s.nics[s.tx[q.port].unit], k.qp)
	s.kick(q.port)
}

// sendSegment sends the next segment of a socket.
func (s *Sim) sendSegment(p uint32, n *nicPort, q *sender, qp uint32) bool {
	id := q.socket
	k := &s.tcp.all[id]
	var seg tcp.Segment
	if k.hasUrgent {
		seg, k.hasUrgent = k.urgent, false
	} else if !k.snd.Next(s.now, &seg) {
		s.setTCPTimer(id)
		return false
	}
	i := s.pool.get()
	pk := &s.pool.all[i]
	*pk = packet{qp: qp, out: s.routes[2*qp].out, kind: segmentPacket, prio: q.prio, bytes: seg.Bytes + s.tcp.header, paths: 1}
	pk.Index, pk.Bytes = uint32(seg.Seq), seg.Bytes
	pk.PSN = segmentName(seg.Seq)
	n.dataSent++
	if seg.Again {
		q.attempt++
		s.nicCounters[n.card].Retransmitted++
	} else {
		s.segmentBegins(k, seg.Seq)
	}
	pk.attempt = q.attempt
	if d := &s.cards[n.card]; d.pace != 0 {
		d.fetched = max(d.fetched, s.now) + d.pace.Time(pk.Bytes)
	}
	n.deficit[q.prio] -= int32(pk.bytes)
	s.sendNIC(p, n, i)
	s.setTCPTimer(id)
	if k.snd.Ready() {
		s.enroll(n, qp)
	}
	return true
}

// segmentBegins notes when the first segment of a message is sent.
func (s *Sim) segmentBegins(k *socket, seq uint64) {
	for i := k.firstTask; i < len(k.tasks); i++ {
		if i > k.firstTask && k.tasks[i-1].end > seq {
			return
		}
		if k.tasks[i].end > seq {
			if t := &s.transfers[k.tasks[i].transfer]; t.first == units.Never {
				t.first = s.now
			}
			return
		}
	}
}

// arriveSegment takes a data segment at the receiver's NIC, which raises an
// interrupt unless one is set.
func (s *Sim) arriveSegment(p uint32, n *nicPort, i uint32) {
	pk := &s.pool.all[i]
	n.dataReceived++
	if d := &s.cards[n.card]; d.drain != 0 && !s.accept(p, n, d, pk) {
		s.nicCounters[n.card].Discards++
		s.pool.put(i)
		return
	}
	id := s.senders[pk.qp].socket
	k := &s.tcp.all[id]
	k.inbox.push(s.pool.all, i)
	if k.polling {
		return
	}
	k.polling = true
	s.planTCP(k.to, id, tcpInterrupt, s.cardTime(n)+s.cluster.TCP.InterruptDelay)
}

// cardTime is when what has just come in is in the host's memory.
func (s *Sim) cardTime(n *nicPort) units.Time {
	d := &s.cards[n.card]
	at := max(s.now, d.drained)
	if s.model.CardLatency {
		at += d.latency
	}
	return at
}

// serveSegments begins to take what has come through the stack, a batch at
// most. The first time after an interrupt costs that as well.
func (s *Sim) serveSegments(id uint32) {
	k := &s.tcp.all[id]
	cost := &s.tcp.costs[k.to]
	s.planTCP(k.to, id, tcpServed, s.work(k.to, k.rirq, cost.interrupt+s.pickSegments(k)))
}

// pickSegments moves a batch from the inbox to those that are served and
// returns the work that they make.
func (s *Sim) pickSegments(k *socket) (d units.Time) {
	all := s.pool.all
	cost := &s.tcp.costs[k.to]
	for bytes := uint32(0); k.inbox.head != 0 && bytes < s.tcp.batch; {
		i := k.inbox.pop(all)
		bytes += all[i].Bytes
		d += cost.segment
		k.served.push(all, i)
	}
	return d
}

// tcpServed is the event that a batch has passed the stack: it is acknowledged,
// and the reader may copy it.
func (s *Sim) tcpServed(id uint32) {
	k := &s.tcp.all[id]
	n := &s.nics[s.tx[s.receivers[k.qp].port].unit]
	count := &s.nicCounters[n.card]
	for k.served.head != 0 {
		i := k.served.pop(s.pool.all)
		pk := &s.pool.all[i]
		next := k.rcv.Next()
		seq := unwrap(next, pk.Index)
		if pk.flags&marked != 0 {
			count.ECNMarked++
		}
		switch fresh := k.rcv.Take(seq, pk.Bytes, pk.flags&marked != 0); {
		case fresh == 0:
			count.Duplicates++
		case k.rcv.Next() == next:
			count.OutOfOrder++
		}
		s.pool.put(i)
	}
	s.answer(id)
	k = &s.tcp.all[id]
	if k.inbox.head != 0 {
		s.planTCP(k.to, id, tcpServed, s.work(k.to, k.rirq, s.pickSegments(k)))
	} else {
		k.polling = false
	}
	s.startRead(id)
}

// answer sends an acknowledgement.
func (s *Sim) answer(id uint32) {
	k := &s.tcp.all[id]
	room := uint64(s.cluster.TCP.ReceiveBuffer)
	room -= min(room, k.rcv.Next()-k.read+k.rcv.Ahead())
	var a tcp.Ack
	k.rcv.Acknowledge(room, &a)
	k.edge = a.Next + a.Window
	k.acks++
	q, r := &s.senders[k.qp], &s.receivers[k.qp]
	i := s.pool.get()
	pk := &s.pool.all[i]
	*pk = packet{qp: k.qp, out: s.routes[2*k.qp+1].out, kind: answerPacket, prio: q.prio, bytes: s.tcp.header, attempt: uint16(k.acks)}
	pk.PSN = segmentName(a.Next)
	pk.Index, pk.MSN, pk.Bytes = uint32(a.Next), uint32(a.From), uint32(a.To-a.From)
	pk.paths, pk.at = uint32(a.Marked), units.Time(a.Window)
	s.nics[s.tx[r.port].unit].answers.push(s.pool.all, i)
	s.respond(r.port, s.now)
}

// startRead lets the reader copy the next batch out of the socket buffer.
func (s *Sim) startRead(id uint32) {
	k := &s.tcp.all[id]
	if k.reading || k.rcv.Next() == k.read {
		return
	}
	k.reading = true
	if k.sleeps {
		s.planTCP(k.to, id, tcpWoken, s.now+s.cluster.TCP.WakeDelay)
		return
	}
	s.takeRead(id)
}

// takeRead begins a call that receives.
func (s *Sim) takeRead(id uint32) {
	k := &s.tcp.all[id]
	k.taking = uint32(min(k.rcv.Next()-k.read, uint64(s.tcp.batch)))
	cost := &s.tcp.costs[k.to]
	d := cost.receiveCall + units.Time(cost.receiveByte*float64(k.taking))
	s.planTCP(k.to, id, tcpRead, s.work(k.to, k.rthread, d))
}

// tcpRead is the event that the reader has copied a batch.
func (s *Sim) tcpRead(id uint32) {
	k := &s.tcp.all[id]
	k.reading = false
	k.read += uint64(k.taking)
	// A window that was nearly shut and has opened is told (Linux,
	// tcp_cleanup_rbuf: when it has doubled).
	room := uint64(s.cluster.TCP.ReceiveBuffer)
	room -= min(room, k.rcv.Next()-k.read+k.rcv.Ahead())
	if left := k.edge - min(k.edge, k.rcv.Next()); room >= 2*left && room > uint64(s.tcp.batch) {
		s.answer(id)
	}
	for {
		k = &s.tcp.all[id]
		i := k.firstTask + k.readTasks
		if i >= len(k.tasks) || k.tasks[i].end > k.read {
			break
		}
		k.readTasks++
		transfer := k.tasks[i].transfer
		t := &s.transfers[transfer]
		t.undelivered--
		if t.undelivered != 0 {
			continue
		}
		conn, cookie := t.conn, t.cookie
		if k.early {
			s.latency.add(s.now - t.first)
		}
		s.release(transfer)
		if by := s.conns[conn].owner; by != ownerFlow && (by != ownerHandler || s.handlers.Delivered != nil) {
			s.tellDelivered(conn, cookie)
		}
	}
	s.forget(&s.tcp.all[id])
	if k = &s.tcp.all[id]; !k.reading && k.rcv.Next() != k.read { // without having slept
		k.reading = true
		s.takeRead(id)
	}
}

// arriveAnswer takes an acknowledgement at the sender's NIC.
func (s *Sim) arriveAnswer(n *nicPort, i uint32) {
	id := s.senders[s.pool.all[i].qp].socket
	k := &s.tcp.all[id]
	k.answers.push(s.pool.all, i)
	if !k.heeding {
		k.heeding = true
		s.planTCP(k.from, id, tcpHeed, s.cardTime(n)+s.cluster.TCP.InterruptDelay)
	}
}

// heedAnswers begins to take all acknowledgements that have come.
func (s *Sim) heedAnswers(id uint32) {
	k := &s.tcp.all[id]
	cost := &s.tcp.costs[k.from]
	d := cost.interrupt
	for i := k.answers.head; i != 0; i = s.pool.all[i].next {
		d += cost.ack
	}
	s.planTCP(k.from, id, tcpHeeded, s.work(k.from, k.irq, d))
}

// tcpHeeded is the event that the sender's stack has taken acknowledgements.
func (s *Sim) tcpHeeded(id uint32) {
	k := &s.tcp.all[id]
	k.heeding = false
	for k.answers.head != 0 {
		i := k.answers.pop(s.pool.all)
		pk := &s.pool.all[i]
		una := k.snd.Acknowledged()
		a := tcp.Ack{Next: unwrap(una, pk.Index), Marked: uint64(pk.paths), Window: uint64(pk.at)}
		if pk.Bytes != 0 {
			a.From = unwrap(una, pk.MSN)
			a.To = a.From + uint64(pk.Bytes)
		}
		k.snd.Take(s.now, &a)
		s.pool.put(i)
	}
	if s.cfg.Check && (k.snd.Acknowledged() > k.rcv.Next() || k.snd.Sent() > k.snd.Written()) {
		s.broken("socket %d: %d acknowledged, %d received, %d sent, %d written", id, k.snd.Acknowledged(), k.rcv.Next(), k.snd.Sent(), k.snd.Written())
	}
	s.setTCPTimer(id)
	s.startCopy(id)
	s.resumeSocket(id)
	if k = &s.tcp.all[id]; !k.early {
		s.tasksDone(id, k.snd.Acknowledged())
	}
}

// setTCPTimer puts the event of a socket's timer in the queue. It is not moved
// when the deadline is: it looks again when it comes.
func (s *Sim) setTCPTimer(id uint32) {
	k := &s.tcp.all[id]
	if at := k.snd.Deadline(); at != units.Never && !k.timerSet {
		k.timerSet = true
		s.planTCP(k.from, id, tcpTimer, max(at, s.now))
	}
}

// tcpExpire is the event of a socket's timer.
func (s *Sim) tcpExpire(id uint32) {
	k := &s.tcp.all[id]
	k.timerSet = false
	if k.snd.Deadline() <= s.now {
		k.hasUrgent = k.snd.Expire(s.now, &k.urgent)
		if !k.hasUrgent && k.snd.Recovering() {
			s.nicCounters[s.nics[s.tx[s.senders[k.qp].port].unit].card].Timeouts++
		}
		s.resumeSocket(id)
	}
	s.setTCPTimer(id)
}

// unwrap returns the offset nearest to ref whose low 32 bits are given.
func unwrap(ref uint64, low uint32) uint64 {
	return ref + uint64(int64(int32(low-uint32(ref))))
}

// segmentName names a segment for random draws: its place in the stream.
func segmentName(seq uint64) roce.PSN { return roce.PSN(seq & (1<<32 - 1)) }
