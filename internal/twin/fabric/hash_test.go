package fabric

import (
	"math"
	"testing"

	"weir/internal/cluster"
)

// Public test vectors of MurmurHash3_x86_32 for keys of whole words.
func TestMurmurVectors(t *testing.T) {
	for _, c := range []struct {
		key  []uint32 // little-endian words
		seed uint32
		want uint32
	}{
		{nil, 0, 0},
		{nil, 1, 0x514e28b7},
		{nil, 0xffffffff, 0x81f16f39},
		{[]uint32{0xffffffff}, 0, 0x76293b50},
		{[]uint32{0x87654321}, 0, 0xf55b516b},
		{[]uint32{0x87654321}, 0x5082edee, 0x2362f9de},
		{[]uint32{0}, 0, 0x2362f9de},
		{[]uint32{0x61616161}, 0x9747b28c, 0x5a97808a}, // "aaaa"
	} {
		h := c.seed
		for _, k := range c.key {
			h = mix(h, k)
		}
		if got := finish(h ^ uint32(4*len(c.key))); got != c.want {
			t.Errorf("key %x, seed %x: %08x, want %08x", c.key, c.seed, got, c.want)
		}
	}
}

func TestHashSelectsFields(t *testing.T) {
	base := Fields{SrcIP: 1, DstIP: 2, SrcPort: 3, DstPort: 4, DstQP: 5, Protocol: 6}
	for _, c := range []struct {
		name   string
		bit    cluster.HashField
		change func(*Fields)
	}{
		{"source address", cluster.HashSrcIP, func(f *Fields) { f.SrcIP++ }},
		{"destination address", cluster.HashDstIP, func(f *Fields) { f.DstIP++ }},
		{"source port", cluster.HashSrcPort, func(f *Fields) { f.SrcPort++ }},
		{"destination port", cluster.HashDstPort, func(f *Fields) { f.DstPort++ }},
		{"protocol", cluster.HashProtocol, func(f *Fields) { f.Protocol++ }},
		{"queue pair", cluster.HashDstQP, func(f *Fields) { f.DstQP++ }},
	} {
		other := base
		c.change(&other)
		const all = cluster.HashDstQP<<1 - 1
		if base.Hash(all, 7) == other.Hash(all, 7) {
			t.Errorf("%s is selected and does not matter", c.name)
		}
		if base.Hash(all&^c.bit, 7) != other.Hash(all&^c.bit, 7) {
			t.Errorf("%s is not selected and matters", c.name)
		}
	}
}

const fiveTuple = cluster.HashSrcIP | cluster.HashDstIP | cluster.HashSrcPort | cluster.HashDstPort | cluster.HashProtocol

// flow returns the header of flow i: neighbouring addresses and ports, as
// clusters have them.
func flow(i int) Fields {
	return Fields{SrcIP: 10<<24 | uint32(i), DstIP: 10<<24 | 0x10000 | uint32(i), SrcPort: 49152 + uint16(i%4), DstPort: 4791, Protocol: 17}
}

// Validation target V33: E[max load] and share of links used of n flows on m
// links, from the exact formula; the efficiency is max(1, n/m)/E[max].
func TestECMPIsBallsInBins(t *testing.T) {
	const seeds = 4000
	for _, c := range []struct {
		n, m                 int
		max, efficiency, use float64
	}{
		{2, 2, 1.500, .667, .750},
		{4, 2, 2.750, .727, .938},
		{8, 2, 5.094, .785, .996},
		{64, 2, 35.18, .910, 1},
		{4, 4, 2.125, .471, .684},
		{8, 4, 3.538, .565, .900},
		{16, 4, 6.139, .652, .990},
		{8, 8, 2.597, .385, .656},
		{16, 8, 4.201, .476, .882},
		{32, 8, 7.048, .568, .986},
		{64, 8, 12.24, .654, 1},
		{128, 8, 21.91, .730, 1},
		{16, 16, 3.078, .325, .644},
		{64, 16, 7.880, .508, .984},
		{128, 16, 13.36, .599, 1},
		{32, 32, 3.533, .283, .638},
		{64, 64, 3.958, .253, .635},
	} {
		var sumMax, sumUsed float64
		for seed := range uint32(seeds) {
			load := make([]int, c.m)
			most, used := 0, 0
			for i := range c.n {
				f := flow(i)
				k := f.Hash(fiveTuple, seed) % uint32(c.m)
				if load[k]++; load[k] == 1 {
					used++
				}
				most = max(most, load[k])
			}
			sumMax += float64(most)
			sumUsed += float64(used) / float64(c.m)
		}
		eMax, use := sumMax/seeds, sumUsed/seeds
		efficiency := math.Max(1, float64(c.n)/float64(c.m)) / eMax
		for _, v := range [...]struct {
			name      string
			got, want float64
		}{{"E[max]", eMax, c.max}, {"efficiency", efficiency, c.efficiency}, {"links used", use, c.use}} {
			if math.Abs(v.got-v.want) > 0.02*v.want {
				t.Errorf("%d flows on %d links: %s %.4f, want %.4f within 2 %%", c.n, c.m, v.name, v.got, v.want)
			}
		}
	}
}

