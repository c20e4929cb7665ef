package capture

import "math/bits"

// histogram counts times in nanoseconds in buckets whose width is 1/16 of
// their value: a percentile is right within 3 %.
type histogram struct {
	counts [histBuckets]uint32
	n      uint32
	max    int64
}

// 16 buckets below 16 ns, then 16 for each power of two up to 2^40 ns (18 min).
const histBuckets = 16 + 36*16

func bucketOf(ns int64) int {
	if ns < 16 {
		return int(max(ns, 0))
	}
	e := bits.Len64(uint64(ns)) - 5 // ns>>e is 16 to 31
	return min(e*16+int(ns>>e), histBuckets-1)
}

// bucketMiddle returns the middle of the times that bucket i counts.
func bucketMiddle(i int) int64 {
	if i < 32 {
		return int64(i)
	}
	e := i/16 - 1
	return int64(16+i%16)<<e + int64(1)<<e/2
}

func (h *histogram) add(ns int64) {
	h.counts[bucketOf(ns)]++
	h.n++
	h.max = max(h.max, ns)
}

// percentile returns the time that a share q of the counted ones do not exceed, in
// nanoseconds; 0 if none was counted.
func (h *histogram) percentile(q float64) int64 {
	if h == nil || h.n == 0 {
		return 0
	}
	rank := uint32(q*float64(h.n-1)) + 1
	for i, c := range h.counts {
		if c >= rank {
			return min(bucketMiddle(i), h.max)
		}
		rank -= c
	}
	return h.max
}
