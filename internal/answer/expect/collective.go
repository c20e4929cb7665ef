// Package expect says what a cluster should show: the bus bandwidth of
// collectives and the rate and latency between two NICs, from closed forms. It
// takes its latencies from NCCL's cost model and everything else from the
// cluster's description, and lists the terms of every figure.
package expect

import (
	"fmt"
	"math"

	"weir/internal/collective"
	"weir/internal/collective/nccl"
	"weir/internal/twin/plan"
	"weir/units"
)

// Term is one part of a time, in microseconds, or one candidate for the
// bottleneck, with what it was computed from.
type Term struct {
	Name string
	US   float64
	Text string
}

// Limit names what an expectation is bound by.
type Limit string

// The limits. Latency: the transfer takes less than half of the time. Library:
// the protocol's or the algorithm's own bandwidth in NCCL's tables.
const (
	ByLatency Limit = "latency"
	ByNIC     Limit = "NIC"
	ByPCIe    Limit = "PCIe"
	ByLocal   Limit = "NVLink"
	ByLibrary Limit = "library"
	ByUplinks Limit = "uplinks"
)

// Collective is what one size of a collective should show.
type Collective struct {
	Op            collective.Op
	Choice        nccl.Choice
	Bytes         units.Bytes
	Ranks         int
	TimeUS        float64
	BusBW         float64 // expected, GB/s, as nccl-tests prints it
	IdealBusBW    float64 // bandwidth alone: no latency, no overhead of the library
	Limit         Limit
	IdealLimit    Limit
	Latency       []Term // launch and steps
	Transfers     []Term // time of the data on each resource; the longest one counts
	TransferShare float64
}

// sustained is the share of the ideal rate that a NIC keeps under NCCL: 0.96
// of line rate where 0.980 are payload (validation rows V01, V45, V48).
const sustained = 0.96 / 0.98

// Of returns the expectation of a size of a plan's job.
func Of(p *plan.Plan, bytes units.Bytes) (Collective, error) {
	choice, err := p.Choose(bytes)
	if err != nil {
		return Collective{}, err
	}
	return With(p, choice, bytes), nil
}

// With returns the expectation of a size, run with a given algorithm and protocol.
func With(p *plan.Plan, choice nccl.Choice, bytes units.Bytes) Collective {
	e := Collective{Op: p.Job.Op, Choice: choice, Bytes: bytes, Ranks: p.Ranks}
	if p.Ranks == 1 {
		e.IdealLimit, e.Limit = ByLibrary, ByLatency
		return e
	}
	if choice.Algorithm == collective.InNetwork {
		return inNetwork(p, e)
	}
	ideal, limit := bottleneck(choice, transfers(p, choice, bytes, true))
	e.IdealLimit = limit
	e.IdealBusBW = busBW(p, bytes, ideal)

	e.Latency = latency(p, choice, bytes)
	for _, t := range e.Latency {
		e.TimeUS += t.US
	}
	all := transfers(p, choice, bytes, false)
	if t, ok := libraryTransfer(p, choice, bytes); ok {
		all = append(all, t)
	}
	transfer, limit := bottleneck(choice, all)
	for _, r := range all {
		e.Transfers = append(e.Transfers, r.Term)
	}
	e.TimeUS += transfer
	e.BusBW = busBW(p, bytes, e.TimeUS)
	e.TransferShare = transfer / e.TimeUS
	e.Limit = limit
	if e.TransferShare < 0.5 {
		e.Limit = ByLatency
	}
	return e
}

func busBW(p *plan.Plan, bytes units.Bytes, us float64) float64 {
	if us <= 0 {
		return math.Inf(1)
	}
	return float64(bytes) / us / 1000 * BusFactor(p.Job.Op, p.Ranks)
}

// resource is a Term that may be the bottleneck.
type resource struct {
	Term
	limit Limit
}

// bottleneck returns the time that the data take, and what takes most of it.
// The phases of Hierarchical follow one another; all else overlaps.
func bottleneck(choice nccl.Choice, all []resource) (float64, Limit) {
	us, limit := longest(all)
	if choice.Algorithm == collective.Hierarchical {
		us = 0
		for _, r := range all {
			if r.limit != ByPCIe {
				us += r.US
			}
		}
	}
	return us, limit
}

// longest returns the time of the bottleneck and its name. NCCL's figures for
// the library derive from the NIC's rate, too, so a link that is busy nearly as
// long is the better name.
func longest(all []resource) (float64, Limit) {
	var us float64
	best := resource{limit: ByLibrary}
	for _, r := range all {
		us = max(us, r.US)
		if r.limit != ByLibrary && r.US > best.US {
			best = r
		}
	}
	if best.US < 0.95*us {
		return us, ByLibrary
	}
	return us, best.limit
}

