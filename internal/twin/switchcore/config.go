// Package switchcore is the packet pipeline of a shared-buffer switch as a
// pure state machine: admission and accounting, PFC, ECN marking, scheduling,
// watchdog. It knows no clock, link or packet contents: time, sizes and an
// opaque packet handle come in as arguments. The simulator's switches and the
// user-space bottleneck of the wire tests run this same code.
//
// # Accounting
//
// The buffer is divided into the headrooms and the reserves of all (port,
// lossless priority) pairs, which belong to their pairs alone, and the rest,
// which all share. A lossless packet is counted once, at the (port, priority)
// that it came in by: in the reserve, then in the shared part while that use
// is within the XOFF threshold, then in the headroom. A lossy packet is
// counted once, in the shared part, and limited by its egress queue. A packet
// holds its bytes until Dequeue hands it out, that is, until its transmission
// starts.
//
// # Time
//
// Calls must come with times that never fall. A pause that ends at t no longer
// holds at t.
package switchcore

import (
	"weir/internal/qos"
	"weir/units"
)

// Limits of a switch: how many ports, and how large a packet may be.
const (
	MaxPorts       = 2048
	MaxPacketBytes = 1<<18 - 1
)

// Config describes one switch. Slices are indexed by port, arrays by priority.
type Config struct {
	Ports  []PortConfig
	Buffer units.Bytes // all of the packet memory, headroom and reserves included

	Lossless uint8 // bit p: priority p uses PFC and headroom
	// PFC false: never sends or obeys pause, has no headroom, and drops
	// lossless priorities when over their threshold.
	PFC bool

	Threshold             Threshold
	AlphaIngress          float64     // lossless: XOFF at AlphaIngress x free shared buffer (rounded to 1/1024)
	AlphaEgress           float64     // lossy: drop at AlphaEgress x free shared buffer, by egress queue; 0: no limit but the free buffer
	EgressLossless        float64     // 0: lossless packets are never dropped at egress; else as AlphaEgress
	StaticXOFF, StaticXON units.Bytes // with StaticThreshold, per ingress port and priority: XOFF at or above, XON at or below
	XONOffset             units.Bytes // with DynamicThreshold: resume when this far below XOFF (and headroom empty)
	Reserve               units.Bytes // guaranteed to each ingress port and lossless priority, before shared use

	// TriggerInHeadroom counts the packet that raises XOFF in the headroom if
	// it exceeds the threshold, as the ns-3 models do. Otherwise it is still
	// counted in the shared part, as switches that compare before they admit
	// do, and the headroom is there for what arrives after XOFF. (Where n busy
	// queues can leave less than a packet of the shared buffer free, about
	// shared/(1 + n x alpha), the headroom needs room for one packet more.)
	TriggerInHeadroom bool

	ECN    [qos.Priorities]qos.ECN
	Weight [qos.Priorities]uint32 // deficit-round-robin weights, such as percent; 0 counts as 1
	Strict uint8                  // bit p: priority p is served first, higher priorities before lower

	// Gap is added to each packet to reckon how long it is in service: 20 for
	// Ethernet's preamble and inter-packet gap, 0 in models without them.
	Gap units.Bytes

	PauseQuanta   uint16 // in each XOFF frame, of 512 bit times
	Refresh       bool   // XOFF is sent again before it lapses (at half its time)
	PauseForever  bool   // a received XOFF holds until XON, whatever its quanta (ns-3 models)
	PauseByPacket bool   // XOFF is sent again with each packet above the threshold (some ns-3 models)
	Watchdog      qos.Watchdog
}

// Threshold picks the model of the lossless XOFF threshold.
type Threshold uint8

// DynamicThreshold is alpha x free shared buffer (Choudhury and Hahne 1998).
// StaticThreshold is a constant.
const (
	DynamicThreshold Threshold = iota
	StaticThreshold
)

// PortConfig describes one port.
type PortConfig struct {
	Rate     units.BitRate
	Headroom units.Bytes // per lossless priority
	NoPFC    uint8       // bit p: this port neither sends nor obeys pause for p although p is lossless (a misconfiguration)
	ObeyAll  bool        // received pause stops lossy priorities, too (802.3x global pause arrives as pause of all eight)
}

// Entry is a packet at the switch. Packet is the caller's handle.
type Entry struct {
	Packet   uint32
	Bytes    uint32 // on the wire as far as the buffer counts them: headers and FCS, no preamble; 1 to MaxPacketBytes
	In, Out  uint16
	Priority uint8
	Flags    EntryFlags
}

// EntryFlags of an entry.
type EntryFlags uint8

// Capable: the packet carries ECT or CE, so it may be marked instead of being dropped by WRED.
const (
	Capable EntryFlags = 1 << iota
)

// Outcome tells the caller what Enqueue or Dequeue decided.
type Outcome struct {
	// Mark is the probability of marking, scaled by 2^32: 0 never,
	// MaxUint32 always. The caller draws, so that a draw costs nothing where
	// none is needed and belongs to the packet, not to a stream.
	Mark  uint32
	Flags OutcomeFlags
}

// Marks reports whether a packet with this outcome is marked (or, with WRED,
// dropped), given a draw that is uniform over all 2^32 values.
func (o Outcome) Marks(draw uint32) bool { return draw < o.Mark || o.Mark == ^uint32(0) }

// OutcomeFlags of an outcome.
type OutcomeFlags uint8

// Dropped: the packet was not admitted; the caller frees it. LosslessDrop
// goes with it when the priority was lossless, Stormed when the watchdog
// dropped it. XOFF, XON: a pause (resume) frame for the entry's priority is
// due at ingress port In, at once; both can be set after DropLast's Enqueue.
// WRED: the packet is not ECN-capable; when the draw says "mark", drop it
// (by calling DropLast) instead.
const (
	Dropped OutcomeFlags = 1 << iota
	LosslessDrop
	XOFF
	XON
	WRED
	Stormed
)
