package plan

import (
	"math"
	"testing"

	"weir/internal/cluster"
	"weir/units"
)

func reduction(t *testing.T, text string, bytes units.Bytes, set ...string) Reduction {
	t.Helper()
	set = append([]string{"transport=infiniband", "transports.infiniband.in_network_reduction=true", "qos.mtu=4096"}, set...)
	f, err := cluster.Parse("test.yaml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(f.Cluster, &f.Cluster.Jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	if !p.InNetwork() {
		t.Fatal("not reduced in the network")
	}
	r, err := p.Reduce(bytes, false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-3*math.Abs(want)+1e-9 {
		t.Errorf("%s: %.4f, want %.4f", what, got, want)
	}
}

// By hand: 100 MB at 200 Gb/s are 4000 us; 4096 of 4122 bytes are payload, of
// which reductions reach 95 %.
func TestReduceByHand(t *testing.T) {
	const one = `
host: {count: 4, gpus: 1, gpu: a100, nic: {count: 1, model: connectx-6, speed: 200Gbps}}
fabric: {topology: single-switch}
job: {collective: all_reduce, begin: 1M, end: 1M}
`
	r := reduction(t, one, 100e6)
	near(t, "NIC", r.NIC, 4000*4122./4096/0.95)
	near(t, "library", r.Library, 31)
	near(t, "fabric within the library's 2 us", r.Fabric, 0)
	if r.Depth != 1 || r.Pieces != 1 || r.Uplinks != 0 || r.Local != 0 {
		t.Errorf("%+v", r)
	}
	// Twice the nodes take the same time.
	near(t, "eight nodes", func() float64 { r := reduction(t, one, 100e6, "host.count=8"); return r.Time() }(), r.Time())
	// Without the library: two cards of 600 ns, one switch of 130 ns, 1 us to
	// reduce, and two cables.
	bare := reduction(t, one, 100e6, "nccl.overhead=none", "transports.infiniband.reduction_latency=1us")
	slow := reduction(t, one, 100e6, "nccl.overhead=none", "transports.infiniband.reduction_latency=3us")
	near(t, "no library", bare.Library, 0)
	near(t, "one switch reduces", slow.Fabric-bare.Fabric, 2)
	if bare.Fabric < 2.33 || bare.Fabric > 2.6 {
		t.Errorf("bare tree %.3f us, want 2.33 and two cables", bare.Fabric)
	}
	if r := reduction(t, one, 100e6, "transports.infiniband.reduction_limit=30MB"); r.Pieces != 4 {
		t.Errorf("%d pieces of 30 MB, want 4", r.Pieces)
	}
}

// Two tiers: the root is a spine, and eight trees share a leaf's two uplinks.
func TestReduceOverUplinks(t *testing.T) {
	const wide = `
host: {count: 4, gpus: 8, gpu: a100, nic: {count: 8, model: connectx-6, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 2, uplink: {speed: 100Gbps, count: 1}}
job: {collective: all_reduce, placement: spread, begin: 1M, end: 1M}
`
	r := reduction(t, wide, 80e6)
	if r.Depth != 2 {
		t.Errorf("depth %d, want 2", r.Depth)
	}
	near(t, "uplinks over NIC", r.Uplinks/r.NIC, 4)
	// Inside the node: 7 us of local steps and 0.4 us for each further GPU, twice.
	near(t, "library", r.Library, 31+2*(3.7+7*0.4))
}

// What the option does not cover runs as without it.
func TestReductionIsAllReduceAlone(t *testing.T) {
	const text = `
host: {count: 2, gpus: 2, gpu: a100, nic: {count: 1, speed: 100Gbps}}
transport: infiniband
transports: {infiniband: {in_network_reduction: true}}
job: {collective: all_reduce, begin: 1M, end: 1M}
`
	for _, set := range [][]string{
		{"job.collective=all_gather"}, {"job.collective=all_to_all"}, {"job.collective=broadcast"}, {"job.collective=reduce_scatter"},
		{"transport=rocev2"}, {"transport=tcp"}, {"host.count=1"}, {"nccl.algorithm=ring"}, {"nccl.protocol=LL"},
		{"transports.infiniband.in_network_reduction=false"},
	} {
		f, err := cluster.Parse("test.yaml", []byte(text), set)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(f.Cluster, &f.Cluster.Jobs[0])
		if err != nil {
			t.Fatal(err)
		}
		if c, err := p.Choose(units.MiB); err != nil || p.InNetwork() || c.Algorithm.String() == "in_network" {
			t.Errorf("%v: %v, %v", set, c, err)
		}
	}
}
