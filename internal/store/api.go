package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"weir/internal/telemetry"
)

// maxForm is the most bytes of a request's body, and maxListed the most
// series or names of an answer.
const (
	maxForm   = 1 << 20
	maxListed = 200_000
)

// API returns the part of the Prometheus HTTP API that readers such as Grafana
// use: query, query_range, series, labels, label/NAME/values, metadata,
// query_exemplars (empty) and status/buildinfo, below /api/v1/.
func (l *Local) API() http.Handler {
	mux := http.NewServeMux()
	handle := func(path string, f func(*http.Request) (any, error)) {
		mux.HandleFunc("/api/v1/"+path, func(w http.ResponseWriter, r *http.Request) { serve(w, r, f) })
	}
	handle("query", l.apiQuery)
	handle("query_range", l.apiQueryRange)
	handle("series", l.apiSeries)
	handle("labels", l.apiLabels)
	handle("label/{name}/values", l.apiLabelValues)
	handle("metadata", apiMetadata)
	handle("query_exemplars", func(*http.Request) (any, error) { return []string{}, nil })
	handle("status/buildinfo", func(*http.Request) (any, error) {
		// Readers choose features by the version of the engine.
		return map[string]string{"version": engineVersion, "application": "weir-server"}, nil
	})
	return mux
}

// engineVersion is the release of the engine that is built in, as Prometheus counts them.
const engineVersion = "3.15.1"

type badRequest struct{ error }

func bad(param, found string, err error) error {
	return badRequest{fmt.Errorf("invalid parameter %q: %q: %w", param, found, err)}
}

// serve answers in the API's envelope. Queries change nothing, so GET and
// POST are the same.
func serve(w http.ResponseWriter, r *http.Request, f func(*http.Request) (any, error)) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		w.Header().Set("Allow", "GET, POST")
		http.Error(w, "GET or POST", http.StatusMethodNotAllowed)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	data, err := any(nil), r.ParseForm()
	if err != nil {
		err = badRequest{err}
	} else {
		data, err = f(r)
	}
	w.Header().Set("Content-Type", "application/json")
	if err != nil {
		status, kind := http.StatusUnprocessableEntity, "execution"
		var b badRequest
		switch {
		case errors.As(err, &b):
			status, kind = http.StatusBadRequest, "bad_data"
		case r.Context().Err() != nil:
			status, kind = 499, "canceled" // nobody listens any more
		case !errors.Is(err, ErrQuery):
			status, kind = http.StatusInternalServerError, "internal"
		}
		w.WriteHeader(status)
		json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": kind, "error": err.Error()})
		return
	}
	if text, ok := data.(encoded); ok {
		w.Write(text)
		return
	}
	json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data})
}

// encoded is a whole answer in JSON.
type encoded []byte

func (l *Local) apiQuery(r *http.Request) (any, error) {
	at, err := timeParam(r, "time", l.now())
	if err != nil {
		return nil, err
	}
	var out encoded
	err = l.instant(r.Context(), r.FormValue("query"), at, func(res *promql.Result) error {
		out, err = encodeResult(res)
		return err
	})
	return out, queryError(err)
}

func (l *Local) apiQueryRange(r *http.Request) (any, error) {
	var rng Range
	var err error
	if rng.From, err = timeParam(r, "start", time.Time{}); err != nil {
		return nil, err
	}
	if rng.To, err = timeParam(r, "end", time.Time{}); err != nil {
		return nil, err
	}
	if rng.Step, err = durationParam(r, "step"); err != nil {
		return nil, err
	}
	if err := rng.check(); err != nil {
		return nil, badRequest{err}
	}
	var out encoded
	err = l.span(r.Context(), r.FormValue("query"), rng, func(res *promql.Result) error {
		out, err = encodeResult(res)
		return err
	})
	return out, queryError(err)
}

// queryError tells what the engine could not even read, which is the
// reader's fault, from what it could not evaluate.
func queryError(err error) error {
	if err != nil && errors.Is(err, errPrepare) {
		return badRequest{err}
	}
	return err
}

func timeParam(r *http.Request, name string, otherwise time.Time) (time.Time, error) {
	s := r.FormValue(name)
	if s == "" {
		if otherwise.IsZero() {
			return otherwise, bad(name, s, errors.New("needed"))
		}
		return otherwise, nil
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if math.Abs(f) > 1e11 || math.IsNaN(f) {
			return time.Time{}, bad(name, s, errors.New("seconds since 1970 out of range"))
		}
		return time.UnixMilli(int64(math.Round(f * 1000))), nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, bad(name, s, errors.New("seconds since 1970 or RFC 3339"))
	}
	return t, nil
}

