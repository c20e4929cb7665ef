package telemetry

import (
	"bufio"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	nameForm := regexp.MustCompile(`^(rdma|roce_switch)_[a-z0-9_]+$`)
	seen := map[string]bool{}
	for id, m := range Table() {
		if seen[m.Name] || !nameForm.MatchString(m.Name) || m.Help == "" || m.Unit == "" {
			t.Errorf("metric %d: %+v", id, m)
		}
		seen[m.Name] = true
		if got, ok := Lookup(m.Name); !ok || got != MetricID(id) {
			t.Errorf("%s is found as %d", m.Name, got)
		}
		switch m.Kind {
		case Counter:
			if m.Bits != 32 && m.Bits != 64 || !strings.HasSuffix(m.Name, "_total") {
				t.Errorf("counter %+v", m)
			}
		case Gauge, Info:
			if m.Bits != 0 || strings.HasSuffix(m.Name, "_total") {
				t.Errorf("%s %+v", m.Kind, m)
			}
		}
		if strings.HasPrefix(m.Name, "roce_switch_") != (m.Side == SwitchSide) {
			t.Errorf("%s is on the wrong side", m.Name)
		}
		if m.Of != "" {
			base, ok := Lookup(m.Of)
			if !ok || m.Factor <= 0 || Table()[base].Of != "" || !slices.Equal(Table()[base].Labels, m.Labels) {
				t.Errorf("%s is %g of %s", m.Name, m.Factor, m.Of)
			}
		}
		if l := m.LabelNames(); len(slices.Compact(slices.Sorted(slices.Values(l)))) != len(l) {
			t.Errorf("%s has a label twice: %v", m.Name, l)
		}
	}
}

// Names that dashboards of host exporters and public notes use must stay.
func TestNamesInUse(t *testing.T) {
	for name, labels := range map[string]string{
		"rdma_port_xmit_data_total":             "instance device port",
		"rdma_np_cnp_sent_total":                "instance device port",
		"rdma_local_ack_timeout_err_total":      "instance device port",
		"rdma_roce_pfc_pause_frames_total":      "instance device port netdev direction priority",
		"rdma_roce_pfc_pause_duration_total":    "instance device port netdev direction priority",
		"rdma_roce_pfc_pause_transitions_total": "instance device port netdev direction priority",
		"rdma_netdev_prio_buf_discard_total":    "instance device port netdev priority",
		"rdma_pcie_outbound_stalled_percent":    "instance device port netdev op",
		"rdma_phy_rx_err_lane_total":            "instance device port netdev lane",
		"rdma_netdev_pause_storm_events_total":  "instance device port netdev severity",
		"roce_switch_pfc_pause_frames_total":    "switch port priority direction",
		"roce_switch_queue_bytes_total":         "switch port queue",
	} {
		id, ok := Lookup(name)
		if !ok {
			t.Errorf("no %s", name)
			continue
		}
		if got := strings.Join(Table()[id].LabelNames(), " "); got != labels {
			t.Errorf("%s has %s, want %s", name, got, labels)
		}
	}
	// mlx5's q-counters are 32 bits wide and wrap, its congestion counters 64.
	for name, bits := range map[string]uint8{"rdma_out_of_sequence_total": 32, "rdma_packet_seq_err_total": 32, "rdma_np_cnp_sent_total": 64, "rdma_rp_cnp_handled_total": 64, "rdma_port_xmit_data_total": 64} {
		if m := Table()[MustLookup(name)]; m.Bits != bits {
			t.Errorf("%s has %d bits, want %d", name, m.Bits, bits)
		}
	}
	if m := Table()[MustLookup("rdma_port_xmit_data_total")]; m.Unit != "words4" {
		t.Errorf("port data in %s", m.Unit)
	}
}

