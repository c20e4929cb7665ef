package collective

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"weir/units"
)

func unitsOf(n uint32) units.Bytes { return units.Bytes(n) }

// input is what rank r holds at element x before the operation.
func input(r, x int) int64 { return int64((r+1)*7919+x*104729) % 1000003 }

// fill writes the inputs, with rubbish where an operation must not read.
func (m *machine) fill() {
	s := m.s
	block := int(s.Bytes()) / s.Ranks()
	for r := range s.Ranks() {
		for x := range m.in[r] {
			m.in[r][x] = input(r, x)
			switch s.Settings().Op {
			case AllGather:
				if x/block != r {
					m.in[r][x] = -1 << 40
				}
			case Broadcast:
				if r != s.Settings().Root {
					m.in[r][x] = -1 << 40
				}
			}
		}
	}
}

// want is what rank r must hold at element x afterwards; false: anything.
func want(s *Schedule, r, x int) (int64, bool) {
	n := s.Ranks()
	block := int(s.Bytes()) / n
	sum := func() int64 {
		var v int64
		for q := range n {
			v += input(q, x)
		}
		return v
	}
	switch s.Settings().Op {
	case AllReduce:
		return sum(), true
	case AllGather:
		return input(x/block, x), true
	case ReduceScatter:
		return sum(), x/block == r
	case AllToAll:
		return input(x/block, r*block+x%block), true
	}
	return input(s.Settings().Root, x), true
}

// runAndCheck runs the schedule with FIFOs of depth slices (0: without limit)
// and checks every element.
func runAndCheck(c Communicator, set Settings, bounded bool) error {
	s, err := New(c, set)
	if err != nil {
		return err
	}
	depth := 0
	if bounded {
		depth = s.Depth()
	}
	m := newMachine(s, depth)
	m.fill()
	if s.Ranks() == 1 {
		return m.run()
	}
	if err := m.run(); err != nil {
		return err
	}
	for r := range s.Ranks() {
		for x := range m.out[r] {
			if w, any := want(s, r, x); any && m.out[r][x] != w {
				return fmt.Errorf("rank %d element %d: got %d, want %d", r, x, m.out[r][x], w)
			}
		}
	}
	return nil
}

// variants are all operations and algorithms that fit the communicator.
func variants(c Communicator) []Settings {
	var all []Settings
	for op := AllReduce; op <= Broadcast; op++ {
		for _, a := range Algorithms(op) {
			one := c.Ranks == c.RanksPerNode
			if a == NVLS && !one || a == NVLSTree && one {
				continue
			}
			all = append(all, Settings{Op: op, Algorithm: a, BuffSize: units.KiB})
		}
	}
	return all
}

// Every schedule computes the right result, whether FIFOs have no limit or
// the slots of the real buffers, for all shapes of small clusters.
func TestResults(t *testing.T) {
	shapes := [][2]int{} // ranks, ranks per node
	for n := 1; n <= 17; n++ {
		shapes = append(shapes, [2]int{n, n}, [2]int{n, 1})
	}
	for k := 2; k <= 5; k++ {
		for g := 2; g <= 8; g++ {
			shapes = append(shapes, [2]int{k * g, g})
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, shape := range shapes {
		nics := []int{1, 2, shape[1]}[random.IntN(3)]
		c := Communicator{Ranks: shape[0], RanksPerNode: shape[1], Channels: 1 + random.IntN(5), NICs: nics}
		for _, set := range variants(c) {
			set.Bytes = units.Bytes(random.IntN(300 * c.Channels))
			for _, bounded := range []bool{false, true} {
				if err := runAndCheck(c, set, bounded); err != nil {
					t.Fatalf("%+v %s %s %d bytes bounded %v: %v", c, set.Op, set.Algorithm, set.Bytes, bounded, err)
				}
			}
		}
	}
}

// Every root of a broadcast reaches everyone.
func TestBroadcastRoots(t *testing.T) {
	for n, g := range map[int]int{1: 1, 2: 1, 7: 7, 8: 4, 12: 3, 16: 8} {
		for root := range n {
			c := Communicator{Ranks: n, RanksPerNode: g, Channels: 3, NICs: g}
			set := Settings{Op: Broadcast, Algorithm: Ring, Root: root, Bytes: 1234, BuffSize: units.KiB}
			if err := runAndCheck(c, set, true); err != nil {
				t.Fatalf("%d ranks, root %d: %v", n, root, err)
			}
		}
	}
}

// Any size, protocol, buffer and number of channels.
func TestResultsProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := rapid.IntRange(1, 8).Draw(t, "ranks per node")
		c := Communicator{
			Ranks:        g * rapid.IntRange(1, 4).Draw(t, "nodes"),
			RanksPerNode: g,
			Channels:     rapid.IntRange(1, 9).Draw(t, "channels"),
			NICs:         rapid.IntRange(1, 9).Draw(t, "NICs"),
		}
		set := rapid.SampledFrom(variants(c)).Draw(t, "variant")
		set.Bytes = units.Bytes(rapid.IntRange(0, 6000).Draw(t, "bytes"))
		set.BuffSize = units.Bytes(rapid.SampledFrom([]int{1024, 1100, 8192, 10000, 4 << 20}).Draw(t, "buffer"))
		set.Root = rapid.IntRange(0, c.Ranks-1).Draw(t, "root")
		if set.Algorithm < NVLS {
			set.Protocol = rapid.SampledFrom([]Protocol{Simple, LL, LL128}).Draw(t, "protocol")
		}
		if err := runAndCheck(c, set, true); err != nil {
			t.Fatal(err)
		}
	})
}

