package rnic

import (
	"encoding/binary"

	"weir/rc"
	"weir/roce"
	"weir/units"
)

// quantum is how many packets a queue pair sends before the next one's turn.
const quantum = 32

// burst is how far a paced queue pair may fall behind its rate and make up for
// it: it bridges the coarse sleeping of the operating system.
const burst = 200 * units.Microsecond

// fill moves packets of the ready queue pairs into the batch, until that is full
// or nothing is left, in turns.
func (d *Device) fill(now units.Time) {
	for n := d.readyLen; n > 0 && d.tx.room(); {
		q := d.ready[d.readyHead]
		d.ready[d.readyHead] = nil
		d.readyHead = (d.readyHead + 1) & (MaxQPs - 1)
		d.readyLen--
		q.queued = false
		more := d.transmit(q, now)
		d.timeFor(q)
		if more {
			d.activate(q)
			continue // its turn comes again, in this batch if there is room
		}
		n--
	}
}

// transmit lets a queue pair send up to a quantum, responses first, and reports
// whether it has more to send now.
func (d *Device) transmit(q *QP, now units.Time) (more bool) {
	if q.path == nil && q.typ != UD || q.state == created || q.state == destroyed {
		return false
	}
	if q.cnp {
		q.cnp = false
		d.sendCNP(q)
	}
	if q.hasAck {
		if !d.tx.room() {
			return true
		}
		q.hasAck = false
		d.put(q, &q.ack, nil)
	}
	for range quantum {
		responds := q.rsp.Ready()
		if !responds {
			if ok, _ := q.req.Ready(&q.params, now); !ok {
				return false
			}
		}
		if !d.tx.room() {
			return true
		}
		if now < q.paceAt {
			q.paced = true
			return false
		}
		var out rc.Packet
		sent := 0
		switch {
		case responds:
			if !q.rsp.Next(&q.params, now, &out) {
				return false
			}
			sent = d.putReply(q, &out)
		case q.req.Next(&q.params, now, &out):
			sent = d.putRequest(q, now, &out)
		}
		if d.congestion.Enabled && q.typ != UD {
			gap := q.rate.Sent(&d.congestion, now, uint32(sent+q.path.headLen)) - now
			q.paceAt = max(q.paceAt, now-burst) + gap
		}
	}
	return true
}

// putRequest sends a packet of the requester.
func (d *Device) putRequest(q *QP, now units.Time, out *rc.Packet) int {
	w := &q.work[out.Index&uint32(len(q.work)-1)]
	m := q.req.Message(out.Index)
	if out.Flags&rc.Again != 0 {
		d.counters.Retransmitted++
	}
	offset := uint64(uint32(out.PSN.Sub(m.First))) * uint64(q.params.MTU)
	p := &d.pkt
	p.BTH = roce.BTH{Solicited: w.Solicited && out.Op.IsLast()}
	switch {
	case out.Op == roce.RCReadRequest:
		p.RETH = roce.RETH{VA: w.RemoteAddr + offset, RKey: w.RKey, Length: out.Bytes}
		return d.put(q, out, nil)
	case out.Op == roce.RCFetchAdd:
		p.AtomicETH = roce.AtomicETH{VA: w.RemoteAddr, RKey: w.RKey, SwapOrAdd: w.Add}
		return d.put(q, out, nil)
	case out.Op == roce.RCCompareSwap:
		p.AtomicETH = roce.AtomicETH{VA: w.RemoteAddr, RKey: w.RKey, SwapOrAdd: w.Swap, Compare: w.Compare}
		return d.put(q, out, nil)
	}
	p.RETH = roce.RETH{VA: w.RemoteAddr, RKey: w.RKey, Length: m.Bytes}
	p.Immediate = w.Immediate
	if w.Op == OpSendInvalidate {
		p.RKey = w.InvalidateKey
	}
	data := w.Data[offset : offset+uint64(out.Bytes)]
	if q.typ == RC {
		return d.put(q, out, data)
	}
	return d.putUnreliable(q, now, out, w, data)
}