func TestVendor(t *testing.T) {
	for _, tt := range []struct{ family, counter, metric, labels string }{
		{MLX5, "np_cnp_sent", "rdma_np_cnp_sent_total", ""},
		{Irdma, "cnpSent", "rdma_np_cnp_sent_total", ""},
		{Ionic, "tx_rdma_cnp_pkts", "rdma_np_cnp_sent_total", ""},
		{BnxtReOOT, "np_cnp_sent", "rdma_np_cnp_sent_total", ""},
		{BnxtRe, "seq_err_naks_rcvd", "rdma_packet_seq_err_total", ""},
		{BnxtRe, "to_retransmits", "rdma_local_ack_timeout_err_total", ""},
		{Ionic, "resp_rx_outouf_seq", "rdma_out_of_sequence_total", ""},
		{Irdma, "RNR sent", "rdma_rnr_sent_total", ""},
		{Irdma, "tcpRetransSegs", "rdma_retransmitted_packets_total", ""},
		{MLX5Ethtool, "rx_prio3_pause", "rdma_roce_pfc_pause_frames_total", "direction=rx priority=3"},
		{MLX5Ethtool, "tx_prio0_pause_duration", "rdma_roce_pfc_pause_duration_total", "direction=tx priority=0"},
		{MLX5Ethtool, "rx_prio3_pause_transition", "rdma_roce_pfc_pause_transitions_total", "direction=rx priority=3"},
		{MLX5Ethtool, "rx_prio3_buf_discard", "rdma_netdev_prio_buf_discard_total", "priority=3"},
		{MLX5Ethtool, "outbound_pci_stalled_wr", "rdma_pcie_outbound_stalled_percent", "op=wr"},
		{MLX5Ethtool, "outbound_pci_stalled_rd_events", "rdma_pcie_outbound_stalled_seconds_total", "op=rd"},
		{MLX5Ethtool, "rx_err_lane_2_phy", "rdma_phy_rx_err_lane_total", "lane=2"},
		{MLX5Ethtool, "tx_pause_storm_error_events", "rdma_netdev_pause_storm_events_total", "severity=error"},
		{MLX5Ethtool, "rx_vport_rdma_unicast_bytes", "rdma_netdev_vport_rdma_bytes_total", "direction=rx traffic=unicast"},
		{MLX5Ethtool, "module_bus_stuck", "rdma_phy_module_events_total", "event=bus_stuck"},
		{BnxtEnEthtool, "pfc_pri3_tx_duration_us", "rdma_roce_pfc_pause_duration_total", "priority=3 direction=tx"},
		{BnxtEnEthtool, "rx_pfc_ena_frames_pri3", "rdma_roce_pfc_pause_frames_total", "direction=rx priority=3"},
		{IonicEthtool, "frames_rx_pri_3", "rdma_roce_pfc_pause_frames_total", "direction=rx priority=3"},
		{IonicEthtool, "rx_pripause_3_1us_count", "rdma_roce_pfc_pause_duration_total", "direction=rx priority=3"},
		{SONiC, "SAI_PORT_STAT_PFC_3_RX_PKTS", "roce_switch_pfc_pause_frames_total", "priority=3 direction=rx"},
		{SONiC, "EST_PORT_STAT_PFC_4_RX_PAUSE_DURATION_US", "roce_switch_pfc_pause_duration_total", "priority=4 direction=rx"},
		{SONiC, "EST_PORT_STAT_PFC_3_ON2OFF_RX_PKTS", "roce_switch_pfc_pause_transitions_total", "priority=3 direction=rx"},
		{SONiC, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "roce_switch_queue_ecn_marked_packets_total", ""},
		{SONiC, "PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", "roce_switch_pfc_watchdog_events_total", "event=detected"},
		{SONiC, "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S15", "roce_switch_fec_codewords_total", "symbols=15"},
		{SONiC, "SAI_PORT_STAT_IF_OUT_OCTETS", "roce_switch_port_bytes_total", "direction=tx"},
		{OpenConfig, "ecn-marked-pkts", "roce_switch_queue_ecn_marked_packets_total", ""},
		{OpenConfig, "in-mac-pause-frames", "roce_switch_global_pause_frames_total", "direction=rx"},
	} {
		got, ok := Vendor(tt.family, tt.counter)
		if !ok {
			t.Errorf("%s %s is unknown", tt.family, tt.counter)
			continue
		}
		var labels []string
		for _, l := range got.Labels {
			labels = append(labels, l.Name+"="+l.Value)
		}
		if name := Table()[got.Metric].Name; name != tt.metric || strings.Join(labels, " ") != tt.labels {
			t.Errorf("%s %s: %s{%s}, want %s{%s}", tt.family, tt.counter, name, strings.Join(labels, " "), tt.metric, tt.labels)
		}
	}
	for _, tt := range []struct{ family, counter string }{
		{MLX5Ethtool, "rx_prio_pause"}, {MLX5Ethtool, "rx_prio3_pauses"}, {MLX5Ethtool, "xx_prio3_pause"}, {MLX5Ethtool, ""}, {MLX5, "rx_prio3_pause"}, {"other", "np_cnp_sent"}, {SONiC, "SAI_PORT_STAT_PFC_3_XX_PKTS"},
	} {
		if got, ok := Vendor(tt.family, tt.counter); ok {
			t.Errorf("%s %s is %s", tt.family, tt.counter, Table()[got.Metric].Name)
		}
	}
}