// sentBytes runs the schedule and returns, per rank, the bytes sent, and, per
// node, those that leave it.
func sentBytes(t *testing.T, c Communicator, set Settings) (ranks, nodes []int64) {
	t.Helper()
	s, err := New(c, set)
	if err != nil {
		t.Fatal(err)
	}
	m := newMachine(s, s.Depth())
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	ranks, nodes = make([]int64, c.Ranks), make([]int64, c.Ranks/c.RanksPerNode)
	for a := range m.sent {
		for b, n := range m.sent[a] {
			ranks[a] += n
			if a/c.RanksPerNode != b/c.RanksPerNode {
				nodes[a/c.RanksPerNode] += n
			}
		}
	}
	return ranks, nodes
}

// Identities of validation row V43 (nccl-tests, PERFORMANCE.md): bytes that
// each rank sends, and that leave each node, for 120 KiB on 4 nodes of 4.
func TestSentBytes(t *testing.T) {
	c := Communicator{Ranks: 16, RanksPerNode: 4, Channels: 4, NICs: 4}
	for _, test := range []struct {
		op   Op
		a    Algorithm
		rank int64 // 0: differs by rank
		node int64
	}{
		{AllReduce, Ring, 230400, 230400},         // 2 x 15/16 x S, all of it over the node's boundary
		{AllGather, Ring, 115200, 115200},         // 15/16 x S
		{ReduceScatter, Ring, 115200, 115200},     // 15/16 x S
		{AllToAll, Direct, 115200, 368640},        // 15/16 x S; 4 ranks x 12 blocks of 7 680
		{AllReduce, Hierarchical, 230400, 184320}, // 2 x 3/4 x S inside and 2 x 3/4 x S/4 between nodes; the latter from 4 ranks
		{AllReduce, NVLSTree, 0, 0},               // sums checked below
		{AllReduce, Tree, 0, 0},                   // likewise
	} {
		set := Settings{Op: test.op, Algorithm: test.a, Bytes: 122880}
		ranks, nodes := sentBytes(t, c, set)
		var all int64
		for r, n := range ranks {
			if all += n; test.rank > 0 && n != test.rank {
				t.Errorf("%s %s: rank %d sends %d, want %d", test.op, test.a, r, n, test.rank)
			}
		}
		var out int64
		for k, n := range nodes {
			if out += n; test.node > 0 && n != test.node {
				t.Errorf("%s %s: %d bytes leave node %d, want %d", test.op, test.a, n, k, test.node)
			}
		}
		// A tree over m nodes sends everything up and down each of its m-1 links.
		if test.a == NVLSTree && (all != 737280 || out != 737280) {
			t.Errorf("nvls_tree: %d sent, %d leave nodes, want 737280", all, out)
		}
		if test.a == Tree && (all != 3686400 || out != 737280) {
			t.Errorf("tree: %d sent, %d leave nodes, want 3686400 and 737280", all, out)
		}
	}
}

