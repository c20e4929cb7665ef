package rnic_test

import (
	"net/netip"
	"testing"

	"weir/rnic"
	"weir/units"
)

var (
	addrA = netip.MustParseAddr("192.0.2.1")
	addrB = netip.MustParseAddr("192.0.2.2")
)

// end is one end of a connection in a test.
type end struct {
	dev *rnic.Device
	pd  *rnic.PD
	cq  *rnic.CQ
	qp  *rnic.QP
	mr  *rnic.MR
	buf []byte
}

// newEnd makes a queue pair with a region of 64 KiB on a device.
func newEnd(t testing.TB, d *rnic.Device, typ rnic.QPType) *end {
	t.Helper()
	e := &end{dev: d, pd: d.AllocPD(), cq: d.CreateCQ(256), buf: make([]byte, 64<<10)}
	var err error
	if e.mr, err = e.pd.RegisterMR(e.buf, rnic.RemoteRead|rnic.RemoteWrite|rnic.RemoteAtomic); err != nil {
		t.Fatal(err)
	}
	if e.qp, err = e.pd.CreateQP(rnic.QPConfig{Type: typ, SendCQ: e.cq, RecvCQ: e.cq, PSN: rnic.PSNRandom, QKey: 0x11111111}); err != nil {
		t.Fatal(err)
	}
	return e
}

func (e *end) peer() rnic.Peer {
	return rnic.Peer{Addr: e.dev.Addr(), QPN: e.qp.Number(), PSN: e.qp.PSN()}
}

func connect(t testing.TB, a, b *end, path rnic.Path) {
	t.Helper()
	if err := a.qp.Connect(b.peer(), path); err != nil {
		t.Fatal(err)
	}
	if err := b.qp.Connect(a.peer(), path); err != nil {
		t.Fatal(err)
	}
}

// fabricPair makes two connected ends on a fabric.
func fabricPair(t testing.TB, f *rnic.Fabric, typ rnic.QPType, path rnic.Path) (a, b *end) {
	t.Helper()
	da, err := f.Open(rnic.Config{Addr: addrA})
	if err != nil {
		t.Fatal(err)
	}
	db, err := f.Open(rnic.Config{Addr: addrB})
	if err != nil {
		t.Fatal(err)
	}
	a, b = newEnd(t, da, typ), newEnd(t, db, typ)
	connect(t, a, b, path)
	return a, b
}

func (e *end) send(t testing.TB, r rnic.SendRequest) {
	t.Helper()
	if err := e.qp.PostSend(&r); err != nil {
		t.Fatal(err)
	}
}

func (e *end) recv(t testing.TB, id uint64, b []byte) {
	t.Helper()
	if err := e.qp.PostRecv(&rnic.RecvRequest{ID: id, Buffer: b}); err != nil {
		t.Fatal(err)
	}
}

func (e *end) poll() []rnic.Completion {
	var c [64]rnic.Completion
	var all []rnic.Completion
	for {
		n := e.cq.Poll(c[:])
		if all = append(all, c[:n]...); n < len(c) {
			return all
		}
	}
}

func pattern(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + seed*31 + i>>8)
	}
	return b
}

