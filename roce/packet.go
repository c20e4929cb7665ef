package roce

import "encoding/binary"

// A Packet is one frame, decoded. Has says which of the other fields are set;
// fields of absent headers keep what was in them before, so one Packet can be
// reused for a whole capture without clearing it. Payload and Network point
// into the decoded bytes and live as long as those.
type Packet struct {
	Has Headers

	Ethernet Ethernet
	VLANs    [2]VLAN // outermost first; the second only if Tags is 2
	Tags     uint8
	Tunnel   Tunnel

	IPv4 IPv4
	IPv6 IPv6 // the GRH of RoCEv1 too
	UDP  UDP

	BTH       BTH
	DETH      DETH
	RETH      RETH
	AtomicETH AtomicETH
	AETH      AETH
	Original  uint64 // AtomicAckETH: the value before the operation
	Immediate uint32 // ImmDt
	RKey      uint32 // IETH: the key to invalidate
	Pause     Pause
	PFC       PFC

	// ICRC as it stands on the wire, read as a little-endian number.
	ICRC uint32

	// Payload without pad and ICRC, as far as it was captured.
	Payload []byte
	// PayloadLen is the payload's length on the wire in bytes, from the length
	// fields. Encode fills up with zeros what Payload lacks.
	PayloadLen int
	// Network is the packet from its network header up to and with the ICRC;
	// shorter if it was not captured whole.
	Network []byte
}

// ICRCState is the verdict on a packet's ICRC.
type ICRCState uint8

// The verdicts. Unchecked: the packet was not captured whole, or its length
// fields leave no room for an ICRC.
const (
	ICRCUnchecked ICRCState = iota
	ICRCValid
	ICRCWrong
)

// String returns "unchecked", "valid" or "wrong".
func (s ICRCState) String() string {
	return [...]string{"unchecked", "valid", "wrong"}[min(s, ICRCWrong)]
}

// CheckICRC computes the ICRC of a decoded packet and compares. It does not
// allocate.
func (p *Packet) CheckICRC() ICRCState {
	if p.Has&HasICRC == 0 || len(p.Network) < ICRCLen {
		return ICRCUnchecked
	}
	switch c, ok := ICRC(p.Network[:len(p.Network)-ICRCLen]); {
	case !ok:
		return ICRCUnchecked
	case c == p.ICRC:
		return ICRCValid
	}
	return ICRCWrong
}

// IsRoCEv2 reports whether p has a BTH behind UDP.
func (p *Packet) IsRoCEv2() bool { return p.Has&(HasBTH|HasUDP) == HasBTH|HasUDP }

// IsRoCEv1 reports whether p has a BTH behind a GRH.
func (p *Packet) IsRoCEv1() bool { return p.Has&(HasBTH|HasGRH) == HasBTH|HasGRH }

// Src returns the source address as GID; the zero GID if there is none.
func (p *Packet) Src() GID {
	switch {
	case p.Has&HasIPv4 != 0:
		return GIDFromIPv4(p.IPv4.Src)
	case p.Has&(HasIPv6|HasGRH) != 0:
		return p.IPv6.Src
	}
	return GID{}
}

// Dst returns the destination address as GID; the zero GID if there is none.
func (p *Packet) Dst() GID {
	switch {
	case p.Has&HasIPv4 != 0:
		return GIDFromIPv4(p.IPv4.Dst)
	case p.Has&(HasIPv6|HasGRH) != 0:
		return p.IPv6.Dst
	}
	return GID{}
}

// TrafficClass returns the eight bits of DSCP and ECN, 0 if there is no network
// header.
func (p *Packet) TrafficClass() uint8 {
	switch {
	case p.Has&HasIPv4 != 0:
		return p.IPv4.TOS
	case p.Has&(HasIPv6|HasGRH) != 0:
		return p.IPv6.TrafficClass
	}
	return 0
}

// SetTrafficClass sets the eight bits of DSCP and ECN in the network header that p has.
func (p *Packet) SetTrafficClass(tc uint8) {
	if p.Has&HasIPv4 != 0 {
		p.IPv4.TOS = tc
	} else {
		p.IPv6.TrafficClass = tc
	}
}

