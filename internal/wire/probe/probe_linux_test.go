package probe

import (
	"context"
	"encoding/binary"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"weir/test/netns"
)

// run probes b from a. With respond, a responder runs in b; sys is its list of
// RDMA devices.
func run(t *testing.T, a, b *netns.Namespace, respond bool, sys string) *Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if respond {
		ready, ended := make(chan struct{}), make(chan error, 1)
		go b.Do(func() {
			ended <- (&Server{Addr: netip.MustParseAddr("10.83.0.2"), SysClass: sys}).Run(ctx, func() { close(ready) })
		})
		select {
		case <-ready:
		case err := <-ended:
			t.Fatal(err)
		}
	}
	var r *Report
	var err error
	a.Do(func() {
		r, err = Run(ctx, Options{Host: "10.83.0.2", Class: 106, Ports: 16, Rounds: 6, Timeout: 300 * time.Millisecond})
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func causes(r *Report) []string {
	var c []string
	for _, f := range r.Findings {
		c = append(c, f.Cause)
	}
	return c
}

// TestFaults puts each fault on the path between two namespaces and looks at the
// state, the findings and whether the exit status would be 1.
func TestFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	probeOnly := func(f *netns.Frame) bool { return f.UDPPort() != 0 }
	for _, tt := range []struct {
		name    string
		mtu     int
		respond bool
		sys     bool
		path    func(f *netns.Frame) bool // false: lost
		state   State
		causes  []string
		faulty  bool
		check   func(t *testing.T, r *Report)
	}{
		{
			name: "clean", mtu: 9000, respond: true, state: Open,
			check: func(t *testing.T, r *Report) {
				if r.Answered != 96 || r.Arrived != 96 || r.PathMTUTo != 4096 || r.PathMTUFrom != 4096 || r.RTT == nil || r.RTT.Min <= 0 {
					t.Errorf("%+v", r)
				}
				for _, c := range r.Classes {
					if c.To != c.Sent || c.From != c.Sent {
						t.Errorf("traffic class %+v", c)
					}
				}
				if len(r.Classes) != 4 { // 104, 106, 107 and 192
					t.Errorf("classes %+v", r.Classes)
				}
			},
		},
		{
			name: "standard frames", mtu: 1500, respond: true, state: Open, causes: []string{"mtu-small"},
			check: func(t *testing.T, r *Report) {
				if r.PathMTUTo != 1024 {
					t.Errorf("path MTU %d", r.PathMTUTo)
				}
			},
		},
		{
			name: "filter towards the host", mtu: 9000, respond: true, state: Forward, causes: []string{"udp4791-blocked"}, faulty: true,
			path: func(f *netns.Frame) bool { return !probeOnly(f) || !f.ToB },
		},
		{
			name: "filter on the way back", mtu: 9000, respond: true, state: Backward, causes: []string{"udp4791-blocked"}, faulty: true,
			path: func(f *netns.Frame) bool { return !probeOnly(f) || f.ToB },
		},
		{
			name: "silence", mtu: 9000, state: Unknown, causes: []string{"unknown"},
			path: func(f *netns.Frame) bool { return !probeOnly(f) || !f.ToB },
		},
		{name: "nobody listens", mtu: 9000, state: Nobody, causes: []string{"unknown"}},
		{
			name: "an RDMA card takes the port", mtu: 9000, respond: true, sys: true, state: Hardware, causes: []string{"unknown"},
			path: func(f *netns.Frame) bool { return !probeOnly(f) || !f.ToB },
		},
		{
			name: "small hop", mtu: 9000, respond: true, state: Open, causes: []string{"mtu-mismatch"}, faulty: true,
			path: func(f *netns.Frame) bool { return len(f.B) <= 1514 },
			check: func(t *testing.T, r *Report) {
				if r.PathMTUTo != 1024 || r.PathMTUFrom != 1024 {
					t.Errorf("path MTU %d, %d", r.PathMTUTo, r.PathMTUFrom)
				}
			},
		},
		{
			name: "DSCP rewritten", mtu: 9000, respond: true, state: Open, causes: []string{"roce-in-default-priority"}, faulty: true,
			path: func(f *netns.Frame) bool {
				if probeOnly(f) && f.ToB {
					f.SetClass(f.Class() & 3)
				}
				return true
			},
		},
		{
			name: "ECN cleared", mtu: 9000, respond: true, state: Open, causes: []string{"ecn-not-configured"}, faulty: true,
			path: func(f *netns.Frame) bool {
				if probeOnly(f) {
					f.SetClass(f.Class() &^ 3)
				}
				return true
			},
		},
		{
			name: "NAT", mtu: 9000, respond: true, state: Open, causes: []string{"path-unreachable"}, faulty: true,
			path: func(f *netns.Frame) bool {
				if probeOnly(f) && f.ToB {
					binary.BigEndian.PutUint16(f.B[34:], f.UDPPort()^0x11)
					f.B[40], f.B[41] = 0, 0 // no UDP checksum
				}
				return true
			},
		},
		{
			name: "dead path", mtu: 9000, respond: true, state: Open, causes: []string{"path-loss"}, faulty: true,
			path: func(f *netns.Frame) bool { return f.UDPPort()%4 != 1 },
			check: func(t *testing.T, r *Report) {
				for _, p := range r.Ports {
					if want := p.Sent; p.Port%4 == 1 && (p.Answered != 0 || p.Arrived != 0) || p.Port%4 != 1 && p.Answered != want {
						t.Errorf("%+v", p)
					}
				}
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // they mostly wait
			a, b := netns.Bridge(t, tt.mtu, func(f *netns.Frame, forward func(*netns.Frame)) {
				if tt.path == nil || tt.path(f) {
					forward(f)
				}
			})
			sys := t.TempDir()
			if tt.sys {
				dir := filepath.Join(sys, "mlx5_3", "ports", "1", "gid_attrs", "ndevs")
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "0"), []byte("v1\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r := run(t, a, b, tt.respond, sys)
			if r.State != tt.state || !slices.Equal(causes(r), tt.causes) || r.Faulty() != tt.faulty {
				t.Errorf("state %q, causes %v, faulty %v; want %q, %v, %v\n%+v", r.State, causes(r), r.Faulty(), tt.state, tt.causes, tt.faulty, r)
			}
			if tt.check != nil {
				tt.check(t, r)
			}
		})
	}
}

// TestPaths counts ways by TTL through a router.
func TestPaths(t *testing.T) {
	a, m, b := netns.New(t), netns.New(t), netns.New(t)
	netns.Join(a, m, "v0", "p0", "10.83.1.1/24", "10.83.1.254/24", 9000)
	netns.Join(b, m, "v1", "p1", "10.83.0.2/24", "10.83.0.254/24", 9000)
	a.Run("ip route add default via 10.83.1.254")
	b.Run("ip route add default via 10.83.0.254")
	m.Run("sysctl -qw net.ipv4.ip_forward=1\nsysctl -qw net.ipv4.icmp_ratelimit=0")
	r := run(t, a, b, true, t.TempDir())
	if r.State != Open || r.Paths != 1 || len(r.Hops) != 1 || !slices.Equal(r.Hops[0], []string{"10.83.1.254"}) {
		t.Errorf("%+v", r)
	}
}

// FuzzProbe: any bytes are a probe or an error, and a probe reads back.
func FuzzProbe(f *testing.F) {
	x, y := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	f.Add((&probePacket{Run: 7, Seq: 9, Port: 50000, Class: 106, SeenAddr: x}).encode(x, y, 50000, 0))
	f.Add([]byte{0x64})
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodeProbe(b)
		if err != nil {
			return
		}
		q, err := decodeProbe(p.encode(x, y, 1, len(b)))
		if err != nil || q != p {
			t.Errorf("%+v reads back as %+v, %v", p, q, err)
		}
	})
}
