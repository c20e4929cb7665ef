package qos

import (
	"testing"

	"weir/units"
)

// Validation target V25.
func TestHeadroomDriver(t *testing.T) {
	for _, c := range []struct {
		rate   units.BitRate
		length units.Metres
		mtu    units.Bytes
		want   units.Bytes
	}{
		{40 * units.Gbps, 10, 1500, 16_984},
		{100 * units.Gbps, 5, 1500, 35_260},
		{100 * units.Gbps, 100, 4096, 62_841},
		{400 * units.Gbps, 5, 4096, 135_861},
		{400 * units.Gbps, 100, 4096, 217_941},
		{100 * units.Gbps, 300, 9216, 119_968},
		{10 * units.Gbps, 10, 1500, 16_984}, // as at 40 Gb/s
	} {
		if got := HeadroomDriver(c.rate, c.length, c.mtu); got != c.want {
			t.Errorf("%v, %v, MTU %d: %d, want %d", c.rate, c.length, c.mtu, got, c.want)
		}
	}
	// 64 ports of 400 Gb/s with 100 m and one class: about 13.9 MB.
	if got := 64 * HeadroomDriver(400*units.Gbps, 100, 4096); got < 13_900_000 || got > 14_000_000 {
		t.Errorf("64 ports: %v", got)
	}
}

// Worked by hand: 12.5 B/ns at 100 Gb/s, 5 ns a metre.
func TestHeadroomFirstPrinciples(t *testing.T) {
	for _, c := range []struct {
		rate             units.BitRate
		metres           units.Metres
		reaction         units.Time
		sender, receiver units.Bytes
		want             units.Bytes
	}{
		{100 * units.Gbps, 5, 621_360, 4196, 4196, 16_784},       // 12.5 x 671.36 + 8392
		{400 * units.Gbps, 100, 510_560, 4196, 4196, 83_920},     // 50 x 1510.56 + 8392
		{100 * units.Gbps, 0, 0, 1500, 9000, 10_500},             // the frames alone
		{100 * units.Gbps, 0, 1, 0, 0, 1},                        // part of a byte counts as one
		{40 * units.Gbps, 300, units.Microsecond, 0, 64, 20_064}, // 5 x (3000 + 1000) + 64
		{100 * units.Gbps, 200, units.Microsecond, 0, 0, 37_500}, // the ns-3 models' 3 x rate x delay, with 1 us each
	} {
		got := HeadroomFirstPrinciples(c.rate, c.metres.PropagationDelay(), c.reaction, c.sender, c.receiver)
		if got != c.want {
			t.Errorf("%v, %v: %d, want %d", c.rate, c.metres, got, c.want)
		}
	}
}

// Validation target V26. Its figures hold for a worst case of 3 bytes of cells
// a byte of packets: 192-byte cells by the model's rule.
func TestSwitchOSHeadroom(t *testing.T) {
	for _, c := range []struct {
		rate   units.BitRate
		length units.Metres
		share  float64
		want   units.Bytes
	}{
		{100 * units.Gbps, 5, 0, 41_984},
		{100 * units.Gbps, 40, 0, 47_104},
		{100 * units.Gbps, 300, 0, 83_968},
		{400 * units.Gbps, 5, 0, 80_896},
		{400 * units.Gbps, 40, 0, 100_352},
		{400 * units.Gbps, 300, 0, 247_808},
		{100 * units.Gbps, 5, 1, 108_544},
		{100 * units.Gbps, 40, 1, 121_856},
		{100 * units.Gbps, 300, 1, 220_160},
		{400 * units.Gbps, 5, 1, 212_992},
		{400 * units.Gbps, 40, 1, 265_216},
		{400 * units.Gbps, 300, 1, 659_456},
	} {
		h := SwitchOSHeadroom{
			Rate: c.rate, Length: c.length, SmallShare: c.share,
			PortMTU: 9100, LosslessMTU: 1024, Cell: 192, Pipeline: 18 * units.KiB, MACPHY: 819, // 0.8 KiB
		}
		xoff, xon, size, ok := h.Compute()
		if !ok || xoff != c.want || xon != 18*units.KiB || size != c.want+18*units.KiB {
			t.Errorf("%v, %v, share %v: xoff %d, xon %d, size %d; want %d, 18432 and their sum", c.rate, c.length, c.share, xoff, xon, size, c.want)
		}
		// With eight lanes the pipeline is doubled (less 1 KiB), and one MTU is added.
		h.EightLanes = true
		if _, xon, size, _ := h.Compute(); xon != 35*units.KiB || size != c.want+35*units.KiB+9*units.KiB {
			t.Errorf("eight lanes: xon %d, size %d", xon, size)
		}
	}
	h := SwitchOSHeadroom{Rate: 1600 * units.Gbps, Cell: 192}
	if _, _, _, ok := h.Compute(); ok {
		t.Error("a rate without a tabulated reaction time has a headroom")
	}
	// Tile buffers hold rate/1000 x 120/8 bytes more: 6000 at 400 Gb/s.
	h = SwitchOSHeadroom{Rate: 400 * units.Gbps, PortMTU: 9100, LosslessMTU: 1024, Cell: 192, SmallShare: 1}
	without, _, _, _ := h.Compute()
	h.TileBuffer = true
	if with, _, _, _ := h.Compute(); with-without < 17*units.KiB || with-without > 18*units.KiB {
		t.Errorf("tile buffers add %d bytes, want 18000 to a KiB", with-without)
	}
}
