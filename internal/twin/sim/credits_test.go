package sim_test

import (
	"fmt"
	"testing"

	"weir/internal/cluster"
	"weir/internal/twin/sim"
	"weir/units"
)

func infiniband(t testing.TB, hosts int, table, more string) *cluster.Cluster {
	t.Helper()
	return loadCluster(t, fmt.Sprintf(`
host: {count: %d, gpus: 0, nic: {count: 1, model: connectx-7, speed: 400Gbps, pcie: 1Tbps}}
transport: infiniband
transports: {infiniband: {%s}}
%s
job: {pattern: incast, size: 1MB}
`, hosts, table, more))
}

const oneSwitch = "fabric: {topology: single-switch}"

// A link carries the receive buffer once each credit round trip, and no more
// than its rate (validation row V31): 31 frames of 65 blocks, 128,960 bytes, are
// 400 Gb/s up to 2.58 us, half of that at twice the way, and half the buffer
// has half the reach. Throughput is counted in blocks.
func TestV31Credits(t *testing.T) {
	const block, frame = 65 * 64, 4122
	for _, c := range []struct {
		buffer units.Bytes
		way    units.Time // credit round trip, the frame's own 82.4 ns in it
		gbps   float64
	}{
		{31 * block, 2560 * units.Nanosecond, 400},
		{31 * block, 5120 * units.Nanosecond, 201.5},
		{31 * block, 10240 * units.Nanosecond, 100.75},
		{62 * block, 5120 * units.Nanosecond, 400},
		{15 * block, 2560 * units.Nanosecond, 195},
	} {
		cl := infiniband(t, 2, fmt.Sprintf("lane_buffer: %d, switch_latency: 100ns, credit_delay: 100ns", c.buffer), oneSwitch)
		for i := range cl.Links {
			cl.Links[i].Delay = 0
			if cl.Ports[cl.Links[i].A].Node == cl.Hosts[0].Node || cl.Ports[cl.Links[i].B].Node == cl.Hosts[0].Node {
				cl.Links[i].Delay = (c.way - 200*units.Nanosecond - 82440*units.Picosecond) / 2
			}
		}
		s := simulate(t, sim.Config{Cluster: cl, Check: true})
		send(t, s, 0, 1, 40*units.MB)
		runUntil(t, s, 20*units.Microsecond)
		own, _ := nicPort(cl, 0)
		before, at := s.Counters(own, cl.QoS.RoCE().Priority).TxFrames, s.Now()
		runUntil(t, s, 520*units.Microsecond)
		frames := s.Counters(own, cl.QoS.RoCE().Priority).TxFrames - before
		size := float64(block)
		if c.gbps == 400 { // the line is full: frames as they are
			size = frame
		}
		within(t, fmt.Sprintf("%v, %v: Gb/s", c.buffer, c.way), float64(frames)*size*8/(s.Now()-at).Seconds()/1e9, c.gbps, 0.01)
		if n := s.Totals(); n.Drops+n.XOFF+n.ECNMarked+n.CNPs != 0 {
			t.Errorf("%+v, want neither drops nor pauses, marks and CNPs", n)
		}
	}
}

// Whatever the traffic, credits lose nothing, mark nothing and leave no lane
// without them: overload over adaptive routes, invariants checked.
func TestCreditsLoseNothing(t *testing.T) {
	for seed := uint64(1); seed <= 3; seed++ {
		cl := infiniband(t, 16, "lane_buffer: 20KB", "fabric: {topology: leaf-spine, leaves: 4, spines: 2, uplink: {speed: 200Gbps, count: 1}}")
		s := simulate(t, sim.Config{Cluster: cl, Check: true, Seed: seed})
		for i := range 48 {
			dst := (i*7 + int(seed)) % 16
			if dst == i%16 {
				dst = (dst + 1) % 16
			}
			if i%3 == 0 && i%16 != 5 {
				dst = 5
			}
			send(t, s, i%16, dst, units.Bytes(100_000+i*7_001))
		}
		finish(t, s)
		for i := range 48 {
			if f := s.Flow(sim.FlowID(i)); f.Done == units.Never {
				t.Errorf("flow %d is not done", i)
			}
		}
		if n := s.Totals(); n.Drops+n.Lost+n.Retransmitted+n.XOFF+n.ECNMarked+n.CNPs != 0 {
			t.Errorf("%+v", n)
		}
	}
}

