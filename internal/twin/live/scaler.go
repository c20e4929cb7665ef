package live

import (
	"context"
	"math"
	"time"

	"weir/internal/telemetry"
	"weir/units"
)

// A scaler turns readings at fabric times into readings at a person's times.
// It holds the simulation back until a reading is due. A simulation that comes
// late is stamped when it comes, and that one step is scaled by the time that
// it took: rates stay right.
type scaler struct {
	ctx  context.Context
	o    *Options
	kind []valueKind

	begun  bool
	now    units.Time // of the open instant
	fabric units.Time // of the last reading handed out
	at     time.Time  // when that was
	raw    []uint64   // the open instant
	last   []uint64   // the last reading handed out
	value  []float64  // scaled sums
	shown  []float64  // whole numbers, as counters are
}

type valueKind uint8

const (
	gauge valueKind = iota
	count
	duration // read in picoseconds, shown in microseconds
)

func newScaler(ctx context.Context, o *Options, reg *telemetry.Registry) *scaler {
	n := reg.Len()
	s := &scaler{ctx: ctx, o: o, kind: make([]valueKind, n), raw: make([]uint64, n), last: make([]uint64, n), value: make([]float64, n), shown: make([]float64, n)}
	for i := range n {
		m := reg.Metric(uint32(i))
		switch {
		case m.Kind != telemetry.Counter:
		case m.Unit == "us":
			s.kind[i] = duration
		default:
			s.kind[i] = count
		}
	}
	return s
}

func (s *scaler) Begin(at units.Time) { s.now = at }

func (s *scaler) Set(series uint32, value uint64) { s.raw[series] = value }

// End hands out the instant when it is due. An instant that comes less than
// half a step after the one before, as at the end of a round, is left out:
// the next one counts what it counted.
func (s *scaler) End() error {
	step := s.now - s.fabric
	if s.begun && step < fabricTime(s.o.Every, s.o.Factor)/2 {
		return nil
	}
	if !s.begun {
		s.begun = true
		s.at = s.o.Now()
		copy(s.last, s.raw)
		return s.hand()
	}
	planned := time.Duration(int64(step/units.Nanosecond) * s.o.Factor)
	due := s.at.Add(planned.Round(time.Millisecond))
	if wait := due.Sub(s.o.Now()); wait > 0 {
		if err := s.o.Sleep(s.ctx, wait); err != nil {
			return err
		}
	} else if wait < -time.Millisecond {
		due = s.o.Now().Round(time.Millisecond)
	}
	factor := float64(due.Sub(s.at)) / float64(time.Second) / step.Seconds()
	for i, k := range s.kind {
		moved := float64(s.raw[i]-s.last[i]) * factor
		switch k {
		case gauge:
			s.value[i] = float64(s.raw[i])
		case count:
			s.value[i] += moved
		case duration:
			s.value[i] += moved / float64(units.Microsecond)
		}
	}
	copy(s.last, s.raw)
	s.at, s.fabric = due, s.now
	return s.hand()
}

func (s *scaler) hand() error {
	for i, v := range s.value {
		s.shown[i] = math.Floor(v)
	}
	return s.o.Read(Reading{At: s.at, Fabric: s.fabric, Values: s.shown})
}
