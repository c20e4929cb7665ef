package server

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"weir/internal/field/scrape"
)

// scrapeAgents fills the store from the agents of the hosts.
func (l *Live) scrapeAgents(ctx context.Context) error {
	c := l.Config.Agents
	rt, err := transport(c.HTTPConfig, "agents")
	if err != nil {
		return err
	}
	s, err := scrape.New(ctx, scrape.Options{
		Store: l.Store, Client: scrape.NewClient(rt), Interval: time.Duration(c.Interval), Now: l.Now, Log: l.Log.With("part", "scrape"),
	})
	if err != nil {
		return err
	}
	l.scraper.Store(s)
	d, every, err := l.discovery()
	if err != nil {
		return err
	}
	sets := make(chan []scrape.Target)
	go scrape.Watch(ctx, d, every, sets, func(err error) {
		if err != nil {
			l.Log.Error("targets are not read; those before stay", "err", err)
		} else {
			l.Log.Warn("targets are read again")
		}
	})
	return s.Run(ctx, sets)
}

// discovery returns where targets come from and how often to ask.
func (l *Live) discovery() (scrape.Discovery, time.Duration, error) {
	c := l.Config.Agents
	switch k := c.Kubernetes; {
	case c.File != "":
		return scrape.FromFile{Name: c.File}, 10 * time.Second, nil
	case k.Selector != "":
		d, err := scrape.FromKubernetes{Namespace: k.Namespace, Selector: k.Selector, Port: cmp.Or(k.Port, 9779), Scheme: k.Scheme}.InCluster()
		return d, 30 * time.Second, err
	}
	return scrape.FromCluster{Cluster: l.Cluster, Template: c.URL}, time.Hour, nil
}

type targetJSON struct {
	Labels             map[string]string `json:"labels"`
	DiscoveredLabels   map[string]string `json:"discoveredLabels"`
	ScrapePool         string            `json:"scrapePool"`
	ScrapeURL          string            `json:"scrapeUrl"`
	LastError          string            `json:"lastError"`
	LastScrape         time.Time         `json:"lastScrape"`
	LastScrapeDuration float64           `json:"lastScrapeDuration"`
	Health             string            `json:"health"`
	ClockSkewSeconds   *float64          `json:"clock_skew_seconds,omitempty"`
	ClockSkewSure      *float64          `json:"clock_skew_uncertainty_seconds,omitempty"`
}

// serveTargets answers as Prometheus' /api/v1/targets does, with the clocks
// of the targets beside.
func (l *Live) serveTargets(w http.ResponseWriter, _ *http.Request) {
	active := []targetJSON{}
	if s := l.scraper.Load(); s != nil {
		for _, st := range s.Status() {
			t := targetJSON{
				Labels: map[string]string{"instance": st.Instance}, DiscoveredLabels: map[string]string{}, ScrapePool: "agents", ScrapeURL: st.URL,
				LastError: st.Error, LastScrape: st.Last, LastScrapeDuration: st.Took.Seconds(), Health: "unknown",
			}
			for _, lb := range st.Labels {
				t.Labels[lb.Name] = lb.Value
			}
			switch {
			case st.Up:
				t.Health = "up"
			case !st.Last.IsZero():
				t.Health = "down"
			}
			if st.Known {
				skew, sure := st.Skew.Seconds(), st.SkewSure.Seconds()
				t.ClockSkewSeconds, t.ClockSkewSure = &skew, &sure
			}
			active = append(active, t)
		}
	}
	respond(w, map[string]any{"activeTargets": active, "droppedTargets": []string{}})
}
