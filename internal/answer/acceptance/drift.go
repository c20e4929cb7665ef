package acceptance

import "fmt"

// A Drift is one measurement beside that of an earlier acceptance.
type Drift struct {
	Step    string  `json:"step"`
	What    string  `json:"what"`
	Before  float64 `json:"before"`
	Now     float64 `json:"now"`
	Unit    string  `json:"unit"`
	Ratio   float64 `json:"ratio"` // now over before
	Verdict Verdict `json:"verdict"`
}

// driftWarn is the share of the earlier measurement below which a pair or a
// size has drifted. Each of two measurements of a healthy link varies by 2 %
// or so.
const driftWarn = 0.95

// Against compares with an earlier acceptance: pairs by NICs and pass,
// collectives by operation, nodes, part and size. What only one has is left
// out. A measurement that fell makes its step no better than a warning.
func (r *Report) Against(before *Report) {
	type pair struct{ from, to, pass string }
	pairs := map[pair]float64{}
	for i := range before.Pairs {
		if p := &before.Pairs[i]; p.Gbps > 0 && p.Error == "" {
			pairs[pair{p.From, p.To, p.Pass}] = p.Gbps
		}
	}
	add := func(step, what, unit string, was, now float64) {
		if was <= 0 || now <= 0 {
			return
		}
		d := Drift{Step: step, What: what, Before: was, Now: now, Unit: unit, Ratio: now / was, Verdict: Pass}
		if d.Ratio < driftWarn {
			d.Verdict = Warn
			for i := range r.Steps {
				if r.Steps[i].Name == step {
					r.Steps[i].Verdict = worse(r.Steps[i].Verdict, Warn)
				}
			}
		}
		r.Drift = append(r.Drift, d)
	}
	for i := range r.Pairs {
		if p := &r.Pairs[i]; p.Error == "" {
			add(StepPairs, p.From+" to "+p.To, "Gbit/s", pairs[pair{p.From, p.To, p.Pass}], p.Gbps)
		}
	}
	type size struct {
		op, pass string
		nodes    int
		bytes    uint64
	}
	sizes := map[size]float64{}
	for i := range before.Collectives {
		if c := &before.Collectives[i]; c.Error == "" {
			sizes[size{c.Op, c.Pass, c.Nodes, c.Bytes}] = c.BusBW
		}
	}
	for i := range r.Collectives {
		if c := &r.Collectives[i]; c.Error == "" {
			add(StepCollectives, fmt.Sprintf("%s, %d nodes, %d bytes", c.Op, c.Nodes, c.Bytes), "GB/s", sizes[size{c.Op, c.Pass, c.Nodes, c.Bytes}], c.BusBW)
		}
	}
	r.Finish()
}
