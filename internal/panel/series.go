package panel

import (
	"weir/internal/telemetry"
)

// keep is how many readings a series holds.
const keep = 8

// A series holds the last readings of one counter or gauge. Of counters it
// keeps the sum of their steps, so that wraps and resets are behind it.
type series struct {
	end    int32 // of the fabric; -1: no port of it
	slot   slot
	prio   uint8
	bits   uint8
	gauge  bool
	factor float64

	n    uint8 // readings held
	next uint8 // place of the next one
	at   [keep]int64
	sum  [keep]float64

	raw    float64 // last reading
	begun  bool
	resets uint32

	// Since the last look of the diagnosis.
	markAt  int64
	markSum float64
	high    float64 // of a gauge
	area    float64 // of a gauge: value times milliseconds
}

func (s *series) last() int { return int(s.next+keep-1) % keep }

func (s *series) add(at int64, value float64) {
	if s.n > 0 && at <= s.at[s.last()] {
		return
	}
	sum := value
	if !s.gauge {
		sum = 0
		if s.begun {
			moved, reset := telemetry.Step(s.bits, uint64(max(s.raw, 0)), uint64(max(value, 0)))
			if s.n > 0 {
				sum = s.sum[s.last()] + float64(moved)
			}
			if reset {
				s.resets++
			}
		}
	}
	if s.n == 0 {
		s.markAt, s.markSum = at, sum
	}
	s.high = max(s.high, value)
	if s.gauge && s.n > 0 {
		s.area += s.raw * float64(at-s.at[s.last()])
	}
	s.raw, s.begun = value, true
	s.at[s.next], s.sum[s.next] = at, sum
	s.next = (s.next + 1) % keep
	s.n = min(s.n+1, keep)
}

// gap forgets the readings: what the counter did until the next is not known.
func (s *series) gap() { s.n, s.begun = 0, false }

// rate returns the counter's movement a second over the window that ends with
// its last reading, and the window's length in milliseconds; false when there
// are no two readings or the last is stale.
func (s *series) rate(now, window int64) (perSecond float64, span int64, ok bool) {
	if s.n < 2 {
		return 0, 0, false
	}
	last := s.last()
	t := s.at[last]
	first := (last + keep - 1) % keep
	if stale(now, t, t-s.at[first]) {
		return 0, 0, false
	}
	for k := 2; k < int(s.n); k++ {
		i := (last + keep - k) % keep
		if t-s.at[i] > window {
			break
		}
		first = i
	}
	span = t - s.at[first]
	return (s.sum[last] - s.sum[first]) / float64(span) * 1000, span, true
}

// value returns a gauge's last reading.
func (s *series) value(now int64) (float64, bool) {
	if s.n == 0 {
		return 0, false
	}
	last := s.last()
	distance := int64(0)
	if s.n > 1 {
		distance = s.at[last] - s.at[(last+keep-1)%keep]
	}
	return s.sum[last], !stale(now, s.at[last], distance)
}

// stale reports whether a source has missed three readings.
func stale(now, last, distance int64) bool { return now-last > 3*distance+2000 }

// look returns what the series did since the last look, and begins anew.
func (s *series) look() (seconds, moved, high, mean float64, ok bool) {
	if s.n == 0 {
		return 0, 0, 0, 0, false
	}
	last := s.last()
	if ms := s.at[last] - s.markAt; ms > 0 {
		seconds, mean, ok = float64(ms)/1000, s.area/float64(ms), true
		if !s.gauge {
			moved = s.sum[last] - s.markSum
		}
	}
	high = s.high
	s.markAt, s.markSum, s.high, s.area = s.at[last], s.sum[last], s.raw, 0
	return seconds, moved, high, mean, ok
}
