package switchcore

import (
	"math/bits"

	"weir/units"
)

// Watchdog looks after the egress queues of a port that obey pause. It must be
// called after Pause and again at each time that it returned; it returns when
// to call it next, or Never when it has nothing to look after until the next
// Pause.
//
// detected has bit p set when queue p has just been found stormed: paused with
// packets waiting and none sent for DetectAfter. From then on its pauses are
// not obeyed; with the action "drop", Enqueue refuses its packets and the
// caller empties the queue with Drain. restored has bit p set when it has just
// become an ordinary queue again: no pause in force for RestoreAfter.
func (s *Switch) Watchdog(now units.Time, port uint16) (next units.Time, detected, restored uint8) {
	w := &s.cfg.Watchdog
	p := &s.ports[port]
	if !w.Enabled || p.rare == nil {
		return units.Never, 0, 0
	}
	s.settle(now, p)
	next = units.Never
	for m := (p.paused | p.stormed) & p.obeys; m != 0; m &= m - 1 {
		i := bits.TrailingZeros8(m)
		bit := uint8(1) << i
		r := &p.rare[i]
		if p.stormed&bit == 0 {
			at := now + w.DetectAfter
			if p.ready&bit != 0 {
				at = r.stalled + w.DetectAfter
			}
			if at > now {
				next = min(next, at)
				continue
			}
			p.stormed |= bit
			r.stormsDetected++
			detected |= bit
		}
		at := r.until
		if p.paused&bit == 0 {
			if at += w.RestoreAfter; at <= now {
				p.stormed &^= bit
				r.stormsRestored++
				restored |= bit
				continue
			}
		} else if at != units.Never {
			at += w.RestoreAfter
		}
		next = min(next, at)
	}
	p.hold()
	return next, detected, restored
}

// StormedQueues has bit p set where the watchdog has taken over egress queue p.
func (s *Switch) StormedQueues(port uint16) uint8 { return s.ports[port].stormed }
