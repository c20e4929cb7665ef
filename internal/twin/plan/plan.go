// Package plan lays a collective job out over a cluster as NCCL would: which
// GPUs are which ranks, how many channels there are and on which NICs, and
// which algorithm and protocol run a given size. The simulator runs plans;
// the expectation computes with them.
package plan

import (
	"fmt"
	"math"
	"slices"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/collective/nccl"
	"weir/units"
)

// Plan is a job on a cluster. It is not changed after New.
type Plan struct {
	Cluster *cluster.Cluster
	Job     *cluster.Job
	System  nccl.System

	Ranks, Nodes, PerNode int
	NICs                  [][]cluster.NICRef // by node (in rank order) and number, those that the job uses
	NICRate               units.BitRate      // of the slowest NIC of the job: wire rate of its ports
	PCIeRate              units.BitRate      // usable rate of the slowest NIC's slot; 0: no limit known
	LocalRate             units.BitRate      // what rings reach inside the node, per GPU and direction: by NVLink, or by PCIe where there is none
	LinkRate              units.BitRate      // what these links carry
	NVLSRate              units.BitRate      // bus bandwidth of an all_reduce by NVLS inside the node; 0: none

	protocol *collective.Protocol
}

// searchShare is how much of a NIC's line rate NCCL's search for paths gives a
// ring: 48 GB/s at 400 Gb/s, 24 at 200, 12 at 100.
const searchShare = 0.96

// nvlsShare is the bus bandwidth of NVLS on one node as a share of NVLink's
// nominal rate: 482.3 of 450 GB/s on eight H200 (validation row V54).
// Blackwell reaches 0.74 where Hopper has 0.85 (tables of package nccl).
const (
	nvlsShare          = 1.072
	nvlsShareBlackwell = nvlsShare * 0.74 / 0.85
	// nvlsSearchShare is what the search for paths gives NVLS graphs: 16
	// channels of 20 GB/s on H100, of 450 GB/s.
	nvlsSearchShare = 0.71
)

// FabricShare is the part of NCCL's latency of a step between nodes that the
// network itself is taken to have had where it was measured: two cards, a
// switch or two, short cables. The cluster's own fabric takes its place.
const FabricShare = 2 * units.Microsecond

// linkShare is the share of NVLink's nominal rate that its links carry. The
// catalogue's share is what a ring reaches inside one node, where the GPUs' own
// work is the limit: 367.6 of 450 GB/s on H200 (V54). Between nodes, rings reach
// 384 GB/s (V45, V48), all of which crosses NVLink as well.
const linkShare = 0.9

// Rings that the search finds inside one node with an NVLink switch, and with
// PCIe alone; doubled, they make the 24 and 2 channels that NCCL logs there.
const (
	nodeRings = 12
	pcieRings = 1
)

// New lays out a collective job. Errors say what of the job does not fit.
func New(c *cluster.Cluster, job *cluster.Job) (*Plan, error) {
	if job.Kind != cluster.CollectiveJob {
		return nil, fmt.Errorf("job %s is not a collective", job.Name)
	}
	if len(job.Hosts) == 0 || job.GPUsPerHost < 1 {
		return nil, fmt.Errorf("job %s has no hosts or no GPUs", job.Name)
	}
	p := &Plan{Cluster: c, Job: job, Nodes: len(job.Hosts), PerNode: job.GPUsPerHost}
	p.Ranks = p.Nodes * p.PerNode
	if p.Ranks > collective.MaxRanks {
		return nil, fmt.Errorf("job %s has %d ranks, allowed are %d", job.Name, p.Ranks, collective.MaxRanks)
	}
	if err := p.setProtocol(); err != nil {
		return nil, err
	}
	if err := p.findNICs(); err != nil {
		return nil, err
	}
	p.findRates()
	p.System = p.system()
	return p, nil
}

func (p *Plan) setProtocol() error {
	switch name := p.Cluster.NCCL.Protocol; name {
	case "", "auto":
	default:
		for proto := collective.Simple; proto <= collective.LL128; proto++ {
			if proto.String() == name {
				p.protocol = &proto
				return nil
			}
		}
		return fmt.Errorf("protocol: found %q, allowed are auto, Simple, LL, LL128", name)
	}
	return nil
}

