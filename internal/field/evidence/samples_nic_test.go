package evidence

import (
	"fmt"
	"strings"
	"testing"
)

func TestNICSamples(t *testing.T) {
	checkIndex(t, "nic", "index.yaml", map[string]finder{
		"trust": one("qos.trust"), "pfc": one("qos.pfc.enabled"), "dcbx": one("qos.dcbx.owner"), "cable_len_m": one("qos.cable_length"),
		"dscp26_prio": one("qos.dscp.26.priority"), "dscp48_prio": one("qos.dscp.48.priority"), "tsa": one("qos.tc.0.tsa"),
		"buffers": asRow("qos.buffer.*.size", 0), "prio_buffer": asRow("qos.priority.*.buffer", 0), "dscp_prio": asMap("qos.dscp.*.priority"),
		"roce_ready": func(r *Report) any {
			return same("dscp", one("qos.trust")(r)) && len(lookup(r, "qos.pfc.enabled")[0].List()) > 0
		},
		"ets": asMap("qos.tc.*.bandwidth"), "strict": where("qos.tc.*.tsa", func(v any) bool { return v == "strict" }),
		"ratelimit_gbps": func(r *Report) any { return map[string]any{"3": divided("qos.tc.3.rate_limit", 1e9)(r)} },
		"warnings":       labels(has("lldpad", "qos.lldpad_running=true")),
		"mlnx_qos_ets_all_prios.txt findings": labels(
			has("pfc-on-all-priorities", "qos.pfc.enabled=0,1,2,3,4,5,6,7"), has("dcbx-firmware", "qos.dcbx.owner=firmware"), has("lldpad-running", "qos.lldpad_running=true")),

		"rows":         func(r *Report) any { return len(asMap("gid.*.address")(r).(map[string]any)) },
		"n_gids":       one("gid.count"),
		"best_v2_ipv4": bySubject("gid.best_v2_ipv4"),
		"index3_exists": func(r *Report) any {
			return len(lookup(r, "gid.3.address")) > 0
		},
		"show_gids_one_port_without_ip.txt rows": func(r *Report) any {
			n := 0
			for _, f := range r.Facts {
				if strings.HasPrefix(f.Key, "gid.") && strings.HasSuffix(f.Key, ".address") {
					n++
				}
			}
			return n
		},
		"show_gids_one_port_without_ip.txt findings": func(r *Report) any {
			if bySubject("gid.best_v2_ipv4")(r).(map[string]any)["mlx5_0"] == nil {
				return []any{"port-without-routable-gid"}
			}
			return missing
		},

		"links": func(r *Report) any { return links(r) },
		"rdma_statistic_optional_supported.txt links": func(r *Report) any { return len(links(r)) },
		"rdma_link.json links":                        func(r *Report) any { return len(links(r)) },
		"mlx5_0": func(r *Report) any {
			m := map[string]any{}
			for _, f := range r.Facts {
				if name, ok := strings.CutPrefix(f.Key, "counter."); ok && f.Subject.Name == "mlx5_0" {
					m[name] = f.Value.Any()
				}
			}
			return m
		},
		"supported": one("rdma.optional_counters.supported"), "enabled": one("rdma.optional_counters.enabled"),
		"cc_rx_ce_pkts": counterOf("cc_rx_ce_pkts"), "cc_rx_cnp_pkts": counterOf("cc_rx_cnp_pkts"),
		"counters": func(r *Report) any { return len(asMap("counter.*")(r).(map[string]any)) },
		"vendor": func(r *Report) any {
			if strings.HasPrefix(r.Facts[0].Subject.Name, "ionic_") && len(lookup(r, "counter.tx_rdma_cnp_pkts")) == 2 {
				return "ionic"
			}
			return missing
		},
		"all_zero": func(r *Report) any {
			n := 0
			for _, f := range r.Facts {
				if strings.HasPrefix(f.Key, "counter.") {
					n++
					if u, ok := f.Value.Uint(); !ok || u != 0 {
						return false
					}
				}
			}
			return n == 108 // 54 of each of both devices
		},
		"netdev":       bySubject("rdma.netdev"),
		"udp4791_prio": one("qos.app.udp.4791.priority"), "tc_tsa": asRow("qos.tc.*.tsa", 0), "tc_bw": asRow("qos.tc.*.bandwidth", 0), "ets_bw": asRow("qos.tc.*.bandwidth", 0),

		"rx_prio3_pause": counterOf("rx_prio3_pause"), "tx_prio3_pause": counterOf("tx_prio3_pause"), "rx_prio3_pause_duration_us": counterOf("rx_prio3_pause_duration"),
		"rx_prio3_marked": counterOf("rx_prio3_marked"), "storm_errors": counterOf("tx_pause_storm_error_events"), "rx_corrected_bits_phy": counterOf("rx_corrected_bits_phy"),
		"link_down_events": counterOf("link_down_events_phy"), "rx_discards_phy": counterOf("rx_discards_phy"), "outbound_pci_stalled_wr": counterOf("outbound_pci_stalled_wr"),
		"worst_lane": func(r *Report) any {
			worst, most := "", uint64(0)
			for k, v := range indexed("counter.*")(r) {
				lane, ok := strings.CutPrefix(k, "rx_err_lane_")
				if u := v[0].(uint64); ok && u > most {
					worst, most = strings.TrimSuffix(lane, "_phy"), u
				}
			}
			return worst
		},
		"ethtool_S_mlx5_slow_host.txt findings": labels(
			has("receiver-pcie-backpressure", "counter.outbound_pci_stalled_wr=71", "counter.outbound_pci_buffer_overflow=41180", "counter.rx_buffer_passed_thres_phy=>0"),
			has("pause-storm", "counter.tx_pause_storm_error_events=1", "counter.tx_prio3_pause=>0")),
		"pfc_rx_prio3": counterOf("rx_pfc_ena_frames_pri3"), "pfc_tx_prio3": counterOf("tx_pfc_ena_frames_pri3"), "cos3_discards": counterOf("rx_discard_packets_cos3"),
		"cnp_sent": counterOf("cnpSent"), "cnp_handled": counterOf("cnpHandled"), "cnp_ignored": counterOf("cnpIgnored"), "ecn_marked_rx": counterOf("RxECNMrkd"), "retrans": counterOf("RetransSegs"),
		"hw_counters_bnxt_re.txt cnp_sent": counterOf("np_cnp_sent"), "timeouts": counterOf("to_retransmits"), "seq_naks": counterOf("seq_err_naks_rcvd"),
		"retry_exceeded": counterOf("max_retry_exceeded"), "out_of_order": counterOf("oos_drop_count"), "discards": counterOf("rx_roce_discards"),
		"rcv_bytes": wordsTimes4("port_rcv_data"), "xmit_bytes": wordsTimes4("port_xmit_data"), "xmit_wait_ticks": counterOf("port_xmit_wait"),

		"state":      func(r *Report) any { return "PORT_" + fmt.Sprint(one("rdma.state")(r)) },
		"active_mtu": one("rdma.active_mtu"), "max_mtu": one("rdma.max_mtu"), "link_layer": one("rdma.layer"), "speed_gbps": divided("rdma.rate", 1e9), "gid_v2_ipv4_index": one("gid.best_v2_ipv4"),
		"dcb_show_pfc_ets_app_buffer.txt tsa":       asMap("qos.tc.*.tsa"),
		"dcb_show_pfc_ets_app_buffer.txt dscp_prio": asLists("qos.dscp.*.priority"),
		"dcb_show_pfc_ets_app_buffer.txt buffers": func(r *Report) any {
			if same(uint64(1<<20), one("qos.buffer.6.size")(r)) {
				return map[string]any{"6": "1Mb"}
			}
			return missing
		},
		"dcb_app_symbolic.txt dscp_prio": asLists("qos.dscp.*.priority"),
		"willing":                        one("qos.pfc.willing"), "lldptool_ets_pfc.txt findings": labels(has("dcbx-willing", "qos.pfc.willing=true")),

		"ai_rate": divided("dcqcn.ai_rate", 1e6), "hai_rate": divided("dcqcn.hai_rate", 1e6), "time_reset": one("dcqcn.time_reset"), "byte_reset": one("dcqcn.byte_reset"),
		"min_time_between_cnps": one("dcqcn.min_time_between_cnps"), "cnp_prio": one("dcqcn.cnp_priority"), "cc_prio_mask": one("dcqcn.priority_mask"),
		"link_type": func(r *Report) any {
			return strings.TrimSuffix(fmt.Sprint(one("firmware.setting.LINK_TYPE_P1")(r)), "(2)")
		},
		"np_cnp_dscp": one("dcqcn.cnp_dscp"), "rp_ai_rate": divided("dcqcn.ai_rate", 1e6), "rp_dce_tcp_g": one("dcqcn.dce_tcp_g"),
		"type": one("module.type"), "temp_c": one("module.temperature"), "voltage_v": one("module.voltage"), "bias_ma": asRow("module.lane.*.bias", 1), "copper": one("module.copper"),
		"configured": one("link.fec.configured"), "active": one("link.fec.active"),
		"speed_mbps": divided("link.speed", 1e6), "max_supported_mbps": divided("link.max_speed", 1e6), "lanes": one("link.lanes"),
		"fec": func(r *Report) any { return strings.Join(lookup(r, "link.fec.advertised")[0].List(), " ") },
		"ethtool_link_100g_on_400g.txt findings": func(r *Report) any {
			speed, _ := lookup(r, "link.speed")[0].Uint()
			fastest, _ := lookup(r, "link.max_speed")[0].Uint()
			if speed < fastest {
				return []any{"link-below-card-speed"}
			}
			return missing
		},
		"link": func(r *Report) any { return one("link.state")(r) == "up" }, "reason": one("link.reason"),
		"reporters": where("devlink.reporter.*.state", func(v any) bool { return v == "healthy" }),
		"errors": func(r *Report) any {
			sum := uint64(0)
			for _, v := range indexed("devlink.reporter.*.errors")(r) {
				sum += v[0].(uint64)
			}
			return sum
		},
		"tclass": one("roce.traffic_class"), "dscp": one("roce.dscp"),
	})
}

func wordsTimes4(name string) finder {
	return func(r *Report) any {
		for _, f := range r.Facts {
			if f.Key == "counter."+name && f.Unit == "words4" {
				u, _ := f.Value.Uint()
				return u * 4
			}
		}
		return missing
	}
}
