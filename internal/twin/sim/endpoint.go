package sim

import (
	"fmt"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/collective/nccl"
	"weir/internal/twin/fabric"
	"weir/internal/twin/plan"
	"weir/units"
)

// What follows is shared with the fluid model, which must see the same
// five-tuples and the same host as the packets do.

// PortHash returns the hash of a port's name, "host-3/nic-0", which queue pairs
// are named by.
func PortHash(c *cluster.Cluster, p cluster.PortID) uint64 {
	port := &c.Ports[p]
	return scramble(hashName(c.Nodes[port.Node].Name) ^ hashName(port.Name))
}

// SeedOf is the form of a run's seed that QueuePairHash takes.
func SeedOf(seed uint64) uint64 { return scramble(seed) }

// QueuePairHash names the n-th queue pair (from 0) between two ports, by the
// hashes of their names.
func QueuePairHash(seed, src, dst uint64, n uint32) uint64 {
	return seed ^ src ^ scramble(dst^scramble(uint64(n)))
}

// SourcePort returns the UDP source port of a queue pair; fixed: of all.
func SourcePort(queuePair uint64, fixed bool) uint16 {
	udp := uint16(firstSourceUDP)
	if !fixed {
		udp |= uint16(scramble(queuePair)) & (1<<14 - 1)
	}
	return udp
}

// RoCEPort is the UDP port of RoCEv2.
const RoCEPort = rocePort

// PortPairs returns the pairs of ports that queue pairs between two NICs may
// use: port k to port k where that is possible.
func PortPairs(c *cluster.Cluster, f *fabric.Fabric, src, dst cluster.NICRef) (pairs [][2]cluster.PortID, err error) {
	from, to := &c.Hosts[src.Host].NICs[src.NIC], &c.Hosts[dst.Host].NICs[dst.NIC]
	for _, straight := range [...]bool{true, false} {
		for i, a := range from.Ports {
			for k, b := range to.Ports {
				if (i == k) != straight || from.Bond && i > 0 || to.Bond && k > 0 {
					continue
				}
				if e := f.Reachable(a, b); e == nil {
					pairs = append(pairs, [2]cluster.PortID{a, b})
				} else if err == nil {
					err = e
				}
			}
		}
		if len(pairs) != 0 {
			return pairs, nil
		}
	}
	if err == nil {
		err = fmt.Errorf("no path from %s to %s: a NIC without ports", nicName(c, src), nicName(c, dst))
	}
	return nil, err
}

func nicName(c *cluster.Cluster, r cluster.NICRef) string {
	h := &c.Hosts[r.Host]
	return c.Nodes[h.Node].Name + "/" + h.NICs[r.NIC].Name
}

// HostTiming is what hosts take in a collective: NCCL's latencies less what the
// fabric adds itself. Paces are of one byte with flags.
type HostTiming struct {
	Launch      units.Time // from the start to the first step
	Fence       units.Time // that a lane is busy with a slice beyond copying it
	Local       units.Time // of a step inside the node, beyond fence and transfer
	Send        units.Time // of a step between nodes, from the GPU to its proxy
	Post        units.Time // proxy's work for one message
	Recv        units.Time // from memory to the GPU
	Stage       units.Time // of a copy between GPU and host memory
	Busy, Copy  units.Pace // that keeps a lane busy, and until its slice is copied
	Along       bool       // the next GPU reads a slice while it is written
	Links, NVLS units.Pace // of a GPU's links, of data in the NVLink switch
}

// TimingOf returns the host's part of a plan's operation.
func TimingOf(p *plan.Plan, choice nccl.Choice, s *collective.Schedule) HostTiming {
	t := timingOf(p, choice, s)
	return HostTiming{t.launch, t.fence, t.local, t.send, t.post, t.recv, t.stage, t.busy, t.copy, t.along, t.pace, t.nvls}
}
