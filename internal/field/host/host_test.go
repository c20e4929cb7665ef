package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// fixture is a file system: files by path, and symbolic links as "-> TARGET".
type fixture map[string]string

func (f fixture) root(t *testing.T) *os.Root {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if to, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(to, full)
		} else {
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	return root
}

// kernel answers from tables; what is not there is unsupported.
type kernel struct {
	stats  map[string]map[string]uint64
	rdma   map[string]map[uint32]map[string]uint64
	pfc    map[string]uint8
	fec    map[string][2]string
	module map[string][]byte
}

func (k kernel) EthtoolStats(n string) (map[string]uint64, error) {
	if s, ok := k.stats[n]; ok {
		return s, nil
	}
	return nil, syscall.EOPNOTSUPP
}

func (k kernel) RDMAStatistics(d string) (map[uint32]map[string]uint64, error) {
	if s, ok := k.rdma[d]; ok {
		return s, nil
	}
	return nil, syscall.EINVAL
}

func (k kernel) PFC(n string) (uint8, error) {
	if m, ok := k.pfc[n]; ok {
		return m, nil
	}
	return 0, errors.ErrUnsupported
}

func (k kernel) FEC(n string) (string, string, error) {
	if f, ok := k.fec[n]; ok {
		return f[0], f[1], nil
	}
	return "", "", syscall.EOPNOTSUPP
}

func (k kernel) Module(n string) ([]byte, error) {
	if b, ok := k.module[n]; ok {
		return b, nil
	}
	return nil, syscall.EPERM
}

