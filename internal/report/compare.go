package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"weir/internal/twin"
	"weir/units"
)

// Comparison is what `weir compare` reports.
type Comparison struct {
	Cluster  string
	Seed     uint64
	Axes     []string // paths that vary
	Variants []Variant
}

// Variant is one run of a comparison.
type Variant struct {
	Values     []string // by axis
	Transport  string
	Design     Design
	Simulation *Simulation // nil: Err says why
	Err        string
	Queue      []twin.Depth // deepest queue over time, if it was watched
}

// Label names a variant by what varies: "fabric.spines=4 transport=tcp".
func (c *Comparison) Label(v *Variant) string {
	var parts []string
	for i, path := range c.Axes {
		parts = append(parts, path+"="+v.Values[i])
	}
	return strings.Join(parts, " ")
}

// compareRow is one size, step or set of flows of a variant. Nil: does not apply.
type compareRow struct {
	Label              string            `json:"label"`
	Values             map[string]string `json:"values"`
	Transport          string            `json:"transport"`
	Job                string            `json:"job,omitempty"`
	Op                 string            `json:"op,omitempty"`
	How                string            `json:"how,omitempty"`
	Fidelity           string            `json:"fidelity,omitempty"`
	SizeBytes          *int64            `json:"size_bytes,omitempty"`
	CollectiveTimeS    *float64          `json:"collective_time_s,omitempty"`
	BusBW              *float64          `json:"busbw_gbytes_per_s,omitempty"`
	BandwidthShare     *float64          `json:"bandwidth_share,omitempty"`
	ExpectedBusBW      *float64          `json:"expected_busbw_gbytes_per_s,omitempty"`
	StepTimeS          *float64          `json:"step_time_s,omitempty"`
	ComputeS           *float64          `json:"compute_s,omitempty"`
	ExposedS           *float64          `json:"exposed_communication_s,omitempty"`
	ComputeInflation   *float64          `json:"compute_inflation,omitempty"`
	EpochTimeS         *float64          `json:"epoch_time_s,omitempty"`
	CommunicationShare *float64          `json:"communication_share,omitempty"`
	GPUUtilisation     *float64          `json:"gpu_utilisation,omitempty"`
	CPUShare           *float64          `json:"cpu_share,omitempty"`
	FlowTimeS          *float64          `json:"flow_time_s,omitempty"`
	GoodputGbps        *float64          `json:"goodput_gbits_per_s,omitempty"`
	MessageLatencyUS   *float64          `json:"message_latency_us,omitempty"`
	LimitedBy          string            `json:"limited_by,omitempty"`
	Error              string            `json:"error,omitempty"`
}

type compareJSON struct {
	Schema  string       `json:"schema"`
	Cluster string       `json:"cluster"`
	Seed    uint64       `json:"seed"`
	Vary    []string     `json:"vary"`
	Rows    []compareRow `json:"rows"`
	Designs []designJSON `json:"designs,omitempty"`
}

func some[T any](v T) *T { return &v }

func positive(v float64) *float64 {
	if v > 0 {
		return &v
	}
	return nil
}

// rows lays out a comparison: for each variant its sizes, or its step, or its
// flows as a whole.
func (c *Comparison) rows() []compareRow {
	rows := []compareRow{}
	for i := range c.Variants {
		v := &c.Variants[i]
		base := compareRow{Label: c.Label(v), Values: map[string]string{}, Transport: v.Transport}
		for k, path := range c.Axes {
			base.Values[path] = v.Values[k]
		}
		if v.Simulation == nil {
			base.Error = v.Err
			rows = append(rows, base)
			continue
		}
		r := v.Simulation.Result
		base.LimitedBy = v.Simulation.Verdict.LimitedBy
		if r.Messages.Count > 0 {
			base.MessageLatencyUS = some(r.Messages.P50.Microseconds())
		}
		for k := range v.Simulation.Rows {
			rows = append(rows, base.collective(&v.Simulation.Rows[k], v.Design.PayloadShare))
		}
		for k := range r.Steps {
			rows = append(rows, base.step(&r.Steps[k]))
		}
		if len(r.Flows) > 0 {
			rows = append(rows, base.flows(r))
		}
	}
	return rows
}

// collective fills in a size. The share is of line rate: what the NICs, or
// what else is the limit, would carry without headers.
func (b compareRow) collective(r *Row, payload float64) compareRow {
	b.Job, b.Op, b.Fidelity = r.Job, r.Op.String(), r.Fidelity
	b.How = fmt.Sprintf("%s/%s x%d", r.Algorithm, r.Protocol, r.Channels)
	b.SizeBytes = some(int64(r.Bytes))
	if r.Time <= 0 {
		return b
	}
	b.CollectiveTimeS, b.BusBW = some(r.Time.Seconds()), some(r.BusBW)
	b.ExpectedBusBW = positive(r.ExpectedBusBW)
	if r.IdealBusBW > 0 {
		b.BandwidthShare = some(r.BusBW / r.IdealBusBW * payload)
	}
	b.CPUShare = positive(r.CPUShare)
	return b
}

