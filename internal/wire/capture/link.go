package capture

import (
	"encoding/binary"

	"weir/roce"
	"weir/roce/pcapfile"
)

// decodeLink decodes one frame of any link type that carries Ethernet or IP.
func decodeLink(p *roce.Packet, link pcapfile.LinkType, b []byte) error {
	switch link {
	case pcapfile.Ethernet:
		return p.DecodeEthernet(b)
	case pcapfile.Raw, pcapfile.RawOld, pcapfile.RawOpen, pcapfile.IPv4, pcapfile.IPv6:
		return p.DecodeIP(b)
	case pcapfile.LinuxSLL:
		// 16 bytes: packet type, ARPHRD type, address length, address (8), protocol.
		if len(b) < 16 {
			break
		}
		return p.DecodeEtherType(binary.BigEndian.Uint16(b[14:]), b[16:])
	case pcapfile.LinuxSLL2:
		// 20 bytes: protocol, reserved, interface index, ARPHRD type, packet type, address length, address (8).
		if len(b) < 20 {
			break
		}
		return p.DecodeEtherType(binary.BigEndian.Uint16(b), b[20:])
	case pcapfile.Null, pcapfile.Loop:
		// 4 bytes of address family; the IP version tells what follows.
		if len(b) < 4 {
			break
		}
		return p.DecodeIP(b[4:])
	default:
		p.Has = 0
		return roce.ErrNotRoCE
	}
	p.Has = 0
	return roce.ErrTruncated
}

// knownLink reports whether decodeLink knows a link type.
func knownLink(link pcapfile.LinkType) bool {
	switch link {
	case pcapfile.Ethernet, pcapfile.Raw, pcapfile.RawOld, pcapfile.RawOpen, pcapfile.IPv4, pcapfile.IPv6,
		pcapfile.LinuxSLL, pcapfile.LinuxSLL2, pcapfile.Null, pcapfile.Loop:
		return true
	}
	return false
}
