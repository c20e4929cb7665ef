package dcqcn

import "weir/units"

// raise applies the increases by timer that were due by now.
func (r *Reaction) raise(p *Params, now units.Time) {
	n := uint64((now-r.raiseAt)/p.TimeReset) + 1
	r.raiseAt += units.Time(n) * p.TimeReset
	for n > 0 {
		if r.atLine(p) {
			r.timeStage = uint32(min(uint64(r.timeStage)+n, 1<<31))
			return
		}
		n -= r.jump(p, n)
		if n == 0 {
			return
		}
		r.step(p)
		r.timeStage++
		n--
	}
}

// count applies the increases by byte counter that n more bytes bring.
func (r *Reaction) count(p *Params, n uint32) {
	if p.ByteReset <= 0 || p.Variant == NS3 || !r.limited {
		return
	}
	r.bytes += units.Bytes(n)
	if r.bytes < p.ByteReset {
		return
	}
	for r.bytes >= p.ByteReset {
		r.bytes -= p.ByteReset
		if r.atLine(p) {
			r.bytes %= p.ByteReset
			break
		}
		r.step(p)
		r.byteStage++
	}
	r.settle(p)
}

// step is one increase: fast recovery goes half the way to the target,
// additive and hyper increase raise the target first. Which one it is depends
// on the increases since the last cut, by timer and by byte counter.
func (r *Reaction) step(p *Params) {
	switch r.phase(p) {
	case additive:
		r.target += p.AIRate
	case hyper:
		r.target += p.HAIRate
	}
	r.target = min(r.target, p.LineRate)
	r.rate = r.target - (r.target-r.rate)/2
}

type phase uint8

const (
	recovery phase = iota
	additive
	hyper
)

// phase follows QCN: recovery while both counts are below the threshold, hyper
// increase when both are above. Without a byte counter the timer alone decides.
func (r *Reaction) phase(p *Params) phase {
	low, high := r.timeStage, r.timeStage
	if p.ByteReset > 0 && p.Variant != NS3 {
		low, high = min(low, r.byteStage), max(high, r.byteStage)
	}
	switch {
	case high < p.Threshold:
		return recovery
	case low > p.Threshold:
		return hyper
	}
	return additive
}

// jump applies most of n increases by timer at once, when the rate follows the
// target at a constant distance; it returns how many. So the time that a queue
// pair was idle costs nothing.
func (r *Reaction) jump(p *Params, n uint64) uint64 {
	size := p.HAIRate
	switch r.phase(p) {
	case recovery:
		if r.rate != r.target {
			return 0
		}
		n = min(n, uint64(p.Threshold-max(r.timeStage, r.byteStage)))
		r.timeStage += uint32(n)
		return n
	case additive:
		if p.ByteReset <= 0 || r.byteStage > p.Threshold {
			return 0 // for one step only
		}
		size = p.AIRate
	}
	gap := r.target - r.rate
	if size <= 0 || n < 2 || (gap+size)/2 != gap {
		return 0
	}
	n = min(n, uint64((p.LineRate-r.target)/size))
	r.target += units.BitRate(n) * size
	r.rate += units.BitRate(n) * size
	r.timeStage = uint32(min(uint64(r.timeStage)+n, 1<<31))
	return n
}
