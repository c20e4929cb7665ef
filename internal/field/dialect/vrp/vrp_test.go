package vrp

import (
	"bytes"
	"strings"
	"testing"

	"weir/internal/fact"
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

// Expected values from samples/switch/index.yaml, huawei_roce.cfg. The index
// gives the deadlock times as printed, 10 and 15; they count steps of 10 ms
// (CloudEngine Command Reference, dcb pfc deadlock-detect interval).
func TestSample(t *testing.T) {
	r := parse(t, string(dialecttest.Sample(t, "samples/switch/huawei_roce.cfg")))
	dialecttest.NoUnknown(t, r)
	p := dialecttest.Port(t, r.Device, "100GE1/0/1")
	if p.PFC != qos.On || p.PFCMask != 1<<3 || !p.Lossless(24) || p.Lossless(25) || p.Queue(24) != 3 || p.Queue(25) != 6 {
		t.Errorf("PFC %v %08b, lossless 24 %v, 25 %v, queues %d %d", p.PFC, p.PFCMask, p.Lossless(24), p.Lossless(25), p.Queue(24), p.Queue(25))
	}
	if q := p.Queues[3]; q.ECN != qos.On || q.Min != 500_000 || q.Max != 1_500_000 || q.Probability != 0.3 {
		t.Errorf("queue 3: %+v", q)
	}
	if p.Watchdog != qos.On || p.WatchdogDetect != 100*units.Millisecond || p.WatchdogRestore != 150*units.Millisecond {
		t.Errorf("watchdog %v %v %v", p.Watchdog, p.WatchdogDetect, p.WatchdogRestore)
	}
	want := map[string]string{"pfc.watchdog.detect_steps.3": "10", "pfc.watchdog.restore_steps.3": "15"}
	for _, f := range r.Facts {
		if want[f.Key] == f.Value.String() {
			delete(want, f.Key)
		}
	}
	if len(want) > 0 {
		t.Errorf("facts missing: %v", want)
	}
	if p.Queues[6].Strict != qos.On || p.GlobalPauseRx != qos.Off || p.MTU != 9216-18 || p.Trust != qos.TrustDSCP || p.Speed != 100*units.Gbps {
		t.Errorf("queue 6 %v, pause %v, MTU %d, trust %v, speed %v", p.Queues[6].Strict, p.GlobalPauseRx, p.MTU, p.Trust, p.Speed)
	}
}

const own = `!Software Version V300R023C00SPC500
#
sysname pod1-spine3
#
snmp-agent community read cipher %^%#TOPSECRET%^%# mib-view iso
zoroaster password irreversible-cipher $1c$TOPSECRET$
#
dcb pfc deadlock-detect interval 100
dcb pfc deadlock recovery action discard slot 1
dcb pfc dscp-mapping enable slot 1    //needed on some models
qos buffer headroom-pool size 4 mbytes slot 1
#
dcb pfc
 priority 3 4
#
dcb pfc storage
 priority 5
 priority 5 deadlock-detect time 2
 priority 5 deadlock-recovery time 3
#
diffserv domain ds9
 ip-dscp-inbound 26 phb af4 green
 ip-dscp-inbound 48 to 49 phb cs7
 8021p-inbound 3 phb af4 green
#
drop-profile old
 color green buffer-size low-limit 100 kbytes high-limit 2 mbytes discard-percentage 80
 color yellow buffer-size low-limit 1 high-limit 2 discard-percentage 100
#
drop-profile cells
 ecn buffer-size low-limit 1000 high-limit 2000 discard-percentage 10 cells
#
ai-service
 #
 ai-ecn
  ai-ecn enable
  assign queue 5
#
interface 400GE1/0/1
 undo portswitch
 trust dscp
 trust upstream ds9
 dcb pfc enable storage mode manual
 dcb pfc buffer 5 xoff static 1500 cells hdrm 40 kbytes
 qos drr 0 to 4
 qos queue 3 drr weight 40
 qos queue 3 wred old
 qos queue 4 wred cells
 qos queue 4 ecn
 jumboframe enable 9000
#
interface 25GE1/0/2
 eth-trunk 7
#
interface Eth-Trunk7
 dcb pfc enable mode auto
 trust upstream gone
#
interface Vlanif10
 mtu 1500
#
port-group all
 group-member 200ge 1/0/10 to 200ge 1/0/12
 dcb pfc enable mode manual
#
return
`

func TestOwnConfiguration(t *testing.T) {
	r := parse(t, own)
	if r.Device.Name != "pod1-spine3" || len(r.Device.Ports) != 6 {
		t.Fatalf("device %q with %d ports", r.Device.Name, len(r.Device.Ports))
	}
	if len(r.NotUnderstood) != 1 || r.NotUnderstood[0].Text != "zoroaster password <redacted>" || r.NotUnderstood[0].Origin.Line != 6 {
		t.Errorf("not understood: %+v", r.NotUnderstood)
	}
	p := dialecttest.Port(t, r.Device, "400GE1/0/1")
	if p.Priority(26) != 4 || p.Priority(49) != 7 || p.PCPToPriority[3] != 4 || p.Priority(46) != 5 || p.Priority(11) != 0 || p.Priority(18) != 2 {
		t.Errorf("classes: %d %d %d %d %d %d", p.Priority(26), p.Priority(49), p.PCPToPriority[3], p.Priority(46), p.Priority(11), p.Priority(18))
	}
	if p.PFCMask != 1<<5 || p.WatchdogDetect != 200*units.Millisecond || p.WatchdogRestore != 300*units.Millisecond || p.WatchdogAction != "drop" {
		t.Errorf("PFC %08b, watchdog %v %v %q", p.PFCMask, p.WatchdogDetect, p.WatchdogRestore, p.WatchdogAction)
	}
	if in := p.Ingress[5]; in.Headroom != 40_000 || in.Raw.Min != 1500 || in.Raw.Unit != "cells" {
		t.Errorf("ingress of 5: %+v", in)
	}
	if q := p.Queues[3]; q.ECN != qos.Off || q.WRED != qos.On || q.Min != 100_000 || q.Max != 2_000_000 || q.Probability != 0.8 || q.Weight != 40 {
		t.Errorf("queue 3: %+v", q)
	}
	if share := p.Queues[3].Share; share < 0.909 || share > 0.9091 { // 40 of 44
		t.Errorf("share of queue 3: %v", share)
	}
	if q := p.Queues[4]; q.ECN != qos.On || q.Raw != (qos.Raw{Min: 1000, Max: 2000, Unit: "cells"}) {
		t.Errorf("queue 4: %+v", q)
	}
	if q := p.Queues[5]; q.ECN != qos.On || !strings.Contains(p.Reasons["ecn.5"], "AI ECN") {
		t.Errorf("queue 5: %+v", q)
	}
	if p.MTU != 8982 || p.Speed != 400*units.Gbps {
		t.Errorf("MTU %d, speed %v", p.MTU, p.Speed)
	}
	member := dialecttest.Port(t, r.Device, "25GE1/0/2")
	if member.PFC != qos.Unset || member.PFCMode != "auto" || member.PFCMask != 1<<3|1<<4 || !strings.Contains(member.Reasons["trust"], "gone") {
		t.Errorf("member of the trunk: PFC %v %q %08b, %v", member.PFC, member.PFCMode, member.PFCMask, member.Reasons)
	}
	if group := dialecttest.Port(t, r.Device, "200GE1/0/12"); group.PFC != qos.On || group.Trust != qos.TrustPCP || group.Speed != 200*units.Gbps {
		t.Errorf("member of the port group: PFC %v, trust %v, speed %v", group.PFC, group.Trust, group.Speed)
	}
	found := false
	for _, f := range r.Facts {
		u, _ := f.Value.Uint()
		found = found || f.Key == "buffer.pool.headroom.size" && u == 4_000_000 && f.Subject.Kind == fact.Switch
	}
	if !found {
		t.Errorf("headroom pool not among %+v", r.Facts)
	}
}

func TestTyped(t *testing.T) {
	r := parse(t, `<HUAWEI> system-view
[~HUAWEI] dcb pfc
[*HUAWEI-dcb-pfc-default] priority 3
[*HUAWEI-dcb-pfc-default] quit
[*HUAWEI] interface 100ge 1/0/1
[*HUAWEI-100GE1/0/1] dcb pfc enable mode manual
[*HUAWEI-100GE1/0/1] commit
`)
	dialecttest.NoUnknown(t, r)
	if r.Device.Name != "HUAWEI" || len(r.Device.Ports) != 1 || r.Device.Ports[0].PFCMask != 1<<3 || r.Device.Ports[0].Name != "100GE1/0/1" {
		t.Errorf("device %q, ports %+v", r.Device.Name, r.Device.Ports)
	}
}

func TestScore(t *testing.T) {
	if s := Score([]byte(own)); s < 80 {
		t.Errorf("own configuration scores %d", s)
	}
	if s := Score([]byte("#\ninterface HundredGigE1/0/1\n priority-flow-control enable\n#\n")); s > 20 {
		t.Errorf("another system scores %d", s)
	}
}

func FuzzParse(f *testing.F) {
	dialecttest.Fuzz(f, func(text []byte) (*dialect.Reading, error) { return Parse(bytes.NewReader(text), "f") }, own)
}
