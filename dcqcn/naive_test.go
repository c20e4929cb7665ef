package dcqcn_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"weir/dcqcn"
	"weir/units"
)

// naive is the reaction point as a description would have it: three timers
// that count down in steps of 100 ns, and real numbers. It follows the rules,
// not the code, of package dcqcn.
type naive struct {
	p                          *dcqcn.Params
	alpha, rate, target        float64 // Gb/s
	alphaIn, checkIn, raiseIn  int     // steps to go; 0: off
	cnpForAlpha, cnpForCut, on bool
	alphaAtCNP                 float64
	stage                      int
}

const stepTime = 100 * units.Nanosecond

func steps(t units.Time) int { return int(t / stepTime) }

func newNaive(p *dcqcn.Params) *naive {
	return &naive{p: p, alpha: float64(p.InitialAlpha) / 1024, rate: p.LineRate.Gigabits(), target: p.LineRate.Gigabits()}
}

func (n *naive) cnp() {
	if n.p.Variant == dcqcn.Paper {
		n.on = true
		n.target = n.rate
		n.rate = math.Max(n.rate*(1-n.alpha/2), n.p.MinRate.Gigabits())
		n.alpha = n.alpha*n.g() + 1 - n.g()
		n.alphaIn = steps(n.p.AlphaPeriod)
		n.raiseIn = steps(n.p.TimeReset)
		n.stage = 0
		return
	}
	if !n.on {
		n.on = true
		n.alphaIn, n.checkIn = steps(n.p.AlphaPeriod), steps(n.p.ReducePeriod)
	} else {
		n.cnpForAlpha = true
	}
	n.cnpForCut = true
	n.alphaAtCNP = n.alpha
}

func (n *naive) g() float64 { return float64(n.p.G) / 1024 }

// tick lets one step pass.
func (n *naive) tick() {
	if !n.on {
		return
	}
	if n.alphaIn--; n.alphaIn == 0 {
		n.alphaIn = steps(n.p.AlphaPeriod)
		n.alpha *= n.g()
		if n.cnpForAlpha {
			n.alpha += 1 - n.g()
		}
		n.cnpForAlpha = false
	}
	if n.raiseIn > 0 {
		if n.raiseIn--; n.raiseIn == 0 {
			n.raiseIn = steps(n.p.TimeReset)
			if n.stage == int(n.p.Threshold) {
				n.target += n.p.AIRate.Gigabits()
			} else if n.stage > int(n.p.Threshold) {
				n.target += n.p.HAIRate.Gigabits()
			}
			n.target = math.Min(n.target, n.p.LineRate.Gigabits())
			n.rate = (n.rate + n.target) / 2
			n.stage++
		}
	}
	if n.p.Variant == dcqcn.Paper {
		return
	}
	if n.checkIn--; n.checkIn == 0 {
		n.checkIn = steps(n.p.ReducePeriod)
		if !n.cnpForCut {
			return
		}
		n.cnpForCut = false
		alpha, clampAfter := n.alphaAtCNP, n.p.ClampAfterIncrease
		if n.p.Variant == dcqcn.NS3 {
			alpha, clampAfter = n.alpha, true
		}
		if n.p.ClampTarget || clampAfter && n.stage > 0 {
			n.target = n.rate
		}
		lower := n.rate * (1 - alpha/2)
		n.rate = math.Max(math.Max(lower, n.rate*float64(n.p.MinDecFac)/100), n.p.MinRate.Gigabits())
		n.stage = 0
		n.raiseIn = steps(n.p.TimeReset)
	}
}

// TestAgainstNaive holds the lazy reaction point against the naive one over
// random settings and CNP times, in all variants. The rate is looked at
// at random times only, so that many timers expire unseen in between.
func TestAgainstNaive(t *testing.T) {
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 55))
		line := []units.BitRate{25, 100, 400}[rnd.IntN(3)] * units.Gbps
		var p dcqcn.Params
		switch seed % 3 {
		case 0:
			p = dcqcn.AdapterDefaults(line)
		case 1:
			p = dcqcn.NS3Defaults(line)
		case 2:
			p = dcqcn.PaperDefaults(line)
			p.ByteReset = 0
		}
		if rnd.IntN(2) == 0 {
			p.TimeReset = units.Time(4+rnd.IntN(60)) * us
			p.AIRate, p.HAIRate = units.BitRate(rnd.IntN(900))*units.Mbps, units.BitRate(rnd.IntN(3000))*units.Mbps
			p.Threshold = uint32(rnd.IntN(7))
			p.ClampTarget, p.ClampAfterIncrease = rnd.IntN(2) == 0, rnd.IntN(2) == 0
		}
		if p.Variant == dcqcn.Paper {
			// the naive phases count by timer alone, as the package without a byte counter
			p.HAIRate = p.AIRate
		}
		n := newNaive(&p)
		var r dcqcn.Reaction
		r.Reset(&p)
		busy := true
		for step := range 60_000 { // 6 ms
			now := units.Time(step) * stepTime
			if step > 0 {
				n.tick()
			}
			if rnd.IntN(3000) == 0 {
				busy = !busy
			}
			if busy && rnd.IntN(100) == 0 {
				n.cnp()
				r.CNP(&p, now)
			}
			if rnd.IntN(500) == 0 {
				if got := r.Rate(&p, now).Gigabits(); math.Abs(got-n.rate) > 1e-6*n.rate+100e-9 { // whole bits a second here, not there
					t.Fatalf("seed %d (%+v): rate at %v = %v Gb/s, want %v", seed, p, now, got, n.rate)
				}
				if got := float64(r.Alpha(&p, now)) / (1 << 31); math.Abs(got-n.alpha) > 1e-6 {
					t.Fatalf("seed %d (%+v): alpha at %v = %v, want %v", seed, p, now, got, n.alpha)
				}
			}
		}
	}
}

// TestIdle: looking once after a long time is the same as looking all the time.
func TestIdle(t *testing.T) {
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 56))
		p := dcqcn.AdapterDefaults(400 * units.Gbps)
		p.AIRate, p.HAIRate = units.BitRate(rnd.IntN(9_999_999)), units.BitRate(rnd.IntN(99_999_999))
		p.Threshold = uint32(rnd.IntN(10))
		p.ClampAfterIncrease = rnd.IntN(2) == 0
		if rnd.IntN(2) == 0 {
			p.ByteReset = 1 << 40 // on, but never reached
		}
		var often, once dcqcn.Reaction
		often.Reset(&p)
		once.Reset(&p)
		now := units.Time(0)
		for range 5 {
			for range rnd.IntN(40) {
				often.CNP(&p, now)
				once.CNP(&p, now)
				now += 4 * us
			}
			idle := units.Time(rnd.Int64N(int64(4 * units.Second)))
			for at := now; at < now+idle; at += 299 * us {
				often.Rate(&p, at)
			}
			now += idle
			if a, b := often.Rate(&p, now), once.Rate(&p, now); a != b {
				t.Fatalf("seed %d: rate after %v idle: %v when looked at often, %v when once", seed, idle, a, b)
			}
		}
	}
}
