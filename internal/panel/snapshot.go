package panel

import (
	"math"
	"time"
)

var nan = float32(math.NaN())

// A Snapshot is what all ports do at one moment. Values are by end; a NaN is a
// number that nobody counts or whose source is stale.
type Snapshot struct {
	At     time.Time     // of the newest reading
	Window time.Duration // that the rates are over, the longest of all
	Values [Columns][]float32
	// Priorities that pause is counted of, and the share of time for each of
	// them that an end was held back.
	Priorities []uint8
	PauseBy    [][]float32 // by index of Priorities, then by end
	// Age is how old an end's newest reading is, in seconds; NaN: none yet.
	Age []float32
	// Silent is how many ends have no fresh reading.
	Silent int
	// Resets of counters since the panel began.
	Resets uint64
}

// Ends returns how many ends there are.
func (s *Snapshot) Ends() int { return len(s.Age) }

// Utilisation is the share of an end's line rate that it sends at, NaN where
// either is not known.
func (s *Snapshot) Utilisation(f *Fabric, end int) float32 {
	if f.Ends[end].Rate <= 0 {
		return nan
	}
	return s.Values[Tx][end] / float32(f.Ends[end].Rate)
}

// Snapshot computes the rates at a moment.
func (p *Panel) Snapshot(now time.Time) *Snapshot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.snapshot(now.UnixMilli())
}

func (p *Panel) snapshot(now int64) *Snapshot {
	ends := len(p.fabric.Ends)
	s := &Snapshot{At: time.UnixMilli(p.latest)}
	for c := range s.Values {
		s.Values[c] = filled(ends)
	}
	s.Age = filled(ends)
	var auxiliary [slots - slot(Columns)][]float32
	for i := range auxiliary {
		auxiliary[i] = filled(ends)
	}
	var byPrio, heldBy [8][]float32
	for prio, seen := range p.prios {
		if seen {
			s.Priorities = append(s.Priorities, uint8(prio))
			byPrio[prio], heldBy[prio] = filled(ends), filled(ends)
		}
	}
	window, widest := p.opt.Window.Milliseconds(), int64(0)
	for i := range p.series {
		r := &p.series[i]
		s.Resets += uint64(r.resets)
		if r.end < 0 || r.n == 0 {
			continue
		}
		if age := float32(now-r.at[r.last()]) / 1000; !(age >= s.Age[r.end]) {
			s.Age[r.end] = max(age, 0)
		}
		if r.gauge {
			if v, ok := r.value(now); ok && slot(Queue) == r.slot {
				raise(&s.Values[Queue][r.end], float32(v*r.factor))
			}
			continue
		}
		v, span, ok := r.rate(now, window)
		if !ok {
			continue
		}
		widest = max(widest, span)
		switch v := float32(v * r.factor); {
		case r.slot == slotPauseRx:
			raise(&byPrio[r.prio][r.end], min(v, 1))
		case r.slot == slotPauseTx:
			raise(&heldBy[r.prio][r.end], min(v, 1))
		case r.slot < slot(Columns):
			add(&s.Values[r.slot][r.end], v)
		case r.slot < slots:
			add(&auxiliary[r.slot-slot(Columns)][r.end], v)
		}
	}
	s.Window = time.Duration(widest) * time.Millisecond
	s.join(byPrio, heldBy, auxiliary[slotPortDrops-slot(Columns)], auxiliary[slotRetransmissionEvents-slot(Columns)])
	return s
}

// join lets each end of a cable fill in what the other end counts.
func (s *Snapshot) join(byPrio, heldBy [8][]float32, portDrops, events []float32) {
	for _, prio := range s.Priorities {
		rx := byPrio[prio]
		for e := range rx {
			// Not every card and switch counts how long it was held back. What
			// the other end says of its pauses is next best.
			if peer := Peer(e); isNaN(rx[e]) && peer < len(rx) && !isNaN(heldBy[prio][peer]) {
				rx[e] = heldBy[prio][peer]
			}
			raise(&s.Values[PauseRx][e], rx[e])
		}
		s.PauseBy = append(s.PauseBy, rx)
	}
	for e := range s.Age {
		peer := Peer(e)
		if isNaN(s.Age[e]) || s.Age[e] > 10 {
			s.Silent++
		}
		raise(&s.Values[PauseTx][e], s.Values[PauseRx][peer])
		if isNaN(s.Values[PauseTx][e]) {
			for _, prio := range s.Priorities {
				raise(&s.Values[PauseTx][e], heldBy[prio][e])
			}
		}
		if isNaN(s.Values[Rx][e]) {
			s.Values[Rx][e] = s.Values[Tx][peer]
		}
		raise(&s.Values[Drops][e], portDrops[e])
		if isNaN(s.Values[Retransmissions][e]) {
			s.Values[Retransmissions][e] = events[e]
		}
	}
}

func filled(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = nan
	}
	return v
}

func isNaN(v float32) bool { return v != v }

// raise sets a value to the larger of both; a NaN gives way.
func raise(to *float32, v float32) {
	if isNaN(*to) || v > *to {
		*to = v
	}
}

func add(to *float32, v float32) {
	if isNaN(*to) {
		*to = 0
	}
	*to += v
}
