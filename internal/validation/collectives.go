package validation

import (
	"context"
	"fmt"
	"math"
	"slices"

	"weir/internal/answer/expect"
	"weir/internal/cluster"
	"weir/internal/twin"
	"weir/units"
)

// Sources of the measurements of collectives.
const (
	simAI = "aliyun/SimAI (commit cef83f9)"
	oci   = "oracle-quickstart/oci-hpc (commit b5285a6)"
	stas  = "stas00/ml-engineering network/README.md (commit 744d01e)"
	meta  = "Gangidi et al., RDMA over Ethernet for Distributed AI Training at Meta Scale, SIGCOMM 2024"
)

// collectiveTargets are the published figures of collectives, run on the packet simulator.
func collectiveTargets() []Target {
	return []Target{
		{ID: "V38", Title: "Queue-pair scaling under ECMP", Source: meta, Long: true, Run: queuePairScaling},
		{ID: "V45 (packets)", Title: "Efficiency over size, simulated", Source: simAI + " inputs/ratio", Run: efficiencyBySize(units.GiB / 4)},
		{ID: "V45 (packets, to 1 GiB)", Title: "Efficiency over size, simulated, with 1 GiB", Source: simAI + " inputs/ratio", Long: true, Run: efficiencyBySize(units.GiB)},
		{ID: "V47", Title: "A100, 8 x 200G RoCE, simulated", Source: oci, Run: largeA100},
		{ID: "V48", Title: "H100, 8 x 400G, ring, simulated", Source: "NVIDIA/nccl-tests issue 290; uccl-project/uccl issue 205", Long: true, Run: largeH100},
		{ID: "V49", Title: "Two nodes can exceed the network, simulated", Source: oci, Run: twoNodesExceed},
		{ID: "V50", Title: "A100, 8 x 100G RoCE, two nodes, simulated", Source: "NVIDIA/nccl issue 495", Run: slowNICs},
		{ID: "V54 (simulated)", Title: "Inside one node, simulated", Source: stas, Run: oneNode},
		{ID: "V55 (packets)", Title: "Small all-reduce, simulated", Source: "aliyun/SimAI Layer.cc; NVIDIA/nccl issue 1244", Run: smallAllReduce},
		{ID: "V57", Title: "One large against many small all-reduces, simulated", Source: stas, Run: whyBucket},
	}
}

// pod describes nodes of eight GPUs with a NIC each, rails under leaves of their own.
func pod(nodes int, gpu, nic, speed, job, more string) string {
	return fmt.Sprintf(`
host: {count: %d, gpus: 8, gpu: %s, nic: {count: 8, model: %s, speed: %s}}
fabric: {topology: rail-optimised}
job: {%s}
%s
`, nodes, gpu, nic, speed, job, more)
}

func h100(nodes int, job, more string) string {
	return pod(nodes, "h100", "connectx-7", "400Gbps", job, more)
}

func a100(nodes int, speed, job, more string) string {
	return pod(nodes, "a100", "connectx-6-dx", speed, job, more)
}

// simulate runs a cluster file and returns its rows.
func simulate(ctx context.Context, text string, set ...string) ([]twin.Collective, error) {
	f, err := cluster.Parse("target.yaml", []byte(text), set)
	if err != nil {
		return nil, err
	}
	r, err := twin.Run(ctx, f.Cluster, twin.Options{})
	if err != nil {
		return nil, err
	}
	if r.Interrupted {
		return nil, ctx.Err()
	}
	return r.Collectives, nil
}

// busBW is the bus bandwidth of a row in GB/s.
func busBW(c *twin.Collective) float64 {
	return float64(c.Bytes) / c.Time.Seconds() / 1e9 * expect.BusFactor(c.Op, c.Ranks)
}

// simulatedBusBW runs one size.
func simulatedBusBW(ctx context.Context, text string, set ...string) (float64, error) {
	rows, err := simulate(ctx, text, set...)
	if err != nil {
		return 0, err
	}
	return busBW(&rows[len(rows)-1]), nil
}

func job(op, algorithm string, begin, end string) string {
	return fmt.Sprintf("collective: %s, algorithm: %s, begin: %s, end: %s", op, algorithm, begin, end)
}

const simple = "nccl: {protocol: Simple}"

