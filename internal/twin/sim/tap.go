package sim

import (
	"weir/internal/cluster"
	"weir/internal/twin/fabric"
	"weir/rc"
	"weir/units"
)

// A Frame is what a tap sees: a frame whose first bit leaves a port.
type Frame struct {
	At     units.Time
	Port   cluster.PortID
	Bytes  uint32 // with FCS
	Kind   FrameKind
	Prio   uint8
	Marked bool // congestion experienced
	// Of data, acknowledgements and CNPs: the packet, and its addresses.
	Packet rc.Packet
	Fields fabric.Fields
	// Message is the length of the message that a data packet belongs to.
	Message uint32
	// Of pause frames, for Prio: 0 resumes.
	Quanta uint16
}

// FrameKind tells what a frame carries.
type FrameKind uint8

// The kinds of frame.
const (
	DataFrame FrameKind = iota
	AckFrame
	CNPFrame
	PauseFrame
)

// Tap shows every frame that port id sends to show, but for TCP's, from now on;
// nil ends it.
// Other ports are not slowed down.
func (s *Sim) Tap(id cluster.PortID, show func(*Frame)) {
	p := s.simPort(id)
	s.tx[p].flags &^= isTapped
	if s.taps == nil {
		s.taps = map[uint32]func(*Frame){}
	}
	delete(s.taps, p)
	if show != nil {
		s.taps[p] = show
		s.tx[p].flags |= isTapped
	}
}

// show shows packet i to port p's tap, at the start of its transmission.
func (s *Sim) show(p, i uint32) {
	pk := &s.pool.all[i]
	if pk.kind >= segmentPacket {
		return
	}
	t := &s.tx[p]
	f := Frame{Port: s.rare[p].id, Kind: FrameKind(pk.kind), Prio: pk.prio, Marked: pk.flags&marked != 0}
	if pk.kind == pausePacket {
		f.Bytes, f.Quanta = s.wire.PFC, uint16(pk.bytes)
	} else {
		f.Bytes, f.Packet, f.Fields = pk.bytes, pk.Packet, s.routes[pk.route()].hash
	}
	if pk.kind == dataPacket {
		f.Message = s.senders[pk.qp].req.Message(pk.Index).Bytes
	}
	f.At = t.busyUntil - s.frameTime(t, f.Bytes)
	s.taps[p](&f)
}