// V33: with 8 flows on 8 links the fullest link has 2, 3, 4 flows with
// probability .498, .409, .080.
func TestECMPFullestOfEight(t *testing.T) {
	const seeds = 20000
	var count [9]int
	for seed := range uint32(seeds) {
		var load [8]int
		most := 0
		for i := range 8 {
			f := flow(i)
			k := f.Hash(fiveTuple, seed) % 8
			load[k]++
			most = max(most, load[k])
		}
		count[most]++
	}
	for k, want := range map[int]float64{2: .498, 3: .409, 4: .080} {
		if got := float64(count[k]) / seeds; math.Abs(got-want) > 0.02*want+0.003 {
			t.Errorf("P(max = %d) = %.4f, want %.3f", k, got, want)
		}
	}
}

// V35 and S6: flows with one source port between two hosts share one of m
// links, whatever their number; the queue pair in the hash spreads them again:
// n independent flows on 2 links use 1-2^-n of them.
func TestFixedSourcePort(t *testing.T) {
	const seeds = 4000
	for _, m := range []uint32{2, 4, 8} {
		for seed := range uint32(100) {
			used := map[uint32]bool{}
			for qp := range uint32(64) {
				f := Fields{SrcIP: 1, DstIP: 2, SrcPort: 49152, DstPort: 4791, Protocol: 17, DstQP: qp}
				used[f.Hash(fiveTuple, seed)%m] = true
			}
			if len(used) != 1 {
				t.Fatalf("%d of %d links used, want 1", len(used), m)
			}
		}
	}
	for n, want := range map[uint32]float64{2: .75, 4: .9375, 8: .996} {
		sum := 0.0
		for seed := range uint32(seeds) {
			var used [2]float64
			for qp := range n {
				f := Fields{SrcIP: 1, DstIP: 2, SrcPort: 49152, DstPort: 4791, Protocol: 17, DstQP: 0x100 + qp}
				used[f.Hash(fiveTuple|cluster.HashDstQP, seed)%2] = 1
			}
			sum += (used[0] + used[1]) / 2
		}
		if got := sum / seeds; math.Abs(got-want) > 0.01 {
			t.Errorf("%d queue pairs: %.4f of 2 links used, want %.4f", n, got, want)
		}
	}
}

// V36: with one seed on all switches, flows that reach a second-tier switch
// share the residue that sent them there, so it uses 1 of its m uplinks and
// there are m paths instead of m x m. Seeds of their own bring all back.
func TestPolarisation(t *testing.T) {
	const k, m = 8, 4
	for _, c := range []struct {
		seed  uint64
		paths int // of a leaf's flows, over leaf and second tier
		used  int // uplinks of each second-tier switch
	}{{seed: 0x5eed, paths: m, used: 1}, {seed: 0, paths: m * m, used: m}} {
		b := fatTree(k)
		b.c.Routing.HashSeed = c.seed
		f := b.fabric(t)
		used := map[cluster.NodeID]map[uint16]bool{}
		paths := 0
		for i := range 400 {
			src, dst := b.at("host-0", 0), b.at("host-127", 0)
			path, err := f.PathOf(src, dst, &Fields{SrcIP: f.Address(src), DstIP: f.Address(dst), SrcPort: uint16(49152 + i), DstPort: 4791, Protocol: 17})
			if err != nil {
				t.Fatal(err)
			}
			up := path[2] // host, leaf, second tier
			if used[up.Node] == nil {
				used[up.Node] = map[uint16]bool{}
			}
			if !used[up.Node][up.Out] {
				used[up.Node][up.Out] = true
				paths++
			}
		}
		if paths != c.paths || len(used) != m {
			t.Errorf("seed %#x: %d paths over %d second-tier switches, want %d over %d", c.seed, paths, len(used), c.paths, m)
		}
		for n, ports := range used {
			if len(ports) != c.used {
				t.Errorf("seed %#x: %s uses %d uplinks, want %d", c.seed, b.c.Nodes[n].Name, len(ports), c.used)
			}
		}
	}
}
