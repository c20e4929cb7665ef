// Package fault injects faults by name into a simulated fabric. A fault's id is
// its cause's id; the table says where it may act, what its severity scales,
// what it does and what moves. Facts tells what the tools of hosts and switches
// would say about the faulty cluster.
package fault

import (
	"fmt"
	"strings"

	"weir/internal/cluster"
)

// A Kind is one fault that can be injected.
type Kind struct {
	ID     string
	Places []cluster.PlaceKind
	// Severity says what the severity, 0 to 1, scales; "" where it has no
	// effect. Default is the severity of a fault that names none.
	Severity string
	Default  float64
	Effect   string   // one sentence
	Moves    []string // metrics and facts that change against the healthy run
	// Static faults act from the start to the end of the run.
	Static bool

	apply func(*site) (undo func(), err error)
}

// Short names of the kinds of place.
const (
	fabricPlace = cluster.FabricPlace
	node        = cluster.NodePlace
	nic         = cluster.NICPlace
	port        = cluster.PortPlace
	link        = cluster.LinkPlace
)

var (
	switches = []cluster.PlaceKind{node, fabricPlace}
	cards    = []cluster.PlaceKind{nic, node, fabricPlace}
	cables   = []cluster.PlaceKind{port, nic, link, node, fabricPlace}
	oneCard  = []cluster.PlaceKind{nic, node}
)

// Metrics that many faults move.
const (
	marks      = "roce_switch_queue_ecn_marked_packets_total"
	cnpSent    = "rdma_np_cnp_sent_total"
	cnpHandled = "rdma_rp_cnp_handled_total"
	switchXOFF = "roce_switch_pfc_pause_frames_total"
	hostXOFF   = "rdma_roce_pfc_pause_frames_total"
	outOfSeq   = "rdma_out_of_sequence_total"
	seqErr     = "rdma_packet_seq_err_total"
	timeouts   = "rdma_local_ack_timeout_err_total"
	pgDrops    = "roce_switch_pg_dropped_packets_total"
	bytesSent  = "roce_switch_port_bytes_total"
	prioBytes  = "rdma_netdev_prio_bytes_total"
	watermark  = "roce_switch_queue_watermark_bytes"
	stalledWr  = "rdma_pcie_outbound_stalled_percent"
	linkPause  = "rdma_netdev_global_pause_frames_total"
)

