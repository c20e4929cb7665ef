package record_test

import (
	"context"
	"os"
	"testing"

	"weir/internal/cluster"
	"weir/internal/telemetry"
	"weir/internal/twin"
	"weir/internal/twin/record"
	"weir/units"
)

const incast = `
host: {count: 3, gpus: 0, nic: {count: 1, speed: 100Gbps}}
fabric: {topology: single-switch}
qos: {ecn: {min: 20KB, max: 80KB}}
job: {pattern: incast, size: 1MB}
`

// The record of a run says what the run's result says.
func TestRecordOfIncast(t *testing.T) {
	f, err := cluster.Parse("c.yaml", []byte(incast), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	rec, err := record.New(root, f.Cluster, telemetry.Header{Cluster: f.Cluster.Name, Interval: 10 * units.Microsecond}, telemetry.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := twin.Run(context.Background(), f.Cluster, twin.Options{Sample: rec.Sample, SampleEvery: 10 * units.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := telemetry.OpenRecord(os.DirFS(dir))
	if err != nil || !r.Complete {
		t.Fatal(r, err)
	}
	w, err := r.Window(0, units.Never)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(metric string, labels ...telemetry.Label) (total uint64) {
		for _, n := range r.Registry.Find(telemetry.MustLookup(metric), labels...) {
			d, ok := w.Delta(n)
			if !ok {
				t.Errorf("no delta of %s", r.Registry.String(n))
			}
			total += d.Value
		}
		return total
	}
	tx, rx := telemetry.Label{Name: "direction", Value: "tx"}, telemetry.Label{Name: "direction", Value: "rx"}
	totals := result.Network.Totals
	// 2 x 1 MB in packets of 4096 bytes: 245 each, nothing repeated.
	if got := sum("rdma_data_packets_total", tx); got != 490 || totals.DataPackets != 490 {
		t.Errorf("%d data packets sent, the result says %d", got, totals.DataPackets)
	}
	if got := sum("rdma_data_packets_total", rx); got != 490 {
		t.Errorf("%d data packets received", got)
	}
	if got := sum("roce_switch_queue_ecn_marked_packets_total"); got != totals.ECNMarkedPackets || got == 0 {
		t.Errorf("%d marked, the result says %d", got, totals.ECNMarkedPackets)
	}
	if got := sum("rdma_np_ecn_marked_roce_packets_total"); got != totals.ECNMarkedPackets {
		t.Errorf("%d marks received of %d", got, totals.ECNMarkedPackets)
	}
	if sent, handled := sum("rdma_np_cnp_sent_total"), sum("rdma_rp_cnp_handled_total"); sent != totals.CNPs || handled != sent || sent == 0 {
		t.Errorf("%d CNPs sent, %d handled, the result says %d", sent, handled, totals.CNPs)
	}
	// What hosts send the switch receives, and the other way round; both ends
	// count whole frames, hosts in words.
	words := sum("rdma_port_xmit_data_total")
	if bytes := sum("roce_switch_port_bytes_total", rx); bytes < 4*words || bytes > 4*words+3*3 || words == 0 {
		t.Errorf("hosts sent %d words, the switch got %d bytes", words, bytes)
	}
	if a, b := sum("rdma_port_xmit_packets_total"), sum("roce_switch_port_packets_total", rx); a != b {
		t.Errorf("hosts sent %d packets, the switch got %d", a, b)
	}
	if a, b := sum("rdma_port_rcv_packets_total"), sum("roce_switch_port_packets_total", tx); a != b {
		t.Errorf("hosts got %d packets, the switch sent %d", a, b)
	}
	queue := r.Registry.Find(telemetry.MustLookup("roce_switch_queue_watermark_bytes"), telemetry.Label{Name: "port", Value: "port-2"}, telemetry.Label{Name: "queue", Value: "3"})
	if _, high, _, ok := w.Range(queue[0]); !ok || units.Bytes(high) != result.Network.DeepestQueue.Bytes {
		t.Errorf("deepest queue %d, the result says %v", high, result.Network.DeepestQueue.Bytes)
	}
}
