package switchcore

import (
	"testing"

	"weir/internal/qos"
	"weir/units"
)

func TestAdjust(t *testing.T) {
	cfg := Config{
		Ports: []PortConfig{{Rate: 100 * units.Gbps, Headroom: 50000}, {Rate: 100 * units.Gbps, Headroom: 50000}}, Buffer: 1 << 20,
		Lossless: 1 << 3, PFC: true, AlphaIngress: 1, PauseQuanta: 100,
	}
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var o Outcome
	put := func() Outcome {
		return s.Enqueue(0, &Entry{Packet: 1, Bytes: 4000, In: 0, Out: 1, Priority: 3, Flags: Capable})
	}
	if o = put(); o.Mark != 0 {
		t.Errorf("marks without ECN: %v", o.Mark)
	}
	if err := s.SetECN(3, qos.ECN{Enabled: true, Min: 0, Max: 1, Probability: 1}); err != nil {
		t.Fatal(err)
	}
	if o = put(); o.Mark == 0 {
		t.Error("no mark after SetECN")
	}
	if err := s.SetECN(3, qos.ECN{Enabled: true, Min: 2, Max: 1}); err == nil {
		t.Error("min above max was taken")
	}
	s.Pause(0, 1, 3, 100)
	if s.Sendable(1, 1) {
		t.Error("a paused port may send")
	}
	s.SetPFC(1, 1, 0, 0)
	if !s.Sendable(1, 1) {
		t.Error("a port that no longer obeys pause stays paused")
	}
	s.SetPFC(1, 0, 0, 0) // sends no XOFF: drops over the threshold, headroom unused
	for range 300 {
		o = put()
	}
	if o.Flags&LosslessDrop == 0 || s.XOFFInForce(0, 3) {
		t.Errorf("over the threshold without PFC: flags %b, XOFF %t", o.Flags, s.XOFFInForce(0, 3))
	}
	s.SetHeadroom(0, 1<<30)
	if got := s.Headroom(0); got != 50000 {
		t.Errorf("headroom %v, configured 50000", got)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}
