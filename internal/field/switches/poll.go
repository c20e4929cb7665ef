package switches

import (
	"context"
	"log/slog"
	"time"
)

// A Poll reads a switch once.
type Poll func(ctx context.Context) ([]Reading, error)

// Limits of polling: after a failure the interval doubles up to maxBackoff; a
// read that takes long is done so rarely that the switch spends at most
// maxShare of the time on it.
const (
	maxBackoff = 10 * time.Minute
	maxShare   = 0.5
)

// Run polls a switch every interval until ctx ends and stores what it says.
func (w *Writer) Run(ctx context.Context, every time.Duration, poll Poll, log *slog.Logger) {
	w.interval = every
	backoff, failing := time.Duration(0), false
	for {
		begin := time.Now()
		limited, cancel := context.WithTimeout(ctx, max(every, 10*time.Second))
		readings, err := poll(limited)
		cancel()
		if ctx.Err() != nil {
			return
		}
		took := time.Since(begin)
		w.cost.reads++
		w.cost.spent += took
		at := time.Now()
		w.Begin()
		if err != nil {
			w.cost.failures++
			backoff = min(max(2*backoff, 2*every), maxBackoff)
			if !failing {
				log.Warn("switch is not read", "switch", w.name, "source", w.source, "err", err)
			}
		} else {
			backoff = 0
			if failing {
				log.Warn("switch is read again", "switch", w.name, "source", w.source)
			}
			for _, r := range readings {
				w.Add(at, r)
			}
		}
		failing = err != nil
		if err := w.End(ctx, at, true); err != nil && ctx.Err() == nil {
			log.Error("store", "switch", w.name, "err", err)
		}
		w.interval = max(every, backoff, time.Duration(float64(took)/maxShare))
		if err := w.report(ctx, at, !failing); err != nil && ctx.Err() == nil {
			log.Error("store", "switch", w.name, "err", err)
		}
		select {
		case <-time.After(w.interval - min(took, w.interval)):
		case <-ctx.Done():
			return
		}
	}
}
