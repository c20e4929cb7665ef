package web

import (
	"cmp"
	"math"
	"slices"

	"weir/internal/panel"
	"weir/internal/store"
	"weir/internal/telemetry"
)

// lineKey names a curve.
type lineKey struct {
	column panel.Column
	end    int
	prio   string
}

// bins puts the steps of counters into the points of a grid.
type bins struct {
	grid   grid
	steps  map[lineKey]map[int64]float64 // by the time of the later reading
	gaps   [][2]int64
	resets []int64
}

func newBins(g grid) *bins { return &bins{grid: g, steps: map[lineKey]map[int64]float64{}} }

// add takes the readings of one series. Series of the same curve that were read
// at the same moment add up (queues, kinds of drops), of a gauge the largest
// counts.
func (b *bins) add(k lineKey, c *store.Curve, src panel.Source) {
	at := b.steps[k]
	if at == nil {
		at = map[int64]float64{}
		b.steps[k] = at
	}
	if src.Gauge {
		for i, t := range c.Times {
			if v := c.Values[i] * src.Factor; v >= at[t] {
				at[t] = v
			}
		}
		return
	}
	usual := median(c.Times)
	for i := 1; i < len(c.Times); i++ {
		span := c.Times[i] - c.Times[i-1]
		if span > 5*usual/2 {
			b.gap(c.Times[i-1], c.Times[i])
			continue
		}
		moved, reset := telemetry.Step(src.Bits, uint64(max(c.Values[i-1], 0)), uint64(max(c.Values[i], 0)))
		if reset {
			b.reset(c.Times[i])
		}
		rate := float64(moved) * src.Factor / float64(span) * 1000
		if k.column == panel.PauseRx {
			rate = min(rate, 1)
		}
		at[c.Times[i]] += rate
	}
}

// median is the usual distance of readings.
func median(at []int64) int64 {
	if len(at) < 2 {
		return math.MaxInt64 / 4
	}
	d := make([]int64, len(at)-1)
	for i := range d {
		d[i] = at[i+1] - at[i]
	}
	slices.Sort(d)
	return d[len(d)/2]
}

// gap notes a hole in the readings; that of several series is one.
func (b *bins) gap(from, to int64) {
	if g := [2]int64{from, to}; !slices.Contains(b.gaps, g) && to > b.grid.from {
		b.gaps = append(b.gaps, g)
	}
}

func (b *bins) reset(at int64) {
	if !slices.Contains(b.resets, at) && at > b.grid.from {
		b.resets = append(b.resets, at)
	}
}

// lines thins the curves out. A point without readings between two with some
// is left open only where readings are missing, not where points are closer
// than readings.
func (b *bins) lines() []*line {
	keys := make([]lineKey, 0, len(b.steps))
	for k := range b.steps {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(x, y lineKey) int {
		return cmp.Or(cmp.Compare(x.column, y.column), cmp.Compare(x.end, y.end), cmp.Compare(x.prio, y.prio))
	})
	var out []*line
	for _, k := range keys {
		out = append(out, b.line(k))
	}
	return out
}

func (b *bins) line(k lineKey) *line {
	n := b.grid.n
	l := &line{column: k.column, end: k.end, prio: k.prio, mean: nans(n), low: nans(n), top: nans(n)}
	count := make([]float32, n)
	times := make([]int64, 0, len(b.steps[k]))
	for t := range b.steps[k] {
		times = append(times, t)
	}
	slices.Sort(times)
	usual := median(times)
	for i, t := range times {
		v := float32(b.steps[k][t])
		first, ok := b.grid.point(t)
		if !ok {
			continue
		}
		// The step covers the time since the reading before.
		back := first
		if i > 0 && t-times[i-1] <= 5*usual/2 {
			if p, ok := b.grid.point(times[i-1] + 1); ok {
				back = min(max(p, 0), first)
			}
		}
		for p := back; p <= first; p++ {
			if p < first && count[p] > 0 {
				continue
			}
			if count[p] == 0 {
				l.mean[p], l.low[p], l.top[p] = v, v, v
			} else {
				l.mean[p] += v
				l.low[p], l.top[p] = min(l.low[p], v), max(l.top[p], v)
			}
			count[p]++
		}
	}
	for p := range l.mean {
		if count[p] > 1 {
			l.mean[p] /= count[p]
		}
	}
	return l
}

func nans(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(math.NaN())
	}
	return v
}