// DSCP returns the upper six bits of the traffic class.
func (p *Packet) DSCP() uint8 { return p.TrafficClass() >> 2 }

// ECN returns the lower two bits of the traffic class.
func (p *Packet) ECN() ECN { return ECN(p.TrafficClass() & 3) }

// SetCNP makes p's transport part a congestion notification (annex A17) for
// the queue pair that should slow down: opcode 0x81, BECN, PSN 0 and 16 bytes
// of zero. Addresses, traffic class and ports stay as they are.
func (p *Packet) SetCNP(dest QPN) {
	p.Has = p.Has&^extension | HasBTH
	p.BTH = BTH{Opcode: CNP, PKey: 0xffff, BECN: true, DestQP: dest}
	p.Payload, p.PayloadLen = nil, CNPPayload
}

// CNPPayload is the length of the reserved, zero bytes of a CNP.
const CNPPayload = 16

// decodeTransport reads BTH, extension headers and payload from b, whose
// length on the wire is wire bytes with the ICRC; b may be shorter.
func (p *Packet) decodeTransport(b []byte, wire int) error {
	if err := p.BTH.Decode(b); err != nil {
		return err
	}
	p.Has |= HasBTH
	n := BTHLen
	op := p.BTH.Opcode
	if hs := opTable[op].headers; hs != 0 {
		size := int(opTable[op].length)
		if wire < n+size+ICRCLen {
			return ErrLength
		}
		if len(b) < n+size {
			return ErrTruncated
		}
		p.decodeExtension(hs, b[n:n+size])
		p.Has |= hs
		n += size
	}
	pay := wire - n - int(p.BTH.Pad) - ICRCLen
	if pay < 0 {
		return ErrLength
	}
	p.PayloadLen = pay
	p.Payload = b[n:min(n+pay, len(b))]
	if len(b) >= wire {
		p.ICRC = binary.LittleEndian.Uint32(b[wire-ICRCLen:])
		p.Has |= HasICRC
	}
	return nil
}

// decodeExtension reads the headers of set hs from b, which has their length.
// The errors of Decode can't occur.
func (p *Packet) decodeExtension(hs Headers, b []byte) {
	if hs&HasDETH != 0 {
		_ = p.DETH.Decode(b)
		b = b[DETHLen:]
	}
	switch {
	case hs&HasRETH != 0:
		_ = p.RETH.Decode(b)
		b = b[RETHLen:]
	case hs&HasAETH != 0:
		_ = p.AETH.Decode(b)
		b = b[AETHLen:]
	case hs&HasAtomicETH != 0:
		_ = p.AtomicETH.Decode(b)
		b = b[AtomicETHLen:]
	}
	switch {
	case hs&HasAtomicAckETH != 0:
		p.Original = binary.BigEndian.Uint64(b)
	case hs&HasImmDt != 0:
		p.Immediate = binary.BigEndian.Uint32(b)
	case hs&HasIETH != 0:
		p.RKey = binary.BigEndian.Uint32(b)
	}
}

// putExtension writes the headers of p's opcode to b and returns their length.
func (p *Packet) putExtension(b []byte) int {
	hs, n := p.BTH.Opcode.Headers(), 0
	if hs&HasDETH != 0 {
		p.DETH.Put(b)
		n += DETHLen
	}
	switch {
	case hs&HasRETH != 0:
		p.RETH.Put(b[n:])
		n += RETHLen
	case hs&HasAETH != 0:
		p.AETH.Put(b[n:])
		n += AETHLen
	case hs&HasAtomicETH != 0:
		p.AtomicETH.Put(b[n:])
		n += AtomicETHLen
	}
	switch {
	case hs&HasAtomicAckETH != 0:
		binary.BigEndian.PutUint64(b[n:], p.Original)
		n += AtomicAckETHLen
	case hs&HasImmDt != 0:
		binary.BigEndian.PutUint32(b[n:], p.Immediate)
		n += ImmDtLen
	case hs&HasIETH != 0:
		binary.BigEndian.PutUint32(b[n:], p.RKey)
		n += IETHLen
	}
	return n
}
