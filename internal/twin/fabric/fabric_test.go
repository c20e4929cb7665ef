package fabric

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/cluster"
)

func wantHops(t *testing.T, f *Fabric, node cluster.NodeID, dst cluster.PortID, want ...uint16) {
	t.Helper()
	if got := f.NextHops(node, dst); !slices.Equal(got, want) {
		t.Errorf("next hops of %s to %s: %v, want %v", f.c.Nodes[node].Name, f.portName(dst), got, want)
	}
}

func TestLeafSpine(t *testing.T) {
	b := leafSpine(4, 2, 3, 1) // leaf ports: 0, 1 hosts; 2, 3, 4 spines. Spine port i: leaf i.
	f := b.fabric(t)
	wantHops(t, f, b.id("leaf-0"), b.at("host-1", 0), 1)
	wantHops(t, f, b.id("leaf-0"), b.at("host-7", 0), 2, 3, 4)
	wantHops(t, f, b.id("spine-2"), b.at("host-7", 0), 3)
	wantHops(t, f, b.id("host-0"), b.at("host-7", 0), 0)
	if got := f.Egress(b.at("host-0", 0)); !slices.Equal(got, []uint16{0}) {
		t.Errorf("egress %v", got)
	}
}

func TestParallelLinksAreOneGroup(t *testing.T) {
	b := leafSpine(2, 1, 2, 3)
	f := b.fabric(t)
	wantHops(t, f, b.id("leaf-0"), b.at("host-1", 0), 1, 2, 3, 4, 5, 6)
	wantHops(t, f, b.id("spine-1"), b.at("host-1", 0), 3, 4, 5)
}

func TestLinkDown(t *testing.T) {
	b := leafSpine(3, 2, 2, 1)
	f := b.fabric(t)
	// leaf-0's uplink to spine-0 dies: leaf-0 has spine-1 alone; leaf-1 must
	// avoid spine-0 towards leaf-0, and towards leaf-0 only.
	up := b.c.Ports[b.at("leaf-0", 2)].Link
	g := f.WithDown(up)
	wantHops(t, g, b.id("leaf-0"), b.at("host-5", 0), 3)
	wantHops(t, g, b.id("leaf-1"), b.at("host-0", 0), 3)
	wantHops(t, g, b.id("leaf-1"), b.at("host-5", 0), 2, 3)
	wantHops(t, g, b.id("spine-0"), b.at("host-0", 0))
	wantHops(t, f, b.id("leaf-1"), b.at("host-0", 0), 2, 3) // f itself has not changed
	wantHops(t, g.WithDown(), b.id("leaf-1"), b.at("host-0", 0), 2, 3)

	h := f.WithDown(b.c.Ports[b.at("host-0", 0)].Link)
	if err := h.Reachable(b.at("host-3", 0), b.at("host-0", 0)); err == nil || err.Error() != "no path from host-3/nic-0 to host-0/nic-0: host-0/nic-0 has no link that is up" {
		t.Errorf("error %v", err)
	}
}

func TestBondToOneLeaf(t *testing.T) {
	b := leafSpine(2, 1, 1, 1)
	h := b.host("twin")
	b.link(h, b.id("leaf-1")) // leaf-1 port 2
	b.link(h, b.id("leaf-1")) // leaf-1 port 3
	b.bond(h)
	f := b.fabric(t)
	for k := range 2 {
		wantHops(t, f, b.id("leaf-1"), b.at("twin", k), 2, 3)
		wantHops(t, f, b.id("leaf-0"), b.at("twin", k), 1)
		if got := f.Egress(b.at("twin", k)); !slices.Equal(got, []uint16{0, 1}) {
			t.Errorf("egress of port %d: %v", k, got)
		}
	}
	g := f.WithDown(b.c.Ports[b.at("twin", 0)].Link)
	wantHops(t, g, b.id("leaf-1"), b.at("twin", 0), 3)
	if got := g.Egress(b.at("twin", 0)); !slices.Equal(got, []uint16{1}) {
		t.Errorf("egress %v", got)
	}
}

