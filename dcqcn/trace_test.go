package dcqcn_test

import (
	"math"
	"testing"
	"unsafe"

	"weir/dcqcn"
	"weir/units"
)

const us = units.Microsecond

// within reports whether got is within the given share of want.
func within(got, want, share float64) bool { return math.Abs(got-want) <= share*math.Abs(want) }

// TestAdapterTrace is the trace of the firmware defaults: one CNP at line rate
// halves the rate 4 us later; 300 us after each step half of the rest comes
// back, since the target stays at line rate. Alpha halves in 141.6 us without a
// CNP. Worked out from NVIDIA's DCQCN parameter page.
func TestAdapterTrace(t *testing.T) {
	p := dcqcn.AdapterDefaults(100 * units.Gbps)
	var r dcqcn.Reaction
	r.Reset(&p)
	start := 17 * us // of no meaning
	r.CNP(&p, start)
	for _, c := range []struct {
		after units.Time
		gbps  float64
	}{
		{0, 100},
		{4*us - 1, 100},
		{4 * us, 50},
		{304*us - 1, 50},
		{304 * us, 75},
		{604 * us, 87.5},
		{904 * us, 93.75},
		{1204 * us, 96.875},
		{1504 * us, 98.4375},
		{1804 * us, 99.21875},
	} {
		if got := r.Rate(&p, start+c.after).Gigabits(); !within(got, c.gbps, 0.001) {
			t.Errorf("%v after the CNP: %v Gb/s, want %v", c.after, got, c.gbps)
		}
	}

	for _, c := range []struct {
		after units.Time
		alpha float64
	}{
		{0, 0.99902},       // 1023/1024
		{141_600_000, 0.5}, // half-life 141.6 us
		{300 * us, 0.230},
	} {
		r.Reset(&p)
		r.CNP(&p, start)
		if got := float64(r.Alpha(&p, start+c.after)) / (1 << 31); !within(got, c.alpha, 0.003) {
			t.Errorf("alpha %v after the CNP = %v, want %v", c.after, got, c.alpha)
		}
	}
}

// TestPaperTrace is the trace of the paper's settings at 40 Gb/s (SIGCOMM 2015,
// section 3): CNPs 50 us apart halve the rate each time, and after one cut each
// 55 us bring back half of the rest.
func TestPaperTrace(t *testing.T) {
	p := dcqcn.PaperDefaults(40 * units.Gbps)
	var r dcqcn.Reaction
	r.Reset(&p)
	for i, gbps := range []float64{20, 10, 5, 2.5, 1.25, 0.625} {
		now := units.Time(i) * 50 * us
		r.CNP(&p, now)
		if got := r.Rate(&p, now).Gigabits(); got != gbps {
			t.Errorf("after %d CNPs: %v Gb/s, want %v", i+1, got, gbps)
		}
	}
	r.Reset(&p)
	r.CNP(&p, 0)
	for i, gbps := range []float64{20, 30, 35, 37.5, 38.75, 39.375} {
		at := units.Time(i) * 55 * us
		if got := r.Rate(&p, at).Gigabits(); got != gbps {
			t.Errorf("%v after one CNP: %v Gb/s, want %v", at, got, gbps)
		}
	}
}

// TestPaperByteCounter: at 40 Gb/s the 10 MB counter fires every 2 ms, so with
// the timer off the first recovery step comes with the packet that completes
// 10 MB, and the fifth with that of 50 MB.
func TestPaperByteCounter(t *testing.T) {
	p := dcqcn.PaperDefaults(40 * units.Gbps)
	p.TimeReset = 0
	var r dcqcn.Reaction
	r.Reset(&p)
	r.CNP(&p, 0)
	now := units.Time(0)
	for i, gbps := range []float64{20, 30, 35, 37.5, 38.75, 39.375} {
		if got := r.Rate(&p, now).Gigabits(); got != gbps {
			t.Errorf("after %d MB: %v Gb/s, want %v", 10*i, got, gbps)
		}
		for range 10_000 { // 1000 bytes each
			next := r.Sent(&p, now, 1000)
			if next <= now {
				t.Fatalf("packet at %v, next at %v", now, next)
			}
			now = next
		}
	}
}

// TestCNPSpacing: a fully marked 40 Gb/s stream of 1500-byte frames has about
// 166 frames between two CNPs 50 us apart (a frame takes 300 ns).
func TestCNPSpacing(t *testing.T) {
	p := dcqcn.PaperDefaults(40 * units.Gbps)
	var n dcqcn.Notification
	last, frames := -1, 0
	for i := range 2000 {
		now := units.Time(i) * 300 * units.Nanosecond
		at, ok := n.Marked(&p, now)
		if !ok {
			continue
		}
		if at != now {
			t.Errorf("CNP of the mark at %v leaves at %v", now, at)
		}
		if last >= 0 && i-last != 167 {
			t.Errorf("%d frames from one CNP to the next, want 167", i-last)
		}
		last = i
		frames++
	}
	if frames != 12 { // 600 us
		t.Errorf("%d CNPs in 600 us, want 12", frames)
	}
}

