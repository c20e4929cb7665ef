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
	Direct // all_to_all: pairwise sends
)

// String returns "auto", "ring" ...
func (a Algorithm) String() string {
	return [...]string{"auto", "ring", "tree", "nvls", "nvls_tree", "hierarchical", "direct"}[min(a, Direct)]
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

// NoPeer marks an unused peer of a step.
const NoPeer int32 = -1

// MaxPeers is the most peers that one step receives from or sends to (a tree
// node has up to three children in NCCL).
const MaxPeers = 3

// Step is one step of one lane of a rank: wait until a slice of Bytes has
// arrived from each of Recv, combine it with the local buffer if Reduce, then
// send it to each of Send. Slices between two ranks on one channel and lane
// pair arrive in the order in which they were sent, so the k-th receive from a
// peer takes the k-th slice that the peer sent.
type Step struct {
	Recv, Send [MaxPeers]int32 // ranks; NoPeer where unused
	Offset     units.Bytes     // of the slice in the user's buffer (of the source chunk for all_gather and the like)
	Bytes      uint32          // of the slice; may be 0 at the end of uneven buffers
	Reduce     bool            // combine what was received with the local buffer
	Keep       bool            // the result (also) stays in the local output
}

// A Schedule is one collective operation of one size on one communicator.
// Ranks are 0 to Ranks()-1; lanes 0 to Lanes()-1 run concurrently on each rank
// (a lane is one half of one channel: ring has one a channel, tree two: up and
// down). Channel(lane) tells which channel a lane belongs to.
type Schedule struct {
	plan plan
}

// Communicator says which ranks take part and where they live.
type Communicator struct {
	Ranks        int
	RanksPerNode int
	// Channels is how many rings or trees run side by side; channel c leaves a
	// node through NIC c mod NICs, as NCCL's rail-aligned rings do.
	Channels int
	NICs     int // per node
}

// Settings of one run.
type Settings struct {
	Op        Op
	Algorithm Algorithm // resolved, not Auto
	Protocol  Protocol
	Bytes     units.Bytes // as nccl-tests states sizes: of the larger of the two buffers of one rank
	BuffSize  units.Bytes // NCCL_BUFFSIZE: per channel and protocol, in 8 slots; 0: the protocol's default
	Root      int
}

type plan struct {
	c Communicator
	s Settings
}
