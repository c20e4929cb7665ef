package sim

import (
	"weir/internal/cluster"
	"weir/units"
)

// A txPort is the sending half of a port, of a switch or of a NIC. It takes
// one cache line.
type txPort struct {
	busyUntil units.Time // end of the frame being sent, gap included
	wakeAt    units.Time // when the port looks for something to send; Never: not planned
	pace      units.Pace // of one byte
	delay     units.Time // from the end of a frame here to its arrival: cable, and the pipeline behind it
	lane      laneTail
	peer      uint32 // port at the other end
	peerNode  uint32
	node      uint32
	unit      uint32 // index into Sim.nics or Sim.switches
	local     uint16 // number within the node
	flags     portFlags
}

type portFlags uint16

const (
	isHost     portFlags = 1 << iota
	isCabled             // has a link
	isDown               // frames sent here are lost
	isTapped             // frames sent here are shown to the tap
	isLossy              // some frames sent here are lost at random
	isNarrow             // long frames sent here are refused at the far end
	isFiltered           // RoCE frames sent here are refused at the far end
	isHung               // a NIC's port that sends nothing of its own
	isUnusual  = isDown | isTapped | isLossy | isNarrow | isFiltered
)

// An rxPort is the receiving half of a port. It holds the frames that are on
// their way to it, in order of arrival: data, and pause frames, which do not
// pass the pipeline. Only the first frame of each kind is in the event queue. It
// takes one cache line.
type rxPort struct {
	lane    laneHead
	control fifo
	node    uint32
	unit    uint32 // index into Sim.nics or Sim.switches
	local   uint16 // number within the node
	host    bool
	deaf    uint8        // priorities whose pause frames it takes for unknown frames
	faults  switchFaults // of the switch, the same on all its ports
	_       [31]byte
}

// rarePort is what most frames do not touch.
type rarePort struct {
	entity uint64 // hash of the port's name, which random draws at this port depend on
	loss   uint32 // chance that a frame sent here is lost, of 2^32
	every  uint32 // each of so many frames sent here is lost; 0: by chance
	passed uint32
	lost   uint64 // frames lost on the link behind this port
	// ctlDelay is from the end of a pause frame here to its effect: cable, and
	// reaction time.
	ctlDelay units.Time
	cable    units.Time // one way
	id       cluster.PortID
	rate     units.BitRate
	form     *pauseForm // how this port pauses, if not by PFC of one priority
	link     LinkCounters
	limit    uint32 // longest frame that the far end takes, if isNarrow
	noisy    bool   // frames are lost because they are corrupted
}

// transmit puts packet i, a frame of so many bytes, on the link at port p,
// which must be idle.
func (s *Sim) transmit(p, i, bytes uint32) {
	t := &s.tx[p]
	t.busyUntil = s.now + s.frameTime(t, bytes)
	s.hops++
	if s.credits != nil {
		s.spend(p, s.pool.all[i].prio, bytes)
	}
	if t.flags&isUnusual != 0 && !s.inspect(p, i) {
		return
	}
	s.launch(t, t.busyUntil+t.delay, i)
}

// frameTime returns how long a frame of so many bytes occupies a link.
func (s *Sim) frameTime(t *txPort, bytes uint32) units.Time {
	d := t.pace.Time(bytes + s.wire.Gap)
	if s.wire.WholeNanoseconds {
		d -= d % units.Nanosecond
	}
	return d
}

// inspect shows a frame to the tap and decides whether the link loses it: then
// it frees the frame and reports false.
func (s *Sim) inspect(p, i uint32) bool {
	t := &s.tx[p]
	if t.flags&isTapped != 0 {
		s.show(p, i)
	}
	lost := t.flags&isDown != 0
	if r := &s.rare[p]; t.flags&isLossy != 0 && !lost {
		if r.passed++; r.every != 0 {
			lost = r.passed%r.every == 0
		} else {
			lost = uint32(s.draw(r.entity, &s.pool.all[i])>>32) < r.loss
		}
	}
	if t.flags&(isNarrow|isFiltered|isLossy) != 0 {
		lost = s.spoiled(p, i, lost)
	}
	if lost {
		s.rare[p].lost++
		if pk := &s.pool.all[i]; s.credits != nil && pk.kind != pausePacket { // the next flow control packet tells how much was sent
			s.refund(t.peer, pk.prio, pk.bytes, s.now+s.rare[p].cable)
		}
		s.pool.put(i)
	}
	return !lost
}

// wakeAt makes port p look for something to send at a time, if it would not
// do so before.
func (s *Sim) wakeAt(p uint32, at units.Time) {
	t := &s.tx[p]
	if at < t.wakeAt {
		t.wakeAt = at
		s.queue.push(at, makeKey(t.node, kindWake, p))
	}
}

// sendPause sends a pause frame from port p: quanta 0 resumes. It goes before
// everything that waits, but not into a frame that is being sent.
func (s *Sim) sendPause(p uint32, prio uint8, quanta uint16) {
	t := &s.tx[p]
	if f := s.rare[p].form; f != nil {
		if prio = s.formPause(p, f, prio, quanta); prio == unsent {
			return
		}
	}
	i := s.pool.get()
	pk := &s.pool.all[i]
	*pk = packet{kind: pausePacket, prio: prio, bytes: uint32(quanta)}
	t.busyUntil = max(t.busyUntil, s.now) + s.frameTime(t, s.wire.PFC)
	s.hops++
	if t.flags&(isDown|isTapped) != 0 && !s.inspect(p, i) {
		return
	}
	pk.at = t.busyUntil + s.rare[p].ctlDelay
	r := &s.rx[t.peer]
	if r.control.head == 0 {
		s.queue.push(pk.at, makeKey(r.node, kindControl, t.peer))
	}
	r.control.push(s.pool.all, i)
}

// arrive is the event that the first frame of port p's data lane has come in.
func (s *Sim) arrive(p uint32) {
	r := &s.rx[p]
	i := s.land(r, p)
	if r.host {
		s.arriveNIC(p, i)
	} else {
		s.arriveSwitch(r, i)
	}
}

// arriveControl is the event that the first frame of port p's control lane has
// come in and takes effect.
func (s *Sim) arriveControl(p uint32) {
	all := s.pool.all
	r := &s.rx[p]
	i := r.control.pop(all)
	if next := r.control.head; next != 0 {
		s.queue.push(all[next].at, makeKey(r.node, kindControl, p))
	}
	prio, quanta := all[i].prio, uint16(all[i].bytes)
	s.pool.put(i)
	if prio >= priorities || r.deaf != 0 {
		s.takePause(r, p, prio, quanta)
		return
	}
	if r.host {
		s.pauseNIC(p, prio, quanta)
	} else {
		s.pauseSwitch(p, prio, quanta)
	}
}