// mlag: host "dual" is bonded over leaf-0 and leaf-1, which have a peer link.
func mlag() (*builder, cluster.LinkID) {
	b := leafSpine(3, 1, 2, 1) // leaf ports: 0 host, 1, 2 spines
	h := b.host("dual")
	b.link(h, b.id("leaf-0")) // leaf-0 port 3
	b.link(h, b.id("leaf-1")) // leaf-1 port 3
	b.bond(h)
	peer := b.link(b.id("leaf-0"), b.id("leaf-1")) // port 4 on each
	return b, peer
}

func TestBondOverMLAG(t *testing.T) {
	b, _ := mlag()
	f := b.fabric(t)
	dst := b.at("dual", 0)
	wantHops(t, f, b.id("leaf-0"), dst, 3) // both members deliver themselves
	wantHops(t, f, b.id("leaf-1"), dst, 3)
	wantHops(t, f, b.id("leaf-2"), dst, 1, 2)
	wantHops(t, f, b.id("spine-0"), dst, 0, 1)

	// With the member on leaf-0 dead, leaf-0 uses the peer link and spines use leaf-1.
	g := f.WithDown(b.c.Ports[b.at("dual", 0)].Link)
	wantHops(t, g, b.id("leaf-0"), dst, 4)
	wantHops(t, g, b.id("leaf-1"), dst, 3)
	wantHops(t, g, b.id("spine-0"), dst, 1)
	if got := g.Egress(dst); !slices.Equal(got, []uint16{1}) {
		t.Errorf("egress %v", got)
	}
}

func TestLevelLinkIsNoTransit(t *testing.T) {
	// Without uplinks leaf-1 can be reached over the peer link from leaf-0,
	// but not from leaf-2: that way would go up, down, across.
	b, _ := mlag()
	f := b.fabric(t).WithDown(b.c.Ports[b.at("leaf-1", 1)].Link, b.c.Ports[b.at("leaf-1", 2)].Link)
	wantHops(t, f, b.id("leaf-0"), b.at("host-1", 0), 4)
	if err := f.Reachable(b.at("host-2", 0), b.at("host-1", 0)); err == nil || err.Error() != "no path from host-2/nic-0 to host-1/nic-0" {
		t.Errorf("error %v", err)
	}
}

func TestPlanesAreApart(t *testing.T) {
	b := newBuilder("leaf-spine")
	for plane := range 2 {
		for i := range 2 {
			b.node(fmt.Sprintf("leaf-%d", plane*2+i), 1)
		}
		s := b.node(fmt.Sprintf("spine-%d", plane), 2)
		b.link(b.id(fmt.Sprintf("leaf-%d", plane*2)), s)
		b.link(b.id(fmt.Sprintf("leaf-%d", plane*2+1)), s)
	}
	for h := range 2 {
		id := b.host(fmt.Sprintf("host-%d", h))
		b.link(id, b.id(fmt.Sprintf("leaf-%d", h)))
		b.link(id, b.id(fmt.Sprintf("leaf-%d", 2+h)))
	}
	f := b.fabric(t)
	if err := f.Reachable(b.at("host-0", 0), b.at("host-1", 0)); err != nil {
		t.Error(err)
	}
	if err := f.Reachable(b.at("host-0", 0), b.at("host-1", 1)); err == nil || err.Error() != "no path from host-0/nic-0 to host-1/nic-1" {
		t.Errorf("error %v", err)
	}
	wantHops(t, f, b.id("host-0"), b.at("host-1", 1), 1)
}

