// Package web serves the dashboard: its pages, the JSON that they read below
// /api/weir/, and the stream that keeps them live. Numbers come from a panel,
// which sees every sample on its way into the store, and from the store for
// what lies further back.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"weir/internal/cause"
	"weir/internal/cluster"
	"weir/internal/panel"
	"weir/internal/store"
)

// Options of the dashboard. Store and Now are needed.
type Options struct {
	Store   store.Store
	Cluster *cluster.Cluster
	Source  string        // "agents", "sim" or "record"
	Factor  int64         // by which a simulation is slowed; 0: not simulated
	Every   time.Duration // distance of the readings; 0: 1 s
	Now     func() time.Time
	Log     *slog.Logger // nil: nothing
}

// A Server is the dashboard of one cluster.
type Server struct {
	opt    Options
	fabric *panel.Fabric
	panel  *panel.Panel
	feed   *feed
	hub    hub
	job    jobPage
	causes *cause.Catalogue

	mu       sync.Mutex
	findings findings
	events   []event
	// fabricTime is how far a simulation is.
	fabricTime float64 // microseconds
	runs       []run
	past       [][]float32                  // by job
	ports      map[string]map[string]string // last facts of a port
}

// tick is the distance of frames.
const tick = time.Second

// New returns the dashboard. Samples must go through Store from then on.
func New(o Options) (*Server, error) {
	if o.Every <= 0 {
		o.Every = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	causes, err := cause.Load()
	if err != nil {
		return nil, err
	}
	f := panel.NewFabric(o.Cluster)
	s := &Server{
		opt: o, fabric: f, causes: causes,
		panel: panel.New(f, panel.Options{Window: max(3*time.Second, 3*o.Every), Every: tick}),
	}
	s.feed = &feed{Store: o.Store, panel: s.panel, changed: s.changed, series: map[*store.Series]fed{}}
	s.job = newJobPage(o.Cluster)
	return s, nil
}

// Store returns the store through which samples reach the dashboard, too.
func (s *Server) Store() store.Store { return s.feed }

// Run makes a frame every second and looks for findings, until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			s.hub.send(s.frame(s.opt.Now()))
		case <-look.C:
			s.look(s.opt.Now())
			s.feed.prune()
		}
	}
}

// Handler serves the dashboard at / and its JSON below /api/weir/.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/weir/fabric", s.serveFabric)
	mux.HandleFunc("GET /api/weir/ports", s.servePorts)
	mux.HandleFunc("GET /api/weir/live", s.serveLive)
	mux.HandleFunc("GET /api/weir/sparks", s.serveSparks)
	mux.HandleFunc("GET /api/weir/heat", s.serveHeat)
	mux.HandleFunc("GET /api/weir/port", s.servePort)
	mux.HandleFunc("GET /api/weir/findings", s.serveFindings)
	mux.HandleFunc("GET /api/weir/job", s.serveJob)
	mux.HandleFunc("/api/weir/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, http.StatusNotFound, errors.New("no such path"))
	})
	mux.Handle("/", pages())
	return secure(mux)
}

// fail answers with an error as JSON.
func fail(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(map[string]string{"error": err.Error()})
}

// refuse answers to a bad request or a store that failed.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if errors.Is(err, errBad) || errors.Is(err, store.ErrQuery) {
		status = http.StatusBadRequest
	}
	fail(w, status, err)
}

var errBad = errors.New("bad request")
