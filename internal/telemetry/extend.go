package telemetry

// Extended carries a counter on past the width of its source, so that who
// reads the stored values sees it rise where it only wrapped, and fall only
// where it was reset. The zero value is ready. Modulo 2^bits the extended
// value is the source's own, which lets Resume go on from a stored one.
type Extended struct {
	raw, sum uint64
	has      bool
}

// Add takes a reading of a counter that is bits wide and returns the extended
// value.
func (e *Extended) Add(bits uint8, value uint64) uint64 {
	moved, reset := Step(bits, e.raw, value)
	if e.sum += moved; reset || !e.has {
		e.sum = value
	}
	e.raw, e.has = value, true
	return e.sum
}

// Resume goes on from an extended value that was stored before a restart.
func (e *Extended) Resume(bits uint8, stored uint64) {
	e.raw, e.sum, e.has = stored, stored, true
	if bits < 64 {
		e.raw &= 1<<bits - 1
	}
}
