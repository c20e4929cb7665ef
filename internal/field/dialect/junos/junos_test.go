package junos

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
	r, err := Parse(strings.NewReader(text), "test.conf")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestForms(t *testing.T) { dialecttest.Forms(t, grammar) }

// Expected values from samples/switch/index.yaml, junos_evo_roce_cos.conf:
// the queue is not the PFC priority.
func TestSample(t *testing.T) {
	r := parse(t, string(dialecttest.Sample(t, "samples/switch/junos_evo_roce_cos.conf")))
	dialecttest.NoUnknown(t, r)
	p := dialecttest.Port(t, r.Device, "et-*")
	if p.PFC != qos.On || p.PFCMask != 1<<3 || p.Priority(26) != 3 || p.Queue(26) != 4 || !p.Lossless(26) {
		t.Errorf("PFC %v %08b, 26 -> %d, queue %d, lossless %v", p.PFC, p.PFCMask, p.Priority(26), p.Queue(26), p.Lossless(26))
	}
	if p.Queue(48) != 3 || p.Lossless(48) || p.Priority(48) != qos.Undefined || p.Queue(0) != 0 {
		t.Errorf("48: queue %d, lossless %v, priority %d; 0: queue %d", p.Queue(48), p.Lossless(48), p.Priority(48), p.Queue(0))
	}
	if q := p.Queues[4]; q.ECN != qos.On || q.Raw != (qos.Raw{Min: 55, Max: 90, Unit: "percent"}) || q.Probability != 1 {
		t.Errorf("queue 4: %+v", q)
	}
	if q := p.Queues[3]; q.Strict != qos.On || q.Share != 0.05 {
		t.Errorf("queue 3: %+v", q)
	}
	if p.Watchdog != qos.On || p.WatchdogDetect != 200*units.Millisecond || p.MTU != 0 {
		t.Errorf("watchdog %v %v, MTU %d", p.Watchdog, p.WatchdogDetect, p.MTU)
	}
}

const setLines = `set version 23.4R2-EVO
set system host-name qfx-leaf-4
set system root-authentication encrypted-password "$6$TOPSECRET"
set snmp community hunter2hunter2 authorization read-only
set class-of-service frobnicate authentication-key hunter2hunter2
set interfaces et-0/0/0 mtu 9216
set interfaces et-0/0/0 speed 400g
set interfaces et-0/0/0 unit 0 family inet address 192.0.2.1/31
set interfaces et-0/0/1 ether-options flow-control
set interfaces irb unit 10 family inet
set class-of-service code-point-aliases dscp training 011010
set class-of-service classifiers dscp AI forwarding-class LL loss-priority low code-points training
set class-of-service classifiers dscp AI forwarding-class LL loss-priority low code-points 011100
set class-of-service classifiers dscp AI forwarding-class CNP loss-priority low code-points cs6
set class-of-service forwarding-classes class LL queue-num 3
set class-of-service forwarding-classes class LL no-loss
set class-of-service forwarding-classes class LL pfc-priority 5
set class-of-service forwarding-classes class CNP queue-num 5
set class-of-service drop-profiles dp interpolate fill-level 0
set class-of-service drop-profiles dp interpolate fill-level 10
set class-of-service drop-profiles dp interpolate fill-level 50
set class-of-service drop-profiles dp interpolate drop-probability 0
set class-of-service drop-profiles dp interpolate drop-probability 0
set class-of-service drop-profiles dp interpolate drop-probability 20
set class-of-service schedulers s drop-profile-map loss-priority any protocol any drop-profile dp
set class-of-service schedulers s transmit-rate percent 60
set class-of-service schedulers c priority strict-high
set class-of-service scheduler-maps m forwarding-class LL scheduler s
set class-of-service scheduler-maps m forwarding-class CNP scheduler c
set class-of-service congestion-notification-profile p input dscp code-point 011010 pfc
set class-of-service congestion-notification-profile p input cable-length 40
set class-of-service congestion-notification-profile p output ieee-802.1 code-point 101 flow-control-queue 4
set class-of-service congestion-notification-profile p pfc-watchdog poll-interval 50
set class-of-service congestion-notification-profile p pfc-watchdog detection 4
set class-of-service congestion-notification-profile p pfc-watchdog recovery 700
set class-of-service interfaces et-* congestion-notification-profile p
set class-of-service interfaces et-* scheduler-map m
set class-of-service interfaces et-0/0/0 unit 0 classifiers dscp AI
`

