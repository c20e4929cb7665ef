package simulated

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// shape is a random cluster with a job and background traffic, as a cluster
// file.
func shape(r *rand.Rand) string {
	var b strings.Builder
	hosts := 8 + 4*r.IntN(3)
	nics := 1 + r.IntN(2)
	leaves := []int{2, 4}[r.IntN(2)]
	spines := []int{2, 4}[r.IntN(2)]
	topology := "leaf-spine"
	rails := nics > 1 && r.IntN(3) == 0
	if rails {
		topology, leaves = "rail-optimised", nics
	}
	fmt.Fprintf(&b, "host: {count: %d, gpus: 0, nic: {count: %d, model: connectx-6-dx, speed: 100Gbps}}\n", hosts, nics)
	down := hosts * nics / leaves
	cables := max(1, (down+spines-1)/spines)
	if r.IntN(3) == 0 {
		cables = max(1, cables/2) // twice as much below as above
	}
	fmt.Fprintf(&b, "fabric: {topology: %s, leaves: %d, spines: %d, uplink: {count: %d, speed: 100Gbps}}\n", topology, leaves, spines, cables)
	// Shared buffers that others have filled leave little to a queue: pause is
	// then near, as in a fabric under load.
	fmt.Fprintf(&b, "switch: {model: %s, alpha: %g}\n", []string{"spectrum-2", "spectrum-3"}[r.IntN(2)], []float64{0.03125, 0.015625, 0.0625}[r.IntN(3)])
	fmt.Fprintf(&b, "rdma: {timeout: 8, qps_per_connection: %d}\n", []int{1, 2, 4}[r.IntN(3)])
	b.WriteString("qos: {classes: [{name: storage, dscp: 18, priority: 2, lossless: true, share: 20%}]}\n")
	fmt.Fprintf(&b, "seed: %d\n", r.IntN(1<<20))
	b.WriteString("jobs:\n")
	size := 2 << r.IntN(2)
	switch r.IntN(4) {
	case 0:
		fmt.Fprintf(&b, "  - {name: train, pattern: permutation, size: %dMiB, placement_seed: %d}\n", 2*size, r.IntN(1000))
	case 1:
		fmt.Fprintf(&b, "  - {name: train, pattern: all-pairs, size: %dKiB, nics: [0]}\n", 64*size)
	default:
		// Every receiver has two to four senders: what an all-to-all of uneven
		// parts looks like for a while.
		b.WriteString("  - name: train\n    pattern: list\n    flows:\n")
		for h := range hosts {
			n := r.IntN(nics)
			for k := range 2 + r.IntN(3) {
				fmt.Fprintf(&b, "      - {src: host-%d/nic-%d, dst: host-%d/nic-%d, size: %dMiB}\n", (h+1+k*(hosts/5))%hosts, n, h, n, size)
			}
		}
	}
	// Storage traffic in its own class, a few flows.
	b.WriteString("  - name: storage\n    pattern: list\n    priority: 2\n    flows:\n")
	for range 2 + r.IntN(3) {
		a := r.IntN(hosts)
		n := r.IntN(nics)
		fmt.Fprintf(&b, "      - {src: host-%d/nic-%d, dst: host-%d/nic-%d, size: %dKiB}\n", a, n, (a+1+r.IntN(hosts-1))%hosts, n, 256*(1+r.IntN(4)))
	}
	return b.String()
}
