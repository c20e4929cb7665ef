package dcqcn

import (
	"math/bits"

	"weir/units"
)

// Reaction is the reaction point of one queue pair: its rate. It takes 96 bytes.
//
// Times given to its methods must not go backwards.
type Reaction struct {
	pace units.Pace
	// wake is when something changes by itself: until then Sent has nothing to
	// do but to compute. Its zero or past values mean that bytes are counted.
	wake         units.Time
	rate, target units.BitRate

	cutAt, raiseAt units.Time // next cut and next increase by timer, or Never
	start          units.Time // of the grid of ReducePeriods: the first CNP
	bytes          units.Bytes

	alpha     alpha
	cutAlpha  uint32 // alpha of the CNP that asked for the cut
	timeStage uint32 // increases by timer since the last cut
	byteStage uint32 // increases by byte counter since the last cut
	limited   bool   // a CNP came
}

// Reset puts r at line rate, as a new queue pair.
func (r *Reaction) Reset(p *Params) {
	*r = Reaction{
		pace: p.LineRate.Pace(), wake: units.Never,
		rate: p.LineRate, target: p.LineRate,
		cutAt: units.Never, raiseAt: units.Never,
		alpha: alpha{value: min(p.InitialAlpha, 1024) << 21},
	}
}

// CNP takes note of a congestion notification.
func (r *Reaction) CNP(p *Params, now units.Time) {
	if !p.Enabled {
		return
	}
	if r.limited {
		r.catchUp(p, now)
		r.alpha.catchUp(p.G, p.AlphaPeriod, now)
		r.alpha.marked = true
	} else {
		r.limited = true
		r.start = now
		r.alpha.at = now
		if p.FirstCNPRate > 0 {
			r.rate = min(p.FirstCNPRate, p.LineRate)
			r.target = r.rate
		}
	}
	r.cutAlpha = r.alpha.value
	switch {
	case p.Variant == Paper:
		r.cut(p, now)
		r.alpha.raise(p.G)
		r.alpha.at, r.alpha.marked = now, false
	case p.ReducePeriod <= 0:
		r.cut(p, now)
	case r.cutAt == units.Never:
		r.cutAt = r.start + ((now-r.start)/p.ReducePeriod+1)*p.ReducePeriod
	}
	r.settle(p)
}

// Sent tells that a packet of the given size went out at now, and returns when
// the next one may go, unless CNPs come: when the rate has made up for the bytes,
// with the changes of the rate that are due until then. (With the NS3 variant the
// rate of now counts alone, as in those models.) Sizes are whatever the line rate
// counts.
func (r *Reaction) Sent(p *Params, now units.Time, bytes uint32) (next units.Time) {
	next = now + r.pace.Time(bytes)
	if next < r.wake {
		return next
	}
	return r.sent(p, now, bytes)
}

func (r *Reaction) sent(p *Params, now units.Time, bytes uint32) units.Time {
	if now >= r.wake {
		r.catchUp(p, now)
		r.count(p, bytes)
	}
	next := now + r.pace.Time(bytes)
	if p.Variant == NS3 || min(r.cutAt, r.raiseAt) >= next || r.atLine(p) {
		return next
	}
	ahead := *r
	const most = 64 // changes that are foreseen; by then even the slowest setting has sent a packet
	for range most {
		change := min(ahead.cutAt, ahead.raiseAt)
		if change >= next {
			break
		}
		bytes -= min(bytes, uint32(ahead.rate.BytesIn(change-now)))
		now = change
		ahead.catchUp(p, now)
		next = now + ahead.pace.Time(bytes)
	}
	return next
}

// Rate returns the rate at now.
func (r *Reaction) Rate(p *Params, now units.Time) units.BitRate {
	if now >= r.wake {
		r.catchUp(p, now)
	}
	return r.rate
}

// Target returns the rate that the next increases aim at, as of the last call.
func (r *Reaction) Target() units.BitRate { return r.target }

// Alpha returns the reduction factor at now, times 2^31.
func (r *Reaction) Alpha(p *Params, now units.Time) uint32 {
	if r.limited {
		r.catchUp(p, now)
		r.alpha.catchUp(p.G, p.AlphaPeriod, now)
	}
	return r.alpha.value
}

// NextIncrease returns when the rate grows next by the timer, as of the last
// call, or Never when it is at its ceiling.
func (r *Reaction) NextIncrease() units.Time {
	if r.wake == units.Never {
		return units.Never
	}
	return r.raiseAt
}

// catchUp applies the cut and the increases by timer that were due by now, in
// their order; an increase goes before a cut of the same time.
func (r *Reaction) catchUp(p *Params, now units.Time) {
	if r.cutAt > now && r.raiseAt > now {
		return
	}
	if r.cutAt <= now {
		if r.raiseAt <= r.cutAt {
			r.raise(p, r.cutAt)
		}
		if p.Variant == NS3 {
			r.alpha.catchUp(p.G, p.AlphaPeriod, r.cutAt)
			r.cutAlpha = r.alpha.value
		}
		r.cut(p, r.cutAt)
	}
	if r.raiseAt <= now {
		r.raise(p, now)
	}
	r.settle(p)
}

// cut lowers the rate by half of alpha, and restarts recovery.
func (r *Reaction) cut(p *Params, at units.Time) {
	switch p.Variant {
	case Paper:
		r.target = r.rate
	case NS3:
		if p.ClampTarget || r.timeStage > 0 {
			r.target = r.rate
		}
	default:
		if p.ClampTarget || p.ClampAfterIncrease && r.timeStage > 0 {
			r.target = r.rate
		}
	}
	hi, lo := bits.Mul64(uint64(r.rate), uint64(r.cutAlpha))
	lower := r.rate - units.BitRate(hi<<32|lo>>32) // rate x alpha / 2
	if p.MinDecFac > 0 {
		lower = max(lower, r.rate*units.BitRate(min(p.MinDecFac, 100))/100)
	}
	r.rate = min(max(lower, p.MinRate, 1), p.LineRate)
	r.timeStage, r.byteStage = 0, 0
	r.bytes = 0
	r.cutAt, r.raiseAt = units.Never, units.Never
	if p.TimeReset > 0 {
		r.raiseAt = at + p.TimeReset
	}
}

// atLine reports whether increases have nothing left to do.
func (r *Reaction) atLine(p *Params) bool { return r.rate == p.LineRate && r.target == p.LineRate }

// settle brings what is derived from rate and times up to date.
func (r *Reaction) settle(p *Params) {
	r.pace = r.rate.Pace()
	r.wake = r.cutAt
	if r.atLine(p) {
		return // increases change nothing any more; a cut catches up with their count
	}
	r.wake = min(r.wake, r.raiseAt)
	if p.ByteReset > 0 && p.Variant != NS3 {
		r.wake = 0
	}
}