// Table returns all faults that can be injected.
func Table() []Kind {
	return []Kind{
		{ID: "ecn-threshold-too-low", Places: switches, Severity: "how much lower the thresholds are: 1 is two packets", Default: 1, apply: ecnLow,
			Effect: "switches mark every packet that finds more than a few others waiting, so senders stay slow", Moves: []string{marks, cnpSent}},
		{ID: "ecn-threshold-too-high", Places: switches, Severity: "how far the thresholds are raised: 1 is a hundred times", Default: 1, apply: ecnHigh,
			Effect: "marking starts above the pause threshold, so pause acts first", Moves: []string{switchXOFF}},
		{ID: "ecn-not-configured", Places: switches, apply: ecnOff,
			Effect: "switches mark nothing", Moves: []string{switchXOFF}},
		{ID: "pfc-not-enabled-on-path", Places: cables, apply: noPFC,
			Effect: "ports neither send nor obey pause for the RoCE priority, and drop it above the threshold", Moves: []string{pgDrops, outOfSeq, seqErr}},
		{ID: "pfc-priority-mismatch", Places: []cluster.PlaceKind{port, nic, link}, apply: pfcMismatch,
			Effect: "the two ends of a link use pause for different priorities: what one sends means nothing to the other", Moves: []string{pgDrops, outOfSeq}},
		{ID: "pfc-on-all-priorities", Places: cables, apply: pfcAll,
			Effect: "every pause stops all eight priorities, so one class stops the others", Moves: []string{hostXOFF}},
		{ID: "headroom-too-small", Places: []cluster.PlaceKind{port, link, node, fabricPlace}, Severity: "share of the headroom that is missing", Default: 1, apply: headroom,
			Effect: "what arrives after a pause was sent finds no room and is dropped", Moves: []string{pgDrops, outOfSeq}},
		{ID: "global-pause-throttle", Places: cables, apply: globalPause,
			Effect: "ports use link-level pause instead of PFC: it stops all traffic", Moves: []string{linkPause, "fact pause.rx"}},
		{ID: "pfc-storm", Places: oneCard, Severity: "share of the time that the NIC asks for pause", Default: 1, apply: storm,
			Effect: "a NIC hangs: it sends pause without end and no data; the pause spreads up the tree", Moves: []string{switchXOFF, "roce_switch_pfc_watchdog_events_total"}},
		{ID: "pfc-deadlock", Places: []cluster.PlaceKind{link}, apply: deadlock,
			Effect: "two switches have each other as the next hop for all hosts of other switches: up-down order is violated, and full buffers wait for each other for good", Moves: []string{switchXOFF}},
		{ID: "receiver-slow-pause", Places: oneCard, Severity: "share of the line rate that the host cannot take", Default: 0.5, apply: slowReceiver,
			Effect: "a host takes data more slowly than its link brings it, and its NIC pauses the switch", Moves: []string{hostXOFF, stalledWr}},
		{ID: "incast", Places: oneCard, Severity: "share of the other hosts that send", Default: 0.5, apply: incast,
			Effect: "other hosts send to one NIC besides the job", Moves: []string{watermark, bytesSent}},
		{ID: "dcqcn-recovery-too-slow", Places: []cluster.PlaceKind{fabricPlace}, Severity: "how much slower rates rise: 1 is a hundred times", Default: 1, apply: slowRecovery,
			Effect: "after a burst of CNPs senders stay below their fair share for long", Moves: []string{bytesSent, "fact dcqcn.ai_rate"}},
		{ID: "dcqcn-recovery-too-fast", Places: []cluster.PlaceKind{fabricPlace}, Severity: "how much faster rates rise: 1 is a hundred times", Default: 1, apply: fastRecovery,
			Effect: "rates rise to the line again at once, so marks, CNPs and pauses saw-tooth", Moves: []string{switchXOFF, cnpSent, "fact dcqcn.ai_rate"}},
		{ID: "congestion-control-off", Places: cards, apply: ccOff,
			Effect: "NICs send no CNP for the marks that they see, and ignore CNPs", Moves: []string{switchXOFF, cnpHandled}},
		{ID: "cnp-in-wrong-queue", Places: cards, apply: cnpQueue,
			Effect: "CNPs ride in the data's queue and come late", Moves: []string{prioBytes, "fact dcqcn.cnp_priority"}},
		{ID: "wred-drops-before-pfc", Places: switches, Severity: "probability of a drop at the upper threshold", Default: 0.2, apply: wred,
			Effect: "WRED drops RoCE packets where it should mark them", Moves: []string{"roce_switch_queue_wred_dropped_packets_total", outOfSeq, seqErr}},
		{ID: "roce-in-default-priority", Places: []cluster.PlaceKind{nic, node, fabricPlace}, apply: defaultPriority,
			Effect: "RDMA rides in priority 0, which is lossy: a NIC does not mark it, or a switch does not trust the mark", Moves: []string{prioBytes, pgDrops, outOfSeq}},
		{ID: "ecmp-collision", Places: switches, apply: collision,
			Effect: "a switch puts all flows on the first of several equal paths", Moves: []string{bytesSent}},
		{ID: "hash-polarisation", Places: []cluster.PlaceKind{fabricPlace}, apply: polarise,
			Effect: "all switches hash with the same seed, so part of the paths of the second tier is never used", Moves: []string{bytesSent}},
		{ID: "fixed-source-port", Places: cards, apply: fixedPort,
			Effect: "all queue pairs send from one UDP port, so the hash sees one flow for a pair of NICs", Moves: []string{bytesSent}},
		{ID: "lag-single-qp", Places: cards, apply: singleQP,
			Effect: "a connection uses one queue pair, so one member of a bond or one path carries it", Moves: []string{bytesSent}},
		{ID: "reordering", Places: switches, apply: reorder,
			Effect: "switches spray packets over equal paths though NICs want them in order", Moves: []string{outOfSeq, seqErr}},
		{ID: "path-loss", Places: cables, Severity: "share of frames lost each way", Default: 0.01, apply: loss,
			Effect: "frames vanish on the way, counted nowhere", Moves: []string{outOfSeq, seqErr}},
		{ID: "link-errors", Places: []cluster.PlaceKind{port, nic, link}, Severity: "share of frames corrupted each way", Default: 0.01, apply: noise,
			Effect: "a link corrupts bits: FEC corrects most, on one lane, and some frames have a wrong check sum", Moves: []string{"rdma_phy_rx_crc_errors_total", "rdma_phy_rx_err_lane_total", "rdma_phy_rx_corrected_bits_total", seqErr}},
		{ID: "link-speed-degraded", Places: []cluster.PlaceKind{port, nic, link}, Severity: "share of the speed that is missing", Default: 0.5, apply: speed,
			Effect: "a link runs below its speed", Moves: []string{bytesSent, "fact link.speed"}},
		{ID: "link-down-flap", Places: []cluster.PlaceKind{port, nic, link}, Severity: "share of each 4 ms that the link is down; 1: all the time", Default: 1, apply: down,
			Effect: "a link goes down, and routes go around it 500 us later", Moves: []string{"rdma_phy_link_down_events_total", "roce_switch_link_changes_total", timeouts}},
		{ID: "mtu-mismatch", Places: cables, apply: mtu,
			Effect: "ports take frames of 1500 bytes only: long ones are refused, short ones pass", Moves: []string{"rdma_netdev_rx_oversize_pkts_phy_total", timeouts, "fact link.mtu"}},
		{ID: "udp4791-blocked", Places: cables, apply: blocked,
			Effect: "a filter refuses all RoCE packets; anything else passes", Moves: []string{timeouts}},
		{ID: "pcie-degraded", Places: oneCard, Severity: "share of the PCIe bandwidth that is missing", Default: 0.75, apply: pcie,
			Effect: "a NIC's PCIe link runs below its capability, both ways", Moves: []string{stalledWr, "fact pcie.width"}},
		{ID: "gdr-inactive-no-peermem", Places: cards, apply: noGDR,
			Effect: "GPUDirect RDMA is off: each byte crosses host memory and PCIe twice", Moves: []string{"rdma_host_copied_bytes_total", "fact nccl.gdrdma"}},
		{ID: "rail-mismatch", Places: []cluster.PlaceKind{nic}, Static: true, apply: rails,
			Effect: "a host's NIC and the next one change places in all connections, so pairs cross rails", Moves: []string{bytesSent, "fact rdma.netdev"}},
		{ID: "slow-node", Places: []cluster.PlaceKind{node}, Severity: "how late the host is with each message: 1 is 1 ms", Default: 0.5, apply: slowNode,
			Effect: "a host is late with everything that it sends", Moves: []string{"time"}},
		{ID: "cabling-wrong", Places: []cluster.PlaceKind{port, nic}, Static: true, apply: func(*site) (func(), error) { return nil, nil },
			Effect: "the cable of a port and that of the node's next port are swapped", Moves: []string{"fact link.neighbour"}},
	}
}

