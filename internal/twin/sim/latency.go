package sim

import (
	"math/bits"

	"weir/units"
)

// A Histogram counts times in steps of at most 1/256 of their value, from
// nanoseconds up. The zero value is empty.
type Histogram struct {
	Count   uint64
	buckets [64 * histogramSteps]uint64
}

// histogramSteps is a power of two, 2^histogramBits.
const (
	histogramBits  = 8
	histogramSteps = 1 << histogramBits
)

func (h *Histogram) add(t units.Time) {
	h.Count++
	h.buckets[bucketOf(t)]++
}

// Add counts what other has counted.
func (h *Histogram) Add(other *Histogram) {
	h.Count += other.Count
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
}

// bucketOf: times below 256 ns have a bucket for each ns, every doubling above
// has 256.
func bucketOf(t units.Time) int {
	ns := uint64(max(t, 0) / units.Nanosecond)
	if ns < histogramSteps {
		return int(ns)
	}
	shift := bits.Len64(ns) - histogramBits - 1
	return (shift+1)*histogramSteps + int(ns>>shift) - histogramSteps
}

// Quantile returns the lower bound of the bucket that holds the q-th share of
// the times (nearest rank), q from 0 to 1. It is 0 when there are none.
func (h *Histogram) Quantile(q float64) units.Time {
	rank := uint64(q * float64(h.Count))
	if float64(rank) < q*float64(h.Count) {
		rank++
	}
	rank = max(rank, 1)
	var seen uint64
	for i, n := range h.buckets {
		if seen += n; n != 0 && seen >= rank {
			if i < histogramSteps {
				return units.Time(i) * units.Nanosecond
			}
			return units.Time(i%histogramSteps+histogramSteps) << (i/histogramSteps - 1) * units.Nanosecond
		}
	}
	return 0
}

// Latency returns the times of messages from first packet to last
// acknowledgement.
func (s *Sim) Latency() *Histogram { return &s.latency }
