package server

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"weir/internal/answer/alert"
)

// watch evaluates the alert rules and tells the receivers until ctx ends.
func (l *Live) watch(ctx context.Context) error {
	c := l.Config.Alerts
	var receivers []alert.Receiver
	for _, r := range c.Receivers {
		rt, err := transport(r.HTTPConfig, "alerts")
		if err != nil {
			return err
		}
		receivers = append(receivers, alert.Receiver{URL: r.URL, Transport: rt})
	}
	d, err := alert.NewDeliverer(receivers, c.ExternalURL, l.Log.With("part", "alerts"))
	if err != nil {
		return err
	}
	l.Alerts.Run(ctx, l.Now, func(ctx context.Context, told []alert.Alert) { d.Deliver(ctx, l.Now(), told) })
	return nil
}

// newAlerts returns the engine of the rules that the configuration leaves on.
func (l *Live) newAlerts() *alert.Engine {
	c := l.Config.Alerts
	rules := slices.DeleteFunc(alert.Rules(), func(r alert.Rule) bool { return slices.Contains(c.Off, r.Name) })
	for i := range rules {
		if t, ok := c.Thresholds[rules[i].Name]; ok {
			rules[i].Above, rules[i].Clear = t.Above, t.Clear
		}
	}
	return alert.New(alert.Options{Store: l.Store, Rules: rules, Cluster: l.Cluster, Maintenance: c.windows, Every: time.Duration(c.Interval), Log: l.Log.With("part", "alerts")})
}

// alertJSON has the form of Prometheus' API, with what weir knows beside.
type alertJSON struct {
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	State       string            `json:"state"`
	ActiveAt    time.Time         `json:"activeAt"`
	Value       float64           `json:"value"`
	Silenced    string            `json:"silenced,omitempty"`
	Flapping    bool              `json:"flapping,omitempty"`
}

// activeAlerts returns pending and firing alerts, as Prometheus does, of one
// rule or of all.
func (l *Live) activeAlerts(rule string) []alertJSON {
	out := []alertJSON{}
	for _, a := range l.Alerts.Alerts() {
		if a.State == alert.Resolved || rule != "" && a.Rule != rule {
			continue
		}
		j := alertJSON{
			Labels: map[string]string{"alertname": a.Rule, "severity": string(a.Severity)}, Annotations: map[string]string{"summary": a.Summary},
			State: string(a.State), ActiveAt: a.Since, Value: a.Value, Silenced: a.Silenced, Flapping: a.Flapping,
		}
		for k, v := range a.Labels {
			j.Labels[k] = v
		}
		if a.Cause != "" {
			j.Annotations["cause"] = a.Cause
		}
		out = append(out, j)
	}
	return out
}

func (l *Live) serveAlerts(w http.ResponseWriter, _ *http.Request) {
	respond(w, map[string]any{"alerts": l.activeAlerts("")})
}

type ruleJSON struct {
	Name           string            `json:"name"`
	Query          string            `json:"query"`
	Above          float64           `json:"above"`
	Clear          float64           `json:"clear"`
	Duration       float64           `json:"duration"`
	KeepFiringFor  float64           `json:"keepFiringFor"`
	Labels         map[string]string `json:"labels"`
	Annotations    map[string]string `json:"annotations"`
	Alerts         []alertJSON       `json:"alerts"`
	Health         string            `json:"health"`
	LastError      string            `json:"lastError,omitempty"`
	State          string            `json:"state"`
	Type           string            `json:"type"`
	LastEvaluation time.Time         `json:"lastEvaluation"`
}

func (l *Live) serveRules(w http.ResponseWriter, _ *http.Request) {
	rules := []ruleJSON{}
	errs := l.Alerts.Errors()
	for _, r := range l.Alerts.Rules() {
		j := ruleJSON{
			Name: r.Name, Query: r.Expr, Above: r.Above, Clear: r.Clear, Duration: r.For.Seconds(), KeepFiringFor: r.Keep.Seconds(),
			Labels: map[string]string{"severity": string(r.Severity)}, Annotations: map[string]string{"summary": r.Summary}, Alerts: l.activeAlerts(r.Name),
			Health: "ok", State: "inactive", Type: "alerting", LastEvaluation: l.Alerts.Last(),
		}
		if e := errs[r.Name]; e != "" {
			j.Health, j.LastError = "err", e
		}
		for _, a := range j.Alerts {
			if a.State == string(alert.Firing) || j.State == "inactive" {
				j.State = a.State
			}
		}
		rules = append(rules, j)
	}
	respond(w, map[string]any{"groups": []map[string]any{{"name": "weir", "file": "built-in", "interval": l.Alerts.Every().Seconds(), "rules": rules}}})
}

// respond answers in the envelope of Prometheus' API.
func respond(w http.ResponseWriter, data any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": data})
}
