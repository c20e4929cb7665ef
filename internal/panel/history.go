package panel

import (
	"math"
	"time"
)

// SparkColumns are those that a small curve is kept of.
var SparkColumns = [...]Column{Tx, PauseRx, Marks, CNPSent, CNPHandled, Drops, OutOfSequence, Retransmissions, Errors}

// HeatColumns are those that the heat map shows: pause as a share of time,
// marks as a share of the packets sent.
var HeatColumns = [...]Column{PauseRx, Marks}

// history keeps the last snapshots: some columns for small curves, and coarse
// levels for the heat map.
type history struct {
	spark [len(SparkColumns)]ring[float32]
	heat  [len(HeatColumns)]ring[uint8]
	at    ring[int64] // times of the heat's columns, ms
}

// A ring holds rows of the last instants.
type ring[T any] struct {
	rows [][]T
	next int
	size int
}

func (r *ring[T]) push(row []T) {
	if len(r.rows) < r.size {
		r.rows = append(r.rows, row)
		return
	}
	r.rows[r.next] = row
	r.next = (r.next + 1) % r.size
}

// each calls f with the rows, oldest first.
func (r *ring[T]) each(f func([]T)) {
	for i := range r.rows {
		f(r.rows[(r.next+i)%len(r.rows)])
	}
}

func newHistory(spark, heat int) history {
	var h history
	for i := range h.spark {
		h.spark[i].size = spark
	}
	for i := range h.heat {
		h.heat[i].size = heat
	}
	h.at.size = heat
	return h
}

// NoLevel is the level of a cell without value.
const NoLevel = 255

// Level codes a share of 0 to 1 in 0 to 250, finer near 0: the square root.
func Level(share float32) uint8 {
	if isNaN(share) {
		return NoLevel
	}
	return uint8(math.Round(250 * math.Sqrt(float64(min(max(share, 0), 1)))))
}

// Tick takes a snapshot into the history and returns it with its levels, by
// HeatColumns. It is called at even distances.
func (p *Panel) Tick(now time.Time) (*Snapshot, [len(HeatColumns)][]uint8) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.snapshot(now.UnixMilli())
	for i, c := range SparkColumns {
		p.hist.spark[i].push(s.Values[c])
	}
	var levels [len(HeatColumns)][]uint8
	for i, c := range HeatColumns {
		row := make([]uint8, s.Ends())
		for e := range row {
			v := s.Values[c][e]
			if c == Marks {
				v = markShare(s, e)
			}
			row[e] = Level(v)
		}
		levels[i] = row
		p.hist.heat[i].push(row)
	}
	p.hist.at.push([]int64{s.At.UnixMilli()})
	return s, levels
}

// markShare is the share of the packets that an end sent which carry a mark of
// this end: of a switch's queue, or as a NIC receives them.
func markShare(s *Snapshot, end int) float32 {
	marks, packets := s.Values[Marks][end], s.Values[TxPackets][end]
	if peer := s.Values[TxPackets][Peer(end)]; !isNaN(s.Values[CNPSent][end]) {
		packets = peer // a NIC counts marks of what it receives
	}
	switch {
	case isNaN(marks):
		return nan
	case marks <= 0:
		return 0
	case !(packets > 0):
		return 1
	}
	return min(marks/packets, 1)
}

// Sparks returns the curves of an end, by SparkColumns, oldest first.
func (p *Panel) Sparks(end int) [len(SparkColumns)][]float32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out [len(SparkColumns)][]float32
	for i := range out {
		out[i] = make([]float32, 0, len(p.hist.spark[i].rows))
		p.hist.spark[i].each(func(row []float32) {
			v := nan
			if end < len(row) {
				v = row[end]
			}
			out[i] = append(out[i], v)
		})
	}
	return out
}

// Heat returns the levels of a heat column over time, by time and then by the
// given ends, and the times in milliseconds.
func (p *Panel) Heat(column int, ends []int) (at []int64, levels [][]uint8) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hist.at.each(func(t []int64) { at = append(at, t[0]) })
	p.hist.heat[column].each(func(row []uint8) {
		cells := make([]uint8, len(ends))
		for i, e := range ends {
			cells[i] = NoLevel
			if e < len(row) {
				cells[i] = row[e]
			}
		}
		levels = append(levels, cells)
	})
	return at, levels
}
