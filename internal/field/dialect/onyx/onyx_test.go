package onyx

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

// Onyx's running configuration repeats the port on each line.
const own = `##
## Running database "initial"
## Generated at 2025/05/02 10:11:12 +0000
## Hostname: sw-rail-3
##

   hostname sw-rail-3
   interface ethernet 1/1-1/4 speed 100G force
   interface ethernet 1/1-1/4 mtu 9216 force
   interface ethernet 1/1-1/2 qos trust L3
   interface ethernet 1/3 qos trust both
   interface ethernet 1/1 qos map dscp 34 to switch-priority 4
   interface ethernet 1/1 traffic-class 5 bind switch-priority 4
   interface ethernet 1/1-1/2 traffic-class 5 congestion-control ecn minimum-absolute 150 maximum-absolute 1500
   interface ethernet 1/2 traffic-class 5 congestion-control red minimum-relative 20 maximum-relative 90
   interface ethernet 1/1 traffic-class 6 dcb ets strict
   interface ethernet 1/1 traffic-class 5 dcb ets wrr 60
   interface ethernet 1/1 ingress-buffer iPort.pg3 bind switch-priority 4
   interface ethernet 1/1 ingress-buffer iPort.pg3 map pool iPool1 type lossless reserved 67538 xoff 18432 xon 18430 shared alpha 1/4
   dcb priority-flow-control enable force
   dcb priority-flow-control priority 4 enable
   interface ethernet 1/1-1/2 dcb priority-flow-control mode on force
   interface ethernet 1/1 pfc-wd
   pool iPool1 size 5242880 type dynamic
   interface ethernet 1/4 flowcontrol send on force
   username admin password 7 $6$TOPSECRET
   snmp-server community hunter2hunter2 ro
   flarp secret hunter2hunter2
`

func TestOwnConfiguration(t *testing.T) {
	r := parse(t, own)
	if r.Device.Name != "sw-rail-3" || len(r.Device.Ports) != 4 {
		t.Fatalf("device %q with %d ports", r.Device.Name, len(r.Device.Ports))
	}
	if len(r.NotUnderstood) != 1 || r.NotUnderstood[0].Text != "flarp secret <redacted>" {
		t.Errorf("not understood: %+v", r.NotUnderstood)
	}
	p := dialecttest.Port(t, r.Device, "Eth1/1")
	if p.Trust != qos.TrustDSCP || p.Priority(34) != 4 || p.Queue(34) != 5 || !p.Lossless(34) || p.Priority(26) != 3 || p.MTU != 9216 || p.Speed != 100*units.Gbps {
		t.Errorf("trust %v, 34 -> %d, queue %d, lossless %v, 26 -> %d, MTU %d, speed %v", p.Trust, p.Priority(34), p.Queue(34), p.Lossless(34), p.Priority(26), p.MTU, p.Speed)
	}
	if q := p.Queues[5]; q.ECN != qos.On || q.Min != 150_000 || q.Max != 1_500_000 || q.Weight != 60 || q.Strict != qos.Off {
		t.Errorf("queue 5: %+v", q)
	}
	if in := p.Ingress[4]; in.Reserved != 67538 || in.XOFF != 18432 || in.XON != 18430 || in.Alpha != 0.25 || in.Headroom != 67538-18432 {
		t.Errorf("ingress of 4: %+v", in)
	}
	if p.Queues[6].Strict != qos.On || p.Watchdog != qos.On {
		t.Errorf("queue 6 %v, watchdog %v", p.Queues[6].Strict, p.Watchdog)
	}
	two := dialecttest.Port(t, r.Device, "Eth1/2")
	if q := two.Queues[5]; q.ECN != qos.Off || q.WRED != qos.On || q.Raw != (qos.Raw{Min: 20, Max: 90, Unit: "percent"}) {
		t.Errorf("queue 5 of 1/2: %+v", q)
	}
	three := dialecttest.Port(t, r.Device, "Eth1/3")
	if three.PFC != qos.Off || three.Trust != qos.TrustBoth || !strings.Contains(three.Reasons["pfc"], "mode on") {
		t.Errorf("1/3: PFC %v, trust %v, %v", three.PFC, three.Trust, three.Reasons)
	}
	if four := dialecttest.Port(t, r.Device, "Eth1/4"); four.Trust != qos.TrustPCP || four.GlobalPauseTx != qos.On || four.GlobalPauseRx != qos.Unset {
		t.Errorf("1/4: trust %v, pause %v %v", four.Trust, four.GlobalPauseTx, four.GlobalPauseRx)
	}
}

// RoCE automation and blocks (Onyx User Manual, RoCE Automation): trust L3,
// PFC on 3, ECN 150 to 1500 KB on class 3, class 6 strict.
func TestRoCE(t *testing.T) {
	r := parse(t, "sw [standalone: master] (config) # roce\nsw [standalone: master] (config) # interface ethernet 1/7\nsw [standalone: master] (config interface ethernet 1/7) # mtu 4200 force\n")
	dialecttest.NoUnknown(t, r)
	p := dialecttest.Port(t, r.Device, "Eth1/7")
	if !p.Lossless(26) || p.Lossless(48) || p.Queue(26) != 3 || p.Queue(48) != 6 || p.Queue(10) != 0 || p.Trust != qos.TrustDSCP || p.MTU != 4200 {
		t.Errorf("lossless %v %v, queues %d %d %d, trust %v, MTU %d", p.Lossless(26), p.Lossless(48), p.Queue(26), p.Queue(48), p.Queue(10), p.Trust, p.MTU)
	}
	if q := p.Queues[3]; q.ECN != qos.On || q.Min != 150_000 || q.Max != 1_500_000 || q.Share != 0.5 {
		t.Errorf("queue 3: %+v", q)
	}
	if p.Queues[6].Strict != qos.On {
		t.Errorf("queue 6: %+v", p.Queues[6])
	}
	lossy := parse(t, "roce lossy\ninterface ethernet 1/7 mtu 4200 force\n")
	if p := lossy.Device.Ports[0]; p.PFC != qos.Off || p.Queues[3].ECN != qos.On {
		t.Errorf("lossy: PFC %v, queue 3 %v", p.PFC, p.Queues[3].ECN)
	}
}

func TestScore(t *testing.T) {
	if s := Score([]byte(own)); s < 80 {
		t.Errorf("own configuration scores %d", s)
	}
	if s := Score([]byte("nv set qos roce\n")); s > 20 {
		t.Errorf("another system scores %d", s)
	}
}

func FuzzParse(f *testing.F) {
	dialecttest.Fuzz(f, func(text []byte) (*dialect.Reading, error) { return Parse(bytes.NewReader(text), "f") }, own)
}
