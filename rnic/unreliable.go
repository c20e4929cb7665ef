package rnic

import (
	"weir/rc"
	"weir/roce"
)

// unreliable takes a packet of an unreliable connection. A message that lost a
// packet is dropped, up to the next one's first packet (section 9.8.2.2).
func (d *Device) unreliable(q *QP) {
	var in rc.Packet
	d.describe(&in)
	s := &q.rsp.Sequence
	v := s.Check(&in)
	if v != rc.InOrder {
		if v == rc.Gap || v == rc.Duplicate || v == rc.Invalid {
			d.counters.OutOfSequence++
		}
		if q.in != (inbound{}) {
			q.in = inbound{}
			d.counters.Dropped++
		}
		s.Restart(in.PSN, false)
		if s.Check(&in) != rc.InOrder { // not the start of a message
			s.Restart(in.PSN.Add(1), false)
			return
		}
	}
	s.Advance(&in)
	if d.pkt.PayloadLen > 0 && !d.pkt.BTH.Opcode.HasPayload() {
		d.counters.Malformed++
		return
	}
	switch d.perform(q, &in) {
	case rc.InOrder:
		if in.Op.IsLast() {
			d.delivered(q)
			q.in = inbound{}
		}
		return
	case rc.NotReady:
		d.counters.NoBuffer++
	case rc.AccessError:
		d.counters.RefusedAccess++
	default:
		d.counters.RefusedRequest++
	}
	q.in = inbound{}
	s.Restart(in.PSN.Add(1), false)
}

// receiveDatagram takes a packet of a UD queue pair.
func (d *Device) receiveDatagram(q *QP, g *datagram) {
	p, c := &d.pkt, &d.counters
	switch {
	case p.DETH.QKey != q.qkey:
		c.BadQKey++
		return
	case q.recvHead == q.recvTail:
		c.NoBuffer++
		return
	}
	buf := q.recvs[q.recvHead&uint32(len(q.recvs)-1)].Buffer
	if len(p.Payload) > len(buf) || len(p.Payload) > int(q.params.MTU) {
		c.Dropped++
		return
	}
	copy(buf, p.Payload)
	w := Completion{
		Op: OpSend, Bytes: uint32(len(p.Payload)), From: g.src, SrcQP: p.DETH.SrcQP, Solicited: p.BTH.Solicited,
	}
	if p.BTH.Opcode == roce.UDSendOnlyImmediate {
		w.Immediate, w.HasImmediate = p.Immediate, true
	}
	d.received(q, w)
}
