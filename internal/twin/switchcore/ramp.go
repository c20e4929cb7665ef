package switchcore

import (
	"math"

	"weir/internal/qos"
)

// ramp is a marking ramp: nothing up to min, a rising share up to max, all above.
type ramp struct {
	min, max uint32
	slope    uint64 // probability per byte, scaled by 2^48
}

const slopeShift = 16

// noRamp never marks.
var noRamp = ramp{min: math.MaxUint32, max: math.MaxUint32}

func newRamp(e qos.ECN) ramp {
	if !e.Enabled {
		return noRamp
	}
	r := ramp{min: uint32(e.Min), max: uint32(e.Max)}
	if r.max > r.min {
		top := uint64(math.Round(e.Probability * math.MaxUint32))
		r.slope = top << slopeShift / uint64(r.max-r.min)
	}
	return r
}

// mark returns the probability of marking, scaled by 2^32, at a queue of q bytes.
func (r *ramp) mark(q uint32) uint32 {
	switch {
	case q <= r.min:
		return 0
	case q > r.max:
		return math.MaxUint32
	}
	return uint32(uint64(q-r.min) * r.slope >> slopeShift)
}
