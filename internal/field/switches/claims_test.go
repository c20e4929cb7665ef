package switches

import (
	"context"
	"io/fs"
	"os"
	"testing"
	"time"

	"weir/internal/cluster"
)

// Two sources of one switch: each metric comes from the better one, and from
// the other once that is silent.
func TestEachMetricHasOneSource(t *testing.T) {
	l := openStore(t)
	claims := &Claims{}
	gnmi, snmp := NewWriter(l, nil, "leaf-0", "gnmi", nil, claims), NewWriter(l, nil, "leaf-0", "snmp", nil, claims)
	pfc, bytes := metric("roce_switch_pfc_pause_frames_total", "direction", "rx"), metric("roce_switch_port_bytes_total", "direction", "rx")
	pfc.Port, bytes.Port = "e1", "e1"
	write := func(w *Writer, at time.Time, rs ...Reading) {
		t.Helper()
		w.Begin()
		for _, r := range rs {
			w.Add(at, r)
		}
		if err := w.End(context.Background(), at, true); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now().Add(-20 * time.Minute)
	say := func(r Reading, v uint64) Reading { r.Value = v; return r }
	write(snmp, now, say(pfc, 1), say(bytes, 2))
	write(gnmi, now.Add(time.Second), say(bytes, 3))
	write(snmp, now.Add(2*time.Second), say(pfc, 4), say(bytes, 99))
	at := func(d time.Duration, expr string) float64 {
		got, err := l.Query(context.Background(), expr, now.Add(d))
		if err != nil || len(got) != 1 {
			t.Fatalf("%s: %v, %v", expr, got, err)
		}
		return got[0].Value
	}
	if p, b := at(3*time.Second, "roce_switch_pfc_pause_frames_total"), at(3*time.Second, "last_over_time(roce_switch_port_bytes_total[10s])"); p != 4 || b != 3 {
		t.Errorf("pause %v, bytes %v; want 4 by SNMP and 3 by gNMI", p, b)
	}
	write(snmp, now.Add(6*time.Minute), say(bytes, 100))
	if b := at(6*time.Minute, "roce_switch_port_bytes_total"); b != 100 {
		t.Errorf("%v bytes after gNMI was silent for 6 minutes, want SNMP's 100", b)
	}
}

type hostFS struct{}

func (hostFS) Open(name string) (fs.File, error) { return os.Open(name) }

// The vendor's names of a cluster's switch become the cluster's, and the port
// says who is at its other end.
func TestPortNames(t *testing.T) {
	c, err := cluster.Load(hostFS{}, "../../../examples/pod-64x8.yaml", []string{"switch.os=sonic"})
	if err != nil {
		t.Fatal(err)
	}
	l := openStore(t)
	w := NewWriter(l, c, "leaf-0", "gnmi", nil, nil)
	r := metric("roce_switch_port_info", "state", "up")
	r.Port, r.Value = "Ethernet0", 1
	w.Begin()
	w.Add(time.Now(), r)
	r.Labels[0].Value = "down"
	w.Begin()
	w.Add(time.Now(), r)
	if err := w.End(context.Background(), time.Now(), false); err != nil {
		t.Fatal(err)
	}
	got, err := l.Query(context.Background(), "roce_switch_port_info", time.Now())
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v: one state of the port", got, err)
	}
	if p, peer, state := got[0].Labels.Get("port"), got[0].Labels.Get("peer"), got[0].Labels.Get("state"); p != "port-0" || peer != "host-0/nic-0" || state != "down" {
		t.Errorf("port %q, peer %q, state %q", p, peer, state)
	}
}
