package qos

import (
	"math"
	"slices"
)

// Used reports whether a queue serves packets of a class, or all others.
func (p *Port) Used(q int) bool {
	if p.Queues[q].Strict == On || p.Queues[q].Share > 0 {
		return true
	}
	for d := range uint8(64) {
		if p.Queue(d) == uint8(q) {
			return true
		}
	}
	return false
}

// Percents rounds the shares of the weighted queues to whole percents, the
// largest remainders up, so that shares of together 1 or more make 100. Queues
// in use get at least least.
func (p *Port) Percents(least int) (out [Priorities]int) {
	var total float64
	for i := range p.Queues {
		if p.Queues[i].Strict != On {
			total += p.Queues[i].Share
		}
	}
	if total == 0 {
		return out
	}
	sum := int(math.Round(100 * min(total, 1)))
	left := sum
	var rest [Priorities]float64
	for i := range out {
		if p.Queues[i].Strict == On {
			rest[i] = -1
			continue
		}
		exact := 100 * p.Queues[i].Share / max(total, 1)
		out[i] = int(math.Floor(exact + 1e-9))
		rest[i] = exact - float64(out[i])
		left -= out[i]
	}
	for ; left > 0; left-- {
		k := 0
		for i := range rest {
			if rest[i] > rest[k] {
				k = i
			}
		}
		out[k]++
		rest[k] = -1
	}
	for i := range out {
		if p.Queues[i].Strict == On || out[i] >= least || !p.Used(i) {
			continue
		}
		if sum += least - out[i]; sum > 100 {
			out[slices.Index(out[:], slices.Max(out[:]))] -= sum - 100
			sum = 100
		}
		out[i] = least
	}
	return out
}
