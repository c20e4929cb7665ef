package nccl

import (
	"math/bits"

	"weir/internal/collective"
	"weir/units"
)

// System is what the model knows of a communicator.
type System struct {
	Ranks, Nodes int
	Arch         Arch
	CPUAMD       bool // else Intel or another
	Local        Link // NVLink or PCIe: between GPUs of a node
	NVLS         bool // an NVLink switch that adds and multicasts
	LL128        bool // allowed: NVLink inside the node, GPUDirect to the NIC

	// Rings (and trees) that the search for paths found, and the bandwidth of
	// one in GB/s: between nodes, inside a node as part of a ring that leaves
	// it, and inside a node for trees and for NVLS, whose graphs may be wider
	// there. They are then doubled, so an operation runs on up to Channels
	// channels of half the bandwidth each.
	Rings                               int
	InterGBs, RingGBs, TreeGBs, NVLSGBs float64
	Channels                            int

	NetLatency float64 // of the NIC, as its plugin states it, in microseconds; usually 0
}

func (s *System) scale() int { return min(s.Nodes, 3) - 1 }

// steps returns how many steps an operation's ring has, and how many of them
// cross nodes.
func (s *System) steps(op collective.Op) (all, net int) {
	n, k := s.Ranks, s.Nodes
	switch op {
	case collective.AllReduce:
		all, net = 2*(n-1), 2*(k-1)
	case collective.AllGather, collective.ReduceScatter:
		all, net = n-1, k-1
	default:
		all, net = n, k
	}
	if k == 1 {
		net = 0
	}
	return all, net
}

// offered tells whether the library would consider the combination.
func (s *System) offered(op collective.Op, a collective.Algorithm, p collective.Protocol) bool {
	if s.Ranks < 2 || p == collective.LL128 && !s.LL128 {
		return false
	}
	nvls := s.NVLS && p == collective.Simple && s.Rings >= 2 && s.Arch >= Hopper
	switch a {
	case collective.Ring:
		return op != collective.AllToAll
	case collective.Tree:
		return op == collective.AllReduce
	case collective.NVLS:
		return nvls && s.Nodes == 1 && (op == collective.AllReduce || op == collective.AllGather || op == collective.ReduceScatter)
	case collective.NVLSTree:
		return nvls && s.Nodes > 1 && op == collective.AllReduce
	}
	return false
}

// Bandwidth returns the model's algorithm bandwidth in GB/s: size over time
// without latency. 0: not offered.
func (s *System) Bandwidth(op collective.Op, a collective.Algorithm, p collective.Protocol) float64 {
	if !s.offered(op, a, p) {
		return 0
	}
	rings := float64(s.Rings)
	one := s.InterGBs
	if s.Nodes <= 2 { // tuned so: on two nodes, a tree needs half of the network's bandwidth
		one = s.RingGBs
		if a == collective.Tree {
			one = s.TreeGBs
		}
	}
	if a == collective.NVLS || a == collective.NVLSTree {
		one = s.nvlsBandwidth(op, a)
	}
	bus := rings * one
	switch {
	case a == collective.Ring && p == collective.LL:
		bus = min(s.llCap(), bus*.5)
	case a == collective.Ring && p == collective.LL128:
		bus = min(bus*.92, rings*ringLL128Max[s.Arch][s.scale()])
	case a == collective.Tree:
		bus = min(bus*.92, rings*treeMax[s.Arch][s.scale()])
		switch p {
		case collective.LL:
			bus = min(bus/3.8, s.llCap())
		case collective.LL128:
			share := 120. / 128
			if s.Nodes == 1 {
				share = 7. / 9
			}
			bus = min(bus*share, rings*treeLL128Max[s.Arch][s.scale()])
		}
	}
	// From bus to algorithm bandwidth.
	switch {
	case a == collective.Tree:
		return bus * .5
	case a != collective.Ring && op != collective.AllReduce:
		return bus
	}
	steps, _ := s.steps(op)
	return bus * float64(s.Ranks) / float64(steps)
}

