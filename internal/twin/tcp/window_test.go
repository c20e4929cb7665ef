package tcp

import (
	"math"
	"testing"

	"weir/units"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got-want) > tolerance*math.Abs(want) {
		t.Errorf("%s: %.4f, want %.4f within %g %%", what, got, want, 100*tolerance)
	}
}

// After a loss at 100 segments, CUBIC's window is 0.4 (t-K)^3 + 100 with
// K = cbrt(100 x 0.3 / 0.4) = 4.217 s (RFC 9438, figures 1 and 2).
func TestCubicCurve(t *testing.T) {
	const mss, rtt = 1000, 100 * units.Millisecond
	var w Window
	w.Reset(CUBIC, mss, 100)
	w.Lost()
	near(t, "segments after the loss", float64(w.Bytes())/mss, 70, 0.001)
	want := map[int]float64{100: 86.68, 200: 95.64, 422: 100, 520: 100.4}
	for i := 0; i <= 520; i++ { // an acknowledgement every 10 ms
		w.Grow(units.Time(i)*10*units.Millisecond, w.Bytes()/10, rtt)
		if seg, ok := want[i]; ok {
			near(t, "segments", float64(w.Bytes())/mss, seg, 0.01)
		}
	}
}

// With short round trips CUBIC grows as Reno would after the same cuts: 0.529
// segments a round trip (3 x 0.3 / 1.7), and a whole one beyond the window
// before the cut.
func TestCubicIsFriendly(t *testing.T) {
	const mss, rtt = 1000, 50 * units.Microsecond
	var w Window
	w.Reset(CUBIC, mss, 100)
	w.Lost()
	for i := range 1000 {
		now := units.Time(i) * rtt / 10
		w.Grow(now, w.Bytes()/10, rtt)
	}
	// 30 segments at 0.529 take 56.7 rounds, the other 43.3 add one each.
	near(t, "segments after 100 round trips", float64(w.Bytes())/mss, 143.3, 0.02)
}

// A second loss below the last maximum releases room to others: the plateau
// moves to 0.85 of the window (fast convergence).
func TestFastConvergence(t *testing.T) {
	var w Window
	w.Reset(CUBIC, 1000, 100)
	w.Lost()
	w.Lost()
	near(t, "plateau", w.wMax, 70_000*0.85, 0.001)
	near(t, "window", w.size, 49_000, 0.001)
}

func TestRenoAddsOneARound(t *testing.T) {
	var w Window
	w.Reset(Reno, 1000, 100)
	w.Lost()
	for range 20 {
		for range 50 {
			w.Grow(0, w.Bytes()/50, 0)
		}
	}
	near(t, "segments", float64(w.Bytes())/1000, 70, 0.01)
}

// alpha is (15/16)^n after n rounds without a mark, and comes back to the share
// of marked bytes (RFC 8257, section 3.3).
func TestDCTCPAlpha(t *testing.T) {
	var w Window
	w.Reset(DCTCP, 1000, 10)
	una := uint64(0)
	round := func(share float64) {
		una += 10_000
		w.Notice(10_000, uint64(10_000*share), una, una+10_000)
	}
	for range 16 {
		round(0)
	}
	near(t, "alpha after 16 rounds", w.Alpha(), 0.3561, 0.001)
	for range 200 {
		round(0.25)
	}
	near(t, "alpha", w.Alpha(), 0.25, 0.001)
	before := w.Bytes()
	round(0.25)
	if got, want := w.Bytes(), max(before*7/8, 2000); got > want+1 || got+1 < want {
		t.Errorf("a marked round took the window from %d to %d, want %d", before, got, want)
	}
}

// Alone at a step threshold of W segments, alpha is about sqrt(2/W) (Alizadeh
// et al., SIGCOMM 2010, section 3.3): 0.141 at 100.
func TestDCTCPAtAStep(t *testing.T) {
	const mss, limit = 1000, 100
	var w Window
	w.Reset(DCTCP, mss, limit)
	w.threshold = w.size
	var una uint64
	var sum float64
	const rounds = 4000
	for i := range rounds {
		n := w.Bytes()
		una += n
		marked := uint64(0)
		if n > limit*mss {
			marked = n
		}
		if !w.Notice(n, marked, una, una+n) {
			w.Grow(0, n, 0)
		}
		if i >= rounds/2 {
			sum += w.Alpha()
		}
	}
	near(t, "alpha", sum/(rounds/2), 0.141, 0.20)
}
