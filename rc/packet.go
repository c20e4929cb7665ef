// Package rc is the reliable connection of RoCEv2 as a pure state machine:
// requester, responder, and the sequence check that a capture analyser shares
// with the responder. It knows no clock, socket, goroutine, key, address or
// payload, and allocates nothing: time and packet descriptors come in as
// arguments, results go out through the caller's variables. The simulator's
// NICs and the software RNIC run this same code.
//
// One direction of a connection is a Requester at one end and a Responder at
// the other; a queue pair has one of each. A packet's way is
//
//	Requester.Next -> network -> Responder.Check -> (memory) -> Responder.Commit -> network -> Requester.Handle
//
// where Check may also end in Responder.Refuse, and Responder.Next yields what
// the responder sends on its own: READ responses, atomic acknowledgements, and
// acknowledgements that had to wait behind them.
//
// No type here is safe for concurrent use. Section numbers in comments are
// those of the InfiniBand Architecture Specification, volume 1.
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

	// Index numbers messages, modulo 2^32, from 0. Of a packet from
	// Requester.Next it is the number of the message in order of Post, and
	// Requester.Handle sets it so for READ responses and atomic
	// acknowledgements; of a packet from Responder.Next it is the number of
	// the READ or atomic in order of acceptance (Responder.Accepted). It is
	// not on the wire.
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
// Selective marks an acknowledgement of one packet that arrived ahead of a
// gap: PSN is that packet, and MSN is not the message count but the responder's
// expected PSN, before which everything has arrived (not on the wire;
// Recovery SelectiveRepeat only).
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
	Bytes   uint32      // payload, up to 2^31 and to 2^22 packets
	Op      roce.Opcode // RCSendOnly, RCWriteOnly, RCReadRequest ...: the form that an unsegmented message has
	shape   shape       // of Op, set by Post
}

// Recovery says how a requester answers a loss.
type Recovery uint8

// The ways to recover. GoBackN sends again from the missing packet, GoBack0
// from the first packet of the message (as the first RoCE adapters did; the
// responder forgets what it had of the message), SelectiveRepeat only what is
// missing.
const (
	GoBackN Recovery = iota
	GoBack0
	SelectiveRepeat
)

// Params are the settings of a connection, shared by all that are alike.
type Params struct {
	MTU      uint32 // path MTU: payload of a full packet; adapters offer 256 to 4096, simulations any
	AckEvery uint32 // AckReq on every AckEvery-th packet, and on the last of each message; 0: only on the last
	Window   uint32 // most packets sent and not acknowledged; 0: 2^22, which is also the most
	Recovery Recovery

	// OutOfOrder: the responder places packets that arrive ahead of the
	// expected PSN (sprayed fabrics, selective repeat) as far as its caller's
	// bitmap reaches, instead of answering NAK.
	OutOfOrder bool

	// Reorder is how many packets may overtake another one before a
	// SelectiveRepeat requester takes it for lost; 0: any overtaking is a loss.
	Reorder uint32

	Timeout    units.Time // local ACK timeout of one try; 0: never. See Timeout function
	RetryCount uint8      // tries after the first, 0 to 7
	RNRRetry   uint8      // 7: for ever (section 9.7.5.2.8)
	RNRTimer   uint8      // timer code that the responder puts in an RNR NAK, 0 to 31
	MaxReads   uint8      // most READs and atomics in flight (max_rd_atomic); 0: 1

	// NakInterval: a gap is reported again when it persists this long
	// (simulators' models); 0: once per gap (section 9.7.5.2.6).
	NakInterval units.Time
}

// maxFlight bounds packets in flight and packets of one message, so that PSNs
// in use never span half of their 24-bit space (section 9.7.2).
const maxFlight = 1 << 22

// Timeout returns the local ACK timeout of one try for the 5-bit exponent that
// verbs and NCCL_IB_TIMEOUT use: 4.096 us x 2^exponent, and 0 (never) for 0
// (section 9.7.6.1.3). Adapters may wait up to four times as long.
func Timeout(exponent uint8) units.Time {
	return units.Time(roce.AckTimeout(exponent)) * units.Nanosecond
}

// RetryTime returns how long a requester that hears nothing tries before it
// fails: one timeout for the first try and one for each retry. It is 0 when
// the timeout is.
func RetryTime(timeout units.Time, retryCount uint8) units.Time {
	return timeout * (1 + units.Time(retryCount))
}
