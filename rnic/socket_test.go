package rnic_test

import (
	"context"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"weir/rnic"
	"weir/roce"
)

// open opens a device on the loopback interface, where every 127.x.x.x is local.
func open(t testing.TB, c rnic.Config) *rnic.Device {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("devices on sockets need Linux")
	}
	d, err := rnic.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// await polls until n completions have come.
func (e *end) await(t testing.TB, n int) []rnic.Completion {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var all []rnic.Completion
	for len(all) < n {
		if err := e.cq.Wait(ctx); err != nil {
			t.Fatalf("%d of %d completions: %v", len(all), n, err)
		}
		all = append(all, e.poll()...)
	}
	return all
}

// TestSockets moves data both ways between two devices on loopback sockets, for
// IPv4 and IPv6, plain and segmented by the kernel.
func TestSockets(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b string
		gso  bool
		raw  bool
	}{
		{"IPv4", "127.83.0.1", "127.83.0.2", false, false},
		{"segmented", "127.83.0.3", "127.83.0.4", true, false},
		{"raw", "127.83.0.5", "127.83.0.6", false, true},
		{"IPv6 to itself", "::1", "::1", false, false},
		{"IPv6 to itself, segmented", "::1", "::1", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conf := rnic.Config{Addr: netip.MustParseAddr(tt.a), Segmentation: tt.gso, RawReceive: tt.raw}
			if tt.raw && !privileged() {
				t.Skip("raw sockets need root")
			}
			da := open(t, conf)
			db := da
			if tt.b != tt.a {
				conf.Addr = netip.MustParseAddr(tt.b)
				db = open(t, conf)
			}
			path := rnic.DefaultPath()
			path.MTU, path.Window = 4096, 64
			a, b := newEnd(t, da, rnic.RC), newEnd(t, db, rnic.RC)
			connect(t, a, b, path)
			const n, size = 50, 64 << 10
			data, back := pattern(size, 1), make([]byte, size)
			for i := range n {
				a.send(t, rnic.SendRequest{ID: uint64(i), Op: rnic.OpWrite, Data: data, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
			}
			a.send(t, rnic.SendRequest{ID: n, Op: rnic.OpRead, Data: back, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
			for i, c := range a.await(t, n+1) {
				if c.ID != uint64(i) || c.Status != rnic.Success {
					t.Fatalf("completion %d: %d %v", i, c.ID, c.Status)
				}
			}
			if string(back) != string(data) {
				t.Error("what was read back differs")
			}
			ca, cb := da.Counters(), db.Counters()
			if ca.BadICRC+cb.BadICRC+ca.ICRCLoose+cb.ICRCLoose+ca.SendErrors+cb.SendErrors != 0 && !tt.gso {
				t.Errorf("%+v\n%+v", ca, cb)
			}
			if ca.BadICRC+cb.BadICRC != 0 {
				t.Errorf("wrong ICRCs: %+v\n%+v", ca, cb)
			}
		})
	}
}

// TestTrafficClass: what a packet was sent with arrives, and CE is answered.
func TestTrafficClass(t *testing.T) {
	conf := rnic.Config{Addr: netip.MustParseAddr("127.83.1.1")}
	conf.Congestion.Enabled = true
	conf.Congestion.LineRate = 1e9
	da := open(t, conf)
	conf.Addr = netip.MustParseAddr("127.83.1.2")
	db := open(t, conf)
	a, b := newEnd(t, da, rnic.RC), newEnd(t, db, rnic.RC)
	path := rnic.DefaultPath()
	path.TrafficClass = 26<<2 | uint8(roce.CE)
	connect(t, a, b, path)
	a.send(t, rnic.SendRequest{Op: rnic.OpWrite, Data: make([]byte, 100), RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
	a.await(t, 1)
	if c := db.Counters(); c.CEMarked != 1 || c.CNPSent != 1 {
		t.Errorf("receiver: %+v", c)
	}
	for range 100 {
		if da.Counters().CNPHandled == 1 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("sender: %+v", da.Counters())
}
