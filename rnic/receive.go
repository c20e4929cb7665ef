package rnic

import (
	"encoding/binary"
	"net/netip"

	"weir/rc"
	"weir/roce"
	"weir/units"
)

// datagram is what arrived on port 4791, from the BTH to the ICRC.
type datagram struct {
	data    []byte
	src     netip.Addr
	srcPort uint16
	tc      uint8
	// id is the IPv4 identification, if idKnown; IPv6 has none.
	id      uint16
	idKnown bool
}

// receive takes one datagram. Nothing in it is trusted.
func (d *Device) receive(now units.Time, g *datagram) {
	c := &d.counters
	c.ReceivedPackets++
	c.ReceivedBytes += uint64(len(g.data))
	p := &d.pkt
	if err := p.DecodeTransport(g.data); err != nil || p.BTH.Version != 0 || !p.BTH.Opcode.Known() {
		c.Malformed++
		return
	}
	if p.BTH.PKey&0x7fff != 0x7fff {
		c.BadPKey++
		return
	}
	q := d.qps[p.BTH.DestQP&(MaxQPs-1)]
	op := p.BTH.Opcode
	cnp := op == roce.CNP
	if q == nil || q.number != p.BTH.DestQP || !cnp && op.Transport() != services[q.typ] {
		c.UnknownQP++
		return
	}
	if q.state != connected {
		c.NotReady++
		return
	}
	if q.typ != UD && g.src != q.peer.Addr {
		c.WrongSource++
		return
	}
	if !d.checkICRC(g) {
		c.BadICRC++
		return
	}
	if cnp {
		c.CNPHandled++
		q.rate.CNP(&d.congestion, now)
		return
	}
	if roce.ECN(g.tc&3) == roce.CE {
		c.CEMarked++
		if _, due := q.mark.Marked(&d.congestion, now); due && q.typ != UD {
			q.cnp = true
			d.activate(q)
		}
	}
	switch {
	case q.typ == UD:
		d.receiveDatagram(q, g)
		return
	case op.IsResponse():
		d.response(q, now)
	case q.typ == RC:
		d.request(q, now)
	default:
		d.unreliable(q)
	}
	if q.hasAck || q.rsp.Ready() {
		d.activate(q)
	}
}

var services = [...]roce.Transport{RC: roce.RC, UC: roce.UC, UD: roce.UD}

// describe fills in what package rc needs to know of the packet in d.pkt.
func (d *Device) describe(in *rc.Packet) {
	p := &d.pkt
	*in = rc.Packet{PSN: p.BTH.PSN, Bytes: uint32(p.PayloadLen), Op: p.BTH.Opcode & 31}
	if p.BTH.AckReq {
		in.Flags = rc.AckRequest
	}
	if in.Op == roce.RCReadRequest {
		in.Bytes = p.RETH.Length
	}
	if p.Has&roce.HasAETH != 0 {
		in.MSN, in.Syndrome = p.AETH.MSN, p.AETH.Syndrome
	}
}

// response takes an acknowledgement, NAK, READ response or atomic answer.
func (d *Device) response(q *QP, now units.Time) {
	var in rc.Packet
	d.describe(&in)
	e, completed := q.req.Handle(&q.params, now, &in)
	if e == rc.Response {
		w := &q.work[in.Index&uint32(len(q.work)-1)]
		if in.Op == roce.RCAtomicAcknowledge {
			w.original = d.pkt.Original
		} else {
			m := q.req.Message(in.Index)
			copy(w.Data[uint64(uint32(in.PSN.Sub(m.First)))*uint64(q.params.MTU):], d.pkt.Payload)
		}
	}
	d.finish(q, completed)
	d.event(q, e)
	if ok, _ := q.req.Ready(&q.params, now); ok {
		d.activate(q)
	}
}

// finish completes the n oldest send requests, which the requester has just
// counted as completed.
func (d *Device) finish(q *QP, n uint32) {
	if n == 0 {
		return
	}
	for i := q.req.Completed() - n; i != q.req.Completed(); i++ {
		d.complete(q, i, Success)
	}
}

