package capture

import (
	"slices"

	"weir/roce"
	"weir/units"
)

// wholeLink is the class of a plain PAUSE in pauses.
const wholeLink = 8

// maxPausers bounds the senders of pause frames that are told apart.
const maxPausers = 1 << 10

// pauser is one sender of pause frames and its classes; the last is the whole link.
type pauser struct {
	mac         roce.MAC
	classes     [9]pauseClass
	firstPacket uint64
}

// pauseClass is what one sender asked for in one class.
type pauseClass struct {
	frames, resumes uint64
	quanta          uint64 // sum
	maxQuanta       uint16
	paused          units.Time // with overlaps and resumes taken into account
	until           units.Time // end of the pause in force
	from            units.Time
	active          bool
	lapsed          uint64 // pauses that ended by their own time
	run             uint64 // frames since the last resume
	longestRun      uint64
	firstAt, lastAt units.Time
	firstPacket     uint64
}

// take applies one time in quanta at a time.
func (c *pauseClass) take(quanta uint16, at units.Time, rate units.BitRate, packet uint64) {
	if c.frames+c.resumes == 0 {
		c.firstAt, c.firstPacket = at, packet
	}
	c.lastAt = at
	if c.active {
		end := min(at, c.until)
		c.paused += max(end-c.from, 0)
		if at > c.until {
			c.lapsed++
		}
		c.active = false
	}
	if quanta == 0 {
		c.resumes++
		c.run = 0
		return
	}
	c.frames++
	c.run++
	c.longestRun = max(c.longestRun, c.run)
	c.quanta += uint64(quanta)
	c.maxQuanta = max(c.maxQuanta, quanta)
	c.active, c.from, c.until = true, at, at+pauseTime(quanta, rate)
}

// end closes the pause that is in force at the end of the capture.
func (c *pauseClass) end() {
	if c.active {
		c.paused += c.until - c.from
		c.active = false
	}
}

// pauseTime is the time of quanta in picoseconds; 0 if the rate is not known.
func pauseTime(quanta uint16, rate units.BitRate) units.Time {
	if rate <= 0 {
		return 0
	}
	return rate.TransmitTime(units.Bytes(quanta) * roce.QuantumBits / 8)
}

// pause takes a pause frame.
func (a *Analyser) pause(at units.Time) {
	p := &a.packet
	i := slices.IndexFunc(a.pausers, func(s *pauser) bool { return s.mac == p.Ethernet.Src })
	if i < 0 {
		if len(a.pausers) == maxPausers {
			return
		}
		i = len(a.pausers)
		a.pausers = append(a.pausers, &pauser{mac: p.Ethernet.Src, firstPacket: a.frames})
	}
	s := a.pausers[i]
	if p.Has&roce.HasPause != 0 {
		a.pauseFrames++
		s.classes[wholeLink].take(p.Pause.Quanta, at, a.options.LinkSpeed, a.frames)
		return
	}
	a.pfcFrames++
	for c := range 8 {
		if p.PFC.Enable>>c&1 != 0 {
			s.classes[c].take(p.PFC.Quanta[c], at, a.options.LinkSpeed, a.frames)
		}
	}
}
