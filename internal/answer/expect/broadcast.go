package expect

import (
	"fmt"

	"weir/internal/collective"
	"weir/internal/collective/nccl"
	"weir/internal/twin/plan"
	"weir/units"
)

// broadcastLatency lists what passes before the last rank of a ring has its
// first slice. NCCL's model counts every step as the slowest link's, a figure
// that stands for the time of a chunk as well; here steps have their own
// latency, and the slice its own time. Between nodes, a proxy sends whole
// slices, so each boundary costs a copy and a transfer; inside a node only
// Simple waits for whole slices.
func broadcastLatency(p *plan.Plan, choice nccl.Choice, bytes units.Bytes) []Term {
	proto := choice.Protocol
	var terms []Term
	add := func(name string, us float64, text string) {
		if us > 0 {
			terms = append(terms, Term{name, us, text})
		}
	}
	local, net := nccl.Step(p.System.Local, collective.Ring, proto), nccl.Step(nccl.Network, collective.Ring, proto)
	inside, across := p.Ranks-p.Nodes, p.Nodes-1
	add("launch", nccl.Base(collective.Ring, proto), fmt.Sprintf("(%s, %s)", choice.Algorithm, proto))
	add("steps inside nodes", float64(inside)*local, fmt.Sprintf("%d x %.3g us", inside, local))
	add("steps between nodes", float64(across)*net, fmt.Sprintf("%d x %.3g us", across, net))
	if extra := fabricExtra(p); extra > 0 {
		add("longer fabric", float64(across)*extra, fmt.Sprintf("%d x %.3g us beyond the %v that the library's figures have", across, extra, plan.FabricShare))
	}
	channels := p.System.ActiveChannels(choice, bytes)
	slot := proto.BuffSize() / collective.Slots
	if proto == collective.Simple && p.Cluster.NCCL.BuffSize > 0 {
		slot = p.Cluster.NCCL.BuffSize / collective.Slots
	}
	slice := min(float64(proto.WireBytes(bytes/units.Bytes(channels))), float64(slot))
	busy, copying := p.LanePace(choice, channels)
	const some = 1 << 20 // bytes: paces are finer than a nanosecond
	copied := slice / some * copying.Time(some).Microseconds()
	if proto != collective.Simple {
		copied = slice / some * busy.Time(some).Microseconds()
	} else {
		add("slices inside nodes", float64(inside)*copied, fmt.Sprintf("%d copies of %.3g KB", inside, slice/1e3))
	}
	if p.Nodes > 1 {
		sharing := max(1, float64(channels)/float64(len(p.NICs[0])))
		sent := slice * sharing / (float64(p.NICRate) / 8e6 * PayloadShare(p.Cluster) * sustained)
		text := fmt.Sprintf("%d boundaries, each a copy of %.3g KB (%.3g us) and its transfer on a NIC that %.3g channels share (%.3g us)", across, slice/1e3, copied, sharing, sent)
		add("slices between nodes", float64(across)*(copied+sent), text)
	}
	return terms
}
