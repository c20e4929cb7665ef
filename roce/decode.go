package roce

import "encoding/binary"

// DecodeEthernet decodes a frame that begins with its Ethernet header: RoCEv2
// over IPv4 or IPv6, in VXLAN too, RoCEv1, or a pause frame, with up to two
// VLAN tags. What follows the packet (padding, frame check sequence) is left
// alone: the length fields say where it ends. frame may be cut short, as
// captures are; p.Has says how far decoding came.
//
// It returns nil when the BTH and its extension headers (or the pause frame)
// were read, ErrNotRoCE for other traffic, and another Error when the packet
// is RoCE by its port or type and wrong or cut inside a header; then p holds
// what was read before. It allocates nothing and keeps frame only through
// p.Payload and p.Network.
func (p *Packet) DecodeEthernet(frame []byte) error {
	if p.decodePlain(frame) {
		return nil
	}
	p.reset()
	return p.decodeEthernet(frame, true)
}

// plainLen is where the BTH of an untagged IPv4 packet ends.
const plainLen = EthernetLen + IPv4Len + UDPLen + BTHLen

// decodePlain decodes the packets that nearly all are: complete up to the
// extension headers, untagged, over IPv4 without options, with lengths that
// agree. It reports false, with p in no certain state, for all others, and takes
// half the time of the general way. A test holds the two together.
func (p *Packet) decodePlain(b []byte) bool {
	if len(b) < plainLen {
		return false
	}
	be := binary.BigEndian
	w0, w1 := be.Uint64(b[14:]), be.Uint64(b[22:])
	if be.Uint16(b[12:]) != EtherTypeIPv4 || w0>>56 != 0x45 || w0&0x3fff != 0 ||
		uint8(w1>>48) != protocolUDP || be.Uint16(b[36:]) != Port {
		return false
	}
	total, udp := int(w0>>32&0xffff), int(be.Uint16(b[38:]))
	op := &opTable[b[42]]
	ext := int(op.length)
	pad := int(b[43] >> 4 & 3)
	pay := udp - UDPLen - BTHLen - ext - pad - ICRCLen
	if udp+IPv4Len > total || pay < 0 || len(b) < plainLen+ext {
		return false
	}
	p.Ethernet = Ethernet{Dst: MAC(b), Src: MAC(b[6:]), EtherType: EtherTypeIPv4}
	p.IPv4 = IPv4{
		TOS: uint8(w0 >> 48), TTL: uint8(w1 >> 56), Protocol: protocolUDP, Flags: uint8(w0 >> 13 & 7), HdrLen: IPv4Len,
		TotalLen: uint16(total), ID: uint16(w0 >> 16), Checksum: uint16(w1 >> 32),
		Src: [4]byte(b[26:]), Dst: [4]byte(b[30:]),
	}
	p.UDP = UDP{SrcPort: be.Uint16(b[34:]), DstPort: Port, Length: uint16(udp), Checksum: be.Uint16(b[40:])}
	_ = p.BTH.Decode(b[42:])
	has := HasEthernet | HasIPv4 | HasUDP | HasBTH | op.headers
	if ext > 0 {
		p.decodeExtension(op.headers, b[plainLen:plainLen+ext])
	}
	p.Tags, p.PayloadLen = 0, pay
	end := EthernetLen + IPv4Len + udp
	if end <= len(b) {
		has |= HasICRC
		p.ICRC = binary.LittleEndian.Uint32(b[end-ICRCLen:])
		p.Payload = b[plainLen+ext : plainLen+ext+pay]
		p.Network = b[EthernetLen:end]
	} else {
		p.Payload = b[plainLen+ext : min(plainLen+ext+pay, len(b))]
		p.Network = b[EthernetLen:]
	}
	p.Has = has
	return true
}

// DecodeIP decodes a packet that begins with its IPv4 or IPv6 header. See
// DecodeEthernet.
func (p *Packet) DecodeIP(b []byte) error {
	p.reset()
	if len(b) == 0 {
		return ErrTruncated
	}
	switch b[0] >> 4 {
	case 4:
		return p.decodeIPv4(b, true)
	case 6:
		return p.decodeIPv6(b, true)
	}
	return ErrVersion
}

// DecodeEtherType decodes what follows an EtherType: for link layers other
// than Ethernet. See DecodeEthernet.
func (p *Packet) DecodeEtherType(etherType uint16, b []byte) error {
	p.reset()
	return p.decodeEtherType(etherType, b, true)
}

// DecodeGRH decodes a RoCEv1 packet that begins with its GRH. See DecodeEthernet.
func (p *Packet) DecodeGRH(b []byte) error {
	p.reset()
	return p.decodeGRH(b)
}

func (p *Packet) reset() {
	p.Has, p.Tags = 0, 0
	p.Payload, p.Network, p.PayloadLen = nil, nil, 0
}

