package switchcore

import (
	"math/bits"

	"weir/internal/qos"
	"weir/units"
)

// QuantumBytes is what a port sends in one pause quantum: 512 bit times (IEEE
// 802.1Qbb, 802.3 annex 31B).
const QuantumBytes = 64

// rare is the state of one (port, priority) that most packets do not touch.
type rare struct {
	until   units.Time // end of the pause that was received last
	since   units.Time // start of the pause in force, or of the part not yet in total
	total   units.Time // time paused, up to since
	stalled units.Time // since when packets wait without progress under the pause in force
	refresh units.Time // when XOFF is to be sent again

	pauseRx, resumeRx, pauseTx, resumeTx, xoffs uint64
	drops, losslessDrops, wredDrops, discards   uint64
	marks, stormsDetected, stormsRestored       uint64
	maxHeadroom                                 uint32
}

// rarely returns the rare state of a port's priorities, making it at first use.
func (p *port) rarely() *[qos.Priorities]rare {
	if p.rare == nil {
		p.rare = new([qos.Priorities]rare)
	}
	return p.rare
}

// PauseTime returns how long a pause of so many quanta lasts at a rate.
func PauseTime(rate units.BitRate, quanta uint16) units.Time {
	return rate.TransmitTime(QuantumBytes * units.Bytes(quanta))
}

// Pause takes a received PFC frame's time for one priority: 0 resumes, more
// pauses the egress queue for so many quanta from now, replacing what was in
// force. A pause of a priority for which the port does not obey PFC is
// counted and ignored.
func (s *Switch) Pause(now units.Time, port uint16, prio uint8, quanta uint16) {
	p := &s.ports[port]
	r := &p.rarely()[prio]
	if quanta == 0 {
		r.resumeRx++
	} else {
		r.pauseRx++
	}
	bit := uint8(1) << prio
	if p.obeys&bit == 0 {
		return
	}
	// A pause that ends at this very moment goes on without a gap.
	s.settle(now-1, p)
	if quanta == 0 {
		if p.paused&bit != 0 {
			p.paused &^= bit
			r.total += now - r.since
			r.until = now
		}
	} else {
		if p.paused&bit == 0 {
			p.paused |= bit
			r.since, r.stalled = now, now
		}
		r.until = units.Never
		if !s.cfg.PauseForever {
			r.until = now + PauseTime(p.rate, quanta)
		}
	}
	p.hold()
}

// settle ends the pauses that have lapsed by now.
func (s *Switch) settle(now units.Time, p *port) {
	if now < p.lapse {
		return
	}
	for m := p.paused; m != 0; m &= m - 1 {
		i := bits.TrailingZeros8(m)
		if r := &p.rare[i]; r.until <= now {
			p.paused &^= 1 << i
			r.total += r.until - r.since
		}
	}
	p.hold()
}

// hold derives which queues may not send, and until when at least.
func (p *port) hold() {
	p.held = p.paused&^p.stormed | p.blocked
	p.lapse = units.Never
	for m := p.paused; m != 0; m &= m - 1 {
		p.lapse = min(p.lapse, p.rare[bits.TrailingZeros8(m)].until)
	}
}

// stall notes that packets begin to wait in a paused queue.
func (s *Switch) stall(now units.Time, p *port, prio uint) {
	if s.settle(now, p); p.paused>>prio&1 != 0 {
		p.rare[prio].stalled = now
	}
}

// Hold stops an egress queue until it is let go, whatever pauses say: for links
// whose flow control is not pause but credits.
func (s *Switch) Hold(port uint16, prio uint8, on bool) {
	p := &s.ports[port]
	p.blocked &^= 1 << prio
	if on {
		p.blocked |= 1 << prio
	}
	p.hold()
}

// Sendable reports whether Dequeue would return a packet now.
func (s *Switch) Sendable(now units.Time, port uint16) bool {
	p := &s.ports[port]
	s.settle(now, p)
	return p.ready&^p.held != 0
}

// WakeAt returns the earliest time, from now on, at which Dequeue would return
// a packet if nothing else happens: now if one is sendable, Never if all
// queues are empty or held until XON.
func (s *Switch) WakeAt(now units.Time, port uint16) units.Time {
	p := &s.ports[port]
	s.settle(now, p)
	if p.ready&^p.held != 0 {
		return now
	}
	at := units.Never
	for m := p.ready & p.held &^ p.blocked; m != 0; m &= m - 1 {
		at = min(at, p.rare[bits.TrailingZeros8(m)].until)
	}
	return at
}

// PausedUntil returns when the pause in force for an egress queue ends: Never
// if only XON ends it, now or earlier if none is in force.
func (s *Switch) PausedUntil(port uint16, prio uint8) units.Time {
	p := &s.ports[port]
	if p.paused>>prio&1 == 0 {
		return 0
	}
	return p.rare[prio].until
}

// raise puts XOFF in force at an ingress port and priority and counts its frame.
func (s *Switch) raise(now units.Time, p *port, in *ingress, prio uint8) {
	r := &p.rarely()[prio]
	if in.xoff == 0 {
		in.xoff = 1
		r.xoffs++
	}
	r.pauseTx++
	r.refresh = units.Never
	if s.cfg.Refresh {
		r.refresh = now + PauseTime(p.rate, s.cfg.PauseQuanta)/2
	}
}

// lower counts a resume frame.
func (s *Switch) lower(port uint16, prio uint8) {
	r := &s.ports[port].rarely()[prio]
	r.resumeTx++
	r.refresh = units.Never
}

// PauseQuanta returns the quanta that XOFF frames carry.
func (s *Switch) PauseQuanta() uint16 { return s.cfg.PauseQuanta }

// XOFFInForce reports whether the switch has told the sender at an ingress
// port to stop a priority.
func (s *Switch) XOFFInForce(port uint16, prio uint8) bool {
	return s.ports[port].in[prio&7].xoff != 0
}

// NextRefresh returns when XOFF for an ingress port and priority is to be sent
// again: Never if none is in force or XOFF is not refreshed.
func (s *Switch) NextRefresh(port uint16, prio uint8) units.Time {
	if !s.cfg.Refresh || s.ports[port].in[prio&7].xoff == 0 {
		return units.Never
	}
	return s.ports[port].rare[prio].refresh
}

// Refresh is called at the time that NextRefresh gave. True means: send an
// XOFF frame now; NextRefresh has moved on.
func (s *Switch) Refresh(now units.Time, port uint16, prio uint8) bool {
	if now < s.NextRefresh(port, prio) {
		return false
	}
	p := &s.ports[port]
	s.raise(now, p, &p.in[prio&7], prio)
	return true
}
