// Package units holds the quantities that every part of weir computes with:
// simulated time in picoseconds, sizes in bytes, rates in bits per second and
// cable lengths in metres, with the text forms that configuration files use
// ("30us", "150KB", "16MiB", "400Gbps", "30m").
//
// All of them are integers. The packet path never uses floating point, whose
// results differ between builds.
package units

import (
	"math"
	"math/bits"
	"strconv"
)

// Time is a point or a span of time in picoseconds. Its range is about 106
// days each side of zero. One byte at 800 Gb/s lasts 10 ps, so serialisation
// times of all Ethernet rates are whole numbers, or nearly so.
type Time int64

// The usual spans.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond

	// Never is later than every time that a simulation reaches.
	Never Time = math.MaxInt64
)

// Seconds returns t in seconds. For reports, not for the packet path.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

// Microseconds returns t in microseconds. For reports, not for the packet path.
func (t Time) Microseconds() float64 { return float64(t) / float64(Microsecond) }

// String prints t in the largest unit that leaves at least one whole digit,
// with up to three decimals: "83.84ns", "8us", "-1.5s".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	a := t
	if a < 0 {
		a = -a
	}
	for _, u := range [...]struct {
		unit Time
		name string
	}{{Second, "s"}, {Millisecond, "ms"}, {Microsecond, "us"}, {Nanosecond, "ns"}} {
		if a >= u.unit {
			return trimFloat(float64(t)/float64(u.unit), 3) + u.name
		}
	}
	return strconv.FormatInt(int64(t), 10) + "ps"
}

// BitRate is a rate in bits per second.
type BitRate int64

// The usual rates.
const (
	BitPerSecond BitRate = 1
	Kbps                 = 1000 * BitPerSecond
	Mbps                 = 1000 * Kbps
	Gbps                 = 1000 * Mbps
)

// Gigabits returns r in Gb/s. For reports.
func (r BitRate) Gigabits() float64 { return float64(r) / float64(Gbps) }

// String prints r in the largest unit that leaves at least one whole digit.
func (r BitRate) String() string {
	switch {
	case r >= Gbps:
		return trimFloat(float64(r)/float64(Gbps), 3) + "Gbps"
	case r >= Mbps:
		return trimFloat(float64(r)/float64(Mbps), 3) + "Mbps"
	case r >= Kbps:
		return trimFloat(float64(r)/float64(Kbps), 3) + "kbps"
	}
	return strconv.FormatInt(int64(r), 10) + "bps"
}

// TransmitTime returns the time that n bytes take at rate r, rounded to the
// nearest picosecond. r must be positive. It does not overflow for results
// below Never.
func (r BitRate) TransmitTime(n Bytes) Time {
	hi, lo := bits.Mul64(uint64(n), 8*uint64(Second))
	lo, carry := bits.Add64(lo, uint64(r)/2, 0)
	hi += carry
	if hi >= uint64(r) {
		return Never
	}
	q, _ := bits.Div64(hi, lo, uint64(r))
	if q > math.MaxInt64 {
		return Never
	}
	return Time(q)
}

// BytesIn returns how many whole bytes pass at rate r in t. t must not be negative.
func (r BitRate) BytesIn(t Time) Bytes {
	hi, lo := bits.Mul64(uint64(t), uint64(r))
	q, _ := bits.Div64(hi, lo, 8*uint64(Second))
	return Bytes(q)
}

// Pace is the time that one byte takes, in picoseconds scaled by 2^20: a
// rate prepared for the packet path, where a division would cost too much.
type Pace uint64

const paceShift = 20

// Pace returns the pace of rate r. r must be positive.
func (r BitRate) Pace() Pace {
	hi, lo := bits.Mul64(8*uint64(Second), 1<<paceShift)
	lo, carry := bits.Add64(lo, uint64(r)/2, 0)
	hi += carry
	if hi >= uint64(r) {
		return math.MaxUint64
	}
	q, _ := bits.Div64(hi, lo, uint64(r))
	return Pace(q)
}

// Time returns the time of n bytes at this pace. It is exact where a byte takes
// whole picoseconds (10, 25, 40, 50, 100, 200, 400 and 800 Gb/s); at other rates
// of 1 Gb/s and up it is within a picosecond of TransmitTime for n up to 64 KiB.
func (p Pace) Time(n uint32) Time {
	hi, lo := bits.Mul64(uint64(p), uint64(n))
	lo, carry := bits.Add64(lo, 1<<(paceShift-1), 0)
	hi += carry
	if hi>>paceShift != 0 {
		return Never
	}
	return Time((hi<<(64-paceShift) | lo>>paceShift) &^ (1 << 63))
}