func (p *Packet) decodeEthernet(b []byte, outer bool) error {
	if err := p.Ethernet.Decode(b); err != nil {
		return err
	}
	p.Has |= HasEthernet
	return p.decodeEtherType(p.Ethernet.EtherType, b[EthernetLen:], outer)
}

func (p *Packet) decodeEtherType(t uint16, b []byte, outer bool) error {
	for t == EtherTypeVLAN || t == EtherTypeQinQ {
		if int(p.Tags) == len(p.VLANs) {
			return ErrVLANDepth
		}
		tag := &p.VLANs[p.Tags]
		if err := tag.Decode(b); err != nil {
			return err
		}
		p.Tags++
		p.Has |= HasVLAN
		t, b = tag.EtherType, b[VLANLen:]
	}
	switch t {
	case EtherTypeIPv4:
		return p.decodeIPv4(b, outer)
	case EtherTypeIPv6:
		return p.decodeIPv6(b, outer)
	case EtherTypeRoCEv1:
		return p.decodeGRH(b)
	case EtherTypeMACControl:
		return p.decodeControl(b)
	}
	return ErrNotRoCE
}

func (p *Packet) decodeIPv4(b []byte, outer bool) error {
	if err := p.IPv4.Decode(b); err != nil {
		return err
	}
	p.Has |= HasIPv4
	if p.IPv4.Protocol != protocolUDP {
		return ErrNotRoCE
	}
	if p.IPv4.Offset != 0 {
		return ErrFragment
	}
	return p.decodeUDP(b, int(p.IPv4.HdrLen), int(p.IPv4.TotalLen), outer)
}

func (p *Packet) decodeIPv6(b []byte, outer bool) error {
	if err := p.IPv6.Decode(b); err != nil {
		return err
	}
	p.Has |= HasIPv6
	if p.IPv6.NextHeader != protocolUDP {
		return ErrNotRoCE
	}
	return p.decodeUDP(b, IPv6Len, IPv6Len+int(p.IPv6.PayloadLen), outer)
}

// decodeUDP goes on behind the n bytes of the network header at the start of
// b, whose packet is total bytes long by its own length field.
func (p *Packet) decodeUDP(b []byte, n, total int, outer bool) error {
	err := p.UDP.Decode(b[n:])
	if err == ErrTruncated {
		return err
	}
	if p.UDP.DstPort != Port && p.UDP.DstPort != PortVXLAN {
		return ErrNotRoCE
	}
	if err != nil {
		return err
	}
	p.Has |= HasUDP
	end := n + int(p.UDP.Length)
	if end > total {
		// One of the two lengths is wrong. The BTH is where it is all the same.
		p.Network = b[:min(total, len(b))]
		if err := p.BTH.Decode(b[n+UDPLen:]); err == nil && p.UDP.DstPort == Port {
			p.Has |= HasBTH
		}
		return ErrLength
	}
	if p.UDP.DstPort == PortVXLAN {
		return p.decodeVXLAN(b[n+UDPLen:], outer)
	}
	p.Network = b[:min(end, len(b))]
	if p.IPv4.Flags&1 != 0 && p.Has&HasIPv4 != 0 {
		return ErrFragment
	}
	return p.decodeTransport(p.Network[n+UDPLen:], end-n-UDPLen)
}

func (p *Packet) decodeVXLAN(b []byte, outer bool) error {
	if !outer {
		return ErrTunnel
	}
	if len(b) < VXLANLen {
		return ErrTruncated
	}
	if b[0]&8 == 0 {
		return ErrVersion
	}
	t := &p.Tunnel
	t.VNI = binary.BigEndian.Uint32(b[4:]) >> 8
	t.Ethernet, t.UDP = p.Ethernet, p.UDP
	if t.IsIPv6 = p.Has&HasIPv6 != 0; t.IsIPv6 {
		t.IPv6 = p.IPv6
	} else {
		t.IPv4 = p.IPv4
	}
	p.Has, p.Tags = HasTunnel, 0
	return p.decodeEthernet(b[VXLANLen:], false)
}

func (p *Packet) decodeGRH(b []byte) error {
	if err := p.IPv6.Decode(b); err != nil {
		return err
	}
	p.Has |= HasGRH
	if p.IPv6.NextHeader != NextHeaderIBA {
		return ErrVersion
	}
	end := GRHLen + int(p.IPv6.PayloadLen)
	p.Network = b[:min(end, len(b))]
	return p.decodeTransport(p.Network[GRHLen:], end-GRHLen)
}

func (p *Packet) decodeControl(b []byte) error {
	if len(b) < 2 {
		return ErrTruncated
	}
	switch binary.BigEndian.Uint16(b) {
	case MACControlPause:
		if err := p.Pause.Decode(b[2:]); err != nil {
			return err
		}
		p.Has |= HasPause
	case MACControlPFC:
		if err := p.PFC.Decode(b[2:]); err != nil {
			return err
		}
		p.Has |= HasPFC
	default:
		return ErrNotRoCE
	}
	return nil
}
