// Package store keeps the time series of a live cluster: in an embedded
// Prometheus TSDB with PromQL, or in any engine that takes Prometheus' remote
// write and answers its HTTP API. Only weir-server contains it.
package store

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// A Store takes samples and answers queries. Its methods may be called from
// several goroutines.
type Store interface {
	// Append takes a batch. Once it returned, the samples that were not
	// refused survive the end of the process; in another engine they are as
	// safe as it keeps them. An error means that the batch
	// as a whole was not stored.
	Append(ctx context.Context, batch []Point) (Refused, error)
	// Query evaluates a PromQL expression at one instant. A scalar comes back
	// as one sample without labels.
	Query(ctx context.Context, expr string, at time.Time) ([]Sample, error)
	// QueryRange evaluates a PromQL expression at From, From+Step ... To.
	QueryRange(ctx context.Context, expr string, r Range) ([]Curve, error)
	// Samples returns the samples as they were stored, after from and up to
	// to, of all series that a PromQL vector selector matches. Where a source
	// was silent there are none.
	Samples(ctx context.Context, selector string, from, to time.Time) ([]Curve, error)
	// Latest returns the last sample of every series of a metric that is at
	// most lookback older than now, with its own time. A series that ended
	// (its source is gone) is left out.
	Latest(ctx context.Context, metric string, now time.Time, lookback time.Duration) ([]Sample, error)
	// API is the Prometheus HTTP API, below /api/v1/.
	API() http.Handler
	Close() error
}

// A Series is a set of labels, with the metric's name as __name__. Whoever
// appends keeps one for each series, so that the store finds it at once. It
// belongs to one goroutine at a time and to one store.
type Series struct {
	labels labels.Labels
	ref    storage.SeriesRef
}

// NewSeries returns the series of a metric with labels given as name, value,
// name, value ... Labels without value are left out.
func NewSeries(metric string, pairs ...string) *Series {
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set(model.MetricNameLabel, metric)
	for i := 0; i+1 < len(pairs); i += 2 {
		b.Set(pairs[i], pairs[i+1])
	}
	return &Series{labels: b.Labels()}
}

// SeriesOf returns the series of a set of labels, the metric's name among them.
func SeriesOf(ls labels.Labels) *Series { return &Series{labels: ls} }

// Labels returns the series' labels.
func (s *Series) Labels() labels.Labels { return s.labels }

// A Point is one sample to append. At is in milliseconds since 1970.
type Point struct {
	Series *Series
	At     int64
	Value  float64
}

// Stale is the value that ends a series: queries stop showing it at once
// instead of after the lookback of five minutes.
func Stale() float64 { return stale }

// Refused counts the samples of a batch that were not stored.
type Refused struct {
	OutOfOrder int // older than the series' last sample
	Duplicate  int // another value at the time of the last sample
	TooOld     int // before what the store still accepts
	TooNew     int // further ahead of the clock than MaxAhead
}

// Total is the sum of all refusals.
func (r Refused) Total() int { return r.OutOfOrder + r.Duplicate + r.TooOld + r.TooNew }

// MaxAhead is how far ahead of the clock a sample may be. One far ahead would
// make the store refuse all others as too old.
const MaxAhead = 10 * time.Minute

// Sample is one value of one series. At is the time of the sample for Latest,
// that of the evaluation for Query.
type Sample struct {
	Labels labels.Labels
	At     time.Time
	Value  float64
}

// Range are the instants of a range query.
type Range struct {
	From, To time.Time
	Step     time.Duration
}

// Curve is one series of a range query: Values[i] at Times[i], milliseconds
// since 1970. Instants without value are left out, so a gap is a distance of
// more than a step.
type Curve struct {
	Labels labels.Labels
	Times  []int64
	Values []float64
}

// ErrQuery marks a query that cannot be evaluated: wrong syntax or types, or
// more work than a query may make. errors.Is tells it from a broken store.
var ErrQuery = errors.New("query refused")

// maxPoints is the most instants of a range query, as in Prometheus.
const maxPoints = 11000

func (r Range) check() error {
	switch {
	case r.To.Before(r.From):
		return errors.New("end of the range before its start")
	case r.Step <= 0:
		return errors.New("step of zero or less")
	case r.To.Sub(r.From)/r.Step >= maxPoints:
		return errors.New("more than 11000 instants: use a longer step")
	}
	return nil
}
