package server

import (
	"context"
	"time"

	"weir/internal/field/adopt"
	"weir/internal/store"
)

// adoptExisting takes the series of a Prometheus that the site already has.
func (l *Live) adoptExisting(ctx context.Context) error {
	c := l.Config.Existing
	if c.URL == "" {
		<-ctx.Done()
		return nil
	}
	rt, err := transport(c.HTTPConfig, "existing")
	if err != nil {
		return err
	}
	from, err := store.OpenRemote(store.RemoteOptions{URL: c.URL, Transport: rt, Now: l.Now})
	if err != nil {
		return err
	}
	defer from.Close()
	return adopt.Run(ctx, adopt.Options{From: from, To: l.Store, Every: time.Duration(orDefault(c.Interval, 15*time.Second)), Now: l.Now, Log: l.Log.With("part", "existing")})
}
