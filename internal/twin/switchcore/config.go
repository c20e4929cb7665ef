// Package switchcore is the packet pipeline of a shared-buffer switch as a
// pure state machine: admission and accounting, PFC, ECN marking, scheduling,
// watchdog. It knows no clock, link or packet contents: time, sizes and an
// opaque packet handle come in as arguments. The simulator's switches and the
// user-space bottleneck of the wire tests run this same code.
package switchcore

import (
	"weir/internal/qos"
	"weir/units"
)

// Config describes one switch. Slices are indexed by port, arrays by priority.
type Config struct {
	Ports  []PortConfig
	Buffer units.Bytes // all of the packet memory, headroom and reserves included

	Lossless uint8 // bit p: priority p uses PFC and headroom
	PFC      bool  // false: never sends pause, lossless priorities drop when over their threshold

	Threshold             Threshold
	AlphaIngress          float64     // lossless: XOFF at AlphaIngress x free shared buffer (rounded to 1/1024)
	AlphaEgress           float64     // lossy: drop at AlphaEgress x free shared buffer, by egress queue
	EgressLossless        float64     // 0: lossless packets are never dropped at egress; else as AlphaEgress
	StaticXOFF, StaticXON units.Bytes // with StaticThreshold, per ingress port and priority
	XONOffset             units.Bytes // resume when this far below XOFF (and headroom empty)
	Reserve               units.Bytes // guaranteed to each ingress port and lossless priority, before shared use

	ECN    [qos.Priorities]qos.ECN
	Weight [qos.Priorities]uint32 // deficit-round-robin weights, percent; 0 with Strict
	Strict uint8                  // bit p: priority p is served first, higher priorities before lower

	PauseQuanta  uint16 // in each XOFF frame, of 512 bit times
	Refresh      bool   // XOFF is sent again before it lapses (at half its time)
	PauseForever bool   // an XOFF holds until XON and is not repeated (ns-3 models)
	Watchdog     qos.Watchdog
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
}

// Entry is a packet at the switch. Packet is the caller's handle.
type Entry struct {
	Packet   uint32
	Bytes    uint32 // on the wire as far as the buffer counts them: headers and FCS, no preamble
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

// OutcomeFlags of an outcome.
type OutcomeFlags uint8

// Dropped: the packet was not admitted; the caller frees it. LosslessDrop
// goes with it when the priority was lossless. XOFF, XON: a pause (resume)
// frame for the entry's priority is due at ingress port In, at once.
// WRED: the packet is not ECN-capable; when the draw says "mark", drop it
// (by calling DropLast) instead.
const (
	Dropped OutcomeFlags = 1 << iota
	LosslessDrop
	XOFF
	XON
	WRED
)