// event counts and answers what the requester made of a packet or a deadline.
func (d *Device) event(q *QP, e rc.Event) {
	switch e {
	case rc.SequenceError:
		d.counters.SequenceNAKs++
	case rc.ImpliedError:
		d.counters.ImpliedNAKs++
	case rc.ReceiverNotReady:
		d.counters.RNRNAKs++
		d.timeFor(q)
		return
	case rc.Resumed:
	case rc.TimedOut:
		d.counters.Timeouts++
	case rc.Failed:
		d.fail(q, failures[q.req.Failure()], Flushed)
		return
	default:
		d.timeFor(q)
		return
	}
	d.activate(q)
}

var failures = [...]Status{
	rc.NoFailure: Flushed, rc.InvalidRequest: RemoteInvalidError, rc.RemoteAccessError: RemoteAccessError,
	rc.RemoteOperational: RemoteOpError, rc.RetryExceeded: RetryExceeded, rc.RNRRetryExceeded: RNRRetryExceeded,
}

// request takes a request packet of a reliable connection.
func (d *Device) request(q *QP, now units.Time) {
	var in, out rc.Packet
	d.describe(&in)
	v := q.rsp.Check(&in)
	if v == rc.InOrder {
		if d.pkt.PayloadLen > 0 && !d.pkt.BTH.Opcode.HasPayload() {
			v = rc.Invalid
		} else {
			v = d.perform(q, &in)
		}
	}
	if v == rc.InOrder {
		before := q.rsp.Delivered
		if q.rsp.Commit(&q.params, &in, &out) {
			q.ack, q.hasAck = out, true
		}
		if q.rsp.Delivered != before {
			d.delivered(q)
		}
		return
	}
	switch v {
	case rc.Duplicate:
		d.counters.Duplicates++
	case rc.Gap:
		d.counters.OutOfSequence++
	case rc.Invalid:
		d.counters.RefusedRequest++
	case rc.AccessError:
		d.counters.RefusedAccess++
	}
	if q.rsp.Refuse(&q.params, now, v, &in, &out) {
		// A NAK that waits says more than the acknowledgement of a duplicate.
		if v != rc.Duplicate || !q.hasAck || q.ack.Syndrome <= roce.SyndromeACK {
			q.ack, q.hasAck = out, true
		}
	}
	switch v {
	case rc.Invalid:
		s := LocalOperationError
		if q.in.recv && q.recvHead != q.recvTail {
			s = LocalLengthError
		}
		d.fail(q, Flushed, s)
		d.activate(q) // for the NAK
	case rc.AccessError, rc.Inoperable:
		d.fail(q, Flushed, LocalAccessError)
		d.activate(q)
	}
}

// perform does what a request packet in order asks of the memory, and returns
// rc.InOrder if it could.
func (d *Device) perform(q *QP, in *rc.Packet) rc.Verdict {
	p := &d.pkt
	switch op := in.Op; op {
	case roce.RCSendFirst, roce.RCSendOnly, roce.RCSendOnlyImmediate, roce.RCSendOnlyInvalidate:
		if q.recvHead == q.recvTail {
			return rc.NotReady
		}
		q.in = inbound{recv: true}
		return d.place(q, op)
	case roce.RCSendMiddle, roce.RCSendLast, roce.RCSendLastImmediate, roce.RCSendLastInvalidate:
		return d.place(q, op)
	case roce.RCWriteFirst, roce.RCWriteOnly, roce.RCWriteOnlyImmediate:
		return d.beginWrite(q, op)
	case roce.RCWriteMiddle, roce.RCWriteLast, roce.RCWriteLastImmediate:
		return d.write(q, op)
	case roce.RCReadRequest:
		if p.RETH.Length > MaxMessage {
			return rc.Invalid
		}
		a := &q.asked[q.rsp.Accepted()&uint32(len(q.asked)-1)]
		var m *MR
		if p.RETH.Length > 0 {
			m = d.region(q.pd, p.RETH.RKey, RemoteRead)
			if m == nil {
				return rc.AccessError
			}
			if _, ok := m.slice(p.RETH.VA, p.RETH.Length); !ok {
				return rc.AccessError
			}
		}
		*a = asked{mr: m, va: p.RETH.VA}
		return rc.InOrder
	case roce.RCFetchAdd, roce.RCCompareSwap:
		return d.atomic(q, op)
	}
	return rc.Invalid
}

