package twin

import (
	"fmt"
	"math"
	"os"
	"testing"

	"weir/internal/cluster"
	"weir/internal/twin/fabric"
	"weir/internal/twin/flow"
	"weir/internal/twin/sim"
)

func parse(t testing.TB, text string, set ...string) *cluster.Cluster {
	t.Helper()
	f, err := cluster.Parse("test.yaml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	return f.Cluster
}

const clos = `
host: {count: 16, gpus: 4, gpu: a100, nic: {count: 4, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 4, spines: 4, uplink: {count: 4, speed: 100Gbps}}
switch: {model: spectrum-3}
qos: {ecn: {min: 400KB, max: 1600KB, probability: 20%}}
job: {collective: all_reduce, algorithm: ring, begin: 1M, end: 1M, placement: spread}
`

const permutation = `
host: {count: 32, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 4, spines: 8, uplink: {speed: 100Gbps}}
switch: {model: spectrum-2}
job: {pattern: permutation, size: 4M}
`

// The fluid model takes the very links that packets take: every port that sends
// data in one does so in the other, and as much.
func TestSameLinks(t *testing.T) {
	for name, c := range map[string]*cluster.Cluster{
		"ring":                parse(t, clos),
		"tree":                parse(t, clos, "nccl.algorithm=tree", "job.algorithm=tree"),
		"all_to_all":          parse(t, clos, "job.collective=all_to_all", "job.algorithm=auto", "job.nodes=6"),
		"two queue pairs":     parse(t, clos, "rdma.qps_per_connection=2"),
		"hash of queue pairs": parse(t, clos, "routing.hash_fields=[src_ip, dst_ip, dst_qp]"),
		"another seed":        parse(t, clos, "seed=7"),
		"one seed for all":    parse(t, clos, "routing.hash_seed=5"),
		"flows":               parse(t, permutation),
		"fixed source port":   parse(t, permutation, "rdma.source_ports=fixed"),
	} {
		t.Run(name, func(t *testing.T) {
			var s *sim.Sim
			if _, err := Run(t.Context(), c, Options{Prepare: func(own *sim.Sim) error { s = own; return nil }}); err != nil {
				t.Fatal(err)
			}
			routes, err := fabric.New(c)
			if err != nil {
				t.Fatal(err)
			}
			r, err := flow.Run(t.Context(), flow.Config{Cluster: c, Fabric: routes})
			if err != nil {
				t.Fatal(err)
			}
			prio := c.QoS.RoCE().Priority
			bad := 0
			for id := range c.Ports {
				packets, fluid := float64(s.Counters(cluster.PortID(id), prio).TxBytes), r.Bytes[id]/r.Payload
				// Acknowledgements and cleared slots are packets alone.
				const control = 0.06
				if (fluid > 5e5) != (packets > 5e5) || fluid > 5e5 && math.Abs(fluid/packets-1) > control+0.1 {
					if bad++; bad < 6 {
						t.Errorf("%s: %.0f bytes by packets, %.0f by flows", portName(c, cluster.PortID(id)), packets, fluid)
					}
				}
			}
		})
	}
}

// timeOf returns what the slowest row of a run takes, in microseconds.
func timeOf(t *testing.T, c *cluster.Cluster, f Fidelity) float64 {
	t.Helper()
	r, err := Run(t.Context(), c, Options{Fidelity: f})
	if err != nil {
		t.Fatal(err)
	}
	us := 0.
	for i := range r.Collectives {
		if got := r.Collectives[i].Fidelity; got != string(f) {
			t.Errorf("a row by %s, want %s", got, f)
		}
		us = max(us, r.Collectives[i].Time.Microseconds())
	}
	for i := range r.Flows {
		us = max(us, r.Flows[i].FCT.Microseconds())
	}
	return us
}

func compareFidelities(t *testing.T, c *cluster.Cluster, tolerance float64) {
	t.Helper()
	packets, flows := timeOf(t, c, Packets), timeOf(t, c, Flows)
	t.Logf("packets %.1f us, flows %.1f us: %+.1f %%", packets, flows, 100*(flows/packets-1))
	if math.Abs(flows/packets-1) > tolerance {
		t.Errorf("%.1f us by flows, %.1f by packets, allowed are %.0f %%", flows, packets, 100*tolerance)
	}
}

// Within 5 % where nothing is congested: four nodes on one switch.
func TestUncongested(t *testing.T) {
	const text = `
host: {count: 4, gpus: 8, gpu: a100, nic: {count: 8, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-2}
job: {collective: %s, algorithm: %s, begin: %s, end: %[3]s}
`
	for _, op := range []string{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"} {
		algorithm := "ring"
		if op == "all_to_all" {
			algorithm = "auto"
		}
		for _, size := range []string{"4M", "16M", "32M"} {
			t.Run(op+" "+size, func(t *testing.T) { compareFidelities(t, parse(t, fmt.Sprintf(text, op, algorithm, size)), 0.05) })
		}
	}
}

// Within 15 % where the hash puts several flows on one link: rings whose
// neighbours all sit under other leaves. The pairs of an all_to_all miss that:
// up to 20 %, for congestion control does not hold a shared link full.
func TestCollisions(t *testing.T) {
	for seed := 1; seed <= 2; seed++ {
		t.Run(fmt.Sprintf("ring, seed %d", seed), func(t *testing.T) {
			compareFidelities(t, parse(t, clos, "job.end=16M", "job.begin=16M", fmt.Sprintf("seed=%d", seed)), 0.15)
		})
	}
	for seed := 1; seed <= 2; seed++ {
		t.Run(fmt.Sprintf("all_to_all, seed %d", seed), func(t *testing.T) {
			compareFidelities(t, parse(t, clos, "job.collective=all_to_all", "job.algorithm=auto", "job.end=16M", "job.begin=16M", fmt.Sprintf("seed=%d", seed)), 0.20)
		})
	}
}

// Three flows through two links of 100 Gb/s by hand: a and b share the first, b
// and c the second of twice the rate. And a flow alone runs at its NIC's rate.
func TestFlowRates(t *testing.T) {
	c := parse(t, `
host: {count: 3, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch, host_link: {delay: 0ns}}
switch: {latency: 0ns}
qos: {mtu: 4096}
job: {pattern: incast, receiver: host-2/nic-0, senders: 2, size: 100MB}
`)
	// Two senders share one port: 200 MB at 100 Gb/s x 4096/4178.
	if got, want := timeOf(t, c, Flows), 200e6*8/(100e9*4096/4178)*1e6; math.Abs(got/want-1) > 1e-3 {
		t.Errorf("%.2f us, want %.2f", got, want)
	}
}

// One step on 16,384 GPUs: another hash seed and a dead uplink change it.
func TestLargeStep(t *testing.T) {
	name := "../../examples/llama3-405b-16k.yaml"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	step := func(set []string, faults ...cluster.Fault) Step {
		c := parse(t, string(text), set...)
		c.Faults = faults
		routes, err := fabric.New(c)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), c, Options{Fidelity: Flows, Configure: func(cfg *sim.Config) { cfg.Fabric = routes }})
		if err != nil {
			t.Fatal(err)
		}
		return r.Steps[0]
	}
	healthy := step(nil)
	if healthy.Fidelity != "flow" || healthy.Time <= healthy.Compute {
		t.Errorf("fidelity %q, step %v, compute %v", healthy.Fidelity, healthy.Time, healthy.Compute)
	}
	if other := step([]string{"routing.hash_seed=7"}); other.Time == healthy.Time {
		t.Error("another hash seed changes nothing")
	}
	c := parse(t, string(text))
	link := ""
	for i := range c.Links {
		a, b := &c.Nodes[c.Ports[c.Links[i].A].Node], &c.Nodes[c.Ports[c.Links[i].B].Node]
		if a.Tier > 0 && b.Tier > 0 {
			link = a.Name + "~" + b.Name
			break
		}
	}
	if broken := step(nil, cluster.Fault{ID: "link-down-flap", Place: link, Severity: 1}); broken.Time == healthy.Time {
		t.Errorf("without %s the step takes as long", link)
	}
}