// BusCap returns the bus bandwidth in GB/s that GPUs reach with an algorithm
// and a protocol whatever the links, by the library's tables; 0: no figure.
func (s *System) BusCap(a collective.Algorithm, p collective.Protocol) float64 {
	rings := float64(s.Rings)
	switch {
	case p == collective.LL && a <= collective.Tree:
		return s.llCap()
	case a == collective.Ring && p == collective.LL128:
		return rings * ringLL128Max[s.Arch][s.scale()]
	case a == collective.Tree && p == collective.LL128:
		return rings * treeLL128Max[s.Arch][s.scale()]
	case a == collective.Tree:
		return rings * treeMax[s.Arch][s.scale()]
	case a == collective.NVLSTree:
		return rings * nvlsTreeMax[s.Arch][s.scale()]
	}
	return 0
}

func (s *System) nvlsBandwidth(op collective.Op, a collective.Algorithm) float64 {
	rings := float64(s.Rings)
	intra := s.NVLSGBs * nvlsEfficiency[s.Arch] * (rings - 1) / rings
	inter := s.InterGBs
	if op == collective.AllReduce {
		intra *= 2
	} else {
		perNode := float64(s.Ranks / s.Nodes)
		intra *= (perNode - 1) / perNode
	}
	if a == collective.NVLS { // on one node, InterGBs has no meaning
		return intra
	}
	if s.Nodes == 2 { // each node sends to the other half of what a ring would
		inter *= 2
	}
	return min(intra, inter, nvlsTreeMax[s.Arch][s.scale()])
}

func (s *System) llCap() float64 {
	row := 0
	if s.Nodes == 1 {
		row = int(s.Arch)
	} else if s.CPUAMD {
		row = 1
	}
	return llMax[row][s.scale()]
}

// PostOverhead is what posting one network operation costs the proxy, in
// microseconds. It bounds the pace of steps inside the node of a ring that
// leaves it.
func (s *System) PostOverhead(p collective.Protocol) float64 {
	if s.Nodes == 1 {
		return 0
	}
	post := 1.
	if s.CPUAMD {
		post = 2
	}
	if p == collective.Simple {
		post *= 3
	}
	return post
}

// Part is one term of a latency: Count times Each microseconds. Over tells
// what link the steps cross; Launch is the base latency.
type Part struct {
	Launch bool
	Over   Link
	Count  int
	Each   float64
}

// Parts returns the terms of the model's latency, without the plateau factor
// of Time: the launch, the steps inside nodes and the steps between nodes.
func (s *System) Parts(op collective.Op, a collective.Algorithm, p collective.Protocol) [3]Part {
	intra := Step(s.Local, a, p)
	inter := Step(Network, a, p)
	if s.Ranks == s.Nodes { // one rank a node: nothing hides the latency
		inter = Step(Network, collective.Tree, p)
	}
	inter += s.NetLatency
	if p == collective.Simple { // the flush after the data
		inter += s.NetLatency
	}
	depth := bits.Len(uint(s.Nodes)) - 1
	parts := [3]Part{{Launch: true, Count: 1, Each: Base(a, p)}, {Over: s.Local, Each: intra}, {Over: Network, Each: inter}}
	local, net := &parts[1], &parts[2]
	switch a {
	case collective.Tree:
		local.Count, net.Count = 2*(s.Ranks/s.Nodes-1), 2*depth
	case collective.NVLS:
		local.Count = 1
	case collective.NVLSTree:
		local.Count, net.Count = 1, 2*depth
	default:
		all, cross := s.steps(op)
		if op == collective.Broadcast { // all steps count as the slowest link's
			if p == collective.Simple { // those of trees stand for the time of a chunk
				local.Each, net.Each = Step(s.Local, collective.Tree, p), Step(Network, collective.Tree, p)
			}
			if s.Nodes > 1 {
				net.Count = all
			} else {
				local.Count = all
			}
			break
		}
		local.Count, local.Each = all-cross, max(intra, s.PostOverhead(p))
		net.Count = cross
	}
	return parts
}

