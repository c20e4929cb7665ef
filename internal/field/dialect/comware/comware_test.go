package comware

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

// Expected values from samples/switch/index.yaml, h3c_roce.cfg.
func TestSample(t *testing.T) {
	r := parse(t, string(dialecttest.Sample(t, "samples/switch/h3c_roce.cfg")))
	dialecttest.NoUnknown(t, r)
	p := dialecttest.Port(t, r.Device, "HundredGigE1/0/1")
	if p.PFC != qos.On || p.PFCMask != 1<<5 || p.DSCPToPriority[26] != 5 || p.DSCPToPriority[48] != 6 || !p.Lossless(26) || p.Queue(26) != 5 {
		t.Errorf("PFC %v %08b, 26 -> %d, 48 -> %d, lossless %v, queue %d", p.PFC, p.PFCMask, p.DSCPToPriority[26], p.DSCPToPriority[48], p.Lossless(26), p.Queue(26))
	}
	if q := p.Queues[5]; q.ECN != qos.On || q.Raw != (qos.Raw{Min: 1000, Max: 2000, Unit: "cells"}) || q.Probability != 0.2 || q.Averaging != 0 {
		t.Errorf("queue 5: %+v", q)
	}
	if p.Queues[6].Strict != qos.On || p.Watchdog != qos.On || p.Ingress[5].Raw.Max != 491 || p.MTU != 9216-18 || p.Speed != 100*units.Gbps {
		t.Errorf("queue 6 %v, watchdog %v, ingress %+v, MTU %d, speed %v", p.Queues[6].Strict, p.Watchdog, p.Ingress[5], p.MTU, p.Speed)
	}
}

const own = `#
 version 7.1.070, Release 6710
#
 sysname gpu-leaf-2
#
 snmp-agent community read cipher $c$3$TOPSECRET==
 blorb secret hunter2hunter2
#
priority-flow-control enable
priority-flow-control no-drop dot1p 3
priority-flow-control deadlock cos 3 interval 10
priority-flow-control deadlock auto-recover cos 3 delay 12
priority-flow-control deadlock auto-recover action discard
#
qos map-table dot1p-lp
 import 0 export 0
 import 1 to 2 export 1
#
qos wred queue table T400
 queue 3 drop-level 0 low-limit 6000 high-limit 12000 discard-probability 40
 queue 3 drop-level 1 low-limit 1 high-limit 2
 queue 3 ecn
 queue 3 weighting-constant 2
 queue 4 drop-level 0 low-limit 10 high-limit 20
#
interface FourHundredGigE1/0/17
 port link-mode route
 mtu 9000
 priority-flow-control deadlock enable
 priority-flow-control dot1p 3 headroom 9000
 qos trust dscp
 qos wfq byte-count
 qos wfq af3 group 1 byte-count 96
 qos wfq cs6 group sp
 qos wred apply T400
 flow-control receive enable
#
interface TwoHundredGigE1/0/18:1
 undo priority-flow-control
 qos trust dot1p
 qos priority 2
 qos wred queue 3 ecn
#
interface range FourHundredGigE 1/0/1 to FourHundredGigE 1/0/3
 priority-flow-control auto
 priority-flow-control no-drop dot1p 3,5
 qos wred apply GONE
#
interface M-GigabitEthernet0/0/0
 ip address 192.0.2.1 24
#
return
`

func TestOwnConfiguration(t *testing.T) {
	r := parse(t, own)
	if r.Device.Name != "gpu-leaf-2" || len(r.Device.Ports) != 5 {
		t.Fatalf("device %q with %d ports", r.Device.Name, len(r.Device.Ports))
	}
	if len(r.NotUnderstood) != 1 || r.NotUnderstood[0].Text != "blorb secret <redacted>" {
		t.Errorf("not understood: %+v", r.NotUnderstood)
	}
	p := dialecttest.Port(t, r.Device, "FourHundredGigE1/0/17")
	// The switch's own lines turn PFC on; code points map by eights, then by dot1p-lp.
	if p.PFC != qos.On || p.PFCMask != 1<<3 || !p.Lossless(26) || p.Queue(26) != 3 || p.Queue(16) != 1 || p.Queue(0) != 0 {
		t.Errorf("PFC %v %08b, lossless 26 %v, queues %d %d %d", p.PFC, p.PFCMask, p.Lossless(26), p.Queue(26), p.Queue(16), p.Queue(0))
	}
	if q := p.Queues[3]; q.ECN != qos.On || q.Raw.Min != 6000 || q.Raw.Max != 12000 || q.Probability != 0.4 || q.Averaging != 2 || q.Weight != 96 {
		t.Errorf("queue 3: %+v", q)
	}
	if q := p.Queues[4]; q.ECN != qos.Off || q.WRED != qos.On || !strings.Contains(p.Reasons["ecn.4"], "drops") {
		t.Errorf("queue 4: %+v", q)
	}
	if p.Watchdog != qos.On || p.WatchdogAction != "drop" || p.MTU != 9000 || p.GlobalPauseRx != qos.On || p.GlobalPauseTx != qos.Unset || p.Speed != 400*units.Gbps {
		t.Errorf("watchdog %v %q, MTU %d, pause %v %v, speed %v", p.Watchdog, p.WatchdogAction, p.MTU, p.GlobalPauseRx, p.GlobalPauseTx, p.Speed)
	}
	off := dialecttest.Port(t, r.Device, "TwoHundredGigE1/0/18:1")
	if off.PFC != qos.Off || off.Trust != qos.TrustPCP || off.DefaultPriority != 2 || off.Queues[3].ECN != qos.Off || !strings.Contains(off.Reasons["ecn.3"], "no thresholds") {
		t.Errorf("18:1: PFC %v, trust %v, default %d, queue 3 %v", off.PFC, off.Trust, off.DefaultPriority, off.Queues[3].ECN)
	}
	ranged := dialecttest.Port(t, r.Device, "FourHundredGigE1/0/3")
	if ranged.PFC != qos.Unset || ranged.PFCMode != "auto" || ranged.PFCMask != 1<<3|1<<5 || ranged.Trust != qos.TrustNone || !strings.Contains(ranged.Reasons["ecn.3"], "GONE") {
		t.Errorf("1/0/3: PFC %v %q %08b, trust %v, %v", ranged.PFC, ranged.PFCMode, ranged.PFCMask, ranged.Trust, ranged.Reasons)
	}
}

func TestDeadlockNeedsInterval(t *testing.T) {
	r := parse(t, "interface HundredGigE1/0/1\n priority-flow-control enable\n priority-flow-control no-drop dot1p 5\n priority-flow-control deadlock enable\n")
	if p := r.Device.Ports[0]; p.Watchdog != qos.Off || !strings.Contains(p.Reasons["watchdog"], "interval for priority 5") {
		t.Errorf("watchdog %v: %s", p.Watchdog, p.Reasons["watchdog"])
	}
}

func TestScore(t *testing.T) {
	if s := Score([]byte(own)); s < 80 {
		t.Errorf("own configuration scores %d", s)
	}
	if s := Score([]byte("dcb pfc\n priority 3\n#\ninterface 100GE1/0/1\n trust dscp\n")); s > 20 {
		t.Errorf("another system scores %d", s)
	}
}

func FuzzParse(f *testing.F) {
	dialecttest.Fuzz(f, func(text []byte) (*dialect.Reading, error) { return Parse(bytes.NewReader(text), "f") }, own)
}
