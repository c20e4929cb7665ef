package rnic_test

import (
	"testing"

	"weir/rnic"
	"weir/units"
)

// TestNoAllocation: posting, sending, receiving, acknowledging and completing do
// not allocate once things are warm.
func TestNoAllocation(t *testing.T) {
	f := rnic.NewFabric(1, rnic.Impairments{})
	path := rnic.DefaultPath()
	path.MTU = 4096
	a, b := fabricPair(t, f, rnic.RC, path)
	data, back := make([]byte, 60_000), make([]byte, 60_000)
	requests := []rnic.SendRequest{
		{Op: rnic.OpWrite, Data: data, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()},
		{Op: rnic.OpRead, Data: back, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()},
		{Op: rnic.OpFetchAdd, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey()},
	}
	var c [8]rnic.Completion
	run := func() {
		for i := range requests {
			if err := a.qp.PostSend(&requests[i]); err != nil {
				t.Fatal(err)
			}
		}
		f.Run(f.Now() + units.Second)
		if n := a.cq.Poll(c[:]); n != len(requests) {
			t.Fatalf("%d completions", n)
		}
	}
	run()
	if n := testing.AllocsPerRun(50, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
