// Package adopt takes the series that a site already has in a Prometheus, of
// node_exporter, RDMA exporters and gnmic, into the store under the names of
// the metric table.
package adopt

import (
	"net"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"weir/internal/telemetry"
)

// Selector matches every series that Map may know.
const Selector = `{__name__=~"rdma_.+|node_infiniband_.+|node_ethtool_.+|.*interfaces_interface_.+_counters_.+|.*output_queues_queue_state_.+"}`

// nodeInfiniband are the names of node_exporter's infiniband collector, of
// which it multiplied the data counters to bytes.
var nodeInfiniband = map[string]struct {
	metric string
	divide float64
}{
	"port_data_received_bytes_total":            {"rdma_port_rcv_data_total", 4},
	"port_data_transmitted_bytes_total":         {"rdma_port_xmit_data_total", 4},
	"port_packets_received_total":               {"rdma_port_rcv_packets_total", 1},
	"port_packets_transmitted_total":            {"rdma_port_xmit_packets_total", 1},
	"port_transmit_wait_total":                  {"rdma_port_xmit_wait_total", 1},
	"port_errors_received_total":                {"rdma_port_rcv_errors_total", 1},
	"port_discards_transmitted_total":           {"rdma_port_xmit_discards_total", 1},
	"link_downed_total":                         {"rdma_link_downed_total", 1},
	"link_error_recovery_total":                 {"rdma_link_error_recovery_total", 1},
	"symbol_error_total":                        {"rdma_symbol_error_total", 1},
	"excessive_buffer_overrun_errors_total":     {"rdma_excessive_buffer_overrun_errors_total", 1},
	"local_link_integrity_errors_total":         {"rdma_local_link_integrity_errors_total", 1},
	"unicast_packets_received_total":            {"rdma_unicast_rcv_packets_total", 1},
	"unicast_packets_transmitted_total":         {"rdma_unicast_xmit_packets_total", 1},
	"multicast_packets_received_total":          {"rdma_multicast_rcv_packets_total", 1},
	"multicast_packets_transmitted_total":       {"rdma_multicast_xmit_packets_total", 1},
	"np_cnp_packets_sent_total":                 {"rdma_np_cnp_sent_total", 1},
	"np_ecn_marked_roce_packets_received_total": {"rdma_np_ecn_marked_roce_packets_total", 1},
	"rp_cnp_packets_handled_total":              {"rdma_rp_cnp_handled_total", 1},
	"rp_cnp_ignored_packets_received_total":     {"rdma_rp_cnp_ignored_total", 1},
	"out_of_sequence_packets_received_total":    {"rdma_out_of_sequence_total", 1},
	"packet_sequence_errors_total":              {"rdma_packet_seq_err_total", 1},
	"local_ack_timeout_errors_total":            {"rdma_local_ack_timeout_err_total", 1},
	"out_of_buffer_drops_total":                 {"rdma_out_of_buffer_total", 1},
	"rnr_nak_retry_packets_received_total":      {"rdma_rnr_nak_retry_err_total", 1},
	"duplicate_requests_packets_total":          {"rdma_duplicate_request_total", 1},
	"req_cqes_errors_total":                     {"rdma_req_cqe_error_total", 1},
	"req_cqes_flush_errors_total":               {"rdma_req_cqe_flush_error_total", 1},
	"req_remote_access_errors_total":            {"rdma_req_remote_access_errors_total", 1},
	"req_remote_invalid_request_errors_total":   {"rdma_req_remote_invalid_request_total", 1},
	"resp_cqes_errors_total":                    {"rdma_resp_cqe_error_total", 1},
	"resp_cqes_flush_errors_total":              {"rdma_resp_cqe_flush_error_total", 1},
	"resp_local_length_errors_total":            {"rdma_resp_local_length_error_total", 1},
	"resp_remote_access_errors_total":           {"rdma_resp_remote_access_errors_total", 1},
	"roce_adp_retransmits_total":                {"rdma_roce_adp_retrans_total", 1},
	"roce_adp_retransmits_timeout_total":        {"rdma_roce_adp_retrans_to_total", 1},
	"rx_write_requests_total":                   {"rdma_rx_write_requests_total", 1},
	"rx_read_requests_total":                    {"rdma_rx_read_requests_total", 1},
	"rx_atomic_requests_total":                  {"rdma_rx_atomic_requests_total", 1},
	"implied_nak_seq_errors_total":              {"rdma_implied_nak_seq_err_total", 1},
}

