package telemetry

import "weir/units"

// Delta is the difference of a counter over a window.
type Delta struct {
	Value  uint64
	Span   units.Time // time between the readings that were used
	Resets uint32     // how often the counter fell to a smaller value without wrapping
}

// PerSecond returns the rate of the delta, 0 for an empty span.
func (d Delta) PerSecond() float64 {
	if d.Span <= 0 {
		return 0
	}
	return float64(d.Value) / d.Span.Seconds()
}

// Window gives differences over one interval. Store, record and bundle
// implement it. false means a gap: no two readings in the interval.
type Window interface {
	Delta(series uint32) (Delta, bool)
}

// Step returns how far a counter of the given width moved between two
// readings, and whether it was reset in between.
//
// A reading below the one before is a wrap if the counter stood in the upper
// half of its range and the way around is less than half the range; else the
// counter was set back to zero (driver reload, reboot, clear) and has counted
// to the new reading since. A 32-bit counter must be read before it can move
// by half its range.
func Step(bits uint8, before, after uint64) (moved uint64, reset bool) {
	if after >= before {
		return after - before, false
	}
	around := after - before // modulo 2^64
	half := uint64(1) << 63
	if bits < 64 {
		around &= 1<<bits - 1
		half = 1 << (bits - 1)
	}
	if before >= half && around < half {
		return around, false
	}
	return after, true
}

// An Accumulator sums the steps of one counter over readings in order of time.
// The zero value is ready.
type Accumulator struct {
	sum      Delta
	last     uint64
	at       units.Time
	has      bool // last is a reading
	measured bool // at least one step was taken
}

// Add takes a reading of a counter that is bits wide. A reading that is not
// later than the one before is ignored.
func (a *Accumulator) Add(bits uint8, at units.Time, value uint64) {
	if a.has {
		if at <= a.at {
			return
		}
		moved, reset := Step(bits, a.last, value)
		a.sum.Value += moved
		a.sum.Span += at - a.at
		if reset {
			a.sum.Resets++
		}
		a.measured = true
	}
	a.last, a.at, a.has = value, at, true
}

// Gap says that readings are missing: what the counter did between the last
// reading and the next one is not known and does not count.
func (a *Accumulator) Gap() { a.has = false }

// Delta returns the sum; false if there never were two readings in a row.
func (a *Accumulator) Delta() (Delta, bool) { return a.sum, a.measured }
