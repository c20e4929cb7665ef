//go:build unix

package sim_test

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"weir/internal/cluster"
	"weir/internal/twin/sim"
	"weir/units"
)

// cpuTime returns the processor time that this process has used. Unlike the
// clock it is of use on a busy machine.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// benchRun reports the speed of a run in packet-hops (frames put on links) for
// each second of processor time.
func benchRun(b *testing.B, load func() *sim.Sim) {
	var hops, events uint64
	var busy, ready time.Duration
	for b.Loop() {
		start := cpuTime()
		s := load()
		ready += cpuTime() - start
		start = cpuTime()
		if err := s.Run(context.Background(), units.Never); err != nil {
			b.Fatal(err)
		}
		busy += cpuTime() - start
		e := s.Engine()
		hops += e.PacketHops
		events += e.Events
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(hops)/busy.Seconds()/1e6, "Mhops/s")
	b.ReportMetric(float64(events)/float64(hops), "events/hop")
	b.ReportMetric(ready.Seconds()/float64(b.N), "s-to-ready")
	b.ReportMetric(float64(m.Sys)/1e6, "MB-sys")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkCases runs the cases of the ns-3 models with PFC, ECN and DCQCN on.
func BenchmarkCases(b *testing.B) {
	for _, k := range []struct {
		name string
		ns3Case
	}{
		{"W1", ns3Case{topology: "t1.topology.txt", flows: "w1_perm10MB.flows.txt", paths: "w1_paths.csv", ecn: true}},
		{"W3a", ns3Case{topology: "t1.topology.txt", flows: "w3a_ring64_64MB_local.ring", ecn: true}},
		{"W4", ns3Case{topology: "t3.topology.txt", flows: "w4_perm1024_1MB.flows.txt", paths: "w4_paths.csv", ecn: true}},
	} {
		b.Run(k.name, func(b *testing.B) { benchRun(b, func() *sim.Sim { return k.load(b) }) })
	}
}

// BenchmarkFabric is a permutation on real hardware's settings: 4,096 cards at
// 400 Gb/s behind 128 leaves and 32 spines.
func BenchmarkFabric(b *testing.B) {
	const hosts = 4096
	benchRun(b, func() *sim.Sim {
		c := loadCluster(b, fmt.Sprintf(`
name: fabric
host: {count: %d, gpus: 0, nic: {count: 1, model: connectx-7, speed: 400Gbps}}
fabric: {topology: leaf-spine, leaves: 128, spines: 32, uplink: {speed: 400Gbps, count: 1}}
switch: {model: spectrum-4}
job: {pattern: permutation, size: 1MB}
`, hosts))
		s, err := sim.New(sim.Config{Cluster: c})
		if err != nil {
			b.Fatal(err)
		}
		for i := range int32(hosts) {
			f := sim.Flow{Src: cluster.NICRef{Host: i}, Dst: cluster.NICRef{Host: (i + 33) % hosts}, Bytes: units.MB}
			if _, err := s.AddFlow(f); err != nil {
				b.Fatal(err)
			}
		}
		return s
	})
}

// loadCluster reads a cluster file given as text.
func loadCluster(t testing.TB, text string, overrides ...string) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Load(fstest.MapFS{"c.yaml": {Data: []byte(text)}}, "c.yaml", overrides)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
