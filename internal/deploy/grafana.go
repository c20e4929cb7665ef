package deploy

import (
	"encoding/json"
	"fmt"

	"weir/internal/telemetry"
)

// panel is one picture of the dashboard: queries over metrics of the table.
type panel struct {
	title, unit string // unit in Grafana's names
	queries     []query
}

type query struct{ expr, legend string }

// row is a heading with its panels, two in a line.
type row struct {
	title  string
	panels []panel
}

// rate is a metric's rate by labels; it panics on a name that the table does
// not have, so that the dashboard cannot ask for what nobody counts.
func rate(metric, labels, by string) string {
	telemetry.MustLookup(metric)
	return fmt.Sprintf("sum by (%s) (rate(%s{%s}[$__rate_interval]))", by, metric, labels)
}

func gauge(metric, labels, by string) string {
	telemetry.MustLookup(metric)
	return fmt.Sprintf("max by (%s) (%s{%s})", by, metric, labels)
}

const (
	hosts     = `instance=~"$instance"`
	switches  = `switch=~"$switch"`
	byCard    = "instance, device"
	byCardP   = "instance, device, priority"
	byPort    = "switch, port"
	byPrio    = "switch, port, priority"
	byQueue   = "switch, port, queue"
	cardName  = "{{instance}} {{device}}"
	cardPName = "{{instance}} {{device}} p{{priority}}"
	portName  = "{{switch}} {{port}}"
	prioName  = "{{switch}} {{port}} p{{priority}}"
	queueName = "{{switch}} {{port}} q{{queue}}"
)

func rows() []row {
	return []row{
		{"Hosts", []panel{
			{"Sent", "bps", []query{{"32 * " + rate("rdma_port_xmit_data_total", hosts, byCard), cardName}}},
			{"Received", "bps", []query{{"32 * " + rate("rdma_port_rcv_data_total", hosts, byCard), cardName}}},
			{"Stopped by the network (share of the time)", "percentunit", []query{{rate("rdma_roce_pfc_pause_duration_total", hosts+`,direction="rx"`, byCardP) + " / 1e6", cardPName}}},
			{"Stops the network: slow host (share of the time)", "percentunit", []query{{rate("rdma_roce_pfc_pause_duration_total", hosts+`,direction="tx"`, byCardP) + " / 1e6", cardPName}}},
			{"PFC frames received", "pps", []query{{rate("rdma_roce_pfc_pause_frames_total", hosts+`,direction="rx"`, byCardP), cardPName}}},
			{"PFC frames sent", "pps", []query{{rate("rdma_roce_pfc_pause_frames_total", hosts+`,direction="tx"`, byCardP), cardPName}}},
			{"Marked packets received", "pps", []query{{rate("rdma_np_ecn_marked_roce_packets_total", hosts, byCard), cardName}}},
			{"CNPs sent, handled, ignored", "pps", []query{
				{rate("rdma_np_cnp_sent_total", hosts, byCard), cardName + " sent"}, {rate("rdma_rp_cnp_handled_total", hosts, byCard), cardName + " handled"}, {rate("rdma_rp_cnp_ignored_total", hosts, byCard), cardName + " ignored"},
			}},
			{"Out of sequence", "pps", []query{{rate("rdma_out_of_sequence_total", hosts, byCard), cardName}}},
			{"Sequence NAKs and acknowledgement time-outs", "ops", []query{{rate("rdma_packet_seq_err_total", hosts, byCard), cardName + " NAK"}, {rate("rdma_local_ack_timeout_err_total", hosts, byCard), cardName + " time-out"}}},
			{"PCIe stalled", "percent", []query{{gauge("rdma_pcie_outbound_stalled_percent", hosts, byCard+", op"), cardName + " {{op}}"}}},
			{"Link errors", "ops", []query{{rate("rdma_phy_rx_pcs_symbol_err_total", hosts, byCard), cardName + " symbols"}, {rate("rdma_phy_link_down_events_total", hosts, byCard), cardName + " link down"}, {rate("rdma_rx_icrc_encapsulated_total", hosts, byCard), cardName + " ICRC"}}},
		}},
		{"Switches", []panel{
			{"Bytes in", "bps", []query{{"8 * " + rate("roce_switch_port_bytes_total", switches+`,direction="rx"`, byPort), portName}}},
			{"Bytes out", "bps", []query{{"8 * " + rate("roce_switch_port_bytes_total", switches+`,direction="tx"`, byPort), portName}}},
			{"Stopped by the peer (share of the time)", "percentunit", []query{{rate("roce_switch_pfc_pause_duration_total", switches+`,direction="rx"`, byPrio) + " / 1e6", prioName}}},
			{"PFC frames sent", "pps", []query{{rate("roce_switch_pfc_pause_frames_total", switches+`,direction="tx"`, byPrio), prioName}}},
			{"Marks", "pps", []query{{rate("roce_switch_queue_ecn_marked_packets_total", switches, byQueue), queueName}}},
			{"Drops of queues and lossless priorities", "pps", []query{{rate("roce_switch_queue_dropped_packets_total", switches, byQueue), queueName}, {rate("roce_switch_pg_dropped_packets_total", switches, byPrio), prioName + " ingress"}}},
			{"Queue watermark", "bytes", []query{{gauge("roce_switch_queue_watermark_bytes", switches, byQueue), queueName}}},
			{"Code words that FEC could not correct", "ops", []query{{rate("roce_switch_fec_uncorrected_frames_total", switches, byPort), portName}}},
		}},
	}
}

