package nxos

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
	r, err := Parse(strings.NewReader(text), "test.cfg")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestForms(t *testing.T) { dialecttest.Forms(t, grammar) }

// Expected values from samples/switch/index.yaml, nxos_roce.cfg.
func TestSampleRoCE(t *testing.T) {
	r := parse(t, string(dialecttest.Sample(t, "samples/switch/nxos_roce.cfg")))
	dialecttest.NoUnknown(t, r)
	p := dialecttest.Port(t, r.Device, "Ethernet1/1")
	if p.PFC != qos.On || p.PFCMask != 1<<3 {
		t.Errorf("PFC %v %08b, want on for 3", p.PFC, p.PFCMask)
	}
	for d := uint8(0); d < 64; d++ {
		wantPrio, wantQueue, lossless := uint8(0), uint8(0), false
		switch {
		case d >= 24 && d <= 31:
			wantPrio, wantQueue, lossless = 3, 3, true
		case d == 48:
			wantPrio, wantQueue = 7, 7
		}
		if p.Priority(d) != wantPrio || p.Queue(d) != wantQueue || p.Lossless(d) != lossless {
			t.Errorf("DSCP %d: priority %d, queue %d, lossless %v", d, p.Priority(d), p.Queue(d), p.Lossless(d))
		}
	}
	if q := p.Queues[3]; q.ECN != qos.On || q.Min != 950_000 || q.Max != 3_000_000 || q.Probability != 0.07 || q.Averaging != 0 || q.Share != 0.5 {
		t.Errorf("queue 3: %+v", q)
	}
	if q := p.Queues[7]; q.Strict != qos.On {
		t.Errorf("queue 7: %+v", q)
	}
	if p.MTU != 9216 || p.FrameLimit(26) != 9216 {
		t.Errorf("MTU %d, RoCE %d", p.MTU, p.FrameLimit(26))
	}
	if p.Watchdog != qos.On {
		t.Errorf("watchdog %v", p.Watchdog)
	}
}

// Expected values from samples/switch/index.yaml, nxos_roce_drift.cfg: wrong
// on purpose.
func TestSampleDrift(t *testing.T) {
	r := parse(t, string(dialecttest.Sample(t, "samples/switch/nxos_roce_drift.cfg")))
	dialecttest.NoUnknown(t, r)
	one, two, three := dialecttest.Port(t, r.Device, "Ethernet1/1"), dialecttest.Port(t, r.Device, "Ethernet1/2"), dialecttest.Port(t, r.Device, "Ethernet1/3")

	if !one.Lossless(24) || one.Lossless(26) || one.Queue(26) != 0 {
		t.Errorf("RoCE is DSCP 24 only: lossless 24 %v, 26 %v, queue of 26 %d", one.Lossless(24), one.Lossless(26), one.Queue(26))
	}
	if q := one.Queues[3]; q.ECN != qos.Off || q.WRED != qos.On || one.Reasons["ecn.3"] == "" || one.Lines["ecn.3"] != 17 {
		t.Errorf("queue 3 without the word ecn drops: %+v, line %d", q, one.Lines["ecn.3"])
	}
	if one.MTU != 9216 || one.FrameLimit(24) != 1500 || one.Lines["mtu.3"] != 22 {
		t.Errorf("network-qos MTU: port %d, RoCE %d, line %d", one.MTU, one.FrameLimit(24), one.Lines["mtu.3"])
	}
	if one.Watchdog != qos.Off || !strings.Contains(one.Reasons["watchdog"], "neither") {
		t.Errorf("port 1 watchdog %v: %s", one.Watchdog, one.Reasons["watchdog"])
	}
	if three.Watchdog != qos.Off || !strings.Contains(three.Reasons["watchdog"], "not for the switch") {
		t.Errorf("port 3 watchdog %v: %s", three.Watchdog, three.Reasons["watchdog"])
	}
	if two.PFC != qos.Unset || two.PFCMode != "auto" || two.MTU != 1500 || two.Trust != qos.TrustNone || two.Queue(24) != 0 || two.Lossless(24) {
		t.Errorf("port 2: PFC %v %q, MTU %d, trust %v, queue of 24 %d, lossless %v", two.PFC, two.PFCMode, two.MTU, two.Trust, two.Queue(24), two.Lossless(24))
	}
}

