// Package twin runs the jobs of a cluster on its packet-level model and
// returns what happened: times, rates, and the network's counters.
package twin

import (
	"weir/internal/collective"
	"weir/units"
)

// Result is everything that a run tells.
type Result struct {
	Collectives []Collective
	Flows       []Flow
	Network     Network
	Messages    Latency
	Engine      Engine
	Simulated   units.Time
	Interrupted bool
	// Stalled says what was left undone when nothing could happen any more: a
	// failed queue pair, or a deadlock. Empty in a run that ended.
	Stalled string
}

// Collective is one row: one size of one collective job.
type Collective struct {
	Job       string
	Op        collective.Op
	Algorithm collective.Algorithm
	Protocol  collective.Protocol
	Channels  int
	Bytes     units.Bytes
	Ranks     int
	Time      units.Time // mean over iterations
	Fidelity  string     // "packet"
}

// Flow is one transfer of a flow job.
type Flow struct {
	ID       int
	Src, Dst string
	Bytes    units.Bytes
	Start    units.Time
	FCT      units.Time // first send to last acknowledgement at the sender; 0: not finished
}

// Network is what the fabric counted.
type Network struct {
	Tiers         []Tier
	Totals        Totals
	DeepestQueue  Queue
	BusiestEgress Egress
}

// Tier sums the links of one tier and direction ("host-leaf up" ...).
type Tier struct {
	Name                            string
	Links                           int
	UtilisationMean, UtilisationMax float64 // while jobs ran
	PauseShare                      float64 // share of time that the sending side was paused, mean over links
	ECNMarked, PauseFrames          uint64
}

// Totals over the fabric.
type Totals struct {
	Drops, LosslessDrops, PFCPauseFrames, PFCResumeFrames, ECNMarkedPackets, CNPs, RetransmittedPackets, DataPackets uint64
}

// Queue names the deepest egress queue of the RoCE class and its limits.
type Queue struct {
	Where                string
	Bytes                units.Bytes
	ECNMin, ECNMax, XOFF units.Bytes
}

// Egress is the busiest egress port.
type Egress struct {
	Where     string
	WireBytes units.Bytes // frames with preamble and gap
	Active    units.Time  // while jobs ran; of flows that start together: until the first is done
	Share     float64     // of line rate
}

// Latency of messages, first packet to last acknowledgement.
type Latency struct {
	P50, P99 units.Time
	Count    uint64
}

// Engine tells the cost of the run.
type Engine struct {
	PacketHops, Events uint64
	Wall               float64 // seconds
}