// Traffic, an estimate, agrees with what lanes really send: in the mean over
// ranks and lanes, within 10 %. Trees differ by rank, so they count by links.
func TestTraffic(t *testing.T) {
	c := Communicator{Ranks: 16, RanksPerNode: 4, Channels: 4, NICs: 4}
	for _, set := range variants(c) {
		set.Bytes, set.BuffSize = 122880, 16*units.KiB
		s, err := New(c, set)
		if err != nil {
			t.Fatal(err)
		}
		m := newMachine(s, s.Depth())
		if err := m.run(); err != nil {
			t.Fatal(err)
		}
		var bytes, estimate float64
		for r := range s.Ranks() {
			for lane := range s.Lanes() {
				for _, q := range s.AppendPeers(nil, r, lane) {
					if r/4 != int(q)/4 {
						b, _ := s.Traffic(lane)
						estimate += float64(b)
					}
				}
			}
			for q, n := range m.sent[r] {
				if r/4 != q/4 {
					bytes += float64(n)
				}
			}
		}
		if math.Abs(estimate/bytes-1) > 0.1 {
			t.Errorf("%s %s: estimated %.0f bytes between nodes, sent %.0f", set.Op, set.Algorithm, estimate, bytes)
		}
	}
}

// On two nodes, trees send half of what rings send over the boundary (V49).
func TestTwoNodeTree(t *testing.T) {
	c := Communicator{Ranks: 16, RanksPerNode: 8, Channels: 16, NICs: 8}
	for _, test := range []struct {
		a    Algorithm
		node int64
	}{{Ring, 460800}, {Tree, 245760}, {NVLSTree, 245760}} {
		_, nodes := sentBytes(t, c, Settings{Op: AllReduce, Algorithm: test.a, Bytes: 245760})
		if nodes[0] != test.node || nodes[1] != test.node {
			t.Errorf("%s: %v bytes leave the nodes, want %d", test.a, nodes, test.node)
		}
	}
}

// Chunk and message sizes of validation row V56.
func TestMessageSizes(t *testing.T) {
	for _, test := range []struct {
		c     Communicator
		set   Settings
		first uint32
		depth int
	}{
		// 1 GiB over 512 ranks and 16 channels: chunks of 128 KiB, messages of 64 KiB.
		{Communicator{512, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: Ring, Bytes: units.GiB}, 64 << 10, 4},
		// Large enough for the slots: chunks of 2 MiB, messages of 1 MiB.
		{Communicator{16, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: Ring, Bytes: units.GiB}, 1 << 20, 4},
		// LL: 512 KiB in 8 slots, half of them flags.
		{Communicator{16, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: Ring, Protocol: LL, Bytes: units.GiB}, 32 << 10, 8},
		// LL128: 4.6875 MiB in 8 slots, 120 of 128 bytes data.
		{Communicator{16, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: Ring, Protocol: LL128, Bytes: units.GiB}, 576000, 8},
		{Communicator{16, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: Tree, Bytes: units.GiB}, 512 << 10, 8},
		{Communicator{16, 8, 16, 8}, Settings{Op: Broadcast, Algorithm: Ring, Bytes: units.GiB}, 512 << 10, 8},
		{Communicator{16, 8, 16, 8}, Settings{Op: AllToAll, Algorithm: Direct, Bytes: units.GiB}, 128 << 10, 8},
		{Communicator{16, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: NVLSTree, Bytes: units.GiB}, 128 << 10, 8},
		// Trees with LL128 cut chunks until the tree is busy: 4.6875 MiB / 8 / 2^4, 15 of 16 parts data.
		{Communicator{512, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: Tree, Protocol: LL128, Bytes: 16 * units.MiB}, 36000, 8},
		{Communicator{32, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: NVLSTree, Bytes: units.GiB}, 64 << 10, 8},
		{Communicator{32, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: NVLSTree, Bytes: 4 * units.MiB}, 32 << 10, 8},
		{Communicator{8, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: NVLS, Bytes: 4 * units.MiB}, 16 << 10, 8},
		// Chunks up to 32 KiB stay whole.
		{Communicator{512, 8, 16, 8}, Settings{Op: AllReduce, Algorithm: Ring, Bytes: 16 * units.MiB}, 2 << 10, 4},
	} {
		s, err := New(test.c, test.set)
		if err != nil {
			t.Fatal(err)
		}
		// Rank 3 is an inner rank; the second channel has no own blocks.
		st, ok := s.Step(3, s.Lanes()/s.Channels(), 0)
		if !ok || st.Bytes != test.first || s.Depth() != test.depth {
			t.Errorf("%s %s %s: first slice %d, depth %d, want %d and %d",
				test.set.Op, test.set.Algorithm, test.set.Protocol, st.Bytes, s.Depth(), test.first, test.depth)
		}
	}
	if got := [...]units.Bytes{Simple.BuffSize(), LL.BuffSize(), LL128.BuffSize()}; got != [...]units.Bytes{4194304, 524288, 4915200} {
		t.Errorf("buffer sizes %v", got)
	}
	if got := [...]units.Bytes{Simple.WireBytes(960), LL.WireBytes(960), LL128.WireBytes(960)}; got != [...]units.Bytes{960, 1920, 1024} {
		t.Errorf("wire bytes of 960: %v", got)
	}
}

