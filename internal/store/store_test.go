package store

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// open returns a store whose clock stands at start plus the returned offset.
func open(t *testing.T) *Local {
	t.Helper()
	l, err := Open(t.TempDir(), Options{Now: func() time.Time { return start.Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func at(seconds int) int64 { return start.Add(time.Duration(seconds) * time.Second).UnixMilli() }

func appendAll(t *testing.T, s Store, points ...Point) {
	t.Helper()
	refused, err := s.Append(context.Background(), points)
	if err != nil || refused.Total() > 0 {
		t.Fatalf("Append: refused %+v, error %v", refused, err)
	}
}

func TestQueries(t *testing.T) {
	l := open(t)
	a := NewSeries("rdma_port_rcv_data_total", "instance", "host-0", "device", "mlx5_0", "empty", "")
	b := NewSeries("rdma_port_rcv_data_total", "instance", "host-1", "device", "mlx5_0")
	for i := 0; i <= 60; i += 5 {
		appendAll(t, l, Point{a, at(i), float64(100 * i)}, Point{b, at(i), float64(7 * i)})
	}
	ctx := context.Background()
	// 100 and 7 a second by construction.
	got, err := l.Query(ctx, "sort_desc(rate(rdma_port_rcv_data_total[30s]))", start.Add(time.Minute))
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	if got[0].Value != 100 || got[1].Value != 7 || got[0].Labels.Get("instance") != "host-0" || got[0].Labels.Has("empty") {
		t.Errorf("rates: %v", got)
	}
	curves, err := l.QueryRange(ctx, `rdma_port_rcv_data_total{instance="host-1"}`, Range{start, start.Add(10 * time.Second), 5 * time.Second})
	if err != nil || len(curves) != 1 {
		t.Fatalf("%v, %v", curves, err)
	}
	if d := cmp.Diff([]float64{0, 35, 70}, curves[0].Values); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int64{at(0), at(5), at(10)}, curves[0].Times); d != "" {
		t.Error(d)
	}
	// Host 1 ends; it is gone from Latest at once.
	appendAll(t, l, Point{a, at(65), 6500}, Point{b, at(65), Stale()})
	last, err := l.Latest(ctx, "rdma_port_rcv_data_total", start.Add(70*time.Second), time.Minute)
	if err != nil || len(last) != 1 || last[0].Value != 6500 || last[0].At.UnixMilli() != at(65) {
		t.Errorf("latest: %v, %v", last, err)
	}
}

func TestRefusedSamples(t *testing.T) {
	l := open(t)
	s := NewSeries("x")
	appendAll(t, l, Point{s, at(100), 1})
	got, err := l.Append(context.Background(), []Point{
		{s, at(90), 1},
		{s, at(100), 2},
		{s, at(3600 + 601), 3},
		{s, at(-7200), 3},
		{s, at(110), 4},
	})
	want := Refused{OutOfOrder: 1, Duplicate: 1, TooNew: 1, TooOld: 1}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	last, err := l.Latest(context.Background(), "x", start.Add(time.Hour), time.Hour)
	if err != nil || len(last) != 1 || last[0].Value != 4 {
		t.Errorf("the good sample of the batch: %v, %v", last, err)
	}
}

func TestBadQueriesAreRefusals(t *testing.T) {
	l := open(t)
	for _, expr := range []string{"", "rate(", "x[5m]", `"text"`} {
		if _, err := l.Query(context.Background(), expr, start); err == nil || !strings.Contains(err.Error(), ErrQuery.Error()) {
			t.Errorf("%q: %v", expr, err)
		}
	}
	if _, err := l.QueryRange(context.Background(), "x", Range{start, start.Add(time.Hour), 100 * time.Millisecond}); err == nil {
		t.Error("36000 instants were accepted")
	}
}

// get asks the HTTP API and returns the decoded answer.
func get(t *testing.T, l *Local, path string, form url.Values) (int, map[string]any) {
	t.Helper()
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	l.API().ServeHTTP(w, r)
	var out map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("%s: %v in %s", path, err, w.Body)
	}
	return w.Code, out
}

// The expected answers have the form that
// https://prometheus.io/docs/prometheus/latest/querying/api/ shows.
func TestHTTPAPI(t *testing.T) {
	l := open(t)
	s := NewSeries("up", "instance", `host "0"`, "job", "weir")
	other := NewSeries("down", "instance", "host-1")
	appendAll(t, l, Point{s, at(0), 1}, Point{s, at(15), 1e-9}, Point{s, at(30), math.Inf(1)}, Point{other, at(30), 0})
	when := "1772366430" // start + 30 s
	for _, c := range []struct {
		path string
		form url.Values
		want string
	}{
		{"/api/v1/query", url.Values{"query": {"up"}, "time": {when}}, `{"resultType":"vector","result":[{"metric":{"__name__":"up","instance":"host \"0\"","job":"weir"},"value":[1772366430,"+Inf"]}]}`},
		{"/api/v1/query", url.Values{"query": {"up"}, "time": {"2026-03-01T12:00:15Z"}}, `{"resultType":"vector","result":[{"metric":{"__name__":"up","instance":"host \"0\"","job":"weir"},"value":[1772366415,"1e-09"]}]}`},
		{"/api/v1/query", url.Values{"query": {"1+1.5"}, "time": {"1772366430.5"}}, `{"resultType":"scalar","result":[1772366430.5,"2.5"]}`},
		{"/api/v1/query", url.Values{"query": {`"é"`}, "time": {when}}, `{"resultType":"string","result":[1772366430,"é"]}`},
		{"/api/v1/query", url.Values{"query": {"down[5m]"}, "time": {when}}, `{"resultType":"matrix","result":[{"metric":{"__name__":"down","instance":"host-1"},"values":[[1772366430,"0"]]}]}`},
		{"/api/v1/query_range", url.Values{"query": {"down"}, "start": {when}, "end": {"1772366445"}, "step": {"15s"}}, `{"resultType":"matrix","result":[{"metric":{"__name__":"down","instance":"host-1"},"values":[[1772366430,"0"],[1772366445,"0"]]}]}`},
		{"/api/v1/query_range", url.Values{"query": {"nothing"}, "start": {when}, "end": {when}, "step": {"15"}}, `{"resultType":"matrix","result":[]}`},
		{"/api/v1/series", url.Values{"match[]": {"down", `{job="weir"}`, "down"}}, `[{"__name__":"down","instance":"host-1"},{"__name__":"up","instance":"host \"0\"","job":"weir"}]`},
		{"/api/v1/labels", nil, `["__name__","instance","job"]`},
		{"/api/v1/labels", url.Values{"match[]": {"down"}}, `["__name__","instance"]`},
		{"/api/v1/label/instance/values", nil, `["host \"0\"","host-1"]`},
		{"/api/v1/label/instance/values", url.Values{"match[]": {"down"}}, `["host-1"]`},
		{"/api/v1/label/none/values", nil, `[]`},
		{"/api/v1/query_exemplars", nil, `[]`},
	} {
		status, got := get(t, l, c.path, c.form)
		var want any
		if err := json.Unmarshal([]byte(c.want), &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]any{"status": "success", "data": want}, got); status != 200 || d != "" {
			t.Errorf("%s %v: status %d\n%s", c.path, c.form, status, d)
		}
	}
	for _, c := range []struct {
		path   string
		form   url.Values
		status int
		kind   string
	}{
		{"/api/v1/query", url.Values{"query": {"up("}}, 400, "bad_data"},
		{"/api/v1/query", url.Values{"query": {"up"}, "time": {"noon"}}, 400, "bad_data"},
		{"/api/v1/query_range", url.Values{"query": {"up"}, "start": {"1"}, "end": {"0"}, "step": {"1"}}, 400, "bad_data"},
		{"/api/v1/query_range", url.Values{"query": {"up"}, "start": {"0"}, "end": {"1e6"}, "step": {"1"}}, 400, "bad_data"},
		{"/api/v1/series", nil, 400, "bad_data"},
		{"/api/v1/series", url.Values{"match[]": {"{"}}, 400, "bad_data"},
		{"/api/v1/query", url.Values{"query": {"label_replace(up, \"a\", \"b\", \"c\", \"(\")"}, "time": {when}}, 422, "execution"},
	} {
		if status, got := get(t, l, c.path, c.form); status != c.status || got["errorType"] != c.kind || got["status"] != "error" {
			t.Errorf("%s %v: %d %v", c.path, c.form, status, got)
		}
	}
}

// Samples come back as they were stored, with the hole that a silent source
// leaves, and without what lies at or before from.
func TestSamples(t *testing.T) {
	l := open(t)
	a, b := NewSeries("x", "instance", "a"), NewSeries("x", "instance", "b")
	for _, s := range []int{0, 1, 2, 30, 31} {
		appendAll(t, l, Point{a, at(s), float64(10 * s)}, Point{b, at(s), 1})
	}
	got, err := l.Samples(context.Background(), `{__name__=~"x|y",instance="a"}`, start, start.Add(31*time.Second))
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if d := cmp.Diff([]int64{at(1), at(2), at(30), at(31)}, got[0].Times); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]float64{10, 20, 300, 310}, got[0].Values); d != "" {
		t.Error(d)
	}
	if _, err := l.Samples(context.Background(), `x`, start, start); !errors.Is(err, ErrQuery) {
		t.Errorf("empty span: %v", err)
	}
	if _, err := l.Samples(context.Background(), `rate(x[1m])`, start, start.Add(time.Minute)); !errors.Is(err, ErrQuery) {
		t.Errorf("not a selector: %v", err)
	}
}
