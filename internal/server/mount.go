package server

import (
	"net/http"
	"time"

	"weir/internal/web"
)

// newDashboard returns what the root of the server shows. The live server's
// samples must go through its Store from then on.
func newDashboard(l *Live) (*web.Server, error) {
	o := web.Options{Store: l.Store, Cluster: l.Cluster, Source: l.Source, Now: l.Now, Log: l.Log.With("part", "dashboard")}
	switch l.Source {
	case "agents":
		o.Every = time.Duration(l.Config.Agents.Interval)
	case "sim":
		o.Factor = simulationFactor(l.Cluster)
		o.Every = time.Second
	}
	return web.New(o)
}

// dashboard is what the root of the server shows.
func dashboard(l *Live) http.Handler { return l.Dashboard.Handler() }
