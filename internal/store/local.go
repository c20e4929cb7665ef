package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/compression"
)

var stale = math.Float64frombits(value.StaleNaN)

// Options of an embedded store. Zero values mean the defaults.
type Options struct {
	Retention time.Duration // how long samples are kept; default 15 days
	MaxBytes  int64         // size of the blocks above which the oldest go; default no limit
	// SyncEvery is how often the write-ahead log is forced to the disk;
	// default 5 s. It bounds what a power failure loses. The end of the
	// process alone, by any signal, loses nothing that Append acknowledged.
	SyncEvery time.Duration
	// Log gets what the engine has to say; default nothing.
	Log *slog.Logger
	Now func() time.Time // default time.Now
}

// Limits of a query.
const (
	maxSamples   = 20_000_000 // held at a time, 16 bytes each
	queryTimeout = 30 * time.Second
	lookback     = 5 * time.Minute
	maxQueries   = 16 // evaluated at a time; others wait
)

// Local is a Store in a directory of its own.
type Local struct {
	db     *tsdb.DB
	engine *promql.Engine
	parser parser.Parser
	now    func() time.Time
	slots  chan struct{}
	stop   context.CancelFunc
	done   chan struct{}
}

// Open opens the store in dir, which it makes if it is not there. A second
// process on the same directory is refused. After a crash it reads the
// write-ahead log and cuts off what is damaged.
func Open(dir string, o Options) (*Local, error) {
	if o.Retention == 0 {
		o.Retention = 15 * 24 * time.Hour
	}
	if o.SyncEvery == 0 {
		o.SyncEvery = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	opts := tsdb.DefaultOptions()
	opts.RetentionDuration = o.Retention.Milliseconds()
	opts.MaxBytes = o.MaxBytes
	opts.MaxBlockDuration = max(opts.MinBlockDuration, min(opts.RetentionDuration/10, (31*24*time.Hour).Milliseconds()))
	opts.WALCompression = compression.Snappy
	opts.FloatChunkEncoding = chunkenc.EncXOR2
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	db, err := tsdb.Open(dir, o.Log, nil, opts, nil)
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", dir, err)
	}
	p := parser.NewParser(parser.Options{})
	ctx, stop := context.WithCancel(context.Background())
	l := &Local{
		db: db,
		engine: promql.NewEngine(promql.EngineOpts{
			Logger: o.Log, MaxSamples: maxSamples, Timeout: queryTimeout, LookbackDelta: lookback,
			EnableAtModifier: true, EnableNegativeOffset: true, Parser: p,
			NoStepSubqueryIntervalFn: func(int64) int64 { return 5000 },
		}),
		parser: p,
		now:    o.Now,
		slots:  make(chan struct{}, maxQueries),
		stop:   stop,
		done:   make(chan struct{}),
	}
	go l.syncWAL(ctx, filepath.Join(dir, "wal"), o.SyncEvery, o.Log)
	return l, nil
}

// Close waits for running queries and writes what is pending.
func (l *Local) Close() error {
	l.stop()
	<-l.done
	return errors.Join(l.engine.Close(), l.db.Close())
}

// syncWAL forces the newest segments of the write-ahead log to the disk. The
// engine hands every commit to the kernel, but forces only finished segments.
func (l *Local) syncWAL(ctx context.Context, dir string, every time.Duration, log *slog.Logger) {
	defer close(l.done)
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if err := syncNewest(dir); err != nil {
				log.Error("write-ahead log", "err", err)
			}
		}
	}
}

// syncNewest forces the last two files of dir: the last may have begun since.
func syncNewest(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for _, name := range names[max(0, len(names)-2):] {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Append implements Store.
func (l *Local) Append(ctx context.Context, batch []Point) (Refused, error) {
	var refused Refused
	limit := l.now().Add(MaxAhead).UnixMilli()
	a := l.db.AppenderV2(ctx)
	for i := range batch {
		p := &batch[i]
		if p.At > limit {
			refused.TooNew++
			continue
		}
		ref, err := a.Append(p.Series.ref, p.Series.labels, 0, p.At, p.Value, nil, nil, storage.AOptions{})
		switch {
		case err == nil:
			p.Series.ref = ref
		case errors.Is(err, storage.ErrOutOfOrderSample):
			refused.OutOfOrder++
		case errors.Is(err, storage.ErrDuplicateSampleForTimestamp):
			refused.Duplicate++
		case errors.Is(err, storage.ErrOutOfBounds), errors.Is(err, storage.ErrTooOldSample):
			refused.TooOld++
		default:
			return Refused{}, errors.Join(fmt.Errorf("series %s: %w", p.Series.labels, err), a.Rollback())
		}
	}
	if err := a.Commit(); err != nil {
		return Refused{}, err
	}
	return refused, nil
}

// Stats of a store.
type Stats struct {
	Series    uint64 // with samples in memory
	DiskBytes int64  // of complete blocks
	Oldest    int64  // milliseconds since 1970
}

// Stats returns the size of the store.
func (l *Local) Stats() Stats {
	s := Stats{Series: l.db.Head().NumSeries()}
	for _, b := range l.db.Blocks() {
		s.DiskBytes += b.Size()
	}
	s.Oldest, _ = l.db.StartTime()
	return s
}
