package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// RemoteOptions name an engine that answers Prometheus' HTTP API and takes
// its remote write: Prometheus itself, VictoriaMetrics, Mimir, Thanos.
type RemoteOptions struct {
	URL string // of the engine: the API is below URL/api/v1/
	// WriteURL takes samples; default URL/api/v1/write.
	WriteURL string
	// Transport adds TLS and credentials; default http.DefaultTransport.
	Transport http.RoundTripper
	// GiveUp is how long a batch is sent again while the engine does not
	// answer or is busy; default 30 s. After it Append fails.
	GiveUp time.Duration
	Now    func() time.Time
}

// Remote is a Store in another engine. Append returns when the engine has
// acknowledged the batch; nothing is kept here.
type Remote struct {
	base, write *url.URL
	client      *http.Client
	giveUp      time.Duration
	now         func() time.Time
	batches     chan pending
	stop        context.CancelFunc
	done        sync.WaitGroup
}

type pending struct {
	body []byte // encoded time series
	n    int
	err  chan error
}

// Limits of a remote engine.
const (
	senders       = 8        // requests under way at a time
	maxWrite      = 10_000   // samples of a request
	maxAnswer     = 64 << 20 // bytes of an answer
	writeTimeout  = 10 * time.Second
	firstPause    = 100 * time.Millisecond
	remoteTimeout = queryTimeout + 5*time.Second
)

// OpenRemote returns the store behind o. It does not ask the engine yet.
func OpenRemote(o RemoteOptions) (*Remote, error) {
	base, err := httpURL(o.URL)
	if err != nil {
		return nil, err
	}
	write := base.JoinPath("api/v1/write")
	if o.WriteURL != "" {
		if write, err = httpURL(o.WriteURL); err != nil {
			return nil, err
		}
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.GiveUp == 0 {
		o.GiveUp = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &Remote{base: base, write: write, client: &http.Client{Transport: o.Transport}, giveUp: o.GiveUp, now: o.Now, batches: make(chan pending), stop: stop}
	for range senders {
		r.done.Add(1)
		go func() {
			defer r.done.Done()
			r.send(ctx)
		}()
	}
	return r, nil
}

func httpURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%.80q is not an http or https URL", s)
	}
	return u, nil
}

// Close ends the senders; batches under way fail.
func (r *Remote) Close() error {
	r.stop()
	r.done.Wait()
	return nil
}

// Append implements Store. Samples of one series must come one after the
// other, as they do from one source: several batches are sent at a time.
func (r *Remote) Append(ctx context.Context, batch []Point) (Refused, error) {
	var refused Refused
	limit := r.now().Add(MaxAhead).UnixMilli()
	p := pending{err: make(chan error, 1)}
	for i := range batch {
		if batch[i].At > limit {
			refused.TooNew++
			continue
		}
		p.body = appendTimeSeries(p.body, &batch[i])
		p.n++
	}
	if p.n == 0 {
		return refused, nil
	}
	select {
	case r.batches <- p:
	case <-ctx.Done():
		return refused, ctx.Err()
	}
	select {
	case err := <-p.err:
		return refused, err
	case <-ctx.Done():
		return refused, ctx.Err()
	}
}

// send takes what waits, up to a request's worth, and sends it until the
// engine has it.
func (r *Remote) send(ctx context.Context) {
	for {
		var some []pending
		n := 0
		select {
		case p := <-r.batches:
			some, n = append(some, p), p.n
		case <-ctx.Done():
			return
		}
		for more := true; more && n < maxWrite; {
			select {
			case p := <-r.batches:
				some, n = append(some, p), n+p.n
			default:
				more = false
			}
		}
		var body []byte
		for _, p := range some {
			body = append(body, p.body...)
		}
		err := r.deliver(ctx, body)
		for _, p := range some {
			p.err <- err
		}
	}
}

// deliver posts one request, again after failures that may pass.
func (r *Remote) deliver(ctx context.Context, body []byte) error {
	packed := packSnappy(body)
	deadline := r.now().Add(r.giveUp)
	for pause := firstPause; ; pause = min(2*pause, 5*time.Second) {
		again, err := r.post(ctx, packed)
		if err == nil || !again || r.now().Add(pause).After(deadline) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

func (r *Remote) post(ctx context.Context, packed []byte) (again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.write.String(), bytes.NewReader(packed))
	if err != nil {
		return false, err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	req.Header.Set("User-Agent", "weir-server")
	resp, err := r.client.Do(req)
	if err != nil {
		return true, err
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
	if resp.StatusCode/100 == 2 {
		return false, nil
	}
	err = fmt.Errorf("remote write: status %d: %s", resp.StatusCode, strings.TrimSpace(string(text)))
	return resp.StatusCode/100 == 5 || resp.StatusCode == http.StatusTooManyRequests, err
}

// answer is the envelope of the HTTP API.
type answer struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Data   struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	} `json:"data"`
}

// ask posts a query.
func (r *Remote) ask(ctx context.Context, path string, form url.Values) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.base.JoinPath("api/v1", path).String(), strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxAnswer {
		return nil, fmt.Errorf("%w: an answer of more than %d bytes", ErrQuery, maxAnswer)
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return nil, fmt.Errorf("status %d and no answer of Prometheus' API", resp.StatusCode)
	}
	if a.Status != "success" {
		err := errors.New(a.Error)
		if resp.StatusCode/100 == 4 {
			err = fmt.Errorf("%w: %w", ErrQuery, err)
		}
		return nil, err
	}
	return &a, nil
}

// remoteSeries is one series of a result.
type remoteSeries struct {
	Metric map[string]string `json:"metric"`
	Value  remotePoint       `json:"value"`
	Values []remotePoint     `json:"values"`
}

