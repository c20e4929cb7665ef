package panel

import "weir/internal/telemetry"

// A Movement is what one series did since the last Look.
type Movement struct {
	Series  uint32
	Seconds float64 // between the readings that were used
	Moved   float64 // of a counter
	Known   bool    // there were two readings
	Last    float64 // newest value of a counter, highest of a gauge
	Mean    float64 // of a gauge, over the time
}

// Look tells what all series did since the last Look, for a diagnosis. The
// registry may be read while readings go on.
func (p *Panel) Look() (*telemetry.Registry, []Movement) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]Movement, 0, len(p.series))
	for i := range p.series {
		s := &p.series[i]
		m := Movement{Series: uint32(i), Last: s.raw}
		var high float64
		m.Seconds, m.Moved, high, m.Mean, m.Known = s.look()
		if s.n == 0 {
			continue
		}
		if s.gauge {
			m.Last = high
		}
		out = append(out, m)
	}
	reg := *p.reg // what is registered later lies behind its end
	return &reg, out
}
