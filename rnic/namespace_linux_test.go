package rnic_test

import (
	"net/netip"
	"testing"

	"weir/rnic"
	"weir/test/netns"
)

// cable makes two namespaces with a cable between them and a device in each.
func cable(t testing.TB, mtu int, ca, cb rnic.Config) (a, b *rnic.Device, na, nb *netns.Namespace) {
	t.Helper()
	na, nb = netns.New(t), netns.New(t)
	netns.Join(na, nb, "v0", "v1", "10.83.0.1/24", "10.83.0.2/24", mtu)
	ca.Addr, cb.Addr = netip.MustParseAddr("10.83.0.1"), netip.MustParseAddr("10.83.0.2")
	na.Do(func() { a = open(t, ca) })
	nb.Do(func() { b = open(t, cb) })
	return a, b, na, nb
}

// connectIn connects two ends in their namespaces: sockets for source ports are
// opened then.
func connectIn(t testing.TB, na, nb *netns.Namespace, a, b *end, path rnic.Path) {
	t.Helper()
	var errA, errB error
	na.Do(func() { errA = a.qp.Connect(b.peer(), path) })
	nb.Do(func() { errB = b.qp.Connect(a.peer(), path) })
	if errA != nil || errB != nil {
		t.Fatal(errA, errB)
	}
}

// TestSegmentIdentifications: the kernel numbers the segments of a train as the
// sender assumed, so a receiver that sees the IPv4 headers finds every ICRC
// right.
func TestSegmentIdentifications(t *testing.T) {
	da, db, na, nb := cable(t, 4300, rnic.Config{Segmentation: true}, rnic.Config{RawReceive: true})
	if out, err := na.Command("ethtool", "-K", "v0", "tx-udp-segmentation", "off").CombinedOutput(); err != nil {
		t.Skipf("ethtool: %v %s", err, out)
	}
	a, b := newEnd(t, da, rnic.RC), newEnd(t, db, rnic.RC)
	path := rnic.DefaultPath()
	path.MTU, path.Window = 4096, 64
	connectIn(t, na, nb, a, b, path)
	data := pattern(60000, 1)
	const n = 20
	for range n {
		a.send(t, rnic.SendRequest{Op: rnic.OpWrite, Data: data, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
	}
	for _, c := range a.await(t, n) {
		if c.Status != rnic.Success {
			t.Fatalf("%v\n%+v\n%+v", c.Status, da.Counters(), db.Counters())
		}
	}
	// 15 packets a message.
	if c := db.Counters(); c.ReceivedPackets < 15*n || c.BadICRC != 0 || c.ICRCLoose != 0 {
		t.Errorf("%+v", c)
	}
}
