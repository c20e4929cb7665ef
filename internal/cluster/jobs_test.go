package cluster

import (
	"slices"
	"testing"

	"weir/dcqcn"
	"weir/internal/collective"
	"weir/units"
)

const fourLeaves = "host: {count: 8, nic: {count: 2, speed: 100Gbps}}\nfabric: {leaves: 4, spines: 1}\n"

func TestPlacement(t *testing.T) {
	for _, tt := range []struct {
		name, job string
		want      []int32
	}{
		{"packed", "{collective: all_reduce, nodes: 5}", []int32{0, 1, 2, 3, 4}},
		// Two hosts under each leaf: the first of each, then the second ones.
		{"spread", "{collective: all_reduce, placement: spread}", []int32{0, 2, 4, 6, 1, 3, 5, 7}},
		{"spread over some", "{collective: all_reduce, placement: spread, nodes: 3}", []int32{0, 2, 4}},
		{"by name", "{collective: all_reduce, hosts: [host-5, host-1]}", []int32{5, 1}},
	} {
		c := load(t, fourLeaves+"job: "+tt.job)
		if !slices.Equal(c.Jobs[0].Hosts, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, c.Jobs[0].Hosts, tt.want)
		}
	}
	a := load(t, fourLeaves+"job: {collective: all_reduce, placement: random}").Jobs[0].Hosts
	b := load(t, fourLeaves+"job: {collective: all_reduce, placement: random, placement_seed: 2}").Jobs[0].Hosts
	again := load(t, fourLeaves+"job: {collective: all_reduce, placement: random}").Jobs[0].Hosts
	if slices.Equal(a, b) || !slices.Equal(a, again) {
		t.Errorf("random placements %v, %v, %v", a, b, again)
	}
	slices.Sort(a)
	if !slices.Equal(a, []int32{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Errorf("random placement is no permutation: %v", a)
	}
}

func TestCollectiveJob(t *testing.T) {
	j := load(t, fourLeaves+"nccl: {algorithm: ring}\njob: {collective: reduce_scatter, begin: 16M, end: 1G, factor: 4, iterations: 3, gpus_per_host: 4, start: 5us}").Jobs[0]
	if j.Kind != CollectiveJob || j.Op != collective.ReduceScatter || j.Algorithm != collective.Ring || j.Begin != 16*units.MiB || j.End != units.GiB || j.Factor != 4 || j.Iterations != 3 || j.GPUsPerHost != 4 || j.Start != 5*units.Microsecond || j.Priority != 3 {
		t.Errorf("%+v", j)
	}
}

func TestIncast(t *testing.T) {
	j := load(t, fourLeaves+"job: {pattern: incast, receiver: host-2/nic-1, senders: 9, size: 1MB}").Jobs[0]
	if len(j.Flows) != 9 {
		t.Fatalf("%d flows", len(j.Flows))
	}
	// Seven other hosts send from their first card, two from their second.
	for i, want := range []NICRef{{0, 0}, {1, 0}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}, {0, 1}, {1, 1}} {
		if f := j.Flows[i]; f.Src != want || f.Dst != (NICRef{2, 1}) || f.Bytes != units.MB {
			t.Errorf("flow %d: %+v, want from %+v", i, f, want)
		}
	}
}

func TestPermutation(t *testing.T) {
	for _, scope := range []string{"any", "other-host", "other-leaf"} {
		for _, seed := range []string{"1", "2", "77"} {
			j := load(t, fourLeaves+"job: {pattern: permutation, scope: "+scope+", placement_seed: "+seed+"}").Jobs[0]
			if len(j.Flows) != 16 {
				t.Fatalf("%d flows", len(j.Flows))
			}
			sent, got := map[NICRef]bool{}, map[NICRef]bool{}
			for _, f := range j.Flows {
				if sent[f.Src] || got[f.Dst] || f.Src == f.Dst {
					t.Errorf("%s, seed %s: %+v breaks the permutation", scope, seed, f)
				}
				sent[f.Src], got[f.Dst] = true, true
				if scope != "any" && f.Src.Host == f.Dst.Host || scope == "other-leaf" && f.Src.Host/2 == f.Dst.Host/2 {
					t.Errorf("%s, seed %s: %+v", scope, seed, f)
				}
			}
		}
	}
}

func TestAllPairs(t *testing.T) {
	j := load(t, fourLeaves+"job: {pattern: all-pairs, nics: [1], nodes: 4}").Jobs[0]
	if len(j.Flows) != 4*3 {
		t.Fatalf("%d flows", len(j.Flows))
	}
	for _, f := range j.Flows {
		if f.Src.NIC != 1 || f.Dst.NIC != 1 || f.Src.Host == f.Dst.Host {
			t.Errorf("%+v", f)
		}
	}
}

