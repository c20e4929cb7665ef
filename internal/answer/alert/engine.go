package alert

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/cluster"
	"weir/internal/store"
)

// State of an alert.
type State string

// The states.
const (
	Pending  State = "pending" // above the threshold, not yet long enough
	Firing   State = "firing"
	Resolved State = "resolved" // no longer: kept for a while so that receivers learn of it
)

// Alert is one subject of one rule that is not in order.
type Alert struct {
	Rule     string
	Severity Severity
	Cause    string
	Labels   map[string]string // of the subject
	Summary  string
	Value    float64
	State    State
	Since    time.Time // in this state
	Flapping bool      // held until it is calm
	// Silenced says why nobody is told: "maintenance: ...", or "leaf: leaf-0 failed". "" if they are.
	Silenced string

	started time.Time // when it began to fire
	below   time.Time // not above Clear since; zero: above
	seen    time.Time // last value
	rises   []time.Time
}

// Key names the subject and the rule.
func (a *Alert) Key() string { return a.Rule + "\x00" + labelText(a.Labels) }

// Options of an engine.
type Options struct {
	Store       store.Store
	Rules       []Rule
	Cluster     *cluster.Cluster // nil: no failed leaf is told
	Maintenance []Window
	Every       time.Duration // default 15 s
	Log         *slog.Logger
}

// Damping of flapping subjects: who rose flapRises times within flapWindow
// stays in alarm until it was calm for flapCalm.
const (
	flapRises  = 4
	flapWindow = 30 * time.Minute
	flapCalm   = 15 * time.Minute
	// A subject without values says neither yes nor no: its alarm stays this long.
	silentFor = 5 * time.Minute
	// A resolved alert is told for this long, as Prometheus does.
	resolvedFor = 15 * time.Minute
	// maxAlerts bounds what is held.
	maxAlerts = 50_000
)

// An Engine evaluates the rules.
type Engine struct {
	o      Options
	leaves leaves
	mu     sync.Mutex
	alerts map[string]*Alert
	errs   map[string]string // by rule
	last   time.Time
	own    map[string]*store.Series
}

