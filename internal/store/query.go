package store

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// errPrepare is a query that cannot be read.
var errPrepare = fmt.Errorf("%w", ErrQuery)

// evaluate runs a query that make prepares and hands its result to use, which
// must not keep it: the engine takes its memory back.
func (l *Local) evaluate(ctx context.Context, prepare func() (promql.Query, error), use func(*promql.Result) error) error {
	select {
	case l.slots <- struct{}{}:
		defer func() { <-l.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	q, err := prepare()
	if err != nil {
		return fmt.Errorf("%w: %w", errPrepare, err)
	}
	defer q.Close()
	r := q.Exec(ctx)
	if r.Err != nil {
		var broken promql.ErrStorage
		if errors.As(r.Err, &broken) || ctx.Err() != nil {
			return r.Err
		}
		return fmt.Errorf("%w: %w", ErrQuery, r.Err)
	}
	return use(r)
}

// Query implements Store.
func (l *Local) Query(ctx context.Context, expr string, at time.Time) ([]Sample, error) {
	var out []Sample
	err := l.instant(ctx, expr, at, func(r *promql.Result) error {
		switch v := r.Value.(type) {
		case promql.Vector:
			out = make([]Sample, 0, len(v))
			for i := range v {
				if v[i].H == nil {
					out = append(out, Sample{Labels: v[i].Metric, At: time.UnixMilli(v[i].T), Value: v[i].F})
				}
			}
		case promql.Scalar:
			out = []Sample{{At: time.UnixMilli(v.T), Value: v.V}}
		default:
			return fmt.Errorf("%w: a %s where a vector or scalar is needed", ErrQuery, r.Value.Type())
		}
		return nil
	})
	return out, err
}

func (l *Local) instant(ctx context.Context, expr string, at time.Time, use func(*promql.Result) error) error {
	return l.evaluate(ctx, func() (promql.Query, error) {
		return l.engine.NewInstantQuery(ctx, l.db, nil, expr, at)
	}, use)
}

// QueryRange implements Store.
func (l *Local) QueryRange(ctx context.Context, expr string, r Range) ([]Curve, error) {
	var out []Curve
	err := l.span(ctx, expr, r, func(res *promql.Result) error {
		m, err := res.Matrix()
		out = curves(m)
		return err
	})
	return out, err
}

// curves copies what the engine takes back.
func curves(m promql.Matrix) []Curve {
	out := make([]Curve, len(m))
	for i := range m {
		c := Curve{Labels: m[i].Metric, Times: make([]int64, len(m[i].Floats)), Values: make([]float64, len(m[i].Floats))}
		for j, p := range m[i].Floats {
			c.Times[j], c.Values[j] = p.T, p.F
		}
		out[i] = c
	}
	return out
}

// Samples implements Store.
func (l *Local) Samples(ctx context.Context, selector string, from, to time.Time) ([]Curve, error) {
	span := to.Sub(from).Milliseconds()
	if span <= 0 {
		return nil, fmt.Errorf("%w: end of the samples before their start", ErrQuery)
	}
	var out []Curve
	err := l.instant(ctx, fmt.Sprintf("%s[%dms]", selector, span), to, func(res *promql.Result) error {
		m, err := res.Matrix()
		out = curves(m)
		return err
	})
	return out, err
}

func (l *Local) span(ctx context.Context, expr string, r Range, use func(*promql.Result) error) error {
	if err := r.check(); err != nil {
		return fmt.Errorf("%w: %w", ErrQuery, err)
	}
	return l.evaluate(ctx, func() (promql.Query, error) {
		return l.engine.NewRangeQuery(ctx, l.db, nil, expr, r.From, r.To, r.Step)
	}, use)
}

// Latest implements Store.
func (l *Local) Latest(ctx context.Context, metric string, now time.Time, lookback time.Duration) ([]Sample, error) {
	from, to := now.Add(-lookback).UnixMilli(), now.UnixMilli()
	q, err := l.db.Querier(from, to)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	set := q.Select(ctx, false, &storage.SelectHints{Start: from, End: to}, labels.MustNewMatcher(labels.MatchEqual, model.MetricNameLabel, metric))
	var out []Sample
	var it chunkenc.Iterator
	for set.Next() {
		s := set.At()
		it = s.Iterator(it)
		var t int64
		v, found := 0.0, false
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind == chunkenc.ValFloat {
				t, v = it.At()
				found = true
			}
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
		if found && math.Float64bits(v) != value.StaleNaN {
			out = append(out, Sample{Labels: s.Labels(), At: time.UnixMilli(t), Value: v})
		}
	}
	return out, set.Err()
}
