package telemetry

// one is the vendors' names of a metric with one source.
func one(family string, names ...string) map[string][]string {
	return map[string][]string{family: names}
}

func port(file, unit, help string) Metric {
	return Metric{Name: "rdma_" + file + "_total", Unit: unit, Help: help, Bits: 64, Vendors: one(MLX5, file)}
}

// portMetrics are the files of counters/. The error counters among them are
// narrow in hardware and stop at their end instead of wrapping.
var portMetrics = []Metric{
	{Name: "rdma_port_info", Kind: Info, Unit: "info", Help: "The port's state: always 1, the facts are in the labels.", Labels: []string{"netdev", "link_layer", "state", "phys_state", "link_width", "link_speed", "pci_addr", "is_vf", "pf_device"}},
	port("port_xmit_data", "words4", "Data sent, in words of 4 bytes."),
	port("port_rcv_data", "words4", "Data received, in words of 4 bytes."),
	port("port_xmit_packets", "packets", "Packets sent."),
	port("port_rcv_packets", "packets", "Packets received."),
	port("unicast_xmit_packets", "packets", "Unicast packets sent."),
	port("unicast_rcv_packets", "packets", "Unicast packets received."),
	port("multicast_xmit_packets", "packets", "Multicast packets sent."),
	port("multicast_rcv_packets", "packets", "Multicast packets received."),
	port("port_xmit_wait", "ticks", "Ticks in which the port had data but could not send. On Ethernet it follows pause."),
	port("port_xmit_discards", "packets", "Packets not sent because the port was down or congested."),
	port("port_rcv_errors", "packets", "Received packets with an error."),
	port("link_downed", "events", "Times that the link went down for good."),
	port("link_error_recovery", "events", "Times that the link recovered from an error."),
	port("symbol_error", "events", "Minor errors on a lane."),
	port("excessive_buffer_overrun_errors", "events", "Receive buffer overruns in a row."),
	port("local_link_integrity_errors", "events", "Times that local physical errors went over their threshold."),
	{Name: "rdma_port_xmit_bytes_total", Unit: "bytes", Bits: 64, Help: "Data sent in bytes.", Of: "rdma_port_xmit_data_total", Factor: 4},
	{Name: "rdma_port_rcv_bytes_total", Unit: "bytes", Bits: 64, Help: "Data received in bytes.", Of: "rdma_port_rcv_data_total", Factor: 4},
	{Name: "rdma_lifespan_milliseconds", Kind: Gauge, Unit: "ms", Help: "How old a reading of hw_counters may be. A setting, not a counter.", Vendors: map[string][]string{MLX5: {"lifespan"}, BnxtRe: {"lifespan"}, Irdma: {"lifespan"}}},
}

// q is a counter of queue pairs: 32 bits on mlx5, where it wraps.
func q(name, unit, help string, vendors map[string][]string) Metric {
	return hw(name, unit, help, 32, vendors)
}

func hw(name, unit, help string, bits uint8, vendors map[string][]string) Metric {
	v := map[string][]string{MLX5: {name}, BnxtReOOT: {name}}
	for k, n := range vendors {
		v[k] = n
	}
	return Metric{Name: "rdma_" + name + "_total", Unit: unit, Help: help, Bits: bits, Vendors: v}
}

