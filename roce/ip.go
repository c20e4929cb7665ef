package roce

import "encoding/binary"

// ECN is the congestion field, the low two bits of the traffic class (RFC 3168).
type ECN uint8

// The four code points. Note that 1 is ECT(1) and 2 is ECT(0).
const (
	NotECT ECN = 0
	ECT1   ECN = 1
	ECT0   ECN = 2
	CE     ECN = 3
)

// String returns "not-ECT", "ECT(1)", "ECT(0)" or "CE".
func (e ECN) String() string { return [...]string{"not-ECT", "ECT(1)", "ECT(0)", "CE"}[e&3] }

// IP protocol numbers.
const (
	protocolUDP = 17
	// NextHeaderIBA is the next header of a GRH: a BTH follows.
	NextHeaderIBA = 0x1b
)

// IPv4 is the header of RFC 791, 20 bytes without options. RoCEv2 packets have
// no options; Decode skips them and Put writes none. TotalLen is in bytes,
// from the header on. Flags holds the three flag bits (2: don't fragment) and
// Offset the fragment offset in units of 8 bytes.
type IPv4 struct {
	TOS      uint8
	TTL      uint8
	Protocol uint8
	Flags    uint8
	HdrLen   uint8 // bytes, 20 to 60
	TotalLen uint16
	ID       uint16
	Offset   uint16
	Checksum uint16
	Src, Dst [4]byte
}

// DontFragment is the flag that RoCEv2 senders set.
const DontFragment = 2

// Decode reads h from the start of b. It returns ErrTruncated if b ends inside
// the header, ErrVersion if the version is not 4 and ErrLength for a header
// length below 20 or a total length below the header's. The checksum is read
// and not checked: see ChecksumOK.
func (h *IPv4) Decode(b []byte) error {
	if len(b) < IPv4Len {
		return ErrTruncated
	}
	if b[0]>>4 != 4 {
		return ErrVersion
	}
	h.HdrLen = b[0] & 15 * 4
	h.TOS = b[1]
	h.TotalLen = binary.BigEndian.Uint16(b[2:])
	h.ID = binary.BigEndian.Uint16(b[4:])
	v := binary.BigEndian.Uint16(b[6:])
	h.Flags, h.Offset = uint8(v>>13), v&0x1fff
	h.TTL, h.Protocol = b[8], b[9]
	h.Checksum = binary.BigEndian.Uint16(b[10:])
	h.Src, h.Dst = [4]byte(b[12:]), [4]byte(b[16:])
	if h.HdrLen < IPv4Len || uint16(h.HdrLen) > h.TotalLen {
		return ErrLength
	}
	if len(b) < int(h.HdrLen) {
		return ErrTruncated
	}
	return nil
}

// Put writes h to the first 20 bytes of b, which must be there, with a right
// checksum whatever h.Checksum says.
func (h *IPv4) Put(b []byte) {
	_ = b[IPv4Len-1]
	b[0], b[1] = 0x45, h.TOS
	binary.BigEndian.PutUint16(b[2:], h.TotalLen)
	binary.BigEndian.PutUint16(b[4:], h.ID)
	binary.BigEndian.PutUint16(b[6:], uint16(h.Flags&7)<<13|h.Offset&0x1fff)
	b[8], b[9] = h.TTL, h.Protocol
	b[10], b[11] = 0, 0
	copy(b[12:16], h.Src[:])
	copy(b[16:20], h.Dst[:])
	binary.BigEndian.PutUint16(b[10:], ^onesSum(b[:IPv4Len]))
}

// onesSum is the ones' complement sum of RFC 1071 over an even number of bytes.
func onesSum(b []byte) uint16 {
	var s uint32
	for ; len(b) >= 2; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	s = s>>16 + s&0xffff
	return uint16(s>>16 + s)
}

// IPv4ChecksumOK reports whether the header checksum of the IPv4 packet b is
// right. b must hold the whole header.
func IPv4ChecksumOK(b []byte) bool {
	n := 0
	if len(b) > 0 {
		n = int(b[0]&15) * 4
	}
	return n >= IPv4Len && len(b) >= n && onesSum(b[:n]) == 0xffff
}

// IPv6 is the header of RFC 8200, 40 bytes: 0-3 version, traffic class (8
// bits), flow label (20); 4-5 payload length in bytes from after the header;
// 6 next header; 7 hop limit; 8-23 source; 24-39 destination. The GRH of
// RoCEv1 has the same form (section 8.3), with next header 0x1b and GIDs for
// addresses.
type IPv6 struct {
	TrafficClass uint8
	NextHeader   uint8
	HopLimit     uint8
	PayloadLen   uint16
	FlowLabel    uint32
	Src, Dst     GID
}

// GRH is the global route header of RoCEv1.
type GRH = IPv6

// Decode reads h from the first 40 bytes of b. It returns ErrTruncated if b is
// shorter and ErrVersion if the version is not 6. Extension headers are not
// followed: RoCEv2 packets have none.
func (h *IPv6) Decode(b []byte) error {
	if len(b) < IPv6Len {
		return ErrTruncated
	}
	v := binary.BigEndian.Uint32(b)
	if v>>28 != 6 {
		return ErrVersion
	}
	h.TrafficClass, h.FlowLabel = uint8(v>>20), v&0xfffff
	h.PayloadLen = binary.BigEndian.Uint16(b[4:])
	h.NextHeader, h.HopLimit = b[6], b[7]
	h.Src, h.Dst = GID(b[8:]), GID(b[24:])
	return nil
}

// Put writes h to the first 40 bytes of b, which must be there.
func (h *IPv6) Put(b []byte) {
	_ = b[IPv6Len-1]
	binary.BigEndian.PutUint32(b, 6<<28|uint32(h.TrafficClass)<<20|h.FlowLabel&0xfffff)
	binary.BigEndian.PutUint16(b[4:], h.PayloadLen)
	b[6], b[7] = h.NextHeader, h.HopLimit
	copy(b[8:24], h.Src[:])
	copy(b[24:40], h.Dst[:])
}

// UDP is the header of RFC 768, 8 bytes. Length counts from the header on. The
// checksum is outside the ICRC and may be 0, on IPv6 too.
type UDP struct {
	SrcPort, DstPort uint16
	Length           uint16
	Checksum         uint16
}

// Decode reads h from the first 8 bytes of b. It returns ErrTruncated if b is
// shorter and ErrLength if the length is below 8.
func (h *UDP) Decode(b []byte) error {
	if len(b) < UDPLen {
		return ErrTruncated
	}
	w := binary.BigEndian.Uint64(b)
	h.SrcPort, h.DstPort = uint16(w>>48), uint16(w>>32)
	h.Length, h.Checksum = uint16(w>>16), uint16(w)
	if h.Length < UDPLen {
		return ErrLength
	}
	return nil
}

// Put writes h to the first 8 bytes of b, which must be there.
func (h *UDP) Put(b []byte) {
	binary.BigEndian.PutUint64(b, uint64(h.SrcPort)<<48|uint64(h.DstPort)<<32|uint64(h.Length)<<16|uint64(h.Checksum))
}

// Tunnel is what stands outside a RoCE packet in VXLAN (RFC 7348): Ethernet,
// IPv4 or IPv6, UDP to port 4789, and 8 bytes of VXLAN: 0 flags (bit 3: the
// VNI is valid), 4-6 VNI. Switches copy marks between the headers; the ICRC
// knows the inner ones only.
type Tunnel struct {
	Ethernet Ethernet
	IsIPv6   bool
	IPv4     IPv4
	IPv6     IPv6
	UDP      UDP
	VNI      uint32 // 24 bits
}
