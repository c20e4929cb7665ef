package expect

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/collective/nccl"
	"weir/internal/twin"
	"weir/internal/twin/plan"
	"weir/units"
)

const document = "../../../docs/expectations.md"

// published is one measured figure with the cluster that it was measured on.
type published struct {
	row, setup string
	figure     string
	low, high  float64 // GB/s
	got        float64
	missed     bool // known to lie outside
	source     string
	plan       func() *plan.Plan
	bytes      units.Bytes
	algorithm  collective.Algorithm
}

func figures(t testing.TB) []published {
	h100 := func(nodes int, job string) func() *plan.Plan {
		return func() *plan.Plan { return hopper(t, nodes, job) }
	}
	a100 := func(nodes int, speed string) func() *plan.Plan {
		return func() *plan.Plan { return ampere(t, nodes, speed, "collective: all_reduce") }
	}
	const reduce = "collective: all_reduce"
	within := func(v, tolerance float64) (float64, float64, string) {
		return v * (1 - tolerance), v * (1 + tolerance), fmt.Sprintf("%.1f ±%.0f %%", v, 100*tolerance)
	}
	var out []published
	add := func(row, setup, source string, low, high float64, figure string, p func() *plan.Plan, bytes units.Bytes, a collective.Algorithm) *published {
		out = append(out, published{row: row, setup: setup, source: source, low: low, high: high, figure: figure, plan: p, bytes: bytes, algorithm: a})
		return &out[len(out)-1]
	}
	for _, nodes := range []int{2, 4, 8} {
		shares := map[int][6]float64{2: {.32, .50, .85, .92, .95, .96}, 4: {.24, .53, .77, .93, .95, .96}, 8: {.13, .39, .69, .90, .95, .96}}[nodes]
		for i, share := range shares {
			size := 16 * units.MiB << (2 * i)
			low, high, text := within(400*share, 0.35)
			add("V45", fmt.Sprintf("%d x 8 H100, 8 x 400G, all_gather by ring, %v", nodes, size), "SimAI inputs/ratio", low, high, text, h100(nodes, "collective: all_gather"), size, collective.Ring)
		}
	}
	low, high, text := within(185.6, 0.05)
	add("V47", "2 x 8 A100, 8 x 200G, all_reduce, 1 GiB", "oci-hpc health check", low, high, text, a100(2, "200Gbps"), units.GiB, collective.Auto)
	add("V48", "4 x 8 H100, 8 x 400G, all_reduce by ring, 4 GiB", "nccl-tests 290", 368*.95, 384*1.05, "368 to 384 ±5 %", h100(4, reduce), 4*units.GiB, collective.Ring)
	low, high, text = within(350, 0.05)
	add("V48", "8 x 8 H100, 8 x 400G, all_reduce by ring, 1 GiB", "uccl 205", low, high, text, h100(8, reduce), units.GiB, collective.Ring)
	low, high, text = within(449, 0.10)
	add("V49", "2 x 8 H100, 8 x 400G, all_reduce, 1 GiB", "oci-hpc", low, high, text, h100(2, reduce), units.GiB, collective.Auto)
	add("V50", "2 x 8 A100, 8 x 100G, all_reduce by ring, 4 GiB", "nccl 495", 75, 96, "75 to 96", a100(2, "100Gbps"), 4*units.GiB, collective.Ring)
	for mib, v := range [...]float64{1: 22.5, 2: 27.4, 3: 36.8, 4: 40.0, 5: 41.5} {
		if v == 0 {
			continue
		}
		size := units.MiB << mib
		low, high, text := within(v, 0.15)
		p := add("V53", fmt.Sprintf("2 x 1 H100, 400G, all_reduce, %v", size), "nccl-tests 232", low, high, text, h100(2, reduce+", gpus_per_host: 1"), size, collective.Auto)
		p.missed = mib == 2
	}
	add("V53", "2 x 1 H100, 400G, all_reduce, 8 GiB", "nccl-tests 232", 50*.85, 50, "50 -15 %", h100(2, reduce+", gpus_per_host: 1"), 8*units.GiB, collective.Auto)
	for i := range out {
		r := &out[i]
		p := r.plan()
		e := of(t, p, r.bytes)
		if r.algorithm != collective.Auto {
			e = With(p, nccl.Choice{Algorithm: r.algorithm}, r.bytes)
		}
		r.got = e.BusBW
	}
	return out
}