// Latency returns the model's latency of an operation of a size, in microseconds.
func (s *System) Latency(op collective.Op, a collective.Algorithm, p collective.Protocol, bytes units.Bytes) float64 {
	var l float64
	for _, part := range s.Parts(op, a, p) {
		l += float64(part.Count) * part.Each
	}
	if a == collective.Ring && p == collective.Simple && s.Nodes > 1 && op == collective.AllReduce &&
		int64(bytes)/int64(max(s.Channels, 1)*s.Ranks) >= 64 {
		l *= s.plateau()
	}
	return l
}

// plateau is by how much the latency of a ring of Simple over several nodes
// grows once every rank has data.
func (s *System) plateau() float64 {
	if s.Arch == Volta {
		return 1.9
	}
	return 1.4
}

// Time returns the model's time in microseconds, and false if the library
// would not consider the combination. It covers what the library's tables
// cover: not all_to_all, not Hierarchical.
func (s *System) Time(op collective.Op, a collective.Algorithm, p collective.Protocol, bytes units.Bytes) (float64, bool) {
	bw := s.Bandwidth(op, a, p)
	if bw <= 0 {
		return 0, false
	}
	bw *= s.TreeCorrection(a, p, bytes)
	return s.Latency(op, a, p, bytes) + float64(bytes)/(1000*bw), true
}

// TreeCorrection returns the factor on the bandwidth of trees at a size; 1 for
// other algorithms.
func (s *System) TreeCorrection(a collective.Algorithm, p collective.Protocol, bytes units.Bytes) float64 {
	size := bits.Len64(uint64(bytes)>>6) - 1
	if size >= 0 && (a == collective.Tree && size < 23 || a == collective.NVLSTree && size < 24 && s.Arch == Blackwell) {
		return treeCorrection[p][size]
	}
	return 1
}

// Choice is one way to run an operation, and the model's time for it in
// microseconds (0 for all_to_all, which the model does not time).
type Choice struct {
	Algorithm collective.Algorithm
	Protocol  collective.Protocol
	Time      float64
}

// Choose returns the fastest combination. algorithm and protocol restrict the
// choice where they are not Auto and not nil. With a restriction that leaves
// nothing, it returns false.
func (s *System) Choose(op collective.Op, bytes units.Bytes, algorithm collective.Algorithm, protocol *collective.Protocol) (Choice, bool) {
	if op == collective.AllToAll {
		ok := (algorithm == collective.Auto || algorithm == collective.Direct) && (protocol == nil || *protocol == collective.Simple)
		return Choice{Algorithm: collective.Direct}, ok
	}
	if algorithm == collective.Hierarchical {
		c := Choice{Algorithm: algorithm}
		if protocol != nil {
			c.Protocol = *protocol
		}
		return c, op == collective.AllReduce
	}
	var best Choice
	found := false
	for _, a := range collective.Algorithms(op) {
		if algorithm != collective.Auto && a != algorithm {
			continue
		}
		for p := collective.Simple; p <= collective.LL128; p++ {
			if protocol != nil && p != *protocol {
				continue
			}
			if t, ok := s.Time(op, a, p, bytes); ok && (!found || t < best.Time) {
				best, found = Choice{a, p, t}, true
			}
		}
	}
	return best, found
}

// ActiveChannels returns how many of the channels an operation of this size
// uses: each must have enough data for its threads.
func (s *System) ActiveChannels(c Choice, bytes units.Bytes) int {
	per := threads[c.Protocol] * threadThreshold[c.Protocol]
	if c.Algorithm == collective.Ring && c.Protocol == collective.LL {
		per *= int64(s.Ranks)
	}
	if c.Algorithm == collective.Direct {
		return s.Channels
	}
	return int(max(min(int64(bytes)/per, int64(s.Channels)), 1))
}
