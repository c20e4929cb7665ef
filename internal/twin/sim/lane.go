package sim

import "weir/units"

// A flight is a frame on a link: when it will have come in at the far end.
type flight struct {
	at     units.Time
	packet uint32
	_      uint32
}

// The frames on their way from one port to another, in order of arrival, are a
// ring in an array that all links share. The sender keeps the end of the ring
// (laneTail), the receiver its beginning (laneHead), so that neither reads
// what the other writes, but for the frames themselves.
type (
	laneTail struct {
		base uint32 // of the ring in Sim.flights
		mask uint32 // its length, a power of two, less one
		next uint32 // place of the next frame, modulo 2^32
	}
	laneHead struct {
		base, mask uint32
		first      uint32 // place of the first frame, modulo 2^32
	}
)

// firstLane is how many frames a ring has room for at first.
const firstLane = 8

// addLane makes the ring of a link.
func (s *Sim) addLane(tail *laneTail, head *laneHead) {
	base := uint32(len(s.flights))
	s.flights = append(s.flights, make([]flight, firstLane)...)
	for i := range s.flights[base:] {
		s.flights[base:][i].at = -1
	}
	*tail = laneTail{base: base, mask: firstLane - 1}
	*head = laneHead{base: base, mask: firstLane - 1}
}

// launch puts a packet on the link behind port t, to come in at a time after
// that of every frame on it.
func (s *Sim) launch(t *txPort, at units.Time, packet uint32) {
	l := &t.lane
	last := s.flights[l.base+(l.next-1)&l.mask].at
	if s.flights[l.base+l.next&l.mask].at >= s.now { // has not come in, or only just
		s.growLane(t)
	}
	s.flights[l.base+l.next&l.mask] = flight{at: at, packet: packet}
	l.next++
	if last < s.now || last == s.now && s.rx[t.peer].lane.first+1 == l.next {
		s.queue.push(at, makeKey(t.peerNode, kindArrive, t.peer))
	}
}

// land takes the first packet off the link to port r, and plans the arrival of
// the next.
func (s *Sim) land(r *rxPort, p uint32) (packet uint32) {
	h := &r.lane
	packet = s.flights[h.base+h.first&h.mask].packet
	h.first++
	// Frames come in at different times, so what lies here and has come in
	// before was taken before.
	if at := s.flights[h.base+h.first&h.mask].at; at > s.now {
		s.queue.push(at, makeKey(r.node, kindArrive, p))
	}
	return packet
}

// growLane moves a lane to a ring of twice the length. The old one is lost: all
// rings that a lane outgrows are together shorter than its last.
func (s *Sim) growLane(t *txPort) {
	l, h := &t.lane, &s.rx[t.peer].lane
	base, size := uint32(len(s.flights)), 2*(l.mask+1)
	for range size {
		s.flights = append(s.flights, flight{at: -1})
	}
	n := l.next - h.first
	for i := range n {
		s.flights[base+i] = s.flights[l.base+(h.first+i)&l.mask]
	}
	*l = laneTail{base: base, mask: size - 1, next: n}
	*h = laneHead{base: base, mask: size - 1}
}

// inFlight returns how many frames are on the link to port p.
func (s *Sim) inFlight(p uint32) uint32 {
	if s.tx[p].flags&isCabled == 0 {
		return 0
	}
	return s.tx[s.tx[p].peer].lane.next - s.rx[p].lane.first
}
