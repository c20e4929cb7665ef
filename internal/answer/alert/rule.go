// Package alert watches a store for what goes wrong in a RoCE fabric: one
// table of rules, evaluated with hysteresis, silenced by maintenance windows,
// held together while it flaps, and folded into one alert where a leaf takes
// all of its hosts down.
package alert

import "time"

// Severity says how soon somebody must look.
type Severity string

// The severities.
const (
	Critical Severity = "critical" // the job stands or loses data
	Warning  Severity = "warning"  // the job is slower than it could be
)

// A Rule is one row of the table.
type Rule struct {
	Name     string
	Severity Severity
	// Expr is PromQL whose value is judged, a series for each subject.
	Expr string
	// By are the labels that name the subject.
	By []string
	// A subject above Above for For is in alarm, until it was not above Clear
	// for Keep.
	Above, Clear float64
	For, Keep    time.Duration
	Unit         string // of the value, as in "{value} of the time"
	Summary      string // one sentence; {label} and {value} stand for themselves
	Cause        string // id in the catalogue of causes; "" where several are likely
	Link         bool   // the subject is a port that lost its link: a failed leaf explains it
}

const (
	quick = 15 * time.Second
	calm  = time.Minute
)

var (
	card       = []string{"instance", "device", "port"}
	cardPrio   = []string{"instance", "device", "port", "priority"}
	switchPort = []string{"switch", "port"}
	switchPrio = []string{"switch", "port", "priority"}
	switchQ    = []string{"switch", "port", "queue"}
	host       = []string{"instance"}
)