// New returns an engine.
func New(o Options) *Engine {
	o.Every = cmp.Or(o.Every, 15*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{o: o, leaves: newLeaves(o.Cluster), alerts: map[string]*Alert{}, errs: map[string]string{}, own: map[string]*store.Series{}}
}

// Run evaluates every interval until ctx ends and hands told the alerts that
// receivers are to know.
func (e *Engine) Run(ctx context.Context, now func() time.Time, told func(context.Context, []Alert)) {
	e.restore(ctx, now())
	t := time.NewTicker(e.o.Every)
	defer t.Stop()
	for {
		e.Evaluate(ctx, now())
		if told != nil {
			told(ctx, e.Told())
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// Evaluate judges every rule at one instant.
func (e *Engine) Evaluate(ctx context.Context, now time.Time) {
	for i := range e.o.Rules {
		r := &e.o.Rules[i]
		samples, err := e.o.Store.Query(ctx, r.Expr, now)
		e.mu.Lock()
		if err != nil {
			if e.errs[r.Name] == "" && ctx.Err() == nil {
				e.o.Log.Error("alert rule", "rule", r.Name, "err", err)
			}
			e.errs[r.Name] = err.Error()
			e.mu.Unlock()
			continue
		}
		delete(e.errs, r.Name)
		e.judge(r, samples, now)
		e.mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = now
	e.foldLeaves(now)
	e.silence(now)
	for key, a := range e.alerts {
		if a.State == Resolved && now.Sub(a.Since) > resolvedFor {
			delete(e.alerts, key)
		}
	}
	e.record(ctx, now)
}

// judge moves the alerts of one rule on.
func (e *Engine) judge(r *Rule, samples []store.Sample, now time.Time) {
	seen := make(map[string]bool, len(samples))
	for _, s := range samples {
		labels := make(map[string]string, len(r.By))
		for _, name := range r.By {
			if v := s.Labels.Get(name); v != "" {
				labels[name] = v
			}
		}
		key := r.Name + "\x00" + labelText(labels)
		a := e.alerts[key]
		above := s.Value > r.Above
		if a == nil || a.State == Resolved {
			if !above || math.IsNaN(s.Value) {
				continue
			}
			if a == nil {
				if len(e.alerts) >= maxAlerts {
					continue
				}
				a = &Alert{Rule: r.Name, Severity: r.Severity, Cause: r.Cause, Labels: labels}
				e.alerts[key] = a
			}
			a.State, a.Since, a.below = Pending, now, time.Time{}
		}
		seen[key] = true
		a.seen, a.Value = now, s.Value
		a.Summary = r.summary(labels, s.Value)
		e.step(key, a, r, s.Value, now)
	}
	for key, a := range e.alerts {
		if a.Rule != r.Name || seen[key] || a.State == Resolved {
			continue
		}
		switch {
		case a.State == Pending:
			e.settle(key, a, now)
		case now.Sub(a.seen) >= max(silentFor, r.Keep):
			e.resolve(a, now)
		}
	}
}

// step moves one alert with a value on.
func (e *Engine) step(key string, a *Alert, r *Rule, v float64, now time.Time) {
	if v > r.Clear || a.State == Pending && v > r.Above {
		a.below = time.Time{}
	} else if a.below.IsZero() {
		a.below = now
	}
	switch a.State {
	case Pending:
		if !(v > r.Above) {
			e.settle(key, a, now)
			return
		}
		if now.Sub(a.Since) >= r.For {
			a.State, a.Since, a.started = Firing, now, now
			a.rises = append(a.rises, now)
			recent := slices.IndexFunc(a.rises, func(t time.Time) bool { return now.Sub(t) <= flapWindow })
			a.rises = a.rises[recent:]
			a.Flapping = len(a.rises) >= flapRises
		}
	case Firing:
		keep := r.Keep
		if a.Flapping {
			keep = flapCalm
		}
		if !a.below.IsZero() && now.Sub(a.below) >= keep {
			e.resolve(a, now)
		}
	}
}

// settle ends an alert that never fired, or goes back to what it was.
func (e *Engine) settle(key string, a *Alert, now time.Time) {
	if len(a.rises) > 0 {
		a.State, a.Since = Resolved, now
		return
	}
	delete(e.alerts, key)
}

func (e *Engine) resolve(a *Alert, now time.Time) {
	a.State, a.Since, a.Flapping = Resolved, now, false
}

func (r *Rule) summary(labels map[string]string, v float64) string {
	pairs := []string{"{value}", number(v, r.Unit)}
	for _, name := range r.By {
		pairs = append(pairs, "{"+name+"}", labels[name])
	}
	return strings.NewReplacer(pairs...).Replace(r.Summary)
}

func number(v float64, unit string) string {
	if unit == "share" {
		return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// labelText is a stable text of a set of labels.
func labelText(m map[string]string) string {
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, n := range names {
		fmt.Fprintf(&b, "%s=%q,", n, m[n])
	}
	return b.String()
}

// Alerts returns every alert, the gravest first.
func (e *Engine) Alerts() []Alert {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]Alert, 0, len(e.alerts))
	for _, a := range e.alerts {
		out = append(out, *a)
	}
	rank := map[State]int{Firing: 0, Pending: 1, Resolved: 2}
	slices.SortFunc(out, func(a, b Alert) int {
		return cmp.Or(cmp.Compare(rank[a.State], rank[b.State]), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Key(), b.Key()))
	})
	return out
}

// Told returns what receivers are to know: alerts that fire or have ended,
// and are not silenced.
func (e *Engine) Told() []Alert {
	return slices.DeleteFunc(e.Alerts(), func(a Alert) bool { return a.State == Pending || a.Silenced != "" })
}

// Errors returns the rules that could not be evaluated last time, and why.
func (e *Engine) Errors() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make(map[string]string, len(e.errs))
	for k, v := range e.errs {
		out[k] = v
	}
	return out
}

// Last returns when the rules were evaluated.
func (e *Engine) Last() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// Rules returns the rules that are evaluated.
func (e *Engine) Rules() []Rule { return e.o.Rules }

// Every returns how often they are.
func (e *Engine) Every() time.Duration { return e.o.Every }
