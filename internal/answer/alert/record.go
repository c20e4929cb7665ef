package alert

import (
	"context"
	"slices"
	"time"

	"weir/internal/store"
)

// The series that Prometheus keeps of its alerts: ALERTS, 1 while an alert is
// in its state, and ALERTS_FOR_STATE, since when in seconds since 1970.
const (
	alertsSeries = "ALERTS"
	sinceSeries  = "ALERTS_FOR_STATE"
)

// record writes the state into the store, so that queries and the next start
// know it.
func (e *Engine) record(ctx context.Context, now time.Time) {
	var batch []store.Point
	live := map[string]bool{}
	add := func(metric string, a *Alert, value float64, more ...string) {
		pairs := append([]string{"alertname", a.Rule, "severity", string(a.Severity)}, more...)
		for name, v := range a.Labels {
			pairs = append(pairs, name, v)
		}
		key := metric + "\x00" + a.Key() + "\x00" + string(a.State)
		s := e.own[key]
		if s == nil {
			s = store.NewSeries(metric, pairs...)
			e.own[key] = s
		}
		live[key] = true
		batch = append(batch, store.Point{Series: s, At: now.UnixMilli(), Value: value})
	}
	for _, a := range e.alerts {
		if a.State == Resolved {
			continue
		}
		add(alertsSeries, a, 1, "alertstate", string(a.State))
		add(sinceSeries, a, float64(a.Since.UnixMilli())/1000, "alertstate", string(a.State))
	}
	for key, s := range e.own {
		if !live[key] {
			batch = append(batch, store.Point{Series: s, At: now.UnixMilli(), Value: store.Stale()})
			delete(e.own, key)
		}
	}
	if len(batch) == 0 {
		return
	}
	if _, err := e.o.Store.Append(ctx, batch); err != nil && ctx.Err() == nil {
		e.o.Log.Error("alerts are not recorded", "err", err)
	}
}

// restoreWithin is how old a recorded alert may be to go on from it.
const restoreWithin = 10 * time.Minute

// restore takes up the alerts that were firing before a restart: they are
// neither told anew nor forgotten.
func (e *Engine) restore(ctx context.Context, now time.Time) {
	samples, err := e.o.Store.Latest(ctx, sinceSeries, now, restoreWithin)
	if err != nil {
		e.o.Log.Error("alerts before the restart are not known", "err", err)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range samples {
		if s.Labels.Get("alertstate") != string(Firing) {
			continue
		}
		rules := append([]Rule{leafRule}, e.o.Rules...)
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == s.Labels.Get("alertname") })
		if i < 0 {
			continue
		}
		r := &rules[i]
		a := &Alert{Rule: r.Name, Severity: r.Severity, Cause: r.Cause, Labels: map[string]string{}, State: Firing, Since: time.UnixMilli(int64(s.Value * 1000)), started: time.UnixMilli(int64(s.Value * 1000)), seen: s.At, rises: []time.Time{now}}
		for _, name := range r.By {
			if v := s.Labels.Get(name); v != "" {
				a.Labels[name] = v
			}
		}
		a.Summary = r.summary(a.Labels, r.Above)
		e.alerts[a.Key()] = a
	}
}
