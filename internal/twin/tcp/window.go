package tcp

import (
	"math"

	"weir/units"
)

// Control is a congestion control.
type Control uint8

// The controls.
const (
	CUBIC Control = iota
	DCTCP
	Reno
)

// Constants of RFC 9438 (sections 4.6 and 5), RFC 8257 (3.3) and RFC 5681.
const (
	cubicBeta = 0.7
	cubicC    = 0.4 // segments per second cubed
	renoBeta  = 0.5
	dctcpGain = 1.0 / 16
)

// Window is a congestion window. All amounts are in bytes.
type Window struct {
	control        Control
	mss            float64
	size           float64
	threshold      float64 // of slow start
	leastThreshold float64

	// CUBIC. A time of Never: no epoch.
	epoch    units.Time
	wMax, k  float64 // bytes; seconds
	estimate float64 // of Reno's window
	prior    float64 // window before the last cut
	reached  bool    // the estimate has passed prior

	// DCTCP: share of marked bytes, smoothed; of the round under way.
	alpha         float64
	acked, marked float64
	roundEnd      uint64
	cutUntil      uint64 // no cut before this is acknowledged
}

// Reset makes a window of so many segments.
func (w *Window) Reset(control Control, mss, segments uint32) {
	*w = Window{
		control: control, mss: float64(mss), size: float64(mss) * float64(segments), threshold: math.Inf(1),
		leastThreshold: 2 * float64(mss), epoch: units.Never, alpha: 1,
	}
}

// Bytes returns the window.
func (w *Window) Bytes() uint64 { return uint64(w.size) }

// Alpha returns DCTCP's smoothed share of marked bytes.
func (w *Window) Alpha() float64 { return w.alpha }

// SlowStart reports whether the window grows by slow start.
func (w *Window) SlowStart() bool { return w.size < w.threshold }

// Grow counts bytes that were acknowledged outside of recovery while the
// window held the sender back. rtt is the smoothed round-trip time.
func (w *Window) Grow(now units.Time, bytes uint64, rtt units.Time) {
	n := float64(bytes)
	if w.size < w.threshold {
		w.size += n
		if w.size <= w.threshold {
			return
		}
		n = w.size - w.threshold
		w.size = w.threshold
	}
	if w.control == CUBIC {
		w.cubic(now, n, rtt)
		return
	}
	w.size += float64(w.mss*n) / w.size
}

// cubic is congestion avoidance by RFC 9438, section 4.2 to 4.5. Products are
// converted so that no machine fuses them into their sums.
func (w *Window) cubic(now units.Time, n float64, rtt units.Time) {
	if w.epoch == units.Never {
		w.epoch, w.estimate = now, w.size
		w.k = 0
		if w.size < w.wMax {
			w.k = math.Cbrt((w.wMax - w.size) / float64(cubicC*w.mss))
		} else {
			w.wMax = w.size
		}
	}
	gain := 3 * (1 - cubicBeta) / (1 + cubicBeta)
	if w.reached {
		gain = 1
	}
	w.estimate += float64(gain*n*w.mss) / w.size
	if w.estimate >= w.prior {
		w.reached = true
	}
	if w.at(now) < w.estimate { // where Reno would be faster
		w.size = max(w.size, w.estimate)
		return
	}
	target := min(max(w.at(now+rtt), w.size), 1.5*w.size)
	w.size += float64((target-w.size)*n) / w.size
}

// at is W_cubic of RFC 9438 (figure 1) in bytes.
func (w *Window) at(now units.Time) float64 {
	d := (now - w.epoch).Seconds() - w.k
	return float64(cubicC*w.mss*d*d*d) + w.wMax
}

// Lost cuts the window for a loss that duplicate acknowledgements told.
func (w *Window) Lost() { w.cut(w.beta()) }

func (w *Window) beta() float64 {
	if w.control == CUBIC {
		return cubicBeta
	}
	return renoBeta
}

func (w *Window) cut(beta float64) {
	w.prior = w.size
	if w.size < w.wMax && w.control == CUBIC { // fast convergence
		w.wMax = w.size * (1 + beta) / 2
	} else {
		w.wMax = w.size
	}
	w.threshold = max(w.size*beta, w.leastThreshold)
	w.size = w.threshold
	w.epoch, w.reached = units.Never, false
}

// TimedOut closes the window to one segment.
func (w *Window) TimedOut() {
	w.cut(w.beta())
	w.size = w.mss
}

// Notice takes the marks of an acknowledgement: bytes newly acknowledged, how
// many of them were marked, and the sender's limits after it. It reports
// whether the window was cut (DCTCP; RFC 8257, section 3.3).
func (w *Window) Notice(bytes, marked, una, next uint64) (cut bool) {
	if w.control != DCTCP {
		return false
	}
	w.acked += float64(bytes)
	w.marked += float64(min(marked, bytes))
	if una >= w.roundEnd {
		if w.acked > 0 {
			w.alpha = float64((1-dctcpGain)*w.alpha) + float64(dctcpGain*w.marked)/w.acked
		}
		w.acked, w.marked, w.roundEnd = 0, 0, next
	}
	if marked == 0 || una < w.cutUntil {
		return false
	}
	w.cutUntil = next
	w.threshold = max(w.size*(1-w.alpha/2), w.leastThreshold)
	w.size = w.threshold
	return true
}