// latency lists the launch and the steps. The ring's plateau factor of NCCL's
// own choice is left out: it stands for bandwidth that was lost, not for time
// that passes.
func latency(p *plan.Plan, choice nccl.Choice, bytes units.Bytes) []Term {
	var terms []Term
	extra := fabricExtra(p)
	add := func(name string, count int, each float64) {
		if count > 0 && each > 0 {
			terms = append(terms, Term{name, float64(count) * each, fmt.Sprintf("%d x %.3g us (%s, %s)", count, each, choice.Algorithm, choice.Protocol)})
		}
	}
	host := hostLatency(p, choice, bytes)
	fabric := func(count int) { // what this fabric adds to the steps between nodes
		if count > 0 && extra > 0 {
			text := fmt.Sprintf("%d x %.3g us beyond the %v that the library's figures have", count, extra, plan.FabricShare)
			terms = append(terms, Term{"longer fabric", float64(count) * extra, text})
		}
		if count > 0 && host > 0 {
			terms = append(terms, Term{"hosts", float64(count) * host, fmt.Sprintf("%d x %.3g us in host memory and, with TCP, the kernel", count, host)})
		}
	}
	switch choice.Algorithm {
	case collective.Hierarchical:
		if p.Cluster.NCCL.NoOverhead && p.Nodes > 1 {
			add("launch", 1, nccl.Base(collective.Ring, choice.Protocol))
			add("steps inside nodes", 2*(p.PerNode-1), bareStep)
			add("steps between nodes", 2*(p.Nodes-1), extra+plan.FabricShare.Microseconds()+2*bareStep)
			return terms
		}
		ring := func(l nccl.Link) float64 { return nccl.Step(l, collective.Ring, choice.Protocol) }
		add("launch", 1, nccl.Base(collective.Ring, choice.Protocol))
		add("steps inside nodes", 2*(p.PerNode-1), ring(p.System.Local))
		add("steps between nodes", 2*(p.Nodes-1), ring(nccl.Network))
		fabric(2 * (p.Nodes - 1))
		return terms
	case collective.Direct:
		// All rounds are under way at once: one launch and one step.
		add("launch", 1, nccl.Base(collective.Ring, choice.Protocol))
		if p.Nodes > 1 {
			add("step between nodes", 1, nccl.Step(nccl.Network, collective.Ring, choice.Protocol))
			fabric(1)
			add("posts of the proxy", (p.Nodes-1)*p.PerNode, p.System.PostOverhead(choice.Protocol)/float64(max(p.System.Channels, 1)))
		} else {
			add("step inside the node", 1, nccl.Step(p.System.Local, collective.Ring, choice.Protocol))
		}
		return terms
	}
	if p.Job.Op == collective.Broadcast {
		return broadcastLatency(p, choice, bytes)
	}
	parts := p.System.Parts(p.Job.Op, choice.Algorithm, choice.Protocol)
	for i, part := range parts {
		add([...]string{"launch", "steps inside nodes", "steps between nodes"}[i], part.Count, part.Each)
	}
	fabric(parts[2].Count)
	if ramp := p.NVLSRamp(choice, bytes); ramp > 0 {
		add("ramp of NVLS", 1, ramp)
	}
	return terms
}

// bareStep is what a host adds on each side of a step without the library's
// overhead, in microseconds, as in the simulator.
const bareStep = 0.1

// fabricExtra returns by how much the way between two neighbours of the job's
// nodes is longer than that, in microseconds.
func fabricExtra(p *plan.Plan) float64 {
	if p.Nodes == 1 {
		return 0
	}
	pair, err := Between(p.Cluster, p.NICs[0][0], p.NICs[1][0])
	if err != nil {
		return 0 // the simulator says so
	}
	extra := pair.LatencyUS - plan.FabricShare.Microseconds()
	if p.Cluster.NCCL.NoOverhead {
		return extra
	}
	return max(0, extra)
}

