package cluster

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/qos"
	"weir/units"
)

func load(t *testing.T, file string, overrides ...string) *Cluster {
	t.Helper()
	f, err := Parse("c.yaml", []byte(file), overrides)
	if err != nil {
		t.Fatal(err)
	}
	checkWiring(t, f.Cluster)
	return f.Cluster
}

// checkWiring proves that nodes, ports and links point at each other.
func checkWiring(t *testing.T, c *Cluster) {
	t.Helper()
	for i := range c.Nodes {
		for j, p := range c.Nodes[i].Ports {
			if c.Ports[p].Node != NodeID(i) || int(c.Ports[p].Index) != j {
				t.Fatalf("port %d of %s: %+v", j, c.Nodes[i].Name, c.Ports[p])
			}
		}
	}
	for i, l := range c.Links {
		a, b := c.Ports[l.A], c.Ports[l.B]
		if a.Link != LinkID(i) || b.Link != LinkID(i) || a.Peer != l.B || b.Peer != l.A || a.Rate != b.Rate || a.Rate != l.Rate {
			t.Fatalf("link %d: %+v, ends %+v and %+v", i, l, a, b)
		}
	}
	for h := range c.Hosts {
		for n, nic := range c.Hosts[h].NICs {
			for _, p := range nic.Ports {
				if c.Ports[p].Node != c.Hosts[h].Node || c.Ports[p].NIC != int32(n) {
					t.Fatalf("host %d NIC %d: port %+v", h, n, c.Ports[p])
				}
			}
		}
	}
}

// peers lists the neighbours of a node in order of its ports, with "xN" for runs.
func peers(c *Cluster, name string) string {
	id, _ := c.FindNode(name)
	var out []string
	n := 0
	for _, p := range c.Nodes[id].Ports {
		peer := "-"
		if q := c.Ports[p].Peer; q != PortID(None) {
			peer = c.Nodes[c.Ports[q].Node].Name
		}
		if len(out) > 0 && out[len(out)-1] == peer {
			n++
			continue
		}
		if n > 1 {
			out[len(out)-1] += fmt.Sprintf("x%d", n)
		}
		out, n = append(out, peer), 1
	}
	if n > 1 {
		out[len(out)-1] += fmt.Sprintf("x%d", n)
	}
	return strings.Join(out, " ")
}

