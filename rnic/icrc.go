package rnic

import (
	"encoding/binary"
	"math/bits"
	"net/netip"

	"weir/roce"
)

// checkICRC checks the ICRC of a datagram as far as its headers are known.
func (d *Device) checkICRC(g *datagram) bool {
	end := len(g.data) - roce.ICRCLen
	if end < roce.BTHLen {
		return false
	}
	var head [roce.IPv6Len + roce.UDPLen]byte
	n := putHeaders(&head, g.src, d.addr, g.srcPort, len(g.data), g.id)
	want, ok := roce.ICRCParts(head[:n], g.data[:end])
	diff := want ^ binary.LittleEndian.Uint32(g.data[end:])
	if !ok || diff == 0 {
		return ok
	}
	if g.idKnown || !g.src.Is4() {
		return false
	}
	d.counters.ICRCLoose++
	return d.tags.contains(end, diff)
}

// putHeaders writes the headers that a datagram of n bytes had as far as the
// ICRC covers them, and returns their length.
func putHeaders(b *[roce.IPv6Len + roce.UDPLen]byte, src, dst netip.Addr, port uint16, n int, id uint16) int {
	udp := roce.UDP{SrcPort: port, DstPort: roce.Port, Length: uint16(n + roce.UDPLen)}
	if src.Is4() {
		const l = roce.IPv4Len
		be := binary.BigEndian
		b[0] = 0x45
		be.PutUint16(b[2:], uint16(n+l+roce.UDPLen))
		be.PutUint16(b[4:], id)
		b[6], b[9] = roce.DontFragment<<5, 17
		s, d := src.As4(), dst.As4()
		copy(b[12:], s[:])
		copy(b[16:], d[:])
		udp.Put(b[l:])
		return l + roce.UDPLen
	}
	const l = roce.IPv6Len
	ip := roce.IPv6{NextHeader: 17, PayloadLen: udp.Length, Src: src.As16(), Dst: dst.As16()}
	ip.Put(b[:])
	udp.Put(b[l:])
	return l + roce.UDPLen
}

// icrcBases answers whether an ICRC is right for some IPv4 identification. A
// CRC is linear: two packets that differ in the identification alone have
// ICRCs whose difference depends on the difference of the identifications and
// on the length, and on nothing else. So the differences of one length form a
// space of 16 dimensions, and a wrong ICRC is in it by chance once in 65,536.
// The spaces are kept by length, which is always a multiple of four.
type icrcBases [maxDatagram/4 + 1]*[16]uint32

// contains reports whether an ICRC that differs from that of identification 0 by
// diff, over end bytes of transport, is that of another identification.
func (t *icrcBases) contains(end int, diff uint32) bool {
	if end&3 != 0 || end/4 >= len(t) {
		return false
	}
	b := t[end/4]
	if b == nil {
		b = newBasis(end)
		t[end/4] = b
	}
	for _, v := range b {
		if v != 0 && diff^v < diff { // v's highest bit is set in diff
			diff ^= v
		}
	}
	return diff == 0
}

// newBasis returns the space for a length in echelon form, highest bits first.
func newBasis(end int) *[16]uint32 {
	var head [roce.IPv4Len + roce.UDPLen]byte
	head[0] = 0x45
	zero := make([]byte, end)
	none, _ := roce.ICRCParts(head[:], zero)
	var basis [16]uint32
	n := 0
	for bit := range 16 {
		binary.BigEndian.PutUint16(head[4:], 1<<bit)
		v, _ := roce.ICRCParts(head[:], zero)
		v ^= none
		for _, b := range basis[:n] {
			if v^b < v {
				v ^= b
			}
		}
		if v == 0 {
			continue
		}
		i := n
		for i > 0 && bits.Len32(basis[i-1]) < bits.Len32(v) {
			basis[i] = basis[i-1]
			i--
		}
		basis[i] = v
		n++
	}
	return &basis
}
