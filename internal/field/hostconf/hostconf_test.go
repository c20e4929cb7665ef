package hostconf

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/cluster"
	"weir/internal/field/intended"

	"github.com/goccy/go-yaml"
)

func files(t *testing.T, text string, set ...string) map[string]string {
	t.Helper()
	f, err := cluster.Parse("c.yaml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	d, err := intended.Host(f.Cluster, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.Host(0, d)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range list {
		out[f.Name] = f.Body
	}
	return out
}

const two = `
host: {count: 2, gpus: 2, nic: {model: connectx-7, speed: 100Gbps}}
fabric: {topology: single-switch}
`

// TestScriptsParse has bash read the script of every driver.
func TestScriptsParse(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	for _, model := range []string{"connectx-7", "thor2", "e810", "pollara-400"} {
		f := files(t, two, "host.nic.model="+model)
		cmd := exec.Command(bash, "-n")
		cmd.Stdin = strings.NewReader(f["roce-setup.sh"])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", model, err, out)
		}
		if check, err := exec.LookPath("shellcheck"); err == nil {
			cmd := exec.Command(check, "-")
			cmd.Stdin = strings.NewReader(f["roce-setup.sh"])
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: shellcheck: %s", model, out)
			}
		}
	}
}

// run runs a host's script on a tree of files with tools that write down how
// they were called.
func run(t *testing.T, times int, script string, driver string, tools ...string) (calls []string, root string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	root = t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		p := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range []string{"0", "1"} {
		dev, netdev := driver+n, "eth"+n
		write("sys/class/infiniband/"+dev+"/ports/1/gid_attrs/ndevs/0", netdev+"\n", 0o644)
		write("sys/class/infiniband/"+dev+"/tc/1/traffic_class", "", 0o644)
		bdf := "0000:1" + n + ":00.0"
		write("sys/devices/"+bdf+"/vendor", "", 0o644)
		if err := os.Symlink("../../../devices/"+bdf, filepath.Join(root, "sys/class/infiniband", dev, "device")); err != nil {
			t.Fatal(err)
		}
		write("sys/class/net/"+netdev+"/mtu", []string{"1500", "9000"}[i]+"\n", 0o644)
		write("sys/kernel/debug/mlx5/"+bdf+"/cc_params/rp_ai_rate", "99\n", 0o644)
		write("sys/kernel/debug/mlx5/"+bdf+"/cc_params/np_cnp_dscp", "0\n", 0o644)
		write("proc/sys/net/ipv4/conf/"+netdev+"/rp_filter", "1\n", 0o644)
	}
	for _, s := range []string{"arp_ignore", "arp_announce", "rp_filter"} {
		write("proc/sys/net/ipv4/conf/all/"+s, "0\n", 0o644)
	}
	for _, tool := range append(tools, "ip", "ethtool", "cma_roce_tos") {
		write("bin/"+tool, "#!/bin/sh\necho \"$(basename \"$0\") $*\" >>\"$WEIR_ROOT/calls\"\n", 0o755)
	}
	for _, tool := range []string{"cat", "basename", "readlink", "grep", "mkdir", "rmdir", "sh"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Skip(tool + " is not installed")
		}
		if err := os.Symlink(path, filepath.Join(root, "bin", tool)); err != nil {
			t.Fatal(err)
		}
	}
	for range times {
		cmd := exec.Command(bash, "-s")
		cmd.Env = []string{"PATH=" + filepath.Join(root, "bin"), "WEIR_ROOT=" + root, "GATEWAY_RAIL_1=10.1.255.254"}
		cmd.Stdin = strings.NewReader(script)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	text, err := os.ReadFile(filepath.Join(root, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), root
}

func wantCalls(t *testing.T, calls []string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !slices.Contains(calls, w) {
			t.Errorf("no call %q among\n%s", w, strings.Join(calls, "\n"))
		}
	}
}

// The forms of the commands are those of operations guides: mlnx_qos and
// traffic class 106 as in NVIDIA's RoCE guides.
func TestScriptMLX5(t *testing.T) {
	calls, root := run(t, 2, files(t, two)["roce-setup.sh"], "mlx5_", "mlnx_qos") // it may run again
	wantCalls(t, calls,
		"mlnx_qos -i eth0 --trust dscp",
		"mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0",
		"mlnx_qos -i eth0 --dscp2prio set,24,0",
		"mlnx_qos -i eth0 --prio_tc 0,1,2,3,4,5,6,7 --tsa ets,strict,strict,ets,strict,strict,strict,strict --tcbw 50,0,0,50,0,0,0,0",
		"mlnx_qos -i eth1 --cable_len 5",
		"cma_roce_tos -d mlx5_1 -p 1 -t 106",
		"ip link set dev eth0 mtu 9000",
		"ip address replace 10.1.0.1/16 dev eth1",
		"ip rule add from 10.0.0.1 table 1000 priority 1000",
		"ip route replace default via 10.1.255.254 dev eth1 table 1001",
		"ethtool -A eth0 rx off tx off",
	)
	for _, c := range calls {
		if strings.Contains(c, "set,26,") || strings.Contains(c, "set,48,") {
			t.Errorf("%s: the firmware's map has that already", c)
		}
		if c == "ip link set dev eth1 mtu 9000" {
			t.Errorf("%s: eth1 has it", c)
		}
	}
	for name, want := range map[string]string{
		"sys/class/infiniband/mlx5_0/tc/1/traffic_class":           "106",
		"sys/kernel/debug/mlx5/0000:11:00.0/cc_params/rp_ai_rate":  "5",
		"sys/kernel/debug/mlx5/0000:10:00.0/cc_params/np_cnp_dscp": "48",
		"proc/sys/net/ipv4/conf/eth1/rp_filter":                    "2",
		"proc/sys/net/ipv4/conf/all/arp_ignore":                    "1",
	} {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || strings.TrimSpace(string(got)) != want {
			t.Errorf("%s: %q %v, want %s", name, got, err, want)
		}
	}
}

