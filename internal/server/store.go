package server

import (
	"log/slog"
	"time"

	"weir/internal/store"
)

// openStore opens the embedded store, or the engine behind --store.
func openStore(f *flags, c *Config, maxBytes int64, now func() time.Time, log *slog.Logger) (store.Store, error) {
	if f.remote == "" {
		return store.Open(f.dir, store.Options{Retention: f.retention, MaxBytes: maxBytes, Now: now, Log: log})
	}
	rt, err := transport(c.Store.HTTPConfig, "store")
	if err != nil {
		return nil, err
	}
	return store.OpenRemote(store.RemoteOptions{URL: f.remote, WriteURL: c.Store.WriteURL, Transport: rt, Now: now})
}
