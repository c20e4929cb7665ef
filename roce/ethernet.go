package roce

import "encoding/binary"

// EtherTypes that matter here.
const (
	EtherTypeIPv4       = 0x0800
	EtherTypeIPv6       = 0x86dd
	EtherTypeVLAN       = 0x8100 // 802.1Q
	EtherTypeQinQ       = 0x88a8 // 802.1ad
	EtherTypeRoCEv1     = 0x8915
	EtherTypeMACControl = 0x8808 // pause frames
)

// Sizes in bytes.
const (
	EthernetLen = 14
	VLANLen     = 4
	IPv4Len     = 20
	IPv6Len     = 40
	GRHLen      = 40
	UDPLen      = 8
	VXLANLen    = 8
)

// UDP destination ports: of RoCEv2 (annex A17) and of VXLAN (RFC 7348).
const (
	Port      = 4791
	PortVXLAN = 4789
)

// MAC is an Ethernet address.
type MAC [6]byte

// String prints six pairs of hexadecimal digits with colons.
func (m MAC) String() string {
	b := make([]byte, 0, 17)
	for i, v := range m {
		if i > 0 {
			b = append(b, ':')
		}
		b = append(b, hexDigits[v>>4], hexDigits[v&15])
	}
	return string(b)
}

// Ethernet is the frame header, 14 bytes: destination, source, EtherType. In a
// tagged frame EtherType is that of the first tag.
type Ethernet struct {
	Dst, Src  MAC
	EtherType uint16
}

// Decode reads h from the first 14 bytes of b, or returns ErrTruncated.
func (h *Ethernet) Decode(b []byte) error {
	if len(b) < EthernetLen {
		return ErrTruncated
	}
	h.Dst, h.Src = MAC(b), MAC(b[6:])
	h.EtherType = binary.BigEndian.Uint16(b[12:])
	return nil
}

// Put writes h to the first 14 bytes of b, which must be there.
func (h *Ethernet) Put(b []byte) {
	_ = b[EthernetLen-1]
	copy(b, h.Dst[:])
	copy(b[6:], h.Src[:])
	binary.BigEndian.PutUint16(b[12:], h.EtherType)
}

// VLAN is an 802.1Q tag as it follows the EtherType 0x8100 or 0x88a8, 4 bytes:
// priority (3 bits), drop eligible (1), VLAN id (12), then the EtherType of
// what follows.
type VLAN struct {
	Priority  uint8
	DEI       bool
	ID        uint16
	EtherType uint16
}

// Decode reads h from the first 4 bytes of b, or returns ErrTruncated.
func (h *VLAN) Decode(b []byte) error {
	if len(b) < VLANLen {
		return ErrTruncated
	}
	v := binary.BigEndian.Uint16(b)
	h.Priority, h.DEI, h.ID = uint8(v>>13), v>>12&1 != 0, v&0xfff
	h.EtherType = binary.BigEndian.Uint16(b[2:])
	return nil
}

// Put writes h to the first 4 bytes of b, which must be there.
func (h *VLAN) Put(b []byte) {
	v := uint16(h.Priority&7)<<13 | h.ID&0xfff
	if h.DEI {
		v |= 1 << 12
	}
	binary.BigEndian.PutUint16(b, v)
	binary.BigEndian.PutUint16(b[2:], h.EtherType)
}