// TestOperations does each operation once over a clean fabric and looks at
// completions and memory.
func TestOperations(t *testing.T) {
	f := rnic.NewFabric(1, rnic.Impairments{})
	a, b := fabricPair(t, f, rnic.RC, rnic.DefaultPath())
	inv, err := b.pd.RegisterMR(make([]byte, 8), rnic.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	bufs := make([][]byte, 4)
	for i := range bufs {
		bufs[i] = make([]byte, 5000)
		b.recv(t, uint64(100+i), bufs[i])
	}
	b.mr.Store(8, 40)
	data := pattern(5000, 1)
	back := make([]byte, 5000)
	at, key := b.mr.Addr(), b.mr.RKey()
	for i, r := range []rnic.SendRequest{
		{Op: rnic.OpSend, Data: data},
		{Op: rnic.OpSendImmediate, Data: data[:1], Immediate: 0xdeadbeef, Solicited: true},
		{Op: rnic.OpSendInvalidate, Data: nil, InvalidateKey: inv.RKey()},
		{Op: rnic.OpWrite, Data: data, RemoteAddr: at + 1000, RKey: key},
		{Op: rnic.OpWriteImmediate, Data: data[:4096], RemoteAddr: at + 8192, RKey: key, Immediate: 7},
		{Op: rnic.OpRead, Data: back, RemoteAddr: at + 1000, RKey: key},
		{Op: rnic.OpFetchAdd, RemoteAddr: at + 8, RKey: key, Add: 2},
		{Op: rnic.OpCompareSwap, RemoteAddr: at + 8, RKey: key, Compare: 42, Swap: 99},
		{Op: rnic.OpCompareSwap, RemoteAddr: at + 8, RKey: key, Compare: 42, Swap: 1},
		{Op: rnic.OpWrite, RemoteAddr: 0, RKey: 0}, // empty: no key is looked at
		{Op: rnic.OpRead},
	} {
		r.ID = uint64(i)
		a.send(t, r)
	}
	if !f.Run(units.Second) {
		t.Fatal("not done within a second")
	}
	got := a.poll()
	if len(got) != 11 {
		t.Fatalf("%d completions", len(got))
	}
	for i, c := range got {
		if c.ID != uint64(i) || c.Status != rnic.Success {
			t.Errorf("completion %d: id %d, %v", i, c.ID, c.Status)
		}
	}
	if got[6].Original != 40 || got[7].Original != 42 || got[8].Original != 99 || b.mr.Load(8) != 99 {
		t.Errorf("atomics saw %d %d %d, memory is %d", got[6].Original, got[7].Original, got[8].Original, b.mr.Load(8))
	}
	if string(bufs[0]) != string(data) || string(b.buf[1000:6000]) != string(data) || string(b.buf[8192:8192+4096]) != string(data[:4096]) || string(back) != string(data) {
		t.Error("data differ")
	}
	rs := b.poll()
	if len(rs) != 4 {
		t.Fatalf("%d receives", len(rs))
	}
	if rs[0].Bytes != 5000 || rs[0].ID != 100 || !rs[0].Receive {
		t.Errorf("SEND: %+v", rs[0])
	}
	if rs[1].Immediate != 0xdeadbeef || !rs[1].HasImmediate || !rs[1].Solicited || rs[1].Bytes != 1 {
		t.Errorf("SEND with immediate: %+v", rs[1])
	}
	if !rs[2].Invalidated || rs[2].InvalidatedKey != inv.RKey() {
		t.Errorf("SEND with invalidate: %+v", rs[2])
	}
	if rs[3].Op != rnic.OpWriteImmediate || rs[3].Immediate != 7 || rs[3].Bytes != 4096 {
		t.Errorf("WRITE with immediate: %+v", rs[3])
	}
	a.send(t, rnic.SendRequest{Op: rnic.OpWrite, Data: data[:8], RemoteAddr: inv.Addr(), RKey: inv.RKey()})
	f.Run(2 * units.Second)
	if c := a.poll(); len(c) != 1 || c[0].Status != rnic.RemoteAccessError {
		t.Errorf("WRITE to an invalidated key: %+v", c)
	}
}

// TestRefusals: what a responder refuses, with the requester's and its own
// completion, and that nothing is written.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    func(b *end) rnic.SendRequest
		want rnic.Status
		recv int // size of a receive buffer; -1: none
	}{
		{"bad key", func(b *end) rnic.SendRequest {
			return rnic.SendRequest{Op: rnic.OpWrite, Data: make([]byte, 3000), RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey() ^ 1<<20}
		}, rnic.RemoteAccessError, -1},
		{"beyond the end", func(b *end) rnic.SendRequest {
			return rnic.SendRequest{Op: rnic.OpWrite, Data: make([]byte, 3000), RemoteAddr: b.mr.Addr() + 65536 - 2999, RKey: b.mr.RKey()}
		}, rnic.RemoteAccessError, -1},
		{"before the start", func(b *end) rnic.SendRequest {
			return rnic.SendRequest{Op: rnic.OpRead, Data: make([]byte, 2), RemoteAddr: b.mr.Addr() - 1, RKey: b.mr.RKey()}
		}, rnic.RemoteAccessError, -1},
		{"address near 2^64", func(b *end) rnic.SendRequest {
			return rnic.SendRequest{Op: rnic.OpRead, Data: make([]byte, 100), RemoteAddr: ^uint64(0) - 4, RKey: b.mr.RKey()}
		}, rnic.RemoteAccessError, -1},
		{"odd atomic", func(b *end) rnic.SendRequest {
			return rnic.SendRequest{Op: rnic.OpFetchAdd, RemoteAddr: b.mr.Addr() + 3, RKey: b.mr.RKey(), Add: 1}
		}, rnic.RemoteInvalidError, -1},
		{"buffer too small", func(*end) rnic.SendRequest {
			return rnic.SendRequest{Op: rnic.OpSend, Data: make([]byte, 3000)}
		}, rnic.RemoteInvalidError, 2999},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := rnic.NewFabric(1, rnic.Impairments{})
			a, b := fabricPair(t, f, rnic.RC, rnic.DefaultPath())
			copy(b.buf, pattern(len(b.buf), 3))
			before := string(b.buf)
			var buf []byte
			if tt.recv >= 0 {
				buf = make([]byte, tt.recv)
				b.recv(t, 1, buf)
			}
			a.send(t, tt.r(b))
			a.send(t, rnic.SendRequest{ID: 2, Op: rnic.OpSend})
			f.Run(units.Second)
			c := a.poll()
			if len(c) != 2 || c[0].Status != tt.want || c[1].Status != rnic.Flushed {
				t.Fatalf("completions %+v, want %v and a flush", c, tt.want)
			}
			if string(b.buf) != before {
				t.Error("memory was changed")
			}
			if tt.recv >= 0 {
				if r := b.poll(); len(r) != 1 || r[0].Status != rnic.LocalLengthError {
					t.Errorf("receive %+v, want %v", r, rnic.LocalLengthError)
				}
			}
			if b.qp.Err() == nil || a.qp.Err() != tt.want {
				t.Errorf("queue pairs: %v, %v", a.qp.Err(), b.qp.Err())
			}
		})
	}
}

