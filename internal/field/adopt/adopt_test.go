package adopt

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"weir/internal/store"
	"weir/internal/telemetry"
)

// The left sides are series as the programs write them: node_exporter
// (infiniband and ethtool collectors), rdma_exporter, gnmic.
var pairs = []struct {
	from, to string
	divide   float64
}{
	{`node_infiniband_port_data_received_bytes_total{instance="host-3:9100",device="mlx5_0",port="1",job="node"}`, `{__name__="rdma_port_rcv_data_total", device="mlx5_0", instance="host-3", port="1"}`, 4},
	{`node_infiniband_np_cnp_packets_sent_total{instance="host-3:9100",device="mlx5_0",port="1"}`, `{__name__="rdma_np_cnp_sent_total", device="mlx5_0", instance="host-3", port="1"}`, 1},
	{`node_ethtool_received_prio3_pause{instance="host-3:9100",device="ens1np0"}`, `{__name__="rdma_roce_pfc_pause_frames_total", device="ens1np0", direction="rx", instance="host-3", netdev="ens1np0", priority="3"}`, 1},
	{`node_ethtool_tx_prio3_pause_duration{instance="host-3:9100",device="ens1np0"}`, `{__name__="rdma_roce_pfc_pause_duration_total", device="ens1np0", direction="tx", instance="host-3", netdev="ens1np0", priority="3"}`, 1},
	{`rdma_roce_pfc_pause_frames_total{instance="host-3:9879",device="mlx5_0",port="1",netdev="ens1",direction="rx",priority="3",job="rdma"}`, `{__name__="rdma_roce_pfc_pause_frames_total", device="mlx5_0", direction="rx", instance="host-3", netdev="ens1", port="1", priority="3"}`, 1},
	{`interfaces_interface_state_counters_in_octets{source="leaf-0:57400",interface_name="Ethernet1/1"}`, `{__name__="roce_switch_port_bytes_total", direction="rx", port="Ethernet1/1", switch="leaf-0"}`, 1},
	{`gnmic_qos_interfaces_interface_output_queues_queue_state_ecn_marked_pkts{source="leaf-0",interface_interface_id="Ethernet1/1",queue_name="UC3"}`, `{__name__="roce_switch_queue_ecn_marked_packets_total", port="Ethernet1/1", queue="3", switch="leaf-0"}`, 1},
	{`node_infiniband_rate_bytes_per_second{instance="a",device="mlx5_0"}`, "", 0},
	{`node_ethtool_received_wqe_err{instance="a",device="eth0"}`, "", 0},
	{`rdma_scrape_errors_total{instance="a"}`, "", 0},
	{`rdma_port_rcv_bytes_total{instance="a"}`, "", 0}, // computed when shown
}

// series reads name{label="value",...}.
func series(s string) labels.Labels {
	name, rest, _ := strings.Cut(s, "{")
	b := labels.NewBuilder(labels.FromStrings("__name__", name))
	for _, l := range strings.Split(strings.TrimSuffix(rest, "}"), ",") {
		k, v, _ := strings.Cut(l, "=")
		b.Set(k, strings.Trim(v, `"`))
	}
	return b.Labels()
}

func TestMap(t *testing.T) {
	for _, p := range pairs {
		got, divide, ok := Map(series(p.from))
		if ok != (p.to != "") || ok && (got.String() != p.to || divide != p.divide) {
			t.Errorf("%s\ngot  %s / %v\nwant %s / %v", p.from, got, divide, p.to, p.divide)
		}
	}
	for name, m := range nodeInfiniband {
		if _, ok := telemetry.Lookup(m.metric); !ok {
			t.Errorf("%s: no metric %s", name, m.metric)
		}
	}
}

// A real Prometheus scrapes such exporters; their series arrive in the store.
func TestFromPrometheus(t *testing.T) {
	bin, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed")
	}
	begin := time.Now()
	exporter := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := uint64(time.Since(begin).Seconds() * 400)
		fmt.Fprintf(w, "node_infiniband_port_data_received_bytes_total{device=\"mlx5_0\",port=\"1\"} %d\nnode_ethtool_received_prio3_pause{device=\"ens1\"} %d\ngo_goroutines 7\n", 4*n, n)
	}))
	defer exporter.Close()
	dir := t.TempDir()
	conf := "global: {scrape_interval: 200ms, scrape_timeout: 200ms}\nscrape_configs: [{job_name: node, static_configs: [{targets: ['" + strings.TrimPrefix(exporter.URL, "http://") + "']}]}]\n"
	if err := os.WriteFile(filepath.Join(dir, "p.yml"), []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(bin, "--config.file="+filepath.Join(dir, "p.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--log.level=error")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	from, err := store.OpenRemote(store.RemoteOptions{URL: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := store.Open(filepath.Join(dir, "ours"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{From: from, To: to, Every: 300 * time.Millisecond, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	}()
	rate := func(expr string) float64 {
		got, err := to.Query(ctx, expr, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 {
			return 0
		}
		return got[0].Value
	}
	near := func(v float64) bool { return v > 300 && v < 500 }
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		words, frames := rate(`rate(rdma_port_rcv_data_total{instance="127.0.0.1",device="mlx5_0"}[2s])`), rate(`rate(rdma_roce_pfc_pause_frames_total{netdev="ens1",direction="rx",priority="3"}[2s])`)
		if near(words) && near(frames) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v words and %v frames a second, want about 400 of both", words, frames)
		}
	}
	if n := rate(`count({__name__=~"node_.*|go_.*"})`); n != 0 {
		t.Errorf("%v series under foreign names", n)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
