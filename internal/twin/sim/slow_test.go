package sim_test

import (
	"testing"

	"weir/internal/twin/sim"
	"weir/units"
)

// A receiver whose PCIe takes half of the line pauses its switch: nothing is
// lost, the sender gets PCIe's rate, and every pause ends.
func TestSlowReceiver(t *testing.T) {
	c := star(t, 2, 100*units.Gbps, 500*units.Nanosecond)
	c.DCQCN.Enabled = false
	c.Hosts[1].NICs[0].PCIe = 50 * units.Gbps
	s := simulate(t, sim.Config{Cluster: c, Check: true})
	id := send(t, s, 0, 1, 50*units.MB)
	finish(t, s)
	f := s.Flow(id)
	// 50 MB at 50 Gb/s take 8 ms; what the receive buffer holds at the end is
	// acknowledged before it is drained.
	within(t, "completion us", (f.Done - f.Sent).Microseconds(), 8000, 0.02)
	own, leaf := nicPort(c, 1)
	prio := c.QoS.RoCE().Priority
	if n := s.Counters(own, prio); n.TxXOFF == 0 || n.TxXON == 0 {
		t.Errorf("the receiver sent %d XOFF and %d XON, want both", n.TxXOFF, n.TxXON)
	}
	if n := s.Counters(leaf, prio); n.Paused < 3*units.Millisecond || n.Paused > 5*units.Millisecond {
		t.Errorf("its switch port was paused for %v, want half of 8ms", n.Paused)
	}
	if tot := s.Totals(); tot.Drops != 0 || tot.Retransmitted != 0 {
		t.Errorf("%+v, want no loss", tot)
	}
}

// A receiver that nothing reaches: the requester tries 1 + RetryCount times, a
// timeout apart, and the run says that it has come to a standstill.
func TestBlackHole(t *testing.T) {
	c := star(t, 2, 100*units.Gbps, 500*units.Nanosecond)
	c.RDMA.Timeout, c.RDMA.RetryCount = 8, 3 // 4.096 us x 2^8 = 1048.576 us
	s := simulate(t, sim.Config{Cluster: c})
	_, last := nicPort(c, 1)
	s.SetDown(last, true)
	send(t, s, 0, 1, 1000)
	err := s.Run(t.Context(), units.Never)
	if err == nil {
		t.Fatal("the run ended well")
	}
	if n := s.NIC(host(0)); n.Timeouts != 3 || n.RetriesExceeded != 1 {
		t.Errorf("%d timeouts, %d failures, want 3 and 1 (%v)", n.Timeouts, n.RetriesExceeded, err)
	}
	low, high := 4*1048576*units.Nanosecond, 4*1048576*units.Nanosecond+10*units.Microsecond
	if s.Now() < low || s.Now() > high {
		t.Errorf("it gave up at %v, want four timeouts of 1048.576us", s.Now())
	}
}
