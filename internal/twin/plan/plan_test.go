package plan

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/units"
)

func load(t *testing.T, text string) (*Plan, error) {
	t.Helper()
	f, err := cluster.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return New(f.Cluster, &f.Cluster.Jobs[0])
}

// What NCCL's cost model is fed with: 48 GB/s rings at 400 Gb/s, 16 channels
// on 8 NICs; 24 channels inside one node.
func TestSystem(t *testing.T) {
	p, err := load(t, `
host: {count: 4, gpus: 8, gpu: h100, nic: {count: 8, model: connectx-7, speed: 400Gbps}}
job: {collective: all_reduce, begin: 1M, end: 64M, factor: 4}
`)
	if err != nil {
		t.Fatal(err)
	}
	s := p.System
	if s.Ranks != 32 || s.Nodes != 4 || s.Rings != 8 || s.Channels != 16 || s.InterGBs != 48 || !s.NVLS || !s.LL128 {
		t.Errorf("%+v", s)
	}
	if got := p.Sizes(); !slices.Equal(got, []units.Bytes{units.MiB, 4 * units.MiB, 16 * units.MiB, 64 * units.MiB}) {
		t.Errorf("sizes %v", got)
	}
	one, err := load(t, "host: {count: 1, gpus: 8, gpu: a100}\njob: {collective: all_gather, begin: 1M, end: 1M}")
	if err != nil {
		t.Fatal(err)
	}
	if one.System.Channels != 24 || one.NVLSRate != 0 {
		t.Errorf("one node of A100: %+v", one.System)
	}
}

// A job on fewer GPUs than a host has uses the NICs next to them.
func TestNICs(t *testing.T) {
	p, err := load(t, `
host: {count: 2, gpus: 8, gpu: h100, nic: {count: 4, model: connectx-7, speed: 400Gbps}}
job: {collective: all_reduce, begin: 1M, end: 1M, gpus_per_host: 4}
`)
	if err != nil {
		t.Fatal(err)
	}
	for node, refs := range p.NICs {
		if len(refs) != 2 || refs[1] != (cluster.NICRef{Host: int32(node), NIC: 1}) {
			t.Errorf("node %d uses %v, want its first two NICs", node, refs)
		}
	}
}

// Settings of the library restrict the choice, and what does not exist is refused.
func TestChoose(t *testing.T) {
	const head = "host: {count: 2, gpus: 8, gpu: a100, nic: {count: 8, speed: 100Gbps}}\n"
	for _, test := range []struct {
		text string
		a    collective.Algorithm
		p    collective.Protocol
		err  string
	}{
		{"nccl: {protocol: LL}\njob: {collective: all_reduce, algorithm: ring, begin: 1M, end: 1M}", collective.Ring, collective.LL, ""},
		{"nccl: {algorithm: tree, protocol: Simple}\njob: {collective: all_reduce, begin: 1M, end: 1M}", collective.Tree, collective.Simple, ""},
		{"job: {collective: all_to_all, begin: 1M, end: 1M}", collective.Direct, collective.Simple, ""},
		{"job: {collective: all_reduce, algorithm: hierarchical, begin: 1M, end: 1M}", collective.Hierarchical, collective.Simple, ""},
		{"job: {collective: broadcast, algorithm: tree, begin: 1M, end: 1M}", 0, 0, "broadcast cannot run with algorithm tree"},
	} {
		p, err := load(t, head+test.text)
		if err != nil {
			t.Fatal(err)
		}
		c, err := p.Choose(units.MiB)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: got %v, want %s", test.text, err, test.err)
			}
			continue
		case err != nil:
			t.Error(err)
		case c.Algorithm != test.a || c.Protocol != test.p:
			t.Errorf("%s: chose %s %s", test.text, c.Algorithm, c.Protocol)
		}
		if _, err := p.Schedule(c, units.MiB); err != nil {
			t.Error(err)
		}
	}
}