func TestTopologies(t *testing.T) {
	const cards = "nic: {count: 2, speed: 100Gbps}"
	for _, tt := range []struct {
		name, file string
		want       map[string]string
	}{
		{"single switch", "host: {count: 3, " + cards + "}\nfabric: {topology: single-switch}", map[string]string{
			"leaf-0": "host-0x2 host-1x2 host-2x2", "host-1": "leaf-0x2",
		}},
		{"leaf-spine", "host: {count: 4, " + cards + "}\nfabric: {leaves: 2, spines: 2, uplink: {count: 3, speed: 100Gbps}}", map[string]string{
			"leaf-0": "host-0x2 host-1x2 spine-0x3 spine-1x3", "leaf-1": "host-2x2 host-3x2 spine-0x3 spine-1x3", "spine-1": "leaf-0x3 leaf-1x3",
		}},
		{"uneven hosts", "host: {count: 5, " + cards + "}\nfabric: {leaves: 2, spines: 1}", map[string]string{
			"leaf-0": "host-0x2 host-1x2 host-2x2 spine-0x2", "leaf-1": "host-3x2 host-4x2 spine-0x2",
		}},
		{"rail-optimised, two pods", "host: {count: 4, " + cards + "}\nfabric: {topology: rail-optimised, pods: 2, spines: 1}", map[string]string{
			"leaf-0": "host-0 host-1 spine-0", "leaf-1": "host-0 host-1 spine-0", "leaf-2": "host-2 host-3 spine-0", "host-3": "leaf-2 leaf-3",
		}},
		// The device-to-rail map decides the leaf, not the order of the cards.
		{"rails by device", "host: {count: 2, nic: {count: 2, speed: 100Gbps, rails: {mlx5_9: 1, mlx5_4: 0}}}\nfabric: {topology: rail-optimised, spines: 1}", map[string]string{
			"host-0": "leaf-1 leaf-0", "leaf-0": "host-0 host-1 spine-0",
		}},
		// Two pods of two leaves and two aggregation switches; four cores, two for each aggregation switch of a pod.
		{"fat tree", "host: {count: 4, nic: {count: 1, speed: 100Gbps}}\nfabric: {topology: fat-tree, pods: 2, leaves: 4, spines: 4, cores: 4, uplink: {count: 1}, core_link: {count: 1}}", map[string]string{
			"leaf-0": "host-0 spine-0 spine-1", "leaf-3": "host-3 spine-2 spine-3",
			"spine-0": "leaf-0 leaf-1 core-0 core-1", "spine-1": "leaf-0 leaf-1 core-2 core-3", "spine-2": "leaf-2 leaf-3 core-0 core-1",
			"core-3": "spine-1 spine-3",
		}},
		{"planes by port", "host: {count: 2, nic: {count: 1, ports: 2, speed: 100Gbps}}\nfabric: {planes: 2, leaves: 2, spines: 1, uplink: {count: 1}}", map[string]string{
			"host-0": "leaf-0 leaf-2", "host-1": "leaf-1 leaf-3", "leaf-0": "host-0 spine-0", "leaf-3": "host-1 spine-1",
		}},
		{"planes by card", "host: {count: 2, nic: {count: 4, speed: 100Gbps}}\nfabric: {planes: 2, leaves: 1, spines: 1, uplink: {count: 1}}", map[string]string{
			"host-0": "leaf-0 leaf-1 leaf-0 leaf-1", "spine-1": "leaf-1",
		}},
		{"rails in planes", "host: {count: 2, nic: {count: 4, speed: 100Gbps}}\nfabric: {topology: rail-optimised, planes: 2, spines: 1, uplink: {count: 1}}", map[string]string{
			"host-0": "leaf-0 leaf-2 leaf-1 leaf-3", "spine-0": "leaf-0 leaf-1", "spine-1": "leaf-2 leaf-3",
		}},
		{"MLAG", "host: {count: 2, nic: {count: 1, ports: 2, bond: true, speed: 100Gbps}}\nfabric: {mlag: true, leaves: 2, spines: 1, uplink: {count: 1}}", map[string]string{
			"host-0": "leaf-0 leaf-1", "leaf-1": "host-0 host-1 spine-0",
		}},
		{"classes", "hosts:\n  - {class: big, count: 2, " + cards + "}\n  - {class: small, count: 1, names: [storage1], gpus: 0, nic: {count: 1, speed: 25Gbps}}\nfabric: {topology: single-switch}", map[string]string{
			"leaf-0": "host-0x2 host-1x2 storage1",
		}},
		// 8 x 100 Gb/s down need 2 x 400 Gb/s up: one cable to each of two spines.
		{"computed uplinks", "host: {count: 4, " + cards + "}\nswitch: {model: spectrum-3}\nfabric: {leaves: 1, spines: 2}", map[string]string{
			"leaf-0": "host-0x2 host-1x2 host-2x2 host-3x2 spine-0 spine-1",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := load(t, tt.file)
			for node, want := range tt.want {
				if got := peers(c, node); got != want {
					t.Errorf("%s: %s, want %s", node, got, want)
				}
			}
		})
	}
}

const explicitFile = `
host: {count: 2, names: [gpu1, gpu2], nic: {count: 1, ports: 2, bond: true, speed: 100Gbps, model: connectx-6-dx}}
fabric:
  topology: explicit
  switches:
    - {name: tor1, mlag: tor2}
    - {name: tor2, mlag: tor1}
    - {name: agg1, tier: 2, model: spectrum-4, os: sonic}
  links:
    - {a: gpu1/nic-0.0, b: tor1/Ethernet0, lag: bond1}
    - {a: gpu1/nic-0.1, b: tor2/Ethernet0, lag: bond1}
    - {a: gpu2, b: tor1/Ethernet1/1, lag: bond2}
    - {a: gpu2, b: tor2, length: 3m, lag: bond2}
    - {a: tor1, b: agg1, speed: 400Gbps, lag: up}
    - {a: tor1, b: agg1, speed: 400Gbps, lag: up, loss: 1%}
    - {a: tor2, b: agg1, delay: 2us}
switch: {model: spectrum-3}
`

