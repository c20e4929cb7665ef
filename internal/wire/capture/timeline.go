package capture

// timelineBins is how many points a curve over time has at most.
const timelineBins = 64

// timeline sums bytes over time in bins of equal width. The width starts at
// 100 us and doubles whenever the capture outgrows the bins.
type timeline struct {
	width int64 // ns
	bytes [timelineBins]uint64
	used  int
}

func (t *timeline) add(at int64, n int) {
	if at < 0 {
		return // a clock that went back
	}
	if t.width == 0 {
		t.width = 100e3
	}
	i := at / t.width
	for i >= timelineBins {
		for k := range timelineBins / 2 {
			t.bytes[k] = t.bytes[2*k] + t.bytes[2*k+1]
		}
		clear(t.bytes[timelineBins/2:])
		t.width *= 2
		t.used = (t.used + 1) / 2
		i = at / t.width
	}
	t.bytes[i] += uint64(n)
	t.used = max(t.used, int(i)+1)
}