func (b compareRow) step(s *twin.Step) compareRow {
	b.Job, b.Fidelity = s.Job, s.Fidelity
	b.StepTimeS, b.ComputeS, b.ExposedS = some(s.Time.Seconds()), some(s.Compute.Seconds()), some(s.ExposedCommunication.Seconds())
	b.CommunicationShare, b.GPUUtilisation = some(s.CommunicationShare), some(s.GPUUtilisation)
	b.EpochTimeS, b.CPUShare = positive(s.Epoch.Seconds()), positive(s.CPUShare)
	if s.Inflation > 0 && s.Inflation != 1 {
		b.ComputeInflation = some(s.Inflation)
	}
	// The largest part that crosses the fabric tells time and bus bandwidth.
	var most *twin.StepPart
	for i := range s.Parts {
		if p := &s.Parts[i]; !p.Transfer && p.Time > 0 && p.How != "NVLink" && (most == nil || units.Time(p.Count)*p.Time > units.Time(most.Count)*most.Time) {
			most = p
		}
	}
	if most != nil {
		b.Op, b.How = most.Op.String(), most.How
		b.SizeBytes = some(int64(most.Bytes))
		b.CollectiveTimeS, b.BusBW = some(most.Time.Seconds()), positive(partBusBW(most))
	}
	return b
}

func (b compareRow) flows(r *twin.Result) compareRow {
	sum := summarise(r)
	b.Op = fmt.Sprintf("%d flows", len(r.Flows))
	if sum.finished > 0 {
		b.FlowTimeS, b.GoodputGbps = some(sum.max*1e-6), some(sum.goodput)
	}
	b.BandwidthShare = some(r.Network.BusiestEgress.Share)
	b.Fidelity = "packet"
	if r.Network.Totals.DataPackets == 0 {
		b.Fidelity = "flow"
	}
	return b
}

// WriteComparisonJSON writes rows, and the ranking where designs differ.
func WriteComparisonJSON(w io.Writer, c *Comparison) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(compareJSON{"weir.compare/1", c.Cluster, c.Seed, c.Axes, c.rows(), c.designs()})
}

// column is one of the table's; it is left out where no row has it.
type column struct {
	head string
	cell func(*compareRow) string
}

func figureCell(format string, scale float64, get func(*compareRow) *float64) func(*compareRow) string {
	return func(r *compareRow) string {
		if v := get(r); v != nil {
			return fmt.Sprintf(format, *v*scale)
		}
		return ""
	}
}

var compareColumns = []column{
	{"what", func(r *compareRow) string { return r.Op }},
	{"size (B)", func(r *compareRow) string {
		if r.SizeBytes == nil {
			return ""
		}
		return fmt.Sprint(*r.SizeBytes)
	}},
	{"time (us)", figureCell("%.1f", 1e6, func(r *compareRow) *float64 { return r.CollectiveTimeS })},
	{"busbw (GB/s)", figureCell("%.2f", 1, func(r *compareRow) *float64 { return r.BusBW })},
	{"of line", figureCell("%.1f %%", 100, func(r *compareRow) *float64 { return r.BandwidthShare })},
	{"last flow (us)", figureCell("%.1f", 1e6, func(r *compareRow) *float64 { return r.FlowTimeS })},
	{"goodput (Gb/s)", figureCell("%.2f", 1, func(r *compareRow) *float64 { return r.GoodputGbps })},
	{"step (ms)", figureCell("%.2f", 1e3, func(r *compareRow) *float64 { return r.StepTimeS })},
	{"epoch (min)", figureCell("%.1f", 1./60, func(r *compareRow) *float64 { return r.EpochTimeS })},
	{"comm.", figureCell("%.1f %%", 100, func(r *compareRow) *float64 { return r.CommunicationShare })},
	{"GPU", figureCell("%.1f %%", 100, func(r *compareRow) *float64 { return r.GPUUtilisation })},
	{"inflation", figureCell("%.3f", 1, func(r *compareRow) *float64 { return r.ComputeInflation })},
	{"CPU", figureCell("%.1f %%", 100, func(r *compareRow) *float64 { return r.CPUShare })},
	{"message (us)", figureCell("%.2f", 1, func(r *compareRow) *float64 { return r.MessageLatencyUS })},
	{"limit", func(r *compareRow) string { return r.LimitedBy }},
	{"how", func(r *compareRow) string { return r.How }},
	{"model", func(r *compareRow) string { return r.Fidelity }},
	{"error", func(r *compareRow) string { return r.Error }},
}

// table returns the cells of all rows under their heads: the axes first, then
// the columns that any row fills.
func (c *Comparison) table(rows []compareRow) [][]string {
	out := [][]string{slices.Clone(c.Axes)}
	for i := range rows {
		cells := []string{}
		for _, path := range c.Axes {
			cells = append(cells, rows[i].Values[path])
		}
		out = append(out, cells)
	}
	for _, col := range compareColumns {
		cells := make([]string, len(rows))
		any := false
		for i := range rows {
			cells[i] = col.cell(&rows[i])
			any = any || cells[i] != ""
		}
		if !any {
			continue
		}
		out[0] = append(out[0], col.head)
		for i := range cells {
			out[i+1] = append(out[i+1], cells[i])
		}
	}
	return out
}

// WriteComparison writes the table for people.
func WriteComparison(w io.Writer, c *Comparison) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s, seed %d: %d variants\n", c.Cluster, c.Seed, len(c.Variants))
	writeTable(b, c.table(c.rows()))
	if d := c.designs(); len(d) > 0 {
		fmt.Fprintf(b, "\n# designs, %s\n", rankedBy(d))
		writeTable(b, designTable(d))
	}
	return b.Flush()
}

// writeTable aligns columns: all but the last to the right where they are numbers.
func writeTable(b *bufio.Writer, table [][]string) {
	width := make([]int, len(table[0]))
	for _, row := range table {
		for k, cell := range row {
			width[k] = max(width[k], len(cell))
		}
	}
	for _, row := range table {
		var line strings.Builder
		for k, cell := range row {
			if k > 0 {
				line.WriteString("  ")
			}
			fmt.Fprintf(&line, "%*s", width[k], cell)
		}
		fmt.Fprintln(b, strings.TrimRight(line.String(), " "))
	}
}
