package alert

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// A Window is a time in which alerts of some subjects are shown but not told:
// once from Start to End, or on the given days from From to To, o'clock.
type Window struct {
	Comment    string
	Match      map[string]string // label or "alertname" to a pattern as in leaf-*; all must match
	Start, End time.Time
	Days       []time.Weekday
	From, To   time.Duration // since midnight; To before From runs into the next day
	Zone       *time.Location
}

// Check returns what is wrong with a window.
func (w *Window) Check() error {
	for name, p := range w.Match {
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("pattern %q of %s", p, name)
		}
	}
	switch once := !w.Start.IsZero() || !w.End.IsZero(); {
	case once && len(w.Days) > 0:
		return errors.New("both start and days")
	case once && !w.End.After(w.Start):
		return errors.New("end not after start")
	case !once && len(w.Days) == 0:
		return errors.New("neither start nor days")
	case !once && w.From == w.To:
		return errors.New("from and to are the same")
	}
	return nil
}

// covers reports whether a moment is inside.
func (w *Window) covers(t time.Time) bool {
	if len(w.Days) == 0 {
		return !t.Before(w.Start) && t.Before(w.End)
	}
	if w.Zone != nil {
		t = t.In(w.Zone)
	}
	clock := time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second
	on := func(d time.Weekday) bool {
		for _, x := range w.Days {
			if x == d {
				return true
			}
		}
		return false
	}
	if w.From < w.To {
		return on(t.Weekday()) && clock >= w.From && clock < w.To
	}
	yesterday := (t.Weekday() + 6) % 7
	return on(t.Weekday()) && clock >= w.From || on(yesterday) && clock < w.To
}

func (w *Window) matches(a *Alert) bool {
	for name, pattern := range w.Match {
		v := a.Labels[name]
		if name == "alertname" {
			v = a.Rule
		}
		if ok, err := path.Match(pattern, v); err != nil || !ok {
			return false
		}
	}
	return true
}

// silence marks the alerts that a window covers.
func (e *Engine) silence(now time.Time) {
	for _, a := range e.alerts {
		if !strings.HasPrefix(a.Silenced, "leaf: ") {
			a.Silenced = ""
		}
		for i := range e.o.Maintenance {
			if w := &e.o.Maintenance[i]; w.covers(now) && w.matches(a) {
				a.Silenced = "maintenance: " + w.Comment
			}
		}
	}
}
