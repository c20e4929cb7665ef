package rc_test

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"weir/rc"
	"weir/roce"
	"weir/units"
)

// slots runs a requester that always has work over a link that carries one
// packet a slot, and returns how many messages were completed. Packets take
// there slots to the responder, responses back slots, and drop decides which
// packets are lost; responses never are.
func slots(p *rc.Params, bytes uint32, n, there, back int, drop func(i int) bool) (completed, idle int) {
	var req rc.Requester
	var rsp rc.Responder
	req.Reset(p, 0, make([]rc.Message, 256), make([]uint64, 64))
	rsp.Reset(p, 0, nil, make([]uint64, 128))
	data, answers := make([]rc.Packet, there+1), make([]rc.Packet, back+1)
	sent, answered := make([]bool, there+1), make([]bool, back+1)
	for i := range n {
		now := units.Time(i) * slot
		if k := i % (back + 1); answered[k] {
			answered[k] = false
			req.Handle(p, now, &answers[k])
		}
		for req.Post(p, rc.Message{Op: roce.RCWriteOnly, Bytes: bytes}) {
		}
		in := i % (there + 1)
		if sent[in] = req.Next(p, now, &data[in]); !sent[in] {
			idle++
		}
		if drop(i) {
			sent[in] = false
		}
		arriving := (i + 1) % (there + 1)
		if there == 0 {
			arriving = in
		}
		if sent[arriving] {
			sent[arriving] = false
			out := (i + back) % (back + 1)
			pkt := &data[arriving]
			if v := rsp.Check(pkt); v == rc.InOrder || v == rc.Ahead {
				answered[out] = rsp.Commit(p, pkt, &answers[out])
			} else {
				answered[out] = rsp.Refuse(p, now, v, pkt, &answers[out])
			}
			if back == 0 && answered[out] {
				answered[out] = false
				req.Handle(p, now, &answers[out])
			}
		}
	}
	return int(req.Completed()), idle
}

// TestGoBackNGoodput: the share of a link that go-back-N delivers under
// independent loss p is (1-p)/(1-p+pW), where W packets fit into a round trip
// (standard analysis). The literals are those of 40 to 400 Gb/s and 10 us.
func TestGoBackNGoodput(t *testing.T) {
	for _, c := range []struct {
		name    string
		w       int
		p, want float64
	}{
		{"40G, MTU 1024", 45, 1e-4, 0.9955},
		{"40G, MTU 1024", 45, 1e-3, 0.957},
		{"40G, MTU 1024", 45, 1e-2, 0.687},
		{"40G, MTU 1024", 45, 1. / 256, 0.850},
		{"100G, MTU 1024", 113, 1e-4, 0.989},
		{"100G, MTU 1024", 113, 1e-3, 0.898},
		{"100G, MTU 1024", 113, 1e-2, 0.467},
		{"100G, MTU 4096", 30, 1e-3, 0.971},
		{"100G, MTU 4096", 30, 4e-3, 0.893},
		{"400G, MTU 1024", 452, 1e-5, 0.9955},
		{"400G, MTU 1024", 452, 1e-3, 0.689},
		{"400G, MTU 1024", 452, 1e-2, 0.180},
		{"400G, MTU 4096", 120, 1e-4, 0.988},
		{"400G, MTU 4096", 120, 1e-3, 0.893},
	} {
		const n = 1_000_000
		// a repetition that is lost again is reported after a round trip
		p := rc.Params{MTU: 1024, AckEvery: 1, NakInterval: units.Time(c.w+1) * slot}
		rnd := rand.New(rand.NewPCG(uint64(c.w), math.Float64bits(c.p)))
		const packets = 16
		completed, _ := slots(&p, packets*1024, n, c.w/2, c.w-c.w/2, func(int) bool { return rnd.Float64() < c.p })
		if got := float64(completed) * packets / n; !within(got, c.want, 0.03) {
			t.Errorf("%s, loss %v: goodput %.4f, want %v", c.name, c.p, got, c.want)
		}
	}
}

// TestSelectiveRepeatGoodput: a loss costs its own slot and nothing more, so the
// goodput is 1-p, whatever the round trip.
func TestSelectiveRepeatGoodput(t *testing.T) {
	for _, c := range []struct {
		w       int
		p, want float64
	}{{113, 1e-3, 0.999}, {452, 1e-3, 0.999}, {113, 1e-2, 0.99}, {452, 1e-2, 0.99}} {
		const n, packets = 500_000, 16
		p := rc.Params{MTU: 1024, AckEvery: 1, Recovery: rc.SelectiveRepeat}
		rnd := rand.New(rand.NewPCG(uint64(c.w), math.Float64bits(c.p)))
		completed, _ := slots(&p, packets*1024, n, c.w/2, c.w-c.w/2, func(int) bool { return rnd.Float64() < c.p })
		if got := float64(completed) * packets / n; !within(got, c.want, 0.02) {
			t.Errorf("round trip %d, loss %v: goodput %.4f, want %v", c.w, c.p, got, c.want)
		}
	}
}

// TestGoBack0Livelock: 4 MB messages at MTU 1024 with every 256th packet of the
// wire lost. Going back to packet 0, no message ever gets through, while the
// link stays full (Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM
// 2016, section 4.1). Go-back-N over the same link loses 46 slots of each 256: a
// round trip of 45 and the lost packet's own. (Random loss of 1/256 leaves 0.85,
// since some of it hits slots that are wasted anyway.)
func TestGoBack0Livelock(t *testing.T) {
	const n = 2_000_000
	drop := func(i int) bool { return i&255 == 255 } // low byte of the IP identification
	p := rc.Params{MTU: 1024, AckEvery: 1, Recovery: rc.GoBack0}
	completed, idle := slots(&p, 4<<20, n, 22, 23, drop)
	if completed != 0 || idle != 0 {
		t.Errorf("go-back-0: %d messages and %d idle slots, want 0 and 0", completed, idle)
	}
	p.Recovery = rc.GoBackN
	completed, _ = slots(&p, 4<<20, n, 22, 23, drop)
	if got := float64(completed) * 4096 / n; !within(got, 0.8203, 0.005) {
		t.Errorf("go-back-N: goodput %.4f, want 0.8203", got)
	}
}

// TestGoBack0Goodput: under independent loss p, messages of m packets get through
// with goodput m p (1-p)^m / (1-(1-p)^m), when the sender hears of a loss at
// once.
func TestGoBack0Goodput(t *testing.T) {
	n := 6_000_000
	share := 0.05 // of the rarest, which completes about 430 messages in them
	if os.Getenv("WEIR_LONG") != "" {
		n, share = 300_000_000, 0.02
	}
	for _, c := range []struct {
		m           uint32
		want, share float64
	}{
		{64, 0.8804, 0.02},
		{256, 0.5801, 0.02},
		{1024, 0.07402, share},
	} {
		p := rc.Params{MTU: 1024, Recovery: rc.GoBack0, NakInterval: slot}
		rnd := rand.New(rand.NewPCG(7, uint64(c.m)))
		completed, _ := slots(&p, c.m*1024, n, 0, 0, func(int) bool { return rnd.Uint32()&255 == 0 })
		if got := float64(completed) * float64(c.m) / float64(n); !within(got, c.want, c.share) {
			t.Errorf("%d packets a message: goodput %.5f, want %v", c.m, got, c.want)
		}
	}
}

func within(got, want, share float64) bool { return math.Abs(got-want) <= share*want }
