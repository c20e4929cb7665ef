package server

import (
	"log/slog"

	"weir/internal/store"
)

// openStore opens the embedded store.
func openStore(f *flags, maxBytes int64, log *slog.Logger) (store.Store, error) {
	return store.Open(f.dir, store.Options{Retention: f.retention, MaxBytes: maxBytes, Log: log})
}
