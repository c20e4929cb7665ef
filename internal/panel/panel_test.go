package panel_test

import (
	"math"
	"testing"
	"time"

	"weir/internal/cluster"
	"weir/internal/panel"
)

const pod = `
host: {count: 4, gpus: 0, nic: {count: 1, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 2}
`

type bench struct {
	*panel.Panel
	t   testing.TB
	now time.Time
}

func newBench(t testing.TB, text string) *bench {
	t.Helper()
	c, err := cluster.Parse("c.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return &bench{panel.New(panel.NewFabric(c.Cluster), panel.Options{}), t, time.UnixMilli(1_000_000)}
}

func (b *bench) series(metric string, pairs ...string) uint32 {
	b.t.Helper()
	n, ok := b.Series(metric, func(label string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == label {
				return pairs[i+1]
			}
		}
		return ""
	})
	if !ok {
		b.t.Fatalf("no series of %s", metric)
	}
	return n
}

// read adds one reading a second.
func (b *bench) read(n uint32, values ...float64) {
	for i, v := range values {
		b.Add([]panel.Reading{{Series: n, At: b.now.Add(time.Duration(i) * time.Second).UnixMilli(), Value: v}})
	}
}

func (b *bench) after(seconds int) *panel.Snapshot {
	return b.Snapshot(b.now.Add(time.Duration(seconds) * time.Second))
}

func (b *bench) end(name string) int {
	b.t.Helper()
	e, ok := b.Fabric().Find(name)
	if !ok {
		b.t.Fatalf("no port %s", name)
	}
	return e
}

