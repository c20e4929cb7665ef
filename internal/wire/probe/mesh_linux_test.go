package probe

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"weir/internal/cluster"
)

const meshFile = `
host: {count: 3, nic: {count: 2, speed: 100Gbps, addresses: [127.83.0.1, 127.83.1.1, 127.83.0.2, 127.83.1.2, 127.83.0.3, 127.83.1.3]}}
fabric: {topology: single-switch}
`

func meshCluster(t *testing.T) *cluster.Cluster {
	t.Helper()
	c, err := cluster.Load(fstest.MapFS{"c.yaml": {Data: []byte(meshFile)}}, "c.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPairs(t *testing.T) {
	c := meshCluster(t)
	if got := Self(c, []netip.Addr{netip.MustParseAddr("10.1.1.1"), netip.MustParseAddr("127.83.1.2")}); got != "host-1" {
		t.Errorf("self is %q", got)
	}
	if got := Self(c, nil); got != "" {
		t.Errorf("self is %q without an address", got)
	}
	names := func(crossed bool) string {
		pairs, err := Pairs(c, "host-1", crossed)
		if err != nil {
			t.Fatal(err)
		}
		var s []string
		for _, p := range pairs {
			s = append(s, p.From+">"+p.To+"@"+p.Dst.String())
		}
		return strings.Join(s, " ")
	}
	if got, want := names(false), "host-1/nic-0>host-0/nic-0@127.83.0.1 host-1/nic-1>host-0/nic-1@127.83.1.1 host-1/nic-0>host-2/nic-0@127.83.0.3 host-1/nic-1>host-2/nic-1@127.83.1.3"; got != want {
		t.Errorf("same rail: %s", got)
	}
	if got := len(strings.Fields(names(true))); got != 8 {
		t.Errorf("%d pairs across rails", got)
	}
	if _, err := Pairs(c, "host-9", false); err == nil {
		t.Error("an unknown host is taken")
	}
}

// TestMesh: of two other hosts one answers on both rails and one on the first
// only.
func TestMesh(t *testing.T) {
	c := meshCluster(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, a := range []string{"127.83.0.2", "127.83.1.2", "127.83.0.3"} {
		ready, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- (&Server{Addr: netip.MustParseAddr(a), SysClass: t.TempDir()}).Run(ctx, func() { close(ready) })
		}()
		select {
		case <-ready:
		case err := <-ended:
			t.Fatal(err)
		}
	}
	pairs, err := Pairs(c, "host-0", false)
	if err != nil {
		t.Fatal(err)
	}
	edges := Mesh(ctx, Options{Class: 106, Ports: 4, Rounds: 3, Timeout: 200 * time.Millisecond, MaxHops: -1}, pairs, 3)
	if len(edges) != 4 {
		t.Fatalf("%d edges", len(edges))
	}
	for i := range edges {
		e := &edges[i]
		silent := e.To == "host-2/nic-1"
		if silent != (e.Report == nil || e.Report.State != Open) {
			t.Errorf("%s to %s: %+v %s", e.From, e.To, e.Report, e.Error)
		}
	}
	var b strings.Builder
	if err := WriteMatrix(&b, edges); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "host-1/nic-0  host-1/nic-1  host-2/nic-0  host-2/nic-1") || !strings.HasPrefix(lines[2], "host-0/nic-1  .") {
		t.Errorf("matrix:\n%s", b.String())
	}
	t.Logf("\n%s", b.String())
}

func TestNatural(t *testing.T) {
	for _, x := range [][2]string{{"host-2/nic-0", "host-10/nic-0"}, {"host-2/nic-9", "host-2/nic-10"}, {"a", "b"}, {"a", "a1"}, {"a02", "a3"}} {
		if natural(x[0], x[1]) >= 0 || natural(x[1], x[0]) <= 0 {
			t.Errorf("%v", x)
		}
	}
}
