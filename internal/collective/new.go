package collective

import (
	"fmt"
	"math/bits"

	"weir/units"
)

// Constants of NCCL's transport buffers (device.h, collectives.h, init.cc;
// validation row V56). The buffer of a channel has Slots slots. With ring
// algorithms and Simple, a slice takes two slots and a chunk four; otherwise
// a slice and a chunk take one.
const (
	Slots      = 8
	sliceSlots = 2
	chunkSlots = 4

	// grain is the unit in which data are divided, in bytes: 16-byte words.
	grain = 16
)

// BuffSize returns the default NCCL_BUFFSIZE of a protocol, flags included:
// 4 MiB, LL 512 KiB (8 lines x 512 threads x 16 bytes x 8 slots), LL128
// 4.6875 MiB (120 words x 640 threads x 8 bytes x 8 slots).
func (p Protocol) BuffSize() units.Bytes {
	switch p {
	case LL:
		return 8 * 512 * 16 * Slots
	case LL128:
		return 120 * 640 * 8 * Slots
	}
	return 4 * units.MiB
}

// slotData returns how many bytes of data fit into one slot.
func slotData(p Protocol, buffSize units.Bytes) int64 {
	slot := int64(buffSize) / Slots
	switch p {
	case LL:
		slot /= 2
	case LL128:
		slot = slot / 128 * 120
	}
	return slot / grain * grain
}

// Chunk sizes of NCCL's point-to-point operations: 128 KiB over the network,
// 512 KiB inside a node.
const (
	directNetChunk  = 128 << 10
	directNodeChunk = 512 << 10
)

// nvlsChunk returns the chunk size of NVLS (NCCL_NVLS_CHUNKSIZE 128 KiB; 64 KiB
// between four and more nodes), halved for small sizes as enqueue.cc does.
func (s *Schedule) nvlsChunk() int64 {
	chunk := int64(128 << 10)
	if s.k >= 4 {
		chunk = 64 << 10
	}
	type rule struct{ times, above int64 } // sizes below times x heads x channels x chunk take chunks of above
	rules := []rule{{4, 64 << 10}, {1, 32 << 10}}
	if s.k == 1 {
		rules = []rule{{64, 64 << 10}, {8, 32 << 10}, {2, 16 << 10}}
	}
	for _, r := range rules {
		if int64(s.set.Bytes) < r.times*int64(s.g*s.comm.Channels)*chunk && chunk > r.above {
			chunk = r.above
		}
	}
	return chunk
}

// treeLL128Chunk returns how much data a chunk of trees with LL128 has: a slot,
// halved while there are too few chunks to keep the depth of the tree busy
// (enqueue.cc).
func (s *Schedule) treeLL128Chunk(slot int64) int64 {
	line := slot / 120 * 128
	perNode := float64(s.g)
	depth := 1 + float64(bits.Len(uint(s.k))-1) + 0.1*perNode
	chunks := func() float64 { return float64(int64(s.set.Bytes) / (int64(s.comm.Channels) * line)) }
	for line > 128<<10 && chunks() < depth*64/perNode {
		line /= 2
	}
	for line > 32<<10 && chunks() < depth*16/perNode {
		line /= 2
	}
	return max(line/128*120/grain*grain, grain)
}

// New prepares the schedule of one operation. Errors name the setting that
// does not fit: an algorithm that the operation does not have, ranks that do
// not fill their nodes, more channels than MaxChannels.
func New(c Communicator, set Settings) (*Schedule, error) {
	if c.NICs == 0 {
		c.NICs = 1
	}
	if set.BuffSize == 0 {
		set.BuffSize = set.Protocol.BuffSize()
	}
	if err := check(c, set); err != nil {
		return nil, err
	}
	s := &Schedule{comm: c, set: set, n: c.Ranks, g: c.RanksPerNode, k: c.Ranks / c.RanksPerNode, perLane: 1}
	form, err := formOf(set.Op, set.Algorithm)
	if err != nil {
		return nil, err
	}
	s.form = form
	slot := slotData(set.Protocol, set.BuffSize)
	s.chunk, s.minSlice, s.depth = slot, slot, Slots
	switch form {
	case ringReduce, ringGather, ringScatter, hierarchical:
		if set.Protocol == Simple {
			s.chunk = chunkSlots * slot
			s.minSlice = max(sliceSlots*slot/32/grain*grain, grain) // NCCL splits no chunk below 1/32 of a full slice
			s.depth = Slots / sliceSlots
		}
	case treeReduce:
		s.perLane = 2
		if set.Protocol == LL128 {
			s.chunk = min(slot, s.treeLL128Chunk(slot))
			s.minSlice = s.chunk
		}
	case nvls:
		s.perLane = 2
		s.chunk = min(slot, s.nvlsChunk())
		s.minSlice = s.chunk
	case direct:
		s.perLane = 2
		s.chunk = min(slot, directNodeChunk)
		if s.k > 1 {
			s.chunk = min(slot, directNetChunk)
		}
		s.minSlice = s.chunk
	}
	total := int64(set.Bytes)
	switch set.Op {
	case AllGather, ReduceScatter, AllToAll:
		s.block = total / int64(s.n)
		total = s.block
	}
	if s.n == 1 {
		s.form, s.perLane = single, 1
		return s, nil
	}
	s.divide(total)
	return s, nil
}

