package nccl

import (
	"math"
	"testing"

	"weir/internal/collective"
	"weir/units"
)

func h100(nodes int) System {
	return System{Ranks: 8 * nodes, Nodes: nodes, Arch: Hopper, NVLS: true, LL128: true, Rings: 8, InterGBs: 48, RingGBs: 48, TreeGBs: 48, NVLSGBs: 48, Channels: 16}
}

func a100(nodes int) System {
	return System{Ranks: 8 * nodes, Nodes: nodes, Arch: Ampere, LL128: true, Rings: 8, InterGBs: 24, RingGBs: 24, TreeGBs: 24, Channels: 16}
}

// Sample outputs of validation row V44 (all_reduce, bus bandwidth in GB/s; H100
// with 8 x 48 GB/s, A100 with 8 x 24 GB/s, Intel CPU), within 1 %.
func TestSampleOutputs(t *testing.T) {
	const any = collective.Auto
	ll128 := collective.LL128
	for _, test := range []struct {
		sys      System
		bytes    units.Bytes
		restrict collective.Algorithm
		want     float64
		a        collective.Algorithm
		p        *collective.Protocol
	}{
		{h100(2), units.GiB, any, 454.6, collective.NVLSTree, nil},
		{h100(2), units.GiB, collective.Ring, 371.0, collective.Ring, nil},
		{h100(8), 16 * units.MiB, any, 137, collective.NVLSTree, nil},
		{h100(8), units.GiB, any, 354.8, collective.NVLSTree, nil},
		{h100(16), 256 * units.MiB, collective.Ring, 224, collective.Ring, &ll128},
		{h100(16), units.GiB, collective.Ring, 295, collective.Ring, nil},
		{h100(16), 8 * units.GiB, collective.Ring, 370, collective.Ring, nil},
		{a100(2), units.GiB, any, 188.7, collective.Auto, nil},
		{a100(8), units.GiB, any, 178.7, collective.Auto, nil},
		{a100(64), units.GiB, any, 140, collective.Tree, nil},
	} {
		c, ok := test.sys.Choose(collective.AllReduce, test.bytes, test.restrict, nil)
		if !ok {
			t.Fatalf("%+v: no choice", test.sys)
		}
		n := float64(test.sys.Ranks)
		bus := float64(test.bytes) / c.Time / 1000 * 2 * (n - 1) / n
		if math.Abs(bus/test.want-1) > 0.01 || test.a != collective.Auto && c.Algorithm != test.a || test.p != nil && c.Protocol != *test.p {
			t.Errorf("%d nodes, generation %d, %s: %.1f GB/s with %s %s, want %.1f with %s",
				test.sys.Nodes, test.sys.Arch, test.bytes, bus, c.Algorithm, c.Protocol, test.want, test.a)
		}
	}
}

// Latencies by hand from the constants of V44: ring all_reduce of two nodes of
// eight: 30 steps, 2 of them between nodes.
func TestLatency(t *testing.T) {
	sys := h100(2)
	amd := sys
	amd.CPUAMD = true
	one := h100(1)
	for _, test := range []struct {
		name  string
		sys   System
		op    collective.Op
		a     collective.Algorithm
		p     collective.Protocol
		bytes units.Bytes
		want  float64
	}{
		{"ring LL", sys, collective.AllReduce, collective.Ring, collective.LL, 1024, 6.6 + 28*1 + 2*2.7},
		{"ring LL128", sys, collective.AllReduce, collective.Ring, collective.LL128, 1024, 14 + 28*1.9 + 2*4},
		{"ring Simple, small", sys, collective.AllReduce, collective.Ring, collective.Simple, 1024, 8.4 + 28*3.4 + 2*14},
		{"ring Simple, plateau", sys, collective.AllReduce, collective.Ring, collective.Simple, units.GiB, 1.4 * (8.4 + 28*3.4 + 2*14)},
		{"ring LL, AMD", amd, collective.AllReduce, collective.Ring, collective.LL, 1024, 6.6 + 28*2 + 2*2.7},
		{"ring Simple, AMD", amd, collective.AllGather, collective.Ring, collective.Simple, 1024, 8.4 + 14*6 + 14},
		{"one node", one, collective.AllReduce, collective.Ring, collective.LL, 1024, 6.6 + 14*0.6},
		{"NVLS", one, collective.AllReduce, collective.NVLS, collective.Simple, 1024, 25},
		{"tree LL", sys, collective.AllReduce, collective.Tree, collective.LL, 1024, 6.8 + 2*(7*0.6+5)},
		{"NVLSTree of 8 nodes", h100(8), collective.AllReduce, collective.NVLSTree, collective.Simple, 1024, 25 + 2*3*20.9},
		{"broadcast", sys, collective.Broadcast, collective.Ring, collective.LL, 1024, 6.6 + 16*2.7},
	} {
		if got := test.sys.Latency(test.op, test.a, test.p, test.bytes); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("%s: %v us, want %v", test.name, got, test.want)
		}
	}
}

// What the library never does: NVLS between nodes without NVLSTree, trees for
// anything but all_reduce, LL128 where it is not allowed, Hierarchical by itself.
func TestOffered(t *testing.T) {
	a := a100(4)
	a.LL128 = false
	for size := units.Bytes(8); size < 64*units.GiB; size *= 2 {
		for op := collective.AllReduce; op <= collective.Broadcast; op++ {
			for _, sys := range []System{h100(1), h100(2), h100(16), a, a100(1)} {
				c, ok := sys.Choose(op, size, collective.Auto, nil)
				if !ok {
					t.Fatalf("%s %s: no choice", op, size)
				}
				if c.Algorithm == collective.Hierarchical || c.Protocol == collective.LL128 && !sys.LL128 ||
					c.Algorithm == collective.NVLSTree && (!sys.NVLS || sys.Nodes == 1) ||
					c.Algorithm == collective.NVLS && sys.Nodes > 1 ||
					c.Algorithm == collective.Tree && op != collective.AllReduce {
					t.Errorf("%d nodes %s %s: chose %s %s", sys.Nodes, op, size, c.Algorithm, c.Protocol)
				}
			}
		}
	}
	sys := h100(2)
	if c, ok := sys.Choose(collective.AllReduce, units.MiB, collective.Hierarchical, nil); !ok || c.Algorithm != collective.Hierarchical {
		t.Error("Hierarchical by name is not taken")
	}
	if _, ok := sys.Choose(collective.Broadcast, units.MiB, collective.Tree, nil); ok {
		t.Error("broadcast by tree was taken")
	}
}

// Small operations take LL, large ones Simple or NVLS, and use few channels when small.
func TestProtocolBySize(t *testing.T) {
	sys := a100(4)
	small, _ := sys.Choose(collective.AllReduce, 1024, collective.Auto, nil)
	large, _ := sys.Choose(collective.AllReduce, 8*units.GiB, collective.Auto, nil)
	if small.Protocol != collective.LL || large.Protocol != collective.Simple {
		t.Errorf("1 KiB takes %s, 8 GiB %s", small.Protocol, large.Protocol)
	}
	if n := sys.ActiveChannels(small, 1024); n != 1 {
		t.Errorf("1 KiB on %d channels, want 1", n)
	}
	if n := sys.ActiveChannels(large, 8*units.GiB); n != 16 {
		t.Errorf("8 GiB on %d channels, want 16", n)
	}
	// 512 threads x 64 bytes a channel.
	if n := sys.ActiveChannels(Choice{Algorithm: collective.Ring}, 5*32*units.KiB); n != 5 {
		t.Errorf("160 KiB of Simple on %d channels, want 5", n)
	}
}
