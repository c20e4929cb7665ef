package intended

import (
	"slices"
	"testing"

	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/units"
)

func load(t *testing.T, text string, set ...string) *cluster.Cluster {
	t.Helper()
	f, err := cluster.Parse("c.yaml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	return f.Cluster
}

func node(t *testing.T, c *cluster.Cluster, name string) cluster.NodeID {
	t.Helper()
	for i := range c.Nodes {
		if c.Nodes[i].Name == name {
			return cluster.NodeID(i)
		}
	}
	t.Fatal("no node " + name)
	return 0
}

const pod = `
host: {count: 4, gpus: 8, nic: {model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 1, spines: 1}
switch: {model: tomahawk-4}
`

// The first and the last port of a leaf with 32 host ports of 100 Gb/s, and
// its uplinks of 400 Gb/s behind them: 40 ports fit 64 cages, nothing is split.
func TestPortNames(t *testing.T) {
	for os, want := range map[string][2]string{
		"nxos":    {"Ethernet1/1", "Ethernet1/2"},
		"eos":     {"Ethernet1/1", "Ethernet2/1"},
		"sonic":   {"Ethernet0", "Ethernet8"},
		"vrp":     {"100GE1/0/1", "100GE1/0/2"},
		"comware": {"HundredGigE1/0/1", "HundredGigE1/0/2"},
		"junos":   {"et-0/0/0", "et-0/0/1"},
	} {
		c := load(t, pod, "switch.os="+os)
		names, err := PortNames(c, node(t, c, "leaf-0"))
		if err != nil || names[0] != want[0] || names[1] != want[1] {
			t.Errorf("%s: %v %v, want %v", os, names, err, want)
		}
	}
}

// 64 ports of 100 Gb/s on 32 cages of 400 Gb/s: split four ways.
func TestSplitPortNames(t *testing.T) {
	text := `
host: {count: 8, gpus: 8, nic: {model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-3}
`
	for os, want := range map[string][]string{
		"nvue":  {"swp1s0", "swp1s3", "swp2s0"},
		"onyx":  {"Eth1/1/1", "Eth1/1/4", "Eth1/2/1"},
		"sonic": {"Ethernet0", "Ethernet6", "Ethernet8"},
	} {
		c := load(t, text, "switch.os="+os)
		names, err := PortNames(c, node(t, c, "leaf-0"))
		if err != nil || len(names) != 64 {
			t.Fatalf("%s: %v %v", os, names, err)
		}
		if got := []string{names[0], names[3], names[4]}; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", os, got, want)
		}
		slices.Sort(names)
		if len(slices.Compact(names)) != 64 {
			t.Errorf("%s: a name twice", os)
		}
	}
}

func TestNamedPortsStay(t *testing.T) {
	c := load(t, `
host: {count: 2, gpus: 1}
fabric:
  topology: explicit
  switches: [{name: sw}]
  links:
    - {a: host-0/nic-0, b: sw/Ethernet8}
    - {a: host-1/nic-0, b: sw}
switch: {model: spectrum-4, os: sonic}
`)
	names, err := PortNames(c, node(t, c, "sw"))
	if err != nil || !slices.Equal(names, []string{"Ethernet8", "Ethernet0"}) {
		t.Errorf("%v %v", names, err)
	}
}

func TestSwitch(t *testing.T) {
	c := load(t, pod, "switch.os=eos", "qos.ecn.min=200KB", "qos.ecn.max=800KB")
	d, err := Switch(c, node(t, c, "leaf-0"))
	if err != nil {
		t.Fatal(err)
	}
	p := &d.Ports[0]
	if p.Peer != "host-0/nic-0" || p.Speed != 100*units.Gbps || p.CableLength != 5 {
		t.Errorf("peer %s, %v, %v", p.Peer, p.Speed, p.CableLength)
	}
	if p.MTU != 9214 || p.Reasons["mtu"] == "" {
		t.Errorf("MTU %d (%s), want the 9214 that EOS takes", p.MTU, p.Reasons["mtu"])
	}
	// (301 + 2.16 x 5) x 100 + 2.72 x 9216 = 31180 + 25067.52
	if h := p.Ingress[3].Headroom; h != 56_248 {
		t.Errorf("headroom %d, want 56248", h)
	}
	if p.Queue(26) != 3 || !p.Lossless(26) || p.Queue(48) != 6 || p.Lossless(48) || p.Queue(10) != 0 {
		t.Errorf("queues %d %d %d", p.Queue(26), p.Queue(48), p.Queue(10))
	}
	q := p.Queues[3]
	if q.ECN != qos.On || q.Min != 200_000 || q.Max != 800_000 || q.Share != 0.5 || p.Queues[0].Share != 0.5 {
		t.Errorf("queue 3 %+v", q)
	}
	if p.Watchdog != qos.On || p.WatchdogDetect != 200*units.Millisecond {
		t.Errorf("watchdog %v %v", p.Watchdog, p.WatchdogDetect)
	}
}

func TestRestPriority(t *testing.T) {
	in := qos.Intent{Classes: []qos.Class{{Priority: 0, Lossless: true}, {Priority: 1, Strict: true}}}
	if p, err := RestPriority(&in); p != 2 || err != nil {
		t.Errorf("%d %v, want 2", p, err)
	}
}

func TestHost(t *testing.T) {
	c := load(t, pod)
	d, err := Host(c, 1)
	if err != nil || len(d.Ports) != 8 {
		t.Fatalf("%v %v", d, err)
	}
	if p := d.Ports[2]; p.Name != "mlx5_2" || p.MTU != 9000 || p.Peer != "leaf-0/port-10" {
		t.Errorf("%s %d %s", p.Name, p.MTU, p.Peer)
	}
}
