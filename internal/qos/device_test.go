package qos

import (
	"testing"

	"weir/units"
)

func TestParseDSCP(t *testing.T) {
	// Values of RFC 2474, 2597 and 3246.
	for s, want := range map[string]uint8{"26": 26, "AF31": 26, "cs6": 48, "ef": 46, "0": 0, "63": 63, "af43": 38} {
		if got, ok := ParseDSCP(s); !ok || got != want {
			t.Errorf("ParseDSCP(%q) = %d, %v, want %d", s, got, ok, want)
		}
	}
	for _, s := range []string{"", "64", "-1", "af51", "roce", "300"} {
		if got, ok := ParseDSCP(s); ok {
			t.Errorf("ParseDSCP(%q) = %d, want refusal", s, got)
		}
	}
}

func TestPortEffects(t *testing.T) {
	p := NewPort("Ethernet1/1")
	p.Trust = TrustDSCP
	p.DSCPToPriority[26] = 3
	p.DSCPToQueue[48] = 7 // an internal class without a priority
	p.PriorityToQueue[3] = 4
	p.PFC, p.PFCMask = On, 1<<3
	p.MTU = 9216
	p.PriorityMTU[3] = 1500

	if got := p.Queue(26); got != 4 {
		t.Errorf("queue of DSCP 26 = %d, want 4", got)
	}
	if got := p.Queue(48); got != 7 {
		t.Errorf("queue of DSCP 48 = %d, want 7", got)
	}
	if !p.Lossless(26) || p.Lossless(48) {
		t.Errorf("lossless: DSCP 26 %v, 48 %v, want true, false", p.Lossless(26), p.Lossless(48))
	}
	if got := p.FrameLimit(26); got != 1500 {
		t.Errorf("frame limit of DSCP 26 = %d, want 1500", got)
	}
	if got := p.FrameLimit(48); got != 9216 {
		t.Errorf("frame limit of DSCP 48 = %d, want 9216", got)
	}

	p.Trust, p.DefaultPriority = TrustNone, 0
	p.PriorityToQueue[0] = 0
	if p.Lossless(26) || p.Queue(26) != 0 {
		t.Errorf("untrusted: lossless %v, queue %d, want false, 0", p.Lossless(26), p.Queue(26))
	}
	p.Trust = TrustPCP
	if p.Priority(26) != Undefined || p.Queue(26) != Undefined {
		t.Error("with PCP trust the DSCP decided")
	}
}

func TestCloneSharesNothing(t *testing.T) {
	p := NewPort("a")
	p.Note("mtu", 3)
	p.Explain("mtu", "default")
	c := p.Clone()
	c.Note("mtu", 4)
	c.Explain("mtu", "stated")
	c.Queues[0].Min = units.KB
	if p.Lines["mtu"] != 3 || p.Reasons["mtu"] != "default" || p.Queues[0].Min != 0 {
		t.Errorf("original changed: %v %v %v", p.Lines, p.Reasons, p.Queues[0].Min)
	}
}

func TestRawBytes(t *testing.T) {
	// 1000 cells of 254 bytes; 5 percent of 40 MB.
	if low, high, ok := (Raw{Min: 1000, Max: 2000, Unit: "cells"}).Bytes(254, 0); !ok || low != 254_000 || high != 508_000 {
		t.Errorf("cells: %d %d %v", low, high, ok)
	}
	if low, high, ok := (Raw{Min: 5, Max: 20, Unit: "percent"}).Bytes(0, 40*units.MB); !ok || low != 2_000_000 || high != 8_000_000 {
		t.Errorf("percent: %d %d %v", low, high, ok)
	}
	for _, r := range []Raw{{Max: 1, Unit: "us"}, {Max: 1, Unit: "cells"}, {Max: 1}} {
		if _, _, ok := r.Bytes(0, 0); ok {
			t.Errorf("%+v converted without the fact that it needs", r)
		}
	}
}
