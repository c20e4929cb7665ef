package roce

import "encoding/binary"

// DecodeTransport decodes the payload of a UDP datagram to port 4791: BTH,
// extension headers, payload, pad and ICRC, which fill b. It is for programs on
// sockets, which see no network header: p.Network is nil and CheckICRC has
// nothing to check; see ICRCParts. Errors are those of DecodeEthernet.
func (p *Packet) DecodeTransport(b []byte) error {
	p.reset()
	return p.decodeTransport(b, len(b))
}

// PutTransport writes what stands between the UDP header and the ICRC: BTH,
// the extension headers of its opcode, payload and pad, and returns their
// length, which is TransportLen - ICRCLen. b must have that length at least.
// The pad count is computed and stored in p.
func (p *Packet) PutTransport(b []byte) int {
	payload := p.payloadBytes()
	p.BTH.Pad = uint8(-payload & 3)
	p.BTH.Put(b)
	n := BTHLen
	n += p.putExtension(b[n:])
	copy(b[n:], p.Payload)
	clear(b[n+len(p.Payload) : n+payload+int(p.BTH.Pad)])
	return n + payload + int(p.BTH.Pad)
}

// TransportLen returns the length of p from its BTH up to and with the ICRC:
// the payload of its UDP datagram.
func (p *Packet) TransportLen() int { return p.transportLen() }

// ICRCParts returns the invariant CRC of a packet in two parts: network is the
// IPv4 header without options or the IPv6 header, with the UDP header behind it
// (28 or 48 bytes), transport goes from the BTH up to and with the pad. ok is
// false if either is too short or network is none of these. It does not allocate.
func ICRCParts(network, transport []byte) (icrc uint32, ok bool) {
	if len(transport) < BTHLen {
		return 0, false
	}
	var s uint32
	switch {
	case len(network) == IPv4Len+UDPLen && network[0] == 0x45:
		s = crcWords(icrcSeed, network, masksIPv4[:3])
		s = crc4(s, binary.LittleEndian.Uint32(network[24:])|0xffff<<16) // UDP length, checksum
	case len(network) == IPv6Len+UDPLen && network[0]>>4 == 6:
		s = crcWords(icrcSeed, network, masksIPv6[:6])
	default:
		return 0, false
	}
	s = crc4(s, binary.LittleEndian.Uint32(transport))
	s = crc4(s, binary.LittleEndian.Uint32(transport[4:])|0xff)
	s = crc4(s, binary.LittleEndian.Uint32(transport[8:]))
	return crcRest(s, transport[BTHLen:]), true
}
