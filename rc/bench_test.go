package rc_test

import (
	"testing"
	"unsafe"

	"weir/rc"
	"weir/roce"
	"weir/units"
)

// direct is a lossless pair with 4 KiB writes of 16 packets.
func direct() (p rc.Params, req rc.Requester, rsp rc.Responder) {
	p = rc.Params{MTU: 4096, AckEvery: 1, Window: 256, Timeout: units.Millisecond, RetryCount: 7, RNRRetry: 7}
	req.Reset(&p, 0, make([]rc.Message, 8), nil)
	rsp.Reset(&p, 0, nil, nil)
	return p, req, rsp
}

// exchange carries one packet and its acknowledgement.
func exchange(p *rc.Params, req *rc.Requester, rsp *rc.Responder, now units.Time, data, ack *rc.Packet) bool {
	if !req.Next(p, now, data) {
		return false
	}
	if rsp.Check(data) != rc.InOrder || !rsp.Commit(p, data, ack) {
		return false
	}
	e, _ := req.Handle(p, now, ack)
	return e == rc.Progress
}

// BenchmarkPacket measures one packet's Next, Check, Commit and the Handle of
// its acknowledgement.
func BenchmarkPacket(b *testing.B) {
	p, req, rsp := direct()
	var data, ack rc.Packet
	var now units.Time
	b.ReportAllocs()
	for b.Loop() {
		if req.Outstanding() < 2 {
			req.Post(&p, rc.Message{Op: roce.RCWriteOnly, Bytes: 64 << 10})
		}
		now += 100
		if !exchange(&p, &req, &rsp, now, &data, &ack) {
			b.Fatal("lost")
		}
	}
}

func TestNoAllocation(t *testing.T) {
	p, req, rsp := direct()
	var data, ack rc.Packet
	if n := testing.AllocsPerRun(1000, func() {
		req.Post(&p, rc.Message{Op: roce.RCWriteOnly, Bytes: 64 << 10})
		for exchange(&p, &req, &rsp, 0, &data, &ack) {
		}
	}); n != 0 {
		t.Errorf("%v allocations a message, want 0", n)
	}
	if req.Completed() != 1001 {
		t.Errorf("%d messages completed, want 1001", req.Completed())
	}
}

func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, most uintptr
	}{
		{"Packet", unsafe.Sizeof(rc.Packet{}), 20},
		{"Message", unsafe.Sizeof(rc.Message{}), 16},
		{"Requester", unsafe.Sizeof(rc.Requester{}), 112},
		{"Responder", unsafe.Sizeof(rc.Responder{}), 96},
	} {
		if c.got > c.most {
			t.Errorf("%s takes %d bytes, want at most %d", c.name, c.got, c.most)
		}
	}
}

// BenchmarkRead measures a READ of 16 packets: request, responses, their handling.
func BenchmarkRead(b *testing.B) {
	p, req, rsp := direct()
	rsp.Reset(&p, 0, make([]rc.Reply, 2), nil)
	var data, out rc.Packet
	b.ReportAllocs()
	for b.Loop() {
		req.Post(&p, rc.Message{Op: roce.RCReadRequest, Bytes: 64 << 10})
		if !req.Next(&p, 0, &data) || rsp.Check(&data) != rc.InOrder {
			b.Fatal("lost")
		}
		rsp.Commit(&p, &data, &out)
		for rsp.Next(&p, 0, &out) {
			req.Handle(&p, 0, &out)
		}
		if req.Outstanding() != 0 {
			b.Fatal("not complete")
		}
	}
}

// BenchmarkTracker measures one packet in order.
func BenchmarkTracker(b *testing.B) {
	var t rc.Tracker
	in := rc.Packet{Op: roce.RCWriteOnly, Bytes: 1024}
	b.ReportAllocs()
	for b.Loop() {
		in.PSN = in.PSN.Add(1)
		if s := t.Request(0, &in); s.Class > rc.New {
			b.Fatal(s)
		}
	}
}

func TestTrackerNoAllocation(t *testing.T) {
	var tr rc.Tracker
	in := rc.Packet{Op: roce.RCWriteOnly, Bytes: 1024}
	if n := testing.AllocsPerRun(1000, func() {
		in.PSN = in.PSN.Add(3)
		tr.Request(0, &in)
		in.PSN = in.PSN.Add(-1)
		tr.Request(0, &in)
		tr.Response(0, &rc.Packet{Op: roce.RCAcknowledge, PSN: in.PSN, Syndrome: roce.SyndromeACK})
	}); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}
