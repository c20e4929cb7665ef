package scrape

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"

	"weir/internal/store"
	"weir/internal/telemetry"
)

// Limits on one series of a target.
const (
	maxLabels     = 48
	maxLabelBytes = 1024
	forgetAfter   = time.Hour // an ended series
)

// target is one agent and what is known of its series.
type target struct {
	Target
	o      *Options
	base   map[string]uint64
	cache  map[string]*entry // by the text of the series
	own    map[string]*store.Series
	body   bytes.Buffer
	points []store.Point
	gen    uint64
	budget float64 // new series that may still come
	at     time.Time

	mu   sync.Mutex
	last Status
}

// entry is one series of a target.
type entry struct {
	series *store.Series // nil: left out
	bits   uint8         // width of a counter that is carried on, else 0
	ext    telemetry.Extended
	gen    uint64 // scrape that saw it last
	seen   time.Time
	ended  bool
}

func newTarget(t Target, o *Options, base map[string]uint64) *target {
	return &target{
		Target: t, o: o, base: base, cache: map[string]*entry{}, own: map[string]*store.Series{},
		budget: float64(4 * o.MaxSeries), last: Status{Target: t},
	}
}

func (t *target) status() Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// dueWithin is how far a scrape may be off the time that it was due and still
// count as of that time: the store keeps even distances in a bit, and others
// in a byte or two.
const dueWithin = 10 * time.Millisecond

// scrape reads the target once and stores what it said, or that it failed.
func (t *target) scrape(ctx context.Context, due time.Time) {
	begin := t.o.Now()
	if off := begin.Sub(due); off > -dueWithin && off < dueWithin {
		begin = due
	}
	t.budget = min(float64(4*t.o.MaxSeries), t.budget+begin.Sub(t.at).Hours()*float64(4*t.o.MaxSeries))
	t.at = begin
	t.gen++
	t.points = t.points[:0]
	st := Status{Target: t.Target, Last: begin}
	sent, err := t.fetch(ctx)
	if err == nil {
		err = t.parse(begin)
	}
	if ctx.Err() != nil {
		return
	}
	st.Took = t.o.Now().Sub(begin)
	if err != nil {
		t.points = t.points[:0]
		st.Error = err.Error()
		t.o.Log.Debug("scrape", "instance", t.Instance, "err", err)
	} else {
		st.Up = true
		st.Samples = len(t.points)
		st.Skew, st.SkewSure, st.Known = t.skew(sent)
	}
	t.endMissing(begin, err != nil)
	at := begin.UnixMilli()
	up := 0.0
	if st.Up {
		up = 1
	}
	t.points = append(t.points,
		store.Point{Series: t.self("up"), At: at, Value: up},
		store.Point{Series: t.self("scrape_duration_seconds"), At: at, Value: st.Took.Seconds()},
		store.Point{Series: t.self("scrape_samples_scraped"), At: at, Value: float64(st.Samples)})
	if st.Known {
		t.points = append(t.points, store.Point{Series: t.self("weir_clock_skew_seconds"), At: at, Value: st.Skew.Seconds()})
	}
	if _, err := t.o.Store.Append(ctx, t.points); err != nil {
		st.Error = "store: " + err.Error()
		t.o.Log.Error("store", "instance", t.Instance, "err", err)
	}
	t.mu.Lock()
	t.last = st
	t.mu.Unlock()
}

// flight is when a request left and when the first byte of the answer came.
type flight struct{ out, back time.Time }

func (t *target) fetch(ctx context.Context) (flight, error) {
	ctx, cancel := context.WithTimeout(ctx, t.o.Timeout)
	defer cancel()
	var f flight
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, t.URL, nil)
	if err != nil {
		return f, err
	}
	r.Header.Set("Accept", "text/plain;version=0.0.4")
	r.Header.Set("Accept-Encoding", "identity") // nothing that could unpack to more than it is
	r.Header.Set("User-Agent", "weir-server")
	f.out = t.o.Now()
	resp, err := t.o.Client.Do(r)
	if err != nil {
		return f, err
	}
	defer resp.Body.Close()
	f.back = t.o.Now()
	if resp.StatusCode != http.StatusOK {
		return f, fmt.Errorf("status %d", resp.StatusCode)
	}
	if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return f, fmt.Errorf("encoding %q", e)
	}
	t.body.Reset()
	n, err := t.body.ReadFrom(io.LimitReader(resp.Body, t.o.MaxBody+1))
	if err != nil {
		return f, err
	}
	if n > t.o.MaxBody {
		t.body = bytes.Buffer{} // do not keep the memory
		return f, fmt.Errorf("more than %d bytes", t.o.MaxBody)
	}
	return f, nil
}

var (
	errSeries = errors.New("too many series")
	errChurn  = errors.New("too many new series in an hour")
)

