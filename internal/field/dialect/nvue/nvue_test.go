package nvue

import (
	"bytes"
	"strings"
	"testing"

	"weir/internal/field/dialect"
	"weir/internal/field/dialect/dialecttest"
	"weir/internal/qos"
	"weir/units"
)

func parse(t testing.TB, text string) *dialect.Reading {
	t.Helper()
	r, err := Parse(strings.NewReader(text), "startup.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestForms(t *testing.T) { dialecttest.Forms(t, grammar) }

// Expected values from samples/switch/index.yaml, cumulus_nvue_roce_set.txt.
func TestSample(t *testing.T) {
	r := parse(t, string(dialecttest.Sample(t, "samples/switch/cumulus_nvue_roce_set.txt")))
	dialecttest.NoUnknown(t, r)
	if len(r.Device.Ports) != 32 {
		t.Fatalf("%d ports, want 32", len(r.Device.Ports))
	}
	p := dialecttest.Port(t, r.Device, "swp32")
	if p.Priority(26) != 3 || p.Priority(48) != 6 || p.Queue(26) != 3 || p.Queue(48) != 6 || !p.Lossless(26) || p.Lossless(48) {
		t.Errorf("DSCP 26: %d, queue %d, lossless %v; 48: %d, queue %d", p.Priority(26), p.Queue(26), p.Lossless(26), p.Priority(48), p.Queue(48))
	}
	if q := p.Queues[3]; q.ECN != qos.On || q.Min != 400_000 || q.Max != 1_600_000 || q.Probability != 0.8 || q.Share != 0.5 {
		t.Errorf("queue 3: %+v", q)
	}
	if p.Queues[6].Strict != qos.On || p.Trust != qos.TrustBoth || p.MTU != 9216 || p.CableLength != 100 {
		t.Errorf("queue 6 %v, trust %v, MTU %d, cable %v", p.Queues[6].Strict, p.Trust, p.MTU, p.CableLength)
	}
	if p.Watchdog != qos.On || p.WatchdogDetect != units.Second || p.WatchdogRestore != 200*units.Millisecond {
		t.Errorf("watchdog %v %v %v, want on after 5 x 200 ms", p.Watchdog, p.WatchdogDetect, p.WatchdogRestore)
	}
}

const commands = `cumulus@leaf7:mgmt:~$ nv config show -o commands
nv set system hostname leaf7
nv set system aaa user admin hashed-password '$6$TOPSECRET'
nv set frobnicate password hunter2hunter2
nv set qos traffic-pool default-lossless memory-percent 70
nv set qos mapping STORAGE trust l3
nv set qos mapping STORAGE dscp 10,12-13 switch-priority 5
nv set qos mapping default-global trust port
nv set qos mapping default-global port-default-sp 2
nv set qos egress-queue-mapping default-global switch-priority 5 traffic-class 4
nv set qos egress-scheduler WIDE traffic-class 4,5 mode dwrr
nv set qos egress-scheduler WIDE traffic-class 4,5 bw-percent 30
nv set qos egress-scheduler WIDE traffic-class 7 mode strict
nv set qos congestion-control MARK traffic-class 4 min-threshold-bytes 30000
nv set qos congestion-control MARK traffic-class 4 max-threshold-bytes 150000
nv set qos congestion-control MARK traffic-class 4 probability 25
nv set qos congestion-control MARK traffic-class 5 ecn disable
nv set qos congestion-control MARK traffic-class 5 red enable
nv set qos pfc NODROP switch-priority 5,6
nv set qos pfc NODROP xoff-threshold 20000
nv set qos pfc NODROP xon-threshold 4000
nv set qos pfc NODROP port-buffer 25000
nv set qos pfc NODROP cable-length 30
nv set qos pfc DEAF switch-priority 3
nv set qos pfc DEAF rx disable
nv set qos advance-buffer-config default-global ingress-lossless-buffer shared-alpha alpha_1_4
nv set qos remark default-global rewrite l3
nv set interface swp1-2,swp9 link mtu 4500
nv set interface swp1-2 link speed 400G
nv set interface swp1 qos mapping profile STORAGE
nv set interface swp1 qos pfc profile NODROP
nv set interface swp1 qos congestion-control profile MARK
nv set interface swp1 qos egress-scheduler profile WIDE
nv set interface swp1 qos pfc-watchdog
nv set interface swp2 qos pfc profile DEAF
nv set interface swp9 qos pfc profile GONE
nv set interface bond1 bond member swp30
nv set interface swp9 qos frob 3
nv config apply
`

func TestCommands(t *testing.T) {
	r := parse(t, commands)
	if r.Device.Name != "leaf7" || len(r.Device.Ports) != 3 {
		t.Fatalf("device %q with %d ports", r.Device.Name, len(r.Device.Ports))
	}
	var lost []string
	for _, n := range r.NotUnderstood {
		lost = append(lost, n.Text)
	}
	if got := strings.Join(lost, "; "); got != "frobnicate password <redacted>; interface swp9 qos frob 3" {
		t.Errorf("not understood: %s", got)
	}
	p := dialecttest.Port(t, r.Device, "swp1")
	if p.Trust != qos.TrustDSCP || p.Priority(12) != 5 || p.Queue(13) != 4 || !p.Lossless(10) || p.Priority(26) != 3 || p.MTU != 4500 || p.Speed != 400*units.Gbps {
		t.Errorf("trust %v, 12 -> %d, queue of 13 %d, lossless 10 %v, 26 -> %d, MTU %d, speed %v", p.Trust, p.Priority(12), p.Queue(13), p.Lossless(10), p.Priority(26), p.MTU, p.Speed)
	}
	if q := p.Queues[4]; q.Min != 30000 || q.Max != 150000 || q.Probability != 0.25 || q.ECN != qos.On || q.Share != 0.3 || q.Strict != qos.Off {
		t.Errorf("queue 4: %+v", q)
	}
	if q := p.Queues[5]; q.ECN != qos.Off || q.WRED != qos.On || p.Reasons["ecn.5"] == "" {
		t.Errorf("queue 5: %+v", q)
	}
	if p.Queues[7].Strict != qos.On || p.Queues[0].ECN != qos.Unset {
		t.Errorf("queue 7 %v, queue 0 %v: a profile of its own starts empty", p.Queues[7].Strict, p.Queues[0].ECN)
	}
	if in := p.Ingress[5]; in.XOFF != 20000 || in.XON != 16000 || in.Reserved != 25000 || in.Alpha != 0.25 || p.CableLength != 30 {
		t.Errorf("ingress of 5: %+v, cable %v", in, p.CableLength)
	}
	if p.Watchdog != qos.On || p.WatchdogDetect != 300*units.Millisecond {
		t.Errorf("watchdog %v %v, want the default of 3 x 100 ms", p.Watchdog, p.WatchdogDetect)
	}
	two := dialecttest.Port(t, r.Device, "swp2")
	if two.PFC != qos.Off || two.PFCMask != 1<<3 || !strings.Contains(two.Reasons["pfc"], "not honoured") || two.Trust != qos.TrustNone || two.Priority(26) != 2 {
		t.Errorf("swp2: PFC %v %08b %q, trust %v, 26 -> %d", two.PFC, two.PFCMask, two.Reasons["pfc"], two.Trust, two.Priority(26))
	}
	if nine := dialecttest.Port(t, r.Device, "swp9"); nine.PFC != qos.Off || !strings.Contains(nine.Reasons["pfc"], "no priority") {
		t.Errorf("swp9: PFC %v %v", nine.PFC, nine.Reasons)
	}
}

// The tree of the guide's first RoCE command, in YAML and in JSON, means what
// the command does; later statements change it.
const tree = `- header:
    model: SN5600
    nvue-api-version: nvue_v1
    rev-id: 1.0
    version: Cumulus Linux 5.9.1
- set:
    interface:
      eth0:
        type: eth
      swp1-4:
        link:
          mtu: 9000
        qos:
          pfc-watchdog:
            state: enable
        type: swp
    qos:
      congestion-control:
        default-global:
          traffic-class:
            '3':
              min-threshold: 20000
              probability: 10
      pfc:
        default-global:
          switch-priority:
            '2': {}
      roce:
        enable: on
        mode: lossless-single-ipool
    system:
      hostname: leaf9
`

const treeJSON = `[{"header": {"nvue-api-version": "nvue_v1"}}, {"set": {
 "interface": {"eth0": {"type": "eth"}, "swp1-4": {"link": {"mtu": 9000}, "qos": {"pfc-watchdog": {"state": "enable"}}, "type": "swp"}},
 "qos": {"congestion-control": {"default-global": {"traffic-class": {"3": {"min-threshold": 20000, "probability": 10}}}},
  "pfc": {"default-global": {"switch-priority": {"2": {}}}},
  "roce": {"enable": "on", "mode": "lossless-single-ipool"}},
 "system": {"hostname": "leaf9"}}}]`

func TestTrees(t *testing.T) {
	for name, text := range map[string]string{"yaml": tree, "json": treeJSON} {
		r := parse(t, text)
		dialecttest.NoUnknown(t, r)
		if r.Device.Name != "leaf9" || len(r.Device.Ports) != 4 {
			t.Errorf("%s: device %q with %d ports", name, r.Device.Name, len(r.Device.Ports))
			continue
		}
		p := dialecttest.Port(t, r.Device, "swp4")
		if q := p.Queues[3]; q.Min != 20000 || q.Max != 1_500_000 || q.Probability != 0.1 || q.ECN != qos.On {
			t.Errorf("%s: queue 3 %+v", name, q)
		}
		if p.PFCMask != 1<<2 || p.PFC != qos.On || p.MTU != 9000 || p.Watchdog != qos.On || p.PriorityToQueue != [8]uint8{0, 0, 0, 3, 0, 0, 6, 0} {
			t.Errorf("%s: PFC %08b, MTU %d, watchdog %v, queues %v", name, p.PFCMask, p.MTU, p.Watchdog, p.PriorityToQueue)
		}
	}
	if p := dialecttest.Port(t, parse(t, tree).Device, "swp1"); p.Lines["mtu"] != 12 || p.Lines["ecn.3"] != 23 {
		t.Errorf("lines of the YAML tree: mtu %d, ecn.3 %d, want 12, 23", p.Lines["mtu"], p.Lines["ecn.3"])
	}
}

func TestUnset(t *testing.T) {
	r := parse(t, "nv set qos roce mode lossless\nnv set interface swp1 link mtu 9000\nnv unset qos roce\n")
	if p := r.Device.Ports[0]; p.PFC != qos.Off || p.Trust != qos.TrustPCP || p.Queues[3].ECN != qos.Unset || p.Queues[0].Min != 150_000 {
		t.Errorf("after unset: PFC %v, trust %v, queue 3 %v, queue 0 %+v", p.PFC, p.Trust, p.Queues[3].ECN, p.Queues[0])
	}
}

func TestScore(t *testing.T) {
	for _, own := range []string{commands, tree} {
		if s := Score([]byte(own)); s < 60 {
			t.Errorf("own configuration scores %d", s)
		}
	}
	if s := Score([]byte("interface Ethernet1/1\n  mtu 9216\n")); s > 0 {
		t.Errorf("another system scores %d", s)
	}
}

func FuzzParse(f *testing.F) {
	dialecttest.Fuzz(f, func(text []byte) (*dialect.Reading, error) { return Parse(bytes.NewReader(text), "f") }, commands, tree, treeJSON)
}
