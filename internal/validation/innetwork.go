package validation

import "context"

// inNetwork compares the closed form of in-network reduction with what is
// published and with a ring that is simulated by packets.
func inNetwork(ctx context.Context) ([]Row, error) {
	const one = `
host: {count: 16, gpus: 1, gpu: a100, nic: {count: 1, model: connectx-6, speed: 200Gbps}}
fabric: {topology: single-switch}
transport: infiniband
transports: {infiniband: {in_network_reduction: true}}
job: {collective: all_reduce, begin: 1G, end: 1G}
`
	const dgx = `
host: {count: 4, gpus: 8, gpu: a100, nic: {count: 8, model: connectx-6, speed: 200Gbps}}
fabric: {topology: rail-optimised}
transport: infiniband
transports: {infiniband: {in_network_reduction: true}}
job: {collective: all_reduce, begin: 4G, end: 4G}
`
	algbw := func(text string, set ...string) (float64, error) {
		rows, err := simulate(ctx, text, set...)
		if err != nil {
			return 0, err
		}
		r := &rows[len(rows)-1]
		return float64(r.Bytes) / r.Time.Seconds() / 1e9, nil
	}
	single, err := algbw(one)
	if err != nil {
		return nil, err
	}
	whole, err := algbw(one, "transports.infiniband.reduction_share=100%")
	if err != nil {
		return nil, err
	}
	ring, err := algbw(one, "job.algorithm=ring", "job.begin=128M", "job.end=128M", "nccl.protocol=Simple")
	if err != nil {
		return nil, err
	}
	four, err := algbw(dgx, "host.nic.count=4")
	if err != nil {
		return nil, err
	}
	eight, err := algbw(dgx)
	if err != nil {
		return nil, err
	}
	return []Row{
		Near("16 nodes on HDR, 1 GiB: share of 25 GB/s (closed form)", 95, 100*single/25, 0.02, "%").because("the same figure is the table's reduction_share: the row shows that nothing else takes from it"),
		Near("whole line, 16 nodes: algorithm bandwidth over that of a ring by packets, 2 x 15/16", 1.875, whole/ring, 0.05, ""),
		Near("DGX A100 with 4 x HDR, 4 GiB: algorithm bandwidth, rule of thumb of NCCL's maintainer", 80, four, 0.20, "GB/s"),
		Near("DGX A100 with 8 x HDR, 4 GiB: limited by NVLink", 110, eight, 0.20, "GB/s").because("the model's NVLink carries 270 of 300 GB/s each way between nodes, here the data 1.75 times; the published figure fits 193 GB/s"),
	}, nil
}
