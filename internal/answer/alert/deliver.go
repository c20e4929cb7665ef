package alert

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// A Receiver takes alerts as Alertmanager does: POST URL/api/v2/alerts.
type Receiver struct {
	URL       string
	Transport http.RoundTripper // TLS and credentials; default http.DefaultTransport
}

// A Deliverer tells receivers what fires and what has ended, again and again:
// a receiver that was away learns of it later.
type Deliverer struct {
	receivers []receiver
	every     time.Duration
	log       *slog.Logger
	source    string // URL of this server, for links
}

type receiver struct {
	url    string
	client *http.Client
	sent   map[string]sent
	failed bool
}

type sent struct {
	state State
	at    time.Time
}

// resendEvery is well below the five minutes after which Alertmanager holds an
// alert that nobody repeats to have ended.
const resendEvery = time.Minute

// NewDeliverer returns a deliverer. source is the URL under which people reach
// this server.
func NewDeliverer(rs []Receiver, source string, log *slog.Logger) (*Deliverer, error) {
	d := &Deliverer{every: resendEvery, log: log, source: source}
	for _, r := range rs {
		u, err := url.Parse(r.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, fmt.Errorf("receiver %.80q: not an http or https URL", r.URL)
		}
		d.receivers = append(d.receivers, receiver{
			url: u.JoinPath("api/v2/alerts").String(), client: &http.Client{Transport: r.Transport, Timeout: 10 * time.Second}, sent: map[string]sent{},
		})
	}
	return d, nil
}

type amAlert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     time.Time         `json:"startsAt"`
	EndsAt       time.Time         `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// maxPost is the most alerts of one request.
const maxPost = 500

// Deliver tells every receiver what is new, and what fires for longer again.
func (d *Deliverer) Deliver(ctx context.Context, now time.Time, alerts []Alert) {
	for i := range d.receivers {
		r := &d.receivers[i]
		var due []amAlert
		var keys []sent
		var names []string
		current := map[string]bool{}
		for j := range alerts {
			a := &alerts[j]
			key := a.Key()
			current[key] = true
			last, ok := r.sent[key]
			if !ok && a.State == Resolved {
				continue // never told
			}
			if ok && last.state == a.State && now.Sub(last.at) < d.every {
				continue
			}
			due = append(due, d.form(a, now))
			keys, names = append(keys, sent{a.State, now}), append(names, key)
		}
		for key := range r.sent {
			if !current[key] {
				delete(r.sent, key)
			}
		}
		for len(due) > 0 {
			n := min(len(due), maxPost)
			err := r.post(ctx, due[:n])
			if err != nil {
				if !r.failed && ctx.Err() == nil {
					d.log.Error("alerts are not delivered", "receiver", r.url, "err", err)
				}
				r.failed = true
				break
			}
			r.failed = false
			for k := range n {
				r.sent[names[k]] = keys[k]
			}
			due, keys, names = due[n:], keys[n:], names[n:]
		}
	}
}

func (d *Deliverer) form(a *Alert, now time.Time) amAlert {
	out := amAlert{Labels: map[string]string{"alertname": a.Rule, "severity": string(a.Severity)}, Annotations: map[string]string{"summary": a.Summary}, StartsAt: a.Since.UTC(), EndsAt: now.Add(4 * d.every).UTC(), GeneratorURL: d.source}
	for k, v := range a.Labels {
		out.Labels[k] = v
	}
	if a.Cause != "" {
		out.Annotations["cause"] = a.Cause
		out.Annotations["explain"] = "weir explain " + a.Cause
	}
	if a.Flapping {
		out.Annotations["flapping"] = "comes and goes: held until it is calm for 15 minutes"
	}
	if a.State == Resolved {
		out.EndsAt = a.Since.UTC()
		out.StartsAt = a.started.UTC()
	}
	return out
}

func (r *receiver) post(ctx context.Context, alerts []amAlert) error {
	body, err := json.Marshal(alerts)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "weir-server")
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 200))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	return nil
}
