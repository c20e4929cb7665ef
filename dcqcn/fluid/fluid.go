// Package fluid computes what theory says of DCQCN at one bottleneck: the queue
// and the marking probability at which equal flows settle, and how stable that
// state is. It uses real numbers, and is for expectations and tests; nothing
// that is simulated depends on it.
//
// Source of the model: Zhu, Ghobadi, Misra and Padhye, ECN or Delay: Lessons
// Learnt from Analysis of DCQCN and TIMELY, CoNEXT 2016, section 3 and
// appendix A.
package fluid

import (
	"errors"
	"math"

	"weir/dcqcn"
	"weir/units"
)

// Model is a bottleneck and the settings of the flows through it. Rates count
// packets of one size.
type Model struct {
	Rate        units.BitRate // of the bottleneck
	Packet      units.Bytes   // size of every packet
	KMin, KMax  units.Bytes   // marking begins; marking is certain
	PMax        float64       // marking probability at KMax, up to 1
	CNPInterval units.Time    // tau: a marked flow gets one CNP in this time
	AlphaPeriod units.Time    // tau'
	TimeReset   units.Time    // T: increase timer
	ByteReset   units.Bytes   // B: byte counter
	Threshold   int           // F: fast-recovery rounds
	AIRate      units.BitRate // R_AI
	G           float64       // weight of news in alpha
}

// New returns the model of flows with settings p, of the Paper variant, through a
// bottleneck with the given marking curve.
func New(p *dcqcn.Params, bottleneck units.BitRate, packet, kmin, kmax units.Bytes, pmax float64) Model {
	return Model{
		Rate: bottleneck, Packet: packet, KMin: kmin, KMax: kmax, PMax: pmax,
		CNPInterval: p.MinTimeBetweenCNPs, AlphaPeriod: p.AlphaPeriod,
		TimeReset: p.TimeReset, ByteReset: p.ByteReset, Threshold: int(p.Threshold),
		AIRate: p.AIRate, G: 1 - float64(p.G)/1024,
	}
}

// ErrSettings is returned for a model with settings that are not positive, or
// for less than one flow.
var ErrSettings = errors.New("fluid: rates, sizes, times, marking curve and number of flows must be positive")

// inPackets are a model's settings in packets and seconds.
type inPackets struct {
	c, r        float64 // bottleneck, share of one flow
	b, ai, f, g float64
	tau, alpha  float64
	t           float64
	n           float64
}

func (m *Model) inPackets(flows int) (inPackets, error) {
	if flows < 1 || m.Rate <= 0 || m.Packet <= 0 || m.KMin < 0 || m.KMax <= m.KMin || !(m.PMax > 0 && m.PMax <= 1) ||
		m.CNPInterval <= 0 || m.AlphaPeriod <= 0 || m.TimeReset <= 0 || m.ByteReset < m.Packet || m.Threshold < 0 ||
		m.AIRate <= 0 || !(m.G > 0 && m.G <= 1) {
		return inPackets{}, ErrSettings
	}
	size := 8 * float64(m.Packet)
	u := inPackets{
		c: float64(m.Rate) / size, n: float64(flows),
		b: float64(m.ByteReset) / float64(m.Packet), ai: float64(m.AIRate) / size, f: float64(m.Threshold), g: m.G,
		tau: m.CNPInterval.Seconds(), alpha: m.AlphaPeriod.Seconds(), t: m.TimeReset.Seconds(),
	}
	u.r = u.c / u.n
	return u, nil
}

// Point is a state in which all flows keep their rates.
type Point struct {
	Mark  float64     // marking probability
	Queue units.Bytes // at the bottleneck
	// Pinned: the flows ask for more marking than PMax, so the queue stays just
	// below KMax, where the curve jumps to 1; Queue is KMax then.
	Pinned bool
}

func (m *Model) point(p float64) Point {
	if p > m.PMax {
		return Point{p, m.KMax, true}
	}
	return Point{p, m.KMin + units.Bytes(math.Round(p/m.PMax*float64(m.KMax-m.KMin))), false}
}

// FixedPoint returns the state at which the given number of equal flows settle
// (theorem 1): the only marking probability at which the cuts by CNPs balance the
// recovery by byte counter and timer.
func (m *Model) FixedPoint(flows int) (Point, error) {
	u, err := m.inPackets(flows)
	if err != nil {
		return Point{}, err
	}
	want := math.Log(u.tau * u.tau * u.ai * u.r)
	low, high := math.Log(1e-15), math.Log(0.999)
	for range 200 {
		mid := (low + high) / 2
		if u.balance(math.Exp(mid)) < want {
			low = mid
		} else {
			high = mid
		}
	}
	return m.point(math.Exp(low)), nil
}

// marked is the probability that a mark falls into n packets.
func marked(p, n float64) float64 { return -math.Expm1(n * math.Log1p(-p)) }

// recoveries returns how often, per packet, n packets in a row pass without a
// mark, so that the rate is raised, and how often f such runs went before, so that
// the raise is additive.
func recoveries(p, n, f float64) (all, additive float64) {
	l := math.Log1p(-p)
	all = p / math.Expm1(-n*l)
	return all, all * math.Exp(f*n*l)
}

// balance is the logarithm of the left side of the paper's equation for p*.
func (u *inPackets) balance(p float64) float64 {
	b, c := recoveries(p, u.b, u.f)
	d, e := recoveries(p, u.t*u.r, u.f)
	return 2*math.Log(marked(p, u.tau*u.r)) + math.Log(marked(p, u.alpha*u.r)) - math.Log(b+d) - math.Log(c+e)
}

// Approximation returns the state by the paper's closed form for small p, the
// cube root of R_AI N^2 / (tau' C^2) (1/B + N/(T C))^2.
func (m *Model) Approximation(flows int) (Point, error) {
	u, err := m.inPackets(flows)
	if err != nil {
		return Point{}, err
	}
	return m.point(u.approximation()), nil
}

func (u *inPackets) approximation() float64 {
	events := 1/u.b + u.n/(u.t*u.c)
	return math.Cbrt(u.ai * u.n * u.n / (u.alpha * u.c * u.c) * events * events)
}