func durationParam(r *http.Request, name string) (time.Duration, error) {
	s := r.FormValue(name)
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		if math.Abs(f) > 1e9 || math.IsNaN(f) {
			return 0, bad(name, s, errors.New("seconds out of range"))
		}
		return time.Duration(f * float64(time.Second)), nil
	}
	d, err := model.ParseDuration(s)
	if err != nil {
		return 0, bad(name, s, errors.New("seconds, or a duration as in 15s"))
	}
	return time.Duration(d), nil
}

// selection are the series that a request names and their time.
type selection struct {
	matchers [][]*labels.Matcher
	q        storage.Querier
	hints    *storage.SelectHints
	limit    int
}

func (l *Local) selection(r *http.Request, needed bool) (*selection, error) {
	s := &selection{limit: maxListed}
	from, err := timeParam(r, "start", time.Unix(1, 0))
	if err != nil {
		return nil, err
	}
	to, err := timeParam(r, "end", l.now().Add(MaxAhead))
	if err != nil {
		return nil, err
	}
	if text := r.FormValue("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, bad("limit", text, errors.New("a number of 0 or more"))
		}
		if n > 0 {
			s.limit = min(n, maxListed)
		}
	}
	if s.matchers, err = l.parser.ParseMetricSelectors(r.Form["match[]"]); err != nil {
		return nil, badRequest{err}
	}
	if needed && len(s.matchers) == 0 {
		return nil, bad("match[]", "", errors.New("needed"))
	}
	if s.q, err = l.db.Querier(from.UnixMilli(), to.UnixMilli()); err != nil {
		return nil, err
	}
	s.hints = &storage.SelectHints{Start: from.UnixMilli(), End: to.UnixMilli(), Func: "series", Limit: s.limit}
	return s, nil
}

func (l *Local) apiSeries(r *http.Request) (any, error) {
	s, err := l.selection(r, true)
	if err != nil {
		return nil, err
	}
	defer s.q.Close()
	sets := make([]storage.SeriesSet, len(s.matchers))
	for i, m := range s.matchers {
		sets[i] = s.q.Select(r.Context(), true, s.hints, m...)
	}
	set := storage.NewMergeSeriesSet(sets, 0, storage.ChainedSeriesMerge)
	out := []labels.Labels{}
	for len(out) < s.limit && set.Next() {
		out = append(out, set.At().Labels())
	}
	return out, set.Err()
}

func (l *Local) apiLabels(r *http.Request) (any, error) {
	return l.names(r, func(s *selection, m []*labels.Matcher) ([]string, error) {
		names, _, err := s.q.LabelNames(r.Context(), &storage.LabelHints{Limit: s.limit}, m...)
		return names, err
	})
}

func (l *Local) apiLabelValues(r *http.Request) (any, error) {
	name := r.PathValue("name")
	if !model.UTF8Validation.IsValidLabelName(name) {
		return nil, bad("name", name, errors.New("not a label's name"))
	}
	return l.names(r, func(s *selection, m []*labels.Matcher) ([]string, error) {
		values, _, err := s.q.LabelValues(r.Context(), name, &storage.LabelHints{Limit: s.limit}, m...)
		return values, err
	})
}

// names joins what list says of each selector, or of all series without one.
func (l *Local) names(r *http.Request, list func(*selection, []*labels.Matcher) ([]string, error)) (any, error) {
	s, err := l.selection(r, false)
	if err != nil {
		return nil, err
	}
	defer s.q.Close()
	if len(s.matchers) == 0 {
		s.matchers = [][]*labels.Matcher{nil}
	}
	all := map[string]bool{}
	for _, m := range s.matchers {
		some, err := list(s, m)
		if err != nil {
			return nil, err
		}
		for _, n := range some {
			all[n] = true
		}
	}
	out := sortedKeys(all)
	return out[:min(len(out), s.limit)], nil
}

type metricMetadata struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// apiMetadata answers from the metric table.
func apiMetadata(r *http.Request) (any, error) {
	only := r.FormValue("metric")
	out := map[string][]metricMetadata{}
	for _, m := range telemetry.Table() {
		if m.Of != "" || only != "" && m.Name != only {
			continue
		}
		kind := "gauge"
		if m.Kind == telemetry.Counter {
			kind = "counter"
		}
		out[m.Name] = []metricMetadata{{Type: kind, Help: m.Help, Unit: m.Unit}}
	}
	return out, nil
}
