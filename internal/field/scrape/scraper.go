// Package scrape reads the agents of a cluster into the store, as Prometheus
// would, each target alone: one that hangs, lies or floods harms itself only.
package scrape

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"weir/internal/store"
	"weir/internal/telemetry"
)

// A Target is one agent.
type Target struct {
	URL      string // of its metrics
	Instance string // the host's name in the cluster: the label instance of everything it says
	Labels   []telemetry.Label
}

func (t Target) key() string { return t.Instance + "\x00" + t.URL }

// Options of a scraper. Zero values mean the defaults.
type Options struct {
	Store    store.Store
	Client   *http.Client
	Interval time.Duration // default 5 s
	Timeout  time.Duration // of one scrape; default 4/5 of the interval
	MaxBody  int64         // bytes of one answer; default 8 MiB
	// MaxSeries is the most series of one target at a time, and a quarter of
	// the most new ones in an hour; default 20,000.
	MaxSeries int
	Now       func() time.Time
	Log       *slog.Logger
}

// A Scraper scrapes a changing set of targets.
type Scraper struct {
	o    Options
	mu   sync.Mutex
	live map[string]*running
	base map[string]uint64 // extended counters stored before this start
}

type running struct {
	target *target
	stop   context.CancelFunc
	done   chan struct{}
}

// New returns a scraper. It looks up how far counters of 32 bits were carried
// on before a restart, so that they go on from there.
func New(ctx context.Context, o Options) (*Scraper, error) {
	o.Interval = cmp.Or(o.Interval, 5*time.Second)
	o.Timeout = cmp.Or(o.Timeout, o.Interval*4/5)
	o.MaxBody = cmp.Or(o.MaxBody, 8<<20)
	o.MaxSeries = cmp.Or(o.MaxSeries, 20_000)
	if o.Client == nil {
		o.Client = NewClient(http.DefaultTransport)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Scraper{o: o, live: map[string]*running{}, base: map[string]uint64{}}
	for _, m := range telemetry.Table() {
		if m.Bits != 32 || m.Of != "" {
			continue
		}
		last, err := o.Store.Latest(ctx, m.Name, o.Now(), resumeWithin)
		if err != nil {
			return nil, err
		}
		for _, l := range last {
			if v, ok := whole(l.Value); ok {
				s.base[l.Labels.String()] = v
			}
		}
	}
	return s, nil
}

// resumeWithin is how old a stored counter may be to go on from it.
const resumeWithin = 15 * time.Minute

// NewClient returns a client for scraping: it follows no redirection, so that
// a target cannot send the server elsewhere.
func NewClient(t http.RoundTripper) *http.Client {
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Run scrapes the targets that come in on sets, each set replacing the one
// before, until ctx ends.
func (s *Scraper) Run(ctx context.Context, sets <-chan []Target) error {
	defer func() { s.set(ctx, nil) }()
	for {
		select {
		case <-ctx.Done():
			return nil
		case targets := <-sets:
			s.set(ctx, targets)
		}
	}
}

// set starts the new targets and stops those that are gone.
func (s *Scraper) set(ctx context.Context, targets []Target) {
	wanted := map[string]Target{}
	for _, t := range targets {
		wanted[t.key()] = t
	}
	s.mu.Lock()
	var gone []*running
	for key, r := range s.live {
		if _, ok := wanted[key]; !ok {
			gone = append(gone, r)
			delete(s.live, key)
		}
	}
	for key, t := range wanted {
		if s.live[key] != nil {
			continue
		}
		tctx, stop := context.WithCancel(ctx)
		r := &running{target: newTarget(t, &s.o, s.base), stop: stop, done: make(chan struct{})}
		s.live[key] = r
		go func() {
			defer close(r.done)
			s.loop(tctx, ctx, r.target)
		}()
	}
	s.mu.Unlock()
	for _, r := range gone {
		r.stop()
	}
	for _, r := range gone {
		<-r.done
	}
}

// loop scrapes one target at its own moment of the interval: the targets are
// spread over it by name.
func (s *Scraper) loop(ctx, server context.Context, t *target) {
	h := fnv.New64a()
	fmt.Fprint(h, t.key())
	offset := time.Duration(h.Sum64() % uint64(s.o.Interval))
	timer := time.NewTimer(offset)
	defer timer.Stop()
	next := time.Now().Add(offset)
	for {
		select {
		case <-ctx.Done():
			// A target that is gone ends its series; a server that ends does not.
			if server.Err() == nil {
				t.end(server)
			}
			return
		case <-timer.C:
		}
		t.scrape(ctx, next)
		for next = next.Add(s.o.Interval); time.Until(next) < 0; {
			next = next.Add(s.o.Interval) // a slow scrape costs the next ones their turn
		}
		timer.Reset(time.Until(next))
	}
}

// Status is how the last scrape of a target went.
type Status struct {
	Target
	Up       bool
	Error    string
	Last     time.Time // zero: not scraped yet
	Took     time.Duration
	Samples  int
	Skew     time.Duration // its clock ahead of ours, if Known
	SkewSure time.Duration // half the time on the way: how far the skew may be off
	Known    bool
}

// Status returns the state of every target, in order of instance.
func (s *Scraper) Status() []Status {
	s.mu.Lock()
	var out []Status
	for _, r := range s.live {
		out = append(out, r.target.status())
	}
	s.mu.Unlock()
	slices.SortFunc(out, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.URL, b.URL))
	})
	return out
}