func near(t *testing.T, what string, got float32, want float64) {
	t.Helper()
	if math.Abs(float64(got)-want) > 1e-3*math.Max(1, math.Abs(want)) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Both ends of a cable stand in one row: what the switch counts of its pause is
// what the card did to it.
func TestBothEndsJoin(t *testing.T) {
	b := newBench(t, pod)
	nic := b.end("host-1/nic-0")
	leaf := panel.Peer(nic)
	name := b.Fabric().PortName(leaf)
	if name != "leaf-0/port-1" {
		t.Fatalf("host-1/nic-0 is cabled to %s", name)
	}
	// 12.5 GB/s are 3.125e9 words of 4 bytes: the line rate of 100 Gb/s.
	b.read(b.series("rdma_port_xmit_data_total", "instance", "host-1", "device", "mlx5_0", "port", "1"), 0, 3.125e9, 6.25e9, 9.375e9)
	// The switch was held back for half a second of each.
	b.read(b.series("roce_switch_pfc_pause_duration_total", "switch", "leaf-0", "port", "port-1", "priority", "3", "direction", "rx"), 0, 500_000, 1_000_000, 1_500_000)
	s := b.after(3)
	f := b.Fabric()
	near(t, "utilisation of the card", s.Utilisation(f, nic), 1)
	near(t, "bits received at the switch, taken from the other end", s.Values[panel.Rx][leaf], 100e9)
	near(t, "pause of the switch", s.Values[panel.PauseRx][leaf], 0.5)
	near(t, "pause that the card made", s.Values[panel.PauseTx][nic], 0.5)
	if v := s.Values[panel.PauseRx][nic]; v == v {
		t.Errorf("pause of the card is %v where nobody counts it", v)
	}
	if len(s.Priorities) != 1 || s.Priorities[0] != 3 {
		t.Errorf("priorities %v", s.Priorities)
	}
	if s.Window != 3*time.Second {
		t.Errorf("window %v", s.Window)
	}
}

// A 32-bit counter wraps, a counter falls to zero, readings are missing: none
// makes a burst.
func TestWrapResetGapAndStaleness(t *testing.T) {
	b := newBench(t, pod)
	nic := b.end("host-0/nic-0")
	n := b.series("rdma_out_of_sequence_total", "instance", "host-0", "device", "mlx5_0", "port", "1")
	b.read(n, 1<<32-100, 1<<32-50, 0, 50)
	near(t, "rate over a wrap", b.after(3).Values[panel.OutOfSequence][nic], 50)
	b.now = b.now.Add(10 * time.Second)
	b.read(n, 1000, 10, 20)
	s := b.after(2)
	near(t, "rate over a reset", s.Values[panel.OutOfSequence][nic], 10)
	if s.Resets != 1 {
		t.Errorf("%d resets", s.Resets)
	}
	near(t, "rate shortly after the last reading", b.after(4).Values[panel.OutOfSequence][nic], 10)
	if v := b.after(9).Values[panel.OutOfSequence][nic]; v == v {
		t.Errorf("a source that is silent for 7 s still shows %v", v)
	}
	b.now = b.now.Add(20 * time.Second)
	b.read(n, 30, math.NaN(), 5000)
	if v := b.after(2).Values[panel.OutOfSequence][nic]; v == v {
		t.Errorf("the step over a gap shows %v", v)
	}
}

// A source that is read once a minute is not stale in between.
func TestSlowSource(t *testing.T) {
	b := newBench(t, pod)
	n := b.series("roce_switch_queue_ecn_marked_packets_total", "switch", "leaf-0", "port", "port-1", "queue", "3")
	at := b.now.UnixMilli()
	b.Add([]panel.Reading{{Series: n, At: at, Value: 0}, {Series: n, At: at + 60_000, Value: 600}})
	near(t, "marks", b.after(100).Values[panel.Marks][b.end("leaf-0/port-1")], 10)
}

// An agent's own name for the host carries its port.
func TestInstanceWithPort(t *testing.T) {
	b := newBench(t, pod)
	b.read(b.series("rdma_np_cnp_sent_total", "instance", "host-2:9420", "device", "mlx5_0", "port", "1"), 0, 7, 14, 21)
	near(t, "CNPs", b.after(3).Values[panel.CNPSent][b.end("host-2/nic-0")], 7)
}

// Without a cluster file the ports come from the readings.
func TestFabricFromReadings(t *testing.T) {
	b := &bench{panel.New(nil, panel.Options{}), t, time.UnixMilli(1_000_000)}
	b.read(b.series("rdma_np_cnp_sent_total", "instance", "gpu-9", "device", "mlx5_4", "port", "1"), 0, 3, 6)
	e := b.end("gpu-9/mlx5_4")
	s := b.after(2)
	near(t, "CNPs", s.Values[panel.CNPSent][e], 3)
	if j := panel.Judge(b.Fabric(), s); j[0].Code != "fine" {
		t.Errorf("verdict %+v", j)
	}
}

func (b *bench) pause(port string, share float64) {
	f := b.Fabric()
	e := b.end(port)
	node := f.Nodes[f.Ends[e].Node].Name
	step := share * 1e6
	labels := []string{"switch", node, "port", f.Ends[e].Port, "priority", "3", "direction", "rx"}
	metric := "roce_switch_pfc_pause_duration_total"
	if f.Ends[e].Host {
		metric = "rdma_roce_pfc_pause_duration_total"
		labels = []string{"instance", node, "device", "mlx5_0", "port", "1", "priority", "3", "direction", "rx"}
	}
	b.read(b.series(metric, labels...), 0, step, 2*step, 3*step)
}

// host-3 pauses its leaf, the leaf a spine, the spine the other leaf, that leaf
// its hosts: the root is host-3.
func TestPauseTreeFindsTheRoot(t *testing.T) {
	b := newBench(t, pod)
	f := b.Fabric()
	toward := func(from, to string) string {
		for e := range f.Ends {
			if f.Ends[e].Node >= 0 && f.Nodes[f.Ends[e].Node].Name == from && f.Nodes[f.Ends[panel.Peer(e)].Node].Name == to {
				return f.PortName(e)
			}
		}
		t.Fatalf("no cable from %s to %s", from, to)
		return ""
	}
	b.pause(toward("leaf-1", "host-3"), 0.95)
	b.pause(toward("spine-0", "leaf-1"), 0.7)
	b.pause(toward("leaf-0", "spine-0"), 0.4)
	b.pause("host-0/nic-0", 0.2)
	s := b.after(3)
	roots := panel.Pauses(f, s, 0.01)
	var names []string
	for p := roots[0]; ; p = p.Held[0] {
		names = append(names, p.Node)
		if len(p.Held) == 0 {
			break
		}
	}
	want := []string{"host-3", "leaf-1", "spine-0", "leaf-0", "host-0"}
	if len(roots) != 1 || len(names) != len(want) {
		t.Fatalf("%d roots, first %v, want %v", len(roots), names, want)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("step %d is %s, want %s", i, names[i], want[i])
		}
	}
	j := panel.Judge(f, s)[0]
	if j.Code != "storm" || j.Where != "host-3" || j.State != panel.Bad {
		t.Errorf("verdict %+v", j)
	}
}