// parse turns the body into points. Times that the target gives are not
// believed: a sample is as old as its scrape.
func (t *target) parse(begin time.Time) error {
	p := textparse.NewPromParser(t.body.Bytes(), labels.NewSymbolTable(), false)
	at := begin.UnixMilli()
	for {
		kind, err := p.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if kind != textparse.EntrySeries {
			continue
		}
		text, _, v := p.Series()
		e := t.cache[string(text)]
		if e == nil {
			if e, err = t.newEntry(string(text), p); err != nil {
				return err
			}
		}
		if e.gen == t.gen || e.series == nil {
			e.gen, e.seen = t.gen, begin
			continue // said twice, or left out
		}
		e.gen, e.seen, e.ended = t.gen, begin, false
		if e.bits > 0 {
			if n, ok := whole(v); ok {
				v = float64(e.ext.Add(e.bits, n))
			}
		}
		if len(t.points) >= t.o.MaxSeries {
			return errSeries
		}
		t.points = append(t.points, store.Point{Series: e.series, At: at, Value: v})
	}
}

func (t *target) newEntry(text string, p textparse.Parser) (*entry, error) {
	if t.budget < 1 {
		return nil, errChurn
	}
	if len(t.cache) >= 2*t.o.MaxSeries {
		return nil, errSeries
	}
	t.budget--
	var ls labels.Labels
	p.Labels(&ls)
	if ls.Len() > maxLabels {
		return nil, fmt.Errorf("%d labels", ls.Len())
	}
	b := labels.NewBuilder(ls)
	var long string
	ls.Range(func(l labels.Label) {
		if len(l.Name)+len(l.Value) > maxLabelBytes {
			long = l.Name
		}
		if l.Value == "" {
			b.Del(l.Name)
		}
	})
	if long != "" {
		return nil, fmt.Errorf("label of more than %d bytes", maxLabelBytes)
	}
	e := &entry{}
	t.cache[text] = e
	name := ls.Get(model.MetricNameLabel)
	if foreign(name) {
		return e, nil
	}
	t.label(b)
	full := b.Labels()
	e.series = store.SeriesOf(full)
	if id, ok := telemetry.Lookup(name); ok {
		if m := &telemetry.Table()[id]; m.Kind == telemetry.Counter && m.Bits < 64 {
			e.bits = m.Bits
			if v, ok := t.base[full.String()]; ok {
				e.ext.Resume(e.bits, v)
			}
		}
	}
	return e, nil
}

// foreign names are those that only the server itself and the switch
// collectors write.
func foreign(name string) bool {
	return strings.HasPrefix(name, "roce_switch_") || strings.HasPrefix(name, "weir_clock_") || strings.HasPrefix(name, "scrape_") ||
		name == "up" || strings.HasPrefix(name, "ALERTS")
}

// label sets what the server knows better than the target.
func (t *target) label(b *labels.Builder) {
	for _, l := range t.Labels {
		b.Set(l.Name, l.Value)
	}
	b.Set("instance", t.Instance)
}

// self returns a series about the target.
func (t *target) self(name string) *store.Series {
	s := t.own[name]
	if s == nil {
		b := labels.NewBuilder(labels.FromStrings(model.MetricNameLabel, name))
		t.label(b)
		s = store.SeriesOf(b.Labels())
		t.own[name] = s
	}
	return s
}

// endMissing ends the series that this scrape did not see, or all after a
// failure, and forgets those that ended long ago.
func (t *target) endMissing(now time.Time, failed bool) {
	for text, e := range t.cache {
		switch {
		case e.series == nil && now.Sub(e.seen) > forgetAfter, e.ended && now.Sub(e.seen) > forgetAfter:
			delete(t.cache, text)
		case e.series == nil || e.ended || e.gen == t.gen && !failed:
		default:
			e.ended = true
			t.points = append(t.points, store.Point{Series: e.series, At: now.UnixMilli(), Value: store.Stale()})
		}
	}
}

// end ends everything that the target said.
func (t *target) end(ctx context.Context) {
	now := t.o.Now()
	t.points = t.points[:0]
	t.endMissing(now, true)
	for _, s := range t.own {
		t.points = append(t.points, store.Point{Series: s, At: now.UnixMilli(), Value: store.Stale()})
	}
	if _, err := t.o.Store.Append(ctx, t.points); err != nil {
		t.o.Log.Error("store", "instance", t.Instance, "err", err)
	}
}

// skew compares the target's clock with the middle of the request's flight,
// which is as close as half of that time.
func (t *target) skew(f flight) (skew, sure time.Duration, ok bool) {
	e := t.cache["weir_agent_time_seconds"]
	if e == nil || e.gen != t.gen || e.series == nil {
		return 0, 0, false
	}
	for i := range t.points {
		if t.points[i].Series != e.series {
			continue
		}
		if v := t.points[i].Value; math.Abs(v) < 1e11 {
			theirs := time.UnixMilli(int64(v * 1000))
			half := f.back.Sub(f.out) / 2
			return theirs.Sub(f.out.Add(half)), half, true
		}
	}
	return 0, 0, false
}

// whole returns a value as the whole number that it is, if a float64 holds
// it exactly.
func whole(v float64) (uint64, bool) {
	if v < 0 || v > 1<<53 || v != math.Trunc(v) || math.IsNaN(v) {
		return 0, false
	}
	return uint64(v), true
}