// hwMetrics are the files of hw_counters/ and what rdma statistic shows.
var hwMetrics = []Metric{
	q("rx_write_requests", "packets", "RDMA write requests received.", map[string][]string{BnxtRe: {"rx_write_req"}, Irdma: {"InRdmaWrites"}}),
	q("rx_read_requests", "packets", "RDMA read requests received.", map[string][]string{BnxtRe: {"rx_read_req"}, Irdma: {"InRdmaReads"}}),
	q("rx_atomic_requests", "packets", "Atomic requests received.", map[string][]string{BnxtRe: {"rx_atomic_req"}}),
	q("out_of_buffer", "packets", "Requests dropped because the queue pair had no receive work posted.", map[string][]string{BnxtRe: {"rx_out_of_buffer"}, Ionic: {"resp_rx_outof_buf"}}),
	q("out_of_sequence", "packets", "Packets that arrived behind a gap at the responder: loss or reordering. With adaptive routing reordering is normal.", map[string][]string{BnxtRe: {"oos_drop_count"}, Ionic: {"resp_rx_outouf_seq"}}),
	q("duplicate_request", "packets", "Requests received a second time.", map[string][]string{BnxtRe: {"dup_req"}, Ionic: {"resp_rx_dup_request"}}),
	q("rnr_nak_retry_err", "events", "Receiver-not-ready answers got: the receiver posted no buffers in time.", map[string][]string{BnxtRe: {"rnr_naks_rcvd"}, Ionic: {"req_rx_rnr_retry_err"}}),
	q("packet_seq_err", "events", "Sequence-error NAKs got at the requester: a packet was lost or reordered on the way.", map[string][]string{BnxtRe: {"seq_err_naks_rcvd"}, Ionic: {"req_rx_pkt_seq_err"}}),
	q("implied_nak_seq_err", "events", "Answers that skipped an expected one.", map[string][]string{Ionic: {"req_rx_impl_nak_seq_err"}}),
	q("local_ack_timeout_err", "events", "Time-outs of the acknowledgement timer: nothing came back.", map[string][]string{BnxtRe: {"to_retransmits"}, Irdma: {"RTO"}, Ionic: {"tx_rdma_ack_timeout"}}),
	q("rx_dct_connect", "events", "Connection requests of dynamic transports.", nil),
	q("resp_local_length_error", "events", "Local length errors at the responder.", map[string][]string{Ionic: {"resp_rx_loc_len_err"}}),
	q("resp_cqe_error", "events", "Completions with an error at the responder.", map[string][]string{Ionic: {"resp_rx_cqe_err"}}),
	q("req_cqe_error", "events", "Completions with an error at the requester.", map[string][]string{Ionic: {"req_rx_cqe_err"}}),
	q("req_remote_invalid_request", "events", "Invalid-request NAKs got.", map[string][]string{BnxtRe: {"remote_invalid_req_err"}, Ionic: {"req_rx_rmt_req_err"}}),
	q("req_remote_access_errors", "events", "Remote-access NAKs got.", map[string][]string{BnxtRe: {"remote_access_err"}, Ionic: {"req_rx_rmt_acc_err"}}),
	q("resp_remote_access_errors", "events", "Remote-access errors that the responder found.", map[string][]string{Ionic: {"resp_tx_rmt_acc_err"}}),
	q("resp_cqe_flush_error", "events", "Flushed completions at the responder: they follow an error and mean nothing on their own.", map[string][]string{Ionic: {"resp_rx_cqe_flush"}}),
	q("req_cqe_flush_error", "events", "Flushed completions at the requester.", map[string][]string{Ionic: {"req_rx_cqe_flush"}}),
	q("roce_adp_retrans", "events", "Adaptive retransmissions.", nil),
	q("roce_adp_retrans_to", "events", "Time-outs of adaptive retransmission.", nil),
	q("roce_slow_restart", "events", "Slow restarts.", nil),
	q("roce_slow_restart_cnps", "packets", "Congestion notifications that slow restart made.", nil),
	q("roce_slow_restart_trans", "events", "Entries into slow restart.", nil),
	q("req_transport_retries_exceeded", "events", "Queue pairs that gave up after their retries.", map[string][]string{BnxtRe: {"max_retry_exceeded"}, Ionic: {"req_tx_retry_excd_err"}}),
	q("req_rnr_retries_exceeded", "events", "Queue pairs that gave up on a receiver that was not ready.", nil),
	hw("rp_cnp_ignored", "packets", "Congestion notifications got and ignored: above 0 the reaction point is off for that priority.", 64, map[string][]string{Irdma: {"cnpIgnored"}}),
	hw("rp_cnp_handled", "packets", "Congestion notifications obeyed.", 64, map[string][]string{Irdma: {"cnpHandled"}, Ionic: {"rx_rdma_cnp_pkts"}}),
	hw("np_ecn_marked_roce_packets", "packets", "Marked packets received.", 64, map[string][]string{Irdma: {"RxECNMrkd"}, Ionic: {"rx_rdma_ecn_pkts"}}),
	hw("np_cnp_sent", "packets", "Congestion notifications sent. Fewer than marks: they keep a distance.", 64, map[string][]string{Irdma: {"cnpSent"}, Ionic: {"tx_rdma_cnp_pkts"}}),
	hw("rx_icrc_encapsulated", "packets", "Packets with a wrong invariant checksum: bits flipped behind the frame check.", 64, nil),
	hw("cc_rx_ce_pkts", "packets", "Marked packets received; off until rdma statistic set turns it on.", 64, nil),
	hw("cc_rx_cnp_pkts", "packets", "Congestion notifications received; off until turned on.", 64, nil),
	hw("cc_tx_cnp_pkts", "packets", "Congestion notifications sent; off until turned on.", 64, nil),
	{Name: "rdma_optional_tx_bytes_total", Unit: "bytes", Bits: 64, Help: "RDMA bytes sent; off until turned on.", Vendors: one(MLX5, "rdma_tx_bytes")},
	{Name: "rdma_optional_rx_bytes_total", Unit: "bytes", Bits: 64, Help: "RDMA bytes received; off until turned on.", Vendors: one(MLX5, "rdma_rx_bytes")},
	{Name: "rdma_optional_tx_packets_total", Unit: "packets", Bits: 64, Help: "RDMA packets sent; off until turned on.", Vendors: one(MLX5, "rdma_tx_packets")},
	{Name: "rdma_optional_rx_packets_total", Unit: "packets", Bits: 64, Help: "RDMA packets received; off until turned on.", Vendors: one(MLX5, "rdma_rx_packets")},
	{Name: "rdma_data_packets_total", Unit: "packets", Bits: 64, Help: "Data packets of RDMA sent or received, repeated ones included.", Labels: []string{"direction"}, Vendors: map[string][]string{BnxtRe: {"{direction}_pkts"}, Ionic: {"{direction}_rdma_ucast_pkts"}, Irdma: {"{Direction}UDP"}}},
	{Name: "rdma_retransmitted_packets_total", Unit: "packets", Bits: 64, Help: "Packets sent again.", Vendors: map[string][]string{Irdma: {"RetransSegs", "tcpRetransSegs"}, Ionic: {"tx_rdma_retx_pkts"}}},
	{Name: "rdma_mtu_discards_total", Unit: "packets", Bits: 64, Help: "Packets discarded for their length.", Vendors: one(Ionic, "rx_rdma_mtu_discard_pkts")},
	{Name: "rdma_rnr_sent_total", Unit: "events", Bits: 64, Help: "Receiver-not-ready answers sent.", Vendors: map[string][]string{Irdma: {"RNR sent"}, Ionic: {"resp_tx_rnr_retry_err"}}},
	{Name: "rdma_host_copied_bytes_total", Unit: "bytes", Bits: 64, Help: "Bytes that crossed host memory between GPU and card, for want of GPUDirect RDMA. Simulated cards only."},
	{Name: "rdma_out_of_order_placed_total", Unit: "packets", Bits: 64, Help: "Packets that arrived behind a gap and were placed all the same. Simulated cards only."},
}

