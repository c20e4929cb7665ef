package host

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"time"

	"weir/internal/telemetry"
)

// How a source slows down: after a failure its interval doubles up to
// maxBackoff; a source that takes long is read so rarely that it costs at most
// a share of maxShare of the time.
const (
	maxBackoff = 10 * time.Minute
	maxShare   = 0.05
)

// A source is one way of reading, with an interval and a cost of its own.
type source struct {
	name     string
	interval time.Duration
	wait     bool // an answer waits for a fresh reading
	read     func(*collector) error
	access   []string

	mu      sync.Mutex
	running chan struct{} // closed when the reading under way ends
	next    time.Time     // not before
	at      time.Time     // of last
	last    []Reading
	cost    struct {
		reads, failures uint64
		spent           time.Duration
		current         time.Duration // interval in force
		skipped         map[string]uint64
	}
	backoff time.Duration
	rest    map[string]time.Time // files that could not be read: not again before
}

// refresh begins a reading if one is due and none is under way. It returns a
// channel that is closed when the reading under way ends, nil without one.
func (s *source) refresh(now time.Time, clock func() time.Time) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		return s.running
	}
	if now.Before(s.next) {
		return nil
	}
	done := make(chan struct{})
	s.running = done
	if s.rest == nil {
		s.rest = map[string]time.Time{}
		s.cost.skipped = map[string]uint64{}
	}
	c := &collector{source: s.name, now: now, rest: s.rest, skipped: s.cost.skipped, mu: &s.mu}
	go func() {
		begin := clock()
		err := s.read(c)
		end := clock()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.finish(c, err, begin, end)
		s.running = nil
		close(done)
	}()
	return done
}

func (s *source) finish(c *collector, err error, begin, end time.Time) {
	took := end.Sub(begin)
	s.cost.reads++
	s.cost.spent += took
	if err != nil {
		s.cost.failures++
		s.backoff = min(max(2*s.backoff, 2*s.interval), maxBackoff)
	} else {
		s.backoff = 0
		s.last, s.at = c.out, end
	}
	s.cost.current = max(s.interval, s.backoff, time.Duration(float64(took)/maxShare))
	s.next = begin.Add(s.cost.current)
}

func (s *source) never() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cost.reads == 0
}

// readings returns what was read last. What is older than three intervals is
// no longer true and left out.
func (s *source) readings(now time.Time) []Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.at) > max(3*s.cost.current, 15*time.Second) {
		return nil
	}
	return s.last
}

// costs are the readings about the source itself.
func (s *source) costs(now time.Time) []Reading {
	s.mu.Lock()
	defer s.mu.Unlock()
	label := []telemetry.Label{{Name: "source", Value: s.name}}
	out := []Reading{
		{Name: "weir_agent_source_reads_total", Help: "Readings of a source.", Labels: label, Count: s.cost.reads},
		{Name: "weir_agent_source_failures_total", Help: "Readings of a source that failed as a whole.", Labels: label, Count: s.cost.failures},
		{Name: "weir_agent_source_seconds_total", Help: "Time that reading a source took.", Labels: label, Value: s.cost.spent.Seconds()},
		{Name: "weir_agent_source_interval_seconds", Help: "Least time between two readings, slowed down for failures and cost.", Kind: telemetry.Gauge, Labels: label, Value: max(s.cost.current, s.interval).Seconds()},
	}
	if !s.at.IsZero() {
		out = append(out, Reading{Name: "weir_agent_source_age_seconds", Help: "Age of what a source said last.", Kind: telemetry.Gauge, Labels: label, Value: max(0, now.Sub(s.at).Seconds())})
	}
	reasons := make([]string, 0, len(s.cost.skipped))
	for r := range s.cost.skipped {
		reasons = append(reasons, r)
	}
	slices.Sort(reasons)
	for _, r := range reasons {
		out = append(out, Reading{Name: "weir_agent_skipped_total", Help: "Files and requests that could not be read, which were skipped.", Labels: append(label[:1:1], telemetry.Label{Name: "reason", Value: r}), Count: s.cost.skipped[r]})
	}
	return out
}

// errUnsupported: this kernel or driver does not know it.
var errUnsupported = errors.ErrUnsupported

// A collector takes the readings of one reading of a source.
type collector struct {
	source  string
	now     time.Time
	out     []Reading
	mu      *sync.Mutex // guards skipped; rest belongs to the one reading under way
	rest    map[string]time.Time
	skipped map[string]uint64
}

// restFor is how long a file that could not be read is left alone.
const restFor = 5 * time.Minute

// resting reports whether something is left alone for now.
func (c *collector) resting(what string) bool { return c.now.Before(c.rest[what]) }

// skip counts something that could not be read and leaves it alone for a
// while. What does not exist is no failure.
func (c *collector) skip(what string, err error) {
	if len(c.rest) < 100_000 {
		c.rest[what] = c.now.Add(restFor)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	c.mu.Lock()
	c.skipped[reason(err)]++
	c.mu.Unlock()
}

// reason is a short name of an error: EINVAL, EPERM ..., too_large, other.
func reason(err error) string {
	var no syscall.Errno
	switch {
	case errors.Is(err, errTooLarge):
		return "too_large"
	case errors.Is(err, errNoNumber):
		return "no_number"
	case errors.Is(err, errors.ErrUnsupported):
		return "unsupported"
	case errors.Is(err, fs.ErrPermission):
		return "EPERM"
	case errors.As(err, &no):
		if name := errnoNames[no]; name != "" {
			return name
		}
	}
	return "other"
}

var errnoNames = map[syscall.Errno]string{
	syscall.EINVAL: "EINVAL", syscall.EIO: "EIO", syscall.ENODEV: "ENODEV", syscall.EBUSY: "EBUSY",
	syscall.EAGAIN: "EAGAIN", syscall.ENXIO: "ENXIO", syscall.ETIMEDOUT: "ETIMEDOUT",
}

// add takes a reading of a metric of the table. The labels beyond device and
// port are given in the table's order.
func (c *collector) add(id telemetry.MetricID, value uint64, device, port string, more ...string) {
	m := &telemetry.Table()[id]
	labels := make([]telemetry.Label, 0, 2+len(m.Labels))
	labels = append(labels, telemetry.Label{Name: "device", Value: device}, telemetry.Label{Name: "port", Value: port})
	for i, name := range m.Labels {
		if i < len(more) {
			labels = append(labels, telemetry.Label{Name: name, Value: more[i]})
		}
	}
	c.out = append(c.out, Reading{Name: m.Name, Help: m.Help, Kind: m.Kind, Labels: labels, Count: value})
}
