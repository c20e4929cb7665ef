package sim_test

import (
	"context"
	"encoding/binary"
	"hash"
	"hash/fnv"
	"testing"

	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/internal/twin/sim"
	"weir/units"
)

// digest hashes everything that a run counted, and when its flows ended.
func digest(s *sim.Sim, c *cluster.Cluster) uint64 {
	h := fnv.New64a()
	add(h, s.Now(), s.Engine())
	for id := range s.Flows() {
		f := s.Flow(sim.FlowID(id))
		add(h, f.Sent, f.Done)
	}
	for p := range c.Ports {
		for prio := range uint8(qos.Priorities) {
			add(h, s.Counters(cluster.PortID(p), prio))
		}
	}
	for i := range c.Hosts {
		for k := range c.Hosts[i].NICs {
			add(h, s.NIC(cluster.NICRef{Host: int32(i), NIC: int32(k)}))
		}
	}
	return h.Sum64()
}

func add(h hash.Hash, values ...any) {
	for _, v := range values {
		if err := binary.Write(h, binary.LittleEndian, v); err != nil {
			panic(err)
		}
	}
}

// A small fabric with everything on, overloaded two to one.
const mixedFabric = `
host: {count: 16, gpus: 0, nic: {count: 1, model: connectx-7, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 4, spines: 2}
switch: {model: spectrum-3}
job: {pattern: permutation, size: 1MB}
`

func mixedRun(t testing.TB, heap, check bool, set ...string) (*sim.Sim, *cluster.Cluster) {
	t.Helper()
	c := loadCluster(t, mixedFabric, set...)
	s, err := sim.New(sim.Config{Cluster: c, HeapQueue: heap, Check: check})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 48 {
		src, dst := i%16, (i*7+3)%16
		if i >= 32 {
			dst = 5 // an incast on top
		}
		if src == dst {
			continue
		}
		f := sim.Flow{
			Src: cluster.NICRef{Host: int32(src)}, Dst: cluster.NICRef{Host: int32(dst)},
			Bytes: units.Bytes(200_000 + 7919*i), Start: units.Time(i%3) * 5 * units.Microsecond, QueuePairs: 1 + i%3,
		}
		if _, err := s.AddFlow(f); err != nil {
			t.Fatal(err)
		}
	}
	return s, c
}

// The same input gives the same counters, whatever queue holds the events, and
// however often a run is stopped and continued.
func TestDeterminism(t *testing.T) {
	for _, mode := range []string{"ecmp", "adaptive", "flowlet", "spray"} {
		t.Run(mode, func(t *testing.T) {
			set := []string{"routing.mode=" + mode}
			if mode != "ecmp" {
				set = append(set, "rdma.out_of_order=true", "switch.model=spectrum-4")
			}
			s, c := mixedRun(t, false, true, set...)
			finish(t, s)
			want := digest(s, c)
			tot := s.Totals()
			if tot.ECNMarked == 0 || tot.CNPs == 0 || tot.Drops != 0 {
				t.Errorf("the run exercises too little: %+v", tot)
			}

			for name, heap := range map[string]bool{"again": false, "heap": true} {
				s, c := mixedRun(t, heap, false, set...)
				finish(t, s)
				if got := digest(s, c); got != want {
					t.Errorf("%s: digest %x, want %x", name, got, want)
				}
			}

			s, c = mixedRun(t, false, false, set...)
			for until := units.Time(0); until < 200*units.Microsecond; until += 1237 * units.Nanosecond {
				if err := s.Run(context.Background(), until); err != nil {
					t.Fatal(err)
				}
			}
			finish(t, s)
			if got := digest(s, c); got != want {
				t.Errorf("in pieces: digest %x, want %x", got, want)
			}

			s, c = mixedRun(t, false, false, append(set, "seed=2")...)
			finish(t, s)
			if digest(s, c) == want {
				t.Error("another seed gives the same digest: nothing is drawn")
			}
		})
	}
}

// Doubling all rates and halving all delays and times of the model halves all
// times.
func TestTimeScaling(t *testing.T) {
	run := func(scale int64) units.Time {
		c := loadCluster(t, mixedFabric, "qos.ecn.probability=0%", "routing.mode=ecmp", "qos.ecn.max=30MB", "qos.ecn.min=29MB")
		for i := range c.Links {
			c.Links[i].Rate *= units.BitRate(scale)
			c.Links[i].Delay = 640 * units.Nanosecond / units.Time(scale)
		}
		for i := range c.Ports {
			c.Ports[i].Rate *= units.BitRate(scale)
		}
		for i := range c.Nodes {
			if m := c.Nodes[i].Model; m != nil {
				fast := *m
				fast.Latency = 400 * units.Nanosecond / units.Time(scale)
				c.Nodes[i].Model = &fast
			}
		}
		c.DCQCN.Enabled = false
		c.QoS.Headroom = 100 * units.KB
		model := sim.DefaultModel(c)
		model.PauseReaction /= units.Time(scale)
		model.CardLatency, model.NICPause = false, false
		for h := range c.Hosts {
			for k := range c.Hosts[h].NICs {
				c.Hosts[h].NICs[k].PCIe *= units.BitRate(scale)
			}
		}
		s, err := sim.New(sim.Config{Cluster: c, Model: model, Check: true})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 16 {
			f := sim.Flow{Src: cluster.NICRef{Host: int32(i)}, Dst: cluster.NICRef{Host: int32(i*5+2) % 16}, Bytes: 3 * units.MB}
			if f.Src == f.Dst {
				continue
			}
			if _, err := s.AddFlow(f); err != nil {
				t.Fatal(err)
			}
		}
		finish(t, s)
		return s.Now()
	}
	slow, fast := run(1), run(2)
	if d := slow - 2*fast; d < -slow/1_000_000 || d > slow/1_000_000 {
		t.Errorf("at double speed the run takes %v, want half of %v", fast, slow)
	}
}

// In steady state no packet allocates memory.
func TestNoAllocation(t *testing.T) {
	c := loadCluster(t, mixedFabric)
	s, err := sim.New(sim.Config{Cluster: c})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(16) {
		for _, d := range []int32{1, 6} {
			f := sim.Flow{Src: cluster.NICRef{Host: i}, Dst: cluster.NICRef{Host: (i + d) % 16}, Bytes: 100 * units.MB}
			if _, err := s.AddFlow(f); err != nil {
				t.Fatal(err)
			}
		}
	}
	until := 3 * units.Millisecond
	step := func() {
		until += 20 * units.Microsecond
		if err := s.Run(context.Background(), until); err != nil {
			t.Fatal(err)
		}
	}
	step()
	before := s.Engine().PacketHops
	if n := testing.AllocsPerRun(20, step); n != 0 {
		t.Errorf("%v allocations in 20 us", n)
	}
	if hops := s.Engine().PacketHops - before; hops < 10_000 {
		t.Errorf("only %d packet-hops were watched", hops)
	}
}
