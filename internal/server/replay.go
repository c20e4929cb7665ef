package server

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"weir/internal/store"
	"weir/internal/telemetry"
)

// replayEvery is the distance of a record's instants in the store.
const replayEvery = time.Second

// replay fills the store from a record on disk (--source record:DIR), slowed
// down so that its instants come a second apart. Counters are multiplied by
// the same factor, so that every rate is the fabric's own. At its end the
// server goes on serving what is there.
func replay(ctx context.Context, l *Live) error {
	_, dir, _ := strings.Cut(l.Source, ":")
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	rec, err := telemetry.OpenRecord(root.FS())
	if err != nil {
		return err
	}
	factor := 1.0
	if rec.Interval > 0 {
		factor = replayEvery.Seconds() / rec.Interval.Seconds()
	}
	points := make([]store.Point, rec.Registry.Len())
	known := make([]bool, len(points))
	for n := range points {
		points[n].Series = seriesOf(rec.Registry, uint32(n))
	}
	var batch []store.Point
	err = rec.Each(func(in telemetry.Instant) error {
		for _, c := range in.Changes {
			v := float64(c.Value)
			if rec.Registry.Metric(c.Series).Kind == telemetry.Counter {
				v *= factor
			}
			points[c.Series].Value, known[c.Series] = v, true
		}
		for _, n := range in.Missing {
			known[n] = false
		}
		at := l.Now().UnixMilli()
		batch = batch[:0]
		for n := range points {
			if known[n] {
				points[n].At = at
				batch = append(batch, points[n])
			}
		}
		for _, n := range in.Missing {
			batch = append(batch, store.Point{Series: points[n].Series, At: at, Value: store.Stale()})
		}
		if _, err := l.Store.Append(ctx, batch); err != nil {
			return err
		}
		return sleep(ctx, replayEvery)
	})
	switch {
	case errors.Is(err, telemetry.ErrTruncated):
		l.Log.Warn("the record is cut off; what is there was shown", "dir", dir)
	case err != nil:
		return err
	}
	<-ctx.Done()
	return nil
}
