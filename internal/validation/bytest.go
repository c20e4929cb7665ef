package validation

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// A closed form is held by a test beside the code that computes it: the test
// has the literals and their tolerance, and the row says whether it passes.
type testRow struct {
	what, expected, tolerance string
	pkg, test                 string
}

func byTest(rows ...testRow) func(context.Context) ([]Row, error) {
	return func(ctx context.Context) ([]Row, error) {
		var out []Row
		for _, r := range rows {
			row, err := runTest(ctx, r)
			if err != nil {
				return nil, err
			}
			out = append(out, row)
		}
		return out, nil
	}
}

// runTest runs one test of the repository, from its root or a folder below.
func runTest(ctx context.Context, r testRow) (Row, error) {
	row := Row{Case: r.what, Expected: r.expected, Tolerance: r.tolerance, Measured: fmt.Sprintf("`%s.%s` passes", r.pkg, r.test)}
	cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-v", "-run", "^"+r.test+"$", "weir/"+r.pkg)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err == nil && strings.Contains(string(out), "--- PASS: "+r.test):
	case err == nil:
		return Row{}, fmt.Errorf("%s has no test %s", r.pkg, r.test)
	case errors.As(err, &exit) && strings.Contains(string(out), "--- FAIL: "+r.test):
		row.Status, row.Measured = Missed, fmt.Sprintf("`%s.%s` fails", r.pkg, r.test)
	default:
		return Row{}, fmt.Errorf("go test %s: %w: %s", r.pkg, err, out)
	}
	return row, nil
}