// Every channel crosses nodes at its own rail, and all rails are used.
func TestRails(t *testing.T) {
	for _, test := range []struct {
		c       Communicator
		a       Algorithm
		op      Op
		perRail bool // crossing ranks sit next to the NIC they use, on the receiving side
	}{
		{Communicator{32, 8, 16, 8}, Ring, AllReduce, true},
		{Communicator{32, 8, 8, 4}, Ring, AllGather, true},
		{Communicator{32, 8, 16, 8}, NVLSTree, AllReduce, true},
		{Communicator{32, 8, 16, 8}, Hierarchical, AllReduce, true},
		{Communicator{32, 8, 16, 8}, Tree, AllReduce, false},
		{Communicator{32, 8, 16, 8}, Direct, AllToAll, true},
	} {
		s, err := New(test.c, Settings{Op: test.op, Algorithm: test.a, Bytes: units.MiB})
		if err != nil {
			t.Fatal(err)
		}
		used := map[int]int{}
		for r := range s.Ranks() {
			for lane := range s.Lanes() {
				for _, p := range s.AppendPeers(nil, r, lane) {
					if r/s.RanksPerNode() == int(p)/s.RanksPerNode() {
						continue
					}
					from, to := s.NICs(int32(r), p, s.Channel(lane), true)
					used[from]++
					if from != to {
						t.Fatalf("%s: %d to %d leaves the rail: NIC %d to %d", test.a, r, p, from, to)
					}
					if got := s.NearGPU(to); test.perRail && got != int(p)%s.RanksPerNode() {
						t.Errorf("%s: %d to %d arrives at NIC %d of GPU %d", test.a, r, p, to, got)
					}
				}
			}
		}
		if len(used) != test.c.NICs {
			t.Errorf("%s: NICs used %v, want %d", test.a, used, test.c.NICs)
		}
		for _, n := range used {
			if n != used[0] {
				t.Errorf("%s: NICs are used unevenly: %v", test.a, used)
			}
		}
	}
}

// AppendPeers and AppendSources name exactly the ranks that steps send to and
// receive from.
func TestAppendPeers(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {5, 1}, {6, 6}, {12, 4}, {15, 3}} {
		c := Communicator{Ranks: shape[0], RanksPerNode: shape[1], Channels: 3, NICs: 2}
		for _, set := range variants(c) {
			set.Bytes = 5000
			set.Root = shape[0] / 2
			s, err := New(c, set)
			if err != nil {
				t.Fatal(err)
			}
			for r := range s.Ranks() {
				for lane := range s.Lanes() {
					sent, got := map[int32]bool{}, map[int32]bool{}
					for i := 0; ; i++ {
						st, ok := s.Step(r, lane, i)
						if !ok {
							break
						}
						for k := range MaxPeers {
							sent[st.Send[k]], got[st.Recv[k]] = true, true
						}
					}
					delete(sent, NoPeer)
					delete(got, NoPeer)
					for what, test := range map[string]struct {
						named []int32
						used  map[int32]bool
					}{"peers": {s.AppendPeers(nil, r, lane), sent}, "sources": {s.AppendSources(nil, r, lane), got}} {
						for _, p := range test.named {
							if !test.used[p] {
								t.Errorf("%v %s %s rank %d lane %d: %d is among the %s for nothing", shape, set.Op, set.Algorithm, r, lane, p, what)
							}
						}
						if len(test.named) != len(test.used) {
							t.Errorf("%v %s %s rank %d lane %d: %s %v, used %v", shape, set.Op, set.Algorithm, r, lane, what, test.named, test.used)
						}
					}
				}
			}
		}
	}
}

