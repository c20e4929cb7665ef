package sim

import (
	"errors"
	"fmt"

	"weir/internal/cluster"
	"weir/internal/twin/fabric"
	"weir/internal/twin/switchcore"
	"weir/units"
)

// Config is everything that a run depends on. The same Config and the same
// calls give the same result, bit for bit.
type Config struct {
	Cluster *cluster.Cluster
	Seed    uint64 // of all random draws; 0: the cluster's
	Wire    Wire   // zero: that of the cluster's transport
	Model   Model  // zero: DefaultModel of the cluster

	// Fabric, if set, are the routes of the cluster, or of one that has the same
	// nodes, links and seed: they need not be found again.
	Fabric *fabric.Fabric

	// Switch, if set, may change the configuration of each switch that was
	// derived from the cluster, as presets of other simulators do.
	Switch func(node cluster.NodeID, c *switchcore.Config)

	// Paths fixes the way of pairs of NICs: the number of the next hop to take,
	// modulo their count, wherever a switch has a choice. Responses go by the
	// entry of the opposite pair or, if there is none, by that of their data.
	Paths map[Pair]int

	// Check proves invariants all along and at the end of Run: packets are
	// conserved, buffers hold what they account for, lossless priorities drop
	// nothing, messages arrive once and in order, pauses end. It costs time.
	Check bool

	// HeapQueue replaces the event wheel by a heap: slower, same result.
	HeapQueue bool

	// FlowDone, if set, is called when a flow is done, from inside the run. It
	// may read counters.
	FlowDone func(FlowID)

	// Progress, if set, is called about every ProgressEvery events (0: a
	// million).
	Progress      func(Progress)
	ProgressEvery uint64
}

// Pair is a source and a destination.
type Pair struct{ Src, Dst cluster.NICRef }

// Progress tells how far a run is.
type Progress struct {
	Now                 units.Time
	Events, PacketHops  uint64
	Messages, Completed uint64 // posted, and acknowledged in full
}

// Model holds what the cluster file does not say.
type Model struct {
	AckPriority uint8 // that acknowledgements ride in
	CNPPriority uint8
	FreeAcks    bool // NICs send acknowledgements whatever pause is in force (ns-3 models)

	PauseForever  bool       // at NICs, an XOFF holds until XON (ns-3 models)
	PauseReaction units.Time // from the arrival of a pause frame to its effect
	NICPause      bool       // NICs whose receive buffer fills send pause

	AckDelay    units.Time // from a data packet's arrival to its acknowledgement
	NakReaction units.Time // from a NAK's arrival to the first packet sent again
	CardLatency bool       // posts and deliveries take the NIC model's latency
}

// DefaultModel returns the model of real hardware: acknowledgements ride in
// the RoCE class as data does.
func DefaultModel(c *cluster.Cluster) Model {
	return Model{
		AckPriority:   c.QoS.RoCE().Priority,
		CNPPriority:   c.QoS.CNP().Priority,
		PauseReaction: pauseReaction,
		NICPause:      true,
		CardLatency:   true,
	}
}

// pauseReaction is an assumption: a few hundred nanoseconds from the last bit
// of a pause frame to the transmitter's stop. IEEE 802.3 annex 31B allows
// several times as much.
const pauseReaction = 200 * units.Nanosecond

// Errors that end a run.
var (
	// ErrStalled: work is open, but nothing is left that could happen.
	ErrStalled = errors.New("the fabric has come to a standstill with work undone")
	// ErrInvariant: the simulator is wrong (Config.Check).
	ErrInvariant = errors.New("invariant broken")
)

func (c *Config) validate() error {
	cl := c.Cluster
	switch {
	case cl == nil:
		return errors.New("no cluster")
	case len(cl.Nodes) > maxNodes:
		return fmt.Errorf("cluster of %d nodes: allowed are %d", len(cl.Nodes), maxNodes)
	case len(cl.Ports) > maxIndexes/8:
		return fmt.Errorf("cluster of %d ports: allowed are %d", len(cl.Ports), maxIndexes/8)
	case len(cl.QoS.Classes) < 2:
		return errors.New("cluster without RoCE and CNP classes")
	case cl.QoS.MTU <= 0 || cl.QoS.MTU > 1<<16:
		return fmt.Errorf("path MTU of %v: allowed is 1B to 64KiB", cl.QoS.MTU)
	}
	return nil
}