func closedForms() []Target {
	const (
		guo    = "Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016"
		zhu    = "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015"
		stable = "Zhu et al., ECN or Delay, CoNEXT 2016 (jitupadhye-zz/rdma)"
		nccl   = "NVIDIA/nccl src/graph/tuning.cc (commit 5067397)"
	)
	return []Target{
		{ID: "V01", Title: "Payload efficiency", Source: "header sizes: 62 B around the payload, 20 B of preamble and gap", Run: byTest(
			testRow{"MTU 256 to 4096, TCP 1500 and 9000", "0.757 0.862 0.926 0.962 0.980; 0.941 0.990", "±0.1 %", "internal/answer/expect", "TestPayloadShare"})},
		{ID: "V02", Title: "Go-back-N goodput under random loss (connection alone)", Source: "(1-p)/(1-p+pW)", Run: byTest(
			testRow{"requester against responder, W = 45, 30, 113, p to 1e-2", "table of V02", "±3 %", "rc", "TestGoBackNGoodput"})},
		{ID: "V04", Title: "Go-back-0 livelock", Source: guo + ", section 4.1; M p (1-p)^M / (1-(1-p)^M)", Run: byTest(
			testRow{"every 256th packet lost, 4 MB messages", "goodput 0", "exact", "rc", "TestGoBack0Livelock"},
			testRow{"random loss 1/256, M = 64 to 1024", "0.88 ... 0.074", "±2 %; ±5 % for M = 1024 but with WEIR_LONG=1", "rc", "TestGoBack0Goodput"})},
		{ID: "V05", Title: "Timer ladder", Source: "4.096 us x 2^t (InfiniBand Architecture Specification 9.7.6.1.3)", Run: byTest(
			testRow{"t = 14, 18, 20, 22", "67.1 ms, 1.074 s, 4.295 s, 17.18 s", "exact", "rc", "TestTimeout"})},
		{ID: "V08", Title: "Reaction point with vendor defaults", Source: "defaults of the adapter's firmware parameters", Run: byTest(
			testRow{"one CNP at 100 Gb/s", "50 at 4 us, 75 ... 99.2 every 300 us", "±0.1 %", "dcqcn", "TestAdapterTrace"},
			testRow{"random CNP times against a tick-by-tick reference", "equal", "exact", "dcqcn", "TestAgainstNaive"})},
		{ID: "V09", Title: "Reaction point of the paper", Source: zhu + ", section 3", Run: byTest(
			testRow{"six CNPs, then recovery", "20 ... 0.625; 30, 35, 37.5, 38.75, 39.375 Gb/s", "exact", "dcqcn", "TestPaperTrace"},
			testRow{"CNP spacing", "166 frames of 1500 B between CNPs at 40G", "exact", "dcqcn", "TestCNPSpacing"})},
		{ID: "V10", Title: "Fixed point of DCQCN (solver)", Source: stable + ", theorem 1", Run: byTest(
			testRow{"40G, N = 2 to 12; 100G, N = 2 to 32", "table of V10", "±0.1 %", "dcqcn/fluid", "TestFixedPoint"})},
		{ID: "V11", Title: "Beyond the ramp the queue pins at Kmax (solver)", Source: stable, Run: byTest(
			testRow{"N = 16, 32, 64", "p above Pmax", "exact", "dcqcn/fluid", "TestPinned"})},
		{ID: "V12", Title: "Phase margin", Source: stable + ", fluidmodel/dcqcn", Run: byTest(
			testRow{"N = 2, 10, 20, 40 at 0 to 50 us", "table of V12", "±0.1 degrees", "dcqcn/fluid", "TestPhaseMargin"})},
		{ID: "V16", Title: "Threshold rules", Source: zhu + ", section 4", Run: byTest(
			testRow{"32 x 40G, 12 MB", "24.47 KB, 0.765 KB, 21.75 KB", "exact", "internal/qos", "TestThresholdRules"},
			testRow{"below the dynamic bound the switch marks before it pauses", "always; one packet above: not", "must hold", "internal/twin/switchcore", "TestMarkingBoundComesBeforePause"})},
		{ID: "V24", Title: "Pause arithmetic", Source: "IEEE 802.3 annex 31B, 802.1Qbb", Run: byTest(
			testRow{"65535 quanta at 100, 200, 400, 800G", "335.5, 167.8, 83.9, 41.9 us", "exact", "internal/twin/switchcore", "TestPauseArithmetic"})},
		{ID: "V25", Title: "Headroom: first principles and NIC driver", Source: "Linux mlx5 driver, port_buffer", Run: byTest(
			testRow{"driver formula, six cases", "16,984 ... 217,941 B", "exact", "internal/qos", "TestHeadroomDriver"},
			testRow{"worst case on a switch: headroom as computed, and 20 % less", "no drop; at least one", "must hold", "internal/twin/switchcore", "TestHeadroomOfFirstPrinciples"})},
		{ID: "V26", Title: "Headroom: open switch OS", Source: "sonic-net/sonic-swss buffer_headroom_mellanox.lua (commit e6b0c5b)", Run: byTest(
			testRow{"100G and 400G at 5, 40, 300 m", "41,984 ... 659,456 B", "exact; the figures need cells of 192 B", "internal/qos", "TestSwitchOSHeadroom"})},
		{ID: "V27", Title: "Dynamic threshold steady state", Source: "alpha B / (1 + n alpha)", Run: byTest(
			testRow{"alpha 1/8 and 1, n = 1, 8", "B/9, B/16, B/2", "one MTU", "internal/twin/switchcore", "TestDynamicThresholdSteadyState"})},
		{ID: "V28", Title: "Losslessness and conservation", Source: "invariants", Run: byTest(
			testRow{"random lossless traffic on a switch", "no drop, every pause resumed", "must hold", "internal/twin/switchcore", "TestLosslessWithHeadroomAsComputed"},
			testRow{"random operations against a plain model", "equal", "exact", "internal/twin/switchcore", "TestAgainstModel"})},
		{ID: "V33", Title: "ECMP as balls in bins", Source: "n!/m^n [x^n] (sum x^i/i!)^m", Run: byTest(
			testRow{"17 pairs of n and m, 4,000 seeds", "table of V33", "±2 %", "internal/twin/fabric", "TestECMPIsBallsInBins"},
			testRow{"8 on 8: share with 2, 3, 4 on the fullest link", "0.498, 0.409, 0.080", "±2 points", "internal/twin/fabric", "TestECMPFullestOfEight"})},
		{ID: "V35", Title: "Fixed source port", Source: "one bucket of m", Run: byTest(
			testRow{"all queue pairs on one port", "1/m of the links", "exact", "internal/twin/fabric", "TestFixedSourcePort"})},
		{ID: "V36", Title: "Hash polarisation", Source: "same function and seed on two tiers", Run: byTest(
			testRow{"m uplinks each", "m paths instead of m^2", "exact", "internal/twin/fabric", "TestPolarisation"})},
		{ID: "V43", Title: "Identities of collectives", Source: "NVIDIA/nccl-tests doc/PERFORMANCE.md", Run: byTest(
			testRow{"bus factors, bytes of a NIC", "1.875 ... for 16 ranks", "exact", "internal/answer/expect", "TestIdentities"},
			testRow{"bytes that every schedule sends", "2(n-1)/n S and kin", "exact", "internal/collective", "TestSentBytes"})},
		{ID: "V44", Title: "NCCL's cost model", Source: nccl, Run: byTest(
			testRow{"ten sample outputs", "454.6 ... 140 GB/s", "±1 %", "internal/collective/nccl", "TestSampleOutputs"})},
		{ID: "V45", Title: "Efficiency over size (closed form)", Source: "aliyun/SimAI inputs/ratio (commit cef83f9)", Run: byTest(
			testRow{"2, 4, 8 nodes, 16 MiB to 16 GiB", "0.13 to 0.96 of the NICs", "median ±15 %, worst ±35 %", "internal/answer/expect", "TestEfficiencyBySize"})},
		{ID: "V47-V50", Title: "Large all-reduce between nodes (closed form)", Source: "oracle-quickstart/oci-hpc (b5285a6); nccl-tests issues 290, 22, 196; nccl issues 209, 495", Run: byTest(
			testRow{"A100 8 x 200G, H100 8 x 400G, A100 8 x 100G", "185.6; 368 to 384; 75 to 96 GB/s", "±5 %", "internal/answer/expect", "TestLargeAllReduce"})},
		{ID: "V54", Title: "Inside one node (closed form)", Source: "stas00/ml-engineering network/README.md (744d01e)", Run: byTest(
			testRow{"8 x A100, 8 x H200 ring and NVLS, size sweep", "234.9, 367.6, 482.3 GB/s", "±10 %", "internal/answer/expect", "TestOneNode"})},
		{ID: "V55", Title: "Small all-reduce (closed form)", Source: "aliyun/SimAI Layer.cc; nccl issue 1244", Run: byTest(
			testRow{"2 to 128 ranks", "10 ... 320 us", "factor 1.5", "internal/answer/expect", "TestSmallAllReduce"})},
		{ID: "V56", Title: "Protocol constants", Source: "NVIDIA/nccl init.cc, device.h, collectives.h; arXiv 2507.04786", Run: byTest(
			testRow{"messages: 1 GiB, 512 ranks, 16 channels and others", "64 KiB ...", "exact", "internal/collective", "TestMessageSizes"})},
	}
}

