package observe_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"weir/internal/cluster"
	"weir/internal/fact"
	"weir/internal/telemetry"
	"weir/internal/twin/fault"
	"weir/internal/twin/observe"
	"weir/units"
)

// Small clusters on which the faults are seen.
const (
	// eight senders to one receiver.
	incast = `
host: {count: 9, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-2}
job: {pattern: incast, receiver: host-8/nic-0, senders: 8, size: 2MiB}
rdma: {timeout: 8}
`
	// the same, where pause is near: it acts a little in a healthy run as well.
	tight = `
host: {count: 9, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-2, alpha: 0.015625}
job: {pattern: incast, receiver: host-8/nic-0, senders: 8, size: 8MiB}
`
	// each host to another, most of them over the spines.
	tree = `
host: {count: 8, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 4, uplink: {speed: 100Gbps}}
switch: {model: spectrum-2}
rdma: {timeout: 8, qps_per_connection: 4}
job: {pattern: list, flows: [
  {src: host-0/nic-0, dst: host-4/nic-0, size: 2MiB}, {src: host-1/nic-0, dst: host-5/nic-0, size: 2MiB},
  {src: host-2/nic-0, dst: host-6/nic-0, size: 2MiB}, {src: host-3/nic-0, dst: host-7/nic-0, size: 2MiB},
  {src: host-4/nic-0, dst: host-1/nic-0, size: 2MiB}, {src: host-5/nic-0, dst: host-2/nic-0, size: 2MiB}]}
`
)

// Two rails: pairs of cards of one rail share a leaf.
const railed = `
host: {count: 4, gpus: 0, nic: {count: 2, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: rail-optimised, spines: 1}
switch: {model: spectrum-2}
job: {pattern: list, flows: [{src: host-0/nic-0, dst: host-1/nic-0, size: 2MiB}, {src: host-0/nic-1, dst: host-1/nic-1, size: 2MiB}]}
`

// A card of 400 Gb/s, which the way over host memory cannot feed.
const copied = `
host: {count: 2, gpus: 1, gpu: h100, nic: {count: 1, model: connectx-7, speed: 400Gbps}}
fabric: {topology: single-switch}
job: {collective: all_gather, begin: 16M, end: 16M}
`

// Two pods of a fat tree, every host to one of the other pod, many queue pairs.
const threeTiers = `
host: {count: 16, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: fat-tree, pods: 2, leaves: 4, spines: 4, cores: 4}
switch: {model: spectrum-2}
rdma: {qps_per_connection: 16}
job: {pattern: permutation, size: 1MiB}
`