// own is another switch: four queues, storage on CoS, names of classes, a
// port-channel, input queues, and secrets.
const own = `!Command: show running-config
!Time: Mon Mar  2 10:11:12 2026
version 10.3(4a) Bios:version 05.50
hostname spine-b7
vdc spine-b7 id 1
  limit-resource vlan minimum 16 maximum 4094
feature lldp
username admin password 5 $5$TOPSECRET$hash  role network-admin
snmp-server community hunter2hunter2 group network-operator
frobnicate community hunter2hunter2
class-map type qos match-all STORAGE
  match cos 4
class-map type qos match-any RDMA
  description training
  match dscp af31,cs4
class-map type queuing RDMA-Q
  match qos-group 2
class-map type network-qos RDMA-NQ
  match qos-group 2
class-map type network-qos STORAGE-NQ
  match qos-group 1
policy-map type qos IN
  class RDMA
    set qos-group 2
    set dscp 26
  class STORAGE
    set qos-group 1
policy-map type queuing OUT
  class type queuing RDMA-Q
    bandwidth percent 70
    random-detect minimum-threshold 200 bytes maximum-threshold 4 mbytes drop-probability 100 weight 3 cap-average ecn
  class type queuing c-out-q1
    bandwidth percent 20
    random-detect threshold burst-optimized
  class type queuing c-out-q-default
    bandwidth percent 10
policy-map type queuing INQ
  class type queuing c-in-q2
    pause buffer-size 101920 pause-threshold 46800 resume-threshold 34320
policy-map type network-qos NQ
  class type network-qos RDMA-NQ
    mtu 4200
    pause pfc-cos 5
  class type network-qos STORAGE-NQ
    pause no-drop
  class type network-qos class-default
    mtu 9216
system qos
  service-policy type qos input IN
  service-policy type network-qos NQ
  service-policy type queuing input INQ
  service-policy type queuing output OUT
priority-flow-control watch-dog-interval on
priority-flow-control watch-dog shutdown-multiplier 2
interface port-channel12
  mtu 9000
  priority-flow-control mode on
interface Ethernet1/31
  speed 400000
  flowcontrol receive on
  channel-group 12 mode active
  priority-flow-control watch-dog-interval on
interface Ethernet1/32
  no priority-flow-control mode
interface Vlan10
  mtu 1500
  ip address 192.0.2.1/24
router bgp 65000
  neighbor 192.0.2.2
    password 3 abcdef
`

func TestOwnConfiguration(t *testing.T) {
	r := parse(t, own)
	if r.Device.Name != "spine-b7" || r.Device.System != "nxos" || len(r.Device.Ports) != 3 {
		t.Fatalf("device %q %q with %d ports", r.Device.Name, r.Device.System, len(r.Device.Ports))
	}
	if len(r.NotUnderstood) != 1 || r.NotUnderstood[0].Text != "frobnicate community <redacted>" || r.NotUnderstood[0].Origin.Line != 10 {
		t.Errorf("not understood: %+v", r.NotUnderstood)
	}
	p := dialecttest.Port(t, r.Device, "Ethernet1/31")
	if p.Trust != qos.TrustBoth || p.PFCMask != 1<<5|1<<4 || p.PFC != qos.On {
		t.Errorf("trust %v, PFC %v %08b", p.Trust, p.PFC, p.PFCMask)
	}
	// qos-group 2 pauses CoS 5, qos-group 1 the CoS that its class matches.
	if p.Priority(26) != 5 || p.Priority(32) != 5 || p.Queue(26) != 2 || p.PriorityToQueue[5] != 2 || p.PriorityToQueue[4] != 1 || p.PCPToPriority[4] != 4 {
		t.Errorf("priorities: 26 -> %d, 32 -> %d, queue %d, of priority %v, PCP %v", p.Priority(26), p.Priority(32), p.Queue(26), p.PriorityToQueue, p.PCPToPriority)
	}
	if p.MTU != 9000 || p.FrameLimit(26) != 4200 || p.Speed != 400*units.Gbps || p.GlobalPauseRx != qos.On || p.GlobalPauseTx != qos.Unset {
		t.Errorf("MTU %d, RoCE %d, speed %v, pause %v %v", p.MTU, p.FrameLimit(26), p.Speed, p.GlobalPauseRx, p.GlobalPauseTx)
	}
	if q := p.Queues[2]; q.Min != 200 || q.Max != 4_000_000 || q.Probability != 1 || q.Averaging != 3 || q.ECN != qos.On || q.Share != 0.7 {
		t.Errorf("queue 2: %+v", q)
	}
	if q := p.Queues[1]; q.ECN != qos.Off || q.WRED != qos.On || q.Raw.Unit != "burst-optimized" {
		t.Errorf("queue 1: %+v", q)
	}
	if in := p.Ingress[5]; in.Reserved != 101920 || in.XOFF != 46800 || in.XON != 34320 || in.Headroom != 101920-46800 {
		t.Errorf("ingress of priority 5: %+v", in)
	}
	if p.Watchdog != qos.On || p.WatchdogDetect != 200*units.Millisecond || p.WatchdogRestore != units.Second {
		t.Errorf("watchdog %v %v %v", p.Watchdog, p.WatchdogDetect, p.WatchdogRestore)
	}
	last := dialecttest.Port(t, r.Device, "Ethernet1/32")
	if last.PFCMode != "auto" || last.MTU != 1500 || last.Watchdog != qos.Off {
		t.Errorf("port 32: %q, MTU %d, watchdog %v", last.PFCMode, last.MTU, last.Watchdog)
	}
}

