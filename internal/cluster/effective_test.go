package cluster

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// roundTripFiles are files of many kinds; the effective file of each must load
// to the same model and print the same again.
var roundTripFiles = map[string]string{
	"empty":    "",
	"explicit": explicitFile,
	"classes": `
name: "true"
hosts:
  - {class: big, count: 2, nic: {count: 2, speed: 100Gbps, rails: {mlx5_3: 1, mlx5_0: 0}}}
  - {count: 1, names: ["007"], gpus: 0, nic: {count: 1, speed: 25Gbps, model: e810}}
fabric: {topology: single-switch}
routing: {hash_seed: 7, hash_fields: [dst_qp]}
`,
	"tiers":         "host: {count: 8, nic: {speed: 100Gbps}}\nfabric: {topology: fat-tree, pods: 2}\nswitch: {model: tomahawk-3, buffer: 12345678, core: {model: jericho-2c-plus}, spine: {latency: 1234567ps}}",
	"planes":        "host: {count: 8, nic: {speed: 200Gbps, ports: 2}}\nfabric: {planes: 2, topology: rail-optimised}",
	"mlag":          "host: {count: 8, nic: {speed: 100Gbps, ports: 2, bond: true, count: 1}}\nfabric: {mlag: true, uplink: {lag: true, count: 2, length: 12.3456m}}",
	"odd values":    "host: {count: 2, nvlink: 1234567bps, nic: {pcie: 123.456Gbps}, cpu: {clock: 2.6666GHz}}\nqos: {ecn: {min: 1234567B, max: 7654321B, probability: 33.3333%}, roce: {share: 0.123456789}}\nswitch: {alpha: 0.0078125, headroom: 98765B}",
	"jobs":          fourLeaves + "jobs: [{collective: all_reduce, placement: random}, {pattern: permutation}, {pattern: incast}, {pattern: list, flows: [{src: host-0, dst: host-1, size: 12345}]}, {pattern: all-pairs, hosts: [host-1, host-0]}]",
	"faults":        fourLeaves + "faults: [{id: pfc-storm, place: \"host-1,host-2\", end: 1ms}, {id: incast, place: fabric, severity: 10%}]\nprices: {switch: 12000.5, currency: EUR}",
	"all transport": "transport: tcp\nrdma: {window: 1MB, recovery: selective-repeat}\nhost: {nic: {model: connectx-7}}\nnccl: {channels: 8, buffsize: 4MiB, protocol: LL128}",
}

func TestEffectiveRoundTrip(t *testing.T) {
	files := map[string]string{}
	for name, text := range roundTripFiles {
		files[name] = text
	}
	examples, err := filepath.Glob("../../examples/*.yaml")
	if err != nil || len(examples) < 4 {
		t.Fatal(examples, err)
	}
	for _, e := range examples {
		text, err := os.ReadFile(e)
		if err != nil {
			t.Fatal(err)
		}
		files[e] = string(text)
	}
	for name, text := range files {
		t.Run(name, func(t *testing.T) {
			f, err := Parse("c.yaml", []byte(text), []string{"seed=5"})
			if err != nil {
				t.Fatal(err)
			}
			printed := f.Effective()
			again, err := Parse("effective.yaml", printed, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, printed)
			}
			if d := cmp.Diff(f.Cluster, again.Cluster); d != "" {
				t.Errorf("the printed file loads to another model:\n%s\n%s", d, printed)
			}
			strip := func(b []byte) string {
				var out []string
				for _, l := range strings.Split(string(b), "\n") {
					l, _, _ = strings.Cut(l, "  #")
					out = append(out, l)
				}
				return strings.Join(out, "\n")
			}
			if d := cmp.Diff(strip(printed), strip(again.Effective())); d != "" {
				t.Errorf("printed twice, it differs:\n%s", d)
			}
		})
	}
}

// Each default says where it comes from.
func TestEffectiveOrigins(t *testing.T) {
	f, err := Parse("c.yaml", []byte("host: {nic: {speed: 100Gbps}}\n"), []string{"qos.ecn.min=10KB"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"    speed: 100Gbps\n",
		"    model: connectx-6-dx  # default\n",
		"    latency: 600ns  # catalogue: connectx-6-dx\n",
		"    min: 10KB  # --set qos.ecn.min=10KB\n",
		"    max: 1600KB  # computed: 400KB for each 25Gbps of the slowest NIC\n",
		"  headroom: auto  # default\n",
		"  rp_time_reset: 300us  # default\n",
		"  rp_byte_reset: 0B  # default\n",
	} {
		if !bytes.Contains(f.Effective(), []byte(want)) {
			t.Errorf("no line %q in\n%s", want, f.Effective())
		}
	}
}

// The effective file of a small cluster, whole.
func TestEffectiveGolden(t *testing.T) {
	f, err := Parse("c.yaml", []byte("host: {count: 2, gpus: 1, nic: {speed: 100Gbps}}\nfabric: {topology: single-switch}\njob: {collective: broadcast, size: 1M}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "testdata/effective.yaml", f.Effective())
}

// golden compares with a file, which WEIR_UPDATE=1 rewrites.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if os.Getenv("WEIR_UPDATE") != "" {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (WEIR_UPDATE=1 go test rewrites it):\n%s", file, d)
	}
}

func TestDocuments(t *testing.T) {
	golden(t, "../../docs/cluster.md", Reference())
	golden(t, "../../docs/cluster.schema.json", Schema())
	golden(t, "../../docs/transports.md", TransportReference())
}
