package acceptance

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"weir/internal/answer/expect"
	"weir/internal/cluster"
	"weir/internal/finding"
)

// Verdict of a step or of the whole.
type Verdict string

// The verdicts. Incomplete means that tests of the step are missing: it is
// never a pass.
const (
	Pass       Verdict = "pass"
	Warn       Verdict = "warn"
	Incomplete Verdict = "incomplete"
	Fail       Verdict = "fail"
	Skipped    Verdict = "skipped"
)

func (v Verdict) rank() int {
	return slices.Index([]Verdict{Skipped, Pass, Warn, Incomplete, Fail}, v)
}

// worse returns the worse of two verdicts.
func worse(a, b Verdict) Verdict {
	if b.rank() > a.rank() {
		return b
	}
	return a
}

// Limits of a measured bandwidth where only the others tell what is usual, as
// shares of that. Rates of a network are judged by expect's own limits.
const (
	// Software senders vary with what else their hosts do.
	looseWarn = 0.90
	looseFail = 0.80
)

// Passes of the pairs: tests that cannot meet on a link, and all at once.
const (
	Alone    = "alone"
	Together = "together"
)

// A StepReport is one step of the acceptance.
type StepReport struct {
	Name     string            `json:"name"`
	Verdict  Verdict           `json:"verdict"`
	Summary  string            `json:"summary"`
	Measured any               `json:"measured,omitempty"`
	Expected any               `json:"expected,omitempty"`
	Findings []finding.Finding `json:"findings,omitempty"`
	Commands []string          `json:"commands,omitempty"`
}

// A PairReport is one cell of the matrix.
type PairReport struct {
	From     string  `json:"from"`
	To       string  `json:"to"`
	Pass     string  `json:"pass"`
	Gbps     float64 `json:"bandwidth_gbits_per_s,omitempty"`
	Expected float64 `json:"expected_gbits_per_s,omitempty"`
	Latency  float64 `json:"latency_us,omitempty"`
	Verdict  Verdict `json:"verdict"`
	Error    string  `json:"error,omitempty"`
	Source   string  `json:"source,omitempty"`
}

// A SuspectReport names the part, or the parts that cannot be told apart, which
// explain slow pairs.
type SuspectReport struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Alternatives are parts that the measurements cannot tell from it.
	Alternatives []string           `json:"alternatives,omitempty"`
	Share        float64            `json:"rate_share"` // of what goes through it: 0.75 is a loss of a quarter
	Score        float64            `json:"score"`
	Evidence     []finding.Evidence `json:"evidence"`
}

