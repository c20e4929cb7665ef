package fluid_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"weir/dcqcn"
	"weir/dcqcn/fluid"
	"weir/units"
)

// paper is the setting of the published figures: 1000-byte packets, marking from
// 5 to 200 KB up to 1 %.
func paper(rate units.BitRate) fluid.Model {
	p := dcqcn.PaperDefaults(rate)
	return fluid.New(&p, rate, 1000, 5*units.KB, 200*units.KB, 0.01)
}

// TestFixedPoint: the literals solve theorem 1 of the paper; they were computed
// independently. Tolerances are 0.1 % and half of the last digit.
func TestFixedPoint(t *testing.T) {
	for _, c := range []struct {
		gbps                   units.BitRate
		flows                  int
		p, q, approxP, approxQ float64 // probability, KB
	}{
		{40, 2, 7.77e-4, 20.2, 9.25e-4, 23.0},
		{40, 4, 1.888e-3, 41.8, 2.320e-3, 50.2},
		{40, 6, 3.162e-3, 66.7, 3.977e-3, 82.5},
		{40, 8, 4.552e-3, 93.8, 5.832e-3, 118.7},
		{40, 10, 6.032e-3, 122.6, 7.849e-3, 158.0},
		{40, 12, 7.586e-3, 152.9, 0, 0}, // the approximation is just above 1 %
		{100, 2, 0, 9.7, 0, 10.4},
		{100, 8, 0, 32.7, 0, 38.6},
		{100, 16, 0, 71.9, 0, 89.5},
	} {
		m := paper(c.gbps * units.Gbps)
		check := func(what string, got, want, digit float64) {
			if want != 0 && math.Abs(got-want) > max(0.001*want, 0.51*digit) {
				t.Errorf("%d flows at %dG: %s %.6g, want %g", c.flows, c.gbps, what, got, want)
			}
		}
		exact, err := m.FixedPoint(c.flows)
		if err != nil {
			t.Fatal(err)
		}
		check("p", exact.Mark, c.p, 1e-6)
		check("queue", float64(exact.Queue)/1000, c.q, 0.1)
		approx, err := m.Approximation(c.flows)
		if err != nil {
			t.Fatal(err)
		}
		check("approximate p", approx.Mark, c.approxP, 1e-6)
		check("approximate queue", float64(approx.Queue)/1000, c.approxQ, 0.1)
	}
}

// TestPinned: from some number of flows on, they ask for more marking than the
// curve has, and the queue stays at KMax.
func TestPinned(t *testing.T) {
	m := paper(40 * units.Gbps)
	for _, c := range []struct {
		flows int
		p     float64
	}{{16, 0.0109}, {32, 0.0256}, {64, 0.059}} {
		got, err := m.FixedPoint(c.flows)
		if err != nil || !got.Pinned || got.Queue != 200*units.KB || math.Abs(got.Mark-c.p) > 0.0001 {
			t.Errorf("%d flows: %+v, %v; want p %v, pinned at 200 KB", c.flows, got, err, c.p)
		}
	}
}

// TestPhaseMargin: published data of the paper's figures for R_AI 40 Mb/s (the
// data files behind figure 3; delays 1, 50 and 100 us), and for 10 Mb/s.
// Tolerance 0.1 degrees.
func TestPhaseMargin(t *testing.T) {
	for _, c := range []struct {
		ai      units.BitRate
		delay   units.Time
		margins map[int]float64
	}{
		{40 * units.Mbps, 0, map[int]float64{2: 26.62, 10: 4.72, 20: 9.63, 40: 27.37}},
		{40 * units.Mbps, units.Microsecond, map[int]float64{
			2: 26.257, 4: 13.124, 6: 7.4356, 8: 5.1522, 10: 4.5296, 12: 4.7344, 20: 9.4219, 40: 27.135, 64: 43.193, 100: 56.147}},
		{40 * units.Mbps, 10 * units.Microsecond, map[int]float64{2: 22.95, 10: 2.49, 20: 7.52, 40: 25.04}},
		{40 * units.Mbps, 25 * units.Microsecond, map[int]float64{2: 17.44, 10: -0.91, 20: 4.34, 40: 21.55}},
		{40 * units.Mbps, 50 * units.Microsecond, map[int]float64{
			2: 8.2626, 4: -0.75215, 10: -6.5844, 20: -0.95129, 40: 15.73, 64: 29.548, 100: 39.811}},
		{40 * units.Mbps, 100 * units.Microsecond, map[int]float64{2: -10.099, 4: -14.912, 10: -17.925, 20: -11.536, 40: 4.0933, 100: 23.142}},
		{10 * units.Mbps, 25 * units.Microsecond, map[int]float64{2: 48.766, 10: 16.796, 20: 7.8742, 40: 11.579, 100: 33.732}},
	} {
		m := paper(40 * units.Gbps)
		m.AIRate = c.ai
		for flows, want := range c.margins {
			got, err := m.PhaseMargin(flows, c.delay)
			if err != nil || !(math.Abs(got-want) <= 0.1) {
				t.Errorf("R_AI %v, %d flows, delay %v: phase margin %.3f (%v), want %v", c.ai, flows, c.delay, got, err, want)
			}
		}
	}
}

func TestSettings(t *testing.T) {
	good := paper(40 * units.Gbps)
	for name, change := range map[string]func(*fluid.Model){
		"rate":    func(m *fluid.Model) { m.Rate = 0 },
		"curve":   func(m *fluid.Model) { m.KMax = m.KMin },
		"PMax":    func(m *fluid.Model) { m.PMax = math.NaN() },
		"counter": func(m *fluid.Model) { m.ByteReset = 0 },
		"AI":      func(m *fluid.Model) { m.AIRate = 0 },
	} {
		m := good
		change(&m)
		if _, err := m.FixedPoint(2); !errors.Is(err, fluid.ErrSettings) {
			t.Errorf("%s: FixedPoint gives error %v, want ErrSettings", name, err)
		}
		if _, err := m.PhaseMargin(2, 0); !errors.Is(err, fluid.ErrSettings) {
			t.Errorf("%s: PhaseMargin gives error %v, want ErrSettings", name, err)
		}
	}
	if _, err := good.Approximation(0); !errors.Is(err, fluid.ErrSettings) {
		t.Errorf("no flows: error %v, want ErrSettings", err)
	}
}

func Example() {
	p := dcqcn.PaperDefaults(40 * units.Gbps)
	m := fluid.New(&p, 40*units.Gbps, 1000, 5*units.KB, 200*units.KB, 0.01)
	for _, flows := range []int{2, 10, 64} {
		point, _ := m.FixedPoint(flows)
		margin, _ := m.PhaseMargin(flows, 50*units.Microsecond)
		fmt.Printf("%2d flows: queue %.1f KB, pinned %v, phase margin %.0f degrees\n",
			flows, float64(point.Queue)/1000, point.Pinned, margin)
	}
	// Output:
	//  2 flows: queue 20.2 KB, pinned false, phase margin 8 degrees
	// 10 flows: queue 122.6 KB, pinned false, phase margin -7 degrees
	// 64 flows: queue 200.0 KB, pinned true, phase margin 30 degrees
}