// Map returns the series of the table that a series of another exporter is,
// as its labels, and by what its values are divided; false if it is none.
func Map(ls labels.Labels) (out labels.Labels, divide float64, ok bool) {
	name := ls.Get(model.MetricNameLabel)
	if rest, found := strings.CutPrefix(name, "node_infiniband_"); found {
		m, known := nodeInfiniband[rest]
		if !known {
			return out, 0, false
		}
		return host(ls, m.metric, nil), m.divide, true
	}
	if rest, found := strings.CutPrefix(name, "node_ethtool_"); found {
		return ethtool(ls, rest)
	}
	if id, known := telemetry.Lookup(name); known && strings.HasPrefix(name, "rdma_") && telemetry.Table()[id].Of == "" {
		return host(ls, name, telemetry.Table()[id].Labels), 1, true
	}
	return gnmic(ls, name)
}

// host builds a host's series: instance without its port, device and port,
// and the named labels.
func host(ls labels.Labels, metric string, more []string) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set(model.MetricNameLabel, metric)
	b.Set("instance", hostOf(ls.Get("instance")))
	for _, n := range append([]string{"device", "port"}, more...) {
		b.Set(n, ls.Get(n))
	}
	return b.Labels()
}

func hostOf(instance string) string {
	if h, _, err := net.SplitHostPort(instance); err == nil {
		return h
	}
	return instance
}

// ethtool undoes node_exporter's wording ("received" for rx) and looks the
// counter up. Its label device is the net device; which RDMA device that is
// it does not say.
func ethtool(ls labels.Labels, rest string) (labels.Labels, float64, bool) {
	words := strings.Split(rest, "_")
	for i, w := range words {
		switch w {
		case "received":
			words[i] = "rx"
		case "transmitted":
			words[i] = "tx"
		}
	}
	counter := strings.Join(words, "_")
	for _, family := range []string{telemetry.MLX5Ethtool, telemetry.BnxtEnEthtool, telemetry.IceEthtool, telemetry.IonicEthtool} {
		s, ok := telemetry.Vendor(family, counter)
		if !ok {
			continue
		}
		m := &telemetry.Table()[s.Metric]
		b := labels.NewBuilder(labels.EmptyLabels())
		b.Set(model.MetricNameLabel, m.Name)
		b.Set("instance", hostOf(ls.Get("instance")))
		b.Set("device", ls.Get("device"))
		b.Set("netdev", ls.Get("device"))
		for _, l := range s.Labels {
			b.Set(l.Name, l.Value)
		}
		return b.Labels(), 1, true
	}
	return labels.EmptyLabels(), 0, false
}

// gnmic writes a path as the name, with "_" for "/" and "-", the keys as
// labels (interface_name, interface_interface_id, queue_name) and the switch
// as source.
func gnmic(ls labels.Labels, name string) (labels.Labels, float64, bool) {
	counter := ""
	for _, mark := range []string{"_counters_", "_queue_state_"} {
		if _, rest, ok := strings.Cut(name, mark); ok {
			counter = strings.ReplaceAll(rest, "_", "-")
		}
	}
	s, ok := telemetry.Vendor(telemetry.OpenConfig, counter)
	if counter == "" || !ok {
		return labels.EmptyLabels(), 0, false
	}
	m := &telemetry.Table()[s.Metric]
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set(model.MetricNameLabel, m.Name)
	b.Set("switch", hostOf(first(ls, "source", "target", "instance")))
	b.Set("port", first(ls, "interface_name", "interface_interface_id", "name"))
	for _, l := range s.Labels {
		b.Set(l.Name, l.Value)
	}
	if slices.Contains(m.Labels, "queue") {
		b.Set("queue", strings.TrimLeft(ls.Get("queue_name"), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"))
	}
	return b.Labels(), 1, true
}

func first(ls labels.Labels, names ...string) string {
	for _, n := range names {
		if v := ls.Get(n); v != "" {
			return v
		}
	}
	return ""
}
