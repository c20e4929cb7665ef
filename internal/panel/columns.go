package panel

import "weir/internal/telemetry"

// Column is one number of a port.
type Column uint8

// The columns. Rates are a second; pauses are shares of the time, 0 to 1, of
// the priority that was paused longest.
const (
	Tx              Column = iota // bits sent
	Rx                            // bits received
	TxPackets                     // packets sent
	PauseRx                       // this port was held back by the other end
	PauseTx                       // this port held the other end back
	PauseFramesRx                 // frames
	PauseFramesTx                 // frames
	Marks                         // packets: marked by a switch's queues; received with the mark by a NIC
	CNPSent                       // packets
	CNPHandled                    // packets
	Drops                         // packets
	OutOfSequence                 // packets
	Retransmissions               // packets; events where the NIC does not count packets
	Errors                        // of the link: packets or events
	Queue                         // bytes that wait, the deepest queue
	Columns
)

// names of the columns, with units, as JSON has them.
var columnNames = [Columns]string{
	"tx_bits_per_s", "rx_bits_per_s", "tx_packets_per_s", "pause_rx_share", "pause_tx_share",
	"pause_rx_frames_per_s", "pause_tx_frames_per_s", "marks_per_s", "cnp_sent_per_s", "cnp_handled_per_s",
	"drops_per_s", "out_of_sequence_per_s", "retransmissions_per_s", "link_errors_per_s", "queue_bytes",
}

// String returns the column's name with its unit.
func (c Column) String() string { return columnNames[min(c, Columns-1)] }

// A slot is what a series adds to. Slots after the columns are auxiliary.
type slot uint8

const (
	slotPauseRx   = slot(Columns) + iota // seconds, by priority
	slotPauseTx                          // seconds, by priority
	slotPortDrops                        // the port's own sum, which may hold those of queues
	slotRetransmissionEvents
	slots
	slotNone
)

// A rule says what a metric adds to.
type rule struct {
	slot   slot
	factor float64
}

// ruleOf tells what a series of a metric with these directions adds to.
// Metrics without a place on the panel are kept for the diagnosis.
func ruleOf(metric, direction string) rule {
	if r, ok := rules[metric+"/"+direction]; ok {
		return r
	}
	if r, ok := rules[metric]; ok {
		return r
	}
	return rule{slotNone, 1}
}

var rules = map[string]rule{
	"rdma_port_xmit_data_total":                    {slot(Tx), 32}, // words of 4 bytes
	"rdma_port_rcv_data_total":                     {slot(Rx), 32},
	"roce_switch_port_bytes_total/tx":              {slot(Tx), 8},
	"roce_switch_port_bytes_total/rx":              {slot(Rx), 8},
	"rdma_port_xmit_packets_total":                 {slot(TxPackets), 1},
	"roce_switch_port_packets_total/tx":            {slot(TxPackets), 1},
	"rdma_roce_pfc_pause_duration_total/rx":        {slotPauseRx, 1e-6},
	"rdma_roce_pfc_pause_duration_total/tx":        {slotPauseTx, 1e-6},
	"roce_switch_pfc_pause_duration_total/rx":      {slotPauseRx, 1e-6},
	"roce_switch_pfc_pause_duration_total/tx":      {slotPauseTx, 1e-6},
	"rdma_roce_pfc_pause_frames_total/rx":          {slot(PauseFramesRx), 1},
	"rdma_roce_pfc_pause_frames_total/tx":          {slot(PauseFramesTx), 1},
	"roce_switch_pfc_pause_frames_total/rx":        {slot(PauseFramesRx), 1},
	"roce_switch_pfc_pause_frames_total/tx":        {slot(PauseFramesTx), 1},
	"rdma_np_ecn_marked_roce_packets_total":        {slot(Marks), 1},
	"roce_switch_queue_ecn_marked_packets_total":   {slot(Marks), 1},
	"rdma_np_cnp_sent_total":                       {slot(CNPSent), 1},
	"rdma_rp_cnp_handled_total":                    {slot(CNPHandled), 1},
	"rdma_netdev_rx_discards_phy_total":            {slot(Drops), 1},
	"rdma_port_xmit_discards_total":                {slot(Drops), 1},
	"rdma_pcie_outbound_buffer_overflow_total":     {slot(Drops), 1},
	"roce_switch_pg_dropped_packets_total":         {slot(Drops), 1},
	"roce_switch_queue_dropped_packets_total":      {slot(Drops), 1},
	"roce_switch_queue_wred_dropped_packets_total": {slot(Drops), 1},
	"roce_switch_port_discards_total":              {slotPortDrops, 1},
	"rdma_out_of_sequence_total":                   {slot(OutOfSequence), 1},
	"rdma_retransmitted_packets_total":             {slot(Retransmissions), 1},
	"rdma_packet_seq_err_total":                    {slotRetransmissionEvents, 1},
	"rdma_local_ack_timeout_err_total":             {slotRetransmissionEvents, 1},
	"rdma_port_rcv_errors_total":                   {slot(Errors), 1},
	"rdma_link_downed_total":                       {slot(Errors), 1},
	"rdma_symbol_error_total":                      {slot(Errors), 1},
	"rdma_rx_icrc_encapsulated_total":              {slot(Errors), 1},
	"rdma_phy_rx_crc_errors_total":                 {slot(Errors), 1},
	"rdma_phy_rx_pcs_symbol_err_total":             {slot(Errors), 1},
	"rdma_phy_link_down_events_total":              {slot(Errors), 1},
	"roce_switch_port_errors_total":                {slot(Errors), 1},
	"roce_switch_port_lost_frames_total":           {slot(Errors), 1},
	"roce_switch_fec_uncorrected_frames_total":     {slot(Errors), 1},
	"roce_switch_link_changes_total":               {slot(Errors), 1},
	"roce_switch_queue_length_bytes":               {slot(Queue), 1},
}

// Metrics returns the metrics that a column is made of, and whether direction
// must be "rx" or "tx" ("" for either). A page that plots a port asks the store
// for them.
func Metrics(c Column) (out []Source) {
	want := slot(c)
	switch c {
	case PauseRx:
		want = slotPauseRx
	case PauseTx:
		want = slotPauseTx
	}
	for key, r := range rules {
		if r.slot == want {
			out = append(out, sourceOf(key, r.factor))
		}
	}
	return out
}

// A Source is one metric of a column, what its value is multiplied with, and
// the direction label that it must have ("" where any will do).
type Source struct {
	Metric, Direction string
	Factor            float64
	Bits              uint8
	Gauge             bool
	Side              telemetry.Side
}
