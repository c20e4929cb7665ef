package roce

import "encoding/binary"

// Len returns how many bytes Encode writes for p.
func (p *Packet) Len() int {
	if p.Has&(HasPause|HasPFC) != 0 {
		return PauseFrameLen
	}
	n := p.linkLen() + p.transportLen()
	switch {
	case p.Has&HasIPv4 != 0:
		n += IPv4Len
	case p.Has&(HasIPv6|HasGRH) != 0:
		n += IPv6Len
	}
	if p.Has&HasGRH == 0 {
		n += UDPLen
	}
	return n
}

// linkLen is the length of all that stands before the network header.
func (p *Packet) linkLen() int {
	n := 0
	if p.Has&HasTunnel != 0 {
		n = EthernetLen + IPv4Len + UDPLen + VXLANLen
		if p.Tunnel.IsIPv6 {
			n += IPv6Len - IPv4Len
		}
	}
	if p.Has&HasEthernet != 0 {
		n += EthernetLen + int(p.Tags)*VLANLen
	}
	return n
}

// transportLen is the length from the BTH up to and with the ICRC.
func (p *Packet) transportLen() int {
	return BTHLen + p.BTH.Opcode.HeaderBytes() + (p.payloadBytes()+3)&^3 + ICRCLen
}

func (p *Packet) payloadBytes() int { return max(len(p.Payload), p.PayloadLen) }

// Encode writes p to the start of b and returns how many bytes it wrote. Has
// says which link and network headers to write (HasEthernet, HasVLAN with
// Tags, HasTunnel, and one of HasIPv4, HasIPv6, HasGRH), or that p is a pause
// frame; the extension headers are those of the opcode. Length fields,
// EtherTypes, UDP destination port, IPv4 header checksum, pad count, pad and
// ICRC are computed and also stored in p; all else is taken from p. The
// payload is p.Payload, followed by zeros up to p.PayloadLen bytes if that is more;
// whoever reuses a Packet must set both. p.Network points into b afterwards.
//
// It returns ErrBuffer if b is shorter than Len, ErrPayload if the packet is too
// long for the length fields or its opcode carries no payload, and
// ErrNotRoCE if Has names no network header. It does not allocate.
func (p *Packet) Encode(b []byte) (int, error) {
	n := p.Len()
	if len(b) < n {
		return 0, ErrBuffer
	}
	switch {
	case p.Has&HasPFC != 0:
		p.PFC.PutFrame(b, p.Ethernet.Src)
		return n, nil
	case p.Has&HasPause != 0:
		p.Pause.PutFrame(b, p.Ethernet.Src)
		return n, nil
	case p.Has&(HasIPv4|HasIPv6|HasGRH) == 0:
		return 0, ErrNotRoCE
	}
	op := p.BTH.Opcode
	if n > 0xffff || p.payloadBytes() > 0 && op.Known() && !op.HasPayload() && op != CNP {
		return 0, ErrPayload
	}
	if int(p.Tags) > len(p.VLANs) {
		return 0, ErrVLANDepth
	}
	b = b[:n]
	link := p.putLink(b)
	p.putNetwork(b[link:])
	p.Network = b[link:]
	return n, nil
}

// putLink writes all that stands before the network header.
func (p *Packet) putLink(b []byte) int {
	n := 0
	if p.Has&HasTunnel != 0 {
		n = p.putTunnel(b)
	}
	if p.Has&HasEthernet == 0 {
		return n
	}
	t := uint16(EtherTypeRoCEv1)
	switch {
	case p.Has&HasIPv4 != 0:
		t = EtherTypeIPv4
	case p.Has&HasIPv6 != 0:
		t = EtherTypeIPv6
	}
	for i := int(p.Tags) - 1; i >= 0; i-- {
		p.VLANs[i].EtherType = t
		p.VLANs[i].Put(b[n+EthernetLen+i*VLANLen:])
		t = EtherTypeVLAN
	}
	if p.Tags == 2 && p.Ethernet.EtherType == EtherTypeQinQ {
		t = EtherTypeQinQ
	}
	p.Ethernet.EtherType = t
	p.Ethernet.Put(b[n:])
	return n + EthernetLen + int(p.Tags)*VLANLen
}

// putTunnel writes the headers outside a VXLAN packet that fills b.
func (p *Packet) putTunnel(b []byte) int {
	t, n := &p.Tunnel, EthernetLen
	t.Ethernet.EtherType = EtherTypeIPv4
	if t.IsIPv6 {
		t.Ethernet.EtherType = EtherTypeIPv6
		t.IPv6.NextHeader, t.IPv6.PayloadLen = protocolUDP, uint16(len(b)-EthernetLen-IPv6Len)
		t.IPv6.Put(b[n:])
		n += IPv6Len
	} else {
		t.IPv4.Protocol, t.IPv4.TotalLen = protocolUDP, uint16(len(b)-EthernetLen)
		t.IPv4.Put(b[n:])
		n += IPv4Len
	}
	t.Ethernet.Put(b)
	t.UDP.DstPort, t.UDP.Length = PortVXLAN, uint16(len(b)-n)
	t.UDP.Put(b[n:])
	n += UDPLen
	binary.BigEndian.PutUint32(b[n:], 8<<24)
	binary.BigEndian.PutUint32(b[n+4:], t.VNI<<8)
	return n + VXLANLen
}

// putNetwork writes the packet from its network header on; it fills b.
func (p *Packet) putNetwork(b []byte) {
	n := IPv6Len
	switch {
	case p.Has&HasIPv4 != 0:
		p.IPv4.Protocol, p.IPv4.HdrLen, p.IPv4.TotalLen = protocolUDP, IPv4Len, uint16(len(b))
		p.IPv4.Put(b)
		p.IPv4.Checksum = binary.BigEndian.Uint16(b[10:])
		n = IPv4Len
	case p.Has&HasIPv6 != 0:
		p.IPv6.NextHeader, p.IPv6.PayloadLen = protocolUDP, uint16(len(b)-IPv6Len)
		p.IPv6.Put(b)
	default:
		p.IPv6.NextHeader, p.IPv6.PayloadLen = NextHeaderIBA, uint16(len(b)-GRHLen)
		p.IPv6.Put(b)
	}
	if p.Has&HasGRH == 0 {
		p.Has |= HasUDP
		p.UDP.DstPort, p.UDP.Length = Port, uint16(len(b)-n)
		p.UDP.Put(b[n:])
		n += UDPLen
	}
	n += p.PutTransport(b[n:])
	p.ICRC, _ = ICRC(b[:n])
	binary.LittleEndian.PutUint32(b[n:], p.ICRC)
	p.Has |= HasBTH | HasICRC | p.BTH.Opcode.Headers()
}
