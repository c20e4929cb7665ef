package capture

import (
	"encoding/binary"

	"weir/roce"
)

// A packet whose ICRC does not match its bytes was damaged on the way, or
// rewritten by something that may not know the ICRC: address translation. The
// difference between the computed and the carried ICRC tells the two apart. CRCs
// are linear: the difference depends on the changed bits alone, shifted by
// what follows them. A translator changes addresses and ports of a flow by the
// same bits in every packet, so the difference, shifted back to the end of
// the headers, is the same for packets of every length; bit errors leave a
// different one each time.

// maxDifferences is how many wrong packets of a flow are looked at.
const maxDifferences = 64

// damage holds what is known of the wrong ICRCs of a flow.
type damage struct {
	wrong       uint64
	valid       uint64
	firstPacket uint64
	difference  uint32 // of the first, shifted back
	same        uint64 // packets with this difference, the first included
	looked      uint64
	zeroID      uint64 // packets that are right with IP identification 0
}

// rewritten reports whether the flow's packets were changed in the same way,
// each and every one.
func (d *damage) rewritten() bool {
	return d.wrong >= 2 && d.valid == 0 && d.same == d.looked
}

// renumbered reports whether every packet would be right with IP
// identification 0: it was set after the ICRC was made.
func (d *damage) renumbered() bool { return d.wrong >= 1 && d.valid == 0 && d.zeroID == d.looked }

// look takes a packet with a wrong ICRC.
func (d *damage) look(p *roce.Packet, packet uint64) {
	d.wrong++
	if d.looked == maxDifferences {
		return
	}
	d.looked++
	body := p.Network[:len(p.Network)-roce.ICRCLen]
	c, _ := roce.ICRC(body)
	headers := roce.IPv6Len + roce.UDPLen
	switch {
	case p.Has&roce.HasIPv4 != 0:
		headers = int(p.IPv4.HdrLen) + roce.UDPLen
	case p.Has&roce.HasGRH != 0:
		headers = roce.GRHLen
	}
	diff := unshift(c^p.ICRC, len(body)-headers)
	if d.looked == 1 {
		d.firstPacket, d.difference = packet, diff
	}
	if diff == d.difference {
		d.same++
	}
	if p.Has&roce.HasIPv4 != 0 && p.IPv4.ID != 0 && zeroIDFits(c^p.ICRC, p, len(body)) {
		d.zeroID++
	}
}

// zeroIDFits reports whether the difference is what the identification alone makes.
func zeroIDFits(diff uint32, p *roce.Packet, n int) bool {
	var id [2]byte
	binary.BigEndian.PutUint16(id[:], p.IPv4.ID)
	s := uint32(0)
	for _, b := range id {
		s = crcByte(s, b)
	}
	return unshift(diff, n-6) == s // the identification ends at byte 6
}

// crcByte moves a CRC state, without complements, on by a byte.
func crcByte(s uint32, b byte) uint32 {
	s ^= uint32(b)
	for range 8 {
		s = s>>1 ^ poly&-(s&1)
	}
	return s
}

// poly is the polynomial of CRC-32, reflected.
const poly = 0xedb88320

// unshift takes n bytes of zeros back: it returns the state that n zero bytes
// turn into s, which is s times x^-8n modulo the polynomial.
func unshift(s uint32, n int) uint32 {
	const inverse = 0xdb710641 // x^-1
	q := uint32(inverse)
	for range 3 {
		q = multiply(q, q)
	}
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			s = multiply(s, q)
		}
		q = multiply(q, q)
	}
	return s
}

// multiply returns the product of two polynomials modulo that of the CRC. The
// highest bit is the coefficient of x^0.
func multiply(a, b uint32) uint32 {
	p := uint32(0)
	for ; a != 0; a <<= 1 {
		p ^= b & -(a >> 31)
		b = b>>1 ^ poly&-(b&1)
	}
	return p
}