func efficiencyBySize(largest units.Bytes) func(context.Context) ([]Row, error) {
	table := []struct {
		nodes int
		want  [4]float64 // 16, 64, 256, 1024 MiB
	}{{2, [4]float64{.32, .50, .85, .92}}, {4, [4]float64{.24, .53, .77, .93}}, {8, [4]float64{.13, .39, .69, .90}}}
	return func(ctx context.Context) ([]Row, error) {
		var rows []Row
		var errs []float64
		for _, line := range table {
			for _, op := range []string{"all_gather", "reduce_scatter"} {
				got, err := simulate(ctx, h100(line.nodes, job(op, "ring", "16M", fmt.Sprintf("%dB", largest))+", factor: 4", simple))
				if err != nil {
					return nil, err
				}
				for i := range got {
					share := busBW(&got[i]) / 400
					errs = append(errs, math.Abs(share/line.want[i]-1))
					rows = append(rows, Near(fmt.Sprintf("%s, %d nodes, %s: share of 400 GB/s", op, line.nodes, got[i].Bytes), line.want[i], share, 0.35, ""))
				}
			}
		}
		slices.Sort(errs)
		return append(rows, Between("median error", 0, 0.15, errs[len(errs)/2], "")), nil
	}
}

func largeA100(ctx context.Context) ([]Row, error) {
	got, err := simulatedBusBW(ctx, a100(2, "200Gbps", job("all_reduce", "auto", "1G", "1G"), ""))
	if err != nil {
		return nil, err
	}
	return []Row{Near("two nodes, all_reduce, 1 GiB", 185.6, got, 0.05, "GB/s")}, nil
}

func largeH100(ctx context.Context) ([]Row, error) {
	var rows []Row
	for _, nodes := range []int{4, 8} {
		got, err := simulatedBusBW(ctx, h100(nodes, job("all_reduce", "ring", "1G", "1G"), simple))
		if err != nil {
			return nil, err
		}
		low, high := 368*.95, 384*1.05
		if nodes == 8 { // one user's figure is 350
			low = 350 * .95
		}
		rows = append(rows, Between(fmt.Sprintf("%d nodes, all_reduce, 1 GiB", nodes), low, high, got, "GB/s"))
	}
	return rows, nil
}

func twoNodesExceed(ctx context.Context) ([]Row, error) {
	got, err := simulatedBusBW(ctx, h100(2, job("all_reduce", "nvls_tree", "1G", "1G"), ""))
	if err != nil {
		return nil, err
	}
	ring, err := simulatedBusBW(ctx, h100(2, job("all_reduce", "ring", "1G", "1G"), simple))
	if err != nil {
		return nil, err
	}
	return []Row{
		Near("two H100 nodes, NVLSTree, 1 GiB, above the NICs' 400", 449, got, 0.10, "GB/s"),
		Between("the same by ring stays below the NICs", 0, 400, ring, "GB/s"),
	}, nil
}

func slowNICs(ctx context.Context) ([]Row, error) {
	got, err := simulatedBusBW(ctx, a100(2, "100Gbps", job("all_reduce", "ring", "256M", "256M"), simple))
	if err != nil {
		return nil, err
	}
	return []Row{Between("all_reduce by ring, 256 MiB", 75, 96, got, "GB/s").because("the reporter's NCCL ran rings (today's choice is a tree, which shows more on two nodes, V49); the model's cards keep 0.98 of line rate for payload, the field's about 0.96")}, nil
}

func oneNode(ctx context.Context) ([]Row, error) {
	var rows []Row
	a, err := simulatedBusBW(ctx, a100(1, "200Gbps", job("all_reduce", "ring", "16G", "16G"), simple))
	if err != nil {
		return nil, err
	}
	rows = append(rows, Near("8 x A100, ring, 16 GiB", 234.9, a, 0.10, "GB/s"))
	ring, err := simulatedBusBW(ctx, h100(1, job("all_reduce", "ring", "16G", "16G"), simple), "host.gpu=h200")
	if err != nil {
		return nil, err
	}
	rows = append(rows, Near("8 x H200, ring, 16 GiB", 367.6, ring, 0.10, "GB/s"))
	got, err := simulate(ctx, h100(1, job("all_reduce", "nvls", "1M", "16G")+", factor: 4", ""), "host.gpu=h200")
	if err != nil {
		return nil, err
	}
	want := map[units.Bytes]float64{
		units.MiB: 39.9, 4 * units.MiB: 107, 16 * units.MiB: 220, 64 * units.MiB: 347,
		256 * units.MiB: 436, 1024 * units.MiB: 464, 16 * units.GiB: 482.3,
	}
	for i := range got {
		if w, ok := want[got[i].Bytes]; ok {
			rows = append(rows, Near("8 x H200, NVLS, "+got[i].Bytes.String(), w, busBW(&got[i]), 0.10, "GB/s"))
		}
	}
	return rows, nil
}