func TestSetLines(t *testing.T) {
	r := parse(t, setLines)
	if r.Device.Name != "qfx-leaf-4" || len(r.Device.Ports) != 2 {
		t.Fatalf("device %q with %d ports", r.Device.Name, len(r.Device.Ports))
	}
	if len(r.NotUnderstood) != 1 || r.NotUnderstood[0].Text != "class-of-service frobnicate authentication-key <redacted>" || r.NotUnderstood[0].Origin.Line != 5 {
		t.Errorf("not understood: %+v", r.NotUnderstood)
	}
	p := dialecttest.Port(t, r.Device, "et-0/0/0")
	if p.PFCMask != 1<<5 || p.Priority(26) != 5 || p.Queue(26) != 3 || p.Queue(48) != 5 || p.Lossless(48) || p.MTU != 9202 || p.Speed != 400*units.Gbps {
		t.Errorf("PFC %08b, 26 -> %d, queue %d; 48: queue %d, lossless %v; MTU %d, speed %v", p.PFCMask, p.Priority(26), p.Queue(26), p.Queue(48), p.Lossless(48), p.MTU, p.Speed)
	}
	if !strings.Contains(p.Reasons["pfc.5"], "stops queue 4") || p.CableLength != 40 {
		t.Errorf("output queue: %q, cable %v", p.Reasons["pfc.5"], p.CableLength)
	}
	if q := p.Queues[3]; q.ECN != qos.Off || q.WRED != qos.On || q.Raw.Min != 10 || q.Raw.Max != 50 || q.Probability != 0.2 || q.Share != 0.6 {
		t.Errorf("queue 3: %+v", q)
	}
	if p.WatchdogDetect != 200*units.Millisecond || p.WatchdogRestore != 700*units.Millisecond || p.Queues[5].Strict != qos.On {
		t.Errorf("watchdog %v %v, queue 5 %v", p.WatchdogDetect, p.WatchdogRestore, p.Queues[5].Strict)
	}
	if other := dialecttest.Port(t, r.Device, "et-0/0/1"); other.GlobalPauseRx != qos.On || other.MTU != 1500 || other.PFC != qos.On {
		t.Errorf("et-0/0/1: pause %v, MTU %d, PFC %v", other.GlobalPauseRx, other.MTU, other.PFC)
	}
}

// What "show configuration class-of-service" prints has no outer braces.
func TestPartInBraces(t *testing.T) {
	r := parse(t, `admin@qfx9> show configuration class-of-service
classifiers {
    dscp C {
        forwarding-class NL { /* training */
            loss-priority low code-points [ 011010
                                            af32 ];
        }
    }
}
inactive: drop-profiles {
    x { interpolate { fill-level [ 1 2 ]; drop-probability [ 3 4 ]; } }
}
forwarding-classes {
    class NL queue-num 4 no-loss pfc-priority 3;
}
congestion-notification-profile {
    P { input { dscp { code-point 011010 { pfc; } } } }
}
interfaces {
    et-0/0/5 {
        congestion-notification-profile P;
        unit 0 { classifiers { dscp C; } }
    }
}
`)
	dialecttest.NoUnknown(t, r)
	p := dialecttest.Port(t, r.Device, "et-0/0/5")
	if r.Device.Name != "qfx9" || !p.Lossless(26) || p.Queue(28) != 4 || p.Queues[4].WRED != qos.Unset || p.Watchdog != qos.Off {
		t.Errorf("device %q, lossless 26 %v, queue of 28 %d, queue 4 %v, watchdog %v", r.Device.Name, p.Lossless(26), p.Queue(28), p.Queues[4].WRED, p.Watchdog)
	}
}

func TestScore(t *testing.T) {
	if s := Score([]byte(setLines)); s < 80 {
		t.Errorf("own configuration scores %d", s)
	}
	if s := Score([]byte("interface Ethernet1/1\n  mtu 9216\n")); s > 0 {
		t.Errorf("another system scores %d", s)
	}
}

func FuzzParse(f *testing.F) {
	dialecttest.Fuzz(f, func(text []byte) (*dialect.Reading, error) { return Parse(bytes.NewReader(text), "f") }, setLines,
		"class-of-service {\n classifiers {\n  dscp C { forwarding-class A { loss-priority low code-points [ 011010 cs6 ]; } }\n }\n}\n")
}
