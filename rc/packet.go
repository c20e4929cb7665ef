// Package rc is the reliable connection of RoCEv2 as a pure state machine:
// requester, responder, and the sequence check that a capture analyser shares
// with the responder. It knows no clock, socket, goroutine, key, address or
// payload, and allocates nothing: time and packet descriptors come in as
// arguments, results go out through the caller's variables. The simulator's
// NICs and the software RNIC run this same code.
//
// Section numbers in comments are those of the InfiniBand Architecture
// Specification, volume 1.
package rc

import (
	"weir/roce"
	"weir/units"
)

// Packet describes one packet of a connection, without keys, addresses and
// payload, which the caller finds by Index. It is passed by pointer and takes
// 20 bytes.
type Packet struct {
	PSN roce.PSN
	MSN uint32 // of a response (AETH), 24 bits

	// Index is the requester's number of the message, counted from 0 modulo
	// 2^32: it finds memory in the software RNIC. It is not on the wire, and
	// the responder never reads it.
	Index uint32

	// Bytes is the payload of this packet; of a READ request, how many bytes
	// it asks for.
	Bytes    uint32
	Op       roce.Opcode
	Syndrome roce.Syndrome // of an acknowledgement
	Flags    Flags
}

// Flags of a packet.
type Flags uint8

// The flags. AckRequest is the AckReq bit of the BTH. Again marks a packet
// that was sent before (for counters; not on the wire). Congested is the
// ns-3 simulators' way to carry a CNP on an acknowledgement (not on the wire).
// Selective marks an acknowledgement of one packet that arrived ahead, whose
// PSN it carries in MSN-independent form: PSN is the packet that arrived,
// MSN the cumulative count (simulated selective repeat only).
const (
	AckRequest Flags = 1 << iota
	Again
	Congested
	Selective
)

// Message is one work request, in a ring that the caller owns.
type Message struct {
	First   roce.PSN    // set by Post
	Packets uint32      // PSNs that it takes, set by Post
	Bytes   uint32      // payload, up to 2^31
	Op      roce.Opcode // RCSendOnly, RCWriteOnly, RCReadRequest ...: the form that an unsegmented message has
}

// Recovery says how a requester answers a loss.
type Recovery uint8

// The ways to recover. GoBackN sends again from the missing packet, GoBack0
// from the first packet of the message (as the first RoCE adapters did),
// SelectiveRepeat only what is missing.
const (
	GoBackN Recovery = iota
	GoBack0
	SelectiveRepeat
)

// Params are the settings of a connection, shared by all that are alike.
type Params struct {
	MTU      uint32 // path MTU: payload of a full packet; adapters offer 256 to 4096, simulations any
	AckEvery uint32 // AckReq on every AckEvery-th packet, and on the last of each message; 0: only on the last
	Window   uint32 // most packets sent and not acknowledged; 0: 2^22
	Recovery Recovery

	// OutOfOrder: the responder places packets that arrive ahead of the
	// expected PSN (sprayed fabrics, selective repeat) as far as its caller's
	// bitmap reaches, instead of answering NAK.
	OutOfOrder bool

	Timeout    units.Time // local ACK timeout of one try; 0: never. See Timeout function
	RetryCount uint8      // tries after the first, 0 to 7
	RNRRetry   uint8      // 7: for ever (section 9.7.5.2.8)

	// NakInterval: a gap is reported again when it persists this long
	// (simulators' models); 0: once per gap (section 9.7.5.2.6).
	NakInterval units.Time
}
