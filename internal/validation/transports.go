package validation

import (
	"context"
	"fmt"

	"weir/internal/cluster"
	"weir/internal/twin"
	"weir/internal/twin/sim"
	"weir/units"
)

// transportTargets are the rows of TCP, InfiniBand and copies through host
// memory. All run with the parameters of internal/cluster/transports.go.
func transportTargets() []Target {
	const pkg, issues = "internal/twin/sim", "NVIDIA/nccl issues 209, 450, 465; nccl-tests 83"
	return []Target{
		{ID: "V07", Title: "TCP under random loss", Source: "Mathis et al. 1997: MSS/RTT sqrt(1.5/p)", Run: byTest(
			testRow{"state machines alone, p = 1e-3, 1e-2, Reno and CUBIC", "38.7, 12.2 segments a round trip", "±20 %", "internal/twin/tcp", "TestMathis"},
			testRow{"packets, MSS 1460, 50 us, Reno, p = 1e-3, 1e-4 (1e-5 with WEIR_LONG=1)", "9.0, 28.6, 90 Gb/s", "±20 %; CUBIC at least 0.9 of it", pkg, "TestV07Mathis"},
			testRow{"CUBIC's window over time", "86.7, 95.6, 100 segments", "±1 %", "internal/twin/tcp", "TestCubicCurve"},
			testRow{"DCTCP's alpha", "(15/16)^n; sqrt(2/W) at a step", "±0.1 %; ±20 %", "internal/twin/tcp", "TestDCTCPAlpha"})},
		{ID: "V31", Title: "InfiniBand: credits instead of PFC", Source: "min(line, buffer / credit round trip), 64-byte blocks", Run: byTest(
			testRow{"400 Gb/s, 129 KB a lane, 2.56 to 10.24 us; half and twice the buffer", "400, 201.5, 100.75; 195, 400 Gb/s", "±1 %", pkg, "TestV31Credits"},
			testRow{"overload over adaptive routes, invariants checked", "no drop, no pause, no mark", "must hold", pkg, "TestCreditsLoseNothing"})},
		{ID: "V32", Title: "InfiniBand: all_reduce in the switches, closed form", Source: "Graham et al., ISC 2020 (abstract); NVIDIA/nccl issue 320; bytes of a card", Run: inNetwork},
		{ID: "V53", Title: "One H100 per node, two nodes, simulated", Source: "NVIDIA/nccl-tests issue 232", Run: oneGPUANode},
		{ID: "V58", Title: "NCCL over sockets, simulated", Source: issues, Run: sockets},
		{ID: "V59", Title: "Host cost at 40G, simulated", Source: "Zhu et al., SIGCOMM 2015, figure 1 (recalled)", Run: hostCost},
		{ID: "V60", Title: "Kernel TCP per core, simulated", Source: "Cai et al., SIGCOMM 2021 (recalled)", Run: byTest(
			testRow{"one long flow, jumbo frames, one core of 3.4 GHz", "42 Gb/s", "±25 %", pkg, "TestV60OneCore"})},
		{ID: "V62", Title: "GPUDirect on and off, simulated", Source: "NVIDIA/nccl issues 1412 and 1579", Run: gpuDirect},
	}
}

