package audit_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/answer/audit"
	"weir/internal/answer/render"
	"weir/internal/cluster"
	"weir/internal/field/dialect"
)

// renderTo writes the files of a cluster below a directory.
func renderTo(t testing.TB, c *cluster.Cluster) string {
	t.Helper()
	files, err := render.Files(c)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range files {
		p := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(f.Body), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What weir render writes for the 64x8 example is what weir audit wants, on
// every system.
func TestRenderedExample(t *testing.T) {
	text, err := os.ReadFile("../../../examples/pod-64x8.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range systems {
		t.Run(s.name, func(t *testing.T) {
			set := []string{"switch.os=" + s.name, "switch.model=" + s.model}
			if !long() {
				set = append(set, "host.count=4", "host.gpus=2", "host.nic.count=2", "fabric.leaves=2", "fabric.spines=2")
			}
			f, err := cluster.Parse("pod-64x8.yaml", text, set)
			if err != nil {
				t.Fatal(err)
			}
			dir := renderTo(t, f.Cluster)
			r := runPath(t, f.Cluster, dir)
			if len(r.Findings) > 0 {
				t.Errorf("findings:\n%s", list(r))
			}
			if r.PathsTotal == 0 || r.PathsChecked != r.PathsTotal {
				t.Errorf("%d of %d paths checked", r.PathsChecked, r.PathsTotal)
			}
			if len(r.NotChecked) > 0 {
				t.Errorf("not checked: %+v", first(r.NotChecked))
			}
			for _, n := range r.NotUnderstood {
				t.Errorf("not understood: %+v", n)
			}
		})
	}
}

func long() bool { return os.Getenv("WEIR_LONG") != "" }

func first(gaps []audit.Gap) []audit.Gap { return gaps[:min(len(gaps), 6)] }

// Faults of one device of a rendered cluster: its file comes from a plan that
// differs in one setting.
var settings = []struct {
	fault   string
	set     []string
	cause   string
	setting string
	not     string // systems that cannot express it, or whose files do not say it
}{
	{"code point moved", []string{"qos.roce.dscp=24"}, "roce-in-default-priority", "dscp.26", ""},
	{"class moved", []string{"qos.roce.priority=4"}, "pfc-priority-mismatch", "pfc", ""},
	{"PFC off", []string{"qos.pfc=false"}, "pfc-not-enabled-on-path", "pfc", ""},
	{"no marking", []string{"qos.ecn.enabled=false"}, "ecn-not-configured", "ecn", ""},
	{"marking late", []string{"qos.ecn.min=10MB", "qos.ecn.max=20MB"}, "ecn-threshold-too-high", "ecn", ""},
	{"marking early", []string{"qos.ecn.min=1MB", "qos.ecn.max=2MB"}, "ecn-threshold-too-low", "ecn", ""},
	{"marking rarely", []string{"qos.ecn.probability=1%"}, "ecn-threshold-too-high", "ecn", "onyx"},
	{"no watchdog", []string{"qos.watchdog.enabled=false"}, "pfc-storm", "watchdog", "vrp"},
	{"small frames", []string{"qos.mtu=1024", "qos.port_mtu=1500"}, "mtu-mismatch", "mtu", ""},
	{"notifications by another code point", []string{"qos.cnp.dscp=46"}, "cnp-in-wrong-queue", "dscp.48", ""},
	{"notifications with a share", []string{"qos.cnp.strict=false", "qos.cnp.share=5%"}, "cnp-in-wrong-queue", "schedule.6", ""},
	{"RoCE starved", []string{"qos.roce.share=10%"}, "switch-config-not-applied", "schedule.3", ""},
	{"no headroom", []string{"switch.headroom=1KB"}, "headroom-too-small", "ingress.3", "nxos eos nvue onyx junos"},
}

func smallPod(t testing.TB, s system, set ...string) *cluster.Cluster {
	t.Helper()
	text := "host: {count: 4, gpus: 1, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}\nfabric: {topology: leaf-spine, leaves: 2, spines: 1}\n" +
		"switch: {model: " + s.model + ", os: " + s.name + "}\nqos: {ecn: {min: 4MB, max: 8MB}}\n"
	f, err := cluster.Parse("c.yaml", []byte(text), set)
	if err != nil {
		t.Fatal(err)
	}
	return f.Cluster
}

func TestRenderedMutations(t *testing.T) {
	for i, s := range systems {
		t.Run(s.name, func(t *testing.T) {
			c := smallPod(t, s)
			for k, m := range settings {
				if strings.Contains(m.not, s.name) || !long() && (i+k)%2 == 1 { // half of them where time is short
					continue
				}
				t.Run(m.fault, func(t *testing.T) {
					dir := t.TempDir()
					for _, f := range leafFiles(t, smallPod(t, s, m.set...)) {
						if err := os.WriteFile(filepath.Join(dir, "leaf-1"+f.Suffix), []byte(f.Body), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					alone(t, runPath(t, c, dir), "leaf-1", m.cause, m.setting)
				})
			}
		})
	}
}

// leafFiles renders leaf-1.
func leafFiles(t *testing.T, c *cluster.Cluster) []dialect.Text {
	t.Helper()
	for id := range c.Nodes {
		if c.Nodes[id].Name == "leaf-1" {
			files, err := render.Switch(c, cluster.NodeID(id))
			if err != nil {
				t.Fatal(err)
			}
			return files
		}
	}
	t.Fatal("no leaf-1")
	return nil
}

// alone wants findings of one kind on one device: one, or one for each statement
// that says the same (the MTU of the port and that of its class).
func alone(t *testing.T, r *audit.Result, device, cause, setting string) {
	t.Helper()
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Device != device || f.Cause != cause || f.Setting != setting && !strings.HasPrefix(f.Setting, setting+".") {
			t.Errorf("%s of %s on %s, want %s of %s on %s alone:\n%s", f.Cause, f.Setting, f.Device, cause, setting, device, list(r))
			return
		}
	}
	if len(r.Findings) == 0 {
		t.Errorf("not found: %s of %s", cause, setting)
	}
}

// The same faults, in the words of each driver's own tool. Where the tool is
// there, what the kernel's tool would set instead does not count.
func TestRenderedVendorTools(t *testing.T) {
	for _, m := range []struct{ model, speed, fault, old, new, cause, setting string }{
		{"thor2", "100Gbps", "", "", "", "", ""},
		{"thor2", "100Gbps", "PFC on another priority", `--pfc --enable "$ROCE_PRIORITY"`, "--pfc --enable 4", "pfc-priority-mismatch", "pfc"},
		{"thor2", "100Gbps", "RoCE in another priority", "${PRIORITY_OF_DSCP[d]},5,$d", "0,5,$d", "roce-in-default-priority", "dscp.26"},
		{"thor2", "100Gbps", "shares", `--tcbw "$BANDWIDTH_LIST"`, "--tcbw 60,0,0,50", "switch-config-not-applied", "ets"},
		{"pollara-400", "100Gbps", "", "", "", "", ""},
		{"pollara-400", "100Gbps", "trust", "--classification-type dscp", "--classification-type pcp", "roce-in-default-priority", "trust"},
		{"pollara-400", "100Gbps", "PFC on another priority", `--priority "$i" --no-drop "$nodrop"`, "--priority 4 --no-drop enable", "pfc-priority-mismatch", "pfc"},
		{"pollara-400", "100Gbps", "link pause", "--pause-type pfc", "--pause-type link", "global-pause-throttle", "pause"},
		{"pollara-400", "100Gbps", "RoCE in another priority", `--dscp "$d" --priority "${PRIORITY_OF_DSCP[d]}"`, `--dscp "$d" --priority 0`, "roce-in-default-priority", "dscp.26"},
		{"e810", "100Gbps", "", "", "", "", ""},
	} {
		t.Run(m.model+" "+m.fault, func(t *testing.T) {
			c := smallPod(t, systems[0], "host.nic.model="+m.model, "host.nic.speed="+m.speed)
			dir := renderTo(t, c)
			if m.fault == "" {
				if r := runPath(t, c, dir); len(r.Findings) > 0 || r.PathsChecked != r.PathsTotal {
					t.Errorf("%d of %d paths; findings:\n%s", r.PathsChecked, r.PathsTotal, list(r))
				}
				return
			}
			name := filepath.Join(dir, "hosts", "host-2", "roce-setup.sh")
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(b), m.old, m.new)
			if text == string(b) {
				t.Fatalf("%q does not stand in the script", m.old)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			r := runPath(t, c, dir)
			if !slices.ContainsFunc(r.Findings, func(f audit.Finding) bool {
				return f.Device == "host-2" && f.Cause == m.cause && strings.HasPrefix(f.Setting, m.setting)
			}) {
				t.Errorf("%s of %s is not among\n%s", m.cause, m.setting, list(r))
			}
		})
	}
}

// Faults in the rendered files of one host.
func TestRenderedHostMutations(t *testing.T) {
	c := smallPod(t, systems[0])
	for _, m := range []struct{ fault, file, old, new, cause, setting string }{
		{"PFC on another priority", "roce-setup.sh", "PFC=(0 0 0 1 0 0 0 0)", "PFC=(0 0 0 0 1 0 0 0)", "pfc-priority-mismatch", "pfc"},
		{"PFC on all priorities", "roce-setup.sh", "PFC=(0 0 0 1 0 0 0 0)", "PFC=(1 1 1 1 1 1 1 1)", "pfc-on-all-priorities", "pfc"},
		{"PFC off", "roce-setup.sh", "PFC=(0 0 0 1 0 0 0 0)", "PFC=(0 0 0 0 0 0 0 0)", "pfc-not-enabled-on-path", "pfc"},
		{"trust pcp", "roce-setup.sh", "--trust dscp", "--trust pcp", "roce-in-default-priority", "trust"},
		{"traffic class", "roce-setup.sh", "TRAFFIC_CLASS=106", "TRAFFIC_CLASS=96", "roce-in-default-priority", "traffic_class"},
		{"CNP code point", "roce-setup.sh", " CNP_DSCP=48", " CNP_DSCP=46", "cnp-in-wrong-queue", "cnp_dscp"},
		{"shares", "roce-setup.sh", "BANDWIDTH=(50 0 0 50", "BANDWIDTH=(60 0 0 50", "switch-config-not-applied", "ets"},
		{"MTU", "roce-setup.sh", `"$interface" 9000`, `"$interface" 1500`, "mtu-small", "mtu"},
		{"never cut", "roce-setup.sh", "rp_min_dec_fac=50", "rp_min_dec_fac=100", "congestion-control-off", "dcqcn.min_dec_fac"},
		{"link pause", "roce-setup.sh", "rx off tx off", "rx on tx on", "global-pause-throttle", "pause"},
		{"library's class", "nccl.env", "NCCL_IB_TC=106", "NCCL_IB_TC=26", "roce-in-default-priority", "NCCL_IB_TC"},
		{"card of another name", "nccl.env", "NCCL_IB_HCA==mlx5_0", "NCCL_IB_HCA==mlx5_7", "ib-hca-selection-wrong", "NCCL_IB_HCA"},
		{"retries", "nccl.env", "NCCL_IB_RETRY_CNT=7", "NCCL_IB_RETRY_CNT=0", "nccl-tuning", "NCCL_IB_RETRY_CNT"},
		{"library's class in a pod", "pod.yaml", `NCCL_IB_TC, value: "106"`, `NCCL_IB_TC, value: "26"`, "roce-in-default-priority", "NCCL_IB_TC"},
		{"name", "nccl.env", "NCCL_IB_TIMEOUT=20", "NCCL_IB_TIMOUT=20", "env-typo", "NCCL_IB_TIMOUT"},
	} {
		t.Run(m.fault, func(t *testing.T) {
			dir := renderTo(t, c)
			name := filepath.Join(dir, "hosts", "host-2", m.file)
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ReplaceAll(string(b), m.old, m.new)
			if list, ok := strings.CutPrefix(m.old, "PFC=("); ok { // the same as a list
				text = strings.ReplaceAll(text, commas(list), commas(strings.TrimPrefix(m.new, "PFC=(")))
			}
			if list, ok := strings.CutPrefix(m.old, "BANDWIDTH=("); ok {
				text = strings.ReplaceAll(text, commas(list), commas(strings.TrimPrefix(m.new, "BANDWIDTH=(")))
			}
			if text == string(b) {
				t.Fatalf("%q does not stand in %s", m.old, m.file)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			alone(t, runPath(t, c, dir), "host-2", m.cause, m.setting)
		})
	}
}

func commas(list string) string { return strings.ReplaceAll(strings.TrimSuffix(list, ")"), " ", ",") }
