package twin_test

import (
	"context"
	"reflect"
	"testing"

	"weir/internal/cluster"
	"weir/internal/twin"
)

const sweep = `
host: {count: 4, gpus: 2, gpu: a100, nic: {count: 2, speed: 100Gbps}}
qos: {ecn: {min: 20KB, max: 200KB}}
job: {collective: all_reduce, begin: 1M, end: 8M}
`

func runSweep(t *testing.T, workers int, set ...string) *twin.Result {
	t.Helper()
	f, err := cluster.Parse("sweep.yaml", []byte(sweep), set)
	if err != nil {
		t.Fatal(err)
	}
	r, err := twin.Run(context.Background(), f.Cluster, twin.Options{Workers: workers, Check: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The result does not depend on how many sizes run at once, and a size's row
// not on which others are asked for.
func TestSizesAreApart(t *testing.T) {
	serial := runSweep(t, 1)
	if len(serial.Collectives) != 4 {
		t.Fatalf("%d rows, want 4", len(serial.Collectives))
	}
	for _, workers := range []int{2, 3, 9} {
		if r := runSweep(t, workers); !reflect.DeepEqual(r, serial) {
			t.Errorf("%d workers: %+v, want %+v", workers, r, serial)
		}
	}
	alone := runSweep(t, 1, "job.begin=4M", "job.end=4M")
	if alone.Collectives[0] != serial.Collectives[2] {
		t.Errorf("4 MiB alone %+v, in the sweep %+v", alone.Collectives[0], serial.Collectives[2])
	}
}

// Sums of the parts, and shares over the whole time.
func TestSizesAddUp(t *testing.T) {
	whole := runSweep(t, 1)
	var packets, hops uint64
	most, busy := 0.0, 0.0
	for _, size := range []string{"1M", "2M", "4M", "8M"} {
		r := runSweep(t, 1, "job.begin="+size, "job.end="+size)
		packets += r.Network.Totals.DataPackets
		hops += r.Engine.PacketHops
		most = max(most, r.Network.Tiers[0].UtilisationMax)
		busy += r.Network.Tiers[0].UtilisationMean * float64(r.Simulated)
	}
	if whole.Network.Totals.DataPackets != packets || whole.Engine.PacketHops != hops {
		t.Errorf("%d packets and %d hops, the parts have %d and %d", whole.Network.Totals.DataPackets, whole.Engine.PacketHops, packets, hops)
	}
	tier := whole.Network.Tiers[0]
	if tier.UtilisationMax != most {
		t.Errorf("busiest link %v, in the parts %v", tier.UtilisationMax, most)
	}
	if got := tier.UtilisationMean * float64(whole.Simulated); got < busy*0.999999 || got > busy*1.000001 {
		t.Errorf("mean utilisation x time %v, in the parts %v", got, busy)
	}
}
