package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"weir/internal/answer/expect"
	"weir/internal/collective"
)

// Expectation is what `weir expect` reports.
type Expectation struct {
	Cluster, Summary string
	Src, Dst         string // of the pair
	Sheet            *expect.Sheet
	Explain          bool
}

const expectSchema = "weir.expect/1"

type expectJSON struct {
	Schema       string                       `json:"schema"`
	Cluster      string                       `json:"cluster"`
	Nodes        int                          `json:"nodes"`
	GPUsPerHost  int                          `json:"gpus_per_host"`
	PointToPoint *pairJSON                    `json:"point_to_point,omitempty"`
	Collectives  map[string][]expectedRowJSON `json:"collectives"`
}

type pairJSON struct {
	Src       string     `json:"src"`
	Dst       string     `json:"dst"`
	Bandwidth float64    `json:"bandwidth_gbits_per_s"`
	WarnBelow float64    `json:"warn_below"`
	FailBelow float64    `json:"fail_below"`
	LatencyUS float64    `json:"latency_us"`
	Switches  int        `json:"switches"`
	LimitedBy string     `json:"limited_by"`
	Rates     []rateJSON `json:"rates"`
	Latency   []termJSON `json:"latency_terms"`
}

type rateJSON struct {
	Name string  `json:"name"`
	Gbps float64 `json:"gbits_per_s"`
	Text string  `json:"text"`
}

type termJSON struct {
	Name string  `json:"name"`
	US   float64 `json:"us"`
	Text string  `json:"text"`
}

type expectedRowJSON struct {
	SizeBytes  int64      `json:"size_bytes"`
	BusBW      float64    `json:"busbw_gbytes_per_s"`
	WarnBelow  float64    `json:"warn_below"`
	FailBelow  float64    `json:"fail_below"`
	IdealBusBW float64    `json:"ideal_busbw_gbytes_per_s"`
	TimeUS     float64    `json:"time_us"`
	Algorithm  string     `json:"algorithm"`
	Protocol   string     `json:"protocol"`
	LimitedBy  string     `json:"limited_by"`
	Latency    []termJSON `json:"latency_terms,omitempty"`
	Transfers  []termJSON `json:"transfer_terms,omitempty"`
	Limits     string     `json:"limits,omitempty"`
}

func termsJSON(terms []expect.Term) []termJSON {
	out := []termJSON{}
	for _, t := range terms {
		out = append(out, termJSON(t))
	}
	return out
}

// WriteExpectationJSON writes the expectation as JSON; the arithmetic of rows
// is there with Explain.
func WriteExpectationJSON(w io.Writer, x *Expectation) error {
	s := x.Sheet
	out := expectJSON{Schema: expectSchema, Cluster: x.Cluster, Nodes: s.Hosts, GPUsPerHost: s.GPUs, Collectives: map[string][]expectedRowJSON{}}
	if p := s.Pair; p != nil {
		l := p.Limits()
		j := &pairJSON{
			Src: x.Src, Dst: x.Dst, Bandwidth: p.Gbps, WarnBelow: l.Warn, FailBelow: l.Fail, LatencyUS: p.LatencyUS,
			Switches: p.Hops, LimitedBy: string(p.Limit), Rates: []rateJSON{}, Latency: termsJSON(p.Terms),
		}
		for _, r := range p.Rates {
			j.Rates = append(j.Rates, rateJSON(r))
		}
		out.PointToPoint = j
	}
	for op, rows := range s.Rows {
		for i := range rows {
			e := &rows[i]
			l := e.Limits()
			j := expectedRowJSON{
				SizeBytes: int64(e.Bytes), BusBW: e.BusBW, WarnBelow: l.Warn, FailBelow: l.Fail, IdealBusBW: e.IdealBusBW,
				TimeUS: e.TimeUS, Algorithm: e.Choice.Algorithm.String(), Protocol: e.Choice.Protocol.String(), LimitedBy: string(e.Limit),
			}
			if x.Explain {
				j.Latency, j.Transfers, j.Limits = termsJSON(e.Latency), termsJSON(e.Transfers), l.Text
			}
			out.Collectives[op.String()] = append(out.Collectives[op.String()], j)
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// WriteExpectation writes the expectation for people; with Explain, each
// figure is followed by its arithmetic.
func WriteExpectation(w io.Writer, x *Expectation) error {
	b := bufio.NewWriter(w)
	s := x.Sheet
	fmt.Fprintf(b, "# %s: %s\n", x.Cluster, x.Summary)
	if p := s.Pair; p != nil {
		l := p.Limits()
		fmt.Fprintf(b, "point to point, %s to %s over %d switches: %.1f Gb/s (warn below %.1f, fail below %.1f; limit: %s), one-way latency of a small message %.2f us\n",
			x.Src, x.Dst, p.Hops, p.Gbps, l.Warn, l.Fail, p.Limit, p.LatencyUS)
		if x.Explain {
			for _, r := range p.Rates {
				fmt.Fprintf(b, "    %-22s %9.2f Gb/s  %s\n", r.Name, r.Gbps, r.Text)
			}
			explainTerms(b, p.Terms)
			fmt.Fprintf(b, "    limits: %s\n", l.Text)
		}
	}
	for _, op := range expect.Ops() {
		if rows := s.Rows[op]; len(rows) > 0 {
			writeExpected(b, op, rows, s, x.Explain)
		}
	}
	return b.Flush()
}

func writeExpected(b *bufio.Writer, op collective.Op, rows []expect.Collective, s *expect.Sheet, explain bool) {
	fmt.Fprintf(b, "\n# %s on %d hosts of %d GPUs; bus bandwidth in GB/s\n", op, s.Hosts, s.GPUs)
	fmt.Fprintln(b, "#    size (B)    time (us)    busbw  warn below  fail below    ideal  limit    how")
	for i := range rows {
		e := &rows[i]
		l := e.Limits()
		fmt.Fprintf(b, "%13d %12.1f %8.2f %11.2f %11.2f %8.2f  %-8s %s/%s\n", e.Bytes, e.TimeUS, e.BusBW, l.Warn, l.Fail, e.IdealBusBW, e.Limit, e.Choice.Algorithm, e.Choice.Protocol)
		if !explain {
			continue
		}
		explainTerms(b, e.Latency)
		for _, t := range e.Transfers {
			fmt.Fprintf(b, "    %-22s %9.2f us  %s; the longest transfer counts\n", t.Name, t.US, t.Text)
		}
		fmt.Fprintf(b, "    %v / %.1f us x %.4g = %.2f GB/s; limits: %s\n", e.Bytes, e.TimeUS, expect.BusFactor(e.Op, e.Ranks), e.BusBW, l.Text)
	}
}

func explainTerms(b *bufio.Writer, terms []expect.Term) {
	for _, t := range terms {
		fmt.Fprintf(b, "    %-22s %9.2f us  %s\n", t.Name, t.US, t.Text)
	}
}
