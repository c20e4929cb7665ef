package verdict

import (
	"context"
	"os"
	"strings"
	"testing"

	"weir/internal/answer/expect"
	"weir/internal/cluster"
	"weir/internal/collective/nccl"
	"weir/internal/twin"
	"weir/internal/twin/plan"
)

// judge runs a cluster's first job and judges it.
func judge(t *testing.T, c *cluster.Cluster) Verdict {
	t.Helper()
	r, err := twin.Run(context.Background(), c, twin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if c.Jobs[0].Kind == cluster.FlowJob {
		return Flows(c, r)
	}
	p, err := plan.New(c, &c.Jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	var expected []expect.Collective
	for _, row := range r.Collectives {
		expected = append(expected, expect.With(p, nccl.Choice{Algorithm: row.Algorithm, Protocol: row.Protocol}, row.Bytes))
	}
	return Collectives(c, r, expected)
}

func text(t *testing.T, yaml string, set ...string) Verdict {
	t.Helper()
	f, err := cluster.Parse("test.yaml", []byte(yaml), set)
	if err != nil {
		t.Fatal(err)
	}
	return judge(t, f.Cluster)
}

func check(t *testing.T, what string, v Verdict, limit, findings string) {
	t.Helper()
	var ids []string
	for _, f := range v.Findings {
		ids = append(ids, f.Cause)
		if len(f.Evidence) == 0 || len(f.Fix) == 0 || f.RefutedBy == "" || f.Where == "" {
			t.Errorf("%s: finding lacks something: %+v", what, f)
		}
	}
	if got := strings.Join(ids, " "); v.LimitedBy != limit || got != findings {
		t.Errorf("%s: share %.3f limited by %q with %q, want %q with %q\n%s", what, v.Share, v.LimitedBy, got, limit, findings, v.Sentence)
	}
	if !strings.HasSuffix(v.Sentence, ".") {
		t.Errorf("%s: sentence %q", what, v.Sentence)
	}
}

// The incast of the README: healthy at common thresholds; named when ECN marks
// at two packets (validation row V21: 28 % of line rate).
func TestIncastRuns(t *testing.T) {
	for _, test := range []struct {
		set             []string
		limit, findings string
		low, high       float64
	}{
		{nil, "line rate", "", 0.98, 1},
		{[]string{"qos.ecn.min=10KB", "qos.ecn.max=12KB", "qos.ecn.probability=100%", "job.size=64MiB"}, "ecn-threshold-too-low", "ecn-threshold-too-low", 0.20, 0.36},
	} {
		c, err := cluster.Load(os.DirFS("../../../examples"), "incast-8to1.yaml", test.set)
		if err != nil {
			t.Fatal(err)
		}
		v := judge(t, c)
		check(t, strings.Join(test.set, " "), v, test.limit, test.findings)
		if v.Share < test.low || v.Share > test.high {
			t.Errorf("%v: share of line %.3f, want %.2f to %.2f", test.set, v.Share, test.low, test.high)
		}
	}
}

const ring = `
host: {count: 16, gpus: 1, gpu: h100, nic: {count: 1, model: connectx-7, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 4, spines: 4, uplink: {speed: 100Gbps}}
job: {collective: all_reduce, algorithm: ring, placement: spread, begin: 16M, end: 16M}
nccl: {protocol: Simple}
`

// Collectives with one sickness at a time.
func TestSickRuns(t *testing.T) {
	adaptive := "routing.mode=adaptive"
	check(t, "healthy", text(t, ring, adaptive), "NIC", "")
	check(t, "hash of few flows", text(t, ring, "routing.mode=ecmp"), "ecmp-collision", "ecmp-collision")
	check(t, "one source port", text(t, ring, "routing.mode=ecmp", "rdma.source_ports=fixed"), "fixed-source-port", "fixed-source-port")
	check(t, "small size", text(t, ring, adaptive, "job.begin=64K", "job.end=64K"), "latency", "")
	check(t, "narrow slot", text(t, ring, adaptive, "host.nic.pcie=50Gbps"), "PCIe", "pcie-bottleneck")
	check(t, "spraying without placement", text(t, ring, "routing.mode=spray", "rdma.out_of_order=false", "switch.model=spectrum-4"), "reordering", "reordering")
	// Four hosts of a leaf over two uplinks.
	narrow := []string{adaptive, "fabric.spines=2", "fabric.uplink.count=1"}
	check(t, "oversubscribed", text(t, ring, narrow...), "uplinks", "")
	check(t, "no ECN", text(t, ring, append(narrow, "qos.ecn.enabled=false", "switch.buffer=4MB")...), "ecn-not-configured", "ecn-not-configured")
	check(t, "no PFC, no ECN, small buffer", text(t, ring, append(narrow, "qos.pfc=false", "qos.ecn.enabled=false", "switch.buffer=2MB")...),
		"pfc-not-enabled-on-path", "pfc-not-enabled-on-path")
}

// A permutation under ECMP: some uplink is full, but the flows fall short of their NICs.
func TestPermutationRuns(t *testing.T) {
	const permutation = `
host: {count: 16, gpus: 0, nic: {count: 1, model: connectx-7, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 8, uplink: {speed: 100Gbps}}
dcqcn: {enabled: false}
job: {pattern: permutation, size: 8MiB}
`
	check(t, "ECMP", text(t, permutation, "routing.mode=ecmp"), "ecmp-collision", "ecmp-collision")
	check(t, "adaptive", text(t, permutation, "routing.mode=adaptive"), "NIC", "")
}