// Lookup returns the fault of that id.
func Lookup(id string) (Kind, bool) {
	for _, k := range Table() {
		if k.ID == id {
			return k, true
		}
	}
	return Kind{}, false
}

// PlaceName names a kind of place as error messages do.
func PlaceName(k cluster.PlaceKind) string {
	return [...]string{"fabric", "node", "nic", "port", "link", "pair"}[k]
}

// PlaceNames lists the kinds of place that a fault takes.
func (k *Kind) PlaceNames() string {
	names := make([]string, len(k.Places))
	for i, p := range k.Places {
		names[i] = PlaceName(p)
	}
	return strings.Join(names, ", ")
}

// Check refuses a fault that cannot be injected into a cluster, in one line
// that says what is allowed.
func Check(c *cluster.Cluster, f *cluster.Fault) error {
	_, _, err := resolve(c, f)
	return err
}

func resolve(c *cluster.Cluster, f *cluster.Fault) (Kind, cluster.Place, error) {
	bad := func(found, allowed string) error {
		return fmt.Errorf("fault %s@%s: found %s, allowed %s", f.ID, f.Place, found, allowed)
	}
	k, ok := Lookup(f.ID)
	if !ok {
		return k, cluster.Place{}, bad("a fault that cannot be simulated", "an id that weir simulate --list-faults prints"+cluster.Nearest(f.ID, ids()))
	}
	place, err := c.Place(f.Place)
	if err != nil {
		return k, place, fmt.Errorf("fault %s@%s: %w", f.ID, f.Place, err)
	}
	allowed := false
	for _, p := range k.Places {
		allowed = allowed || p == place.Kind
	}
	if !allowed {
		return k, place, bad("a "+PlaceName(place.Kind), "a "+strings.ReplaceAll(k.PlaceNames(), ", ", ", a "))
	}
	if f.Severity >= 0 && k.Severity == "" {
		return k, place, bad("a severity", "none: it has no effect on this fault")
	}
	if k.Static && (f.Start != 0 || f.End != 0) {
		return k, place, bad("a start or end", "none: this fault lasts for the whole run")
	}
	s := newSite(c, place, &k, f)
	if err := s.fits(f.ID); err != nil {
		return k, place, bad(err.found, err.allowed)
	}
	return k, place, nil
}

// ids are the ids of the table, in its order.
func ids() []string {
	out := make([]string, 0, len(Table()))
	for _, k := range Table() {
		out = append(out, k.ID)
	}
	return out
}
