package eos

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

// Expected values from samples/switch/index.yaml, eos_roce_lossless.cfg.
func TestSampleLossless(t *testing.T) {
	r := parse(t, string(dialecttest.Sample(t, "samples/switch/eos_roce_lossless.cfg")))
	dialecttest.NoUnknown(t, r)
	for _, name := range []string{"Ethernet1/1", "Ethernet2/1"} {
		p := dialecttest.Port(t, r.Device, name)
		if p.PFC != qos.On || p.PFCMask != 1<<3 || !p.Lossless(26) || p.Lossless(48) {
			t.Errorf("%s: PFC %v %08b, lossless 26 %v, 48 %v", name, p.PFC, p.PFCMask, p.Lossless(26), p.Lossless(48))
		}
		if p.Queue(26) != 3 || p.Queue(48) != 6 || p.Trust != qos.TrustDSCP || p.MTU != 9214 {
			t.Errorf("%s: queues %d %d, trust %v, MTU %d", name, p.Queue(26), p.Queue(48), p.Trust, p.MTU)
		}
		if q := p.Queues[3]; q.ECN != qos.On || q.Min != 500_000 || q.Max != 1_500_000 || q.Probability != 0.2 || q.Share != 0.5 || q.Strict != qos.Off {
			t.Errorf("%s: queue 3 %+v", name, q)
		}
		if p.Queues[6].Strict != qos.On || p.Watchdog != qos.On || p.WatchdogDetect != 200*units.Millisecond || p.WatchdogRestore != 400*units.Millisecond || p.WatchdogAction != "drop" {
			t.Errorf("%s: queue 6 %v, watchdog %v %v %v %q", name, p.Queues[6].Strict, p.Watchdog, p.WatchdogDetect, p.WatchdogRestore, p.WatchdogAction)
		}
	}
}

// Expected values from samples/switch/index.yaml, eos_qos_running_config.cfg:
// three units of thresholds, profiles that no port uses.
func TestSampleUnits(t *testing.T) {
	r := parse(t, string(dialecttest.Sample(t, "samples/switch/eos_qos_running_config.cfg")))
	dialecttest.NoUnknown(t, r)
	if len(r.Device.Profiles) != 3 {
		t.Fatalf("%d profiles, want 3", len(r.Device.Profiles))
	}
	one, pfc, mc := r.Device.Profiles[0], r.Device.Profiles[1], r.Device.Profiles[2]
	if pfc.Watchdog != qos.On || pfc.WatchdogDetect != 50*units.Millisecond || pfc.WatchdogRestore != 1110*units.Millisecond || pfc.WatchdogAction != "drop" || pfc.PFCMask != 1 {
		t.Errorf("watchdog %v %v %v %q, PFC %08b", pfc.Watchdog, pfc.WatchdogDetect, pfc.WatchdogRestore, pfc.WatchdogAction, pfc.PFCMask)
	}
	if q := one.Queues[2]; q.Min != 320_000 || q.Max != 320_000 || q.Probability != 0.9 || q.Strict != qos.On {
		t.Errorf("queue 2 of the first: %+v", q)
	}
	if q := one.Queues[4]; q.Raw != (qos.Raw{Min: 320, Max: 320, Unit: "segments"}) || q.Averaging != 10 || q.Min != 0 {
		t.Errorf("queue 4 of the first: %+v", q)
	}
	if q := mc.Queues[1]; q.Raw != (qos.Raw{Min: 3000, Max: 9000, Unit: "us"}) || q.Share != 0.5 || q.Strict != qos.Off {
		t.Errorf("queue 1 of the third: %+v", q)
	}
	p := dialecttest.Port(t, r.Device, "Ethernet1")
	if p.MTU != 1500 || p.Trust != qos.TrustDSCP || p.Priority(26) != 4 || p.Priority(46) != 5 || p.Priority(24) != 1 || p.Queues[2].Min != 320_000 {
		t.Errorf("Ethernet1: MTU %d, trust %v, 26 -> %d, 46 -> %d, 24 -> %d", p.MTU, p.Trust, p.Priority(26), p.Priority(46), p.Priority(24))
	}
	if p.PriorityToQueue[6] != 2 || p.PCPToPriority[1] != 2 || p.PCPToPriority[3] != 3 {
		t.Errorf("maps: queues %v, PCP %v", p.PriorityToQueue, p.PCPToPriority)
	}
	if e7 := dialecttest.Port(t, r.Device, "Ethernet7"); e7.Trust != qos.TrustPCP || !strings.Contains(e7.Reasons["profile"], "qprof_testwithpolicy") {
		t.Errorf("Ethernet7: trust %v, %v", e7.Trust, e7.Reasons)
	}
}