func check(c Communicator, set Settings) error {
	switch {
	case c.Ranks < 1 || c.Ranks > MaxRanks:
		return fmt.Errorf("ranks: found %d, allowed are 1 to %d", c.Ranks, MaxRanks)
	case c.RanksPerNode < 1 || c.Ranks%c.RanksPerNode != 0:
		return fmt.Errorf("ranks per node: found %d, allowed are divisors of %d ranks", c.RanksPerNode, c.Ranks)
	case c.Channels < 1 || c.Channels > MaxChannels:
		return fmt.Errorf("channels: found %d, allowed are 1 to %d", c.Channels, MaxChannels)
	case c.NICs < 1 || c.NICs > 256:
		return fmt.Errorf("NICs per node: found %d, allowed are 1 to 256", c.NICs)
	case set.Bytes < 0 || set.Bytes > MaxBytes:
		return fmt.Errorf("size: found %d bytes, allowed are 0 to %d", set.Bytes, int64(MaxBytes))
	case set.Protocol > LL128:
		return fmt.Errorf("protocol: found %d, allowed are Simple, LL, LL128", set.Protocol)
	case set.BuffSize < units.KiB || set.BuffSize > units.GiB:
		return fmt.Errorf("buffer size: found %s, allowed are 1KiB to 1GiB", set.BuffSize)
	case set.Root < 0 || set.Root >= c.Ranks:
		return fmt.Errorf("root: found %d, allowed are 0 to %d", set.Root, c.Ranks-1)
	case (set.Algorithm == NVLS || set.Algorithm == NVLSTree || set.Algorithm == Direct) && set.Protocol != Simple:
		return fmt.Errorf("protocol: found %s, but %s has Simple only", set.Protocol, set.Algorithm)
	case set.Algorithm == NVLS && c.Ranks != c.RanksPerNode:
		return fmt.Errorf("algorithm: nvls works inside one node, found %d nodes; nvls_tree joins nodes", c.Ranks/c.RanksPerNode)
	case set.Algorithm == NVLSTree && c.Ranks == c.RanksPerNode:
		return fmt.Errorf("algorithm: nvls_tree joins nodes, found one; nvls works inside a node")
	}
	return nil
}

func formOf(op Op, a Algorithm) (form, error) {
	switch op {
	case AllReduce:
		switch a {
		case Ring:
			return ringReduce, nil
		case Tree:
			return treeReduce, nil
		case NVLS, NVLSTree:
			return nvls, nil
		case Hierarchical:
			return hierarchical, nil
		}
	case AllGather:
		switch a {
		case Ring:
			return ringGather, nil
		case NVLS:
			return nvls, nil
		}
	case ReduceScatter:
		switch a {
		case Ring:
			return ringScatter, nil
		case NVLS:
			return nvls, nil
		}
	case AllToAll:
		if a == Direct {
			return direct, nil
		}
	case Broadcast:
		if a == Ring {
			return ringBroadcast, nil
		}
	}
	return 0, fmt.Errorf("algorithm: %s has no %s, allowed are %s", op, a, algorithms(op))
}

// Algorithms returns the algorithms that an operation has, Auto aside.
func Algorithms(op Op) []Algorithm {
	switch op {
	case AllReduce:
		return []Algorithm{Ring, Tree, NVLS, NVLSTree, Hierarchical}
	case AllGather, ReduceScatter:
		return []Algorithm{Ring, NVLS}
	case AllToAll:
		return []Algorithm{Direct}
	}
	return []Algorithm{Ring}
}