// place puts the payload of a SEND packet into the oldest receive buffer.
func (d *Device) place(q *QP, op roce.Opcode) rc.Verdict {
	if !q.in.recv || q.recvHead == q.recvTail {
		return rc.Invalid
	}
	p := &d.pkt
	buf := q.recvs[q.recvHead&uint32(len(q.recvs)-1)].Buffer
	if uint64(q.in.bytes)+uint64(len(p.Payload)) > uint64(len(buf)) {
		return rc.Invalid
	}
	if op == roce.RCSendLastInvalidate || op == roce.RCSendOnlyInvalidate {
		m := d.region(q.pd, p.RKey, RemoteRead|RemoteWrite|RemoteAtomic)
		if m == nil {
			return rc.AccessError
		}
		d.invalidate(m)
	}
	copy(buf[q.in.bytes:], p.Payload)
	q.in.bytes += uint32(len(p.Payload))
	return rc.InOrder
}

// beginWrite takes the first packet of a WRITE.
func (d *Device) beginWrite(q *QP, op roce.Opcode) rc.Verdict {
	h := &d.pkt.RETH
	n := uint32(len(d.pkt.Payload))
	switch {
	case h.Length > MaxMessage, op == roce.RCWriteFirst && h.Length <= n, op != roce.RCWriteFirst && h.Length != n:
		return rc.Invalid
	}
	in := inbound{va: h.VA, left: h.Length}
	if h.Length > 0 {
		in.mr = d.region(q.pd, h.RKey, RemoteWrite)
		if in.mr == nil {
			return rc.AccessError
		}
		if _, ok := in.mr.slice(h.VA, h.Length); !ok {
			return rc.AccessError
		}
	}
	q.in = in
	return d.write(q, op)
}

// write puts the payload of a WRITE packet into memory.
func (d *Device) write(q *QP, op roce.Opcode) rc.Verdict {
	data := d.pkt.Payload
	n := uint32(len(data))
	if q.in.recv || n > q.in.left || op.IsLast() != (n == q.in.left) {
		return rc.Invalid
	}
	if (op == roce.RCWriteLastImmediate || op == roce.RCWriteOnlyImmediate) && q.recvHead == q.recvTail {
		return rc.NotReady
	}
	if n > 0 {
		if !q.in.mr.valid {
			return rc.AccessError
		}
		dst, ok := q.in.mr.slice(q.in.va, n)
		if !ok {
			return rc.AccessError
		}
		copy(dst, data)
	}
	q.in.va += uint64(n)
	q.in.left -= n
	q.in.bytes += n
	return rc.InOrder
}

// atomic executes a FETCH_ADD or CMP_SWAP. Memory holds the values in the
// machine's order of bytes, as verbs has it.
func (d *Device) atomic(q *QP, op roce.Opcode) rc.Verdict {
	h := &d.pkt.AtomicETH
	if h.VA&7 != 0 {
		return rc.Invalid
	}
	m := d.region(q.pd, h.RKey, RemoteAtomic)
	if m == nil {
		return rc.AccessError
	}
	b, ok := m.slice(h.VA, 8)
	if !ok {
		return rc.AccessError
	}
	old := binary.NativeEndian.Uint64(b)
	switch {
	case op == roce.RCFetchAdd:
		binary.NativeEndian.PutUint64(b, old+h.SwapOrAdd)
	case old == h.Compare:
		binary.NativeEndian.PutUint64(b, h.SwapOrAdd)
	}
	q.asked[q.rsp.Accepted()&uint32(len(q.asked)-1)] = asked{mr: m, va: h.VA, original: old}
	return rc.InOrder
}

// delivered tells the user of the message that d.pkt has completed, if it is one
// that consumes a receive request.
func (d *Device) delivered(q *QP) {
	p := &d.pkt
	op := p.BTH.Opcode & 31
	c := Completion{Op: OpSend, Bytes: q.in.bytes, Solicited: p.BTH.Solicited}
	switch op {
	case roce.RCSendLast, roce.RCSendOnly:
	case roce.RCSendLastImmediate, roce.RCSendOnlyImmediate:
		c.Immediate, c.HasImmediate = p.Immediate, true
	case roce.RCSendLastInvalidate, roce.RCSendOnlyInvalidate:
		c.InvalidatedKey, c.Invalidated = p.RKey, true
	case roce.RCWriteLastImmediate, roce.RCWriteOnlyImmediate:
		c.Op, c.Immediate, c.HasImmediate = OpWriteImmediate, p.Immediate, true
	default:
		return
	}
	d.received(q, c)
	q.in = inbound{}
}
