package telemetry

import (
	"errors"

	"weir/units"
)

// RecordWindow is what a record says of one interval. It implements Window.
type RecordWindow struct {
	From, To  units.Time // first and last instant inside
	Instants  int
	Truncated bool // the record is cut off; what is there was used

	registry *Registry
	state    []seriesState
}

type seriesState struct {
	acc          Accumulator
	value        uint64
	low, high    uint64
	has, touched bool // has: value holds; touched: low and high hold
}

// Window reads the record once and sums every series over the instants from
// from to to, both included. A series that did not change between two
// instants was read all the same, so its delta is zero, not a gap.
func (r *Record) Window(from, to units.Time) (*RecordWindow, error) {
	w := &RecordWindow{registry: r.Registry, state: make([]seriesState, r.Registry.Len())}
	stop := errors.New("past the window")
	err := r.Each(func(in Instant) error {
		if in.At > to {
			return stop
		}
		inside := in.At >= from
		if inside && w.Instants == 0 {
			w.start(in.At)
		}
		w.apply(in, inside)
		if inside {
			w.To = in.At
			w.Instants++
		}
		return nil
	})
	if errors.Is(err, ErrTruncated) {
		w.Truncated, err = true, nil
	}
	if err != nil && !errors.Is(err, stop) {
		return nil, err
	}
	for i := range w.state {
		s := &w.state[i]
		if s.has && w.Instants > 0 {
			s.acc.Add(w.registry.Metric(uint32(i)).Bits, w.To, s.value)
		}
	}
	return w, nil
}

// start takes the values that hold at the first instant of the window.
func (w *RecordWindow) start(at units.Time) {
	w.From = at
	for i := range w.state {
		if s := &w.state[i]; s.has {
			s.note()
			s.acc.Add(w.registry.Metric(uint32(i)).Bits, at, s.value)
		}
	}
}

func (s *seriesState) note() {
	if !s.touched {
		s.low, s.high, s.touched = s.value, s.value, true
		return
	}
	s.low, s.high = min(s.low, s.value), max(s.high, s.value)
}

func (w *RecordWindow) apply(in Instant, inside bool) {
	for _, c := range in.Changes {
		s := &w.state[c.Series]
		first := w.Instants == 0 && inside
		s.value, s.has = c.Value, true
		if !inside {
			continue
		}
		if first {
			// The value at the window's first instant, not a step into it.
			s.acc, s.touched = Accumulator{}, false
		}
		s.note()
		s.acc.Add(w.registry.Metric(c.Series).Bits, in.At, c.Value)
	}
	for _, n := range in.Missing {
		s := &w.state[n]
		switch {
		case inside && w.Instants == 0:
			s.acc, s.touched = Accumulator{}, false
		case inside && s.has:
			// It was last read at the instant before.
			s.acc.Add(w.registry.Metric(n).Bits, w.To, s.value)
		}
		s.has = false
		s.acc.Gap()
	}
}

// Delta returns the difference of a counter over the window; false for a gap
// and for metrics that are no counters.
func (w *RecordWindow) Delta(series uint32) (Delta, bool) {
	if int(series) >= len(w.state) || w.registry.Metric(series).Kind != Counter {
		return Delta{}, false
	}
	return w.state[series].acc.Delta()
}

// Range returns the least and the greatest reading of a series in the window
// and the last one; false if there was none.
func (w *RecordWindow) Range(series uint32) (low, high, last uint64, ok bool) {
	if int(series) >= len(w.state) || !w.state[series].touched {
		return 0, 0, 0, false
	}
	s := &w.state[series]
	return s.low, s.high, s.value, true
}
