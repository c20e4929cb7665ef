package systems

import (
	"bytes"
	"testing"

	"weir/internal/field/dialect/dialecttest"
)

// Each sample configuration is recognised, and none as another system's.
func TestRecogniseSamples(t *testing.T) {
	for name, want := range map[string]string{
		"nxos_roce.cfg": "nxos", "nxos_roce_drift.cfg": "nxos", "eos_qos_running_config.cfg": "eos", "eos_roce_lossless.cfg": "eos", "cumulus_nvue_roce_set.txt": "nvue",
		"huawei_roce.cfg": "vrp", "h3c_roce.cfg": "comware", "junos_evo_roce_cos.conf": "junos", "sonic_config_db_qos.json": "sonic",
	} {
		text := dialecttest.Sample(t, "samples/switch/"+name)
		got, ok := Recognise(text)
		if !ok || got.Name != want {
			t.Errorf("%s recognised as %q, %v, want %q", name, got.Name, ok, want)
		}
	}
	for _, name := range []string{"cumulus_if_roce_status.txt", "nxos_show_queuing_n9k.txt", "sonic_show_pfc_counters.txt", "sonic_counters_db_port.json", "huawei_display_dcb_pfc.txt", "h3c_display_pfc.txt", "onyx_show_roce.txt", "junos_mac_pfc.txt", "eos_show_pfc_counters.json"} {
		if got, ok := Recognise(dialecttest.Sample(t, "samples/switch/"+name)); ok {
			t.Errorf("%s, which is no configuration, recognised as %q", name, got.Name)
		}
	}
}

func TestEverySystem(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range All() {
		r, err := s.Parse(bytes.NewReader([]byte("{}")), "x")
		if err != nil || r.Device.System != s.Name || r.Device.Source != "x" || seen[s.Name] {
			t.Errorf("%s: %v, device %+v", s.Name, err, r)
		}
		seen[s.Name] = true
	}
	if len(seen) != 8 {
		t.Errorf("%d systems, want 8", len(seen))
	}
}

// A setting typed behind the port's name is no part of the name, and is not
// taken for one: the line is kept where the system's own grammar has none such.
func TestSettingBehindPortName(t *testing.T) {
	for system, text := range map[string]string{
		"nxos": "interface Ethernet1/1\n  mtu 9216\ninterface ethernet 1/2 mtu 1500 force\n", "eos": "interface Ethernet1/1\n   mtu 9216\ninterface Ethernet2/1 mtu 1500\n",
		"vrp": "interface 100GE1/0/1\n jumboframe enable 9216\n#\ninterface 100GE1/0/2 jumboframe enable 1500\n#\n", "comware": "interface HundredGigE1/0/1\n jumboframe enable 9216\n#\ninterface HundredGigE1/0/2 jumboframe enable 1600\n#\n",
	} {
		for _, s := range All() {
			if s.Name != system {
				continue
			}
			r, err := s.Parse(bytes.NewReader([]byte(text)), "x")
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Device.Ports) != 1 || len(r.NotUnderstood) != 1 {
				t.Errorf("%s: %d ports %+v, not understood %+v", system, len(r.Device.Ports), r.Device.Ports, r.NotUnderstood)
			}
		}
	}
}

// A line about queues or pause that no form takes is kept: no list of words
// that say nothing about queues may swallow it, neither in a port nor above.
func TestUnknownQueueLinesAreKept(t *testing.T) {
	for system, texts := range map[string][]string{
		"nxos":    {"interface Ethernet1/1\n  priority-flow-control frobnicate 3\n", "priority-flow-control frobnicate 3\ninterface Ethernet1/1\n  mtu 9216\n"},
		"eos":     {"interface Ethernet1/1\n   priority-flow-control frobnicate 3\n", "interface Ethernet1/1\n   qos frobnicate 3\n", "qos frobnicate 3\ninterface Ethernet1/1\n   mtu 9216\n"},
		"onyx":    {"interface ethernet 1/1 dcb frobnicate 3\n", "interface ethernet 1/1 traffic-class 3 frobnicate\n", "dcb frobnicate 3\ninterface ethernet 1/1 mtu 9216 force\n"},
		"vrp":     {"interface 100GE1/0/1\n qos frobnicate 3\n", "interface 100GE1/0/1\n dcb frobnicate 3\n", "qos frobnicate 3\n#\ninterface 100GE1/0/1\n jumboframe enable 9216\n", "dcb frobnicate 3\n#\ninterface 100GE1/0/1\n jumboframe enable 9216\n"},
		"comware": {"interface HundredGigE1/0/1\n qos frobnicate 3\n", "interface HundredGigE1/0/1\n priority-flow-control frobnicate 3\n", "priority-flow-control frobnicate 3\n#\ninterface HundredGigE1/0/1\n jumboframe enable 9216\n"},
		"nvue":    {"nv set interface swp1 qos frobnicate 3\n", "nv set qos frobnicate 3\nnv set interface swp1 link mtu 9216\n"},
		"junos":   {"set class-of-service frobnicate 3\nset interfaces et-0/0/0 mtu 9216\n", "set class-of-service interfaces et-0/0/0 frobnicate 3\nset interfaces et-0/0/0 mtu 9216\n"},
	} {
		for _, s := range All() {
			if s.Name != system {
				continue
			}
			for _, text := range texts {
				r, err := s.Parse(bytes.NewReader([]byte(text)), "x")
				if err != nil {
					t.Fatal(err)
				}
				if len(r.NotUnderstood) != 1 || !bytes.Contains([]byte(r.NotUnderstood[0].Text), []byte("frobnicate")) {
					t.Errorf("%s: %q: not understood %+v", system, text, r.NotUnderstood)
				}
			}
		}
	}
}