// Validation rows V45, V47 to V50 and V53, each within its own tolerance but
// for the one that is known to be missed; the table of docs/expectations.md
// shows them.
func TestPublishedFigures(t *testing.T) {
	rows := figures(t)
	var b strings.Builder
	b.WriteString(documentHead)
	b.WriteString("| target | cluster and test | published (GB/s) | expected by weir (GB/s) | verdict | source |\n|---|---|---|---|---|---|\n")
	for _, r := range rows {
		met := r.got >= r.low && r.got <= r.high
		if met == r.missed {
			t.Errorf("%s, %s: %.1f GB/s, published %s: met %v, known to be missed %v", r.row, r.setup, r.got, r.figure, met, r.missed)
		}
		verdict := "met"
		if !met {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %.1f | %s | %s |\n", r.row, r.setup, r.figure, r.got, verdict, r.source)
	}
	b.WriteString(documentTail)
	if os.Getenv("WEIR_UPDATE") != "" {
		if err := os.WriteFile(document, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(document); err != nil || !bytes.Equal(got, []byte(b.String())) {
		t.Errorf("docs/expectations.md is not what WEIR_UPDATE=1 go test ./internal/answer/expect writes (%v)", err)
	}
}

// Broadcast against the packet model, whose slices wait at each boundary of
// nodes: figures of `weir simulate examples/two-nodes.yaml --collective
// broadcast --set host.count=N`, within 20 %.
func TestBroadcast(t *testing.T) {
	for nodes, want := range map[int]map[units.Bytes]float64{
		2: {units.MiB: 13.51, 4 * units.MiB: 21.21, 16 * units.MiB: 37.05, 64 * units.MiB: 66.26, 256 * units.MiB: 79.34},
		4: {units.MiB: 8.17, 4 * units.MiB: 11.82, 16 * units.MiB: 22.44, 64 * units.MiB: 51.16, 256 * units.MiB: 76.65},
	} {
		p := load(t, fmt.Sprintf(`
host: {count: %d, gpus: 8, gpu: a100, nic: {count: 8, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-2}
job: {collective: broadcast, begin: 4M, end: 4M}
`, nodes))
		for size, v := range want {
			near(t, fmt.Sprintf("%d nodes, %v", nodes, size), of(t, p, size).BusBW, v, 0.20)
		}
		// One of them run, so that the literals cannot grow old unnoticed.
		r, err := twin.Run(t.Context(), p.Cluster, twin.Options{})
		if err != nil {
			t.Fatal(err)
		}
		row := &r.Collectives[0]
		near(t, "simulated", float64(row.Bytes)/row.Time.Seconds()/1e9, want[4*units.MiB], 0.03)
	}
}

// Limits by hand: 100 us of latency and 900 us of transfer.
func TestLimits(t *testing.T) {
	e := Collective{TimeUS: 1000, TransferShare: 0.9, BusBW: 100}
	l := e.Limits()
	near(t, "warn", l.Warn, 100*1000/(150+900/0.95), 1e-12)
	near(t, "fail", l.Fail, 100*1000/(200+900/0.80), 1e-12)
}

// A subset of hosts is what the acceptance of a part of a cluster asks for.
func TestOn(t *testing.T) {
	p := hopper(t, 8, "collective: all_reduce")
	part, err := On(p.Cluster, collective.AllReduce, 4*units.GiB, []int32{5, 2}, 0)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "two of eight hosts (V49)", part.BusBW, 449, 0.10)
	if part.Ranks != 16 {
		t.Errorf("%d ranks, want 16", part.Ranks)
	}
	if _, err := Tests(p.Cluster, 9, 0, []units.Bytes{units.MiB}); err == nil {
		t.Error("nine of eight hosts were taken")
	}
	s, err := Tests(p.Cluster, 0, 0, []units.Bytes{units.MiB})
	if err != nil || s.Pair == nil || s.Dst == (cluster.NICRef{}) || len(s.Rows) != 5 {
		t.Errorf("%+v, %v", s, err)
	}
}

const documentHead = `# What a cluster should show

` + "`weir expect CLUSTER.yaml`" + ` computes from the description of a cluster what its tests should show: bandwidth and
latency between two cards (as ` + "`ib_write_bw`" + ` and ` + "`ib_write_lat`" + ` print them; the latter's figure is half a round trip), and
the bus bandwidth of each collective over size, as nccl-tests prints it. Nothing is simulated.

    weir expect examples/pod-64x8.yaml
    weir expect examples/two-nodes.yaml -b 1G -e 1G --explain
    weir expect examples/pod-64x8.yaml --nodes 4 --json

How a figure comes about (` + "`--explain`" + ` shows it for each):

- Point to point: the slowest link times the payload's share of its frames at the path MTU, or what the PCIe slot of
  either card carries, whichever is less. Latency: both cards, cables, switches, and the shortest frame once a cable.
- Collectives: the algorithm and protocol that NCCL's own cost model picks for the size and the number of nodes; launch
  and steps with NCCL's latencies, with what this fabric's path takes beyond the 2 us that they contain; and the time
  of the data on the busiest of NIC, PCIe slot, NVLink and NCCL's own figure for the algorithm.
- Broadcast: every boundary between nodes costs the copy and the transfer of one slice before the pipe is full.
- Limits: a measurement is worth a warning where latency takes 1.5 times as long as expected and the transfer runs at
  less than 95 %; it has failed at twice the latency and 80 %. Point to point: 95 % and 80 %.

## Published measurements

Generated by ` + "`WEIR_UPDATE=1 go test ./internal/answer/expect`" + `. Tolerances are those of the targets; V45 allows 35 % for a
single value and 15 % for the median (tested as well).

`

const documentTail = `
The missed value: at 4 MiB on two nodes of one GPU each, the measured curve has a step that the model's change from LL128
to Simple does not have; the sizes around it agree. The reporter's NCCL ran trees there, the model picks rings.

## What it does not know

- A fabric that is oversubscribed, or whose hash puts flows on one link: ` + "`weir simulate`" + ` shows that.
- The processor's share of kernel TCP: for ` + "`transport: tcp`" + ` the figures are what the wire carries, and a host may
  reach half of it.
- On more than a few dozen nodes, latencies of rings add up one by one; NCCL's model does the same.
`
