package validation

import (
	"context"

	"weir/internal/cluster"
	"weir/internal/twin"
)

// fluidTargets hold the fluid model against packets. The all_to_all row's
// target is 15 %; the test keeps it within 20 %, so the row stands as missed.
func fluidTargets() []Target {
	const pkg = "internal/twin"
	agree := byTest(
		testRow{"same bytes on every port: ring, tree, all_to_all, two queue pairs, other seeds and hash fields, flows, fixed source port", "those of the packets", "control packets aside", pkg, "TestSameLinks"},
		testRow{"rings, broadcast, all_to_all on one switch, 4 to 32 MiB", "time by packets", "±5 %", pkg, "TestUncongested"},
		testRow{"ring with hash collisions, two seeds", "time by packets", "±15 %; all_to_all ±20 %", pkg, "TestCollisions"},
		testRow{"one step on 16,384 GPUs", "changes with the hash seed and with a dead uplink", "", pkg, "TestLargeStep"},
		testRow{"rates", "max-min fair by definition", "1e-6", "internal/twin/flow", "TestMaxMinProperty"},
	)
	return []Target{{
		ID: "FLUID", Title: "Flows against packets", Source: "the packet simulator of this repository; docs/fidelity.md says where flows are not to be trusted: incast, marking transients, trees at middle sizes",
		Run: func(ctx context.Context) ([]Row, error) {
			rows, err := agree(ctx)
			if err != nil {
				return nil, err
			}
			off, err := allToAllOff(ctx)
			if err != nil {
				return nil, err
			}
			return append(rows, Near("all_to_all with hash collisions, 16 x 4 GPUs, 16 MiB, seed 2: time by flows over packets", 1, 1+off, 0.15, "").because("DCQCN does not hold a shared link full, and flows do")), nil
		},
	}}
}

// allToAllOff returns by how much the fluid model misses an all_to_all.
func allToAllOff(ctx context.Context) (float64, error) {
	f, err := cluster.Parse("all-to-all", []byte(`
host: {count: 16, gpus: 4, gpu: a100, nic: {count: 4, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 4, spines: 4, uplink: {count: 4, speed: 100Gbps}}
switch: {model: spectrum-3}
qos: {ecn: {min: 400KB, max: 1600KB, probability: 20%}}
job: {collective: all_to_all, begin: 16M, end: 16M, placement: spread}
seed: 2
`), nil)
	if err != nil {
		return 0, err
	}
	var took [2]float64
	for i, how := range []twin.Fidelity{twin.Packets, twin.Flows} {
		r, err := twin.Run(ctx, f.Cluster, twin.Options{Fidelity: how})
		if err != nil {
			return 0, err
		}
		took[i] = r.Collectives[0].Time.Seconds()
	}
	return took[1]/took[0] - 1, nil
}