// answer runs one scrape and returns it as Prometheus' own parser reads it:
// "name{labels}" to value.
func answer(t *testing.T, a *Agent) map[string]float64 {
	t.Helper()
	var b bytes.Buffer
	if err := a.Write(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	p := expfmt.NewTextParser(model.LegacyValidation)
	families, err := p.TextToMetricFamilies(bytes.NewReader(b.Bytes()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	out := map[string]float64{}
	for name, f := range families {
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			v := m.GetCounter().GetValue() + m.GetGauge().GetValue()
			out[name+"{"+strings.Join(labels, ",")+"}"] = v
		}
	}
	return out
}

func expect(t *testing.T, got map[string]float64, want map[string]float64) {
	t.Helper()
	for k, v := range want {
		if g, ok := got[k]; !ok || g != v {
			t.Errorf("%s: got %v (there: %v), want %v", k, g, ok, v)
		}
	}
}

// mlx5Host is a host with one physical and one virtual function and a GPU
// below the same PCIe switch, and one on another NUMA node.
func mlx5Host() fixture {
	const (
		pf  = "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.0/"
		vf  = "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:00.0/0000:18:00.2/"
		gpu = "sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:01.0/0000:19:00.0/"
		far = "sys/devices/pci0000:97/0000:97:01.0/0000:98:00.0/"
	)
	f := fixture{
		"sys/class/infiniband/mlx5_0":              "-> ../../../" + pf + "infiniband/mlx5_0",
		"sys/class/infiniband/mlx5_2":              "-> ../../../" + vf + "infiniband/mlx5_2",
		pf + "infiniband/mlx5_0/device":            "-> ../../../0000:18:00.0",
		vf + "infiniband/mlx5_2/device":            "-> ../../../0000:18:00.2",
		vf + "physfn":                              "-> ../0000:18:00.0",
		pf + "driver":                              "-> ../../../../../../bus/pci/drivers/mlx5_core",
		vf + "driver":                              "-> ../../../../../../bus/pci/drivers/mlx5_core",
		pf + "net/ens1np0/dev_port":                "0\n",
		vf + "net/ens1v0/dev_port":                 "0\n",
		"sys/bus/pci/drivers/mlx5_core/x":          "",
		"sys/bus/pci/devices/0000:18:00.0":         "-> ../../../../" + pf,
		"sys/bus/pci/devices/0000:18:00.2":         "-> ../../../../" + vf,
		"sys/bus/pci/devices/0000:19:00.0":         "-> ../../../../" + gpu,
		"sys/bus/pci/devices/0000:98:00.0":         "-> ../../../../" + far,
		gpu + "vendor":                             "0x10de\n",
		gpu + "class":                              "0x030200\n",
		gpu + "numa_node":                          "0\n",
		far + "vendor":                             "0x10de\n",
		far + "class":                              "0x030200\n",
		far + "numa_node":                          "1\n",
		pf + "vendor":                              "0x15b3\n",
		pf + "class":                               "0x020000\n",
		pf + "numa_node":                           "0\n",
		pf + "current_link_speed":                  "16.0 GT/s PCIe\n",
		pf + "current_link_width":                  "16\n",
		pf + "max_link_speed":                      "32.0 GT/s PCIe\n",
		pf + "max_link_width":                      "16\n",
		vf + "current_link_speed":                  "Unknown\n",
		"sys/class/infiniband_verbs/uverbs0/ibdev": "mlx5_0\n",
		"proc/4711/fd/8":                           "-> /dev/infiniband/uverbs0",
		"proc/4711/cgroup":                         "0::/system.slice/slurmstepd.scope/job_812/step_0/user/task_3\n",
		"proc/4712/fd/3":                           "-> /dev/infiniband/uverbs0",
		"proc/4712/cgroup":                         "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f1a2b3c_0000_1111_2222_333344445555.slice/cri-containerd-ab.scope\n",
		"proc/4713/fd/3":                           "-> /dev/null",
		"proc/4713/cgroup":                         "0::/init.scope\n",
		"var/log/pods/train_worker-3_0f1a2b3c-0000-1111-2222-333344445555/trainer/0.log": "",
	}
	for dev, dir := range map[string]string{"mlx5_0": pf + "infiniband/mlx5_0/", "mlx5_2": vf + "infiniband/mlx5_2/"} {
		p := dir + "ports/1/"
		f[p+"counters/port_xmit_data"] = "18446744073709551615\n"
		f[p+"counters/port_rcv_data"] = "4096\n"
		f[p+"hw_counters/np_cnp_sent"] = "99\n"
		f[p+"hw_counters/out_of_sequence"] = "4294967295\n"
		f[p+"hw_counters/lifespan"] = "10\n"
		f[p+"hw_counters/brand_new_counter"] = "5\n"
		f[p+"state"] = "4: ACTIVE\n"
		f[p+"phys_state"] = "5: LinkUp\n"
		f[p+"rate"] = "400 Gb/sec (4X NDR)\n"
		f[p+"link_layer"] = "Ethernet\n"
		f[p+"gids/0"] = "fe80:0000:0000:0000:0e42:a1ff:fe5e:0001\n"
		f[p+"gids/1"] = "0000:0000:0000:0000:0000:0000:0000:0000\n"
		f[p+"gids/3"] = "0000:0000:0000:0000:0000:ffff:0a01:0203\n"
		f[p+"gid_attrs/types/3"] = "RoCE v2\n"
		netdev := "ens1np0"
		if dev == "mlx5_2" {
			netdev = "ens1v0"
		}
		f[p+"gid_attrs/ndevs/3"] = netdev + "\n"
	}
	return f
}

func mlx5Kernel() kernel {
	module := make([]byte, 256)
	module[0], module[22], module[23] = 0x11, 41, 0x80 // QSFP28 at 41.5 C
	module[34], module[35] = 0x1f, 0x40                // lane 0: 8000 x 0.1 uW
	return kernel{
		stats: map[string]map[string]uint64{
			"ens1np0": {"rx_prio3_pause": 21844, "tx_prio3_pause_duration": 8133120, "rx_prio3_bytes": 7, "unknown_to_all": 1},
			"ens1v0":  {"rx_prio3_pause": 0, "rx_out_of_buffer": 6},
		},
		rdma:   map[string]map[uint32]map[string]uint64{"mlx5_0": {1: {"cc_rx_ce_pkts": 12, "np_cnp_sent": 99}}},
		pfc:    map[string]uint8{"ens1np0": 1 << 3},
		fec:    map[string][2]string{"ens1np0": {"RS", "auto"}},
		module: map[string][]byte{"ens1np0": module},
	}
}

func TestMlx5Host(t *testing.T) {
	a := New(Options{Root: mlx5Host().root(t), Kernel: mlx5Kernel()})
	got := answer(t, a)
	expect(t, got, map[string]float64{
		"rdma_port_xmit_data_total{device=mlx5_0,port=1}":                                                 18446744073709551615,
		"rdma_np_cnp_sent_total{device=mlx5_0,port=1}":                                                    99,
		"rdma_out_of_sequence_total{device=mlx5_0,port=1}":                                                4294967295,
		"rdma_lifespan_milliseconds{device=mlx5_0,port=1}":                                                10,
		"rdma_brand_new_counter_total{device=mlx5_2,port=1}":                                              5,
		"rdma_cc_rx_ce_pkts_total{device=mlx5_0,port=1}":                                                  12,
		"rdma_port_rate_bits_per_second{device=mlx5_0,port=1,netdev=ens1np0}":                             400e9,
		"rdma_roce_pfc_pause_frames_total{device=mlx5_0,port=1,netdev=ens1np0,direction=rx,priority=3}":   21844,
		"rdma_roce_pfc_pause_duration_total{device=mlx5_0,port=1,netdev=ens1np0,direction=tx,priority=3}": 8133120,
		// The virtual function shows its physical function's pause, and its own rest.
		"rdma_roce_pfc_pause_frames_total{device=mlx5_2,port=1,netdev=ens1np0,direction=rx,priority=3}":                                                                                                     21844,
		"rdma_netdev_rx_out_of_buffer_total{device=mlx5_2,port=1,netdev=ens1v0}":                                                                                                                            6,
		"rdma_port_info{device=mlx5_0,port=1,netdev=ens1np0,link_layer=Ethernet,state=ACTIVE,phys_state=LinkUp,link_width=4X,link_speed=400 Gb/sec (4X NDR),pci_addr=0000:18:00.0,is_vf=0}":                 1,
		"rdma_port_info{device=mlx5_2,port=1,netdev=ens1v0,link_layer=Ethernet,state=ACTIVE,phys_state=LinkUp,link_width=4X,link_speed=400 Gb/sec (4X NDR),pci_addr=0000:18:00.2,is_vf=1,pf_device=mlx5_0}": 1,
		"rdma_gid_info{device=mlx5_0,port=1,index=3,gid=0000:0000:0000:0000:0000:ffff:0a01:0203,type=RoCE v2,netdev=ens1np0}":                                                                               1,
		"rdma_gid_info{device=mlx5_0,port=1,index=0,gid=fe80:0000:0000:0000:0e42:a1ff:fe5e:0001}":                                                                                                           1,
		"rdma_pcie_link_info{device=mlx5_0,pci_addr=0000:18:00.0,speed=16.0 GT/s PCIe,width=16,max_speed=32.0 GT/s PCIe,max_width=16,numa_node=0}":                                                          1,
		"rdma_pcie_link_degraded{device=mlx5_0}":                                                                       1,
		"rdma_gpu_distance_info{device=mlx5_0,gpu=0000:19:00.0,distance=PIX}":                                          1,
		"rdma_gpu_distance_info{device=mlx5_0,gpu=0000:98:00.0,distance=SYS}":                                          1,
		"rdma_dcb_pfc_enabled{device=mlx5_0,port=1,netdev=ens1np0,priority=3}":                                         1,
		"rdma_dcb_pfc_enabled{device=mlx5_0,port=1,netdev=ens1np0,priority=2}":                                         0,
		"rdma_fec_info{device=mlx5_0,port=1,netdev=ens1np0,active=RS,configured=auto}":                                 1,
		"rdma_module_temperature_celsius{device=mlx5_0,port=1,netdev=ens1np0}":                                         41,
		"rdma_module_rx_power_nanowatts{device=mlx5_0,port=1,netdev=ens1np0,lane=0}":                                   800000,
		"rdma_user_info{device=mlx5_0,kind=slurm,id=812,step=0}":                                                       1,
		"rdma_user_info{device=mlx5_0,kind=pod,id=0f1a2b3c-0000-1111-2222-333344445555,namespace=train,name=worker-3}": 1,
		"rdma_counter_disabled_info{device=mlx5_0,port=1,counter=cc_tx_cnp_pkts,command=rdma statistic set link mlx5_0/1 optional-counters cc_rx_ce_pkts,cc_rx_cnp_pkts,cc_tx_cnp_pkts}": 1,
		"weir_agent_skipped_total{source=module,reason=EPERM}": 1,
		"weir_agent_scrapes_total{}":                           1,
	})
	for k := range got {
		switch {
		case strings.Contains(k, "unknown_to_all"),
			strings.HasPrefix(k, "rdma_pcie_link_info{device=mlx5_2"), // a virtual function has no link
			strings.HasPrefix(k, "rdma_gid_info{device=mlx5_0,port=1,index=1"),
			strings.HasPrefix(k, "rdma_counter_disabled_info{device=mlx5_0,port=1,counter=cc_rx_ce_pkts"):
			t.Errorf("%s is there", k)
		}
	}
}

const samples = "../../../../shared/samples/nic/"

// recorded reads "name: value" lines of a recorded output.
func recorded(t *testing.T, name string) map[string]uint64 {
	t.Helper()
	f, err := os.Open(samples + name)
	if err != nil {
		t.Skipf("no recorded outputs here: %v", err)
	}
	defer f.Close()
	out := map[string]uint64{}
	for s := bufio.NewScanner(f); s.Scan(); {
		k, v, _ := strings.Cut(s.Text(), ":")
		if n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 64); err == nil {
			out[strings.TrimSpace(k)] = n
		}
	}
	return out
}

// Cards of other makers, as recorded from real ones; the metric of each
// counter is that of the table in shared/operations.md 2.4.
func TestOtherCards(t *testing.T) {
	f := fixture{}
	for file, v := range recorded(t, "hw_counters_bnxt_re.txt") {
		f["sys/class/infiniband/bnxt_re0/ports/1/hw_counters/"+file] = strconv.FormatUint(v, 10)
	}
	for file, v := range recorded(t, "hw_counters_irdma.txt") {
		f["sys/class/infiniband/irdma0/ports/1/hw_counters/"+file] = strconv.FormatUint(v, 10)
	}
	f["sys/class/infiniband/irdma0/ports/1/hw_counters/Nak Sequence Error"] = "8"
	f["sys/class/infiniband/bnxt_re0/device/net/ens3np0/dev_port"] = "0"
	f["sys/class/infiniband/bnxt_re0/ports/1/gid_attrs/ndevs/0"] = "ens3np0"
	k := kernel{stats: map[string]map[string]uint64{"ens3np0": recorded(t, "ethtool_S_bnxt_en.txt")}}
	got := answer(t, New(Options{Root: f.root(t), Kernel: k}))
	expect(t, got, map[string]float64{
		"rdma_packet_seq_err_total{device=bnxt_re0,port=1}":                                                    4211,
		"rdma_local_ack_timeout_err_total{device=bnxt_re0,port=1}":                                             812,
		"rdma_req_transport_retries_exceeded_total{device=bnxt_re0,port=1}":                                    3,
		"rdma_data_packets_total{device=bnxt_re0,port=1,direction=rx}":                                         40112240012,
		"rdma_np_cnp_sent_total{device=irdma0,port=1}":                                                         770119,
		"rdma_rp_cnp_handled_total{device=irdma0,port=1}":                                                      188302,
		"rdma_np_ecn_marked_roce_packets_total{device=irdma0,port=1}":                                          771203,
		"rdma_retransmitted_packets_total{device=irdma0,port=1}":                                               3312,
		"rdma_nak_sequence_error_total{device=irdma0,port=1}":                                                  8,
		"rdma_roce_pfc_pause_frames_total{device=bnxt_re0,port=1,netdev=ens3np0,direction=tx,priority=3}":      1190221,
		"rdma_roce_pfc_pause_duration_total{device=bnxt_re0,port=1,netdev=ens3np0,direction=rx,priority=3}":    91220,
		"rdma_roce_pfc_pause_transitions_total{device=bnxt_re0,port=1,netdev=ens3np0,direction=tx,priority=3}": 595110,
	})
}

// A file that cannot be read is skipped, counted and left alone for a while.
func TestUnreadableFileDoesNotStopTheOthers(t *testing.T) {
	f := mlx5Host()
	now := time.Unix(1e9, 0)
	var mu sync.Mutex
	clock := func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	root := f.root(t)
	dir := "sys/class/infiniband/mlx5_0/ports/1/counters/"
	// A folder answers a read with an error that is not "does not exist", as
	// bnxt does with EINVAL; text and size are refused as well.
	for _, err := range []error{
		root.Mkdir(dir+"port_rcv_errors", 0o755),
		root.WriteFile(dir+"link_downed", []byte("N/A\n"), 0o644),
		root.WriteFile(dir+"symbol_error", bytes.Repeat([]byte("1"), maxFile+1), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	a := New(Options{Root: root, Kernel: mlx5Kernel(), Now: clock})
	for range 3 {
		got := answer(t, a)
		expect(t, got, map[string]float64{
			"rdma_port_rcv_data_total{device=mlx5_0,port=1}":             4096,
			"weir_agent_skipped_total{source=counters,reason=no_number}": 1,
			"weir_agent_skipped_total{source=counters,reason=too_large}": 1,
			"weir_agent_skipped_total{source=counters,reason=other}":     1,
			"weir_agent_source_failures_total{source=counters}":          0,
		})
		mu.Lock()
		now = now.Add(10 * time.Second)
		mu.Unlock()
	}
}

// stuck is a kernel whose ethtool never answers.
type stuck struct {
	kernel
	release chan struct{}
}

func (s stuck) EthtoolStats(string) (map[string]uint64, error) { <-s.release; return nil, nil }

func TestHangingSourceDoesNotHoldTheOthers(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	a := New(Options{Root: mlx5Host().root(t), Kernel: stuck{mlx5Kernel(), release}, Wait: 50 * time.Millisecond})
	for range 2 {
		begin := time.Now()
		got := answer(t, a)
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("an answer took %v", took)
		}
		expect(t, got, map[string]float64{
			"rdma_np_cnp_sent_total{device=mlx5_0,port=1}":     99,
			"weir_agent_source_reads_total{source=ethtool}":    0,
			"weir_agent_source_failures_total{source=ethtool}": 0,
		})
	}
}

func TestSourceSlowsDown(t *testing.T) {
	now := time.Unix(1e9, 0)
	fail := true
	s := &source{name: "x", interval: time.Second, read: func(*collector) error {
		if fail {
			return errors.New("no")
		}
		now = now.Add(2 * time.Second) // an expensive reading
		return nil
	}}
	clock := func() time.Time { return now }
	var waits []time.Duration
	for range 12 {
		<-s.refresh(now, clock)
		waits = append(waits, s.next.Sub(now))
		now = s.next
	}
	s2 := time.Second
	want := []time.Duration{2 * s2, 4 * s2, 8 * s2, 16 * s2, 32 * s2, 64 * s2, 128 * s2, 256 * s2, 512 * s2, 600 * s2, 600 * s2, 600 * s2}
	if d := cmp.Diff(want, waits); d != "" {
		t.Error(d)
	}
	fail = false
	begin := now
	<-s.refresh(now, clock)
	if got := s.next.Sub(begin); got != 40*time.Second {
		t.Errorf("a source of 2 s is read after %v, not 40 s (5 %% of the time)", got)
	}
	if s.refresh(begin.Add(39*time.Second), clock) != nil {
		t.Error("read before its time")
	}
}

func TestHostWithoutCards(t *testing.T) {
	got := answer(t, New(Options{Root: fixture{"proc/1/cgroup": "0::/\n"}.root(t), Kernel: kernel{}}))
	expect(t, got, map[string]float64{"weir_agent_source_failures_total{source=counters}": 1})
	for k := range got {
		if strings.HasPrefix(k, "rdma_") {
			t.Errorf("%s without a card", k)
		}
	}
}

func TestExcludedDeviceIsNotTouched(t *testing.T) {
	for k := range answer(t, New(Options{Root: mlx5Host().root(t), Kernel: mlx5Kernel(), Exclude: []string{"mlx5_0"}})) {
		if strings.Contains(k, "device=mlx5_0") {
			t.Error(k)
		}
	}
}
