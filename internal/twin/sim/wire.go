package sim

// Wire says how many bytes the frames of a transport take. Buffers and
// counters count frames with FCS; Gap is counted in time alone.
type Wire struct {
	Header uint32 // around the payload of a data packet: all headers, ICRC and FCS
	First  uint32 // more on the first packet of a message
	Ack    uint32 // frame of an acknowledgement
	CNP    uint32 // frame of a congestion notification
	PFC    uint32 // frame of a pause
	Gap    uint32 // preamble, start delimiter and shortest inter-frame gap

	// WholeNanoseconds cuts the time of each frame to whole nanoseconds, as
	// the ns-3 models do: their 100 Gb/s link is 1 % too fast. It is for
	// comparison with their results alone.
	WholeNanoseconds bool
}

// Sizes of headers in bytes (IEEE 802.3; RFC 791, 768; InfiniBand Architecture
// Specification, volume 1, sections 9.2 to 9.6 and annexes A16 and A17).
const (
	ethernetBytes = 14
	vlanBytes     = 4
	ipv4Bytes     = 20
	udpBytes      = 8
	grhBytes      = 40
	bthBytes      = 12
	rethBytes     = 16
	aethBytes     = 4
	cnpBytes      = 16 // reserved bytes after the BTH
	icrcBytes     = 4
	fcsBytes      = 4
	pauseBytes    = 64
	gapBytes      = 20
)

// RoCEv2Wire returns the sizes of RoCEv2 over IPv4, untagged: 62 bytes around
// the payload, 20 more of line time.
func RoCEv2Wire() Wire {
	const common = ethernetBytes + ipv4Bytes + udpBytes + bthBytes + icrcBytes + fcsBytes
	return Wire{
		Header: common, First: rethBytes,
		Ack: common + aethBytes, CNP: common + cnpBytes,
		PFC: pauseBytes, Gap: gapBytes,
	}
}

// RoCEv1Wire returns the sizes of RoCEv1, whose global route header stands
// where RoCEv2 has IPv4 and UDP.
func RoCEv1Wire() Wire {
	const common = ethernetBytes + grhBytes + bthBytes + icrcBytes + fcsBytes
	return Wire{
		Header: common, First: rethBytes,
		Ack: common + aethBytes, CNP: common + cnpBytes,
		PFC: pauseBytes, Gap: gapBytes,
	}
}

// InfiniBandWire returns the sizes of InfiniBand inside one subnet: a local
// route header of 8 bytes and a variant CRC of 2 around BTH, payload and ICRC,
// and no gap between packets.
func InfiniBandWire() Wire {
	const common = 8 + bthBytes + icrcBytes + 2
	return Wire{Header: common, First: rethBytes, Ack: common + aethBytes, CNP: common + cnpBytes}
}

// NS3Wire returns the sizes of the public ns-3 RoCE models: 48 bytes of header
// (14 of layer 2, 20 IP, 8 UDP, 6 sequence number and priority), 60-byte
// acknowledgements, nothing between frames. They have no CNP of their own.
func NS3Wire() Wire {
	return Wire{Header: 48, Ack: 60, CNP: 60, PFC: 64}
}
