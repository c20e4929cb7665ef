package adopt

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"weir/internal/store"
	"weir/internal/telemetry"
)

// Options of a run.
type Options struct {
	From  *store.Remote // the Prometheus that has the series
	To    store.Store
	Every time.Duration
	Now   func() time.Time
	Log   *slog.Logger
}

// maxAdopted bounds the series that are held.
const maxAdopted = 1_000_000

type adopted struct {
	series *store.Series
	divide float64
	last   int64 // time of the last sample taken
	bits   uint8
	ext    telemetry.Extended
}

// Run copies new samples every interval until ctx ends. Each keeps its time.
func Run(ctx context.Context, o Options) error {
	known := map[string]*adopted{}
	failing := false
	for {
		n, err := step(ctx, &o, known)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && !failing:
			o.Log.Error("existing series are not read", "err", err)
		case err == nil && failing:
			o.Log.Warn("existing series are read again", "samples", n)
		}
		failing = err != nil
		select {
		case <-time.After(o.Every):
		case <-ctx.Done():
			return nil
		}
	}
}

// step copies once and returns how many samples it stored.
func step(ctx context.Context, o *Options, known map[string]*adopted) (int, error) {
	now := o.Now()
	curves, err := o.From.Samples(ctx, Selector, now.Add(-3*o.Every), now)
	if err != nil {
		return 0, err
	}
	var batch []store.Point
	for _, c := range curves {
		key := c.Labels.String()
		a, ok := known[key]
		if !ok && len(known) < maxAdopted {
			a = newAdopted(c.Labels)
			known[key] = a
		}
		if a == nil {
			continue
		}
		for i, at := range c.Times {
			if at <= a.last {
				continue
			}
			v := c.Values[i] / a.divide
			if v >= 0 && v < 1<<53 && a.bits > 0 {
				v = float64(a.ext.Add(a.bits, uint64(v)))
			}
			a.last = at
			batch = append(batch, store.Point{Series: a.series, At: at, Value: v})
		}
	}
	refused, err := o.To.Append(ctx, batch)
	return len(batch) - refused.Total(), err
}

// newAdopted returns nil for a series that the table does not have.
func newAdopted(ls labels.Labels) *adopted {
	out, divide, ok := Map(ls)
	if !ok {
		return nil
	}
	a := &adopted{series: store.SeriesOf(out), divide: divide}
	if id, ok := telemetry.Lookup(out.Get("__name__")); ok {
		if m := &telemetry.Table()[id]; m.Kind == telemetry.Counter && m.Bits < 64 {
			a.bits = m.Bits
		}
	}
	return a
}
