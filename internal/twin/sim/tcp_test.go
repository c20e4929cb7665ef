package sim_test

import (
	"fmt"
	"os"
	"testing"

	"weir/internal/cluster"
	"weir/internal/twin/sim"
	"weir/units"
)

// tcpStar is hosts on one switch over TCP. Cycles of 0 leave the network alone
// to set the pace.
func tcpStar(t testing.TB, hosts int, rate, tcp, more string) *cluster.Cluster {
	t.Helper()
	model := "connectx-7"
	if rate == "40Gbps" {
		model = "connectx-6-dx"
	}
	return loadCluster(t, fmt.Sprintf(`
host: {count: %d, gpus: 0, cpu: {cores: 16, clock: 3.4GHz}, nic: {count: 1, model: %s, speed: %s, pcie: 1Tbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-4}
transport: tcp
transports: {tcp: {%s}}
job: {pattern: incast, size: 1MB}
%s
`, hosts, model, rate, tcp, more))
}

const freeCPU = "send_byte: 0, receive_byte: 0, send_call: 0, receive_call: 0, segment: 0, ack: 0, interrupt: 0, wake_delay: 0s, interrupt_delay: 0s"

// Under random loss throughput is MSS/RTT x sqrt(1.5/p) (validation row V07):
// 28.6 Gb/s at 1e-4, 9.0 at 1e-3 with an MSS of 1460 and 50 us.
func TestV07Mathis(t *testing.T) {
	for _, c := range []struct {
		loss, gbps float64
		bytes      units.Bytes
	}{{1e-3, 9.0, 60 * units.MB}, {1e-4, 28.6, 300 * units.MB}, {1e-5, 90, 3000 * units.MB}} {
		if c.loss < 5e-5 && os.Getenv("WEIR_LONG") == "" {
			continue
		}
		for _, control := range []string{"reno", "cubic"} {
			cl := tcpStar(t, 2, "400Gbps", "mtu: 1512, congestion: "+control+", "+freeCPU, "")
			for i := range cl.Links {
				cl.Links[i].Delay = 11500 * units.Nanosecond // with cards, switch and frames: 50 us there and back
			}
			s := simulate(t, sim.Config{Cluster: cl, Check: true})
			own, _ := nicPort(cl, 0)
			if err := s.SetLoss(own, c.loss); err != nil {
				t.Fatal(err)
			}
			id := send(t, s, 0, 1, c.bytes)
			finish(t, s)
			f := s.Flow(id)
			got := float64(c.bytes) * 8 / (f.Done - f.Sent).Seconds() / 1e9
			if control == "reno" {
				within(t, fmt.Sprintf("loss %g, Gb/s", c.loss), got, c.gbps, 0.20)
			} else if got < 0.9*c.gbps || got > 2*c.gbps { // no slower than Reno, and of its kind
				t.Errorf("CUBIC at loss %g: %.1f Gb/s, want %.1f to twice that", c.loss, got, c.gbps)
			}
		}
	}
}

// One long flow with jumbo frames and all its work on one core of 3.4 GHz takes
// 42 Gb/s (validation row V60); with interrupts on another core, more.
func TestV60OneCore(t *testing.T) {
	rate := func(more string) float64 {
		c := tcpStar(t, 2, "100Gbps", "mtu: 9000, "+more, "")
		s := simulate(t, sim.Config{Cluster: c, Check: true})
		id := send(t, s, 0, 1, 100*units.MB)
		finish(t, s)
		f := s.Flow(id)
		return 0.8 / (f.Done - f.Sent).Seconds()
	}
	one := rate("steering: arfs")
	within(t, "Gb/s", one, 42, 0.25)
	if two := rate("steering: rss"); two < 1.1*one {
		t.Errorf("interrupts elsewhere: %.1f Gb/s, want more than %.1f", two, one)
	}
}

// Incast into a small buffer: CUBIC fills it and loses packets, DCTCP keeps the
// queue near its threshold and loses none after the start. Both keep the link full.
func TestTCPIncast(t *testing.T) {
	type outcome struct {
		share       float64
		drops, mark uint64
		queue       units.Bytes
	}
	run := func(control string) outcome {
		c := tcpStar(t, 5, "25Gbps", "mtu: 9000, ecn_threshold: 200KB, congestion: "+control, "")
		for i := range c.Nodes {
			if m := c.Nodes[i].Model; m != nil {
				m.Buffer = 4 * units.MB
			}
		}
		s := simulate(t, sim.Config{Cluster: c, Check: true})
		for i := range 4 {
			send(t, s, i, 4, 40*units.MB)
		}
		finish(t, s)
		last := units.Time(0)
		for i := range 4 {
			last = max(last, s.Flow(sim.FlowID(i)).Done)
		}
		_, port := nicPort(c, 4)
		n := s.Counters(port, 0)
		return outcome{160e6 * 8 / last.Seconds() / 25e9, s.Totals().Drops, n.ECNMarked, n.QueueMax}
	}
	cubic, dctcp := run("cubic"), run("dctcp")
	t.Logf("cubic %+v, dctcp %+v", cubic, dctcp)
	if cubic.share < 0.9 || dctcp.share < 0.9 {
		t.Errorf("cubic keeps %.3f of the link, dctcp %.3f; want 0.9", cubic.share, dctcp.share)
	}
	if cubic.drops == 0 || cubic.mark != 0 {
		t.Errorf("cubic: %d drops, %d marks; want drops alone", cubic.drops, cubic.mark)
	}
	if dctcp.drops != 0 || dctcp.mark == 0 || dctcp.queue >= cubic.queue {
		t.Errorf("dctcp: %d drops, %d marks, queue to %v; want marks alone, below %v", dctcp.drops, dctcp.mark, dctcp.queue, cubic.queue)
	}
}

