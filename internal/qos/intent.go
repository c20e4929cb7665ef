// Package qos holds what the operator wants of the network's queues (Intent)
// and what one device effectively does with a packet (Device). Renderers turn
// intents into device text; dialect parsers turn device text into devices;
// audit compares the two by effect.
package qos

import "weir/units"

// Priorities is the number of 802.1p priorities, and of hardware queues that
// the model uses.
const Priorities = 8

// Undefined marks a priority or DSCP that is not set.
const Undefined = 0xff

// A Class is one traffic class of the intent.
type Class struct {
	Name     string  // "roce", "cnp", "storage" ...
	DSCP     uint8   // 0 to 63
	Priority uint8   // 0 to 7
	Lossless bool    // PFC on this priority
	Share    float64 // ETS share of the link, 0 to 1; 0 for a strict class
	Strict   bool    // served before all others
}

// MarkAt says when a switch compares the queue with the ECN thresholds.
type MarkAt uint8

// Marking at enqueue counts the packet itself and the one in service;
// marking at dequeue looks at the bytes left behind, as ns-3 models do.
const (
	MarkAtEnqueue MarkAt = iota
	MarkAtDequeue
)

// ECN is the marking ramp of the RoCE queue: no marks below Min, a share that
// rises linearly to Probability at Max, every packet above Max.
type ECN struct {
	Enabled     bool
	Min, Max    units.Bytes
	Probability float64 // 0 to 1
	MarkAt      MarkAt
}

// Watchdog is the PFC watchdog of a switch port or NIC.
type Watchdog struct {
	Enabled      bool
	DetectAfter  units.Time // paused without progress for this long: stormed
	RestoreAfter units.Time // pause-free for this long: lossless again
	Action       WatchdogAction
}

// WatchdogAction is what a stormed queue does with its packets.
type WatchdogAction uint8

// The actions that switches offer.
const (
	WatchdogDrop WatchdogAction = iota
	WatchdogForward
)

// Intent is the `qos` part of the cluster file, with every default filled in.
type Intent struct {
	Classes  []Class     // RoCE first, then CNP, then the rest
	MTU      units.Bytes // RDMA path MTU: 256, 512, 1024, 2048 or 4096
	PortMTU  units.Bytes // layer-2 payload limit of switch ports, such as 9216
	ECN      ECN
	Watchdog Watchdog
	PFC      bool // false: no port sends or honours pause

	// Alpha is the dynamic threshold of lossless ingress queues: XOFF at
	// alpha times the free shared buffer. XONOffset is how far below XOFF
	// a paused queue must fall before it resumes.
	Alpha     float64
	XONOffset units.Bytes
	// Headroom per port and lossless priority; 0 means: compute from rate,
	// cable length and MTU (package function HeadroomDriver).
	Headroom units.Bytes
}

// RoCE returns the class of RoCE data, which every intent has.
func (in *Intent) RoCE() *Class { return &in.Classes[0] }

// CNP returns the class that congestion notifications ride in.
func (in *Intent) CNP() *Class { return &in.Classes[1] }

// LosslessMask has bit p set where priority p is lossless.
func (in *Intent) LosslessMask() uint8 {
	var m uint8
	for _, c := range in.Classes {
		if c.Lossless {
			m |= 1 << c.Priority
		}
	}
	return m
}