func TestExplicitRingTakesShortestWay(t *testing.T) {
	b := newBuilder("explicit")
	for i := range 4 {
		b.node(fmt.Sprintf("switch-%d", i), 0)
	}
	for i := range 4 {
		b.link(b.id(fmt.Sprintf("switch-%d", i)), b.id(fmt.Sprintf("switch-%d", (i+1)%4)))
	}
	// Ports: switch-0: 0 to 1, 1 to 3; the others: 0 to the one before (switch-3: to 2), 1 to the one after.
	for i := range 4 {
		b.link(b.host(fmt.Sprintf("host-%d", i)), b.id(fmt.Sprintf("switch-%d", i)))
	}
	f := b.fabric(t)
	wantHops(t, f, b.id("switch-0"), b.at("host-1", 0), 0)
	wantHops(t, f, b.id("switch-0"), b.at("host-2", 0), 0, 1)
	wantHops(t, f, b.id("switch-0"), b.at("host-3", 0), 1)
	wantHops(t, f, b.id("switch-3"), b.at("host-1", 0), 0, 1)
	g := f.WithDown(b.c.Ports[b.at("switch-0", 0)].Link)
	wantHops(t, g, b.id("switch-0"), b.at("host-1", 0), 1) // the long way round
}

func TestBackToBack(t *testing.T) {
	b := newBuilder("explicit")
	b.link(b.host("host-0"), b.host("host-1"))
	f := b.fabric(t)
	path, err := f.PathOf(b.at("host-0", 0), b.at("host-1", 0), &Fields{})
	if err != nil || len(path) != 1 || path[0].To != b.id("host-1") {
		t.Errorf("path %v, error %v", path, err)
	}
	wantHops(t, f, b.id("host-0"), b.at("host-1", 0), 0)
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		change func(*cluster.Cluster)
		want   string
	}{
		{func(c *cluster.Cluster) { c.Ports[0].Peer = 0 }, "host-0/nic-0: the ends of its link do not agree"},
		{func(c *cluster.Cluster) { c.Nodes[0].Ports[1] = 0 }, "leaf-0: port number 1 is not port 0"},
		{func(c *cluster.Cluster) { c.Hosts[1].NICs[0].Address = "fe80::1" }, `host-1/nic-0: "fe80::1" is not an IPv4 address`},
	} {
		b := leafSpine(2, 2, 1, 1)
		c.change(&b.c)
		if _, err := New(&b.c); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v, want %q", err, c.want)
		}
	}
}

func TestPathOf(t *testing.T) {
	b := fatTree(4)
	f := b.fabric(t)
	src, dst := b.at("host-0", 0), b.at("host-15", 0)
	seen := map[string]bool{}
	for port := range 200 {
		path, err := f.PathOf(src, dst, &Fields{SrcIP: f.Address(src), DstIP: f.Address(dst), SrcPort: 49152 + uint16(port), DstPort: 4791, Protocol: 17})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, h := range path {
			names = append(names, b.c.Nodes[h.Node].Name)
		}
		seen[strings.Join(names, " ")] = true
		if len(path) != 6 || path[5].To != b.id("host-15") || names[0] != "host-0" || names[5] != "leaf-7" {
			t.Fatalf("path %v", names)
		}
	}
	if len(seen) != 4 { // k*k/4 core switches
		t.Errorf("%d paths, want 4: %v", len(seen), seen)
	}
}

func BenchmarkNew(b *testing.B) {
	for _, n := range []struct{ leaves, perLeaf, spines int }{{8, 16, 8}, {64, 16, 16}, {128, 32, 32}, {512, 32, 32}} {
		c := leafSpine(n.leaves, n.perLeaf, n.spines, 1)
		b.Run(fmt.Sprintf("%dNICs", n.leaves*n.perLeaf), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.fabric(b)
			}
		})
	}
	c := fatTree(32)
	b.Run("8192NICs-3tier", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			c.fabric(b)
		}
	})
}

func BenchmarkChoose(b *testing.B) {
	c := leafSpine(128, 32, 32, 1)
	f := c.fabric(b)
	fields := Fields{SrcPort: 1, DstPort: 4791, Protocol: 17}
	leaf := c.id("leaf-3")
	dst := c.at("host-4000", 0)
	mask := c.c.Routing.HashFields
	var sum uint16
	for i := range b.N {
		fields.SrcPort = uint16(i)
		p, _ := f.Choose(leaf, dst, fields.Hash(mask, f.Seed(leaf)))
		sum += p
	}
	_ = sum
}