// remotePoint is [seconds, "value"].
type remotePoint struct {
	at    int64
	value float64
}

// UnmarshalJSON reads [1435781451.781, "1"].
func (p *remotePoint) UnmarshalJSON(text []byte) error {
	var seconds float64
	var value string
	if err := json.Unmarshal(text, &[]any{&seconds, &value}); err != nil {
		return err
	}
	v, err := strconv.ParseFloat(value, 64)
	p.at, p.value = int64(math.Round(seconds*1000)), v
	return err
}

// Query implements Store.
func (r *Remote) Query(ctx context.Context, expr string, at time.Time) ([]Sample, error) {
	a, err := r.ask(ctx, "query", url.Values{"query": {expr}, "time": {seconds(at)}})
	if err != nil {
		return nil, err
	}
	switch a.Data.ResultType {
	case "vector":
		var series []remoteSeries
		if err := json.Unmarshal(a.Data.Result, &series); err != nil {
			return nil, err
		}
		out := make([]Sample, len(series))
		for i, s := range series {
			out[i] = Sample{Labels: labels.FromMap(s.Metric), At: time.UnixMilli(s.Value.at), Value: s.Value.value}
		}
		return out, nil
	case "scalar":
		var p remotePoint
		if err := json.Unmarshal(a.Data.Result, &p); err != nil {
			return nil, err
		}
		return []Sample{{At: time.UnixMilli(p.at), Value: p.value}}, nil
	}
	return nil, fmt.Errorf("%w: a %s where a vector or scalar is needed", ErrQuery, a.Data.ResultType)
}

func seconds(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// QueryRange implements Store.
func (r *Remote) QueryRange(ctx context.Context, expr string, rng Range) ([]Curve, error) {
	if err := rng.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrQuery, err)
	}
	return r.matrix(r.ask(ctx, "query_range", url.Values{
		"query": {expr}, "start": {seconds(rng.From)}, "end": {seconds(rng.To)}, "step": {strconv.FormatFloat(rng.Step.Seconds(), 'f', 3, 64)},
	}))
}

// Samples implements Store.
func (r *Remote) Samples(ctx context.Context, selector string, from, to time.Time) ([]Curve, error) {
	span := to.Sub(from).Milliseconds()
	if span <= 0 {
		return nil, fmt.Errorf("%w: end of the samples before their start", ErrQuery)
	}
	out, err := r.matrix(r.ask(ctx, "query", url.Values{"query": {fmt.Sprintf("%s[%dms]", selector, span)}, "time": {seconds(to)}}))
	if err != nil {
		return nil, err
	}
	// Before Prometheus 3 a range held the sample at its start, too.
	kept := out[:0]
	for _, c := range out {
		if len(c.Times) > 0 && c.Times[0] <= from.UnixMilli() {
			c.Times, c.Values = c.Times[1:], c.Values[1:]
		}
		if len(c.Times) > 0 {
			kept = append(kept, c)
		}
	}
	return kept, nil
}

func (r *Remote) matrix(a *answer, err error) ([]Curve, error) {
	if err != nil {
		return nil, err
	}
	if a.Data.ResultType != "matrix" {
		return nil, fmt.Errorf("%w: a %s where a matrix is needed", ErrQuery, a.Data.ResultType)
	}
	var series []remoteSeries
	if err := json.Unmarshal(a.Data.Result, &series); err != nil {
		return nil, err
	}
	out := make([]Curve, len(series))
	for i, s := range series {
		c := Curve{Labels: labels.FromMap(s.Metric), Times: make([]int64, len(s.Values)), Values: make([]float64, len(s.Values))}
		for j, p := range s.Values {
			c.Times[j], c.Values[j] = p.at, p.value
		}
		out[i] = c
	}
	return out, nil
}

// Latest implements Store. The engine is asked twice, for values and for
// their times; a series that changed in between is taken by its value.
func (r *Remote) Latest(ctx context.Context, metric string, now time.Time, lookback time.Duration) ([]Sample, error) {
	times, err := r.Query(ctx, "timestamp("+metric+")", now)
	if err != nil {
		return nil, err
	}
	at := make(map[string]time.Time, len(times))
	for _, s := range times {
		at[s.Labels.String()] = time.UnixMilli(int64(math.Round(s.Value * 1000)))
	}
	values, err := r.Query(ctx, metric, now)
	if err != nil {
		return nil, err
	}
	out := values[:0]
	for _, s := range values {
		t, ok := at[s.Labels.DropReserved(func(n string) bool { return n == model.MetricNameLabel }).String()]
		if ok && now.Sub(t) <= lookback {
			s.At = t
			out = append(out, s)
		}
	}
	return out, nil
}

// API hands requests on to the engine: those that read, and no other.
func (r *Remote) API() http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(r.base)
			// The reader's credentials are for this server, not for the engine.
			p.Out.Header.Del("Authorization")
			p.Out.Header.Del("Cookie")
		},
		Transport: r.client.Transport,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadGateway)
			json.NewEncoder(w).Encode(map[string]string{"status": "error", "errorType": "unavailable", "error": err.Error()})
		},
	}
	mux := http.NewServeMux()
	for _, path := range []string{"query", "query_range", "series", "labels", "label/{name}/values", "metadata", "query_exemplars", "status/buildinfo"} {
		mux.HandleFunc("/api/v1/"+path, func(w http.ResponseWriter, q *http.Request) {
			if q.Method != http.MethodGet && q.Method != http.MethodPost {
				http.Error(w, "GET or POST", http.StatusMethodNotAllowed)
				return
			}
			q.Body = http.MaxBytesReader(w, q.Body, maxForm)
			proxy.ServeHTTP(w, q)
		})
	}
	return mux
}