// Each vendor's name means one metric, its labels are labels of that metric,
// and VendorName finds the way back.
func TestVendorNamesAreUnique(t *testing.T) {
	sample := strings.NewReplacer("{direction}", "rx", "{DIRECTION}", "TX", "{Direction}", "Rx", "{dir}", "in", "{DIR}", "OUT", "{priority}", "3", "{queue}", "5", "{lane}", "1", "{op}", "wr", "{severity}", "error", "{event}", "unplug", "{EVENT}", "DETECTED", "{symbols}", "9", "{traffic}", "unicast")
	for id, m := range Table() {
		for family, names := range m.Vendors {
			for i, n := range names {
				counter := sample.Replace(n)
				if strings.Contains(counter, "{") {
					t.Errorf("%s: unknown place in %q", m.Name, n)
				}
				got, ok := Vendor(family, counter)
				if !ok || got.Metric != MetricID(id) {
					t.Errorf("%s %s is %v %s, want %s", family, counter, ok, Table()[got.Metric].Name, m.Name)
				}
				for _, l := range got.Labels {
					if !slices.Contains(m.Labels, l.Name) {
						t.Errorf("%s has no label %s", m.Name, l.Name)
					}
				}
				if back, ok := VendorName(family, MetricID(id), got.Labels); i == 0 && (!ok || back != counter) {
					t.Errorf("%s of %s is %q, want %q", m.Name, family, back, counter)
				}
			}
		}
	}
}

// Outputs of real tools: the counters that operations rest on are all known.
func TestRealCounters(t *testing.T) {
	for _, tt := range []struct {
		family, file string
		form         *regexp.Regexp
		least        int
	}{
		{MLX5Ethtool, "ethtool_S_mlx5_prio3.txt", regexp.MustCompile(`^\s+(\S*prio\S*|tx_pause_storm\S*): \d+$`), 15},
		{MLX5Ethtool, "ethtool_S_mlx5_slow_host.txt", regexp.MustCompile(`^\s+(rx_prio\S*|outbound_\S*|module_\S*|rx_\S*_phy|rx_steer\S*|dev_out\S*): \d+$`), 25},
		{BnxtEnEthtool, "ethtool_S_bnxt_en.txt", regexp.MustCompile(`^\s+(\S*pfc_ena\S*|pfc_pri\S*): \d+$`), 6},
		{Irdma, "hw_counters_irdma.txt", regexp.MustCompile(`^(cnp\S*|RxECNMrkd|RetransSegs|InRdmaWrites|lifespan):\d+$`), 6},
		{MLX5, "ib_counters_mlx5_port.txt", regexp.MustCompile(`^(port_(?:xmit|rcv)_(?:data|packets|wait|discards|errors)|link_\S*|symbol_error|(?:uni|multi)cast\S*):\d+$`), 12},
	} {
		f, err := os.Open("../../../shared/samples/nic/" + tt.file)
		if err != nil {
			t.Skipf("no samples here: %v", err)
		}
		defer f.Close()
		n := 0
		for s := bufio.NewScanner(f); s.Scan(); {
			m := tt.form.FindStringSubmatch(s.Text())
			if m == nil {
				continue
			}
			n++
			if _, ok := Vendor(tt.family, m[1]); !ok {
				t.Errorf("%s: %s %s is unknown", tt.file, tt.family, m[1])
			}
		}
		if n < tt.least {
			t.Errorf("%s: only %d counters seen", tt.file, n)
		}
	}
}

// docs/metrics.md is the table; WEIR_UPDATE=1 go test rewrites it.
func TestReference(t *testing.T) {
	const file = "../../docs/metrics.md"
	if os.Getenv("WEIR_UPDATE") != "" {
		if err := os.WriteFile(file, Reference(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(Reference()) {
		t.Errorf("%s is not what the table says: WEIR_UPDATE=1 go test ./internal/telemetry", file)
	}
}