// The trees of NCCL's trees.cc, as its comment draws them for 14 and for 13 nodes.
func TestDoubleTree(t *testing.T) {
	for _, test := range []struct {
		n, r, which      int
		up, down0, down1 int
	}{
		{14, 0, 0, -1, -1, 8}, {14, 8, 0, 0, 4, 12}, {14, 12, 0, 8, 10, 13}, {14, 10, 0, 12, 9, 11}, {14, 13, 0, 12, -1, -1}, {14, 4, 0, 8, 2, 6},
		{14, 13, 1, -1, -1, 5}, {14, 5, 1, 13, 9, 1}, {14, 0, 1, 1, -1, -1},
		{13, 1, 1, -1, -1, 9}, {13, 9, 1, 1, 5, 0}, {13, 0, 1, 9, 11, -1},
		{1, 0, 0, -1, -1, -1}, {1, 0, 1, -1, -1, -1}, {2, 0, 0, -1, -1, 1}, {2, 1, 1, -1, -1, 0},
	} {
		b := doubleTree(test.n, test.r, test.which)
		if b.up != test.up || b.down0 != test.down0 || b.down1 != test.down1 {
			t.Errorf("tree %d of %d, node %d: up %d down %d %d, want %d %d %d",
				test.which, test.n, test.r, b.up, b.down0, b.down1, test.up, test.down0, test.down1)
		}
	}
	// No node is a leaf of both trees: what it does not pass on in one, it does in the other.
	for n := 2; n < 300; n++ {
		for r := range n {
			a, b := doubleTree(n, r, 0), doubleTree(n, r, 1)
			leaf := func(x branch) bool { return x.down0 < 0 && x.down1 < 0 }
			if leaf(a) && leaf(b) && n > 2 {
				t.Fatalf("%d of %d is a leaf of both trees", r, n)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	ok := Communicator{Ranks: 16, RanksPerNode: 8, Channels: 2, NICs: 8}
	for _, test := range []struct {
		c   Communicator
		set Settings
		err string
	}{
		{Communicator{Ranks: 7, RanksPerNode: 2, Channels: 1}, Settings{Algorithm: Ring}, "ranks per node: found 2, allowed are divisors of 7 ranks"},
		{Communicator{Ranks: 0, RanksPerNode: 1, Channels: 1}, Settings{Algorithm: Ring}, "ranks: found 0, allowed are 1 to 131072"},
		{Communicator{Ranks: 2, RanksPerNode: 1, Channels: 65}, Settings{Algorithm: Ring}, "channels: found 65, allowed are 1 to 64"},
		{ok, Settings{Op: Broadcast, Algorithm: Tree}, "algorithm: broadcast has no tree, allowed are ring"},
		{ok, Settings{Op: AllReduce, Algorithm: Auto}, "algorithm: all_reduce has no auto, allowed are ring, tree, nvls, nvls_tree, hierarchical"},
		{ok, Settings{Algorithm: NVLS}, "algorithm: nvls works inside one node, found 2 nodes; nvls_tree joins nodes"},
		{ok, Settings{Algorithm: NVLSTree, Protocol: LL}, "protocol: found LL, but nvls_tree has Simple only"},
		{ok, Settings{Op: Broadcast, Algorithm: Ring, Root: 16}, "root: found 16, allowed are 0 to 15"},
		{ok, Settings{Algorithm: Ring, BuffSize: 100}, "buffer size: found 100B, allowed are 1KiB to 1GiB"},
	} {
		if _, err := New(test.c, test.set); err == nil || err.Error() != test.err {
			t.Errorf("got %v, want %s", err, test.err)
		}
	}
}

func TestStepDoesNotAllocate(t *testing.T) {
	c := Communicator{Ranks: 512, RanksPerNode: 8, Channels: 16, NICs: 8}
	for _, set := range variants(c) {
		set.BuffSize, set.Bytes = 0, units.GiB
		s, err := New(c, set)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		if n := testing.AllocsPerRun(100, func() { s.Step(77, 3, i); i++ }); n != 0 {
			t.Errorf("%s %s: %v allocations a step", set.Op, set.Algorithm, n)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	c := Communicator{Ranks: 512, RanksPerNode: 8, Channels: 16, NICs: 8}
	for _, set := range variants(c) {
		set.BuffSize, set.Bytes = 0, units.GiB
		s, _ := New(c, set)
		b.Run(set.Op.String()+"/"+set.Algorithm.String(), func(b *testing.B) {
			lane, i := 0, 0
			for b.Loop() {
				if _, ok := s.Step(77, lane, i); ok {
					i++
				} else {
					i = 0
					lane = (lane + 1) % s.Lanes()
				}
			}
		})
	}
}