// TestClamp: with clamp_tgt_rate off, a second cut that no increase preceded
// leaves the target alone; after an increase by timer it lowers it if
// clamp_tgt_rate_ati is on; with clamp_tgt_rate every cut lowers it.
func TestClamp(t *testing.T) {
	for _, c := range []struct {
		name                   string
		clamp, afterIncrease   bool
		first, second, delayed float64 // target in Gb/s after the first, the second (8 us later) and an increase and a third cut
	}{
		{"neither", false, false, 100, 100, 100},
		{"after increase", false, true, 100, 100, 62.6},
		{"always", true, false, 100, 50.05, 37.8},
	} {
		p := dcqcn.AdapterDefaults(100 * units.Gbps)
		p.ClampTarget, p.ClampAfterIncrease = c.clamp, c.afterIncrease
		var r dcqcn.Reaction
		r.Reset(&p)
		for i, step := range []struct {
			cnp  units.Time
			want float64
		}{{0, c.first}, {8 * us, c.second}, {350 * us, c.delayed}} {
			r.CNP(&p, step.cnp)
			r.Rate(&p, step.cnp+4*us)
			if got := r.Target().Gigabits(); !within(got, step.want, 0.01) {
				t.Errorf("%s: target after cut %d = %v Gb/s, want %v", c.name, i+1, got, step.want)
			}
		}
	}
}

// TestBounds: no cut below rp_min_rate, none at all with rp_min_dec_fac 100,
// none deeper than rp_min_dec_fac allows, and rp_rate_to_set_on_first_cnp.
func TestBounds(t *testing.T) {
	rate := func(change func(*dcqcn.Params), cnps int) float64 {
		p := dcqcn.AdapterDefaults(100 * units.Gbps)
		change(&p)
		var r dcqcn.Reaction
		r.Reset(&p)
		for i := range cnps {
			r.CNP(&p, units.Time(i)*4*us)
		}
		return r.Rate(&p, units.Time(cnps)*4*us).Gigabits()
	}
	for _, c := range []struct {
		name   string
		change func(*dcqcn.Params)
		cnps   int
		want   float64
	}{
		{"floor", func(p *dcqcn.Params) { p.MinRate = 10 * units.Gbps }, 50, 10},
		{"never cut", func(p *dcqcn.Params) { p.MinDecFac = 100 }, 50, 100},
		{"90 %", func(p *dcqcn.Params) { p.MinDecFac = 90 }, 2, 81},
		{"off", func(p *dcqcn.Params) { p.Enabled = false }, 5, 100},
		{"first CNP", func(p *dcqcn.Params) { p.FirstCNPRate = 20 * units.Gbps }, 1, 10.01},
	} {
		if got := rate(c.change, c.cnps); !within(got, c.want, 0.001) {
			t.Errorf("%s: %v Gb/s, want %v", c.name, got, c.want)
		}
	}
}

func TestSizesAndAllocation(t *testing.T) {
	if s := unsafe.Sizeof(dcqcn.Reaction{}); s > 96 {
		t.Errorf("Reaction takes %d bytes, want at most 96", s)
	}
	if s := unsafe.Sizeof(dcqcn.Notification{}); s != 8 {
		t.Errorf("Notification takes %d bytes, want 8", s)
	}
	p := dcqcn.AdapterDefaults(400 * units.Gbps)
	var r dcqcn.Reaction
	r.Reset(&p)
	now := units.Time(0)
	if n := testing.AllocsPerRun(1000, func() {
		r.CNP(&p, now)
		now = r.Sent(&p, now, 4096) + 40*us
	}); n != 0 {
		t.Errorf("%v allocations a packet, want 0", n)
	}
}

func BenchmarkSentAtLineRate(b *testing.B) {
	p := dcqcn.AdapterDefaults(400 * units.Gbps)
	var r dcqcn.Reaction
	r.Reset(&p)
	now := units.Time(0)
	for b.Loop() {
		now = r.Sent(&p, now, 4096)
	}
}

func BenchmarkSentLimited(b *testing.B) {
	p := dcqcn.AdapterDefaults(400 * units.Gbps)
	var r dcqcn.Reaction
	r.Reset(&p)
	now := units.Time(0)
	i := 0
	for b.Loop() {
		if i++; i%4096 == 0 {
			r.CNP(&p, now)
		}
		now = r.Sent(&p, now, 4096)
	}
}

func BenchmarkCNP(b *testing.B) {
	p := dcqcn.AdapterDefaults(400 * units.Gbps)
	var r dcqcn.Reaction
	r.Reset(&p)
	now := units.Time(0)
	for b.Loop() {
		r.CNP(&p, now)
		now += 50 * us
	}
}

// TestPacingAcrossIncreases: a packet sent at a very low rate does not hold the
// next one back for its whole time when the rate grows meanwhile. At 1 Mb/s with
// the target at 100 Gb/s, a packet of 4000 bytes (32 ms at that rate) is followed
// by the next soon after the first increase, to 50 Gb/s.
func TestPacingAcrossIncreases(t *testing.T) {
	for _, c := range []struct {
		variant dcqcn.Variant
		want    units.Time
	}{
		// 300 us at 1 Mb/s pass 37 bytes (rounded down); 3963 bytes at 50.0005 Gb/s
		// take 634.07 ns
		{dcqcn.Adapter, 300*us + 634_074},
		{dcqcn.NS3, 32 * units.Millisecond},
	} {
		p := dcqcn.AdapterDefaults(100 * units.Gbps)
		p.Variant = c.variant
		p.InitialAlpha, p.G, p.MinDecFac = 1024, 1023, 0
		var r dcqcn.Reaction
		r.Reset(&p)
		now := units.Time(0)
		for r.Rate(&p, now) > p.MinRate {
			r.CNP(&p, now)
			now += 4 * us
		}
		if got := r.Sent(&p, now, 4000) - now; got < c.want-10 || got > c.want+10 {
			t.Errorf("variant %d: next packet after %v, want %v", c.variant, got, c.want)
		}
	}
}
