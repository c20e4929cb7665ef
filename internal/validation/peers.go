package validation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"weir/internal/twin"
	"weir/internal/twin/ns3"
	"weir/units"
)

// The workloads on which the public simulators were run: topology T1 has 128
// hosts under 8 leaves and 8 spines, T3 1,024 hosts under 64 leaves and 16
// spines, every link 100 Gb/s and 1 us.

// clos returns a leaf-spine topology: hosts first, then leaves, then spines.
func clos(hosts, perLeaf, spines int) *ns3.Topology {
	leaves := hosts / perLeaf
	t := &ns3.Topology{Nodes: hosts + leaves + spines}
	link := func(a, b int) {
		t.Links = append(t.Links, ns3.Link{A: a, B: b, Rate: 100 * units.Gbps, Delay: units.Microsecond})
	}
	for i := range leaves + spines {
		t.Switches = append(t.Switches, hosts+i)
	}
	for h := range hosts {
		link(h, hosts+h/perLeaf)
	}
	for l := range leaves {
		for s := range spines {
			link(hosts+l, hosts+leaves+s)
		}
	}
	return t
}

// T1 returns topology T1.
func T1() *ns3.Topology { return clos(128, 16, 8) }

// T3 returns topology T3.
func T3() *ns3.Topology { return clos(1024, 16, 16) }

func flow(src, dst int, bytes units.Bytes) ns3.Flow {
	return ns3.Flow{Src: src, Dst: dst, Priority: 3, DstPort: 100, Bytes: bytes, Start: units.Millisecond}
}

// W0a is one flow across the fabric.
func W0a() *ns3.Workload {
	return &ns3.Workload{Flows: []ns3.Flow{flow(0, 127, 10_000_000)}}
}

// W0b is two flows to one host under the same leaf.
func W0b() *ns3.Workload {
	return &ns3.Workload{Flows: []ns3.Flow{flow(1, 0, 10_000_000), flow(2, 0, 10_000_000)}}
}

// Permutation is i -> i+17, all across leaves: W1 on T1, W4 on T3.
func Permutation(hosts int, bytes units.Bytes) *ns3.Workload {
	w := &ns3.Workload{}
	for i := range hosts {
		w.Flows = append(w.Flows, flow(i, (i+17)%hosts, bytes))
	}
	return w
}

// W2 is an incast of 32 flows.
func W2() *ns3.Workload {
	w := &ns3.Workload{}
	for i := 16; i < 48; i++ {
		w.Flows = append(w.Flows, flow(i, 0, 1_000_000))
	}
	return w
}

// Ring is a ring all-reduce: as many chains as ranks, each of 2(n-1) hops. W3a
// has 64 ranks and 1 MB a hop, W3t 16 ranks and 100 KB.
func Ring(ranks int, bytes units.Bytes) *ns3.Workload {
	w := &ns3.Workload{}
	for c := range ranks {
		chain := ns3.Chain{Bytes: bytes}
		for k := range 2*(ranks-1) + 1 {
			chain.Ranks = append(chain.Ranks, (c+k)%ranks)
		}
		w.Chains = append(w.Chains, chain)
	}
	return w
}

// The spine that the HPCC simulator's hash gave each flow of W1 and W2, in
// the order of the flows.
const (
	w1Spines = "17215240144607727623264703546644564526777511210131047554453043056431230402335037034617475145331615357027371250535643330310457741"
	w2Spines = "15614416352116124251321413636505"
)

// SpinePaths gives flow i of a workload the spine that digit i names.
func SpinePaths(w *ns3.Workload, digits string) map[[2]int]int {
	paths := map[[2]int]int{}
	for i, f := range w.Flows {
		paths[[2]int{f.Src, f.Dst}] = int(digits[i] - '0')
	}
	return paths
}

// completion is what a case's flows took, in microseconds.
type completion struct {
	mean, p99, max float64
	span           float64 // first start to last end
	result         *twin.Result
}

// peerCase runs a workload under a preset.
func peerCase(ctx context.Context, t *ns3.Topology, w *ns3.Workload, paths map[[2]int]int, preset ns3.Preset, seed uint64) (completion, error) {
	cl, err := t.Cluster("validation")
	if err != nil {
		return completion{}, err
	}
	c := &ns3.Case{File: "validation", Topology: t, Cluster: cl, Workload: w, Paths: paths, Preset: preset, Seed: seed, Now: func() time.Time { return time.Time{} }}
	r, _, err := c.Run(ctx)
	if err != nil {
		return completion{}, err
	}
	out := completion{result: r}
	var all []float64
	first, last := units.Never, units.Time(0)
	for _, f := range r.Flows {
		if f.FCT == 0 {
			return completion{}, fmt.Errorf("flow %d did not finish", f.ID)
		}
		all = append(all, f.FCT.Microseconds())
		out.mean += f.FCT.Microseconds() / float64(len(r.Flows))
		first, last = min(first, f.Start), max(last, f.Start+f.FCT)
	}
	slices.Sort(all)
	out.max = all[len(all)-1]
	out.p99 = all[(99*len(all)+99)/100-1]
	out.span = (last - first).Microseconds()
	return out, nil
}