// Without the vendor's tool the kernel's own is used.
func TestScriptDCB(t *testing.T) {
	calls, _ := run(t, 1, files(t, two)["roce-setup.sh"], "mlx5_", "dcb")
	wantCalls(t, calls,
		"dcb pfc set dev eth0 prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off",
		"dcb ets set dev eth1 prio-tc 0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7 tc-tsa 0:ets 1:strict 2:strict 3:ets 4:strict 5:strict 6:strict 7:strict tc-bw 0:50 1:0 2:0 3:50 4:0 5:0 6:0 7:0",
	)
	found := false
	for _, c := range calls {
		found = found || strings.HasPrefix(c, "dcb app replace dev eth0 dscp-prio 0:0 ") && strings.Contains(c, " 26:3 ") && strings.Contains(c, " 48:6 ")
	}
	if !found {
		t.Error("no map of code points")
	}
}

func TestScriptOthers(t *testing.T) {
	calls, _ := run(t, 1, files(t, two, "host.nic.model=thor2")["roce-setup.sh"], "bnxt_re_", "niccli")
	wantCalls(t, calls, "niccli --dev 0000:10:00.0 qos --pfc --enable 3", "niccli --dev 0000:10:00.0 qos --apptlv --add --app 6,5,48")
	calls, _ = run(t, 1, files(t, two, "host.nic.model=pollara-400")["roce-setup.sh"], "ionic_", "nicctl")
	wantCalls(t, calls, "nicctl update qos --classification-type dscp", "nicctl update qos dscp-to-priority --dscp 26 --priority 3",
		"nicctl update qos pfc --priority 3 --no-drop enable", "nicctl update qos scheduling --priority 0,3,6 --dwrr 50,50,0 --rate-limit 0,0,0")
	calls, _ = run(t, 1, files(t, two, "host.nic.model=e810")["roce-setup.sh"], "irdma_", "dcb")
	wantCalls(t, calls, "ethtool --set-priv-flags eth0 fw-lldp-agent off", "dcb pfc set dev eth0 prio-pfc 0:off 1:off 2:off 3:on 4:off 5:off 6:off 7:off")
}

func TestNCCL(t *testing.T) {
	env := files(t, two, "rdma.qps_per_connection=4", "rdma.timeout=22", "host.nic.devices=[mlx5_2, mlx5_10]")["nccl.env"]
	for _, want := range []string{"\nNCCL_IB_HCA==mlx5_2,mlx5_10\n", "\nNCCL_IB_TC=106\n", "\nNCCL_IB_TIMEOUT=22\n", "\nNCCL_IB_QPS_PER_CONNECTION=4\n", "\nNCCL_IB_ADDR_FAMILY=AF_INET\n", "\nNCCL_IB_ADDR_RANGE=10.0.0.0/15\n"} {
		if !strings.Contains(env, want) {
			t.Errorf("no line %q in\n%s", want, env)
		}
	}
	if strings.Contains(env, "\nNCCL_IB_GID_INDEX") {
		t.Error("the GID index is pinned")
	}
	lines := strings.Split(strings.TrimSpace(env), "\n")
	for i, l := range lines {
		if !strings.HasPrefix(l, "#") && !strings.HasPrefix(lines[i-1], "#") {
			t.Errorf("%s has no reason", l)
		}
	}
}

func TestPodIsYAML(t *testing.T) {
	var pod struct {
		Kind string `yaml:"kind"`
		Spec struct {
			Containers []struct {
				Resources struct {
					Limits map[string]int `yaml:"limits"`
				} `yaml:"resources"`
				Security struct {
					Capabilities struct {
						Add []string `yaml:"add"`
					} `yaml:"capabilities"`
				} `yaml:"securityContext"`
			} `yaml:"containers"`
		} `yaml:"spec"`
	}
	if err := yaml.Unmarshal([]byte(files(t, two)["pod.yaml"]), &pod); err != nil {
		t.Fatal(err)
	}
	c := pod.Spec.Containers[0]
	if pod.Kind != "Pod" || c.Resources.Limits["rdma/roce"] != 2 || c.Resources.Limits["nvidia.com/gpu"] != 2 || !slices.Contains(c.Security.Capabilities.Add, "IPC_LOCK") {
		t.Errorf("%+v", pod)
	}
}

// Addresses of the file: the smallest network of hosts that holds those of a rail.
func TestNetworks(t *testing.T) {
	f, err := cluster.Parse("c.yaml", []byte(`
host: {count: 2, gpus: 1, nic: {model: connectx-7, addresses: [192.168.4.1, 192.168.4.6]}}
fabric: {topology: single-switch}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if nets, err := networks(f.Cluster); err != nil || nets[0].Masked().String() != "192.168.4.0/29" {
		t.Errorf("%v %v, want 192.168.4.0/29", nets, err)
	}
}
