package cluster

import (
	"slices"
	"testing"

	"weir/units"
)

// Every part has its figures and says where they come from.
func TestCatalogue(t *testing.T) {
	names := map[string]bool{}
	once := func(n string) {
		if names[n] {
			t.Errorf("%s twice", n)
		}
		names[n] = true
	}
	for _, m := range NICs() {
		once(m.Name)
		if m.Source == "" || m.Vendor == "" || m.Driver == "" || m.Ports == 0 || m.PCIe == 0 || m.Latency == 0 || m.RxBuffer == 0 || m.MaxMTU == 0 || !slices.IsSorted(m.Speeds) || len(m.Speeds) == 0 {
			t.Errorf("%+v", m)
		}
		if m.PCIe < m.Speeds[len(m.Speeds)-1] {
			t.Errorf("%s: PCIe %v below the port's %v", m.Name, m.PCIe, m.Speeds[len(m.Speeds)-1])
		}
	}
	for _, m := range Switches() {
		once(m.Name)
		if m.Source == "" || m.Vendor == "" || m.Ports == 0 || m.Speed == 0 || m.MaxPorts < m.Ports || m.Buffer == 0 || m.Latency == 0 || m.Lossless == 0 || m.AlphaDefault == 0 || m.Cell == 0 || len(m.OS) == 0 {
			t.Errorf("%+v", m)
		}
		for _, os := range m.OS {
			if !slices.Contains(systems, os) {
				t.Errorf("%s runs unknown %s", m.Name, os)
			}
		}
	}
	for _, m := range GPUs() {
		once(m.Name)
		if m.Source == "" || m.Vendor == "" || m.NVLink == 0 || m.NVLinkEfficiency <= 0 || m.NVLinkEfficiency > 1 || m.Arch == "" || m.PCIe == 0 {
			t.Errorf("%+v", m)
		}
	}
}

// Published figures, by hand.
func TestCatalogueFigures(t *testing.T) {
	a100, _ := LookupGPU("a100")
	// 234.9 GB/s measured (validation target V54).
	if got := float64(a100.NVLink) * a100.NVLinkEfficiency / 8e9; got < 233 || got > 236 {
		t.Errorf("a100 ring %.1f GB/s", got)
	}
	th5, ok := LookupSwitch("tomahawk-5")
	if !ok || th5.Buffer != 173268640 || units.BitRate(th5.Ports)*th5.Speed != 51200*units.Gbps {
		t.Errorf("%+v", th5)
	}
	if _, ok := LookupNIC("connectx-99"); ok {
		t.Error("found connectx-99")
	}
}
