package twin_test

import (
	"context"
	"slices"
	"testing"

	"weir/internal/cluster"
	"weir/internal/twin"
	"weir/units"
)

// An incast that marks at random: the seed decides which packets, and nothing
// else does.
func TestSeed(t *testing.T) {
	const text = `
host: {count: 5, gpus: 0, nic: {count: 1, speed: 100Gbps}}
fabric: {topology: single-switch}
qos: {ecn: {min: 40KB, max: 400KB, probability: 20%}}
job: {pattern: incast, receiver: host-4/nic-0, senders: 4, size: 2MB}
`
	run := func(seed uint64, set ...string) []units.Time {
		f, err := cluster.Parse("seed.yaml", []byte(text), set)
		if err != nil {
			t.Fatal(err)
		}
		r, err := twin.Run(context.Background(), f.Cluster, twin.Options{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		var out []units.Time
		for _, f := range r.Flows {
			out = append(out, f.FCT)
		}
		return out
	}
	first := run(0, "seed=7")
	if again := run(0, "seed=7"); !slices.Equal(first, again) {
		t.Errorf("the same seed gave %v, then %v", first, again)
	}
	if other := run(0, "seed=8"); slices.Equal(first, other) {
		t.Error("another seed in the file changed nothing")
	}
	if other := run(8); slices.Equal(first, other) {
		t.Error("another seed in the options changed nothing")
	}
	if same := run(7); !slices.Equal(first, same) {
		t.Errorf("seed 7 in the options gave %v, in the file %v", same, first)
	}
}
