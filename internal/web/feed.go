package web

import (
	"context"
	"sync"

	"weir/internal/panel"
	"weir/internal/store"
	"weir/internal/telemetry"
)

// A feed is a store that shows the panel what it takes in.
type feed struct {
	store.Store
	panel   *panel.Panel
	changed func(metric string, get func(string) string, at int64)

	mu     sync.Mutex
	series map[*store.Series]fed
	round  uint32 // of prune
}

// fed is what a feed knows of a series.
type fed struct {
	number uint32 // of the panel
	shown  bool
	seen   uint32 // round in which it was last appended to
}

// Append implements store.Store. The panel sees a batch even if the store
// refuses some of it: a refused sample is an old one, which it ignores itself.
func (f *feed) Append(ctx context.Context, batch []store.Point) (store.Refused, error) {
	refused, err := f.Store.Append(ctx, batch)
	if err != nil {
		return refused, err
	}
	f.panel.Add(f.readings(batch))
	return refused, nil
}

func (f *feed) readings(batch []store.Point) []panel.Reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]panel.Reading, 0, len(batch))
	for i := range batch {
		p := &batch[i]
		k, ok := f.series[p.Series]
		if !ok {
			k = f.meet(p)
		}
		if k.seen != f.round || !ok {
			k.seen = f.round
			f.series[p.Series] = k
		}
		if k.shown {
			out = append(out, panel.Reading{Series: k.number, At: p.At, Value: p.Value})
		}
	}
	return out
}

// meet looks up a series that is appended to for the first time.
func (f *feed) meet(p *store.Point) (k fed) {
	l := p.Series.Labels()
	name := l.Get("__name__")
	id, known := telemetry.Lookup(name)
	if !known {
		return k
	}
	if telemetry.Table()[id].Kind == telemetry.Info {
		f.changed(name, l.Get, p.At)
		return k
	}
	k.number, k.shown = f.panel.Series(name, l.Get)
	return k
}

// prune forgets series that were not appended to in the last round.
func (f *feed) prune() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s, k := range f.series {
		if f.round-k.seen > 12 {
			delete(f.series, s)
		}
	}
	f.round++
}
