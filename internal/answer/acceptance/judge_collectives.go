package acceptance

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/answer/expect"
	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/units"
)

// A CollectiveReport is one size of one run of a collective.
type CollectiveReport struct {
	Op       string   `json:"op"`
	Bytes    uint64   `json:"size_bytes,omitempty"`
	Nodes    int      `json:"nodes,omitempty"`
	Ranks    int      `json:"ranks,omitempty"`
	Hosts    []string `json:"hosts,omitempty"`
	Pass     string   `json:"pass,omitempty"` // "count", "half-1", "half-2"; "" where the result does not tell
	BusBW    float64  `json:"busbw_gbytes_per_s"`
	Expected float64  `json:"expected_gbytes_per_s,omitempty"`
	Warn     float64  `json:"warn_below_gbytes_per_s,omitempty"`
	Fail     float64  `json:"fail_below_gbytes_per_s,omitempty"`
	Wrong    uint64   `json:"wrong_values,omitempty"`
	Verdict  Verdict  `json:"verdict"`
	Error    string   `json:"error,omitempty"`
	Source   string   `json:"source,omitempty"`
}

// printed is half of the last digit of a bus bandwidth that nccl-tests prints,
// in GB/s.
const printed = 0.005

// JudgeCollectives holds runs of nccl-tests against what the cluster should
// give on as many nodes, size by size, and names the count of nodes at which the
// bus bandwidth falls and the half that is slower. planned is how many runs
// there should be; 0: not known.
func JudgeCollectives(c *cluster.Cluster, results []CollectiveResult, planned int) (StepReport, []CollectiveReport) {
	step := StepReport{Name: StepCollectives, Verdict: Pass}
	var rows []CollectiveReport
	runs := map[string]bool{}
	for i := range results {
		r := judgeCollective(c, &results[i])
		runs[runKey(&r)] = true
		step.Verdict = worse(step.Verdict, r.Verdict)
		rows = append(rows, r)
	}
	slices.SortStableFunc(rows, func(a, b CollectiveReport) int {
		if a.Op != b.Op {
			return strings.Compare(a.Op, b.Op)
		}
		if a.Nodes != b.Nodes {
			return a.Nodes - b.Nodes
		}
		return strings.Compare(a.Pass+a.Source, b.Pass+b.Source)
	})
	switch {
	case len(rows) == 0:
		step.Verdict = Incomplete
	case len(runs) < planned:
		step.Verdict = worse(step.Verdict, Incomplete)
	}
	step.Summary = collectiveSummary(rows, len(runs), planned)
	measured, expected := map[string]float64{}, map[string]float64{}
	for _, s := range largest(rows) {
		key := fmt.Sprintf("%s_%d_nodes_busbw_gbytes_per_s", s.Op, s.Nodes)
		if s.Pass == "half-1" || s.Pass == "half-2" {
			key = fmt.Sprintf("%s_%s_busbw_gbytes_per_s", s.Op, strings.ReplaceAll(s.Pass, "-", "_"))
		}
		measured[key], expected[key] = s.BusBW, s.Expected
	}
	step.Measured, step.Expected = measured, expected
	return step, rows
}

func runKey(r *CollectiveReport) string {
	return fmt.Sprintf("%s %d %s %s", r.Op, r.Nodes, r.Pass, r.Source)
}

