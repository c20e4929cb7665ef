package sim

import (
	"math/bits"

	"weir/internal/twin/switchcore"
	"weir/units"
)

// pauseNIC takes a pause frame for a NIC's port: quanta 0 resumes.
func (s *Sim) pauseNIC(p uint32, prio uint8, quanta uint16) {
	n := &s.nics[s.rx[p].unit]
	bit := uint8(1) << prio
	if quanta == 0 {
		n.pauses[prio].rxXON++
	} else {
		n.pauses[prio].rxXOFF++
	}
	if n.obeys&bit == 0 {
		return
	}
	if quanta == 0 {
		if n.paused&bit != 0 {
			n.resume(prio, s.now)
			s.kick(p)
		}
		return
	}
	if n.paused&bit == 0 {
		n.paused |= bit
		n.since[prio] = s.now
	}
	n.until[prio] = units.Never
	if !s.model.PauseForever {
		n.until[prio] = s.now + switchcore.PauseTime(s.rare[p].rate, quanta)
		s.plan(p, n, 0)
	}
}

// resume ends a pause.
func (n *nicPort) resume(prio uint8, at units.Time) {
	n.paused &^= 1 << prio
	n.pauses[prio].paused += at - n.since[prio]
	n.since[prio] = units.Never
}

// lapse ends the pauses whose time is over.
func (s *Sim) lapse(n *nicPort) {
	for m := n.paused; m != 0; m &= m - 1 {
		if i := uint8(bits.TrailingZeros8(m)); n.until[i] <= s.now {
			n.resume(i, n.until[i])
		}
	}
}

// accept takes a packet into a NIC's receive buffer, from where PCIe drains
// it. It reports false when the buffer is full.
func (s *Sim) accept(p uint32, n *nicPort, d *card, pk *packet) bool {
	to := max(d.drained, s.now) + d.drain.Time(pk.Bytes)
	backlog := to - s.now
	if d.flags&copiesHost != 0 {
		d.copied += uint64(pk.Bytes)
	}
	if backlog > d.full {
		return false
	}
	d.drained = to
	if backlog <= d.xoff {
		return true
	}
	d.stalled += d.drain.Time(pk.Bytes)
	if n.pausing>>pk.prio&1 == 0 && s.model.NICPause && n.obeys>>pk.prio&1 != 0 {
		s.pausing++
		n.pausing |= 1 << pk.prio
		s.pauseNetwork(p, n, d, pk.prio)
	}
	return true
}

// pauseNetwork sends XOFF from a NIC's port and plans the next look at the
// receive buffer.
func (s *Sim) pauseNetwork(p uint32, n *nicPort, d *card, prio uint8) {
	n.xoffAt = s.now
	n.pauses[prio].txXOFF++
	s.sendPause(p, prio, longestPause)
	s.planDrain(p, n, d)
}

// planDrain sets the time at which a NIC that pauses its switch looks at its
// receive buffer again: when it will have drained to XON if nothing comes, but
// before the pause lapses.
func (s *Sim) planDrain(p uint32, n *nicPort, d *card) {
	renew := n.xoffAt + switchcore.PauseTime(s.rare[p].rate, longestPause)/2
	at := max(min(renew, d.drained-d.xon), s.now+1)
	s.queue.push(at, makeKey(s.tx[p].node, kindDrain, p))
}

// drain is the event that planDrain sets.
func (s *Sim) drain(p uint32) {
	n := &s.nics[s.rx[p].unit]
	d := &s.cards[n.card]
	for m := n.pausing; m != 0; m &= m - 1 {
		prio := uint8(bits.TrailingZeros8(m))
		switch {
		case d.drained-s.now <= d.xon:
			s.pausing--
			n.pausing &^= 1 << prio
			n.pauses[prio].txXON++
			s.sendPause(p, prio, 0)
		case s.now >= n.xoffAt+switchcore.PauseTime(s.rare[p].rate, longestPause)/2:
			n.pauses[prio].txXOFF++
			s.sendPause(p, prio, longestPause)
			n.xoffAt = s.now
		}
	}
	if n.pausing != 0 {
		s.planDrain(p, n, d)
	}
}
