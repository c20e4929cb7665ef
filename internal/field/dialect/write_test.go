package dialect

import (
	"testing"

	"weir/internal/qos"
)

// A class without a priority in queue 3 is not the lossless priority 3, whose
// packets leave by queue 4 (as in Juniper's validated design).
func TestClassWithoutPriorityStaysLossy(t *testing.T) {
	p := qos.NewPort("et-0/0/0")
	p.Trust = qos.TrustDSCP
	p.PFC, p.PFCMask = qos.On, 1<<3
	p.DSCPToPriority[26], p.PriorityToQueue[3] = 3, 4
	p.DSCPToQueue[26], p.DSCPToQueue[48], p.DSCPToQueue[49], p.DSCPToQueue[0] = 4, 3, 3, 0
	target := Target{Device: &qos.Device{Name: "leaf", Ports: []qos.Port{p}}}
	got, err := target.Common()
	if err != nil {
		t.Fatal(err)
	}
	if got.Lossless(48) || got.Queue(48) != 3 || got.Priority(48) != got.Priority(49) || !got.Lossless(26) || got.Queue(26) != 4 || got.Queue(0) != 0 {
		t.Errorf("DSCP 48: priority %d queue %d lossless %v; 49: %d; 26: queue %d; 0: queue %d", got.Priority(48), got.Queue(48), got.Lossless(48), got.Priority(49), got.Queue(26), got.Queue(0))
	}
	if p.DSCPToPriority[48] != qos.Undefined {
		t.Error("the device was changed")
	}
}

func TestCommonRefusesDifferentPorts(t *testing.T) {
	a := qos.NewPort("a")
	a.Trust = qos.TrustDSCP
	b := a.Clone()
	b.Name, b.PFCMask = "b", 1
	if _, err := (&Target{Device: &qos.Device{Name: "leaf", Ports: []qos.Port{a, b}}}).Common(); err == nil {
		t.Error("two ports that differ were taken for one intent")
	}
	if _, err := (&Target{Device: &qos.Device{Name: "leaf"}}).Common(); err == nil {
		t.Error("no ports")
	}
}

func TestPortRuns(t *testing.T) {
	got := PortRuns([]string{"1/1/1", "1/1/2", "1/1/4", "1/2/1", "swp3"})
	want := []string{"1/1/1-1/1/2", "1/1/4", "1/2/1", "swp3"}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got, want)
		}
	}
}