func algorithms(op Op) string {
	text := ""
	for i, a := range Algorithms(op) {
		if i > 0 {
			text += ", "
		}
		text += a.String()
	}
	return text
}

// share is the part of the data that one channel works on.
type share struct {
	entry      int // local rank at which the channel enters a node
	off, len   int64
	full       int64 // loops with whole chunks
	last       int64 // chunk of the loop after them; 0: none
	lastSlices int64 // slices of a chunk in that loop
	slices     int64 // slices of a chunk in whole loops
	slice      int64 // bytes of the first slice of a whole chunk
	lastSlice  int64 // the same in the last loop
}

// divide gives each channel a contiguous share of total bytes, in whole
// grains, and cuts it into loops: a loop of the ring algorithms covers
// chunksPerLoop chunks.
func (s *Schedule) divide(total int64) {
	chunks := int64(1)
	switch s.form {
	case ringReduce, hierarchical:
		chunks = int64(s.n)
	}
	s.shares = make([]share, s.comm.Channels)
	grains := (total + grain - 1) / grain
	each, more := grains/int64(len(s.shares)), grains%int64(len(s.shares))
	var off int64
	for c := range s.shares {
		n := each * grain
		if int64(c) < more {
			n += grain
		}
		n = max(min(n, total-off), 0)
		sh := &s.shares[c]
		sh.entry = c % s.comm.NICs * s.g / s.comm.NICs % s.g
		sh.off, sh.len = off, n
		off += n
		sh.full = n / (chunks * s.chunk)
		if rest := n - sh.full*chunks*s.chunk; rest > 0 {
			per := (rest + chunks - 1) / chunks
			sh.last = min((per+grain-1)/grain*grain, s.chunk)
		}
		sh.slices, sh.slice = s.cut(s.chunk)
		sh.lastSlices, sh.lastSlice = s.cut(sh.last)
	}
}

// cut splits a chunk into one or two slices and returns the bytes of the first.
func (s *Schedule) cut(chunk int64) (slices, slice int64) {
	if chunk <= s.minSlice {
		return 1, chunk
	}
	half := (chunk + 2*grain - 1) / (2 * grain) * grain
	return 2, max(half, s.minSlice)
}

// place is where a step of a ring algorithm stands: in which loop, at which
// operation of it, at which slice.
type place struct {
	op        int
	loopOff   int64 // of the loop's first byte in the share, for one chunk a loop
	chunk     int64 // chunk size of this loop
	sliceOff  int64 // of the slice in the chunk
	sliceSize int64 // nominal
}

// locate finds step i of share sh, whose loops have ops operations on chunks
// of which chunksPerLoop make up a loop.
func (s *Schedule) locate(sh *share, i int64, ops, chunksPerLoop int64) (place, bool) {
	perLoop := ops * sh.slices
	if i < sh.full*perLoop {
		loop := int64(0)
		if i >= perLoop {
			loop = i / perLoop
		}
		i -= loop * perLoop
		op := i
		var second int64
		if sh.slices == 2 {
			op, second = i>>1, i&1
		}
		p := place{op: int(op), loopOff: loop * chunksPerLoop * s.chunk, chunk: s.chunk, sliceSize: sh.slice}
		if second == 1 {
			p.sliceOff, p.sliceSize = sh.slice, s.chunk-sh.slice
		}
		return p, true
	}
	i -= sh.full * perLoop
	if sh.last == 0 || i >= ops*sh.lastSlices {
		return place{}, false
	}
	op := i
	var second int64
	if sh.lastSlices == 2 {
		op, second = i>>1, i&1
	}
	p := place{op: int(op), loopOff: sh.full * chunksPerLoop * s.chunk, chunk: sh.last, sliceSize: sh.lastSlice}
	if second == 1 {
		p.sliceOff, p.sliceSize = sh.lastSlice, sh.last-sh.lastSlice
	}
	return p, true
}

// span clamps n bytes at off to the end of the share.
func (sh *share) span(off, n int64) (units.Bytes, uint32) {
	off = min(off, sh.len)
	return units.Bytes(sh.off + off), uint32(min(n, sh.len-off))
}
