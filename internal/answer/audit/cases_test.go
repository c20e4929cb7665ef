package audit_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/answer/audit"
	"weir/internal/cluster"
	"weir/internal/field/dialect/dialecttest"
)

// found lists findings as "cause setting ports", sorted.
func found(r *audit.Result) []string {
	var out []string
	for i := range r.Findings {
		f := &r.Findings[i]
		out = append(out, strings.TrimSpace(f.Cause+" "+f.Setting+" "+f.Port))
	}
	slices.Sort(out)
	return out
}

func want(t *testing.T, r *audit.Result, list ...string) {
	t.Helper()
	slices.Sort(list)
	if got := found(r); !slices.Equal(got, list) {
		t.Errorf("found\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(list, "\n  "))
	}
}

// The sample was made wrong on purpose in the ways that its index lists.
func TestDriftSample(t *testing.T) {
	text := string(dialecttest.Sample(t, "samples/switch/nxos_roce_drift.cfg"))
	f, err := cluster.Parse("c.yaml", []byte(`
host: {names: [gpu01, gpu02, gpu03], count: 3, gpus: 1, nic: {count: 1, speed: 100Gbps}}
fabric:
  topology: explicit
  switches: [{name: leaf-0, os: nxos, model: tomahawk-4}]
  links:
    - {a: gpu01/nic-0, b: leaf-0/Ethernet1/1}
    - {a: gpu02/nic-0, b: leaf-0/Ethernet1/2}
    - {a: gpu03/nic-0, b: leaf-0/Ethernet1/3}
qos:
  cnp: {priority: 7}
  ecn: {min: 950KB, max: 3000KB, probability: 7%}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := run(t, f.Cluster, map[string]string{"leaf-0.cfg": text})
	want(t, r,
		"roce-in-default-priority dscp.26 Ethernet1/1,Ethernet1/3", // only 24 is matched
		"wred-drops-before-pfc ecn.3 Ethernet1/1,Ethernet1/2,Ethernet1/3",
		"mtu-mismatch mtu.3 Ethernet1/1,Ethernet1/2,Ethernet1/3", // of the network-qos class
		"mtu-mismatch mtu Ethernet1/2",
		"roce-in-default-priority trust Ethernet1/2", // no qos policy
		"dcbx-not-converged pfc Ethernet1/2",         // mode auto
		"pfc-storm watchdog Ethernet1/1,Ethernet1/2", // neither there nor for the switch
		"pfc-storm watchdog Ethernet1/3",             // there, but not for the switch
	)
	if r.PathsChecked != 0 || r.PathsTotal != 6 {
		t.Errorf("%d of %d paths, want 0 of 6: no host has evidence", r.PathsChecked, r.PathsTotal)
	}
	// In the order of need, with the line that shows each.
	f0 := &r.Findings[0]
	if f0.Severity.String() != "critical" || len(f0.Evidence) == 0 || f0.Evidence[0].Line == 0 {
		t.Errorf("first finding %+v", f0)
	}
	// The sample that is right is right.
	right := strings.Replace(string(dialecttest.Sample(t, "samples/switch/nxos_roce.cfg")), "interface Ethernet1/1", "interface Ethernet1/1-3", 1)
	want(t, run(t, f.Cluster, map[string]string{"leaf-0.cfg": right}))
}

func TestWrongVendorsFile(t *testing.T) {
	s := systems[0]
	c := plan(t, s, "")
	r := run(t, c, map[string]string{"leaf-0.cfg": strings.ReplaceAll(base(t, "eos"), "Ethernet2/1", "Ethernet1/2")})
	want(t, r, "unknown system")
	f := &r.Findings[0]
	if f.Expected != "nxos" || f.Found != "eos" || f.Port != "" {
		t.Errorf("%+v", f)
	}
}

func TestDevicesWithoutEvidence(t *testing.T) {
	s := systems[0]
	r := run(t, plan(t, s, ""), map[string]string{"leaf-0.cfg": base(t, "nxos"), "spine-9.cfg": strings.ReplaceAll(base(t, "nxos"), "leaf-0", "spine-9")})
	var gaps []string
	for _, g := range r.NotChecked {
		gaps = append(gaps, g.Device+" "+g.What)
	}
	for _, w := range []string{"h1 everything: no evidence", "h2 everything: no evidence", "spine-9 everything: the plan has no switch of this name"} {
		if !slices.Contains(gaps, w) {
			t.Errorf("gaps %q lack %q", gaps, w)
		}
	}
	// A port that the configuration does not have.
	r = run(t, plan(t, s, ""), map[string]string{"leaf-0.cfg": strings.ReplaceAll(base(t, "nxos"), "Ethernet1/2", "Ethernet1/9")})
	if !slices.ContainsFunc(r.NotChecked, func(g audit.Gap) bool { return g.Device == "leaf-0" && g.Port == "Ethernet1/2" }) {
		t.Errorf("gaps %+v lack the missing port", r.NotChecked)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	s := systems[0]
	secret := "hunter2hunter2"
	text := base(t, "nxos") + "snmp-server community " + secret + " ro\nflarp password " + secret + "\n"
	text = strings.Replace(text, "  description to h1 nic-0\n", "  description to h1 nic-0\n  frobnicate key "+secret+"\n  mtu 1500\n", 1)
	r := run(t, plan(t, s, ""), map[string]string{"leaf-0.cfg": text})
	if len(r.NotUnderstood) == 0 {
		t.Error("nothing was kept as not understood")
	}
	if s := fmt.Sprintf("%+v", r); strings.Contains(s, secret) {
		t.Error("a secret is in the result")
	}
}

// LLDP tells that two cables are swapped.
func TestCablesAgainstPlan(t *testing.T) {
	c := plan(t, systems[4], "")
	lldp := `admin@leaf-0:~$ show lldp table
Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice    RemotePortID    Capability    RemotePortDescr
-----------  --------------  --------------  ------------  -----------------
Ethernet0    h2              mlx5_0          O             eth2
Ethernet4    h1              mlx5_0          O             eth2
`
	r := run(t, c, map[string]string{"leaf-0.json": base(t, "sonic"), "leaf-0/lldp.txt": lldp})
	want(t, r, "cabling-wrong cable Ethernet0", "cabling-wrong cable Ethernet4")
	if f := &r.Findings[0]; f.Expected != "h1/mlx5_0" || f.Found != "h2/mlx5_0" {
		t.Errorf("found %q, expected %q", f.Found, f.Expected)
	}
	right := strings.NewReplacer("h2  ", "h1  ", "h1  ", "h2  ").Replace(lldp)
	want(t, run(t, c, map[string]string{"leaf-0.json": base(t, "sonic"), "leaf-0/lldp.txt": right}))
}

// A fault on every device names one to begin with.
func TestCanary(t *testing.T) {
	broken := strings.Replace(base(t, "setup"), "--pfc 0,0,0,1,0,0,0,0", "--pfc 0,0,0,0,0,0,0,0", 1)
	r := run(t, plan(t, systems[0], ""), map[string]string{"leaf-0.cfg": base(t, "nxos"), "h1/setup.sh": broken, "h2/setup.sh": broken})
	want(t, r, "pfc-not-enabled-on-path pfc mlx5_0", "pfc-not-enabled-on-path pfc mlx5_0")
	if !r.Findings[0].Canary || r.Findings[1].Canary || r.Findings[0].Device != "h1" {
		t.Errorf("canaries %v (%s), %v", r.Findings[0].Canary, r.Findings[0].Device, r.Findings[1].Canary)
	}
}

// Snippets as articles have them, judged although they belong to no host.
func TestSnippets(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       string // cause, setting
	}{
		{"misspelt option", "Run\n\n    mlnx_qos -i eth0 --turstdscp\n", "env-typo --turstdscp"},
		{"option run together", "$ mlnx_qos -i eth0 --trustdscp\n", "env-typo --trustdscp"},
		{"missing =", "export NCCL_IB_TC 106\n", "env-typo NCCL_IB_TC"},
		{"missing = of mlxconfig", "mlxconfig -d 0000:03:00.0 set ROCE_CC_PRIO_MASK_P1 255\n", "env-typo ROCE_CC_PRIO_MASK_P1"},
		{"missing = of sysctl", "sysctl -w net.ipv4.conf.all.arp_ignore 1\n", "env-typo net.ipv4.conf.all.arp_ignore"},
		{"range of priorities", "interface Ethernet1\n   priority-flow-control priority 3-4 no-drop\n", "pfc-on-all-priorities priority"},
		{"numbers for switches", "mlnx_qos -i eth0 --pfc 3\n", "pfc-not-enabled-on-path --pfc"},
		{"traffic class as service level", "export NCCL_IB_SL=106\n", "roce-in-default-priority NCCL_IB_SL"},
		{"code point as traffic class", "export NCCL_IB_TC=26\n", "roce-in-default-priority NCCL_IB_TC"},
		{"timeout as a mode", "export NCCL_IB_TIMEOUT=1   # enable\n", "nccl-tuning NCCL_IB_TIMEOUT"},
		{"rdma:// as init method", "torch.distributed.init_process_group('nccl', init_method='rdma://10.0.0.1:23456')\n", "env-typo init_method"},
		{"service level of perftest", "ib_write_bw -d mlx5_0 --sl 106 10.0.0.1\n", "roce-in-default-priority --sl"},
		{"-T without -R", "ib_write_bw -d mlx5_0 -T 106 10.0.0.1\n", "roce-in-default-priority -T"},
		{"PFC on all priorities", "mlnx_qos -i eth0 --pfc 1,1,1,1,1,1,1,1\n", "pfc-on-all-priorities pfc"},
		{"code point to connections", "cma_roce_tos -d mlx5_0 -t 26\n", "roce-in-default-priority traffic_class"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, plan(t, systems[0], ""), map[string]string{"article.md": c.text})
			if len(r.Findings) != 1 {
				t.Fatalf("%d findings:\n%s", len(r.Findings), list(r))
			}
			f := &r.Findings[0]
			if got := f.Cause + " " + f.Setting; got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if !strings.HasSuffix(f.Device, "article.md") || f.Evidence[0].Line == 0 || f.Consequence == "" {
				t.Errorf("%+v", f)
			}
		})
	}
	r := run(t, plan(t, systems[0], ""), map[string]string{"article.md": "Set\n\n    mlnx_qos -i eth0 --trust=dscp\n    mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0\n    cma_roce_tos -d mlx5_0 -t 106\n    export NCCL_IB_TC=106\n"})
	want(t, r)
}

// Two classes in one queue, and whatever else parsers keep in maps: a text says
// the same each time that it is read.
func TestSameTextSameAnswer(t *testing.T) {
	for _, s := range systems {
		text := base(t, s.name)
		if s.name == "junos" {
			text = strings.Replace(text, "class CNP queue-num 3;", "class CNP queue-num 4;", 1)
		}
		first := ""
		for range 5 {
			got := list(run(t, plan(t, s, ""), map[string]string{s.file: text}))
			if first == "" {
				first = got + " "
			}
			if got+" " != first {
				t.Fatalf("%s:\n%s\nthen\n%s", s.name, first, got)
			}
		}
	}
}
