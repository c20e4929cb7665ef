package sim

import (
	"weir/internal/cluster"
	"weir/units"
)

// PriorityCounters are what a port has counted of one priority since the
// start. Bytes are those of frames with FCS. Pause frames count apart.
type PriorityCounters struct {
	TxFrames, TxBytes, RxFrames, RxBytes uint64

	TxXOFF, TxXON, RxXOFF, RxXON uint64
	// Paused is how long received pauses have kept this priority from sending.
	Paused units.Time

	// Of switches. Drops are for lack of buffer; LosslessDrops those of a
	// lossless priority; WREDDrops and Discards (watchdog, dead links) come on
	// top. QueueMax is the deepest that the egress queue was.
	ECNMarked, Drops, LosslessDrops, WREDDrops, Discards uint64
	StormsDetected, StormsRestored                       uint64
	QueueMax, SharedMax, HeadroomMax                     units.Bytes
}

// NICCounters are what a NIC has counted since the start. The comments name the
// counters of the mlx5 driver.
type NICCounters struct {
	ECNMarked       uint64 // np_ecn_marked_roce_packets
	CNPSent         uint64 // np_cnp_sent
	CNPHandled      uint64 // rp_cnp_handled
	CNPIgnored      uint64 // rp_cnp_ignored
	OutOfSequence   uint64 // out_of_sequence: packets behind a gap
	OutOfOrder      uint64 // packets behind a gap that were placed
	Duplicates      uint64 // duplicate_request
	SequenceErrors  uint64 // packet_seq_err: NAKs that sent a queue pair back
	Timeouts        uint64 // local_ack_timeout_err
	RetriesExceeded uint64 // req_transport_retries_exceeded
	Discards        uint64 // rx_discards: no room in the receive buffer
	DataSent        uint64 // data packets, repeated ones included
	Retransmitted   uint64 // of these: sent before
	DataReceived    uint64

	// How long PCIe could not keep up: with what came in (outbound_pci_stalled_wr)
	// and with what was to go out (outbound_pci_stalled_rd).
	StalledWrite, StalledRead units.Time
	HostCopied                uint64 // bytes that crossed host memory
}

// Totals sums over the fabric.
type Totals struct {
	DataPackets, Retransmitted     uint64
	ECNMarked                      uint64 // at switches; a packet can count at several
	CNPs                           uint64
	XOFF, XON                      uint64 // pause frames sent
	Drops, LosslessDrops, Discards uint64 // in switches and NICs
	Lost                           uint64 // on links
	Unroutable                     uint64
}

// Engine is the cost of the run so far.
type Engine struct {
	Events, PacketHops uint64 // a hop is one frame put on one link, pause frames included
	Posted, Completed  uint64 // messages
}

// Engine returns the cost of the run so far.
func (s *Sim) Engine() Engine {
	return Engine{Events: s.events, PacketHops: s.hops, Posted: s.posted, Completed: s.completed}
}

// Counters returns what a port has counted of a priority up to now.
func (s *Sim) Counters(id cluster.PortID, prio uint8) PriorityCounters {
	p := s.simPort(id)
	t := &s.tx[p]
	if t.flags&isHost != 0 {
		c := s.nics[t.unit].counters(s.now, prio)
		s.rare[p].form.apply(&c, prio)
		return c
	}
	c := s.switches[t.unit].core.Counters(s.now, t.local, prio)
	out := PriorityCounters{
		TxFrames: c.TxPackets, TxBytes: c.TxBytes, RxFrames: c.RxPackets, RxBytes: c.RxBytes,
		TxXOFF: c.PauseTx, TxXON: c.ResumeTx, RxXOFF: c.PauseRx, RxXON: c.ResumeRx, Paused: c.Paused,
		ECNMarked: c.Marks, Drops: c.Drops, LosslessDrops: c.LosslessDrops, WREDDrops: c.WREDDrops, Discards: c.Discards,
		StormsDetected: c.StormsDetected, StormsRestored: c.StormsRestored,
		QueueMax: c.QueueMax, SharedMax: c.SharedMax, HeadroomMax: c.HeadroomMax,
	}
	s.rare[p].form.apply(&out, prio)
	return out
}

// Lost returns how many frames were lost on the link behind a port.
func (s *Sim) Lost(id cluster.PortID) uint64 { return s.rare[s.simPort(id)].lost }

// QueueBytes returns what waits in an egress queue of a switch now.
func (s *Sim) QueueBytes(id cluster.PortID, prio uint8) units.Bytes {
	t := &s.tx[s.simPort(id)]
	if t.flags&isHost != 0 {
		return 0
	}
	return units.Bytes(s.switches[t.unit].core.QueueBytes(t.local, prio))
}

// XOFFThreshold returns the bytes of one ingress port and lossless priority at
// which a switch would send XOFF now; 0 for hosts.
func (s *Sim) XOFFThreshold(id cluster.NodeID) units.Bytes {
	for i := range s.switches {
		if s.switches[i].node == id {
			return s.switches[i].core.XOFFThreshold()
		}
	}
	return 0
}

// NIC returns what a NIC has counted.
func (s *Sim) NIC(r cluster.NICRef) NICCounters {
	k := s.firstCard[r.Host] + uint32(r.NIC)
	c, d := s.nicCounters[k], &s.cards[k]
	c.StalledWrite, c.StalledRead, c.HostCopied = d.stalled, d.starved, d.copied
	for _, p := range s.cluster.Hosts[r.Host].NICs[r.NIC].Ports {
		n := &s.nics[s.rx[s.simPort(p)].unit]
		c.DataSent += n.dataSent
		c.DataReceived += n.dataReceived
	}
	return c
}

// Totals returns sums over the fabric.
func (s *Sim) Totals() Totals {
	t := Totals{Unroutable: s.unroutable}
	for i := range s.nicCounters {
		c := &s.nicCounters[i]
		t.Retransmitted += c.Retransmitted
		t.CNPs += c.CNPSent
		t.Drops += c.Discards
		t.LosslessDrops += c.Discards
	}
	for i := range s.nics {
		t.DataPackets += s.nics[i].dataSent
	}
	for p := range s.tx {
		id := s.rare[p].id
		t.Lost += s.rare[p].lost
		for prio := range uint8(priorities) {
			c := s.Counters(id, prio)
			t.ECNMarked += c.ECNMarked
			t.XOFF += c.TxXOFF
			t.XON += c.TxXON
			t.Drops += c.Drops + c.WREDDrops
			t.LosslessDrops += c.LosslessDrops
			t.Discards += c.Discards
		}
	}
	return t
}

// counters returns the counters of a NIC's port and priority.
func (n *nicPort) counters(now units.Time, prio uint8) PriorityCounters {
	c, w := n.count[prio], n.pauses[prio]
	if since := n.since[prio]; since != units.Never {
		w.paused += min(now, n.until[prio]) - since
	}
	return PriorityCounters{
		TxFrames: c.txFrames, TxBytes: c.txBytes, RxFrames: c.rxFrames, RxBytes: c.rxBytes,
		TxXOFF: w.txXOFF, TxXON: w.txXON, RxXOFF: w.rxXOFF, RxXON: w.rxXON, Paused: w.paused,
	}
}

// nicCount is what a NIC's port counts of the frames of one priority, nicPauses
// of its pauses.
type (
	nicCount struct {
		txFrames, txBytes, rxFrames, rxBytes uint64
	}
	nicPauses struct {
		txXOFF, txXON, rxXOFF, rxXON uint64
		paused                       units.Time
	}
)
