package twin_test

import (
	"context"
	"testing"
	"time"

	"weir/internal/cluster"
	"weir/internal/twin"
	"weir/internal/twin/sim"
	"weir/units"
)

// parse makes a cluster of a file's text.
func parse(t testing.TB, text string, set ...string) *cluster.Cluster {
	t.Helper()
	f, err := cluster.Parse("test.yaml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	return f.Cluster
}

func run(t testing.TB, c *cluster.Cluster, o twin.Options) *twin.Result {
	t.Helper()
	r, err := twin.Run(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const twoNodes = `
host: {count: 2, gpus: 8, gpu: a100, nic: {count: 8, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
job: {collective: all_reduce, algorithm: ring, begin: 1M, end: 4M, factor: 2}
`

// Rows, counters, latency and progress of a healthy run.
func TestRunCollective(t *testing.T) {
	c := parse(t, twoNodes)
	var shares []float64
	samples := 0
	clock := time.Unix(0, 0)
	r := run(t, c, twin.Options{
		Check:       true,
		Now:         func() time.Time { clock = clock.Add(time.Second); return clock },
		Progress:    func(p twin.Progress) { shares = append(shares, p.Share) },
		Sample:      func(*sim.Sim) error { samples++; return nil },
		SampleEvery: 50 * units.Microsecond,
		Configure:   func(cfg *sim.Config) { cfg.ProgressEvery = 10000 },
	})
	if len(r.Collectives) != 3 || r.Collectives[2].Bytes != 4*units.MiB || r.Collectives[2].Ranks != 16 || r.Collectives[2].Fidelity != "packet" {
		t.Fatalf("rows %+v", r.Collectives)
	}
	var sum units.Time
	for i, row := range r.Collectives {
		sum += row.Time
		if i > 0 && row.Time < r.Collectives[i-1].Time {
			t.Errorf("%s takes %v, less than half the size", row.Bytes, row.Time)
		}
	}
	if r.Network.Totals.Drops != 0 || r.Network.Totals.DataPackets == 0 || r.Messages.Count == 0 || r.Messages.P99 < r.Messages.P50 {
		t.Errorf("%+v %+v", r.Network.Totals, r.Messages)
	}
	if r.Engine.Wall != 1 || r.Interrupted || r.Simulated < sum {
		t.Errorf("engine %+v, interrupted %v, simulated %v of %v", r.Engine, r.Interrupted, r.Simulated, sum)
	}
	if len(shares) == 0 || shares[len(shares)-1] < 0.8 || samples < int(sum/(50*units.Microsecond)) {
		t.Errorf("progress %v, %d samples", shares, samples)
	}
	// All links are host links of one switch: up and down carry the same data.
	up, down := r.Network.Tiers[0], r.Network.Tiers[1]
	if up.Name != "host to leaf" || up.Links != 16 || up.UtilisationMean < 0.9*down.UtilisationMean || up.UtilisationMean > 1.1*down.UtilisationMean {
		t.Errorf("tiers %+v", r.Network.Tiers)
	}
}

// The prediction of packet-hops is good to 5 %.
func TestPredictHops(t *testing.T) {
	for _, text := range []string{
		twoNodes,
		"host: {count: 4, gpus: 2, nic: {count: 2, speed: 100Gbps}}\nfabric: {leaves: 2, spines: 2}\njob: {collective: all_reduce, algorithm: tree, begin: 8M, end: 8M}",
		"host: {count: 4, gpus: 2, nic: {count: 2, speed: 100Gbps}}\nfabric: {leaves: 2, spines: 2}\njob: {collective: all_to_all, begin: 8M, end: 8M}",
		"host: {count: 4, gpus: 2, gpu: h100, nic: {count: 2, speed: 100Gbps}}\njob: {collective: all_reduce, algorithm: nvls_tree, begin: 8M, end: 8M}",
		"host: {count: 4, gpus: 2, nic: {count: 2, speed: 100Gbps}}\njob: {collective: all_reduce, algorithm: hierarchical, begin: 8M, end: 8M}",
		"host: {count: 8, gpus: 0, nic: {count: 1, speed: 100Gbps}}\njob: {pattern: permutation, size: 4M}",
	} {
		c := parse(t, text)
		want, err := twin.PredictHops(c)
		if err != nil {
			t.Fatal(err)
		}
		got := float64(run(t, c, twin.Options{}).Engine.PacketHops)
		if got < want*0.95 || got > want*1.05 {
			t.Errorf("%s\npredicted %.0f hops, it took %.0f", text, want, got)
		}
	}
}

// Flows: completion times at the sender, with their names.
func TestRunFlows(t *testing.T) {
	c := parse(t, `
host: {count: 3, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
job: {pattern: incast, receiver: host-2/nic-0, senders: 2, size: 16MiB, start: 5us}
`)
	r := run(t, c, twin.Options{Check: true})
	if len(r.Flows) != 2 || r.Flows[0].Src != "host-0/nic-0" || r.Flows[0].Dst != "host-2/nic-0" {
		t.Fatalf("%+v", r.Flows)
	}
	// 32 MiB through one 100 Gb/s port with 98 % payload take at least 2.738 ms;
	// DCQCN's first cuts cost some of it.
	last := max(r.Flows[0].Start+r.Flows[0].FCT, r.Flows[1].Start+r.Flows[1].FCT) - 5*units.Microsecond
	if last < 2738*units.Microsecond || last > 4000*units.Microsecond {
		t.Errorf("both flows took %v", last)
	}
	if e := r.Network.BusiestEgress; e.Where != "leaf-0/port-2" || e.Share < 0.7 || e.Share > 1 {
		t.Errorf("busiest egress %+v", e)
	}
}

// What a cancelled run knows is kept, and says so: some of the eight sizes.
func TestRunInterrupted(t *testing.T) {
	c := parse(t, twoNodes, "job.end=1G")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	r, err := twin.Run(ctx, c, twin.Options{
		Progress:  func(p twin.Progress) { cancel() },
		Configure: func(cfg *sim.Config) { cfg.ProgressEvery = 200000 },
	})
	if err != nil {
		t.Fatal(err)
	}
	if !r.Interrupted || len(r.Collectives) == 0 || len(r.Collectives) > 7 {
		t.Errorf("interrupted %v with %d rows", r.Interrupted, len(r.Collectives))
	}
}