// unrounded undoes the rounding of the ns-3 tools, whose packets take 83 ns
// at 100 Gb/s instead of 83.84.
func unrounded(us float64) float64 { return us * 83.84 / 83 }

func peerTargets() []Target {
	const hpcc = "HPCC simulator (alibaba-edu/High-Precision-Congestion-Control, commit 9f4be2a) as run for the comparison; its nanosecond rounding undone (x 83.84/83)"
	return []Target{
		{ID: "W0a", Title: "One flow across four links", Source: "closed form N t + (h-1) t + 2 h d + h a: N = 10,000 packets of t = 83.84 ns, h = 4, d = 1 us, a = 4.8 ns (60-byte ACK)", Run: runW0a},
		{ID: "W0b", Title: "Two flows to one host", Source: hpcc + "; bands over 8 seeds of it and 5 of conweave", Run: runW0b},
		{ID: "W1", Title: "Permutation of 128 flows, same spines", Source: hpcc + "; with DCQCN the range of HPCC (2 seeds) and conweave", Long: true, Run: runW1},
		{ID: "W2", Title: "Incast of 32 flows, same spines", Source: hpcc + "; bands over seeds", Run: runW2},
		{ID: "W3", Title: "Ring all-reduce as chains of flows", Source: hpcc, Long: true, Run: runW3},
	}
}

func runW0a(ctx context.Context) ([]Row, error) {
	c, err := peerCase(ctx, T1(), W0a(), nil, ns3.HPCC, 1)
	if err != nil {
		return nil, err
	}
	return []Row{Points("10 MB, completion time", 846.67072, c.max, 0.000001, "us")}, nil
}

func runW0b(ctx context.Context) ([]Row, error) {
	pfc, err := peerCase(ctx, T1(), W0b(), nil, ns3.HPCCPFC, 1)
	if err != nil {
		return nil, err
	}
	ecn, err := peerCase(ctx, T1(), W0b(), nil, ns3.HPCC, 1)
	if err != nil {
		return nil, err
	}
	return []Row{
		Near("marking off, longest", unrounded(1664.091), pfc.max, 0.005, "us"),
		Between("P1, mean", 0.95*unrounded(1954), 1.05*unrounded(2292), ecn.mean, "us"),
	}, nil
}

func runW1(ctx context.Context) ([]Row, error) {
	w := Permutation(128, 10_000_000)
	pfc, err := peerCase(ctx, T1(), w, SpinePaths(w, w1Spines), ns3.HPCCPFC, 1)
	if err != nil {
		return nil, err
	}
	ecn, err := peerCase(ctx, T1(), w, SpinePaths(w, w1Spines), ns3.HPCC, 1)
	if err != nil {
		return nil, err
	}
	return []Row{
		Near("marking off, mean", unrounded(2614.099), pfc.mean, 0.005, "us"),
		Near("marking off, longest", unrounded(4318.265), pfc.max, 0.005, "us"),
		Between("P1, mean", 0.95*3157, 1.05*unrounded(3256), ecn.mean, "us").because("HPCC 3236 and 3256, conweave 3157; marks %d (HPCC 77,141 and 77,525, conweave 26,583)", ecn.result.Network.Totals.ECNMarkedPackets),
	}, nil
}

func runW2(ctx context.Context) ([]Row, error) {
	w := W2()
	pfc, err := peerCase(ctx, T1(), w, SpinePaths(w, w2Spines), ns3.HPCCPFC, 1)
	if err != nil {
		return nil, err
	}
	ecn, err := peerCase(ctx, T1(), w, SpinePaths(w, w2Spines), ns3.HPCC, 1)
	if err != nil {
		return nil, err
	}
	return []Row{
		Near("marking off, mean", unrounded(2191.546), pfc.mean, 0.005, "us"),
		Near("marking off, longest", unrounded(2664.265), pfc.max, 0.005, "us"),
		Between("P1, mean", 0.95*2372, 1.05*unrounded(2930), ecn.mean, "us"),
		Between("P1, longest", 0.95*2814, 1.05*unrounded(3549), ecn.max, "us"),
	}, nil
}

func runW3(ctx context.Context) ([]Row, error) {
	a, err := peerCase(ctx, T1(), Ring(64, 1_000_000), nil, ns3.HPCC, 1)
	if err != nil {
		return nil, err
	}
	t, err := peerCase(ctx, T1(), Ring(16, 100_000), nil, ns3.HPCC, 1)
	if err != nil {
		return nil, err
	}
	return []Row{
		Near("W3a, 64 ranks, 126 hops of 1 MB, done", unrounded(11537.54), a.span, 0.01, "us"),
		Near("W3t, 16 ranks, 30 hops of 100 KB, done", unrounded(380.73), t.span, 0.01, "us"),
	}, nil
}
