package setup_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/field/setup"
)

// facts lists what a text sets as "subject key value".
func facts(r *setup.Result) []string {
	var out []string
	for _, f := range r.Facts {
		out = append(out, fmt.Sprintf("%s %s %s", f.Subject, f.Key, f.Value))
	}
	return out
}

func TestScript(t *testing.T) {
	r := setup.Read(`#!/usr/bin/env bash
set -eu
tc=${TC:-106}
of() { ls "/sys/class/infiniband/$1/device/net" | head -1; }
mark() {
  mlnx_qos -i "$(of "$1")" --trust dscp
  echo "$tc" | sudo tee /sys/class/infiniband/$1/tc/1/traffic_class
}
for dev in mlx5_0 mlx5_1; do
  mark "$dev"
  if [ "$(cat /sys/class/infiniband/$dev/tc/1/traffic_class)" != "Global tclass=$tc" ]; then
    cma_roce_tos -d $dev -t 106
  else
    cma_roce_tos -d $dev -t 0
  fi
done
sudo sysctl -w net.ipv4.conf.all.arp_ignore=1
NCCL_IB_TC=106 NCCL_IB_QPS_PER_CONNECTION=4
`, "roce.sh", "h1")
	got := facts(r)
	for _, w := range []string{
		"h1/mlx5_0 qos.trust dscp", "h1/mlx5_1 qos.trust dscp",
		"h1/mlx5_0 roce.traffic_class 106", "h1/mlx5_1 roce.dscp 26",
		"h1/mlx5_0 roce.cma.dscp 26",
		"h1 sysctl.net.ipv4.conf.all.arp_ignore 1",
		"h1 nccl.env.NCCL_IB_TC 106", "h1 nccl.env.NCCL_IB_QPS_PER_CONNECTION 4",
	} {
		if !slices.Contains(got, w) {
			t.Errorf("%q is missing among\n%s", w, strings.Join(got, "\n"))
		}
	}
	if slices.Contains(got, "h1/mlx5_0 roce.cma.tos 0") {
		t.Error("the way that undoes what is set was followed")
	}
	if len(r.Mistakes) > 0 {
		t.Errorf("mistakes %+v", r.Mistakes)
	}
}

func TestDCB(t *testing.T) {
	got := facts(setup.Read("dcb pfc set dev ens1 prio-pfc all:off 3:on\ndcb app add dev ens1 dscp-prio AF31:3 CS6:6\ndcb ets set dev ens1 willing off tc-tsa all:ets 6:strict tc-bw 0:50 3:50 prio-tc all:0 3:3\n", "x", ""))
	for _, w := range []string{"ens1 qos.pfc.enabled 3", "ens1 qos.dscp.26.priority 3", "ens1 qos.dscp.48.priority 6", "ens1 qos.tc.6.tsa strict", "ens1 qos.tc.3.bandwidth 50", "ens1 qos.priority.3.tc 3", "ens1 qos.ets.willing false"} {
		if !slices.Contains(got, w) {
			t.Errorf("%q is missing among\n%s", w, strings.Join(got, "\n"))
		}
	}
}

// The cards' own tools, as Broadcom's and AMD's guides write their commands.
func TestVendorTools(t *testing.T) {
	for text, want := range map[string][]string{
		"niccli --dev ens1 qos --ets --tsa 0:ets,3:ets,6:strict --up2tc 0:0,3:3 --tcbw 50,0,0,50\n": {
			"ens1 qos.tc.6.tsa strict", "ens1 qos.priority.3.tc 3", "ens1 qos.tc.3.bandwidth 50"},
		"niccli -i 1 set_ets tsa 0:ets,1:ets,2:strict priority2tc 0:0,3:1,7:2 tcbw 50,50\n": {
			"1 qos.priority.7.tc 2", "1 qos.tc.2.tsa strict", "1 qos.tc.1.bandwidth 50"},
		"niccli --dev ens1 qos --pfc --enable 3\n":              {"ens1 qos.pfc.enabled 3"},
		"niccli -dev ens1 pfc -enable 3\n":                      {"ens1 qos.pfc.enabled 3"},
		"niccli --dev ens1 qos --apptlv --add --app 3,5,26\n":   {"ens1 qos.dscp.26.priority 3", "ens1 qos.trust dscp"},
		"niccli -dev ens1 apptlv -add -app 7,5,48\n":            {"ens1 qos.dscp.48.priority 7", "ens1 qos.trust dscp"},
		"niccli --dev ens1 qos --apptlv --add --app 3,3,4791\n": nil, // a UDP port
		"niccli --dev ens1 qos --apptlv --del --app 3,5,26\n":   nil,
		"niccli --dev ens1 qos --ets --show\n":                  nil,
		"niccli -dev ens1 getqos\n":                             nil,
		"nicctl update qos --classification-type pcp\n":         {" qos.trust pcp"},
		"nicctl update qos dscp-to-priority --dscp 24-26 --priority 3\n": {
			" qos.dscp.24.priority 3", " qos.dscp.25.priority 3", " qos.dscp.26.priority 3"},
		"nicctl update qos pfc --priority 3 --no-drop enable\nnicctl update qos pfc --priority 4 --no-drop enable\nnicctl update qos pfc --priority 4 --no-drop disable\n": {
			" qos.pfc.enabled 3", " qos.pfc.enabled 3,4"},
		"nicctl update qos scheduling --priority 0,3,6 --dwrr 50,50,0 --rate-limit 0,0,10\n": {
			" qos.tc.3.bandwidth 50", " qos.tc.6.tsa strict"},
		"nicctl update port --all --pause-type link --rx-pause enable --tx-pause disable\n": {" pause.rx true", " pause.tx false"},
		"nicctl update port --all --pause-type pfc --rx-pause enable\n":                     {" pause.rx false"},
		"nicctl show qos\n": nil,
	} {
		got := facts(setup.Read(text, "x", ""))
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("%q is missing of %s among %q", w, text, got)
			}
		}
		if want == nil && len(got) > 0 {
			t.Errorf("%s sets %q", text, got)
		}
	}
}

