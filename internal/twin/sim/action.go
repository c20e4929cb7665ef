package sim

import (
	"weir/units"
)

// An action is a planned change of the fabric.
type action func()

// At plans a change for a time: do is called from inside the run, between two
// events, with the simulator at that time. A time that has passed means now.
// Changes of one time are made in the order in which they were planned.
func (s *Sim) At(at units.Time, do func()) {
	s.actions = append(s.actions, do)
	s.queue.push(max(at, s.now), makeKey(0, kindAction, uint32(len(s.actions)-1)))
	s.still.planned++
}

func (s *Sim) act(i uint32) {
	s.still.planned--
	do := s.actions[i]
	s.actions[i] = nil
	do()
}

// standstill watches for a fabric in which pauses go on and nothing else does.
type standstill struct {
	planned  int // actions, without its own
	packets  uint64
	since    units.Time
	patience units.Time
	over     bool
}

// looksPerPatience is how often a standstill is looked for.
const looksPerPatience = 8

// WatchStandstill makes Run end with ErrStalled when no data has arrived
// anywhere for so long though pauses are in force (a storm or a deadlock, whose
// pause frames would be exchanged for ever) and no change is planned any more;
// or end well, if no work is open by then.
func (s *Sim) WatchStandstill(patience units.Time) {
	s.still.patience = patience
	s.lookForProgress()
}

func (s *Sim) lookForProgress() {
	w := &s.still
	var packets uint64
	for i := range s.nics {
		packets += s.nics[i].dataReceived
	}
	if packets != w.packets || w.planned > 0 || !s.pauseInForce() {
		w.packets, w.since = packets, s.now
	}
	switch {
	case s.now-w.since < w.patience:
	case s.working():
		s.err = s.stalled()
		return
	default:
		w.over = true
		return
	}
	if s.queue.len() == 0 && s.now > 0 {
		return // nothing but this look is left
	}
	s.At(s.now+w.patience/looksPerPatience, s.lookForProgress)
	w.planned--
}

// pauseInForce reports whether any port keeps its peer from sending.
func (s *Sim) pauseInForce() bool {
	for i := range s.nics {
		if s.nics[i].pausing|s.nics[i].paused != 0 {
			return true
		}
	}
	for i := range s.switches {
		core := s.switches[i].core
		for p := range core.Ports() {
			for prio := range uint8(priorities) {
				if core.XOFFInForce(uint16(p), prio) || core.PausedUntil(uint16(p), prio) > s.now {
					return true
				}
			}
		}
	}
	return false
}

// Fail ends the run with an error.
func (s *Sim) Fail(err error) {
	if s.err == nil {
		s.err = err
	}
}
