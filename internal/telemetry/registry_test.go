package telemetry

import (
	"slices"
	"testing"
)

func TestRegistry(t *testing.T) {
	r := NewRegistry()
	pause := MustLookup("rdma_roce_pfc_pause_frames_total")
	add := func(values ...string) uint32 {
		n, err := r.Add(pause, values...)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	a := add("host-0", "mlx5_0", "1", "eth0", "rx", "3")
	b := add("host-0", "mlx5_0", "1", "eth0", "tx", "3")
	c := add("host-1", "mlx5_0", "1", "", "rx", "3")
	if a != 0 || b != 1 || c != 2 || add("host-0", "mlx5_0", "1", "eth0", "tx", "3") != b || r.Len() != 3 {
		t.Errorf("numbers %d %d %d of %d", a, b, c, r.Len())
	}
	// Values that join to the same text are different series.
	x, y := add("h", "a\x00b", "", "", "", ""), add("h", "a", "b", "", "", "")
	if x == y {
		t.Error("two series share a number")
	}
	if got := r.Find(pause, Label{"direction", "rx"}, Label{"priority", "3"}); !slices.Equal(got, []uint32{a, c}) {
		t.Errorf("found %v", got)
	}
	if got := r.String(c); got != `rdma_roce_pfc_pause_frames_total{instance="host-1",device="mlx5_0",port="1",direction="rx",priority="3"}` {
		t.Error(got)
	}
	if r.Label(a, "netdev") != "eth0" || r.Label(a, "lane") != "" {
		t.Error("labels are wrong")
	}
	if _, err := r.Add(pause, "host-0"); err == nil {
		t.Error("a series with one label of six")
	}
	if _, err := r.Add(MetricID(len(Table()))); err == nil {
		t.Error("a series without metric")
	}
}