func smallAllReduce(ctx context.Context) ([]Row, error) {
	var rows []Row
	for _, line := range []struct {
		ranks int
		us    float64
	}{{2, 10}, {4, 12}, {8, 15}, {16, 66}, {32, 135}, {64, 200}, {128, 320}} {
		nodes := max(line.ranks/8, 1)
		text := h100(nodes, job("all_reduce", "ring", "512K", "512K")+fmt.Sprintf(", gpus_per_host: %d", min(line.ranks, 8)), "")
		got, err := simulate(ctx, text)
		if err != nil {
			return nil, err
		}
		rows = append(rows, Between(fmt.Sprintf("%d ranks, ring, 512 KiB, published %g us", line.ranks, line.us), line.us/1.5, line.us*1.5, got[0].Time.Microseconds(), "us"))
	}
	got, err := simulate(ctx, h100(2, job("all_reduce", "nvls_tree", "8B", "1K")+", factor: 128", ""))
	if err != nil {
		return nil, err
	}
	for i := range got {
		rows = append(rows, Between("16 ranks on 2 nodes, NVLSTree, "+got[i].Bytes.String()+", published 47 us", 47/1.5, 47*1.5, got[i].Time.Microseconds(), "us"))
	}
	return rows, nil
}

func whyBucket(ctx context.Context) ([]Row, error) {
	var rates [2]float64
	for i, size := range []string{"4GB", "4MB"} {
		text := h100(1, job("all_reduce", "nvls", size, size)+fmt.Sprintf(", iterations: %d", 1+99*i), "")
		var err error
		if rates[i], err = simulatedBusBW(ctx, text); err != nil {
			return nil, err
		}
	}
	one := Near("8 x H100: one of 4 GB against many of 4 MB, ratio of bus bandwidths", 3723./1146, rates[0]/rates[1], 0.20, "")
	if one.Status == Missed {
		one = one.because("the size sweep of V54, from the same source, implies 4.3 at 4 MiB; the model follows the sweep")
	}
	var wide [2]float64
	for i, size := range []string{"1GB", "4MB"} {
		var err error
		if wide[i], err = simulatedBusBW(ctx, h100(2, job("all_reduce", "ring", size, size)+fmt.Sprintf(", iterations: %d", 1+4*i), "")); err != nil {
			return nil, err
		}
	}
	return []Row{
		Near("one of 4 GB", 3723./8, rates[0], 0.20, "GB/s"),
		one,
		Between("two nodes, ring: the gap is at least as wide", 3723./1146, math.Inf(1), wide[0]/wide[1], ""),
	}, nil
}

func queuePairScaling(ctx context.Context) ([]Row, error) {
	// One GPU a node, neighbours of the ring under different leaves, hash over
	// the queue pair as well. Pause alone holds senders back: these clusters
	// run at 400 Gb/s without DCQCN. They have twice as many uplinks as NICs.
	const spread = `
host: {count: 32, gpus: 1, gpu: h100, nic: {count: 1, model: connectx-7, speed: 400Gbps}}
fabric: {topology: leaf-spine, leaves: 4, spines: 8, uplink: {speed: 400Gbps, count: 1}}
routing: {mode: ecmp, hash_fields: [src_ip, dst_ip, src_port, dst_port, protocol, dst_qp]}
job: {collective: all_reduce, algorithm: ring, placement: spread, begin: 64M, end: 64M}
dcqcn: {enabled: false}
qos: {ecn: {enabled: false}}
` + simple
	const seeds = 5
	mean := func(qps int, set ...string) (float64, error) {
		var sum float64
		for seed := 1; seed <= seeds; seed++ {
			got, err := simulatedBusBW(ctx, spread, append(set, fmt.Sprintf("seed=%d", seed), fmt.Sprintf("rdma.qps_per_connection=%d", qps))...)
			if err != nil {
				return 0, err
			}
			sum += got / seeds
		}
		return sum, nil
	}
	gain := func(set ...string) (float64, error) {
		one, err := mean(1, set...)
		if err != nil {
			return 0, err
		}
		four, err := mean(4, set...)
		return four/one - 1, err
	}
	var rows []Row
	for _, spines := range []int{8, 16} {
		got, err := gain(fmt.Sprintf("fabric.spines=%d", spines))
		if err != nil {
			return nil, err
		}
		rows = append(rows, Between(fmt.Sprintf("ring across leaves of 8 hosts, %d uplinks each: gain of 4 queue pairs, mean of %d seeds", spines, seeds), 0.30, 0.60, got, ""))
	}
	got, err := gain("fabric.leaves=1", "fabric.spines=1")
	if err != nil {
		return nil, err
	}
	return append(rows, Between("under one leaf", -0.05, 0.05, got, "")), nil
}