// GrafanaDashboard returns the dashboard's JSON.
func GrafanaDashboard() ([]byte, error) {
	source := map[string]any{"type": "prometheus", "uid": "${datasource}"}
	var panels []any
	id, y := 0, 0
	for _, r := range rows() {
		id++
		panels = append(panels, map[string]any{"id": id, "type": "row", "title": r.title, "gridPos": grid(0, y, 24, 1), "collapsed": false, "panels": []any{}})
		y++
		for i, p := range r.panels {
			id++
			var targets []any
			for j, q := range p.queries {
				targets = append(targets, map[string]any{"datasource": source, "refId": string(rune('A' + j)), "expr": q.expr, "legendFormat": q.legend})
			}
			panels = append(panels, map[string]any{
				"id": id, "type": "timeseries", "title": p.title, "datasource": source, "targets": targets, "gridPos": grid(12*(i%2), y+8*(i/2), 12, 8),
				"fieldConfig": map[string]any{"defaults": map[string]any{"unit": p.unit, "min": 0, "custom": map[string]any{"spanNulls": false}}, "overrides": []any{}},
				"options":     map[string]any{"tooltip": map[string]any{"mode": "multi", "sort": "desc"}, "legend": map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true}},
			})
		}
		y += 8 * ((len(r.panels) + 1) / 2)
	}
	return json.MarshalIndent(map[string]any{
		"uid": "weir-roce", "title": "RoCE fabric (weir)", "tags": []string{"rdma", "roce"}, "schemaVersion": 39, "version": 1, "editable": true,
		"refresh": "10s", "time": map[string]any{"from": "now-30m", "to": "now"}, "graphTooltip": 1,
		"templating": map[string]any{"list": []any{
			map[string]any{"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
			variable("instance", "Host", "rdma_port_xmit_data_total", source), variable("switch", "Switch", "roce_switch_port_bytes_total", source),
		}},
		"panels": panels,
	}, "", "  ")
}

func grid(x, y, w, h int) map[string]int { return map[string]int{"x": x, "y": y, "w": w, "h": h} }

func variable(name, label, metric string, source any) map[string]any {
	telemetry.MustLookup(metric)
	return map[string]any{
		"name": name, "label": label, "type": "query", "datasource": source, "query": fmt.Sprintf("label_values(%s, %s)", metric, name),
		"refresh": 2, "multi": true, "includeAll": true, "current": map[string]any{"text": "All", "value": "$__all"}, "sort": 7,
	}
}