func load(t *testing.T, text string, faults ...string) *cluster.Cluster {
	t.Helper()
	f, err := cluster.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	c := *f.Cluster
	for _, s := range faults {
		one, err := c.ParseFault(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := fault.Check(&c, &one); err != nil {
			t.Fatal(err)
		}
		c.Faults = append(c.Faults, one)
	}
	return &c
}

func run(t *testing.T, c *cluster.Cluster) *observe.Observation {
	t.Helper()
	o, err := observe.Run(context.Background(), c, observe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// sum adds a counter up over all series with the labels (name=value ...).
func sum(o *observe.Observation, metric string) (total uint64) {
	name, rest, _ := strings.Cut(metric, "{")
	var labels []telemetry.Label
	for _, l := range strings.FieldsFunc(strings.TrimSuffix(rest, "}"), func(r rune) bool { return r == ',' }) {
		k, v, _ := strings.Cut(l, "=")
		labels = append(labels, telemetry.Label{Name: k, Value: v})
	}
	for _, s := range o.Registry.Find(telemetry.MustLookup(name), labels...) {
		for _, w := range o.Windows {
			if o.Registry.Metric(s).Kind == telemetry.Gauge {
				_, high, _, _ := w.Range(s)
				total = max(total, high)
			} else if d, ok := w.Delta(s); ok {
				total += d.Value
			}
		}
	}
	return total
}

func factOf(o *observe.Observation, subject, key string) string {
	for _, f := range o.Facts {
		if f.Subject.String() == subject && f.Key == key {
			return f.Value.String()
		}
	}
	return ""
}

// signatures are counters that belong to one kind of fault each: those of the
// others must stay as they are in a healthy run, which is zero.
var signatures = []string{
	"rdma_netdev_rx_oversize_pkts_phy_total", "rdma_phy_rx_crc_errors_total", "rdma_phy_rx_err_lane_total{lane=0}",
	"rdma_phy_link_down_events_total", "roce_switch_link_changes_total", "rdma_netdev_global_pause_frames_total",
	"roce_switch_pfc_watchdog_events_total", "rdma_rp_cnp_ignored_total", "roce_switch_queue_wred_dropped_packets_total",
	"rdma_host_copied_bytes_total", "roce_switch_port_discards_total", "roce_switch_pg_dropped_packets_total",
	"rdma_out_of_sequence_total", "rdma_packet_seq_err_total", "rdma_local_ack_timeout_err_total",
	"roce_switch_port_errors_total", "rdma_pcie_outbound_stalled_percent{op=wr}", "rdma_roce_pfc_pause_frames_total{direction=tx}",
	"rdma_netdev_prio_packets_total{priority=0}", "roce_switch_port_lost_frames_total",
}

// consequences are the signatures that each fault may move; a fault that is not
// here moves none. Timeouts come where something waits longer than the short
// timer of these clusters.
var consequences = map[string][]string{
	"pfc-not-enabled-on-path":  {sigDrops, sigGaps, sigNAKs, sigTimeouts},
	"pfc-priority-mismatch":    {sigDrops, sigGaps, sigNAKs, sigTimeouts},
	"headroom-too-small":       {sigDrops, sigGaps, sigNAKs, sigTimeouts},
	"global-pause-throttle":    {"rdma_netdev_global_pause_frames_total"},
	"receiver-slow-pause":      {sigStalls, sigHostPause},
	"pcie-degraded":            {sigStalls, sigHostPause},
	"gdr-inactive-no-peermem":  {"rdma_host_copied_bytes_total", sigStalls, sigHostPause},
	"incast":                   {sigTimeouts},
	"dcqcn-recovery-too-slow":  {sigTimeouts},
	"congestion-control-off":   {"rdma_rp_cnp_ignored_total"},
	"wred-drops-before-pfc":    {"roce_switch_queue_wred_dropped_packets_total", sigGaps, sigNAKs, sigTimeouts},
	"roce-in-default-priority": {"rdma_netdev_prio_packets_total{priority=0}"},
	"reordering":               {sigGaps, sigNAKs},
	"path-loss":                {sigLost, sigGaps, sigNAKs, sigTimeouts},
	"link-errors":              {sigLost, sigGaps, sigNAKs, sigTimeouts, "rdma_phy_rx_crc_errors_total", "rdma_phy_rx_err_lane_total{lane=0}", "roce_switch_port_errors_total"},
	"link-down-flap":           {sigLost, sigGaps, sigNAKs, sigTimeouts, "roce_switch_link_changes_total", "rdma_phy_link_down_events_total"},
	"mtu-mismatch":             {sigLost, sigTimeouts, "rdma_netdev_rx_oversize_pkts_phy_total", "roce_switch_port_discards_total"},
	"udp4791-blocked":          {sigLost, sigTimeouts, "roce_switch_port_discards_total"},
	"pfc-deadlock":             {sigTimeouts},
	"pfc-storm":                {sigTimeouts, sigHostPause, "roce_switch_pfc_watchdog_events_total"},
}

const (
	sigDrops     = "roce_switch_pg_dropped_packets_total"
	sigGaps      = "rdma_out_of_sequence_total"
	sigNAKs      = "rdma_packet_seq_err_total"
	sigTimeouts  = "rdma_local_ack_timeout_err_total"
	sigStalls    = "rdma_pcie_outbound_stalled_percent{op=wr}"
	sigHostPause = "rdma_roce_pfc_pause_frames_total{direction=tx}"
	sigLost      = "roce_switch_port_lost_frames_total"
)

func TestFaults(t *testing.T) {
	type check struct {
		metric string
		op     string  // up, down: against the healthy run; zero; some
		factor float64 // at least so much up or down; 0: any
	}
	const (
		marks    = "roce_switch_queue_ecn_marked_packets_total"
		cnps     = "rdma_np_cnp_sent_total"
		handled  = "rdma_rp_cnp_handled_total"
		pauses   = "roce_switch_pfc_pause_frames_total{direction=tx}"
		oos      = "rdma_out_of_sequence_total"
		naks     = "rdma_packet_seq_err_total"
		timeouts = "rdma_local_ack_timeout_err_total"
		drops    = "roce_switch_pg_dropped_packets_total"
		wred     = "roce_switch_queue_wred_dropped_packets_total"
		txPause  = "rdma_roce_pfc_pause_frames_total{direction=tx}"
		prio0    = "rdma_netdev_prio_packets_total{priority=0}"
		stallWr  = "rdma_pcie_outbound_stalled_percent{op=wr}"
		lost     = "roce_switch_port_lost_frames_total"
		time     = "time"
	)
	for _, c := range []struct {
		fault, text string
		checks      []check
		facts       [][3]string // subject, key, value
	}{
		{"ecn-threshold-too-low@fabric", incast, []check{{time, "up", 1.5}, {marks, "some", 0}, {pauses, "zero", 0}}, [][3]string{{"leaf-0/port-0/3", "ecn.min", "8316"}}},
		{"ecn-threshold-too-high@fabric", tight, []check{{marks, "down", 10}, {pauses, "up", 2}}, nil},
		{"ecn-not-configured@fabric", tight, []check{{marks, "zero", 0}, {cnps, "zero", 0}, {pauses, "up", 2}}, [][3]string{{"leaf-0/port-0/3", "ecn.enabled", "false"}}},
		{"pfc-not-enabled-on-path@leaf-0", tight, []check{{drops, "some", 0}, {oos, "some", 0}, {naks, "some", 0}, {pauses, "zero", 0}}, nil},
		{"pfc-priority-mismatch@host-0/nic-0", tight, []check{{drops, "some", 0}, {"roce_switch_pfc_pause_frames_total{direction=tx,port=port-0}", "some", 0}, {"rdma_roce_pfc_pause_frames_total{direction=rx,instance=host-0}", "zero", 0}}, nil},
		{"headroom-too-small@leaf-0", tight, []check{{drops, "some", 0}, {pauses, "some", 0}, {oos, "some", 0}}, nil},
		{"global-pause-throttle@fabric", tight, []check{{"rdma_netdev_global_pause_frames_total{direction=rx}", "some", 0}, {"rdma_roce_pfc_pause_frames_total", "zero", 0}, {pauses, "zero", 0}}, [][3]string{{"host-0/mlx5_0", "pause.rx", "true"}}},
		{"pfc-on-all-priorities@fabric", tight, []check{{"rdma_roce_pfc_pause_frames_total{direction=rx,priority=0}", "some", 0}}, [][3]string{{"host-0/mlx5_0", "qos.pfc.enabled", "0,1,2,3,4,5,6,7"}}},
		{"receiver-slow-pause@host-4/nic-0", tree, []check{{txPause, "some", 0}, {stallWr, "some", 0}, {"rdma_roce_pfc_pause_frames_total{direction=tx,instance=host-5}", "zero", 0}, {time, "up", 1.1}}, nil},
		{"pcie-degraded@host-4/nic-0", tree, []check{{stallWr, "some", 0}, {"rdma_pcie_outbound_stalled_percent{op=rd}", "some", 0}, {time, "up", 1.3}}, [][3]string{{"host-4/mlx5_0", "pcie.width", "4"}}},
		{"incast@host-4/nic-0,severity=1", tree, []check{{marks, "up", 0}, {"roce_switch_queue_watermark_bytes", "up", 2}}, nil},
		{"congestion-control-off@fabric", tight, []check{{cnps, "zero", 0}, {"rdma_np_ecn_marked_roce_packets_total", "some", 0}, {pauses, "up", 2}}, [][3]string{{"host-0/mlx5_0", "dcqcn.np.priority.3", "false"}}},
		{"congestion-control-off@host-0", incast, []check{{"rdma_rp_cnp_ignored_total{instance=host-0}", "some", 0}, {"rdma_rp_cnp_ignored_total{instance=host-1}", "zero", 0}}, nil},
		{"cnp-in-wrong-queue@fabric", incast, []check{{"rdma_netdev_prio_packets_total{priority=6}", "zero", 0}, {handled, "some", 0}}, [][3]string{{"host-8/mlx5_0", "dcqcn.cnp_priority", "3"}}},
		{"wred-drops-before-pfc@leaf-0", incast, []check{{wred, "some", 0}, {oos, "some", 0}, {naks, "some", 0}, {pauses, "zero", 0}}, [][3]string{{"leaf-0/port-0/3", "ecn.drops", "true"}}},
		{"roce-in-default-priority@fabric", incast, []check{{prio0, "some", 0}}, nil},
		{"dcqcn-recovery-too-slow@fabric", incast, []check{{time, "up", 1.05}}, [][3]string{{"host-0/mlx5_0", "dcqcn.ai_rate", "50000"}}},
		{"dcqcn-recovery-too-fast@fabric", tight, []check{{cnps, "up", 0}, {pauses, "up", 0}}, nil},
		{"ecmp-collision@leaf-0", tree, []check{{"roce_switch_port_bytes_total{switch=spine-3}", "down", 1.2}, {time, "up", 1.5}}, nil},
		{"fixed-source-port@fabric", tree, []check{{time, "up", 1.1}}, nil},
		{"lag-single-qp@fabric", tree, []check{{time, "up", 1.1}}, nil},
		{"reordering@leaf-0", tree, []check{{oos, "some", 0}, {naks, "some", 0}, {drops, "zero", 0}, {lost, "zero", 0}}, nil},
		{"path-loss@leaf-0~spine-1", tree, []check{{oos, "some", 0}, {naks, "some", 0}, {drops, "zero", 0}}, nil},
		{"link-errors@host-4/nic-0", tree, []check{{"rdma_phy_rx_crc_errors_total{instance=host-4}", "some", 0}, {"rdma_phy_rx_err_lane_total{lane=0}", "some", 0}, {"rdma_phy_rx_err_lane_total{lane=1}", "zero", 0}, {naks, "some", 0}}, nil},
		{"link-speed-degraded@host-4/nic-0", tree, []check{{time, "up", 1.5}, {marks, "up", 0}}, [][3]string{{"host-4/mlx5_0", "link.speed", "50000000000"}}},
		{"link-down-flap@leaf-0~spine-1,end=2ms", tree, []check{{"roce_switch_link_changes_total", "some", 0}, {timeouts, "some", 0}}, nil},
		{"mtu-mismatch@host-4/nic-0,end=5ms", tree, []check{{"rdma_netdev_rx_oversize_pkts_phy_total{instance=host-4}", "some", 0}, {timeouts, "some", 0}, {oos, "zero", 0}}, [][3]string{{"host-4/mlx5_0", "link.mtu", "1500"}}},
		{"udp4791-blocked@host-4/nic-0,end=5ms", tree, []check{{timeouts, "some", 0}, {oos, "zero", 0}, {naks, "zero", 0}}, nil},
		{"gdr-inactive-no-peermem@fabric", tree, []check{{"rdma_host_copied_bytes_total", "some", 0}}, [][3]string{{"host-4", "host.peermem", "false"}}},
		{"slow-node@host-0", tree, []check{{time, "up", 1.5}}, nil},
		{"pfc-deadlock@leaf-0~spine-1,end=20ms", tree, []check{{"roce_switch_pfc_pause_frames_total{direction=tx,switch=leaf-0}", "some", 0}, {"roce_switch_pfc_pause_frames_total{direction=tx,switch=spine-1}", "some", 0}, {txPause, "zero", 0}}, nil},
		{"hash-polarisation@fabric", threeTiers, []check{{"idle uplinks of tier two", "up", 0}}, nil},
		{"rail-mismatch@host-0/nic-0", railed, []check{{"roce_switch_port_bytes_total{switch=spine-0}", "some", 0}}, [][3]string{{"host-0/mlx5_0", "rdma.netdev", "nic-1"}}},
		{"cabling-wrong@host-0/nic-0", railed, []check{{"roce_switch_port_bytes_total{switch=spine-0}", "some", 0}}, [][3]string{{"host-0/mlx5_0", "link.neighbour", "leaf-1/port-0"}, {"host-0/mlx5_1", "link.neighbour", "leaf-0/port-0"}}},
		{"gdr-inactive-no-peermem@host-0", copied, []check{{"rdma_host_copied_bytes_total{instance=host-0}", "some", 0}, {"rdma_host_copied_bytes_total{instance=host-1}", "zero", 0}, {time, "up", 1.3}}, [][3]string{{"host-0/job-0", "nccl.gdrdma", "false"}}},
		{"pfc-storm@host-4/nic-0,end=3ms", tree, []check{{"roce_switch_pfc_pause_frames_total{direction=rx,switch=leaf-1}", "up", 0}, {txPause, "some", 0}, {time, "up", 1.5}}, nil},
	} {
		t.Run(c.fault, func(t *testing.T) {
			healthy, sick := run(t, load(t, c.text)), run(t, load(t, c.text, c.fault))
			value := func(o *observe.Observation, metric string) float64 {
				if metric == "idle uplinks of tier two" {
					return idle(o)
				}
				if metric == time {
					return float64(o.Result.Simulated)
				}
				return float64(sum(o, metric))
			}
			for _, k := range c.checks {
				was, is := value(healthy, k.metric), value(sick, k.metric)
				ok := map[string]bool{
					"up": is > was*max(1, k.factor), "down": is*max(1, k.factor) < was,
					"zero": is == 0, "some": is > 0 && was == 0,
				}[k.op]
				if k.op == "some" && !slices.Contains(signatures, k.metric) {
					ok = is > 0
				}
				if !ok {
					t.Errorf("%s: healthy %v, with the fault %v, expected %s %v", k.metric, was, is, k.op, k.factor)
				}
			}
			for _, s := range signatures {
				if was := sum(healthy, s); was != 0 {
					t.Errorf("healthy: %s is %d", s, was)
				}
			}
			for _, f := range c.facts {
				if got := factOf(sick, f[0], f[1]); got != f[2] {
					t.Errorf("fact %s of %s: %q, expected %q", f[1], f[0], got, f[2])
				}
				if got := factOf(healthy, f[0], f[1]); got == f[2] {
					t.Errorf("fact %s of %s is the healthy one", f[1], f[0])
				}
			}
			var moved []string
			for _, s := range signatures {
				id, _, _ := strings.Cut(c.fault, "@")
				if sum(sick, s) != 0 && !slices.Contains(consequences[id], s) {
					t.Errorf("%s moves by %d: it is a sign of other faults", s, sum(sick, s))
				}
				if sum(sick, s) != 0 {
					moved = append(moved, fmt.Sprintf("%s=%d", s, sum(sick, s)))
				}
			}
			t.Logf("moved: %v; marks %v->%v pauses %v->%v time %v->%v stalled %q", moved, value(healthy, marks), value(sick, marks), value(healthy, pauses), value(sick, pauses), units.Time(last(healthy)), units.Time(last(sick)), sick.Result.Stalled)
		})
	}
}

// idle counts the ports of switches that no packet left by.
func idle(o *observe.Observation) (n float64) {
	metric := telemetry.MustLookup("roce_switch_port_packets_total")
	for _, s := range o.Registry.Find(metric, telemetry.Label{Name: "direction", Value: "tx"}) {
		if _, high, _, _ := o.Windows[0].Range(s); high == 0 {
			n++
		}
	}
	return n
}

// last returns when the last flow was done.
func last(o *observe.Observation) units.Time {
	var t units.Time
	for _, f := range o.Result.Flows {
		if f.FCT == 0 {
			return math.MaxInt64
		}
		t = max(t, f.Start+f.FCT)
	}
	return t
}

var _ fact.Fact