const own = `! Command: show running-config
! device: pod3-leaf2 (DCS-7060X6-64PE, EOS-4.32.1F)
!
hostname pod3-leaf2
username ops privilege 15 role network-admin secret sha512 $6$TOPSECRET
enable password hunter2hunter2
flummox secret hunter2hunter2
!
snmp-server community hunter2hunter2 ro
!
priority-flow-control pause watchdog default timeout 0.1
priority-flow-control pause watchdog default recovery-time 0.25
priority-flow-control pause watchdog action errdisable
!
class-map type qos match-any CM
   match dscp 40 41
!
policy-map type qos PM
   class CM
      set traffic-class 5
   !
   class class-default
!
qos map dscp 40 to traffic-class 4
qos map traffic-class 5 to uc-tx-queue 2
!
interface Ethernet5/1
   mtu 9000
   speed 800g-8
   no switchport
   ip address 192.0.2.9/31
   service-policy type qos input PM
   priority-flow-control on
   priority-flow-control priority 5 no-drop
   priority-flow-control priority 4 no-drop
   priority-flow-control priority 4 drop
   !
   uc-tx-queue 2
      bandwidth guaranteed percent 30
      no priority
      random-detect ecn minimum-threshold 1 mbytes maximum-threshold 2500 kbytes max-mark-probability 5 weight 0
   !
   uc-tx-queue 1
      random-detect drop drop-precedence 1 minimum-threshold 64 kbytes maximum-threshold 128 kbytes drop-probability 50
!
interface Ethernet6/1
   channel-group 9 mode active
   priority-flow-control priority 3 no-drop
!
interface Port-Channel9
   mtu 9100
   no switchport
   qos trust cos
!
interface Ethernet7/1
   switchport mode trunk
   priority-flow-control on
   priority-flow-control priority 3 no-drop
   priority-flow-control pause watchdog disable
   flowcontrol send off
!
interface Management1
   mtu 1400
!
router bgp 65001
   neighbor 192.0.2.8 password 7 abcdef
!
end
`

func TestOwnConfiguration(t *testing.T) {
	r := parse(t, own)
	if r.Device.Name != "pod3-leaf2" || len(r.Device.Ports) != 4 {
		t.Fatalf("device %q with %d ports", r.Device.Name, len(r.Device.Ports))
	}
	if len(r.NotUnderstood) != 1 || r.NotUnderstood[0].Text != "flummox secret <redacted>" {
		t.Errorf("not understood: %+v", r.NotUnderstood)
	}
	p := dialecttest.Port(t, r.Device, "Ethernet5/1")
	if p.PFCMask != 1<<5 || p.Priority(40) != 5 || p.Queue(40) != 2 || !p.Lossless(41) || p.MTU != 9000 || p.Speed != 800*units.Gbps {
		t.Errorf("PFC %08b, DSCP 40: %d, queue %d, lossless 41 %v, MTU %d, speed %v", p.PFCMask, p.Priority(40), p.Queue(40), p.Lossless(41), p.MTU, p.Speed)
	}
	if q := p.Queues[2]; q.Min != 1_000_000 || q.Max != 2_500_000 || q.Probability != 0.05 || q.Averaging != 0 || q.Share != 0.3 || q.Strict != qos.Off {
		t.Errorf("queue 2: %+v", q)
	}
	if q := p.Queues[1]; q.ECN != qos.Off || q.WRED != qos.On || q.Strict != qos.Off {
		t.Errorf("queue 1: %+v", q)
	}
	if p.Queues[3].Strict != qos.On {
		t.Errorf("queue 3 above the highest round-robin queue must be strict: %+v", p.Queues[3])
	}
	if p.Watchdog != qos.On || p.WatchdogDetect != 100*units.Millisecond || p.WatchdogRestore != 250*units.Millisecond || p.WatchdogAction != "errdisable" {
		t.Errorf("watchdog %v %v %v %q", p.Watchdog, p.WatchdogDetect, p.WatchdogRestore, p.WatchdogAction)
	}
	// Default map: eight code points a class, 8-15 below 0-7.
	if p.Priority(0) != 1 || p.Priority(8) != 0 || p.Priority(26) != 3 || p.Priority(48) != 6 {
		t.Errorf("default map: %d %d %d %d", p.Priority(0), p.Priority(8), p.Priority(26), p.Priority(48))
	}
	member := dialecttest.Port(t, r.Device, "Ethernet6/1")
	if member.MTU != 9100 || member.Trust != qos.TrustPCP || member.PFC != qos.Off || !strings.Contains(member.Reasons["pfc"], "priority-flow-control on is missing") {
		t.Errorf("member: MTU %d, trust %v, PFC %v, %v", member.MTU, member.Trust, member.PFC, member.Reasons)
	}
	switched := dialecttest.Port(t, r.Device, "Ethernet7/1")
	if switched.MTU != 9214 || switched.Trust != qos.TrustPCP || switched.Watchdog != qos.Off || switched.GlobalPauseTx != qos.Off {
		t.Errorf("switched: MTU %d, trust %v, watchdog %v, pause %v", switched.MTU, switched.Trust, switched.Watchdog, switched.GlobalPauseTx)
	}
}

func TestAllOff(t *testing.T) {
	r := parse(t, "priority-flow-control all off\ninterface Ethernet1\n   priority-flow-control on\n   priority-flow-control priority 3 no-drop\n")
	if p := r.Device.Ports[0]; p.PFC != qos.Off || p.Lossless(26) || p.Lines["pfc"] != 1 {
		t.Errorf("PFC %v, lossless %v, line %d", p.PFC, p.Lossless(26), p.Lines["pfc"])
	}
}

func TestScore(t *testing.T) {
	if s := Score([]byte(own)); s < 80 {
		t.Errorf("own configuration scores %d", s)
	}
	for _, other := range []string{"", "class-map type qos match-any A\n  match dscp 26\npolicy-map type network-qos N\n  class type network-qos c-8q-nq3\n    pause pfc-cos 3\n", "nv set qos roce\n"} {
		if s := Score([]byte(other)); s > 30 {
			t.Errorf("%q scores %d", other, s)
		}
	}
}

func FuzzParse(f *testing.F) {
	dialecttest.Fuzz(f, func(text []byte) (*dialect.Reading, error) { return Parse(bytes.NewReader(text), "f") }, own)
}
