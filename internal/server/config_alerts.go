package server

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/internal/answer/alert"
)

// AlertsConfig says who is told, and when nobody is.
type AlertsConfig struct {
	Receivers   []ReceiverConfig     `yaml:"receivers"`
	ExternalURL string               `yaml:"external_url"` // of this server, for links in alerts
	Interval    Duration             `yaml:"interval"`     // of the evaluation, default 15s
	Off         []string             `yaml:"off"`          // names of rules
	Thresholds  map[string]Threshold `yaml:"thresholds"`   // by name of rule
	Maintenance []WindowConfig       `yaml:"maintenance"`

	windows []alert.Window
}

// ReceiverConfig is an Alertmanager, or what takes alerts as it does.
type ReceiverConfig struct {
	URL        string `yaml:"url"`
	HTTPConfig string `yaml:"http_config"`
}

// Threshold replaces a rule's own.
type Threshold struct {
	Above float64 `yaml:"above"`
	Clear float64 `yaml:"clear"`
}

// WindowConfig is a maintenance window: from start to end, or on days from
// FROM to TO in a time zone (default UTC).
type WindowConfig struct {
	Comment string            `yaml:"comment"`
	Match   map[string]string `yaml:"match"`
	Start   string            `yaml:"start"`
	End     string            `yaml:"end"`
	Days    []string          `yaml:"days"`
	From    string            `yaml:"from"`
	To      string            `yaml:"to"`
	Zone    string            `yaml:"zone"`
}

// check returns what is wrong with the alerts' part and makes the windows.
func (c *AlertsConfig) check() error {
	names := []string{alert.LeafDown}
	for _, r := range alert.Rules() {
		names = append(names, r.Name)
	}
	known := func(where, name string) error {
		if !slices.Contains(names, name) {
			return fmt.Errorf("found rule %.80q in alerts.%s: allowed %s", name, where, strings.Join(names, ", "))
		}
		return nil
	}
	for _, n := range c.Off {
		if err := known("off", n); err != nil {
			return err
		}
	}
	for n, t := range c.Thresholds {
		if err := known("thresholds", n); err != nil {
			return err
		}
		if t.Clear > t.Above {
			return fmt.Errorf("found alerts.thresholds.%s with clear over above: allowed at most above", n)
		}
	}
	for i := range c.Maintenance {
		w, err := c.Maintenance[i].window()
		if err == nil {
			err = w.Check()
		}
		if err != nil {
			return fmt.Errorf("found alerts.maintenance[%d] with %w: allowed start and end, or days, from and to", i, err)
		}
		c.windows = append(c.windows, w)
	}
	_, err := alert.NewDeliverer(func() (rs []alert.Receiver) {
		for _, r := range c.Receivers {
			rs = append(rs, alert.Receiver{URL: r.URL})
		}
		return rs
	}(), "", nil)
	return err
}

var weekdays = map[string]time.Weekday{"sun": 0, "mon": 1, "tue": 2, "wed": 3, "thu": 4, "fri": 5, "sat": 6}

func (c *WindowConfig) window() (alert.Window, error) {
	w := alert.Window{Comment: c.Comment, Match: c.Match, Zone: time.UTC}
	for _, f := range []struct {
		text string
		to   *time.Time
	}{{c.Start, &w.Start}, {c.End, &w.End}} {
		if f.text == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, f.text)
		if err != nil {
			return w, fmt.Errorf("%.40q, which is no time as in 2026-03-06T22:00:00Z", f.text)
		}
		*f.to = t
	}
	for _, d := range c.Days {
		n, ok := weekdays[strings.ToLower(d)]
		if !ok {
			return w, fmt.Errorf("day %.20q, not one of sun, mon, tue, wed, thu, fri, sat", d)
		}
		w.Days = append(w.Days, n)
	}
	for _, f := range []struct {
		text string
		to   *time.Duration
	}{{c.From, &w.From}, {c.To, &w.To}} {
		if f.text == "" {
			continue
		}
		t, err := time.Parse("15:04", f.text)
		if err != nil {
			return w, fmt.Errorf("%.20q, which is no time of day as in 02:30", f.text)
		}
		*f.to = time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
	}
	if c.Zone != "" {
		z, err := time.LoadLocation(c.Zone)
		if err != nil {
			return w, fmt.Errorf("zone %.40q", c.Zone)
		}
		w.Zone = z
	}
	return w, nil
}
