package switchcore

import "weir/units"

// Counters of one port and priority since the start. Rx and the ingress parts
// belong to packets that came in by the port, Tx, Marks and the queue to
// packets that leave by it.
type Counters struct {
	RxPackets, RxBytes uint64 // offered, dropped ones included
	TxPackets, TxBytes uint64

	Drops         uint64 // for lack of buffer: lossless at the ingress port (unless EgressLossless refused them), lossy at the egress port
	LosslessDrops uint64 // those of Drops that were lossless
	WREDDrops     uint64 // DropLast, at the egress port
	Discards      uint64 // refused for the watchdog or taken out by Drain, at the egress port
	Marks         uint64 // CountMark, at the egress port

	PauseRx, ResumeRx uint64     // frames received
	PauseTx, ResumeTx uint64     // frames sent; refreshed XOFFs count in PauseTx
	XOFFs             uint64     // times that XOFF was put in force; ResumeTx or one more
	Paused            units.Time // that the egress queue was paused

	StormsDetected, StormsRestored uint64

	QueueMax    units.Bytes // high-water mark of the egress queue
	SharedMax   units.Bytes // of the ingress use of reserve and shared buffer
	HeadroomMax units.Bytes // of the ingress use of headroom
}

// Counters returns the counters of a port and priority at now.
func (s *Switch) Counters(now units.Time, port uint16, prio uint8) Counters {
	p := &s.ports[port]
	in, q := &p.in[prio&7], &p.out[prio&7]
	c := Counters{
		RxPackets: in.rxPackets,
		RxBytes:   in.rxBytes,
		TxPackets: q.txPackets,
		TxBytes:   q.txBytes,
		QueueMax:  units.Bytes(q.maxBytes),
		SharedMax: units.Bytes(in.maxBytes),
	}
	if p.rare == nil {
		return c
	}
	r := &p.rare[prio]
	c.Drops, c.LosslessDrops, c.WREDDrops, c.Discards = r.drops, r.losslessDrops, r.wredDrops, r.discards
	c.Marks = r.marks
	c.PauseRx, c.ResumeRx, c.PauseTx, c.ResumeTx, c.XOFFs = r.pauseRx, r.resumeRx, r.pauseTx, r.resumeTx, r.xoffs
	c.Paused = r.total
	if p.paused>>prio&1 != 0 {
		c.Paused += min(now, r.until) - r.since
	}
	c.StormsDetected, c.StormsRestored = r.stormsDetected, r.stormsRestored
	c.HeadroomMax = units.Bytes(r.maxHeadroom)
	return c
}

// CountMark counts a packet that the caller's draw marked, at its egress port.
func (s *Switch) CountMark(port uint16, prio uint8) { s.ports[port].rarely()[prio].marks++ }

// Watermarks returns the most that was in use of the shared buffer and of all
// headrooms together.
func (s *Switch) Watermarks() (shared, headroom units.Bytes) {
	return units.Bytes(s.shared - s.minFree), units.Bytes(s.maxRoom)
}
