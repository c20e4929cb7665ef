package sim

import (
	"math/bits"

	"weir/internal/cluster"
)

// PauseForm says what a port's pause frames ask its peer to stop.
type PauseForm uint8

// The forms: one priority (PFC as it should be), all priorities at once by
// PFC, all traffic by link-level pause (802.3x), which is counted apart.
const (
	PausePriority PauseForm = iota
	PauseAllPriorities
	PauseLink
)

// pauseForm is the form of a port's pauses, and what was counted of forms other
// than the usual one, to correct the counters of single priorities.
type pauseForm struct {
	form PauseForm
	tx   [priorities]pauseFrames // sent because of a priority
	all  [priorities]pauseFrames // what they count besides: PFC of all priorities
	rx   pauseFrames             // link-level frames received, which stopped every priority
	link pauseFrames             // link-level frames sent
}

type pauseFrames struct{ xoff, xon uint64 }

func (f *pauseFrames) count(quanta uint16) {
	if quanta == 0 {
		f.xon++
	} else {
		f.xoff++
	}
}

// Marks of pause frames that are not for one priority.
const (
	allPriorities = priorities + iota
	wholeLink
	unsent
)

// SetPauseForm changes what a port's pause frames stop. The peer obeys them.
func (s *Sim) SetPauseForm(id cluster.PortID, form PauseForm) {
	p := s.simPort(id)
	s.formOf(p).form = form
	if s.tx[p].flags&isCabled != 0 {
		s.formOf(s.tx[p].peer)
	}
}

func (s *Sim) formOf(p uint32) *pauseForm {
	if s.rare[p].form == nil {
		s.rare[p].form = &pauseForm{}
	}
	return s.rare[p].form
}

// formPause returns as what a pause frame leaves port p: its priority, or one of
// the marks above.
func (s *Sim) formPause(p uint32, f *pauseForm, prio uint8, quanta uint16) uint8 {
	if f.form == PausePriority {
		return prio
	}
	if f.form == PauseLink {
		f.tx[prio].count(quanta)
	}
	if quanta == 0 && s.holdsOther(p, prio) {
		return unsent
	}
	if f.form == PauseLink {
		f.link.count(quanta)
		return wholeLink
	}
	for other := range f.all {
		if other != int(prio) {
			f.all[other].count(quanta)
		}
	}
	return allPriorities
}

// holdsOther reports whether port p keeps its peer from sending another
// priority.
func (s *Sim) holdsOther(p uint32, prio uint8) bool {
	t := &s.tx[p]
	if t.flags&isHost != 0 {
		return s.nics[t.unit].pausing&^(1<<prio) != 0
	}
	for other := range uint8(priorities) {
		if other != prio && s.switches[t.unit].core.XOFFInForce(t.local, other) {
			return true
		}
	}
	return false
}

// takePause gives a pause frame that is not of the usual form, or comes to a
// port that does not know all of them, to each priority that it stops.
func (s *Sim) takePause(r *rxPort, p uint32, prio uint8, quanta uint16) {
	mask := uint8(0xff)
	if prio < priorities {
		mask = 1 << prio
	}
	if prio == wholeLink {
		s.formOf(p).rx.count(quanta)
	} else {
		mask &^= r.deaf
	}
	for ; mask != 0; mask &= mask - 1 {
		one := uint8(bits.TrailingZeros8(mask))
		if r.host {
			s.pauseNIC(p, one, quanta)
		} else {
			s.pauseSwitch(p, one, quanta)
		}
	}
}

// apply corrects the counters of a priority by what was no pause of it, or was
// one and not counted.
func (f *pauseForm) apply(c *PriorityCounters, prio uint8) {
	if f == nil {
		return
	}
	c.TxXOFF += f.all[prio].xoff - f.tx[prio].xoff
	c.TxXON += f.all[prio].xon - min(f.tx[prio].xon, c.TxXON)
	c.RxXOFF -= min(f.rx.xoff, c.RxXOFF)
	c.RxXON -= min(f.rx.xon, c.RxXON)
}
