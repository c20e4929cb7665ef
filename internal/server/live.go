package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"weir/internal/answer/alert"
	"weir/internal/cluster"
	"weir/internal/field/scrape"
	"weir/internal/store"
	"weir/internal/web"
)

// Live is a running server: what its parts share.
type Live struct {
	Store   store.Store
	Cluster *cluster.Cluster
	File    string // the cluster file as the user named it
	Source  string // --source as the user gave it
	Now     func() time.Time
	Log     *slog.Logger
	Config  *Config
	Alerts  *alert.Engine

	Dashboard *web.Server

	scraper atomic.Pointer[scrape.Scraper]
}

// A source appends samples to the store until ctx ends. It returns early only
// when it can never go on.
type source func(ctx context.Context, live *Live) error

// sources are the kinds of --source.
var sources = map[string]source{
	"sim":    simulate,
	"record": replay,
	"agents": func(ctx context.Context, l *Live) error { return l.scrapeAgents(ctx) },
}

// run serves, fills the store and watches it until ctx ends or one of these
// fails.
func (l *Live) run(ctx context.Context, fill source, serve func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	parts := []func(context.Context) error{serve, l.watch, l.readSwitches, l.adoptExisting, l.Dashboard.Run, func(ctx context.Context) error { return fill(ctx, l) }}
	results := make(chan error, len(parts))
	for _, part := range parts {
		go func() {
			err := part(ctx)
			if err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled) {
				err = nil
			}
			if err != nil {
				stop()
			}
			results <- err
		}()
	}
	var err error
	for range parts {
		err = errors.Join(err, <-results)
	}
	return err
}

// handler is everything behind the listener.
func (l *Live) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/v1/", l.Store.API())
	mux.HandleFunc("GET /api/v1/targets", l.serveTargets)
	mux.HandleFunc("GET /api/v1/alerts", l.serveAlerts)
	mux.HandleFunc("GET /api/v1/rules", l.serveRules)
	ok := func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) }
	mux.HandleFunc("GET /-/healthy", ok)
	mux.HandleFunc("GET /-/ready", ok)
	mux.Handle("/", dashboard(l))
	return mux
}