// Two switches that pause each other have no root: the loop is told.
func TestPauseLoop(t *testing.T) {
	b := newBench(t, pod)
	f := b.Fabric()
	for e := range f.Ends {
		names := [2]string{f.Nodes[f.Ends[e].Node].Name, f.Nodes[f.Ends[panel.Peer(e)].Node].Name}
		if names == [2]string{"leaf-0", "spine-0"} || names == [2]string{"spine-0", "leaf-0"} {
			b.pause(f.PortName(e), 1)
		}
	}
	roots := panel.Pauses(f, b.after(3), 0.01)
	if len(roots) != 1 || !roots[0].Loop || len(roots[0].Held) != 1 || !roots[0].Held[0].Held[0].Loop {
		t.Fatalf("%+v", roots)
	}
}

func TestVerdicts(t *testing.T) {
	b := newBench(t, pod)
	if j := panel.Judge(b.Fabric(), b.after(0)); j[0].Code != "no_data" {
		t.Errorf("nothing read: %+v", j)
	}
	b.read(b.series("roce_switch_pg_dropped_packets_total", "switch", "leaf-0", "port", "port-0", "priority", "3"), 0, 5, 10, 15)
	j := panel.Judge(b.Fabric(), b.after(3))
	if j[0].Code != "drops" || j[0].Where != "leaf-0/port-0" || j[0].Value != 5 {
		t.Errorf("drops: %+v", j)
	}
	// The ports of one of 8 ends are read: the others are silent.
	if last := j[len(j)-1]; last.Code != "silent" {
		t.Errorf("silent ports: %+v", j)
	}
}

// The histories hold the last columns, oldest first.
func TestHistory(t *testing.T) {
	c, err := cluster.Parse("c.yaml", []byte(pod), nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{panel.New(panel.NewFabric(c.Cluster), panel.Options{Spark: 3, Heat: 4}), t, time.UnixMilli(1_000_000)}
	n := b.series("roce_switch_pfc_pause_duration_total", "switch", "leaf-0", "port", "port-1", "priority", "3", "direction", "rx")
	leaf := b.end("leaf-0/port-1")
	total := 0.0
	for i := range 6 {
		total += float64(i) * 1e5
		b.read(n, total)
		b.Tick(b.now)
		b.now = b.now.Add(time.Second)
	}
	pause := b.Sparks(leaf)[1]
	if len(pause) != 3 {
		t.Fatalf("%d points", len(pause))
	}
	// The window is 3 s: the mean of 30, 40 and 50 %.
	near(t, "newest", pause[2], 0.4)
	near(t, "oldest", pause[0], 0.2)
	at, levels := b.Heat(0, []int{leaf})
	if len(at) != 4 || at[3] != 1_005_000 || at[0] != 1_002_000 {
		t.Errorf("times %v", at)
	}
	if levels[3][0] != panel.Level(0.4) || panel.Level(0.25) != 125 || panel.Level(1) != 250 {
		t.Errorf("levels %v", levels)
	}
}