// hostCost sends 2 KB between threads that sleep, and fills a 40 Gb/s link.
func hostCost(ctx context.Context) ([]Row, error) {
	const text = `
host: {count: 2, gpus: 0, cpu: {cores: 16, clock: 2.2GHz}, nic: {count: 1, model: connectx-6-dx, speed: 40Gbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-1}
qos: {mtu: 1024}
job: {pattern: list, flows: [{src: host-0/nic-0, dst: host-1/nic-0}]}
`
	run := func(transport string, count int, bytes units.Bytes) (end units.Time, receiver float64, err error) {
		f, err := cluster.Parse("target.yaml", []byte(text), []string{"transport=" + transport})
		if err != nil {
			return 0, 0, err
		}
		s, err := sim.New(sim.Config{Cluster: f.Cluster})
		if err != nil {
			return 0, 0, err
		}
		s.Handle(sim.Handlers{Delivered: func(_ sim.ConnID, other uint64, at units.Time) {
			if other == 0 {
				end = at
			}
		}})
		for range count {
			id, err := s.Connect(cluster.NICRef{}, cluster.NICRef{Host: 1}, sim.Options{})
			if err != nil {
				return 0, 0, err
			}
			s.Post(id, bytes, 0)
		}
		if count == 1 { // the other way, so that the run lasts until the delivery
			id, err := s.Connect(cluster.NICRef{Host: 1}, cluster.NICRef{}, sim.Options{})
			if err != nil {
				return 0, 0, err
			}
			s.Post(id, units.MB, 1)
		}
		err = s.Run(ctx, units.Never)
		return end, 100 * float64(s.CPUTime(1)) / float64(16*max(end, 1)), err
	}
	const streams, each = 8, 10 * units.MB
	end, share, err := run("tcp", streams, each)
	if err != nil {
		return nil, err
	}
	rows := []Row{
		Between("8 streams over TCP, MTU 1500: rate", 0.9*40*0.941, 40, float64(streams*each)*8/end.Seconds()/1e9, "Gb/s"),
		Between("the receiver's share of 16 cores of 2.2 GHz, published above 20 %, less a quarter", 15, 40, share, "%"),
	}
	for _, c := range []struct {
		transport string
		us        float64
	}{{"tcp", 25.4}, {"rocev2", 1.7}} {
		end, _, err := run(c.transport, 1, 2048)
		if err != nil {
			return nil, err
		}
		row := Near("2 KB over "+c.transport, c.us, end.Microseconds(), 0.25, "us")
		if row.Status == Missed {
			row = row.because("two cards of the catalogue's latency, a switch, and the frames' 0.4 us on each 40G cable; the published setup is not described")
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func oneGPUANode(ctx context.Context) ([]Row, error) {
	const text = `
host: {count: 2, gpus: 1, gpu: h100, nic: {count: 1, model: connectx-7, speed: 400Gbps}}
fabric: {topology: single-switch}
job: {collective: all_reduce, algorithm: tree, begin: 2M, end: 32M}
` + simple
	want := []float64{22.5, 27.4, 36.8, 40.0, 41.5}
	var rows []Row
	got, err := simulate(ctx, text, "nccl.channels=8")
	if err != nil {
		return nil, err
	}
	for i := range got {
		rows = append(rows, Near("tree, 8 channels, "+got[i].Bytes.String(), want[i], busBW(&got[i]), 0.15, "GB/s"))
	}
	plateau, err := simulatedBusBW(ctx, text, "nccl.channels=8", "job.begin=256M", "job.end=256M")
	if err != nil {
		return nil, err
	}
	rows = append(rows, Near("tree, 8 channels, 256 MiB: the plateau", 50, plateau, 0.15, "GB/s"))
	own, err := simulatedBusBW(ctx, text, "job.begin=32M")
	if err != nil {
		return nil, err
	}
	return append(rows, Near("tree, channels as the model chooses, 32 MiB", 41.5, own, 0.15, "GB/s").because(
		"for one card the model finds one ring and so two channels, each capped by NCCL's table for trees; the report does not say how many ran, 8 fit it")), nil
}

func sockets(ctx context.Context) ([]Row, error) {
	const cloud = `
host: {count: 4, gpus: 8, gpu: v100, cpu: {cores: 48, clock: 2.5GHz}, nic: {count: 1, model: connectx-6-dx, speed: %s}}
fabric: {topology: single-switch}
job: {collective: all_reduce, algorithm: ring, begin: 8M, end: 128M, factor: 4}
` + simple
	text := fmt.Sprintf(cloud, "100Gbps")
	tcp, err := simulate(ctx, text, "transport=tcp")
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i := range tcp {
		rows = append(rows, Between("4 nodes of 8 V100, 100G, one thread, "+tcp[i].Bytes.String(), 4, 6, busBW(&tcp[i]), "GB/s"))
	}
	last := busBW(&tcp[len(tcp)-1])
	rows = append(rows, Between("share of wire", 0.3, 0.6, last/12.5, ""))
	roce, err := simulatedBusBW(ctx, text)
	if err != nil {
		return nil, err
	}
	rows = append(rows, Between("RoCE over TCP, 128 MiB", 1.6, 3, roce/last, ""))
	eight, err := simulatedBusBW(ctx, fmt.Sprintf(cloud, "25Gbps"), "transport=tcp", "transports.tcp.threads=2", "transports.tcp.sockets=4")
	if err != nil {
		return nil, err
	}
	return append(rows, Between("25G, 8 sockets a connection: share of wire", 0.5, 0.9, eight/3.125, "").because(
		"the cloud's own limit (21 Gb/s of raw TCP both ways) is not in the model")), nil
}

func gpuDirect(ctx context.Context) ([]Row, error) {
	const text = `
host: {count: 2, gpus: 8, gpu: a100, nic: {count: 4, model: connectx-6, speed: 200Gbps}}
fabric: {topology: rail-optimised}
job: {collective: all_reduce, algorithm: ring, begin: 256M, end: 256M}
` + simple
	var busy [2]*twin.Collective
	for i, on := range []string{"true", "false"} {
		got, err := simulate(ctx, text, "rdma.gpudirect="+on)
		if err != nil {
			return nil, err
		}
		busy[i] = &got[0]
	}
	on, off := busBW(busy[0]), busBW(busy[1])
	own, err := simulatedBusBW(ctx, text, "rdma.gpudirect=false", "transports.host_copy.rate=400Gbps")
	if err != nil {
		return nil, err
	}
	return []Row{
		Between("16 A100 on 2 nodes, 4 x 200G, ring, 256 MiB: with over without GPUDirect", 1.2, 3, on/off, "").because("published 33 to 93 GB/s at 1 GB on hardware that is not described, and 79.7 to 96.1"),
		Near("with GPUDirect", 93, on, 0.15, "GB/s"),
		Between("GPUs with a path to host memory of their own: gain of GPUDirect", 1, 1.25, on/own, "").because("published 1.2 on GH200"),
	}, nil
}
