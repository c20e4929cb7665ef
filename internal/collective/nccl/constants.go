// Package nccl is NCCL's cost model: from the size of a communicator, the
// bandwidths of its rings and trees and tables of latencies it predicts how
// long an operation takes with each algorithm and protocol, and picks the
// fastest, as the library itself does. The simulator and the expectation take
// their latencies of a step from the same tables.
//
// Figures and formulas are those of src/graph/tuning.cc of NVIDIA/nccl, commit
// 5067397 (2.29 of 2026).
package nccl

import "weir/internal/collective"

// Arch is a generation of GPUs, by which the tables differ.
type Arch uint8

// The generations, by compute capability: 7, 8, 9, 10 and up.
const (
	Volta Arch = iota
	Ampere
	Hopper
	Blackwell
)

// ArchOf returns the generation that a catalogue name ("volta", "ampere",
// "hopper", "blackwell") means. Names that NCCL's tables do not know count as
// Ampere, its plainest generation.
func ArchOf(name string) Arch {
	switch name {
	case "volta":
		return Volta
	case "hopper":
		return Hopper
	case "blackwell":
		return Blackwell
	}
	return Ampere
}

// Link is what one step crosses.
type Link uint8

// The links.
const (
	NVLink Link = iota
	PCIe
	Network
)

// Latencies in microseconds are arrays by protocol in the order of
// collective.Protocol: Simple, LL, LL128.
type latency [3]float64

func baseLatency(a collective.Algorithm) latency {
	switch a {
	case collective.Tree:
		return latency{8.4, 6.8, 14}
	case collective.NVLS, collective.NVLSTree:
		return latency{}
	}
	return latency{8.4, 6.6, 14}
}

func linkLatency(l Link, a collective.Algorithm) latency {
	switch a {
	case collective.Tree:
		return [...]latency{{4, 0.6, 1.25}, {4, 1, 1.9}, {14, 5, 8.5}}[l]
	case collective.NVLS:
		return [...]latency{{25}, {}, {18}}[l]
	case collective.NVLSTree:
		return [...]latency{{25}, {}, {20.9}}[l]
	}
	return [...]latency{{3.4, 0.6, 1.9}, {5.7, 1, 2.5}, {14, 2.7, 4}}[l]
}

// Base returns what launching an operation costs, in microseconds.
func Base(a collective.Algorithm, p collective.Protocol) float64 { return baseLatency(a)[p] }

// Step returns the latency of one step over a link, in microseconds: of an
// operation inside the node for NVLS and NVLSTree, whose network part is
// Step(Network, ...).
func Step(l Link, a collective.Algorithm, p collective.Protocol) float64 {
	return linkLatency(l, a)[p]
}

// Caps in GB/s, by scale: one node, two nodes, more.
type byScale [3]float64

// llMax bounds the bus bandwidth of LL: by GPU on one node; by CPU (row 0
// Intel and others, row 1 AMD) on more.
var llMax = [...]byScale{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}

// Caps of one channel, by generation.
var (
	ringLL128Max = [...]byScale{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {40, 40, 40}}
	treeLL128Max = [...]byScale{{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29}, {55.6, 31.67, 20}}
	treeMax      = [...]byScale{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}
	nvlsTreeMax  = [...]byScale{{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 80}}
)

// nvlsEfficiency is the share of NVLink's bandwidth that NVLS reaches.
var nvlsEfficiency = [...]float64{0, 0, 0.85, 0.74}

// treeCorrection scales the bandwidth of trees by size: entry i is for 64 B x
// 2^i up to twice that. Rows in the order of collective.Protocol.
var treeCorrection = [3][24]float64{
	{.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
	{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
	{1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
}

// Data that a thread must have before one more channel is used, in bytes, and
// threads of a channel (enqueue.cc, device.h); order of collective.Protocol.
var (
	threadThreshold = [...]int64{64, 8, 8}
	threads         = [...]int64{512, 512, 640}
)
