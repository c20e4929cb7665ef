package diagnosis

import (
	"os"
	"testing"

	"weir/internal/cause"
	"weir/internal/telemetry"
	"weir/units"
)

// A line of a record: a metric, its labels behind those of its side, and what
// it reads at each of the three instants, a millisecond apart.
type recordedLine struct {
	metric string
	labels []string
	values [3]uint64
}

func recordingOf(t *testing.T, lines []recordedLine) Recording {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	reg := telemetry.NewRegistry()
	var ids []uint32
	for _, l := range lines {
		id, err := reg.Add(telemetry.MustLookup(l.metric), l.labels...)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	w, err := telemetry.Create(root, telemetry.Header{Source: "test", Interval: units.Millisecond}, reg, telemetry.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for at := range 3 {
		w.Begin(units.Time(at) * units.Millisecond)
		for i, l := range lines {
			w.Set(ids[i], l.values[at])
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	record, err := telemetry.OpenRecord(os.DirFS(dir))
	if err != nil {
		t.Fatal(err)
	}
	return Recording{Name: "record", Record: record}
}

func TestRecordedCounters(t *testing.T) {
	queue := []string{"leaf-1", "port-4", "3"}
	host := []string{"host-2", "mlx5_0", "1"}
	for name, c := range map[string]struct {
		want  string // cause of the first finding of warning or above, "" none
		lines []recordedLine
	}{
		"many marks in empty queues": {"ecn-threshold-too-low", []recordedLine{
			{"roce_switch_queue_ecn_marked_packets_total", queue, [3]uint64{0, 9_000, 20_000}},
			{"roce_switch_queue_packets_total", queue, [3]uint64{0, 50_000, 100_000}},
			{"roce_switch_queue_length_bytes", queue, [3]uint64{0, 9_000, 8_000}},
		}},
		"many marks in a full queue": {"", []recordedLine{
			{"roce_switch_queue_ecn_marked_packets_total", queue, [3]uint64{0, 9_000, 20_000}},
			{"roce_switch_queue_packets_total", queue, [3]uint64{0, 50_000, 100_000}},
			{"roce_switch_queue_length_bytes", queue, [3]uint64{800_000, 900_000, 850_000}},
		}},
		"marks and no notification": {"congestion-control-off", []recordedLine{
			{"rdma_np_ecn_marked_roce_packets_total", host, [3]uint64{0, 9_000, 20_000}},
			{"rdma_np_cnp_sent_total", host, [3]uint64{0, 0, 0}},
		}},
		"marks, notifications, a few pauses": {"", []recordedLine{
			{"rdma_np_ecn_marked_roce_packets_total", host, [3]uint64{0, 9_000, 20_000}},
			{"rdma_np_cnp_sent_total", host, [3]uint64{0, 4_000, 8_000}},
			{"rdma_roce_pfc_pause_frames_total", []string{"host-2", "mlx5_0", "1", "nic-0", "tx", "3"}, [3]uint64{0, 600, 1300}},
			{"roce_switch_pfc_pause_duration_total", []string{"leaf-1", "port-4", "3", "rx"}, [3]uint64{0, 5, 12}}, // us of 2000
		}},
		"a host that pauses its port a third of the time": {"receiver-slow-pause", []recordedLine{
			{"rdma_roce_pfc_pause_frames_total", []string{"host-2", "mlx5_0", "1", "nic-0", "tx", "3"}, [3]uint64{0, 600, 1300}},
			{"roce_switch_pfc_pause_duration_total", []string{"leaf-1", "port-4", "3", "rx"}, [3]uint64{0, 350, 700}},
		}},
		"a port that is paused all the time": {"pfc-storm", []recordedLine{
			{"roce_switch_pfc_pause_duration_total", []string{"leaf-1", "port-4", "3", "rx"}, [3]uint64{0, 990, 1970}},
			{"roce_switch_queue_packets_total", queue, [3]uint64{10, 10, 10}},
		}},
		"drops of a paused group": {"headroom-too-small", []recordedLine{
			{"roce_switch_pg_dropped_packets_total", queue, [3]uint64{0, 10, 40}},
			{"roce_switch_pfc_pause_frames_total", []string{"leaf-1", "port-4", "3", "tx"}, [3]uint64{0, 500, 900}},
			{"rdma_out_of_sequence_total", host, [3]uint64{0, 10, 40}},
			{"rdma_packet_seq_err_total", host, [3]uint64{0, 10, 40}},
		}},
		"a counter that was reset": {"", []recordedLine{
			{"rdma_np_ecn_marked_roce_packets_total", host, [3]uint64{5_000_000, 5_000_100, 20}},
			{"rdma_np_cnp_sent_total", host, [3]uint64{4_000_000, 4_000_050, 9}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			catalogue, err := cause.Load()
			if err != nil {
				t.Fatal(err)
			}
			r, err := RunRecorded(nil, []Recording{recordingOf(t, c.lines)}, catalogue, cause.English)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range r.Findings {
				if got == "" && f.Severity.String() != "info" {
					got = f.Cause
				}
			}
			if got != c.want {
				t.Errorf("found %q, want %q\n%s", got, c.want, answer(r))
			}
		})
	}
}