// findNICs picks the NICs of each node: those next to the job's GPUs, or the
// first one if none is. All nodes use as many as the poorest one has.
func (p *Plan) findNICs() error {
	count := -1
	for _, h := range p.Job.Hosts {
		host := &p.Cluster.Hosts[h]
		if p.PerNode > host.GPUs {
			return fmt.Errorf("job %s wants %d GPUs a host, %s has %d", p.Job.Name, p.PerNode, p.Cluster.Nodes[host.Node].Name, host.GPUs)
		}
		var refs []cluster.NICRef
		for i := range host.NICs {
			if gpu := host.NICs[i].GPU; gpu >= 0 && p.takes(gpu) && p.rate(cluster.NICRef{Host: h, NIC: int32(i)}) > 0 {
				refs = append(refs, cluster.NICRef{Host: h, NIC: int32(i)})
			}
		}
		for i := range host.NICs {
			if p.Job.GPUs != nil { // GPUs of a group that has none next to it share the cards evenly
				i = (i + int(p.Job.GPUs[0])*len(host.NICs)/host.GPUs) % len(host.NICs)
			}
			if len(refs) == 0 && p.rate(cluster.NICRef{Host: h, NIC: int32(i)}) > 0 {
				refs = append(refs, cluster.NICRef{Host: h, NIC: int32(i)})
			}
		}
		if len(refs) == 0 && p.Nodes > 1 {
			return fmt.Errorf("job %s: %s has no NIC with a cable", p.Job.Name, p.Cluster.Nodes[host.Node].Name)
		}
		p.NICs = append(p.NICs, refs)
		if count < 0 || len(refs) < count {
			count = len(refs)
		}
	}
	for i := range p.NICs {
		p.NICs[i] = p.NICs[i][:count]
	}
	return nil
}

// takes tells whether a GPU of a host takes part in the job.
func (p *Plan) takes(gpu int32) bool {
	if p.Job.GPUs != nil {
		return slices.Contains(p.Job.GPUs, gpu)
	}
	return int(gpu) < p.PerNode
}

// rate returns the wire rate of a NIC: the sum over its ports that have a cable.
func (p *Plan) rate(ref cluster.NICRef) units.BitRate {
	var sum units.BitRate
	for _, id := range p.Cluster.Hosts[ref.Host].NICs[ref.NIC].Ports {
		if port := &p.Cluster.Ports[id]; port.Link != cluster.LinkID(cluster.None) {
			sum += port.Rate
		}
	}
	return sum
}

func (p *Plan) findRates() {
	lower := func(to *units.BitRate, r units.BitRate) {
		if r > 0 && (*to == 0 || r < *to) {
			*to = r
		}
	}
	nvls := p.PerNode > 1
	for node, h := range p.Job.Hosts {
		host := &p.Cluster.Hosts[h]
		for _, ref := range p.NICs[node] {
			lower(&p.NICRate, p.rate(ref))
			pcie := host.NICs[ref.NIC].PCIe
			if c := p.Cluster; c.Staged() && c.HostCopy.Rate == 0 {
				pcie /= 2 // each byte crosses the slot twice
			} else if c.Staged() && pcie > 0 {
				pcie = min(pcie, c.HostCopy.Rate)
			}
			lower(&p.PCIeRate, pcie)
		}
		local, link := host.NVLink, host.NVLink
		if gpu := host.GPU; gpu != nil {
			// Unless the file gives a rate of its own.
			if reach := float64(gpu.NVLink) * gpu.NVLinkEfficiency; math.Abs(float64(local)-reach) < float64(units.Gbps) {
				link = max(link, units.BitRate(linkShare*float64(gpu.NVLink)))
			}
			if local == 0 {
				local, link = gpu.PCIe, gpu.PCIe
			}
		}
		if p.Nodes > 1 {
			local = link
		}
		lower(&p.LinkRate, link)
		lower(&p.LocalRate, local)
		if host.NVLink == 0 || host.GPU == nil || !host.GPU.NVLS {
			nvls = false
		}
	}
	if gpu := p.gpu(); nvls {
		share := nvlsShare
		if nccl.ArchOf(gpu.Arch) == nccl.Blackwell {
			share = nvlsShareBlackwell
		}
		p.NVLSRate = units.BitRate(share * float64(gpu.NVLink))
	}
}

func (p *Plan) gpu() *cluster.GPUModel { return p.Cluster.Hosts[p.Job.Hosts[0]].GPU }

func gigabytes(r units.BitRate) float64 { return float64(r) / 8e9 }