// TestRNR: a SEND waits for a receive buffer, and fails when its retries run out.
func TestRNR(t *testing.T) {
	path := rnic.DefaultPath()
	path.RNRRetry, path.RNRTimer = 3, 20 // 10.24 ms
	f := rnic.NewFabric(1, rnic.Impairments{})
	a, b := fabricPair(t, f, rnic.RC, path)
	data := pattern(2500, 1)
	a.send(t, rnic.SendRequest{Op: rnic.OpSend, Data: data})
	a.send(t, rnic.SendRequest{Op: rnic.OpWrite, Data: data, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()})
	f.Run(15 * units.Millisecond)
	buf := make([]byte, 2500)
	b.recv(t, 1, buf)
	f.Run(units.Second)
	if c := a.poll(); len(c) != 2 || c[0].Status != rnic.Success || c[1].Status != rnic.Success {
		t.Fatalf("%+v", c)
	}
	if string(buf) != string(data) || a.dev.Counters().RNRNAKs == 0 {
		t.Errorf("data differ, or no RNR NAK: %+v", a.dev.Counters())
	}
	a.send(t, rnic.SendRequest{Op: rnic.OpSend, Data: data})
	start := f.Now()
	f.Run(2 * units.Second)
	if c := a.poll(); len(c) != 1 || c[0].Status != rnic.RNRRetryExceeded {
		t.Fatalf("%+v", c)
	}
	// Section 9.7.5.2.8: three retries, each after 10.24 ms.
	if took := f.Now() - start; took < 30*units.Millisecond {
		t.Errorf("failed after %v", took)
	}
}

// TestUnreliable: UC and UD deliver what is not lost, whole.
func TestUnreliable(t *testing.T) {
	for _, typ := range []rnic.QPType{rnic.UC, rnic.UD} {
		f := rnic.NewFabric(7, rnic.Impairments{})
		a, b := fabricPair(t, f, typ, rnic.DefaultPath())
		const n = 100
		size := 3000
		if typ == rnic.UD {
			size = 900
		}
		bufs := make([][]byte, n)
		for i := range bufs {
			bufs[i] = make([]byte, size)
			b.recv(t, uint64(i), bufs[i])
		}
		for _, loss := range []float64{0, 0.1} {
			f.Loss = loss
			for i := range n / 2 {
				a.send(t, rnic.SendRequest{
					ID: uint64(i), Op: rnic.OpSendImmediate, Data: pattern(size, i), Immediate: uint32(i),
					To: addrB, QPN: b.qp.Number(), QKey: 0x11111111,
				})
			}
			f.Run(f.Now() + units.Second)
			if c := a.poll(); len(c) != n/2 {
				t.Errorf("%v: %d of %d sends complete", typ, len(c), n/2)
			}
			got := b.poll()
			if loss == 0 && len(got) != n/2 || loss > 0 && (len(got) < n/8 || len(got) == n/2) {
				t.Errorf("%v, loss %v: %d messages", typ, loss, len(got))
			}
			last := -1
			for _, c := range got {
				if int(c.Immediate) <= last || int(c.Bytes) != size || string(bufs[c.ID]) != string(pattern(size, int(c.Immediate))) {
					t.Errorf("%v: message %d after %d, %d bytes", typ, c.Immediate, last, c.Bytes)
				}
				last = int(c.Immediate)
				if typ == rnic.UD && (c.From != addrA || c.SrcQP != a.qp.Number()) {
					t.Errorf("from %v %v", c.From, c.SrcQP)
				}
			}
		}
		if typ == rnic.UD {
			before := b.dev.Counters().BadQKey
			a.send(t, rnic.SendRequest{Op: rnic.OpSend, To: addrB, QPN: b.qp.Number(), QKey: 1})
			f.Loss = 0
			f.Run(f.Now() + units.Second)
			if b.dev.Counters().BadQKey != before+1 {
				t.Error("a wrong Q_Key was not counted")
			}
		}
	}
}