// JudgePairs judges bandwidth between pairs and finds what explains the slow
// ones. With absolute the network's rates are known; else pairs are held
// against what most of them give. planned is how many tests there should be; 0:
// not known.
func JudgePairs(c *cluster.Cluster, results []PairResult, absolute bool, planned int) (StepReport, []PairReport, []SuspectReport, error) {
	step := StepReport{Name: StepPairs, Verdict: Pass}
	usual := usualOf(results)
	var reports []PairReport
	var ms []Measurement
	failed, slow, done, latencies := 0, 0, 0, 0
	for i := range results {
		r := &results[i]
		if r.What == Latency || r.Latency > 0 && r.Rate == 0 && r.Error == "" {
			p := latencyReport(c, r)
			if p.Verdict == Fail {
				failed++
			}
			latencies++
			step.Verdict = worse(step.Verdict, p.Verdict)
			reports = append(reports, p)
			continue
		}
		done++
		p := PairReport{From: NICName(c, r.From), To: NICName(c, r.To), Pass: r.Pass, Gbps: r.Rate / 1e9, Error: r.Error, Source: r.Source, Verdict: Pass}
		want, err := expect.Between(c, r.From, r.To)
		if err != nil {
			return step, nil, nil, err
		}
		limits := want.Limits()
		p.Expected = want.Gbps
		if !absolute {
			p.Expected = usual / 1e9
			limits.Warn, limits.Fail = looseWarn*p.Expected, looseFail*p.Expected
		}
		switch {
		case r.Error != "" || r.Rate == 0:
			p.Verdict = Fail
			failed++
		case p.Gbps < limits.Fail:
			p.Verdict = Fail
			slow++
		case p.Gbps < limits.Warn:
			p.Verdict = Warn
		}
		// All at once, pairs share links: that pass shows what the fabric
		// bears, not which part is slow.
		if r.Pass == Together && p.Verdict == Fail && r.Error == "" {
			p.Verdict = Warn
			slow--
		}
		step.Verdict = worse(step.Verdict, p.Verdict)
		reports = append(reports, p)
		if r.Pass != Together {
			ms = append(ms, Measurement{From: r.From, To: r.To, Rate: r.Rate, Failed: r.Error != ""})
		}
	}
	parts, err := NewFootprints(c)
	if err != nil {
		return step, nil, nil, err
	}
	found, err := Locate(parts, ms)
	if err != nil {
		return step, nil, nil, err
	}
	var suspects []SuspectReport
	for i := range found {
		suspects = append(suspects, suspectReport(parts, &found[i], reports))
	}
	suspects = append(suspects, unreached(c, results)...)
	if len(suspects) > 0 {
		step.Verdict = worse(step.Verdict, Fail)
	}
	if done == 0 {
		step.Verdict = worse(step.Verdict, Incomplete)
	}
	if planned > 0 && done+latencies < planned {
		step.Verdict = worse(step.Verdict, Incomplete)
	}
	step.Summary = pairSummary(reports, done, latencies, planned, failed, slow, suspects)
	step.Measured, step.Expected = summaryOf(reports)
	return step, reports, suspects, nil
}

// latencyReport is a test of latency. What it gives is shown, and does not
// decide: it varies with the hosts' processors more than with the network.
func latencyReport(c *cluster.Cluster, r *PairResult) PairReport {
	p := PairReport{From: NICName(c, r.From), To: NICName(c, r.To), Pass: r.Pass, Latency: r.Latency, Verdict: Pass, Error: r.Error, Source: r.Source}
	if r.Error != "" || r.Latency == 0 {
		p.Verdict, p.Error = Fail, first(r.Error, "no latency in what it printed")
	}
	return p
}

// usualOf is the upper quartile of the rates measured alone.
func usualOf(results []PairResult) float64 {
	var rates []float64
	for i := range results {
		if results[i].Rate > 0 && results[i].Error == "" && results[i].Pass != Together {
			rates = append(rates, results[i].Rate)
		}
	}
	if len(rates) == 0 {
		return 0
	}
	sort.Float64s(rates)
	return rates[len(rates)*3/4]
}

func suspectReport(parts *Footprints, s *Suspect, reports []PairReport) SuspectReport {
	first := s.Parts[0]
	// What operators exchange first comes first: a cable, then a card.
	for _, k := range []Kind{Cable, NIC, Node, Switch} {
		if i := slices.IndexFunc(s.Parts, func(c Component) bool { return c.Kind == k }); i >= 0 {
			first = s.Parts[i]
			break
		}
	}
	if i := slices.IndexFunc(s.Parts, func(c Component) bool { return c.Kind == Node }); i >= 0 && len(s.Parts) == 1 {
		first = s.Parts[i]
	}
	r := SuspectReport{Kind: first.Kind.String(), Name: first.Name, Share: math.Round(s.Factor*1000) / 1000, Score: math.Round(s.Score*10) / 10}
	for _, o := range append(slices.Clone(s.Parts), s.Others...) {
		if o != first {
			r.Alternatives = append(r.Alternatives, o.Kind.String()+" "+o.Name)
		}
	}
	var through, rest []float64
	for i := range reports {
		p := &reports[i]
		if p.Gbps == 0 || p.Expected == 0 || p.Pass == Together {
			continue
		}
		if touches(first, p) {
			through = append(through, p.Gbps/p.Expected)
		} else {
			rest = append(rest, p.Gbps/p.Expected)
		}
	}
	if len(through) > 0 && len(rest) > 0 {
		r.Evidence = append(r.Evidence, finding.Evidence{Text: fmt.Sprintf("%d tests through it reach a median of %.0f %% of what is expected, the %d others %.0f %%", len(through), 100*median(through), len(rest), 100*median(rest))})
	}
	r.Evidence = append(r.Evidence, finding.Evidence{Text: fmt.Sprintf("a factor of %.2f for what goes through it explains the measurements better than chance (log-likelihood ratio %.0f, %d tests)", s.Factor, s.Score, s.Tests)})
	return r
}

