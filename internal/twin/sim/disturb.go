package sim

import (
	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/units"
)

// LinkCounters are what a port has counted of its link besides frames.
type LinkCounters struct {
	Lost     uint64 // frames sent here that did not arrive, whatever the reason
	Filtered uint64 // frames refused here by a filter
	Oversize uint64 // frames refused here for their length

	Corrupted     uint64 // frames with a wrong check sum
	CorrectedBits uint64 // by FEC
	Downs         uint64 // times that the link went down
	Changes       uint64 // times that it went down or up

	LinkPauseTx, LinkPauseRx uint64 // frames of link-level pause
}

// Link returns what a port has counted of its link.
func (s *Sim) Link(id cluster.PortID) LinkCounters {
	r := &s.rare[s.simPort(id)]
	c := r.link
	c.Lost = r.lost
	if f := r.form; f != nil {
		c.LinkPauseTx, c.LinkPauseRx = f.link.xoff+f.link.xon, f.rx.xoff+f.rx.xon
	}
	return c
}

// bitsCorrected is what FEC corrects in a frame on a link so bad that frames
// are lost: a few symbols short of what it cannot. An assumption.
const bitsCorrected = 12

// SetNoise makes the link behind a port corrupt frames at random, in the
// direction away from the port; 0 mends it. The far end counts check sum errors
// and corrected bits.
func (s *Sim) SetNoise(id cluster.PortID, p float64) error {
	if err := s.SetLoss(id, p); err != nil {
		return err
	}
	s.rare[s.simPort(id)].noisy = p > 0
	return nil
}

// SetFrameLimit makes the far end of the link behind a port refuse frames
// longer than so many bytes with FCS; 0 takes all.
func (s *Sim) SetFrameLimit(id cluster.PortID, limit uint32) {
	i := s.simPort(id)
	s.tx[i].flags &^= isNarrow
	if s.rare[i].limit = limit; limit != 0 {
		s.tx[i].flags |= isNarrow
	}
}

// SetFiltered makes the far end of the link behind a port refuse all RoCE
// frames, or ends that.
func (s *Sim) SetFiltered(id cluster.PortID, on bool) {
	i := s.simPort(id)
	s.tx[i].flags &^= isFiltered
	if on {
		s.tx[i].flags |= isFiltered
	}
}

// spoiled counts at the far end of a link what is wrong with a frame sent at
// port p, and reports whether it is refused there. lost: it does not arrive in
// one piece.
func (s *Sim) spoiled(p, i uint32, lost bool) bool {
	t, pk := &s.tx[p], &s.pool.all[i]
	r, far := &s.rare[p], &s.rare[t.peer].link
	if pk.kind == pausePacket {
		return lost
	}
	if r.noisy && t.flags&isDown == 0 {
		far.CorrectedBits += bitsCorrected
		if lost {
			far.Corrupted++
		}
	}
	switch {
	case lost:
	case t.flags&isNarrow != 0 && pk.bytes > r.limit:
		far.Oversize++
		return true
	case t.flags&isFiltered != 0:
		far.Filtered++
		return true
	}
	return lost
}

// SetLinkDown takes a cable down in both directions, or up again, and counts
// it at both ends. Routes stay as they are until Reroute.
func (s *Sim) SetLinkDown(id cluster.LinkID, down bool) {
	l := &s.cluster.Links[id]
	for _, p := range [...]cluster.PortID{l.A, l.B} {
		if i := s.simPort(p); down != (s.tx[i].flags&isDown != 0) {
			s.rare[i].link.Changes++
			if down {
				s.rare[i].link.Downs++
			}
		}
		s.SetDown(p, down)
	}
}

// SetDeaf makes a port take pause frames of some priorities (a mask) for
// unknown ones: they neither act nor count.
func (s *Sim) SetDeaf(id cluster.PortID, mask uint8) { s.rx[s.simPort(id)].deaf = mask }

// PFC returns the priorities for which a port sends XOFF, and those for which
// it obeys it.
func (s *Sim) PFC(id cluster.PortID) (sends, obeys uint8) {
	p := s.simPort(id)
	if t := &s.tx[p]; t.flags&isHost == 0 {
		return s.switches[t.unit].core.PFC(t.local)
	}
	n := &s.nics[s.tx[p].unit]
	return n.obeys, n.obeys
}

// SetPFC changes them. A NIC has one mask for both, that of sends.
func (s *Sim) SetPFC(id cluster.PortID, sends, obeys uint8) {
	p := s.simPort(id)
	t := &s.tx[p]
	if t.flags&isHost == 0 {
		s.switches[t.unit].core.SetPFC(s.now, t.local, sends, obeys)
		s.serveSwitch(p)
		return
	}
	n := &s.nics[t.unit]
	s.lapse(n)
	n.obeys = sends
	for prio := range uint8(priorities) {
		if n.paused&(1<<prio)&^sends != 0 {
			n.resume(prio, s.now)
		}
	}
	s.kick(p)
}

// SetECN changes the marking of a switch's RoCE queues.
func (s *Sim) SetECN(id cluster.NodeID, e qos.ECN) error {
	if u := s.unitOf(id); u != nil {
		return u.core.SetECN(s.roce, e)
	}
	return nil
}

// SetHeadroom changes which share of its headroom a switch's port may use.
func (s *Sim) SetHeadroom(id cluster.PortID, share float64) {
	t := &s.tx[s.simPort(id)]
	if t.flags&isHost == 0 {
		u := &s.switches[t.unit]
		u.core.SetHeadroom(t.local, units.Bytes(share*float64(s.headroomOf(id))))
	}
}

func (s *Sim) headroomOf(id cluster.PortID) units.Bytes {
	if h := s.cluster.QoS.Headroom; h != 0 {
		return h
	}
	return s.headroom(id)
}

func (s *Sim) unitOf(id cluster.NodeID) *switchUnit {
	for i := range s.switches {
		if s.switches[i].node == id {
			return &s.switches[i]
		}
	}
	return nil
}
