package web_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"weir/internal/cluster"
	"weir/internal/store"
	"weir/internal/web"
)

// A scene is a dashboard whose counters rise at known rates, as read from a
// fabric once in step.
type scene struct {
	t      testing.TB
	server *web.Server
	step   time.Duration

	mu     sync.Mutex
	series map[string]*moving
	order  []*moving
}

type moving struct {
	series      *store.Series
	value, rate float64
}

// newScene opens a dashboard with a store of its own; text is a cluster file.
func newScene(t testing.TB, text string, step time.Duration) *scene {
	t.Helper()
	c, err := cluster.Parse("c.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	s := &scene{t: t, step: step, series: map[string]*moving{}}
	s.server, err = web.New(web.Options{Store: st, Cluster: c.Cluster, Source: "agents", Every: step, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rate lets a counter rise by so much a second from now on.
func (s *scene) rate(perSecond float64, metric string, labels ...string) {
	key := metric
	for _, l := range labels {
		key += "\x00" + l
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.series[key]
	if m == nil {
		m = &moving{series: store.NewSeries(metric, labels...)}
		s.series[key] = m
		s.order = append(s.order, m)
	}
	m.rate = perSecond
}

// read takes one reading of everything, a step after the one before.
func (s *scene) read(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch := make([]store.Point, len(s.order))
	for i, m := range s.order {
		m.value += m.rate * s.step.Seconds()
		batch[i] = store.Point{Series: m.series, At: at.UnixMilli(), Value: m.value}
	}
	if _, err := s.server.Store().Append(context.Background(), batch); err != nil {
		s.t.Error(err)
	}
}

// run reads in step and makes frames until the test ends.
func (s *scene) run() {
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { s.server.Run(ctx) })
	all.Go(func() {
		next := time.Now()
		for ctx.Err() == nil {
			s.read(next)
			next = next.Add(s.step)
			select {
			case <-ctx.Done():
			case <-time.After(time.Until(next)):
			}
		}
	})
	s.t.Cleanup(func() {
		stop()
		all.Wait()
	})
}

const words4 = 1e9 / 8 / 4 // 4-byte words a second for 1 Gb/s

// host sets what a host's NIC sends, in Gb/s.
func (s *scene) host(name, device string, gbps float64) {
	s.rate(gbps*words4, "rdma_port_xmit_data_total", "instance", name, "device", device, "port", "1")
}

// leaf sets what a switch's port sends, in Gb/s.
func (s *scene) leaf(name, port string, gbps float64) {
	s.rate(gbps*1e9/8, "roce_switch_port_bytes_total", "switch", name, "port", port, "direction", "tx")
}

// held sets the share of the time that a switch's port is held back.
func (s *scene) held(name, port string, share float64) {
	s.rate(share*1e6, "roce_switch_pfc_pause_duration_total", "switch", name, "port", port, "priority", "3", "direction", "rx")
}