// The same statements without indentation, as pasted into a ticket, and
// typed at a prompt, mean the same.
func TestPastedForms(t *testing.T) {
	want := parse(t, own)
	flat := regexpLines(own, func(l string) string { return strings.TrimSpace(l) })
	typed := regexpLines(own, func(l string) string {
		if strings.HasPrefix(l, "!") {
			return l
		}
		return "spine-b7(config-x)# " + strings.TrimSpace(l)
	})
	crlf := strings.ReplaceAll(own, "\n", "\r\n")
	for name, text := range map[string]string{"flat": flat, "typed": typed, "crlf": crlf} {
		got := parse(t, text)
		if len(got.Device.Ports) != len(want.Device.Ports) {
			t.Errorf("%s: %d ports, want %d", name, len(got.Device.Ports), len(want.Device.Ports))
			continue
		}
		for i := range want.Device.Ports {
			a, b := got.Device.Ports[i], want.Device.Ports[i]
			a.Lines, a.Reasons, b.Lines, b.Reasons = nil, nil, nil, nil
			if a.Queues != b.Queues || a.DSCPToPriority != b.DSCPToPriority || a.PFCMask != b.PFCMask || a.MTU != b.MTU || a.Watchdog != b.Watchdog {
				t.Errorf("%s: port %s differs:\n%+v\n%+v", name, a.Name, a, b)
			}
		}
	}
}

func regexpLines(text string, f func(string) string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = f(lines[i])
	}
	return strings.Join(lines, "\n")
}

func TestInterfaceRange(t *testing.T) {
	r := parse(t, "interface Ethernet1/1-4\n  mtu 9216\n  priority-flow-control mode off\n")
	if len(r.Device.Ports) != 4 || r.Device.Ports[3].Name != "Ethernet1/4" || r.Device.Ports[3].MTU != 9216 || r.Device.Ports[0].PFC != qos.Off {
		t.Errorf("ports %d: %+v", len(r.Device.Ports), r.Device.Ports)
	}
}

// A policy that the text does not hold leaves the classes open.
func TestMissingPolicies(t *testing.T) {
	r := parse(t, "interface Ethernet1/1\n  service-policy type qos input GONE\n  service-policy type queuing output GONE2\n")
	p := &r.Device.Ports[0]
	if p.Trust != qos.TrustUnknown || p.Priority(26) != qos.Undefined || !strings.Contains(p.Reasons["trust"], "GONE") || !strings.Contains(p.Reasons["schedule"], "GONE2") {
		t.Errorf("trust %v, priority %d, %v", p.Trust, p.Priority(26), p.Reasons)
	}
}

// A class of a queue whose number another class pauses has no priority.
func TestQueueAgainstPriority(t *testing.T) {
	r := parse(t, `class-map type qos match-any A
  match dscp 26
class-map type qos match-any B
  match dscp 48
policy-map type qos P
  class A
    set qos-group 3
  class B
    set qos-group 4
policy-map type network-qos N
  class type network-qos c-8q-nq3
    pause pfc-cos 4
system qos
  service-policy type network-qos N
interface Ethernet1/1
  priority-flow-control mode on
  service-policy type qos input P
`)
	p := &r.Device.Ports[0]
	if p.Priority(26) != 4 || p.Queue(26) != 3 || !p.Lossless(26) {
		t.Errorf("RoCE: priority %d, queue %d, lossless %v", p.Priority(26), p.Queue(26), p.Lossless(26))
	}
	if p.Priority(48) != qos.Undefined || p.Queue(48) != 4 || p.Lossless(48) {
		t.Errorf("CNP: priority %d, queue %d, lossless %v", p.Priority(48), p.Queue(48), p.Lossless(48))
	}
}

func TestScore(t *testing.T) {
	if s := Score([]byte(own)); s < 80 {
		t.Errorf("own configuration scores %d", s)
	}
	for _, other := range []string{"", "hello\n", "{\"PORT\": {}}", "qos profile X\n   qos trust dscp\n!\n", "nv set qos roce\n"} {
		if s := Score([]byte(other)); s > 30 {
			t.Errorf("%q scores %d", other, s)
		}
	}
}

func FuzzParse(f *testing.F) {
	dialecttest.Fuzz(f, func(text []byte) (*dialect.Reading, error) { return Parse(bytes.NewReader(text), "f") }, own, "interface Ethernet1/1-4\n mtu 9216\n")
}

// BenchmarkParse reads a switch with 512 ports of ten lines each.
func BenchmarkParse(b *testing.B) {
	var text strings.Builder
	text.WriteString(own)
	for i := range 512 {
		text.WriteString("interface Ethernet1/" + string(rune('0'+i/100)) + string(rune('0'+i/10%10)) + string(rune('0'+i%10)) + "\n")
		text.WriteString("  description to a host\n  no switchport\n  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n  mtu 9216\n  service-policy type qos input IN\n  ip address 192.0.2.1/31\n  no shutdown\n")
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := Parse(strings.NewReader(text.String()), "x"); err != nil {
			b.Fatal(err)
		}
	}
}
