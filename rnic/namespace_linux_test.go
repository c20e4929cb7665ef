package rnic_test

import (
	"bytes"
	"net/netip"
	"sync"
	"testing"
	"time"

	"weir/dcqcn"
	"weir/rnic"
	"weir/roce"
	"weir/test/netns"
	"weir/units"
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

// bottleneck is a queue in user space that serves frames at a rate and marks
// those that find more than a threshold before them.
type bottleneck struct {
	mu        sync.Mutex
	queue     []*netns.Frame
	bytes     int
	threshold int // 0: marks nothing
	most      int // bytes ever queued
	marked    int
}

// enter queues a frame towards b; all others pass.
func (q *bottleneck) enter(f *netns.Frame, forward func(*netns.Frame)) {
	if !f.ToB || f.UDPPort() == 0 {
		forward(f)
		return
	}
	f.B = bytes.Clone(f.B)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.threshold > 0 && q.bytes > q.threshold && roce.ECN(f.Class()&3) != roce.NotECT {
		f.SetClass(f.Class() | uint8(roce.CE))
		q.marked++
	}
	q.queue = append(q.queue, f)
	q.bytes += len(f.B)
	q.most = max(q.most, q.bytes)
}

// serve forwards at a rate in bits per second until stop.
func (q *bottleneck) serve(rate float64, forward func(*netns.Frame), stop chan struct{}) {
	last, credit := time.Now(), 0.0
	for {
		select {
		case <-stop:
			return
		default:
		}
		now := time.Now()
		credit = min(credit+now.Sub(last).Seconds()*rate/8, 64<<10)
		last = now
		q.mu.Lock()
		for len(q.queue) > 0 && credit > 0 {
			f := q.queue[0]
			q.queue = q.queue[1:]
			q.bytes -= len(f.B)
			credit -= float64(len(f.B))
			forward(f)
		}
		q.mu.Unlock()
		time.Sleep(500 * time.Microsecond)
	}
}

func (q *bottleneck) mark(threshold int) {
	q.mu.Lock()
	q.threshold = threshold
	q.mu.Unlock()
}

// TestCongestion: on real packets, a queue that marks gets CNPs sent, they cut
// the sender's rate, and when the marks end the rate recovers. DCQCN's times are
// a hundred times the adapters' defaults, as the rates are a hundredth.
func TestCongestion(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const line, bottle = 1e9, 100e6
	conf := rnic.Config{Congestion: dcqcn.AdapterDefaults(line)}
	conf.Congestion.Enabled = true
	for _, x := range []*units.Time{
		&conf.Congestion.AlphaPeriod, &conf.Congestion.ReducePeriod, &conf.Congestion.TimeReset, &conf.Congestion.MinTimeBetweenCNPs,
	} {
		*x *= 100
	}
	q := &bottleneck{}
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	var once sync.Once
	na, nb := netns.Bridge(t, 4300, func(f *netns.Frame, forward func(*netns.Frame)) {
		once.Do(func() { go q.serve(bottle, forward, stop) })
		q.enter(f, forward)
	})
	ca, cb := conf, conf
	ca.Addr, cb.Addr = netip.MustParseAddr("10.83.0.1"), netip.MustParseAddr("10.83.0.2")
	var da, db *rnic.Device
	na.Do(func() { da = open(t, ca) })
	nb.Do(func() { db = open(t, cb) })
	a, b := newEnd(t, da, rnic.RC), newEnd(t, db, rnic.RC)
	path := rnic.DefaultPath()
	path.MTU, path.Window = 1024, 128
	connectIn(t, na, nb, a, b, path)
	data := make([]byte, 30_000)
	lowest := units.BitRate(line)
	load := func(d time.Duration) {
		open := 0
		for end := time.Now().Add(d); time.Now().Before(end) || open > 0; {
			for open < 4 && time.Now().Before(end) {
				a.send(t, rnic.SendRequest{Op: rnic.OpWrite, Data: data, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
				open++
			}
			for _, c := range a.await(t, 1) {
				if c.Status != rnic.Success {
					t.Fatal(c.Status)
				}
				open--
			}
			lowest = min(lowest, a.qp.Rate())
		}
	}
	load(200 * time.Millisecond)
	if r := a.qp.Rate(); r != line || da.Counters().CNPHandled != 0 {
		t.Fatalf("rate %v after %d CNPs before anything was marked", r, da.Counters().CNPHandled)
	}
	q.mark(30_000)
	load(1500 * time.Millisecond)
	cut := a.qp.Rate()
	sent, got := da.Counters(), db.Counters()
	if got.CEMarked == 0 || got.CNPSent == 0 || sent.CNPHandled == 0 {
		t.Fatalf("marked %d, CNPs sent %d, handled %d", got.CEMarked, got.CNPSent, sent.CNPHandled)
	}
	if lowest > line/2 {
		t.Errorf("the rate never fell below %v", lowest)
	}
	q.mark(0)
	load(3 * time.Second)
	if r := a.qp.Rate(); r <= cut || r < 2*lowest {
		t.Errorf("rate %v after the marks ended, %v before, lowest %v", r, cut, lowest)
	}
	t.Logf("lowest %v, at the end of the marks %v, 3 s later %v; %d marked, %d CNPs", lowest, cut, a.qp.Rate(), got.CEMarked, got.CNPSent)
}
