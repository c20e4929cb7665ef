package fluid

import (
	"math"
	"math/cmplx"

	"weir/units"
)

// PhaseMargin returns the phase margin in degrees of the model linearised at its
// approximate fixed point, for a given delay of the feedback loop: below zero,
// flows and queue oscillate. It is NaN when the gain never is 1.
//
// As in the published computation, the fixed point is that of Approximation, and
// alpha follows the marking probability with the rate constant g C/N.
func (m *Model) PhaseMargin(flows int, delay units.Time) (float64, error) {
	u, err := m.inPackets(flows)
	if err != nil {
		return 0, err
	}
	loop := u.loop(m.PMax * float64(m.Packet) / float64(m.KMax-m.KMin))
	gain := func(w float64) float64 { return math.Log(cmplx.Abs(loop(complex(0, w)))) }

	margin := math.NaN()
	const perDecade, from, to = 200, 1e-1, 1e8 // radians a second
	step := math.Pow(10, 1./perDecade)
	for w := from; w < to; w *= step {
		if (gain(w) > 0) == (gain(w*step) > 0) {
			continue
		}
		low, high := w, w*step
		for range 60 {
			if mid := math.Sqrt(low * high); (gain(mid) > 0) == (gain(w) > 0) {
				low = mid
			} else {
				high = mid
			}
		}
		phase := cmplx.Phase(loop(complex(0, low)))*180/math.Pi - low*delay.Seconds()*180/math.Pi
		pm := math.Remainder(phase+180, 360)
		if math.IsNaN(margin) || math.Abs(pm) < math.Abs(margin) {
			margin = pm
		}
	}
	return margin, nil
}

// loop returns the open-loop transfer function from a flow's rate to itself,
// without its delay. slope is that of the marking curve, per packet of queue.
//
// With x the deviation of the rate, y that of the target, z that of alpha and q
// that of the marking probability (appendix A):
//
//	s x = byMark q + byLate x + byNow x - p R^2/2 z + byTarget y
//	s y = -p R y + (p R + A ai) x + targetLate x + targetMark q
//	s z = g R (q - z)
//	s q = N slope x
//
// where q, and x in the terms named late, come after the delay.
func (u *inPackets) loop(slope float64) func(complex128) complex128 {
	p, r := u.approximation(), u.r
	a := 1/u.b + 1/(u.t*r)
	_, c := recoveries(p, u.b, u.f)
	_, e := recoveries(p, u.t*r, u.f)
	target := r * (1 + (c+e)*u.tau*u.ai/marked(p, u.tau*r))
	alpha := marked(p, u.alpha*r)

	half := 0.5 + a/4
	byMark := -r*r*alpha/2 - half*r*target + half*r*r
	byLate := -p*r*alpha/2 - a*r/2 + half*p*r
	byNow := -p*r*alpha/2 - a*r/2 + a*target/2 + half*p*r - half*p*target
	byTarget := a*r/2 - half*p*r

	stages := 1 + 2*u.f + a/2
	targetNow := p*r + a*u.ai
	targetLate := -p*target + p*r + a*u.ai - stages*u.ai*p
	targetMark := -r*target + r*r - stages*u.ai*r

	return func(s complex128) complex128 {
		mark := complex(u.n*slope, 0) / s // q for x
		toAlpha := complex(u.g*r, 0) / (s + complex(u.g*r, 0))
		toTarget := complex(byTarget, 0) / (s + complex(p*r, 0))
		late := complex(byMark, 0)*mark + complex(byLate, 0) -
			complex(p*r*r/2, 0)*toAlpha*mark +
			toTarget*(complex(targetLate, 0)+complex(targetMark, 0)*mark)
		now := s - complex(byNow, 0) - toTarget*complex(targetNow, 0)
		return -late / now
	}
}
