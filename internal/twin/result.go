// Package twin runs the jobs of a cluster on its packet-level model and
// returns what happened: times, rates, and the network's counters.
package twin

import (
	"weir/internal/collective"
	"weir/internal/training"
	"weir/units"
)

// Result is everything that a run tells.
type Result struct {
	Collectives []Collective
	Iterations  [][]units.Time // of each of Collectives, those that ended; nil where only means are known
	Flows       []Flow
	Steps       []Step
	Compared    []Compared // parts that Auto ran both ways
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
	Fidelity  string     // "packet" or "flow"

	// CPUShare is the share of the busiest host's cores that the transport took
	// while the collective ran, 0 to 1; 0 where a NIC moves the data.
	CPUShare float64
}

// Step is one step of a training job, the mean of those that were run. Its
// parts add up: Time is Compute, Bubble and ExposedCommunication, the part of
// communication that no computation hides.
type Step struct {
	Job                  string
	Time, Compute        units.Time
	Bubble               units.Time // idle time of a stage while the pipeline fills and drains
	ExposedCommunication units.Time
	Jitter               units.Time // longest less shortest step of the run; 0 for a run of one
	CommunicationShare   float64    // of the step's time, 0 to 1: exposed only
	GPUUtilisation       float64    // Compute over Time, 0 to 1
	Epoch                units.Time // one pass over the data set; 0 if its size is not given
	Fidelity             string     // as of Collective
	CPUShare             float64    // as of Collective
	Inflation            float64    // factor that the file names, which is in Compute

	Parts    []StepPart
	Timeline []Span // of the first step
}

// StepPart is one kind of communication of a step: a dimension of parallelism,
// an operation and a size. All groups of the dimension run at the same time,
// and the slowest counts.
type StepPart struct {
	Dimension training.Dimension
	Op        collective.Op // unless Transfer
	Transfer  bool          // between pipeline stages
	Bytes     units.Bytes   // as of Collective; of one transfer
	Ranks     int           // of a group
	Groups    int
	Count     int        // in a step
	Time      units.Time // of one, mean
	Exposed   units.Time // in which compute waited for them, all together, mean
	How       string     // "ring/LL128 x16", "NVLink"
}

// Span is one operation of a step on its track: "compute", or a dimension.
type Span struct {
	Track, Name string
	Start, End  units.Time
	Bytes       units.Bytes // of communication
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