func TestExplicit(t *testing.T) {
	c := load(t, explicitFile)
	for node, want := range map[string]string{"gpu1": "tor1 tor2", "gpu2": "tor1 tor2", "tor1": "gpu1 gpu2 agg1x2", "tor2": "gpu1 gpu2 agg1", "agg1": "tor1x2 tor2"} {
		if got := peers(c, node); got != want {
			t.Errorf("%s: %s, want %s", node, got, want)
		}
	}
	tor1, _ := c.FindNode("tor1")
	tor2, _ := c.FindNode("tor2")
	agg, _ := c.FindNode("agg1")
	if c.Nodes[tor1].MLAGPeer != tor2 || c.Nodes[tor2].MLAGPeer != tor1 || c.Nodes[agg].MLAGPeer != NodeID(None) {
		t.Error("MLAG peers are wrong")
	}
	if c.Nodes[agg].Model.Name != "spectrum-4" || c.Nodes[agg].OS != "sonic" || c.Nodes[agg].Tier != 2 || c.Nodes[tor1].Model.Name != "spectrum-3" {
		t.Errorf("models: %+v", c.Nodes[agg])
	}
	lag := func(node NodeID, i int) int32 { return c.Ports[c.Nodes[node].Ports[i]].LAG }
	if lag(tor1, 2) < 0 || lag(tor1, 2) != lag(tor1, 3) || lag(agg, 0) != lag(agg, 1) || lag(agg, 2) != -1 || lag(tor1, 0) == lag(tor1, 1) {
		t.Error("LAGs of the switches are wrong")
	}
	if h := c.Hosts[0]; lag(h.Node, 0) < 0 || lag(h.Node, 0) != lag(h.Node, 1) {
		t.Error("the bond is no LAG")
	}
	if p, ok := c.FindPort(tor1, "Ethernet1/1"); !ok || c.Ports[p].Index != 1 {
		t.Error("port name Ethernet1/1 is lost")
	}
	l := c.Links[3]
	if l.Length != 3 || l.Delay != 15*units.Nanosecond || l.Rate != 100*units.Gbps {
		t.Errorf("link 3: %+v", l)
	}
	if c.Links[5].Loss != 0.01 || c.Links[6].Delay != 2*units.Microsecond || c.Links[6].Rate != 400*units.Gbps {
		t.Errorf("links 5 and 6: %+v %+v", c.Links[5], c.Links[6])
	}
}

// A dual-port card bonded towards one switch is a LAG at both ends.
func TestBondToOneSwitch(t *testing.T) {
	c := load(t, "host: {count: 2, nic: {count: 1, ports: 2, bond: true, speed: 100Gbps}}\nfabric: {topology: single-switch}")
	leaf, _ := c.FindNode("leaf-0")
	p := c.Nodes[leaf].Ports
	if a, b := c.Ports[p[0]].LAG, c.Ports[p[1]].LAG; a < 0 || a != b {
		t.Errorf("LAGs %d and %d on the switch", a, b)
	}
	if c.Ports[p[0]].LAG == c.Ports[p[2]].LAG {
		t.Error("two hosts share a LAG")
	}
	if n := c.Hosts[0].NICs[0]; c.Ports[n.Ports[0]].Name != "nic-0.0" || !n.Bond || len(n.Ports) != 2 {
		t.Errorf("NIC %+v", n)
	}
}

func TestTrunkLAG(t *testing.T) {
	c := load(t, "host: {count: 2, nic: {count: 1, speed: 100Gbps}}\nfabric: {leaves: 2, spines: 2, uplink: {count: 2, lag: true}}")
	spine, _ := c.FindNode("spine-0")
	p := c.Nodes[spine].Ports
	if a, b, o := c.Ports[p[0]].LAG, c.Ports[p[1]].LAG, c.Ports[p[2]].LAG; a < 0 || a != b || a == o {
		t.Errorf("LAGs %d %d %d", a, b, o)
	}
}