// simulatorTests are targets that tests of the packet simulator hold; the long
// forms run with WEIR_LONG=1.
func simulatorTests() []Target {
	const (
		pkg      = "internal/twin/sim"
		observed = "internal/twin/observe"
	)
	return []Target{
		{ID: "V01 (packets)", Title: "Payload efficiency, simulated", Source: "header sizes", Run: byTest(
			testRow{"one long flow, MTU 256 to 4096", "0.757 ... 0.980", "±0.1 %", pkg, "TestV01Efficiency"})},
		{ID: "V02 (packets)", Title: "Go-back-N goodput under random loss, simulated", Source: "(1-p)/(1-p+pW)", Run: byTest(
			testRow{"40G to 400G, p to 1e-3", "table of V02", "±3 %", pkg, "TestV02Loss"})},
		{ID: "V04 (packets)", Title: "Livelock of go-back-0, simulated", Source: "Guo et al., SIGCOMM 2016, section 4.1", Run: byTest(
			testRow{"4 MB messages, every 256th packet lost", "goodput 0 at a full link", "exact", pkg, "TestV04Livelock"})},
		{ID: "V10 (packets)", Title: "Queue of DCQCN at its fixed point, and pinned at Kmax (V11), simulated", Source: "Zhu et al., CoNEXT 2016, theorem 1", Run: byTest(
			testRow{"40G, N flows", "41.8 KB (N = 4) ... 175 to 205 KB (N = 16)", "-15 % to +35 %; Jain at least 0.99; utilisation at least 0.995", pkg, "TestV10FixedPoint"})},
		{ID: "V17", Title: "Unfairness of pause alone, and DCQCN's cure, simulated", Source: "Zhu et al., SIGCOMM 2015, figures 3 and 8; closed form by ingress ports", Run: byTest(
			testRow{"one near and three far senders", "near above far; with DCQCN 10 Gb/s each", "ordering; ±10 %", pkg, "TestV17Fairness"})},
		{ID: "V28 (packets)", Title: "Lossless whatever the traffic, simulated", Source: "invariants", Run: byTest(
			testRow{"random traffic on random fabrics, invariants checked", "no drop, exactly once, in order", "must hold", pkg, "TestV28Lossless"})},
		{ID: "V34", Title: "Permutation under ECMP and sprayed (V41), simulated", Source: "max-min fair shares over 400 seeds; vendors' 1.6x", Run: byTest(
			testRow{"2 leaves of 8 hosts, 8 spines, 1 and 4 queue pairs; sprayed", "0.655, 0.899; gain 1.5 to 1.9", "±10 %", pkg, "TestV34Permutation"})},
		{ID: "V29", Title: "Deadlock conditions, simulated", Source: "Hu et al., Deadlocks in Datacenter Networks, HotNets 2016; n B / TTL by conservation", Run: byTest(
			testRow{"ring of 5 switches, each flow over two overloaded links; up-down tree, all to all; neither with congestion control", "deadlock; none", "must hold", observed, "TestV29Ring"},
			testRow{"routing loop of 2 links of 100 Gb/s, TTL 64, load 0.9 and 1.1 times 3.125 Gb/s; route mended afterwards", "none; deadlock, which stays", "must hold", observed, "TestV29Loop"})},
		{ID: "V30", Title: "Pause storm and watchdog, simulated", Source: "Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016, section 4.3; timers a hundredth of the real ones", Run: byTest(
			testRow{"one NIC hangs under a tree of 8 hosts, all to all: without and with a watchdog", "nothing arrives any more; at least 95 % of the remaining load within one watchdog period", "must hold", observed, "TestV30Storm"})},
		{ID: "ETS", Title: "Shares of two lossless classes that both want the link, simulated", Source: "configured shares", Run: byTest(
			testRow{"RoCE and storage, 80:20 and 60:40", "20 %, 40 %", "±5 %", observed, "TestSharesAreHeld"})},
		{ID: "V35 (packets)", Title: "Fixed source port, simulated", Source: "one bucket of m", Run: byTest(
			testRow{"32 flows on 4 links", "1 link", "exact", pkg, "TestV35FixedSourcePort"})},
		{ID: "V36 (packets)", Title: "Hash polarisation, simulated", Source: "same function and seed on two tiers", Run: byTest(
			testRow{"second-tier links used", "1 of m", "exact", pkg, "TestV36Polarisation"})},
		{ID: "V40", Title: "Spraying against single path on a fat tree, simulated", Source: "Broadcom/csg-htsim validate.txt (commit 841d9e7)", Run: byTest(
			testRow{"16 hosts, 2 MB flows, last completion", "at most 210 us sprayed, 1300 us on one path", "upper bounds", pkg, "TestV40Spraying"})},
		{ID: "determinism", Title: "Same input and seed, same counters", Source: "equality of all counters", Run: byTest(
			testRow{"twice, and with a heap instead of the wheel", "equal", "exact", pkg, "TestDeterminism"},
			testRow{"all rates doubled and all delays halved", "all times halved", "exact", pkg, "TestTimeScaling"})},
	}
}
