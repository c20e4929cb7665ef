package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A ParseError says what was found and which unit names are allowed.
type ParseError struct {
	Quantity string // "time", "size", "rate", "length", "share"
	Found    string
	Allowed  string
}

func (e *ParseError) Error() string {
	return fmt.Sprintf("%q is not a %s: %s", e.Found, e.Quantity, e.Allowed)
}

type unit struct {
	name  string
	scale float64
}

var timeUnits = []unit{{"ps", 1}, {"ns", 1e3}, {"us", 1e6}, {"µs", 1e6}, {"ms", 1e9}, {"s", 1e12}, {"m", 60e12}, {"min", 60e12}, {"h", 3600e12}}

// ParseTime reads a number with one of the units ps, ns, us, ms, s, min, h ("m" is minutes).
// A plain 0 needs no unit.
func ParseTime(s string) (Time, error) {
	v, err := parse(s, "time", "a number with unit ps, ns, us, ms, s, min or h, as in 30us", timeUnits)
	return Time(v), err
}

var sizeUnits = []unit{
	{"B", 1},
	{"KB", 1e3},
	{"kB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
}

// ParseBytes reads a number with one of the units B, KB, MB, GB, TB (decimal)
// or KiB, MiB, GiB, TiB (binary). A plain number is bytes.
func ParseBytes(s string) (Bytes, error) {
	const allowed = "a number with unit B, KB, MB, GB (1000) or KiB, MiB, GiB (1024), as in 150KB"
	if n, err := strconv.ParseInt(s, 10, 64); err == nil && n >= 0 {
		return Bytes(n), nil
	}
	v, err := parse(s, "size", allowed, sizeUnits)
	return Bytes(v), err
}

// ParseTestSize reads a size as the nccl-tests options -b and -e do: K, M and
// G are powers of 1024 there. The forms of ParseBytes are taken, too.
func ParseTestSize(s string) (Bytes, error) {
	switch {
	case strings.HasSuffix(s, "K"), strings.HasSuffix(s, "M"), strings.HasSuffix(s, "G"):
		return ParseBytes(s + "iB")
	case strings.HasSuffix(s, "k"), strings.HasSuffix(s, "m"), strings.HasSuffix(s, "g"):
		return ParseBytes(strings.ToUpper(s) + "iB")
	}
	return ParseBytes(s)
}

var rateUnits = []unit{
	{"bps", 1},
	{"kbps", 1e3},
	{"Kbps", 1e3},
	{"Mbps", 1e6},
	{"Gbps", 1e9},
	{"Tbps", 1e12},
	{"Mb/s", 1e6},
	{"Gb/s", 1e9},
	{"Tb/s", 1e12},
	{"M", 1e6},
	{"G", 1e9},
	{"T", 1e12},
}

// ParseBitRate reads a number with one of the units bps, kbps, Mbps, Gbps,
// Tbps (or Gb/s, G).
func ParseBitRate(s string) (BitRate, error) {
	v, err := parse(s, "rate", "a number with unit Mbps, Gbps or Tbps, as in 400Gbps", rateUnits)
	return BitRate(v), err
}

// ParseLength reads a cable length with one of the units m, cm, km.
func ParseLength(s string) (Metres, error) {
	const allowed = "a number with unit m, as in 30m"
	num, name := split(s)
	f, err := strconv.ParseFloat(num, 64)
	scale, ok := map[string]float64{"m": 1, "cm": 0.01, "km": 1000}[name]
	if err != nil || !ok || f < 0 || math.IsNaN(f) || f > 1e6 {
		return 0, &ParseError{"length", s, allowed}
	}
	return Metres(f * scale), nil
}

// ParseShare reads a share of one: "20%" or a plain number between 0 and 1.
func ParseShare(s string) (float64, error) {
	const allowed = "a percentage between 0% and 100% or a number between 0 and 1"
	num, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	f, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
	if percent {
		f /= 100
	}
	if err != nil || !(f >= 0 && f <= 1) {
		return 0, &ParseError{"share", s, allowed}
	}
	return f, nil
}

func split(s string) (num, name string) {
	s = strings.TrimSpace(s)
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	return s[:i], strings.TrimSpace(s[i:])
}

func parse(s, quantity, allowed string, table []unit) (int64, error) {
	num, name := split(s)
	f, err := strconv.ParseFloat(num, 64)
	if err != nil {
		return 0, &ParseError{quantity, s, allowed}
	}
	if f == 0 && name == "" {
		return 0, nil
	}
	for _, u := range table {
		if u.name == name {
			v := f * u.scale
			if v >= math.MaxInt64 {
				break
			}
			return int64(math.Round(v)), nil
		}
	}
	return 0, &ParseError{quantity, s, allowed}
}