func TestNearestOption(t *testing.T) {
	for text, want := range map[string]string{
		"mlnx_qos -i e --turstdscp":           "--trust=dscp",
		"mlnx_qos -i e --trustdscp":           "--trust=dscp",
		"mlnx_qos -i e --turst=dscp":          "--trust",
		"mlnx_qos -i e --pcf 0,0,0,1,0,0,0,0": "--pfc",
		"mlnx_qos -i e --dscp2pro set,26,3":   "--dscp2prio",
		"mlnx_qos -i e --frobnicate 1":        "an option of mlnx_qos",
	} {
		r := setup.Read(text+"\n", "x", "")
		if len(r.Mistakes) != 1 || r.Mistakes[0].Expected != want {
			t.Errorf("%s: %+v, want %s", text, r.Mistakes, want)
		}
	}
}

func TestManifests(t *testing.T) {
	for _, text := range []string{
		"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n    - env:\n        - {name: NCCL_IB_TC, value: \"106\"}\n        - name: NCCL_IB_HCA\n          value: =mlx5_0\n",
		"[Unit]\nDescription=x\n[Service]\nEnvironment=\"NCCL_IB_TC=106\"\nEnvironment=NCCL_IB_HCA==mlx5_0\n",
	} {
		r, ok := setup.Manifest(text, "x", "h1")
		if got := facts(r); !ok || !slices.Equal(got, []string{"h1 nccl.env.NCCL_IB_TC 106", "h1 nccl.env.NCCL_IB_HCA =mlx5_0"}) {
			t.Errorf("%v %q", ok, got)
		}
	}
	if _, ok := setup.Manifest("hostname x\n", "x", ""); ok {
		t.Error("a configuration is taken for a manifest")
	}
}

func TestProseIsNoSetup(t *testing.T) {
	for _, text := range []string{"The switch sends pause on priority 3.\n", "hostname leaf-0\ninterface Ethernet1/1\n", "NCCL WARN something\n"} {
		if setup.Is(text) {
			t.Errorf("taken for set-up commands: %q", text)
		}
	}
}

// A function that calls itself, and loops within loops, end.
func TestEndlessScriptsEnd(t *testing.T) {
	setup.Read("#!/bin/sh\nf() { f; f; mlnx_qos -i e --trust dscp; }\nf\n", "x", "")
	words := strings.Repeat("a ", 4000)
	r := setup.Read("#!/bin/sh\nfor a in "+words+"; do for b in "+words+"; do mlnx_qos -i $a --trust dscp; done; done\n", "x", "")
	if len(r.Facts) > 20_000 {
		t.Errorf("%d facts", len(r.Facts))
	}
}

// The deepest nesting that the bound on a text allows is no danger.
func TestDeepNesting(t *testing.T) {
	for _, open := range []string{"(", "if ", "$(", "((", "f() ", "${a:-", "((-", "a | ", "[[ ! ", "<("} {
		setup.Read("#!/bin/sh\n"+strings.Repeat(open, (setup.MaxText-20)/len(open)), "x", "")
	}
}

func FuzzRead(f *testing.F) {
	f.Add("#!/bin/sh\nfor d in a b; do mlnx_qos -i $d --pfc 0,0,0,1,0,0,0,0 --trust=dscp; done\n")
	f.Add("f() { f; }; f; echo 1 > /sys/class/net/e/ecn/roce_np/enable/3\n")
	f.Add("dcb ets set dev e tc-bw all:12\nip link set e mtu 9000\nethtool -A e rx off\nmlxconfig -d x set A_B 1\nsysctl -w a.b 1\n")
	f.Add("niccli --dev e qos --ets --tsa 0:ets --up2tc 0:0 --tcbw 50,50\nnicctl update qos dscp-to-priority --dscp 0-63 --priority 3\n")
	f.Add("x=$(ls infiniband/$1) ib_write_bw --sl 106 -T 5 rdma://x priority 3-4\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := setup.Read(text, "x", "h")
		lines := 1 + strings.Count(text, "\n")
		for _, x := range r.Facts {
			if x.Origin.Line < 1 || x.Origin.Line > lines {
				t.Fatalf("line %d of %d: %+v", x.Origin.Line, lines, x)
			}
		}
		setup.Manifest(text, "x", "h")
		for _, m := range r.Mistakes {
			if m.Line < 1 || m.Line > lines || m.Explanation == "" {
				t.Fatalf("%+v of %d lines", m, lines)
			}
		}
	})
}
