package evidence

import "testing"

// Series of the metric table by the counters of each vendor (operations notes,
// counters of other NICs).
func TestCountersNameTheirMetric(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"NIC statistics:\n     rx_prio3_pause: 1\n     tx_pfc_ena_frames_pri4: 2\n     frames_rx_pri_5: 3\n": {
			"rx_prio3_pause":         `rdma_roce_pfc_pause_frames_total{direction="rx",priority="3"}`,
			"tx_pfc_ena_frames_pri4": `rdma_roce_pfc_pause_frames_total{direction="tx",priority="4"}`,
			"frames_rx_pri_5":        `rdma_roce_pfc_pause_frames_total{direction="rx",priority="5"}`,
		},
		"link mlx5_0/1 np_cnp_sent 1 local_ack_timeout_err 2\nlink irdma0/1 cnpSent 3 RxECNMrkd 4\nlink ionic_0/1 tx_rdma_cnp_pkts 5\nlink bnxt_re0/1 to_retransmits 6 np_cnp_sent 7\n": {
			"np_cnp_sent":           "rdma_np_cnp_sent_total",
			"cnpSent":               "rdma_np_cnp_sent_total",
			"tx_rdma_cnp_pkts":      "rdma_np_cnp_sent_total",
			"RxECNMrkd":             "rdma_np_ecn_marked_roce_packets_total",
			"local_ack_timeout_err": "rdma_local_ack_timeout_err_total",
			"to_retransmits":        "rdma_local_ack_timeout_err_total",
		},
	} {
		r := read(t, "x", text)
		got := map[string]string{}
		for _, f := range r.Facts {
			if len(f.Key) > 8 {
				got[f.Key[8:]] = f.Origin.Metric
			}
		}
		for counter, metric := range want {
			if got[counter] != metric {
				t.Errorf("%s is %q, expected %q", counter, got[counter], metric)
			}
		}
	}
}
