package sim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/twin/plan"
	"weir/internal/twin/sim"
	"weir/units"
)

// pod is a small cluster: nodes of four GPUs with a 100 Gb/s NIC each.
func pod(t testing.TB, nodes int, more string) *cluster.Cluster {
	t.Helper()
	f, err := cluster.Parse("test.yaml", fmt.Appendf(nil, `
host: {count: %d, gpus: 4, gpu: h100, nic: {count: 4, model: connectx-7, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 2}
%s
`, nodes, more), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.Cluster
}

// collectives makes a simulator of all jobs of a cluster.
func collectives(t testing.TB, c *cluster.Cluster, change func(*sim.Config)) *sim.Sim {
	t.Helper()
	cfg := sim.Config{Cluster: c, Check: true}
	if change != nil {
		change(&cfg)
	}
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Jobs {
		p, err := plan.New(c, &c.Jobs[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddCollective(p, c.Jobs[i].Start); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func finish(t testing.TB, s *sim.Sim) {
	t.Helper()
	if err := s.Run(context.Background(), units.Never); err != nil {
		t.Fatal(err)
	}
}

// Every operation and algorithm ends on every shape, with the invariants of
// the fabric held and without loss.
func TestCollectivesEnd(t *testing.T) {
	for _, nodes := range []int{1, 2, 3, 4} {
		for op := collective.AllReduce; op <= collective.Broadcast; op++ {
			for _, a := range collective.Algorithms(op) {
				if a == collective.NVLS && nodes > 1 || a == collective.NVLSTree && nodes == 1 {
					continue
				}
				for _, more := range []string{"", "nccl: {protocol: LL128}", "nccl: {clear_to_send: false, pxn: false}", "rdma: {qps_per_connection: 4}"} {
					if more == "nccl: {protocol: LL128}" && a >= collective.NVLS {
						continue
					}
					c := pod(t, nodes, fmt.Sprintf("job: {collective: %s, algorithm: %s, begin: 64K, end: 1M, factor: 16, iterations: 2}\n%s", op, a, more))
					s := collectives(t, c, nil)
					finish(t, s)
					runs := s.CollectiveRuns(0)
					if len(runs) != 2 || runs[0].Time() <= 0 || runs[1].Time() <= runs[0].Time() {
						t.Errorf("%d nodes %s %s %s: %+v", nodes, op, a, more, runs)
					}
					if d := s.Totals(); d.Drops != 0 || d.Retransmitted != 0 {
						t.Errorf("%d nodes %s %s: %+v", nodes, op, a, d)
					}
				}
			}
		}
	}
}

// Payload that leaves each NIC, by validation row V43: ring 2 (n-1)/n x S / NICs,
// hierarchical 2 (k-1)/k x S / g, all_gather (n-1)/n x S / NICs; four nodes of four.
func TestNICBytes(t *testing.T) {
	const size = 15 * 16 * 4 * 4 * 4096 // divides into whole packets everywhere
	for _, test := range []struct {
		op, algorithm string
		want          float64
	}{
		{"all_reduce", "ring", 2 * 15. / 16 * size / 4},
		{"all_reduce", "hierarchical", 2 * 3. / 4 * size / 4},
		{"all_gather", "ring", 15. / 16 * size / 4},
		{"reduce_scatter", "ring", 15. / 16 * size / 4},
		{"all_to_all", "direct", 12. / 16 * size},
		{"broadcast", "ring", size * 3.75 / 16}, // S over three boundaries of nodes, and over the fourth on the channels whose ring has the root inside node 0
	} {
		c := pod(t, 4, fmt.Sprintf("job: {collective: %s, algorithm: %s, begin: %dB, end: %dB}\nnccl: {protocol: Simple}", test.op, test.algorithm, size, size))
		s := collectives(t, c, nil)
		finish(t, s)
		var packets float64
		for h := range c.Hosts {
			for n := range c.Hosts[h].NICs {
				packets += float64(s.NIC(cluster.NICRef{Host: int32(h), NIC: int32(n)}).DataSent)
			}
		}
		// Clear-to-send writes count as packets, too: one for each message of up to 1 MiB, and
		// those that are left over at the end. They are few.
		got := packets / 16 * 4096
		if got < test.want*0.999 || got > test.want*1.15 {
			t.Errorf("%s %s: %.4g bytes a NIC, want %.4g", test.op, test.algorithm, got, test.want)
		}
	}
}

// trace is what must be the same in two runs.
func trace(t testing.TB, s *sim.Sim, jobs int) string {
	finish(t, s)
	text := fmt.Sprintf("%+v %+v", s.Totals(), s.Engine())
	for j := range jobs {
		for _, r := range s.CollectiveRuns(j) {
			text += fmt.Sprintf(" %d-%d", r.Start, r.End)
		}
	}
	return text
}

// Two jobs side by side: the same again, and with another event queue.
func TestCollectivesDeterministic(t *testing.T) {
	const jobs = `
jobs:
  - {name: a, collective: all_reduce, algorithm: tree, begin: 256K, end: 1M, factor: 2, hosts: [host-0, host-1]}
  - {name: b, collective: all_to_all, begin: 1M, end: 1M, hosts: [host-2, host-3, host-1], start: 10us}
`
	c := pod(t, 4, jobs)
	first := trace(t, collectives(t, c, nil), 2)
	if again := trace(t, collectives(t, c, nil), 2); again != first {
		t.Errorf("two runs differ:\n%s\n%s", first, again)
	}
	heap := trace(t, collectives(t, c, func(cfg *sim.Config) { cfg.HeapQueue = true }), 2)
	if heap != first {
		t.Errorf("the event queue makes a difference:\n%s\n%s", first, heap)
	}
}

// A run that stops in the middle goes on as if it had not.
func TestCollectivesResume(t *testing.T) {
	c := pod(t, 2, "job: {collective: all_gather, begin: 1M, end: 4M, factor: 2}")
	whole := trace(t, collectives(t, c, nil), 1)
	s := collectives(t, c, nil)
	for until := units.Time(0); s.Working(); until += 7 * units.Microsecond {
		if err := s.Run(context.Background(), until); err != nil {
			t.Fatal(err)
		}
	}
	if got := trace(t, s, 1); got != whole {
		t.Errorf("in pieces:\n%s\nwhole:\n%s", got, whole)
	}
}

// Closed form of a ring all_gather of tiny blocks with Simple (V44): launch,
// 14 steps inside nodes, 1 between nodes; the fabric's own part within 2 us.
func TestTinyAllGather(t *testing.T) {
	c := pod(t, 2, "job: {collective: all_gather, algorithm: ring, begin: 4K, end: 4K}\nnccl: {protocol: Simple}")
	s := collectives(t, c, nil)
	finish(t, s)
	// The slowest chain of eight ranks crosses the boundary once or twice: 5 or 6 steps of 3.4 us, 2 or 1 of 14.
	got := s.CollectiveRuns(0)[0].Time().Microseconds()
	if want := 8.4 + 5*3.4 + 2*14; math.Abs(got-want) > 5 {
		t.Errorf("4 KiB: %.2f us, want %.2f", got, want)
	}
}

// The executor allocates nothing once a size runs.
func TestCollectiveAllocations(t *testing.T) {
	c := pod(t, 4, "job: {collective: all_reduce, algorithm: ring, begin: 64M, end: 64M}\nnccl: {protocol: Simple}")
	s := collectives(t, c, func(cfg *sim.Config) { cfg.Check = false })
	runUntil := func(at units.Time) {
		if err := s.Run(context.Background(), at); err != nil {
			t.Fatal(err)
		}
	}
	runUntil(2 * units.Millisecond)
	before := s.Engine().Completed
	var a, b runtime.MemStats
	runtime.ReadMemStats(&a)
	runUntil(5 * units.Millisecond)
	runtime.ReadMemStats(&b)
	messages := s.Engine().Completed - before
	if messages < 500 {
		t.Fatalf("%d messages in the window", messages)
	}
	if n := b.Mallocs - a.Mallocs; n > messages/100 {
		t.Errorf("%d allocations for %d messages", n, messages)
	}
}

// A job that cannot run is refused before anything starts.
func TestCollectiveRefused(t *testing.T) {
	c := pod(t, 2, "job: {collective: all_reduce, begin: 1K, end: 1K}")
	c.Jobs[0].Algorithm = collective.NVLS
	p, err := plan.New(c, &c.Jobs[0])
	if err != nil {
		t.Fatal(err)
	}
	s, err := sim.New(sim.Config{Cluster: c})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddCollective(p, 0); err == nil {
		t.Error("nvls on two nodes was taken")
	}
}

// A cancelled run keeps the sizes that it has finished.
func TestCollectiveCancelled(t *testing.T) {
	c := pod(t, 2, "job: {collective: all_reduce, algorithm: ring, begin: 1M, end: 256M, factor: 4}")
	ctx, cancel := context.WithCancel(context.Background())
	s := collectives(t, c, func(cfg *sim.Config) {
		cfg.Check = false
		cfg.ProgressEvery = 1000
		cfg.Progress = func(p sim.Progress) {
			if p.Now > 5*units.Millisecond {
				cancel()
			}
		}
	})
	if err := s.Run(ctx, units.Never); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want a cancelled run", err)
	}
	if n := len(s.CollectiveRuns(0)); n < 1 || n > 4 {
		t.Errorf("%d sizes are known", n)
	}
}

func BenchmarkRingAllReduce(b *testing.B) {
	c := pod(b, 16, "job: {collective: all_reduce, algorithm: ring, begin: 16M, end: 16M}\nnccl: {protocol: Simple}")
	var hops uint64
	for b.Loop() {
		s := collectives(b, c, func(cfg *sim.Config) { cfg.Check = false })
		finish(b, s)
		hops += s.Engine().PacketHops
	}
	b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
}