func judgeCollective(c *cluster.Cluster, in *CollectiveResult) CollectiveReport {
	r := CollectiveReport{Op: in.Op, Bytes: in.Bytes, Nodes: in.Nodes, Ranks: in.Ranks, Hosts: in.Hosts, Pass: in.Pass,
		BusBW: in.BusBW / 1e9, Wrong: in.Wrong, Error: in.Error, Source: in.Source, Verdict: Pass}
	switch {
	case r.Error != "":
		r.Verdict = Fail
		return r
	case r.Wrong > 0:
		r.Verdict, r.Error = Fail, fmt.Sprintf("%d wrong values", r.Wrong)
	}
	op, ok := opNamed(r.Op)
	if !ok {
		r.Verdict, r.Error = worse(r.Verdict, Incomplete), first(r.Error, "nothing is expected of the collective "+fmt.Sprintf("%q", r.Op))
		return r
	}
	hosts, gpus, err := placed(c, in)
	if err == nil {
		r.Nodes = len(hosts)
		var e expect.Collective
		if e, err = expect.On(c, op, units.Bytes(r.Bytes), hosts, gpus); err == nil {
			l := e.Limits()
			r.Expected, r.Warn, r.Fail, r.Ranks = e.BusBW, l.Warn, l.Fail, e.Ranks
		}
	}
	switch {
	case err != nil:
		r.Verdict, r.Error = worse(r.Verdict, Incomplete), first(r.Error, "not judged: "+err.Error())
	case r.BusBW+printed < r.Fail:
		r.Verdict = Fail
	case r.BusBW+printed < r.Warn:
		r.Verdict = worse(r.Verdict, Warn)
	}
	return r
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func opNamed(name string) (collective.Op, bool) {
	for _, op := range expect.Ops() {
		if op.String() == name {
			return op, true
		}
	}
	return 0, false
}

// placed finds the hosts of a run: those that it names, else the first of as
// many nodes, else of as many as its ranks fill.
func placed(c *cluster.Cluster, r *CollectiveResult) (hosts []int32, gpus int, err error) {
	for _, name := range r.Hosts {
		id, ok := c.FindNode(name)
		if !ok || c.Nodes[id].Host < 0 {
			hosts = nil
			break
		}
		hosts = append(hosts, c.Nodes[id].Host)
	}
	var with []int32
	for h := range c.Hosts {
		if c.Hosts[h].GPUs > 0 {
			with = append(with, int32(h))
		}
	}
	if len(with) == 0 {
		return nil, 0, fmt.Errorf("the cluster file gives no GPUs")
	}
	nodes := r.Nodes
	if nodes == 0 && r.Ranks > 0 {
		each := c.Hosts[with[0]].GPUs
		nodes = (r.Ranks + each - 1) / each
	}
	if nodes > 0 && len(hosts) != nodes { // names that the plan does not have, or a cut list
		hosts = nil
	}
	switch {
	case nodes == 0:
		return nil, 0, fmt.Errorf("the output names neither hosts nor ranks")
	case len(hosts) > 0:
	case nodes > len(with):
		return nil, 0, fmt.Errorf("%d nodes, the cluster has %d with GPUs", nodes, len(with))
	default:
		hosts = with[:nodes]
	}
	if r.Ranks > 0 && r.Ranks%nodes == 0 {
		gpus = r.Ranks / nodes
	}
	return hosts, gpus, nil
}

// largest returns the row of the largest size of each run that has one.
func largest(rows []CollectiveReport) []CollectiveReport {
	best := map[string]int{}
	var order []string
	for i := range rows {
		if rows[i].Bytes == 0 {
			continue
		}
		k := runKey(&rows[i])
		at, ok := best[k]
		if !ok {
			order = append(order, k)
		}
		if !ok || rows[i].Bytes > rows[at].Bytes {
			best[k] = i
		}
	}
	var out []CollectiveReport
	for _, k := range order {
		out = append(out, rows[best[k]])
	}
	return out
}

func collectiveSummary(rows []CollectiveReport, runs, planned int) string {
	s := fmt.Sprintf("%d runs", runs)
	if planned > 0 {
		s += fmt.Sprintf(" of %d", planned)
	}
	bad := 0
	for i := range rows {
		if rows[i].Verdict == Fail {
			bad++
		}
	}
	s += fmt.Sprintf(", %d sizes: %d failed or below the limit", len(rows), bad)
	for _, text := range falls(rows) {
		s += "; " + text
	}
	return s + "."
}

// falls says for each collective at which count of nodes it falls, judged at
// the largest size, and which half is slower.
func falls(rows []CollectiveReport) []string {
	byOp := map[string][]CollectiveReport{}
	var ops []string
	for _, r := range largest(rows) {
		if byOp[r.Op] == nil {
			ops = append(ops, r.Op)
		}
		byOp[r.Op] = append(byOp[r.Op], r)
	}
	var out []string
	for _, op := range ops {
		held, fell := 0, (*CollectiveReport)(nil)
		var halves [2]*CollectiveReport
		for i := range byOp[op] { // by growing count
			r := &byOp[op][i]
			if r.Pass == "half-1" || r.Pass == "half-2" {
				halves[r.Pass[5]-'1'] = r
				continue
			}
			switch {
			case r.Verdict == Fail && fell == nil:
				fell = r
			case r.Verdict != Fail && r.Expected > 0 && fell == nil:
				held = r.Nodes
			}
		}
		if fell != nil {
			text := fmt.Sprintf("%s falls at %d nodes", op, fell.Nodes)
			if fell.Expected > 0 {
				text += fmt.Sprintf(" (%.4g of %.4g GB/s at %s)", fell.BusBW, fell.Expected, units.Bytes(fell.Bytes))
			}
			if held > 0 {
				text += fmt.Sprintf(", it holds at %d", held)
			}
			out = append(out, text)
		}
		if a, b := halves[0], halves[1]; a != nil && b != nil && (a.Verdict == Fail) != (b.Verdict == Fail) {
			slow := a
			if b.Verdict == Fail {
				slow = b
			}
			text := fmt.Sprintf("of the halves %s is the slow one (%.4g of %.4g GB/s)", slow.Pass, slow.BusBW, slow.Expected)
			if n := len(slow.Hosts); n > 0 {
				text += fmt.Sprintf(": %s to %s", slow.Hosts[0], slow.Hosts[n-1])
			}
			out = append(out, op+": "+text)
		}
	}
	return out
}