// Frames that a link loses take no credits with them.
func TestCreditsOfLostFrames(t *testing.T) {
	cl := infiniband(t, 2, "lane_buffer: 20KB", oneSwitch)
	s := simulate(t, sim.Config{Cluster: cl, Check: true})
	own, _ := nicPort(cl, 0)
	if err := s.SetLoss(own, 0.01); err != nil {
		t.Fatal(err)
	}
	id := send(t, s, 0, 1, 10*units.MB)
	finish(t, s)
	if f := s.Flow(id); f.Done == units.Never || s.Totals().Retransmitted == 0 {
		t.Errorf("done at %v with %d packets sent again", f.Done, s.Totals().Retransmitted)
	}
}

// The same input gives the same result with either queue of events.
func TestCreditsDeterminism(t *testing.T) {
	run := func(heap bool) string {
		cl := infiniband(t, 8, "lane_buffer: 16KB", "fabric: {topology: leaf-spine, leaves: 2, spines: 2}")
		s := simulate(t, sim.Config{Cluster: cl, HeapQueue: heap})
		for i := range 8 {
			send(t, s, i, (i+3)%8, units.MB)
			send(t, s, i, (i+1)%8, units.MB)
		}
		finish(t, s)
		text := fmt.Sprint(s.Now(), s.Totals())
		for i := range 16 {
			text += fmt.Sprint(s.Flow(sim.FlowID(i)).Done)
		}
		return text
	}
	if a, b := run(false), run(true); a != b {
		t.Errorf("with a wheel\n%s\nwith a heap\n%s", a, b)
	}
}

// In steady state no packet allocates memory.
func TestCreditsNoAllocation(t *testing.T) {
	cl := infiniband(t, 3, "lane_buffer: 32KB", oneSwitch)
	s := simulate(t, sim.Config{Cluster: cl})
	send(t, s, 0, 2, 400*units.MB)
	send(t, s, 1, 2, 400*units.MB)
	runUntil(t, s, units.Millisecond)
	at := s.Now()
	if n := testing.AllocsPerRun(20, func() {
		at += 50 * units.Microsecond
		runUntil(t, s, at)
	}); n != 0 {
		t.Errorf("%g allocations in 50 us", n)
	}
}

// RoCEv1 has no UDP port: all queue pairs between two cards take one path.
func TestRoCEv1HasOnePath(t *testing.T) {
	used := func(transport string) (n int) {
		cl := loadCluster(t, `
host: {count: 2, gpus: 0, nic: {count: 1, model: connectx-7, speed: 400Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 4, uplink: {speed: 100Gbps, count: 1}}
transport: `+transport+`
job: {pattern: list, flows: [{src: host-0/nic-0, dst: host-1/nic-0}]}
`)
		s := simulate(t, sim.Config{Cluster: cl, Check: true})
		for range 32 {
			send(t, s, 0, 1, 100_000)
		}
		finish(t, s)
		for id := range cl.Ports {
			p := &cl.Ports[id]
			if cl.Nodes[p.Node].Tier == 1 && p.Link != cluster.LinkID(cluster.None) && cl.Nodes[cl.Ports[p.Peer].Node].Tier == 2 {
				if s.Counters(cluster.PortID(id), cl.QoS.RoCE().Priority).TxBytes > 50_000 {
					n++
				}
			}
		}
		return n
	}
	if n := used("rocev1"); n != 1 {
		t.Errorf("RoCEv1 uses %d uplinks, want 1", n)
	}
	if n := used("rocev2"); n < 3 {
		t.Errorf("RoCEv2 uses %d uplinks, want most of 4", n)
	}
}

// Two rails are two subnets, which RoCEv1 cannot leave: Connect says why.
func TestRoCEv1StaysInItsSubnet(t *testing.T) {
	cl := loadCluster(t, `
host: {count: 2, gpus: 0, nic: {count: 2, model: connectx-7, speed: 400Gbps}}
fabric: {topology: single-switch}
transport: rocev1
job: {pattern: list, flows: [{src: host-0/nic-0, dst: host-1/nic-0}]}
`)
	s := simulate(t, sim.Config{Cluster: cl})
	if _, err := s.Connect(cluster.NICRef{}, cluster.NICRef{Host: 1}, sim.Options{}); err != nil {
		t.Error(err)
	}
	if _, err := s.Connect(cluster.NICRef{}, cluster.NICRef{Host: 1, NIC: 1}, sim.Options{}); err == nil {
		t.Error("a connection between two subnets")
	}
}