// putUnreliable sends a packet of a service without acknowledgements: the
// requester is told at once that it has arrived.
func (d *Device) putUnreliable(q *QP, now units.Time, out *rc.Packet, w *sendWork, data []byte) int {
	sent := *out
	path := q.path
	if q.typ == UD {
		d.pkt.DETH = roce.DETH{QKey: w.QKey, SrcQP: q.number}
		sent.Op = roce.UDSendOnly + out.Op - roce.RCSendOnly
		d.pkt.BTH.DestQP = w.QPN
		path = w.path
	} else {
		sent.Op = out.Op + roce.UCSendFirst
		d.pkt.BTH.DestQP = q.peer.QPN
	}
	sent.Flags = 0
	n := d.putTo(q, path, &sent, data)
	ack := rc.Packet{Op: roce.RCAcknowledge, Syndrome: roce.SyndromeACK, PSN: out.PSN}
	e, completed := q.req.Handle(&q.params, now, &ack)
	d.finish(q, completed)
	d.event(q, e)
	return n
}

// putReply sends a packet of the responder.
func (d *Device) putReply(q *QP, out *rc.Packet) int {
	p := &d.pkt
	p.BTH = roce.BTH{}
	var data []byte
	switch {
	case out.Op.IsReadResponse():
		a := &q.asked[out.Index&uint32(len(q.asked)-1)]
		r := q.rsp.Reply(out.Index)
		offset := uint64(uint32(out.PSN.Sub(r.First))) * uint64(q.params.MTU)
		ok := r.Bytes == 0
		if !ok && a.mr.valid {
			data, ok = a.mr.slice(a.va+offset, out.Bytes)
		}
		if !ok { // the region went away while the READ was served
			out.Op, out.Syndrome, out.Bytes = roce.RCAcknowledge, roce.SyndromeNAKRemoteAccessError, 0
			d.counters.RefusedAccess++
			n := d.put(q, out, nil)
			q.rsp.Reset(&q.params, 0, nil, nil)
			d.fail(q, Flushed, LocalAccessError)
			return n
		}
	case out.Op == roce.RCAtomicAcknowledge:
		p.Original = q.asked[out.Index&uint32(len(q.asked)-1)].original
	}
	return d.put(q, out, data)
}

// put sends a packet to the peer of a connection. The header fields that out
// does not tell are in d.pkt.
func (d *Device) put(q *QP, out *rc.Packet, data []byte) int {
	d.pkt.BTH.DestQP = q.peer.QPN
	return d.putTo(q, q.path, out, data)
}

func (d *Device) putTo(q *QP, path *path, out *rc.Packet, data []byte) int {
	p := &d.pkt
	p.BTH.Opcode, p.BTH.PSN, p.BTH.PKey, p.BTH.MigReq = out.Op, out.PSN, 0xffff, true
	p.BTH.AckReq = out.Flags&rc.AckRequest != 0
	p.BTH.FECN, p.BTH.BECN = false, false
	p.AETH = roce.AETH{Syndrome: out.Syndrome, MSN: out.MSN}
	p.Payload, p.PayloadLen = data, 0
	return d.emit(path, q.pathTo.TrafficClass)
}

// sendCNP tells the peer that its packets were marked.
func (d *Device) sendCNP(q *QP) {
	d.pkt.BTH = roce.BTH{}
	d.pkt.SetCNP(q.peer.QPN)
	d.pkt.BTH.PKey = 0xffff
	d.emit(q.path, d.cnpClass)
	d.counters.CNPSent++
}

// emit encodes d.pkt into the batch and returns its length.
func (d *Device) emit(path *path, tc uint8) int {
	n := d.pkt.TransportLen()
	b, id := d.tx.add(path, tc, n)
	end := d.pkt.PutTransport(b)
	icrc, _ := roce.ICRCParts(path.header(n, id), b[:end])
	binary.LittleEndian.PutUint32(b[end:], icrc)
	d.counters.SentPackets++
	d.counters.SentBytes += uint64(n)
	return n
}