// libraryTransfer is the time of the data at the bandwidth that NCCL's tables
// give the algorithm and the protocol.
func libraryTransfer(p *plan.Plan, choice nccl.Choice, bytes units.Bytes) (resource, bool) {
	if choice.Algorithm == collective.NVLS {
		return resource{}, false // measured: LocalRate of transfers has it
	}
	bw := p.System.Bandwidth(p.Job.Op, choice.Algorithm, choice.Protocol) * p.System.TreeCorrection(choice.Algorithm, choice.Protocol, bytes)
	if bw <= 0 {
		return resource{}, false
	}
	text := fmt.Sprintf("%s at %.4g GB/s, NCCL's figure for %s, %s", bytes, bw, choice.Algorithm, choice.Protocol)
	return resource{Term{"library", float64(bytes) / bw / 1000, text}, ByLibrary}, true
}

// transfers lists the time that the data take on each resource: NICs, their
// PCIe slots, and the links inside a node. Ideally, flags of the protocol take
// no room, all NICs are in use and keep their full rate.
func transfers(p *plan.Plan, choice nccl.Choice, bytes units.Bytes, ideal bool) []resource {
	var all []resource
	flags, share, channels := 1., 1., collective.MaxChannels
	if !ideal {
		flags = float64(choice.Protocol.WireBytes(1<<20)) / (1 << 20)
		share = sustained
		channels = p.System.ActiveChannels(choice, bytes)
	}
	add := func(name string, limit Limit, data, gbytes float64, of string) {
		if data > 0 && gbytes > 0 {
			text := fmt.Sprintf("%.4g MB at %.4g GB/s (%s)", data/1e6, gbytes, of)
			all = append(all, resource{Term{name, data / gbytes / 1000, text}, limit})
		}
	}
	perNIC := nicBytes(p, choice, float64(bytes), channels) * flags
	line := float64(p.NICRate) / 8e9
	add("NIC", ByNIC, perNIC, line*PayloadShare(p.Cluster)*share, fmt.Sprintf("%s x %.3f payload x %.3f", p.NICRate, PayloadShare(p.Cluster), share))
	add("PCIe", ByPCIe, perNIC, float64(p.PCIeRate)/8e9, p.PCIeRate.String()+" usable of the NIC's slot")
	if r, ok := cpuTransfer(p, choice, perNIC, channels); ok && !ideal {
		all = append(all, r)
	}
	if choice.Algorithm == collective.NVLS || choice.Algorithm == collective.NVLSTree {
		// The measured rate is the bus bandwidth of eight GPUs.
		add("NVLS", ByLocal, float64(bytes)*BusFactor(collective.AllReduce, 8), float64(p.NVLSRate)/8e9, "of the NVLink switch")
		return all
	}
	add("NVLink", ByLocal, localBytes(p, choice, float64(bytes))*flags, float64(p.LocalRate)/8e9, p.LocalRate.String()+" usable for each GPU")
	return all
}

// nicBytes returns the bytes that the busiest NIC sends when an operation uses
// so many channels.
func nicBytes(p *plan.Plan, choice nccl.Choice, size float64, channels int) float64 {
	if p.Nodes == 1 {
		return 0
	}
	n, k, g := float64(p.Ranks), float64(p.Nodes), float64(p.PerNode)
	nics := float64(len(p.NICs[0]))
	active := math.Min(nics, float64(channels))
	switch choice.Algorithm {
	case collective.Hierarchical:
		return 2 * (k - 1) / k * size / nics
	case collective.Direct:
		return g * (n - g) / n * size / nics
	case collective.Tree, collective.NVLSTree:
		if choice.Algorithm == collective.NVLSTree {
			active = nics
		}
		// Each of the two trees carries half: a node sends once up, and once
		// to each child. Two nodes: one parent or child. Three: a chain. More:
		// most nodes have two children in one tree and none in the other.
		return size / active * math.Min(2, k/2)
	}
	return BusFactor(p.Job.Op, p.Ranks) * size / active
}

// localBytes returns the bytes that the busiest GPU sends to others of its node.
func localBytes(p *plan.Plan, choice nccl.Choice, size float64) float64 {
	n, g := float64(p.Ranks), float64(p.PerNode)
	if p.PerNode == 1 {
		return 0
	}
	pxn := p.PXN() && p.Nodes > 1
	switch choice.Algorithm {
	case collective.Hierarchical:
		return 2 * (g - 1) / g * size
	case collective.Direct:
		b := (g - 1) / n * size
		if pxn {
			b += (n - g) / n * (g - 1) / g * size
		}
		return b
	case collective.Tree:
		return 2 * (g - 1) / g * size // the chain's links, up and down, take turns by channel
	}
	b := BusFactor(p.Job.Op, p.Ranks) * size
	if p.Nodes > 1 && !pxn {
		b *= (g - 1) / g // the last GPU of each channel's chain sends to its NIC
	}
	return b
}
