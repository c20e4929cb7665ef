package sonic

import (
	"bytes"
	"slices"
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
	r, err := Parse(strings.NewReader(text), "config_db.json")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTablesAreSorted(t *testing.T) {
	if !slices.IsSorted(tables) {
		t.Error("tables must be sorted for the search")
	}
}

// Expected values from samples/switch/index.yaml: the stock map sends DSCP 26
// to a lossy class.
func TestSample(t *testing.T) {
	r := parse(t, string(dialecttest.Sample(t, "samples/switch/sonic_config_db_qos.json")))
	dialecttest.NoUnknown(t, r)
	p := dialecttest.Port(t, r.Device, "Ethernet0")
	if p.PFC != qos.On || p.PFCMask != 1<<3|1<<4 {
		t.Errorf("PFC %v %08b, want 3 and 4", p.PFC, p.PFCMask)
	}
	if p.Priority(26) != 1 || p.Queue(26) != 1 || p.Lossless(26) {
		t.Errorf("DSCP 26: class %d, queue %d, lossless %v, want 1, 1, false", p.Priority(26), p.Queue(26), p.Lossless(26))
	}
	if !p.Lossless(3) || !p.Lossless(4) || p.Queue(48) != 6 {
		t.Errorf("DSCP 3 %v, 4 %v lossless; 48 in queue %d", p.Lossless(3), p.Lossless(4), p.Queue(48))
	}
	if q := p.Queues[3]; q.ECN != qos.On || q.Min != 1048576 || q.Max != 2097152 || q.Probability != 0.05 || q.Weight != 15 {
		t.Errorf("queue 3: %+v", q)
	}
	if p.CableLength != 300 || p.Watchdog != qos.Off {
		t.Errorf("cable %v, watchdog %v", p.CableLength, p.Watchdog)
	}
}

// The profile of a published report: thresholds are set, nothing is marked.
func TestCaseThresholdsWithoutEnable(t *testing.T) {
	r := parse(t, string(dialecttest.Sample(t, "cases/022-ecnconfig-accepted-but-not-enabled/input/config_db_before.json")))
	if len(r.Device.Profiles) != 1 || r.Device.Profiles[0].Name != "AZURE_LOSSY" || r.Device.Profiles[0].Queues[0].ECN != qos.Off || !strings.Contains(r.Device.Profiles[0].Reasons["ecn.0"], "wred_green_enable") {
		t.Errorf("profiles %+v", r.Device.Profiles)
	}
}

const own = `{
    "DEVICE_METADATA": {"localhost": {"hostname": "t0-17", "hwsku": "Accton-AS9817-64O", "platform": "x86_64-accton"}},
    "SNMP_COMMUNITY": {"hunter2hunter2": {"TYPE": "RO"}},
    "MADE_UP_TABLE": {"x": {}},
    "PORT": {
        "Ethernet0": {"alias": "etp1", "speed": "400000", "mtu": "9216", "admin_status": "up"},
        "Ethernet8": {"speed": "800000"}
    },
    "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "gpu17", "port": "eth4"}},
    "DSCP_TO_TC_MAP": {"AI": {"26": "3", "48": "6", "0": "0"}},
    "DOT1P_TO_TC_MAP": {"AI": {"3": "3"}},
    "TC_TO_QUEUE_MAP": {"AI": {"0": "0", "3": "5", "6": "6"}},
    "TC_TO_PRIORITY_GROUP_MAP": {"AI": {"0": "0", "3": "2", "6": "0"}},
    "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {"AI": {"3": "2"}},
    "MAP_PFC_PRIORITY_TO_QUEUE": {"AI": {"3": "3"}},
    "PORT_QOS_MAP": {
        "Ethernet0": {
            "dscp_to_tc_map": "[DSCP_TO_TC_MAP|AI]", "dot1p_to_tc_map": "AI", "tc_to_queue_map": "[TC_TO_QUEUE_MAP|AI]",
            "tc_to_pg_map": "AI", "pfc_to_pg_map": "AI", "pfc_to_queue_map": "AI", "pfc_enable": "3", "pfcwd_sw_enable": "3"
        },
        "Ethernet8": {"tc_to_queue_map": "GONE", "dscp_to_tc_map": "AI"}
    },
    "SCHEDULER": {"s0": {"type": "DWRR", "weight": "30"}, "s6": {"type": "STRICT"}},
    "WRED_PROFILE": {
        "AI": {"ecn": "ecn_green_yellow", "wred_green_enable": "true", "green_min_threshold": "250000", "green_max_threshold": "500000", "green_drop_probability": "40"},
        "DROPS": {"ecn": "ecn_none", "wred_green_enable": "true", "green_min_threshold": "1", "green_max_threshold": "2"}
    },
    "QUEUE": {
        "Ethernet0|0-2": {"scheduler": "[SCHEDULER|s0]", "wred_profile": "DROPS"},
        "Ethernet0,Ethernet8|5": {"scheduler": "s0", "wred_profile": "[WRED_PROFILE|AI]"},
        "t0-17|Asic0|Ethernet8|6": {"scheduler": "s6"},
        "bad": {}
    },
    "BUFFER_POOL": {"ingress_lossless_pool": {"size": "100000000", "xoff": "5000000", "mode": "dynamic", "type": "ingress"}},
    "BUFFER_PROFILE": {"pg_lossless": {"pool": "ingress_lossless_pool", "size": "18432", "xoff": "165632", "xon": "1024", "dynamic_th": "-1"}},
    "BUFFER_PG": {"Ethernet0|2": {"profile": "[BUFFER_PROFILE|pg_lossless]"}},
    "CABLE_LENGTH": {"AI": {"Ethernet0": "40m", "Ethernet8": "far"}},
    "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "100"}, "Ethernet0": {"action": "forward", "detection_time": "300", "restoration_time": "1500"}}
}
`

func TestOwnConfiguration(t *testing.T) {
	r := parse(t, own)
	if r.Device.Name != "t0-17" || len(r.Device.Ports) != 2 {
		t.Fatalf("device %q with %d ports", r.Device.Name, len(r.Device.Ports))
	}
	var lost []string
	for _, n := range r.NotUnderstood {
		lost = append(lost, n.Text)
	}
	if got := strings.Join(lost, "; "); got != "table MADE_UP_TABLE; QUEUE bad; CABLE_LENGTH Ethernet8 far" {
		t.Errorf("not understood: %s", got)
	}
	p := dialecttest.Port(t, r.Device, "Ethernet0")
	if p.Speed != 400*units.Gbps || p.MTU != 9216 || p.Peer != "gpu17/eth4" || p.CableLength != 40 || p.Trust != qos.TrustBoth {
		t.Errorf("speed %v, MTU %d, peer %q, cable %v, trust %v", p.Speed, p.MTU, p.Peer, p.CableLength, p.Trust)
	}
	// Class 3 shares group 2 with PFC priority 3 and leaves by queue 5, which
	// a received pause of priority 3 does not stop: it stops queue 3.
	if p.Priority(26) != 3 || p.Queue(26) != 5 || !p.Lossless(26) || p.PCPToPriority[3] != 3 || !strings.Contains(p.Reasons["pfc.3"], "stops queue 3") {
		t.Errorf("DSCP 26: %d, queue %d, lossless %v, PCP 3: %d, %q", p.Priority(26), p.Queue(26), p.Lossless(26), p.PCPToPriority[3], p.Reasons["pfc.3"])
	}
	if p.Priority(10) != 0 || p.Queue(10) != 0 {
		t.Errorf("a code point outside the map: %d, queue %d, want class 0", p.Priority(10), p.Queue(10))
	}
	if q := p.Queues[5]; q.ECN != qos.On || q.Min != 250000 || q.Max != 500000 || q.Probability != 0.4 || q.Weight != 30 {
		t.Errorf("queue 5: %+v", q)
	}
	// Four queues of weight 30, four of the chip's default 1.
	if share := p.Queues[5].Share; share < 0.2419 || share > 0.2420 {
		t.Errorf("share of queue 5 is %v, want 30/124", share)
	}
	if q := p.Queues[1]; q.ECN != qos.Off || q.WRED != qos.On || !strings.Contains(p.Reasons["ecn.1"], "ecn_none") {
		t.Errorf("queue 1: %+v, %q", q, p.Reasons["ecn.1"])
	}
	if in := p.Ingress[3]; in.Reserved != 18432 || in.Headroom != 165632 || in.XON != 1024 || in.Alpha != 0.5 {
		t.Errorf("ingress of priority 3: %+v", in)
	}
	if p.Watchdog != qos.On || p.WatchdogAction != "forward" || p.WatchdogDetect != 300*units.Millisecond || p.WatchdogRestore != 1500*units.Millisecond {
		t.Errorf("watchdog %v %q %v %v", p.Watchdog, p.WatchdogAction, p.WatchdogDetect, p.WatchdogRestore)
	}
	e8 := dialecttest.Port(t, r.Device, "Ethernet8")
	if e8.MTU != 9100 || e8.PFC != qos.Off || e8.Queue(26) != qos.Undefined || e8.Queues[6].Strict != qos.On || !strings.Contains(e8.Reasons["tc_to_queue_map"], "GONE") {
		t.Errorf("Ethernet8: MTU %d, PFC %v, queue of 26 %d, queue 6 %v, %v", e8.MTU, e8.PFC, e8.Queue(26), e8.Queues[6].Strict, e8.Reasons)
	}
	want := map[string]fact.Value{
		"switch.hwsku": fact.OfText("Accton-AS9817-64O"), "buffer.pool.ingress_lossless_pool.size": fact.OfUint(100000000), "buffer.pool.ingress_lossless_pool.headroom": fact.OfUint(5000000),
	}
	for _, f := range r.Facts {
		if w, ok := want[f.Key]; ok && f.Value.String() == w.String() {
			delete(want, f.Key)
		}
	}
	if len(want) > 0 {
		t.Errorf("facts missing: %v", want)
	}
}

func TestRefusal(t *testing.T) {
	for text, want := range map[string]string{
		"hello":        "config_db.json: not readable as JSON: not JSON: config_db.json, or some of its tables",
		`{"PORT": {x}`: "config_db.json: not readable as JSON: not JSON: config_db.json, or some of its tables",
	} {
		if _, err := Parse(strings.NewReader(text), "config_db.json"); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestScore(t *testing.T) {
	if s := Score([]byte(own)); s < 80 {
		t.Errorf("own configuration scores %d", s)
	}
	if s := Score([]byte(`{"COUNTERS:oid:0x1": {"PFC_WD_STATUS": "x"}}`)); s > 0 {
		t.Errorf("counters score %d", s)
	}
}

func FuzzParse(f *testing.F) {
	dialecttest.Fuzz(f, func(text []byte) (*dialect.Reading, error) { return Parse(bytes.NewReader(text), "f") }, own)
}