// TCP beside RDMA on one port: each class keeps its share of the link, and
// neither TCP's loss nor its queue reaches the lossless class.
func TestTCPBesideRDMA(t *testing.T) {
	for _, share := range []struct {
		text string
		rdma float64
		from int // that TCP comes from: with RDMA's host, its NIC holds the shares
	}{{"50%", 0.5, 1}, {"75%", 0.75, 1}, {"50%", 0.5, 0}, {"75%", 0.75, 0}} {
		c := loadCluster(t, `
host: {count: 3, gpus: 0, cpu: {cores: 16, clock: 3.4GHz}, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-3}
qos: {roce: {share: `+share.text+`}, ecn: {enabled: false}}
transports: {tcp: {mtu: 9000, `+freeCPU+`}}
job: {pattern: incast, size: 1MB}
`)
		s := simulate(t, sim.Config{Cluster: c, Check: true})
		if _, err := s.AddFlow(sim.Flow{Src: host(0), Dst: host(2), Bytes: 100 * units.MB}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.AddFlow(sim.Flow{Src: host(share.from), Dst: host(2), Bytes: 100 * units.MB, TCP: true}); err != nil {
			t.Fatal(err)
		}
		runUntil(t, s, 6*units.Millisecond)
		_, port := nicPort(c, 2)
		rdma, tcp := s.Counters(port, 3), s.Counters(port, 0)
		got := float64(rdma.TxBytes) / float64(rdma.TxBytes+tcp.TxBytes)
		within(t, "share of RDMA", got, share.rdma, 0.06)
		if sum := float64(rdma.TxBytes+tcp.TxBytes) * 8 / 6e-3 / 1e9; sum < 90 {
			t.Errorf("the port carries %.1f Gb/s, want it full", sum)
		}
		finish(t, s)
		if n := s.Totals(); n.LosslessDrops != 0 {
			t.Errorf("%d lossless drops", n.LosslessDrops)
		}
	}
}

// The same input gives the same counters, with either queue of events.
func TestTCPDeterminism(t *testing.T) {
	run := func(heap bool) string {
		c := tcpStar(t, 5, "25Gbps", "mtu: 1500", "")
		for i := range c.Nodes {
			if m := c.Nodes[i].Model; m != nil {
				m.Buffer = 2 * units.MB
			}
		}
		s := simulate(t, sim.Config{Cluster: c, HeapQueue: heap, Check: true})
		for i := range 4 {
			send(t, s, i, 4, 4*units.MB)
		}
		finish(t, s)
		text := fmt.Sprint(s.Now(), s.Totals())
		for i := range 4 {
			text += fmt.Sprint(s.Flow(sim.FlowID(i)), s.CPUTime(int32(i)))
		}
		return text
	}
	a := run(false)
	if b := run(false); a != b {
		t.Errorf("twice:\n%s\n%s", a, b)
	}
	if b := run(true); a != b {
		t.Errorf("with a heap:\n%s\n%s", a, b)
	}
}

// In steady state no segment allocates memory.
func TestTCPNoAllocation(t *testing.T) {
	c := tcpStar(t, 3, "100Gbps", "mtu: 1500", "")
	s := simulate(t, sim.Config{Cluster: c})
	send(t, s, 0, 2, 400*units.MB)
	send(t, s, 1, 2, 400*units.MB)
	runUntil(t, s, 20*units.Millisecond)
	at := s.Now()
	if n := testing.AllocsPerRun(20, func() {
		at += 100 * units.Microsecond
		runUntil(t, s, at)
	}); n != 0 {
		t.Errorf("%g allocations in 100 us", n)
	}
}

// At 40 Gb/s TCP takes more than a fifth of 16 cores of 2.2 GHz at the receiver
// (validation row V59, 25 % tolerance); RDMA takes none.
func TestV59HostShare(t *testing.T) {
	c := tcpStar(t, 2, "40Gbps", "mtu: 1500", "")
	for i := range c.Hosts {
		c.Hosts[i].CPU = cluster.CPU{Cores: 16, Hertz: 2.2e9}
	}
	s := simulate(t, sim.Config{Cluster: c, Check: true})
	for range 8 {
		send(t, s, 0, 1, 10*units.MB)
	}
	finish(t, s)
	var last units.Time
	for i := range 8 {
		last = max(last, s.Flow(sim.FlowID(i)).Done)
	}
	if rate := 80e6 * 8 / last.Seconds() / 1e9; rate < 0.9*40*0.941 {
		t.Errorf("%.1f Gb/s, want line rate", rate)
	}
	share := float64(s.CPUTime(1)) / float64(16*last)
	t.Logf("receiver: %.1f %% of all cores, sender %.1f %%", 100*share, 100*float64(s.CPUTime(0))/float64(16*last))
	if share < 0.20*0.75 {
		t.Errorf("%.1f %% of all cores, want above 20 %%, less a quarter", 100*share)
	}
}