// touches reports whether a pair's test certainly went through a part at a host.
func touches(part Component, p *PairReport) bool {
	name := part.Name
	if part.Kind == Cable {
		a, b, _ := strings.Cut(name, "~")
		return under(a, p.From) || under(a, p.To) || under(b, p.From) || under(b, p.To)
	}
	return part.Kind != Switch && (under(p.From, name) || under(p.To, name))
}

// under reports whether a port, NIC or node is or belongs to another.
func under(part, whole string) bool {
	return part == whole || strings.HasPrefix(part, whole+"/") || strings.HasPrefix(part, whole+".")
}

func median(x []float64) float64 {
	sort.Float64s(x)
	return x[len(x)/2]
}

// unreached names hosts whose every test failed.
func unreached(c *cluster.Cluster, results []PairResult) []SuspectReport {
	type tally struct{ failed, all int }
	by := make([]tally, len(c.Hosts))
	why := make([]string, len(c.Hosts))
	failures := 0
	for i := range results {
		r := &results[i]
		bad := r.Error != ""
		if bad {
			failures++
		}
		for _, h := range []int32{r.From.Host, r.To.Host} {
			by[h].all++
			if bad {
				by[h].failed++
				why[h] = r.Error
			}
		}
	}
	var out []SuspectReport
	if failures == 0 || failures == len(results) {
		return nil
	}
	for h := range by {
		if by[h].all > 1 && by[h].failed == by[h].all {
			out = append(out, SuspectReport{Kind: Node.String(), Name: c.Nodes[c.Hosts[h].Node].Name,
				Evidence: []finding.Evidence{{Text: fmt.Sprintf("all %d tests of the host failed: %s", by[h].all, why[h])}}})
		}
	}
	return out
}

func pairSummary(reports []PairReport, done, latencies, planned, failed, slow int, suspects []SuspectReport) string {
	s := fmt.Sprintf("%d bandwidth tests", done)
	if latencies > 0 {
		s += fmt.Sprintf(" and %d of latency", latencies)
	}
	if planned > 0 {
		s += fmt.Sprintf(" of %d", planned)
	}
	s += fmt.Sprintf(": %d failed, %d below the limit", failed, max(slow, 0))
	switch {
	case len(suspects) == 1:
		s += "; " + suspects[0].Kind + " " + suspects[0].Name + " explains the slow ones"
	case len(suspects) > 1:
		s += fmt.Sprintf("; %d suspects", len(suspects))
	case slow > 0:
		s += "; no single part explains the slow ones"
	}
	return s + "."
}

// summaryOf is what was measured and expected, in figures.
func summaryOf(reports []PairReport) (measured, expected map[string]float64) {
	var rates, latencies []float64
	expected = map[string]float64{}
	for i := range reports {
		if p := &reports[i]; p.Gbps > 0 && p.Pass != Together {
			rates = append(rates, p.Gbps)
			expected["bandwidth_gbits_per_s"] = max(expected["bandwidth_gbits_per_s"], p.Expected)
		} else if p.Latency > 0 {
			latencies = append(latencies, p.Latency)
		}
	}
	measured = map[string]float64{}
	if len(rates) > 0 {
		measured["bandwidth_median_gbits_per_s"] = median(rates)
		measured["bandwidth_min_gbits_per_s"] = rates[0]
	}
	if len(latencies) > 0 {
		measured["latency_median_us"] = median(latencies)
		measured["latency_max_us"] = latencies[len(latencies)-1]
	}
	return measured, expected
}
