// Package panel holds what every port of a fabric does now: the readings of
// the last seconds, whatever they come from, become one row a cable with both
// ends side by side, a verdict, the pause tree and the largest of each kind.
//
// A Panel is fed by whoever takes in samples (the server's store, the terminal
// view) and asked by whoever shows them. It knows no store.
package panel

import (
	"math"
	"sync"
	"time"

	"weir/internal/telemetry"
)

// A Panel takes readings and tells rates. Its methods may be called from
// several goroutines.
type Panel struct {
	mu     sync.Mutex
	opt    Options
	reg    *telemetry.Registry
	series []series // by number of the registry
	fabric *Fabric
	prios  [8]bool // that any pause counter was seen of

	latest int64 // of all readings, ms
	hist   history
}

// Options of a panel.
type Options struct {
	// Window is how far back rates look; 0: 3 s. A source that is read less
	// often than twice in it gets the distance of its last two readings.
	Window time.Duration
	// Every is the distance of the history's columns; 0: 1 s.
	Every time.Duration
	// Spark and Heat are how many columns the histories keep; 0: 60 and 600.
	Spark, Heat int
}

// New returns the panel of a fabric, or with a nil fabric one whose ports come
// from the readings.
func New(f *Fabric, o Options) *Panel {
	if o.Window <= 0 {
		o.Window = 3 * time.Second
	}
	if o.Every <= 0 {
		o.Every = time.Second
	}
	if o.Spark <= 0 {
		o.Spark = 60
	}
	if o.Heat <= 0 {
		o.Heat = 600
	}
	if f == nil {
		f = newFabric()
		f.grows = true
	}
	p := &Panel{opt: o, reg: telemetry.NewRegistry(), fabric: f}
	p.hist = newHistory(o.Spark, o.Heat)
	return p
}

// Fabric returns the panel's ports. Its list grows only in a panel that was
// made without a fabric.
func (p *Panel) Fabric() *Fabric {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fabric.clone()
}

// Series returns the number under which Add takes the readings of a metric
// with the labels that get returns ("" for one it does not have); false for a
// metric that is not in the table.
func (p *Panel) Series(metric string, get func(label string) string) (uint32, bool) {
	id, ok := telemetry.Lookup(metric)
	if !ok {
		return 0, false
	}
	names := telemetry.Table()[id].LabelNames()
	values := make([]string, len(names))
	for i, l := range names {
		values[i] = get(l)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.reg.Add(id, values...)
	if err != nil {
		return 0, false
	}
	if int(n) == len(p.series) {
		p.series = append(p.series, p.place(n))
	}
	return n, true
}

// A Reading is one value of one series. At is in milliseconds since 1970. A
// value that is not a number ends the series until it is read again.
type Reading struct {
	Series uint32
	At     int64
	Value  float64
}

// Add takes readings. One that is not later than the last of its series is
// ignored.
func (p *Panel) Add(readings []Reading) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range readings {
		r := &readings[i]
		if int(r.Series) >= len(p.series) {
			continue
		}
		s := &p.series[r.Series]
		if math.IsNaN(r.Value) {
			s.gap()
			continue
		}
		s.add(r.At, r.Value)
		p.latest = max(p.latest, r.At)
	}
}

// Latest returns the time of the newest reading; false before the first.
func (p *Panel) Latest() (time.Time, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.UnixMilli(p.latest), p.latest != 0
}