func TestHostSettings(t *testing.T) {
	c := load(t, `
host:
  count: 2
  gpus: 4
  gpu: a100
  nic: {count: 2, speed: 200Gbps, model: connectx-6-dx, devices: [mlx5_2, mlx5_5], vlan: 100, vlan_per_rail: true, latency: 1us, pcie: 200Gbps, addresses: [10.1.0.1, 10.2.0.1, 10.1.0.2, 10.2.0.2]}
  cpu: {cores: 16, clock: 2.7GHz}
fabric: {topology: single-switch}
`)
	h := c.Hosts[1]
	// 2400 Gb/s x 0.783 = 1879 Gb/s.
	if h.NVLink != 1879*units.Gbps || h.GPU.Arch != "ampere" || h.CPU != (CPU{16, 2.7e9}) || h.Class != "host" {
		t.Errorf("host %+v", h)
	}
	n := h.NICs[1]
	if n.Device != "mlx5_5" || n.Rail != 1 || n.GPU != 2 || n.VLAN != 101 || n.Address != "10.2.0.2" || n.PCIe != 200*units.Gbps || n.Model.Latency != units.Microsecond {
		t.Errorf("NIC %+v %+v", n, n.Model)
	}
	if m, _ := LookupNIC("connectx-6-dx"); m.Latency == units.Microsecond {
		t.Error("the file changed the catalogue")
	}
}

func TestSwitchSettings(t *testing.T) {
	c := load(t, `
host: {count: 8, nic: {count: 1, speed: 100Gbps}}
fabric: {leaves: 2, spines: 1}
switch:
  model: tomahawk-3
  buffer: 32MiB
  spine: {model: tomahawk-4, latency: 2us}
`)
	leaf, _ := c.FindNode("leaf-0")
	spine, _ := c.FindNode("spine-0")
	if m := c.Nodes[leaf].Model; m.Name != "tomahawk-3" || m.Buffer != 32*units.MiB {
		t.Errorf("leaf %+v", m)
	}
	if m := c.Nodes[spine].Model; m.Name != "tomahawk-4" || m.Latency != 2*units.Microsecond || m.Buffer == 32*units.MiB {
		t.Errorf("spine %+v", m)
	}
	if c.Nodes[leaf].OS != "sonic" {
		t.Errorf("OS %s", c.Nodes[leaf].OS)
	}
}

func TestIntent(t *testing.T) {
	c := load(t, `
host: {count: 2, nic: {speed: 200Gbps}}
qos:
  roce: {dscp: 24, priority: 5, share: 40%}
  cnp: {dscp: 25, priority: 7}
  classes: [{name: storage, dscp: 10, priority: 4, lossless: true, share: 30%}]
  mtu: 1024
  port_mtu: 9000
  ecn: {probability: 5%, mark_at: dequeue}
  watchdog: {detect_after: 400ms, action: forward}
switch: {alpha: 0.125, headroom: 100KB, xon_offset: 20KB}
`)
	q := c.QoS
	want := []qos.Class{{Name: "roce", DSCP: 24, Priority: 5, Lossless: true, Share: 0.4}, {Name: "cnp", DSCP: 25, Priority: 7, Strict: true}, {Name: "storage", DSCP: 10, Priority: 4, Lossless: true, Share: 0.3}}
	for i := range want {
		if q.Classes[i] != want[i] {
			t.Errorf("class %d: %+v, want %+v", i, q.Classes[i], want[i])
		}
	}
	if q.LosslessMask() != 1<<5|1<<4 {
		t.Errorf("lossless mask %b", q.LosslessMask())
	}
	// 100 KB and 400 KB at 25 Gb/s, x 8 at 200 Gb/s.
	if e := q.ECN; e.Min != 800*units.KB || e.Max != 3200*units.KB || e.Probability != 0.05 || e.MarkAt != qos.MarkAtDequeue || !e.Enabled {
		t.Errorf("ECN %+v", e)
	}
	if w := q.Watchdog; w.DetectAfter != 400*units.Millisecond || w.RestoreAfter != 200*units.Millisecond || w.Action != qos.WatchdogForward || !w.Enabled {
		t.Errorf("watchdog %+v", w)
	}
	if q.MTU != 1024 || q.PortMTU != 9000 || q.Alpha != 0.125 || q.Headroom != 100*units.KB || q.XONOffset != 20*units.KB || !q.PFC {
		t.Errorf("intent %+v", q)
	}
}