func TestFlowList(t *testing.T) {
	j := load(t, fourLeaves+"job: {pattern: list, size: 2MB, flows: [{src: host-0/nic-0, dst: host-1/mlx5_1}, {src: host-3, dst: host-4, size: 1K, start: 3us}]}").Jobs[0]
	want := []Flow{{NICRef{0, 0}, NICRef{1, 1}, 2 * units.MB, 0}, {NICRef{3, 0}, NICRef{4, 0}, units.KiB, 3 * units.Microsecond}}
	if !slices.Equal(j.Flows, want) {
		t.Errorf("%+v", j.Flows)
	}
}

// Plain numbers of DCQCN parameters have the firmware's units; the defaults
// are the firmware's (validation target V08).
func TestDCQCN(t *testing.T) {
	c := load(t, "dcqcn: {rp_ai_rate: 50, rp_time_reset: 100, rp_min_rate: 1Gbps, rp_dce_tcp_rtt: 2us, rp_byte_reset: 150000}")
	d := c.DCQCN
	if d.AIRate != 50*units.Mbps || d.TimeReset != 100*units.Microsecond || d.MinRate != units.Gbps || d.AlphaPeriod != 2*units.Microsecond || d.ByteReset != 150000 {
		t.Errorf("%+v", d)
	}
	want := dcqcn.AdapterDefaults(0)
	if got := load(t, "name: a").DCQCN; got != want {
		t.Errorf("defaults %+v, want %+v", got, want)
	}
}

func TestFaultsAndPlaces(t *testing.T) {
	c := load(t, fourLeaves+`
faults:
  - {id: pfc-storm, place: host-7/nic-1, start: 10us, end: 2ms, severity: 0.5}
  - {id: link-down-flap, place: leaf-1~spine-0}
`)
	want := []Fault{{"pfc-storm", "host-7/nic-1", 10 * units.Microsecond, 2 * units.Millisecond, 0.5}, {"link-down-flap", "leaf-1~spine-0", 0, 0, -1}}
	if !slices.Equal(c.Faults, want) {
		t.Errorf("%+v", c.Faults)
	}
	for _, tt := range []struct {
		place string
		kind  PlaceKind
	}{{"fabric", FabricPlace}, {"leaf-2", NodePlace}, {"host-7/nic-1", NICPlace}, {"host-7/mlx5_0", NICPlace}, {"leaf-2/port-3", PortPlace}, {"leaf-2~spine-0", LinkPlace}, {"host-1,host-2", PairPlace}} {
		p, err := c.Place(tt.place)
		if err != nil || p.Kind != tt.kind {
			t.Errorf("%s: %+v, %v", tt.place, p, err)
		}
	}
}

func TestOutOfOrderFollowsRouting(t *testing.T) {
	for _, tt := range []struct {
		file string
		want bool
	}{
		{"routing: {mode: adaptive}", true},
		{"routing: {mode: ecmp}", false},
		{"host: {nic: {model: e810}}\nswitch: {model: spectrum-4}\nrouting: {mode: adaptive}", false},
	} {
		if got := load(t, tt.file).RDMA.OutOfOrder; got != tt.want {
			t.Errorf("%s: %v", tt.file, got)
		}
	}
}

func TestParseFault(t *testing.T) {
	c := load(t, fourLeaves)
	for _, tt := range []struct {
		text string
		want Fault
	}{
		{"pfc-storm@host-7/nic-1", Fault{"pfc-storm", "host-7/nic-1", 0, 0, -1}},
		{"path-loss@host-1,host-2,start=1ms,end=3ms,severity=10%", Fault{"path-loss", "host-1,host-2", units.Millisecond, 3 * units.Millisecond, 0.1}},
		{"incast@fabric,severity=0.5", Fault{"incast", "fabric", 0, 0, 0.5}},
	} {
		if got, err := c.ParseFault(tt.text); err != nil || got != tt.want {
			t.Errorf("%s: %+v, %v", tt.text, got, err)
		}
	}
	for _, tt := range []struct{ text, want string }{
		{"pfc-storm", `--fault pfc-storm: no @ in "pfc-storm": allowed ` + faultForm},
		{"pfc-storm@leaf-9", `--fault pfc-storm@leaf-9: found unknown node "leaf-9": allowed ` + placeForms},
		{"pfc-storm@fabric,start=5", `--fault pfc-storm@fabric,start=5: "5" is not a time: a number with unit ps, ns, us, ms, s, min or h, as in 30us`},
		{"pfc-storm@fabric,until=5ms", `--fault pfc-storm@fabric,until=5ms: found "until": allowed ` + faultForm},
		{"pfc-storm@fabric,start=5ms,start=6ms", `--fault pfc-storm@fabric,start=5ms,start=6ms: found start twice: allowed each once`},
		{"pfc-storm@fabric,start=5ms,end=1ms", `--fault pfc-storm@fabric,start=5ms,end=1ms: found a fault from 5ms to 1ms: allowed an end after the start`},
	} {
		_, err := c.ParseFault(tt.text)
		checkRefusal(t, err, tt.want)
	}
}
