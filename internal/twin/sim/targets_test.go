package sim_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/dcqcn"
	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/internal/twin/sim"
	"weir/units"
)

// Numbers such as V02 are those of the project's validation targets; the source
// of each expected value stands with it.

// star is one switch with hosts around it.
func star(t testing.TB, hosts int, rate units.BitRate, delay units.Time) *cluster.Cluster {
	t.Helper()
	c := loadCluster(t, fmt.Sprintf(`
host: {count: %d, gpus: 0, nic: {count: 1, model: connectx-6, speed: 100Gbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-3}
job: {pattern: incast, size: 1MB}
`, hosts))
	setRates(c, rate)
	for i := range c.Links {
		c.Links[i].Delay = delay
	}
	for i := range c.Hosts {
		c.Hosts[i].NICs[0].PCIe = 0 // no limit
	}
	return c
}

func setRates(c *cluster.Cluster, rate units.BitRate) {
	for i := range c.Links {
		c.Links[i].Rate = rate
	}
	for i := range c.Ports {
		c.Ports[i].Rate = rate
	}
}

func simulate(t testing.TB, cfg sim.Config) *sim.Sim {
	t.Helper()
	s, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func send(t testing.TB, s *sim.Sim, src, dst int, bytes units.Bytes) sim.FlowID {
	t.Helper()
	id, err := s.AddFlow(sim.Flow{Src: host(src), Dst: host(dst), Bytes: bytes})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func host(n int) cluster.NICRef { return cluster.NICRef{Host: int32(n)} }

func runUntil(t testing.TB, s *sim.Sim, until units.Time) {
	t.Helper()
	if err := s.Run(context.Background(), until); err != nil {
		t.Fatal(err)
	}
}

// nicPort returns the port of a host's only NIC, and the switch's port there.
func nicPort(c *cluster.Cluster, n int) (own, peer cluster.PortID) {
	own = c.Hosts[n].NICs[0].Ports[0]
	return own, c.Ports[own].Peer
}

// V01: payload over bytes on the wire, from the sizes of the headers: 62 bytes
// around the payload and 20 of preamble and gap.
func TestV01Efficiency(t *testing.T) {
	for _, c := range []struct {
		mtu  units.Bytes
		want float64
	}{{256, 0.757}, {512, 0.862}, {1024, 0.926}, {2048, 0.962}, {4096, 0.980}} {
		took := func(bytes units.Bytes) units.Time {
			cl := star(t, 2, 100*units.Gbps, 500*units.Nanosecond)
			cl.QoS.MTU = c.mtu
			s := simulate(t, sim.Config{Cluster: cl, Check: true})
			id := send(t, s, 0, 1, bytes)
			finish(t, s)
			f := s.Flow(id)
			return f.Done - f.Sent
		}
		rate := float64(9*units.MB) * 8 / (took(10*units.MB) - took(units.MB)).Seconds()
		within(t, fmt.Sprintf("MTU %d", c.mtu), rate/100e9, c.want, 0.001)
	}
}

// V02: goodput of go-back-N at random loss p of data alone: (1-p)/(1-p+pW),
// with W = rate x RTT / packet bits and RTT 10 us. A lost repetition is reported
// by another NAK after a round trip.
func TestV02Loss(t *testing.T) {
	for _, c := range []struct {
		rate units.BitRate
		mtu  units.Bytes
		p    float64
		want float64
	}{
		{40 * units.Gbps, 1024, 1e-4, .9955}, {40 * units.Gbps, 1024, 1e-3, .957},
		{100 * units.Gbps, 1024, 1e-4, .989}, {100 * units.Gbps, 1024, 1e-3, .898},
		{100 * units.Gbps, 4096, 1e-4, .997}, {100 * units.Gbps, 4096, 1e-3, .971},
		{400 * units.Gbps, 1024, 1e-4, .957}, {400 * units.Gbps, 1024, 1e-3, .689},
		{400 * units.Gbps, 4096, 1e-4, .988}, {400 * units.Gbps, 4096, 1e-3, .893},
	} {
		const packets = 200_000
		frame := c.rate.TransmitTime(c.mtu + 82)
		cl := star(t, 2, c.rate, 0)
		latency := cl.Nodes[len(cl.Nodes)-1].Model.Latency
		// From the end of a lost frame to the arrival of its NAK: the next
		// frame, twice, and the NAK, twice, both ways through the switch.
		for i := range cl.Links {
			cl.Links[i].Delay = (10*units.Microsecond - 2*frame - 2*latency) / 4
		}
		cl.QoS.MTU = c.mtu
		cl.DCQCN.Enabled = false
		cl.RDMA.NakInterval = 11 * units.Microsecond
		s := simulate(t, sim.Config{Cluster: cl})
		_, last := nicPort(cl, 1)
		if err := s.SetLoss(last, c.p); err != nil {
			t.Fatal(err)
		}
		id := send(t, s, 0, 1, packets*c.mtu)
		finish(t, s)
		f := s.Flow(id)
		got := float64(packets*frame) / float64(f.Done-f.Sent)
		within(t, fmt.Sprintf("%v, MTU %d, p %g", c.rate, c.mtu, c.p), got, c.want, 0.03)
	}
}

// V10 and V11: the queue in front of a 40 Gb/s port with N long flows, DCQCN as
// in its paper, marking at dequeue. Expected are the exact fixed points of Zhu,
// Ghobadi, Misra, Padhye, ECN or Delay, CoNEXT 2016, theorem 1, and beyond
// Pmax a queue pinned below Kmax.
func TestV10FixedPoint(t *testing.T) {
	for _, c := range []struct {
		flows     int
		low, high float64 // KB
		long      bool
	}{
		{4, 41.8 * 0.85, 41.8 * 1.35, false},
		{6, 66.7 * 0.85, 66.7 * 1.35, true},
		{8, 93.8 * 0.85, 93.8 * 1.35, true},
		{10, 122.6 * 0.85, 122.6 * 1.35, true},
		{12, 152.9 * 0.85, 152.9 * 1.35, true},
		{16, 175, 205, false},
		{32, 175, 205, true},
		{64, 175, 205, true},
	} {
		if c.long && !long() {
			continue
		}
		cl := star(t, c.flows+1, 40*units.Gbps, 500*units.Nanosecond)
		cl.QoS.MTU = 938 // frames of 1000 bytes, with nothing between them
		wire := sim.RoCEv2Wire()
		wire.Gap = 0
		cl.QoS.ECN = qos.ECN{Enabled: true, Min: 5 * units.KB, Max: 200 * units.KB, Probability: 0.01, MarkAt: qos.MarkAtDequeue}
		cl.DCQCN = dcqcn.PaperDefaults(0)
		cl.RDMA.AckEvery = 64
		s := simulate(t, sim.Config{Cluster: cl, Wire: wire})
		for i := range c.flows {
			send(t, s, i, c.flows, 10*units.GB)
		}
		const warm, span = 150 * units.Millisecond, 150 * units.Millisecond
		_, egress := nicPort(cl, c.flows)
		prio := cl.QoS.RoCE().Priority
		runUntil(t, s, warm)
		sent := func(i int) float64 {
			own, _ := nicPort(cl, i)
			return float64(s.Counters(own, prio).TxBytes)
		}
		before := make([]float64, c.flows)
		for i := range before {
			before[i] = sent(i)
		}
		out := s.Counters(egress, prio)
		var queue float64
		const samples = 15_000
		for i := range units.Time(samples) {
			runUntil(t, s, warm+span/samples*(i+1))
			queue += float64(s.QueueBytes(egress, prio)) / 1000 / samples
		}
		var sum, squares float64
		for i := range before {
			d := sent(i) - before[i]
			sum += d
			squares += d * d
		}
		jain := sum * sum / squares / float64(c.flows)
		now := s.Counters(egress, prio)
		used := float64(now.TxBytes-out.TxBytes) * 8 / 40e9 / span.Seconds()
		t.Logf("%d flows: mean queue %.1f KB (%.1f to %.1f), Jain %.4f, utilisation %.4f", c.flows, queue, c.low, c.high, jain, used)
		if queue < c.low || queue > c.high {
			t.Errorf("%d flows: mean queue %.1f KB, want %.1f to %.1f", c.flows, queue, c.low, c.high)
		}
		if jain < 0.99 {
			t.Errorf("%d flows: Jain index %.4f, want 0.99", c.flows, jain)
		}
		if used < 0.995 {
			t.Errorf("%d flows: utilisation %.4f, want 0.995", c.flows, used)
		}
	}
}

// V17: four senders to one receiver, one below the receiver's leaf, three
// behind ECMP. Without DCQCN the leaf serves its ingress ports in turn: the near
// sender gets its port's share, the far ones share the others'. With DCQCN all
// get a quarter.
func TestV17Fairness(t *testing.T) {
	run := func(control bool, spines []int) (near float64, far []float64) {
		cl := loadCluster(t, `
host: {count: 8, gpus: 0, nic: {count: 1, model: connectx-6, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 4}
switch: {model: spectrum-3}
job: {pattern: permutation, size: 1MB}
`)
		setRates(cl, 40*units.Gbps)
		cl.DCQCN.Enabled = control
		cl.QoS.ECN.Enabled = control
		if control {
			cl.DCQCN = dcqcn.PaperDefaults(0)
			cl.QoS.ECN = qos.ECN{Enabled: true, Min: 5 * units.KB, Max: 200 * units.KB, Probability: 0.01}
		}
		cl.RDMA.AckEvery = 64
		cfg := sim.Config{Cluster: cl, Check: true, Paths: map[sim.Pair]int{}}
		for i, spine := range spines {
			cfg.Paths[sim.Pair{Src: host(4 + i), Dst: host(0)}] = spine
		}
		s := simulate(t, cfg)
		senders := []int{1, 4, 5, 6}
		for _, h := range senders {
			send(t, s, h, 0, 10*units.GB)
		}
		warm, span := 20*units.Millisecond, 20*units.Millisecond
		if control {
			warm, span = 200*units.Millisecond, 400*units.Millisecond
		}
		prio := cl.QoS.RoCE().Priority
		var rates []float64
		runUntil(t, s, warm)
		for _, h := range senders {
			own, _ := nicPort(cl, h)
			rates = append(rates, -float64(s.Counters(own, prio).TxBytes))
		}
		runUntil(t, s, warm+span)
		for i, h := range senders {
			own, _ := nicPort(cl, h)
			rates[i] = (rates[i] + float64(s.Counters(own, prio).TxBytes)) * 8 / span.Seconds() / 1e9
		}
		t.Logf("DCQCN %v, spines %v: near %.2f, far %.2f Gb/s", control, spines, rates[0], rates[1:])
		return rates[0], rates[1:]
	}
	// 40 Gb/s less the gaps: 4178 of 4198 bytes.
	const line = 40.0 * 4178 / 4198
	for _, c := range []struct {
		spines []int
		ports  float64 // active ingress ports of the receiver's leaf
	}{{[]int{0, 0, 0}, 2}, {[]int{0, 0, 1}, 3}, {[]int{0, 1, 2}, 4}} {
		near, far := run(false, c.spines)
		within(t, fmt.Sprintf("near sender, %v ports", c.ports), near, line/c.ports, 0.1)
		if m := slices.Min(far); c.ports < 4 && near < 2*m {
			t.Errorf("the near sender gets %.2f, a far one that shares its port %.2f Gb/s", near, m)
		}
	}
	near, far := run(true, []int{0, 0, 0})
	for _, r := range append(far, near) {
		within(t, "with DCQCN", r, line/4, 0.1)
	}
}

// V21: marking below the number of packets that meet by chance starves the
// link. Expected: an independent packet model, 100 Gb/s, 8 us round trip, MTU
// 4096, marking at enqueue, the adapters' defaults.
func TestV21LowThreshold(t *testing.T) {
	share := func(flows int, e qos.ECN, span units.Time) float64 {
		cl := star(t, flows+1, 100*units.Gbps, 0)
		latency := cl.Nodes[len(cl.Nodes)-1].Model.Latency
		frame := (100 * units.Gbps).TransmitTime(4178)
		for i := range cl.Links {
			cl.Links[i].Delay = (8*units.Microsecond - 2*latency - 2*frame) / 4
		}
		cl.QoS.ECN = e
		s := simulate(t, sim.Config{Cluster: cl})
		for i := range flows {
			send(t, s, i, flows, 10*units.GB)
		}
		_, egress := nicPort(cl, flows)
		prio := cl.QoS.RoCE().Priority
		runUntil(t, s, span/2)
		before := s.Counters(egress, prio)
		runUntil(t, s, span)
		c := s.Counters(egress, prio)
		return (float64(c.TxBytes-before.TxBytes) + 20*float64(c.TxFrames-before.TxFrames)) * 8 / 100e9 / (span / 2).Seconds()
	}
	step := qos.ECN{Enabled: true, Min: 10 * units.KB, Max: 12 * units.KB, Probability: 1}
	for _, c := range []struct {
		flows int
		want  float64
	}{{4, 0.26}, {8, 0.28}, {16, 0.33}} {
		got := share(c.flows, step, 100*units.Millisecond)
		t.Logf("%d flows: %.1f %%, expected %.0f %%", c.flows, 100*got, 100*c.want)
		if math.Abs(got-c.want) > 0.08 {
			t.Errorf("%d flows: %.1f %% of the line, want %.0f +-8", c.flows, 100*got, 100*c.want)
		}
	}
	wide := qos.ECN{Enabled: true, Min: 400 * units.KB, Max: 1600 * units.KB, Probability: 0.2}
	got := share(8, wide, 100*units.Millisecond)
	t.Logf("8 flows, 400 to 1600 KB: %.2f %%", 100*got)
	if got < 0.98 {
		t.Errorf("400 to 1600 KB: %.1f %% of the line, want 98", 100*got)
	}
}

// V04: messages of 4 MB over 40 Gb/s with every 256th packet lost. Restarting
// each message from its first packet delivers nothing, ever, while the link
// stays full (Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016,
// section 4.1); going back to the lost packet delivers V02's share.
func TestV04Livelock(t *testing.T) {
	run := func(recovery string) (delivered, sent float64) {
		cl := star(t, 2, 40*units.Gbps, 0)
		cl.QoS.MTU = 1024
		cl.DCQCN.Enabled = false
		cl.RDMA.Recovery = recovery
		cl.RDMA.NakInterval = 11 * units.Microsecond
		latency := cl.Nodes[len(cl.Nodes)-1].Model.Latency
		frame := (40 * units.Gbps).TransmitTime(1106)
		for i := range cl.Links {
			cl.Links[i].Delay = (10*units.Microsecond - 2*frame - 2*latency) / 4
		}
		s := simulate(t, sim.Config{Cluster: cl})
		_, last := nicPort(cl, 1)
		s.SetDropEvery(last, 256)
		var done int
		s.Handle(sim.Handlers{Completed: func(sim.ConnID, uint64, units.Time) { done++ }})
		conn, err := s.Connect(host(0), host(1), sim.Options{})
		if err != nil {
			t.Fatal(err)
		}
		const messages = 256
		for i := range uint64(messages) {
			s.Post(conn, 4*units.MB, i)
		}
		const span = 100 * units.Millisecond
		runUntil(t, s, span)
		own, _ := nicPort(cl, 0)
		c := s.Counters(own, cl.QoS.RoCE().Priority)
		line := 40e9 / 8 * span.Seconds()
		return float64(done) * 4e6 * 1106 / 1024 / line, (float64(c.TxBytes) + 20*float64(c.TxFrames)) / line
	}
	delivered, sent := run("go-back-0")
	if delivered != 0 || sent < 0.99 {
		t.Errorf("go-back-0 delivers %.3f of the line and sends %.3f, want 0 and 1", delivered, sent)
	}
	delivered, sent = run("go-back-n")
	within(t, "go-back-n", delivered, 0.85, 0.05)
	if sent < 0.99 {
		t.Errorf("go-back-n sends %.3f of the line, want 1", sent)
	}
}

// V28: whatever the traffic, lossless priorities drop nothing, every message
// arrives, and packets, buffers and pauses add up (Config.Check).
func TestV28Lossless(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		mode := rapid.SampledFrom([]string{"ecmp", "adaptive", "flowlet", "spray"}).Draw(r, "mode")
		set := []string{
			"routing.mode=" + mode, "switch.model=spectrum-4",
			fmt.Sprintf("seed=%d", rapid.IntRange(0, 1000).Draw(r, "seed")),
			fmt.Sprintf("qos.mtu=%d", rapid.SampledFrom([]int{256, 1024, 4096}).Draw(r, "mtu")),
			fmt.Sprintf("dcqcn.enabled=%v", rapid.Bool().Draw(r, "dcqcn")),
			fmt.Sprintf("rdma.qps_per_connection=%d", rapid.IntRange(1, 4).Draw(r, "qps")),
			fmt.Sprintf("rdma.ack_every=%d", rapid.SampledFrom([]int{1, 16}).Draw(r, "ack")),
		}
		if mode != "ecmp" {
			set = append(set, "rdma.out_of_order=true")
		}
		c := loadCluster(t, mixedFabric, set...)
		// Small buffers, so that pause has to work.
		buffer := units.Bytes(rapid.IntRange(1500, 4000).Draw(r, "buffer")) * units.KB
		for i := range c.Nodes {
			if m := c.Nodes[i].Model; m != nil {
				small := *m
				small.Buffer = buffer
				c.Nodes[i].Model = &small
			}
		}
		c.QoS.Headroom = 0
		c.QoS.Alpha = rapid.SampledFrom([]float64{0.125, 1, 4}).Draw(r, "alpha")
		for i := range c.Links {
			c.Links[i].Delay = units.Time(rapid.IntRange(5, 1000).Draw(r, "delay")) * units.Nanosecond
		}
		s, err := sim.New(sim.Config{Cluster: c, Check: true})
		if err != nil {
			r.Skip(err) // headrooms beyond the buffer
		}
		for range rapid.IntRange(1, 24).Draw(r, "flows") {
			f := sim.Flow{
				Src: host(rapid.IntRange(0, 15).Draw(r, "src")), Dst: host(rapid.IntRange(0, 15).Draw(r, "dst")),
				Bytes: units.Bytes(rapid.IntRange(1, 500_000).Draw(r, "bytes")),
				Start: units.Time(rapid.IntRange(0, 20).Draw(r, "start")) * units.Microsecond,
			}
			if f.Src == f.Dst {
				f.Dst.Host = (f.Dst.Host + 1) % 16
			}
			if _, err := s.AddFlow(f); err != nil {
				r.Fatal(err)
			}
		}
		if err := s.Run(context.Background(), units.Second); err != nil {
			r.Fatal(err)
		}
		tot := s.Totals()
		if tot.Drops != 0 || tot.Retransmitted != 0 || tot.XOFF < tot.XON || s.Engine().Posted != s.Engine().Completed {
			r.Fatalf("%+v, %+v", tot, s.Engine())
		}
	})
}
