package validation

import (
	"context"
	"fmt"

	"weir/internal/cluster"
	"weir/internal/twin"
)

// runFile simulates a cluster file that stands in the code.
func runFile(ctx context.Context, text string, set ...string) (*twin.Result, error) {
	f, err := cluster.Parse("validation.yaml", []byte(text), set)
	if err != nil {
		return nil, err
	}
	return twin.Run(ctx, f.Cluster, twin.Options{})
}

// incast is n long flows into one 100 Gb/s egress with 8 us base round trip.
func incast(n int) string {
	return fmt.Sprintf(`
host: {count: %d, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch, host_link: {delay: 1us}}
switch: {model: spectrum-2}
job: {pattern: incast, receiver: host-%d/nic-0, senders: %d, size: %dMiB}
`, n+1, n, n, 1024/n)
}

func networkTargets() []Target {
	return []Target{
		{
			ID: "V21", Title: "Marking threshold below the coincidence level",
			Source: "independent packet model (S4): 100 Gb/s egress, 8 us round trip, MTU 4096, marking at enqueue, adapter defaults",
			Long:   true, Run: runV21,
		},
	}
}

func runV21(ctx context.Context) ([]Row, error) {
	var rows []Row
	share := func(n int, low, high, probability string) (float64, error) {
		r, err := runFile(ctx, incast(n), "qos.ecn.min="+low, "qos.ecn.max="+high, "qos.ecn.probability="+probability)
		if err != nil {
			return 0, err
		}
		return 100 * r.Network.BusiestEgress.Share, nil
	}
	for _, c := range []struct {
		flows    int
		expected float64
	}{{4, 26}, {8, 28}, {16, 33}} {
		got, err := share(c.flows, "10KB", "12KB", "100%")
		if err != nil {
			return nil, err
		}
		rows = append(rows, Points(fmt.Sprintf("%d flows, 10 to 12 KB", c.flows), c.expected, got, 8, "% of line"))
	}
	// Longer flows: the burst at line rate with which they start, and the cuts
	// that follow it, take some 20 ms.
	r, err := runFile(ctx, incast(8), "job.size=1GiB", "qos.ecn.min=400KB", "qos.ecn.max=1600KB", "qos.ecn.probability=20%")
	if err != nil {
		return nil, err
	}
	return append(rows, Between("8 flows of 1 GiB, 400 to 1600 KB at 20 %", 98, 100, 100*r.Network.BusiestEgress.Share, "% of line")), nil
}
