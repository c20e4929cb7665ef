package dcqcn

import "weir/units"

// one is alpha = 1: alpha is a fixed-point number with 31 fractional bits.
const one = 1 << 31

// alpha is the reduction factor with the clock of its updates.
type alpha struct {
	at     units.Time // of the last update that is counted in
	value  uint32     // times 2^31
	marked bool       // a CNP came since: the next update raises alpha
}

// catchUp applies the updates that were due by now, a period apart: with g the
// weight of the old value in 1/1024, alpha = g alpha + (1 - g) when a CNP came
// in the period, else alpha = g alpha.
func (a *alpha) catchUp(g uint32, period, now units.Time) {
	if period <= 0 || now-a.at < period {
		return
	}
	n := uint64((now - a.at) / period)
	a.at += units.Time(n) * period
	if a.marked {
		a.raise(g)
		a.marked = false
		n--
	}
	a.value = decay(a.value, g, n)
}

// raise is one update with a CNP.
func (a *alpha) raise(g uint32) {
	a.value = uint32((uint64(a.value)*uint64(g) + uint64(1024-g)*one + 512) / 1024)
}

// decay returns value x (g/1024)^n, by squaring.
func decay(value, g uint32, n uint64) uint32 {
	const half = 1 << 30
	result, power := uint64(value), uint64(g)<<21 // power: g^(2^i), times 2^31
	for ; n != 0 && result != 0; n >>= 1 {
		if n&1 != 0 {
			result = (result*power + half) >> 31
		}
		power = (power*power + half) >> 31
	}
	return uint32(result)
}
