package server

import (
	"context"
	"time"

	"weir/internal/cluster"
	"weir/internal/store"
	"weir/internal/telemetry"
	"weir/internal/twin/live"
)

// simulate fills the store from the simulator (--source sim): the cluster's
// jobs, over and over, slowed down so that a person can watch.
func simulate(ctx context.Context, l *Live) error {
	var batch []store.Point
	return live.Run(ctx, live.Options{
		Cluster: l.Cluster, Every: time.Second, Factor: simulationFactor(l.Cluster),
		Now: l.Now, Sleep: sleep,
		Series: func(reg *telemetry.Registry) error {
			batch = make([]store.Point, reg.Len())
			for n := range batch {
				batch[n].Series = seriesOf(reg, uint32(n))
			}
			return nil
		},
		Read: func(r live.Reading) error {
			for n := range batch {
				batch[n].At, batch[n].Value = r.At.UnixMilli(), r.Values[n]
			}
			if _, err := l.Store.Append(ctx, batch); err != nil {
				return err
			}
			l.Dashboard.Simulated(r.Fabric)
			return nil
		},
		Done: l.Dashboard.Finished,
	})
}

// simulationFactor is by how much a cluster's simulation is slowed.
func simulationFactor(c *cluster.Cluster) int64 { return live.Factor(c) }

// seriesOf returns the store's series for one of the registry.
func seriesOf(reg *telemetry.Registry, n uint32) *store.Series {
	m := reg.Metric(n)
	var pairs []string
	for _, l := range m.LabelNames() {
		pairs = append(pairs, l, reg.Label(n, l))
	}
	return store.NewSeries(m.Name, pairs...)
}

// sleep waits, or returns early when ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