// Rules returns the table. The thresholds are starting values of this
// project, not published limits.
func Rules() []Rule {
	return []Rule{
		{Name: "RoCEHostPortDown", Severity: Critical, Expr: `max by (instance, device, port) (rdma_port_info{state!="ACTIVE"})`, By: card, Above: 0.5, Clear: 0.5, For: quick, Keep: 30 * time.Second, Unit: "", Cause: "link-down-flap", Link: true,
			Summary: "port {device}/{port} of {instance} is down"},
		{Name: "RoCESwitchPortDown", Severity: Critical, Expr: `max by (switch, port) (roce_switch_port_info{state=~"down|DOWN"})`, By: switchPort, Above: 0.5, Clear: 0.5, For: quick, Keep: 30 * time.Second, Cause: "link-down-flap", Link: true,
			Summary: "{port} of {switch} is down"},
		{Name: "WeirAgentDown", Severity: Warning, Expr: `1 - up`, By: host, Above: 0.5, Clear: 0.5, For: calm, Keep: quick,
			Summary: "the agent of {instance} does not answer: its ports are not watched"},
		{Name: "RoCELinkFlaps", Severity: Warning, Expr: `sum by (instance, device, port) (increase(rdma_phy_link_down_events_total[15m]))`, By: card, Above: 1.5, Clear: 0.5, For: quick, Keep: calm, Unit: "times in 15 minutes", Cause: "link-down-flap",
			Summary: "the link of {device}/{port} of {instance} went down {value} times in 15 minutes"},
		{Name: "RoCEHostPausesNetwork", Severity: Critical, Expr: `sum by (instance, device, port, priority) (rate(rdma_roce_pfc_pause_duration_total{direction="tx"}[1m])) / 1e6`, By: cardPrio, Above: 0.5, Clear: 0.2, For: 30 * time.Second, Keep: calm, Unit: "share", Cause: "pfc-storm",
			Summary: "{device} of {instance} stops the network for {value} of the time on priority {priority}: a storm, or a host that does not take its data"},
		{Name: "RoCESlowReceiver", Severity: Warning, Expr: `sum by (instance, device, port, priority) (rate(rdma_roce_pfc_pause_duration_total{direction="tx"}[1m])) / 1e6`, By: cardPrio, Above: 0.05, Clear: 0.02, For: calm, Keep: calm, Unit: "share", Cause: "receiver-slow-pause",
			Summary: "{device} of {instance} stops the network for {value} of the time on priority {priority}: the host is slow"},
		{Name: "RoCEHostPaused", Severity: Warning, Expr: `sum by (instance, device, port, priority) (rate(rdma_roce_pfc_pause_duration_total{direction="rx"}[1m])) / 1e6`, By: cardPrio, Above: 0.1, Clear: 0.05, For: calm, Keep: calm, Unit: "share",
			Summary: "the network stops {device} of {instance} for {value} of the time on priority {priority}"},
		{Name: "RoCESwitchPortPaused", Severity: Warning, Expr: `sum by (switch, port, priority) (rate(roce_switch_pfc_pause_duration_total{direction="rx"}[1m])) / 1e6`, By: switchPrio, Above: 0.1, Clear: 0.05, For: calm, Keep: calm, Unit: "share",
			Summary: "{port} of {switch} is stopped for {value} of the time on priority {priority}"},
		{Name: "RoCEWatchdogStorm", Severity: Critical, Expr: `max by (switch, port, queue) (roce_switch_pfc_watchdog_stormed)`, By: switchQ, Above: 0.5, Clear: 0.5, For: 0, Keep: calm, Cause: "pfc-storm",
			Summary: "the watchdog of {switch} holds queue {queue} of {port} to be stormed and drops its packets"},
		{Name: "RoCELosslessDrops", Severity: Critical, Expr: `sum by (switch, port, priority) (rate(roce_switch_pg_dropped_packets_total[1m]))`, By: switchPrio, Above: 0, Clear: 0, For: 0, Keep: calm, Unit: "packets/s", Cause: "headroom-too-small",
			Summary: "{switch} drops {value} packets a second of the lossless priority {priority} that come in at {port}"},
		{Name: "RoCEHostBufferDrops", Severity: Critical, Expr: `sum by (instance, device, port, priority) (rate(rdma_netdev_prio_discards_total[1m])) + sum by (instance, device, port, priority) (rate(rdma_netdev_prio_buf_discard_total[1m]))`, By: cardPrio, Above: 0, Clear: 0, For: quick, Keep: calm, Unit: "packets/s", Cause: "headroom-too-small",
			Summary: "{device} of {instance} drops {value} packets a second of priority {priority} for lack of buffer"},
		{Name: "RoCEMarksHigh", Severity: Warning, Expr: `sum by (switch, port, queue) (rate(roce_switch_queue_ecn_marked_packets_total[1m])) / (sum by (switch, port, queue) (rate(roce_switch_queue_packets_total[1m])) > 1000)`, By: switchQ, Above: 0.1, Clear: 0.05, For: calm, Keep: calm, Unit: "share", Cause: "ecn-threshold-too-low",
			Summary: "queue {queue} of {port} of {switch} marks {value} of its packets: a queue that stands, or a threshold that is too low"},
		{Name: "RoCECNPIgnored", Severity: Warning, Expr: `sum by (instance, device, port) (rate(rdma_rp_cnp_ignored_total[1m]))`, By: card, Above: 0, Clear: 0, For: quick, Keep: calm, Unit: "packets/s", Cause: "congestion-control-off",
			Summary: "{device} of {instance} ignores {value} congestion notifications a second: its reaction point is off"},
		{Name: "RoCESequenceErrors", Severity: Warning, Expr: `sum by (instance, device, port) (rate(rdma_packet_seq_err_total[1m]))`, By: card, Above: 10, Clear: 1, For: calm, Keep: calm, Unit: "events/s",
			Summary: "{device} of {instance} gets {value} sequence NAKs a second: packets are lost, or reordered where the card does not expect it"},
		{Name: "RoCEAckTimeouts", Severity: Warning, Expr: `sum by (instance, device, port) (rate(rdma_local_ack_timeout_err_total[1m]))`, By: card, Above: 0.1, Clear: 0.02, For: quick, Keep: calm, Unit: "events/s",
			Summary: "{device} of {instance} waits in vain for acknowledgements, {value} times a second"},
		{Name: "RoCERetriesExceeded", Severity: Critical, Expr: `sum by (instance, device, port) (increase(rdma_req_transport_retries_exceeded_total[5m]))`, By: card, Above: 0, Clear: 0, For: 0, Keep: calm, Unit: "queue pairs in 5 minutes",
			Summary: "{value} queue pairs of {device} of {instance} gave up in 5 minutes: the job ends"},
		{Name: "RoCEReceiverNotReady", Severity: Warning, Expr: `sum by (instance, device, port) (rate(rdma_rnr_nak_retry_err_total[1m]))`, By: card, Above: 10, Clear: 1, For: calm, Keep: calm, Unit: "events/s", Cause: "receiver-not-ready",
			Summary: "{device} of {instance} meets receivers without buffers, {value} times a second"},
		{Name: "RoCEICRCErrors", Severity: Critical, Expr: `sum by (instance, device, port) (increase(rdma_rx_icrc_encapsulated_total[5m]))`, By: card, Above: 0, Clear: 0, For: 0, Keep: calm, Unit: "packets in 5 minutes", Cause: "link-errors",
			Summary: "{device} of {instance} got {value} packets with flipped bits in 5 minutes that passed the frame check"},
		{Name: "RoCELinkErrors", Severity: Warning, Expr: `sum by (instance, device, port) (increase(rdma_phy_rx_pcs_symbol_err_total[5m]))`, By: card, Above: 0, Clear: 0, For: calm, Keep: 5 * time.Minute, Unit: "events in 5 minutes", Cause: "link-errors",
			Summary: "{device} of {instance} has {value} uncorrected symbol errors in 5 minutes: cable or module"},
		{Name: "RoCESwitchFECErrors", Severity: Warning, Expr: `sum by (switch, port) (increase(roce_switch_fec_uncorrected_frames_total[5m]))`, By: switchPort, Above: 0, Clear: 0, For: calm, Keep: 5 * time.Minute, Unit: "frames in 5 minutes", Cause: "link-errors",
			Summary: "{port} of {switch} has {value} code words in 5 minutes that FEC could not correct"},
		{Name: "RoCEPCIeDegraded", Severity: Warning, Expr: `max by (instance, device) (rdma_pcie_link_degraded)`, By: []string{"instance", "device"}, Above: 0.5, Clear: 0.5, For: calm, Keep: calm, Cause: "pcie-degraded",
			Summary: "the PCIe link of {device} of {instance} is slower or narrower than the card can"},
		{Name: "RoCEPCIeStalled", Severity: Warning, Expr: `max by (instance, device, port) (rdma_pcie_outbound_stalled_percent)`, By: card, Above: 30, Clear: 10, For: calm, Keep: calm, Unit: "percent", Cause: "pcie-bottleneck",
			Summary: "PCIe of {device} of {instance} is stalled for {value} % of the time"},
		{Name: "WeirClockSkew", Severity: Warning, Expr: `abs(weir_clock_skew_seconds)`, By: host, Above: 2, Clear: 1, For: calm, Keep: calm, Unit: "seconds",
			Summary: "the clock of {instance} is {value} s off the server's: logs of hosts do not line up"},
	}
}
