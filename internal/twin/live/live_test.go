package live_test

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"weir/internal/cluster"
	"weir/internal/telemetry"
	"weir/internal/twin"
	"weir/internal/twin/live"
)

const pair = `
host: {count: 2, gpus: 0, nic: {count: 1, speed: 100Gbps}}
fabric: {topology: single-switch}
job: {pattern: incast, size: 4MB}
`

// clock is a clock that only sleeping moves.
type clock struct{ at time.Time }

func (c *clock) Now() time.Time { return c.at }
func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.at = c.at.Add(d)
	return ctx.Err()
}

type collected struct {
	reg  *telemetry.Registry
	at   []time.Time
	rows [][]float64
	done []*twin.Result
}

var errEnough = errors.New("enough")

func run(t *testing.T, readings int, o live.Options) *collected {
	t.Helper()
	f, err := cluster.Parse("c.yaml", []byte(pair), nil)
	if err != nil {
		t.Fatal(err)
	}
	out := &collected{}
	o.Cluster = f.Cluster
	o.Series = func(r *telemetry.Registry) error { out.reg = r; return nil }
	o.Read = func(r live.Reading) error {
		out.at = append(out.at, r.At)
		out.rows = append(out.rows, append([]float64(nil), r.Values...))
		if len(out.rows) == readings {
			return errEnough
		}
		return nil
	}
	o.Done = func(r *twin.Result) { out.done = append(out.done, r) }
	if err := live.Run(context.Background(), o); !errors.Is(err, errEnough) {
		t.Fatalf("Run returned %v", err)
	}
	return out
}

// busiest returns the largest rate of a metric at a reading.
func (c *collected) busiest(t *testing.T, i int, metric string, labels ...telemetry.Label) float64 {
	t.Helper()
	best := math.NaN()
	for _, n := range c.reg.Find(telemetry.MustLookup(metric), labels...) {
		if r := (c.rows[i][n] - c.rows[i-1][n]) / c.at[i].Sub(c.at[i-1]).Seconds(); !(r <= best) {
			best = r
		}
	}
	return best
}

// A NIC of 100 Gb/s sends to another: the receiver's port is at line rate in
// the middle of the transfer, whatever the factor and however late the
// simulation comes.
func TestRatesAreTheFabrics(t *testing.T) {
	const line = 100e9 / 8
	for name, o := range map[string]live.Options{
		"in time": {Factor: 100_000}, "slower": {Factor: 250_000},
	} {
		t.Run(name, func(t *testing.T) {
			k := &clock{time.Unix(1000, 0)}
			o.Now, o.Sleep = k.Now, k.Sleep
			got := run(t, 12, o)
			for i := 4; i < 9; i++ {
				rate := got.busiest(t, i, "roce_switch_port_bytes_total", telemetry.Label{Name: "direction", Value: "tx"})
				// A frame of 4096 bytes of payload has 20 bytes of preamble and gap on
				// the wire, which the counter leaves out: 0.995 of the line rate. A reading of
				// 10 us holds 30 frames, so one more or less is 3 %.
				if math.Abs(rate/line-0.995) > 0.035 {
					t.Errorf("reading %d: %.3f of line rate", i, rate/line)
				}
				if d := got.at[i].Sub(got.at[i-1]); d != time.Second {
					t.Errorf("reading %d comes after %v", i, d)
				}
			}
		})
	}
	t.Run("late", func(t *testing.T) {
		k := &clock{time.Unix(1000, 0)}
		got := run(t, 12, live.Options{Factor: 100_000, Sleep: k.Sleep, Now: func() time.Time {
			k.at = k.at.Add(1700 * time.Millisecond)
			return k.at
		}})
		for i := 4; i < 9; i++ {
			rate := got.busiest(t, i, "roce_switch_port_bytes_total", telemetry.Label{Name: "direction", Value: "tx"})
			if math.Abs(rate/line-0.995) > 0.035 {
				t.Errorf("reading %d: %.3f of line rate", i, rate/line)
			}
		}
	})
}

// Counters go on rising over rounds, each of which tells its result.
func TestRoundsFollow(t *testing.T) {
	k := &clock{time.Unix(1000, 0)}
	got := run(t, 120, live.Options{Factor: 100_000, Now: k.Now, Sleep: k.Sleep})
	if len(got.done) < 2 {
		t.Fatalf("%d rounds ended", len(got.done))
	}
	for i := range got.rows {
		for n := range got.rows[i] {
			if i > 0 && got.reg.Metric(uint32(n)).Kind == telemetry.Counter && got.rows[i][n] < got.rows[i-1][n] {
				t.Fatalf("%s falls at reading %d", got.reg.String(uint32(n)), i)
			}
		}
	}
}

// A fabric is slowed so far that a round lasts about a minute.
func TestFactor(t *testing.T) {
	f, err := cluster.Parse("c.yaml", []byte(pair), nil)
	if err != nil {
		t.Fatal(err)
	}
	// 4 MB through a port of 100 Gb/s take 320 us: 60 s need a factor of
	// 187,500.
	if got := live.Factor(f.Cluster); got != 200_000 {
		t.Errorf("factor %d, want 200000", got)
	}
}