// Auto keeps to packets while they are few, and runs the largest size that fits
// both ways when they are not.
func TestAuto(t *testing.T) {
	small := parse(t, clos)
	r, err := Run(t.Context(), small, Options{Fidelity: Auto})
	if err != nil || len(r.Compared) != 0 || r.Collectives[0].Fidelity != "packet" {
		t.Errorf("%+v, %v", r, err)
	}
	large := parse(t, clos, "job.begin=4M", "job.end=4G", "job.factor=1024")
	r, err = Run(t.Context(), large, Options{Fidelity: Auto})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Collectives) != 2 || r.Collectives[0].Fidelity != "packet" || r.Collectives[1].Fidelity != "flow" {
		t.Errorf("%+v", r.Collectives)
	}
	if len(r.Compared) != 1 || r.Compared[0].Packets != r.Collectives[0].Time || math.Abs(r.Compared[0].Off()) > 0.15 {
		t.Errorf("%+v", r.Compared)
	}
	// What the fluid model does not have is refused by name, and needs packets.
	bad := parse(t, clos)
	bad.Faults = []cluster.Fault{{ID: "pfc-storm", Place: "host-0/nic-0", Severity: -1}}
	if _, err := Run(t.Context(), bad, Options{Fidelity: Flows}); err == nil {
		t.Error("a pause storm was run without packets")
	}
}
