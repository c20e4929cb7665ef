package sim_test

import (
	"context"
	"errors"
	"testing"

	"weir/internal/cluster"
	"weir/internal/twin/sim"
	"weir/units"
)

// A run ends when its context does, and can be continued.
func TestInterrupt(t *testing.T) {
	c := star(t, 2, 100*units.Gbps, 500*units.Nanosecond)
	ctx, cancel := context.WithCancel(context.Background())
	var calls int
	s := simulate(t, sim.Config{Cluster: c, ProgressEvery: 1000, Progress: func(p sim.Progress) {
		if calls++; calls == 3 {
			cancel()
		}
		if p.Messages != 1 || p.Completed != 0 {
			t.Errorf("%d of %d messages, want 0 of 1", p.Completed, p.Messages)
		}
	}})
	id := send(t, s, 0, 1, 100*units.MB)
	if err := s.Run(ctx, units.Never); !errors.Is(err, context.Canceled) {
		t.Fatalf("the run ended with %v", err)
	}
	if n := s.Engine().Events; n != 3000 {
		t.Errorf("%d events, want 3000", n)
	}
	c2 := star(t, 2, 100*units.Gbps, 500*units.Nanosecond)
	whole := simulate(t, sim.Config{Cluster: c2})
	send(t, whole, 0, 1, 100*units.MB)
	finish(t, whole)
	for s.Flow(id).Done == units.Never {
		runUntil(t, s, s.Now()+units.Millisecond)
	}
	if got, want := s.Flow(id).Done, whole.Flow(id).Done; got != want {
		t.Errorf("continued, the flow ended at %v, want %v", got, want)
	}
}

// A tap sees each frame of its port, and the messages of a connection come with
// their cookies, in order.
func TestTapAndMessages(t *testing.T) {
	c := star(t, 2, 100*units.Gbps, 500*units.Nanosecond)
	c.RDMA.AckEvery = 1
	s := simulate(t, sim.Config{Cluster: c, Check: true})
	own, _ := nicPort(c, 0)
	far, _ := nicPort(c, 1)
	var frames [4]int
	var bytes uint64
	var last units.Time
	for _, p := range []cluster.PortID{own, far} {
		s.Tap(p, func(f *sim.Frame) {
			frames[f.Kind]++
			if f.Port == own {
				bytes += uint64(f.Bytes)
				if f.At < last {
					t.Errorf("a frame starts at %v, after one at %v", f.At, last)
				}
				last = f.At
			}
			if f.Fields.DstPort != 4791 {
				t.Errorf("UDP port %d, want 4791", f.Fields.DstPort)
			}
		})
	}
	var delivered, completed []uint64
	s.Handle(sim.Handlers{
		Delivered: func(_ sim.ConnID, cookie uint64, _ units.Time) { delivered = append(delivered, cookie) },
		Completed: func(_ sim.ConnID, cookie uint64, _ units.Time) { completed = append(completed, cookie) },
	})
	conn, err := s.Connect(host(0), host(1), sim.Options{Ring: 2})
	if err != nil {
		t.Fatal(err)
	}
	const messages = 50
	for i := range uint64(messages) {
		s.Post(conn, 10_000, 100+i)
	}
	finish(t, s)
	if len(delivered) != messages || len(completed) != messages {
		t.Fatalf("%d delivered, %d completed, want %d", len(delivered), len(completed), messages)
	}
	for i := range uint64(messages) {
		if delivered[i] != 100+i || completed[i] != 100+i {
			t.Fatalf("message %d: delivered %d, completed %d", i, delivered[i], completed[i])
		}
	}
	// 10,000 bytes are packets of 4096, 4096 and 1808, with 62 bytes around each
	// and 16 more in the first.
	if frames[sim.DataFrame] != 3*messages || frames[sim.AckFrame] != 3*messages || bytes != messages*(10_000+3*62+16) {
		t.Errorf("%v frames by kind, %d bytes; want %d data and acknowledgements, %d bytes", frames, bytes, 3*messages, messages*(10_000+3*62+16))
	}
	if own := s.Counters(own, c.QoS.RoCE().Priority); own.TxBytes != bytes {
		t.Errorf("the port counted %d bytes, the tap %d", own.TxBytes, bytes)
	}
}
