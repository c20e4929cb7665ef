// Package collective generates the schedules of collective operations step by
// step, as NCCL runs them: each rank runs one program per channel and lane,
// whose steps wait for data from peers, reduce or copy it, and send it on.
// Nothing is materialised: a step is computed from its number. The simulator
// times the steps, the software RNIC executes them.
package collective

import "weir/units"

// Op is a collective operation.
type Op uint8

// The operations.
const (
	AllReduce Op = iota
	AllGather
	ReduceScatter
	AllToAll
	Broadcast
)

// String returns nccl-tests' name of the operation: "all_reduce" ...
func (o Op) String() string {
	return [...]string{"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}[min(o, Broadcast)]
}

// Algorithm is a way to run an operation.
type Algorithm uint8

// The algorithms. Auto picks by NCCL's cost model. Hierarchical (reduce-scatter
// inside the node, ring between nodes on each rail, all-gather inside) is
// offered by name; NCCL has none, so Auto never picks it. NVLS reduces in the
// NVLink switch of one node, NVLSTree between nodes as well.
const (
	Auto Algorithm = iota
	Ring
	Tree
	NVLS
	NVLSTree
	Hierarchical
	Direct    // all_to_all: pairwise sends
	InNetwork // switches of the fabric reduce; it has no Schedule
)

// String returns "auto", "ring" ...
func (a Algorithm) String() string {
	return [...]string{"auto", "ring", "tree", "nvls", "nvls_tree", "hierarchical", "direct", "in_network"}[min(a, InNetwork)]
}

// Protocol is how NCCL moves data and flags.
type Protocol uint8

// The protocols: LL carries 4 bytes of data with each 4 of flag, LL128 120 of
// 128, Simple fences whole slices.
const (
	Simple Protocol = iota
	LL
	LL128
)

// String returns NCCL's name of the protocol.
func (p Protocol) String() string { return [...]string{"Simple", "LL", "LL128"}[min(p, LL128)] }

// WireBytes returns how many bytes n bytes of data take with their flags.
func (p Protocol) WireBytes(n units.Bytes) units.Bytes {
	switch p {
	case LL: // 4 of 8 bytes are data
		return (n + 3) / 4 * 8
	case LL128: // 120 of 128 bytes are data
		return (n + 119) / 120 * 128
	}
	return n
}

// NoPeer marks an unused peer of a step.
const NoPeer int32 = -1

// MaxPeers is the most peers that one step receives from or sends to (a tree
// node has up to three children in NCCL).
const MaxPeers = 3

// Step is one step of one lane of a rank. In this order:
//
//  1. Wait until the next slice of Bytes has arrived from each of Recv.
//  2. Take the value: what arrived, or, without Recv or with Reduce, the local
//     buffer at Offset. Reduce adds what arrived. Gather adds the buffers of
//     the other ranks of the node (the NVLink switch does so).
//  3. Keep stores the value in the local buffer at Offset. Spread stores it in
//     the buffers of all ranks of the node (multicast by the NVLink switch).
//  4. Send it to each of Send.
//
// Data between two ranks on one channel pass through one FIFO, whatever the
// lanes: the k-th receive from a peer on a channel takes the k-th slice that
// the peer sent there. All operations but all_to_all work in place on one
// buffer per rank, the larger of input and output. all_to_all reads the input
// when it sends and writes the output when it receives; its one step with no
// peer at all copies the rank's own block from input to output.
type Step struct {
	Recv, Send [MaxPeers]int32 // ranks, used entries first; NoPeer where unused
	Offset     units.Bytes     // of the slice in the buffer
	Bytes      uint32          // of the slice; may be 0 at the end of uneven buffers
	Reduce     bool
	Keep       bool
	Gather     bool
	Spread     bool
}

// Communicator says which ranks take part and where they live: rank r is GPU
// r mod RanksPerNode of node r / RanksPerNode.
type Communicator struct {
	Ranks        int
	RanksPerNode int
	// Channels is how many rings or trees run side by side; channel c leaves a
	// node through NIC c mod NICs, as NCCL's rail-aligned rings do.
	Channels int
	NICs     int // per node; 0 is taken as 1
}

// Settings of one run.
type Settings struct {
	Op        Op
	Algorithm Algorithm // resolved, not Auto
	Protocol  Protocol
	Bytes     units.Bytes // as nccl-tests states sizes: of the larger of the two buffers of one rank
	BuffSize  units.Bytes // NCCL_BUFFSIZE: per channel and protocol, in 8 slots; 0: the protocol's default
	Root      int         // of broadcast
}

// Limits of what New takes.
const (
	MaxRanks    = 1 << 17
	MaxChannels = 64      // NCCL's MAXCHANNELS
	MaxBytes    = 1 << 46 // 64 TiB
)

// Schedule is one collective operation of one size on one communicator.
// Ranks are 0 to Ranks()-1; lanes 0 to Lanes()-1 run concurrently on each
// rank. It is immutable, so that many goroutines may read it.
type Schedule struct {
	comm     Communicator
	set      Settings
	n, g, k  int   // ranks, ranks per node, nodes
	block    int64 // all_gather, reduce_scatter, all_to_all: bytes of one rank's block
	chunk    int64 // most data of one chunk
	minSlice int64 // chunks up to this are not split
	depth    int   // slices that fit into the buffer between two ranks
	perLane  int   // lanes of one channel
	form     form
	shares   []share // by channel
}

// form picks the function that computes steps.
type form uint8

const (
	ringReduce form = iota // all_reduce
	ringGather
	ringScatter
	ringBroadcast
	treeReduce
	nvls
	hierarchical
	direct
	single // one rank: nothing to do
)

// Ranks returns the number of ranks.
func (s *Schedule) Ranks() int { return s.n }

// RanksPerNode returns how many ranks share a node.
func (s *Schedule) RanksPerNode() int { return s.g }

// Lanes returns how many lanes run on each rank.
func (s *Schedule) Lanes() int { return s.perLane * s.comm.Channels }

// Channels returns the number of channels.
func (s *Schedule) Channels() int { return s.comm.Channels }

// Channel returns the channel that a lane belongs to.
func (s *Schedule) Channel(lane int) int { return lane / s.perLane }

// Depth returns how many slices fit into the buffer between two ranks on one
// channel: a sender waits while so many are sent and not yet consumed.
func (s *Schedule) Depth() int { return s.depth }

// Settings returns the settings, with the defaults filled in.
func (s *Schedule) Settings() Settings { return s.set }

// Bytes returns the size that the operation really has: Settings.Bytes rounded
// down to a multiple of the ranks where each rank has a block.
func (s *Schedule) Bytes() units.Bytes {
	switch s.set.Op {
	case AllGather, ReduceScatter, AllToAll:
		return units.Bytes(s.block * int64(s.n))
	}
	return s.set.Bytes
}

// Step returns step i (from 0) of a lane of a rank, and false past the last
// one. It does not allocate.
func (s *Schedule) Step(rank, lane, i int) (Step, bool) {
	c := lane
	if s.perLane == 2 {
		c = lane >> 1
	}
	switch s.form {
	case ringReduce:
		return s.ringReduceStep(rank, c, i)
	case ringGather:
		return s.ringGatherStep(rank, c, i)
	case ringScatter:
		return s.ringScatterStep(rank, c, i)
	case ringBroadcast:
		return s.ringBroadcastStep(rank, c, i)
	case treeReduce:
		return s.treeStep(rank, c, lane-c*s.perLane, i)
	case nvls:
		return s.nvlsStep(rank, c, lane-c*s.perLane, i)
	case hierarchical:
		return s.hierarchicalStep(rank, c, i)
	case direct:
		return s.directStep(rank, c, lane-c*s.perLane, i)
	}
	return Step{}, false
}

// newStep returns a step without peers.
func newStep() Step {
	return Step{
		Recv: [MaxPeers]int32{NoPeer, NoPeer, NoPeer},
		Send: [MaxPeers]int32{NoPeer, NoPeer, NoPeer},
	}
}
