package expect

import (
	"testing"

	"weir/internal/cluster"
	"weir/internal/twin/plan"
	"weir/units"
)

// Without the library's overhead a step between two nodes takes two cards of
// 0.4 us, a switch, the cables, and 0.1 us at each end.
func TestNoOverhead(t *testing.T) {
	f, err := cluster.Parse("t.yaml", []byte(`
host: {count: 2, gpus: 1, gpu: a100, nic: {count: 1, model: connectx-6-dx, speed: 200Gbps, latency: 400ns}}
fabric: {topology: single-switch}
switch: {model: spectrum-4}
nccl: {overhead: none}
job: {collective: all_reduce, algorithm: hierarchical, size: 1M}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(f.Cluster, &f.Cluster.Jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	e, err := Of(p, units.MiB)
	if err != nil {
		t.Fatal(err)
	}
	var steps float64
	for _, term := range e.Latency {
		if term.Name == "steps between nodes" {
			steps = term.US
		}
	}
	// 2 x (0.4 + 0.4 + 0.6 + 2 x 0.025 + 2 x 0.1), and the bits of a small message.
	near(t, "steps", steps, 2*1.65, 0.005)
}