// system derives the inputs of NCCL's cost model.
func (p *Plan) system() nccl.System {
	host := &p.Cluster.Hosts[p.Job.Hosts[0]]
	s := nccl.System{Ranks: p.Ranks, Nodes: p.Nodes, Arch: nccl.Ampere, Local: nccl.PCIe, NVLS: p.NVLSRate > 0}
	nominal := p.LocalRate
	if host.GPU != nil {
		s.Arch = nccl.ArchOf(host.GPU.Arch)
		if host.NVLink > 0 {
			nominal = host.GPU.NVLink
		}
	}
	if host.NVLink > 0 {
		s.Local = nccl.NVLink
		s.LL128 = p.Nodes == 1 || p.Cluster.RDMA.GPUDirect && p.Cluster.Transport != cluster.TCP
	}
	s.Rings = p.rings(s.Local)
	rings := float64(s.Rings)
	local := gigabytes(p.LocalRate) / rings
	s.RingGBs, s.TreeGBs = local, local
	s.NVLSGBs = nvlsSearchShare * gigabytes(nominal) / rings
	if p.Nodes > 1 {
		nic := p.NICRate
		if p.PCIeRate > 0 {
			nic = min(nic, p.PCIeRate)
		}
		s.InterGBs = searchShare * gigabytes(nic) * float64(len(p.NICs[0])) / rings
		if p.PerNode > 1 {
			s.RingGBs = min(s.InterGBs, gigabytes(nominal)/rings)
			s.TreeGBs = min(2*s.InterGBs, gigabytes(nominal)/rings)
		} else {
			s.RingGBs, s.TreeGBs = s.InterGBs, s.InterGBs
		}
	}
	s.Channels = min(2*s.Rings, collective.MaxChannels)
	if n := p.Cluster.NCCL.Channels; n > 0 {
		s.Channels = n
	}
	return s
}

func (p *Plan) rings(local nccl.Link) int {
	if n := p.Cluster.NCCL.Channels; n > 0 {
		return max(n/2, 1)
	}
	switch {
	case p.Nodes > 1:
		return min(len(p.NICs[0]), collective.MaxChannels/2)
	case local == nccl.PCIe:
		return pcieRings
	}
	return nodeRings
}

// Choose returns how the job runs a size: NCCL's choice within what the job
// and the cluster's NCCL settings leave open.
func (p *Plan) Choose(bytes units.Bytes) (nccl.Choice, error) {
	algorithm := p.Job.Algorithm
	if algorithm == collective.Auto {
		algorithm = p.Cluster.NCCL.Algorithm
	}
	if p.InNetwork() {
		return nccl.Choice{Algorithm: collective.InNetwork}, nil
	}
	c, ok := p.System.Choose(p.Job.Op, bytes, algorithm, p.protocol)
	if !ok {
		proto := "auto"
		if p.protocol != nil {
			proto = p.protocol.String()
		}
		return c, fmt.Errorf("job %s: %s cannot run with algorithm %s and protocol %s on %d nodes of %d GPUs",
			p.Job.Name, p.Job.Op, algorithm, proto, p.Nodes, p.PerNode)
	}
	return c, nil
}

// Schedule returns the schedule of a size as chosen.
func (p *Plan) Schedule(choice nccl.Choice, bytes units.Bytes) (*collective.Schedule, error) {
	nics := max(len(p.NICs[0]), 1)
	channels := p.System.ActiveChannels(choice, bytes)
	buff := units.Bytes(0)
	if choice.Protocol == collective.Simple {
		buff = p.Cluster.NCCL.BuffSize // NCCL_BUFFSIZE is that of Simple
	}
	return collective.New(
		collective.Communicator{Ranks: p.Ranks, RanksPerNode: p.PerNode, Channels: channels, NICs: nics},
		collective.Settings{Op: p.Job.Op, Algorithm: choice.Algorithm, Protocol: choice.Protocol, Bytes: bytes, BuffSize: buff},
	)
}

// ClearsByWrite tells whether receivers clear slots by writes over the network.
// With sockets, TCP's window does this.
func (p *Plan) ClearsByWrite() bool {
	return p.Cluster.NCCL.ClearToSend && p.Cluster.Transport != cluster.TCP
}

// PXN tells whether ranks reach another rail's NIC through the GPU next to it.
// With sockets, data go through host memory, to which all GPUs write alike.
func (p *Plan) PXN() bool { return p.Cluster.NCCL.PXN && p.Cluster.Transport != cluster.TCP }

// Sizes returns the sizes of the job as nccl-tests steps through them: from
// Begin to End, each Factor times the one before.
func (p *Plan) Sizes() []units.Bytes {
	var sizes []units.Bytes
	factor := units.Bytes(max(p.Job.Factor, 2))
	for b := p.Job.Begin; b <= p.Job.End; b *= factor {
		sizes = append(sizes, b)
		if b <= 0 || b > p.Job.End/factor {
			break
		}
	}
	return sizes
}