var (
	netdev      = []string{"netdev"}
	perPriority = []string{"netdev", "priority"}
	pausePath   = []string{"netdev", "direction", "priority"}
)

func eth(name, unit, help string, labels []string, counter string) Metric {
	return Metric{Name: name, Unit: unit, Help: help, Bits: 64, Labels: labels, Vendors: one(MLX5Ethtool, counter)}
}

// netdevMetrics are what ethtool -S shows.
var netdevMetrics = []Metric{
	{
		Name: "rdma_roce_pfc_pause_frames_total", Unit: "frames", Bits: 64, Labels: pausePath,
		Help:    "PFC frames. direction rx: the network asked the card to stop; tx: the card asked the network to stop, because the host is slow. On mlx5 it exists only while PFC is on for the priority.",
		Vendors: map[string][]string{MLX5Ethtool: {"{direction}_prio{priority}_pause"}, BnxtEnEthtool: {"{direction}_pfc_ena_frames_pri{priority}"}, IceEthtool: {"{direction}_priority_{priority}_xoff"}, IonicEthtool: {"frames_{direction}_pri_{priority}"}},
	},
	{
		Name: "rdma_roce_pfc_pause_duration_total", Unit: "us", Bits: 64, Labels: pausePath,
		Help:    "Time paused, in microseconds. Its share of the time is the best single number on pause.",
		Vendors: map[string][]string{MLX5Ethtool: {"{direction}_prio{priority}_pause_duration"}, BnxtEnEthtool: {"pfc_pri{priority}_{direction}_duration_us"}, IonicEthtool: {"{direction}_pripause_{priority}_1us_count"}},
	},
	{
		Name: "rdma_roce_pfc_pause_transitions_total", Unit: "events", Bits: 64, Labels: pausePath,
		Help:    "Changes from paused to free. Many: oscillation; few with a long duration: storm.",
		Vendors: map[string][]string{MLX5Ethtool: {"{direction}_prio{priority}_pause_transition"}, BnxtEnEthtool: {"pfc_pri{priority}_{direction}_transitions"}},
	},
	{Name: "rdma_roce_pfc_pause_seconds_total", Unit: "seconds", Bits: 64, Labels: pausePath, Help: "Time paused in seconds.", Of: "rdma_roce_pfc_pause_duration_total", Factor: 1e-6},
	eth("rdma_netdev_prio_bytes_total", "bytes", "Bytes of a priority.", pausePath, "{direction}_prio{priority}_bytes"),
	eth("rdma_netdev_prio_packets_total", "packets", "Packets of a priority.", pausePath, "{direction}_prio{priority}_packets"),
	eth("rdma_netdev_prio_buf_discard_total", "packets", "Dropped for lack of the host's receive buffer. On a lossless priority: buffer or headroom too small.", perPriority, "rx_prio{priority}_buf_discard"),
	eth("rdma_netdev_prio_cong_discard_total", "packets", "Dropped for congestion towards the host.", perPriority, "rx_prio{priority}_cong_discard"),
	eth("rdma_netdev_prio_discards_total", "packets", "Dropped for lack of the port's receive buffer.", perPriority, "rx_prio{priority}_discards"),
	eth("rdma_netdev_prio_ecn_marked_total", "packets", "Marked by the card for congestion towards the host, not by a switch.", perPriority, "rx_prio{priority}_marked"),
	eth("rdma_netdev_global_pause_frames_total", "frames", "Frames of link-level pause, which exist in that mode only.", []string{"netdev", "direction"}, "{direction}_global_pause"),
	eth("rdma_netdev_global_pause_duration_total", "us", "Time of link-level pause, in microseconds.", []string{"netdev", "direction"}, "{direction}_global_pause_duration"),
	eth("rdma_netdev_global_pause_transitions_total", "events", "Ends of link-level pause.", netdev, "rx_global_pause_transition"),
	eth("rdma_netdev_pause_storm_events_total", "events", "The card's own guard against pausing without end; severity error: it stopped sending pause.", []string{"netdev", "severity"}, "tx_pause_storm_{severity}_events"),
	eth("rdma_netdev_rx_discards_phy_total", "packets", "Dropped for lack of buffer in the port.", netdev, "rx_discards_phy"),
	eth("rdma_netdev_rx_out_of_buffer_total", "packets", "Ethernet queues without descriptors; not RoCE.", netdev, "rx_out_of_buffer"),
	eth("rdma_netdev_dev_out_of_buffer_total", "events", "Receive work missing on the whole device.", netdev, "dev_out_of_buffer"),
	eth("rdma_netdev_rx_oversize_pkts_phy_total", "packets", "Frames longer than the port takes: MTU.", netdev, "rx_oversize_pkts_phy"),
	eth("rdma_netdev_rx_out_of_range_len_phy_total", "packets", "Frames with a length field out of range: MTU.", netdev, "rx_out_of_range_len_phy"),
	eth("rdma_netdev_rx_steer_missed_packets_total", "packets", "Arrived, but no rule matched: wrong address or missing rule.", netdev, "rx_steer_missed_packets"),
	eth("rdma_netdev_rx_buffer_passed_thres_phy_total", "events", "Receive buffer over 85 % full.", netdev, "rx_buffer_passed_thres_phy"),
	eth("rdma_netdev_vport_rdma_bytes_total", "bytes", "RDMA bytes in the view of the Ethernet driver.", []string{"netdev", "direction", "traffic"}, "{direction}_vport_rdma_{traffic}_bytes"),
	eth("rdma_netdev_vport_rdma_packets_total", "packets", "RDMA packets in the view of the Ethernet driver.", []string{"netdev", "direction", "traffic"}, "{direction}_vport_rdma_{traffic}_packets"),
	{Name: "rdma_pcie_outbound_stalled_percent", Kind: Gauge, Unit: "percent", Labels: []string{"netdev", "op"}, Help: "Share of the last second that PCIe was stalled.", Vendors: one(MLX5Ethtool, "outbound_pci_stalled_{op}")},
	eth("rdma_pcie_outbound_stalled_seconds_total", "seconds", "Seconds with PCIe stalled over 30 %.", []string{"netdev", "op"}, "outbound_pci_stalled_{op}_events"),
	eth("rdma_pcie_outbound_buffer_overflow_total", "packets", "Dropped because PCIe did not take them.", netdev, "outbound_pci_buffer_overflow"),
	eth("rdma_pcie_signal_integrity_total", "events", "PCIe errors on the card's side.", []string{"netdev", "direction"}, "{direction}_pci_signal_integrity"),
	eth("rdma_phy_rx_corrected_bits_total", "bits", "Bits that FEC corrected. Can pass 2^53: never a float.", netdev, "rx_corrected_bits_phy"),
	eth("rdma_phy_rx_bits_total", "bits", "Bits received, the base of the raw error rate.", netdev, "rx_bits_phy"),
	eth("rdma_phy_rx_pcs_symbol_err_total", "events", "Symbol errors that were not corrected.", netdev, "rx_pcs_symbol_err_phy"),
	eth("rdma_phy_rx_symbol_err_total", "events", "Symbol errors.", netdev, "rx_symbol_err_phy"),
	eth("rdma_phy_rx_crc_errors_total", "packets", "Frames with a wrong check sum.", netdev, "rx_crc_errors_phy"),
	eth("rdma_phy_rx_err_lane_total", "events", "Raw errors of one lane; one far above the rest: a bad lane.", []string{"netdev", "lane"}, "rx_err_lane_{lane}_phy"),
	eth("rdma_phy_link_down_events_total", "events", "Times that the link went down.", netdev, "link_down_events_phy"),
	eth("rdma_phy_module_events_total", "events", "Events of the optical module: unplug, bus_stuck, high_temp, bad_shorted.", []string{"netdev", "event"}, "module_{event}"),
}
