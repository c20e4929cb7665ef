package units

import "strconv"

// Bytes is a size in bytes.
type Bytes int64

// The decimal and the binary multiples. Configuration text keeps them apart:
// KB is 1000, KiB is 1024.
const (
	Byte Bytes = 1
	KB         = 1000 * Byte
	MB         = 1000 * KB
	GB         = 1000 * MB
	KiB        = 1024 * Byte
	MiB        = 1024 * KiB
	GiB        = 1024 * MiB
)

// String prints b in the largest unit, binary or decimal, that divides it, or
// else in decimal units with up to three decimals.
func (b Bytes) String() string {
	if b == 0 {
		return "0B"
	}
	for _, u := range [...]struct {
		unit Bytes
		name string
	}{{GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}, {GB, "GB"}, {MB, "MB"}, {KB, "KB"}} {
		if b%u.unit == 0 {
			return strconv.FormatInt(int64(b/u.unit), 10) + u.name
		}
	}
	switch a := max(b, -b); {
	case a >= GB:
		return trimFloat(float64(b)/float64(GB), 3) + "GB"
	case a >= MB:
		return trimFloat(float64(b)/float64(MB), 3) + "MB"
	case a >= KB:
		return trimFloat(float64(b)/float64(KB), 3) + "KB"
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

// Metres is a cable length.
type Metres float64

// PropagationDelay returns the one-way delay of l metres of cable at 5 ns a
// metre, the usual figure for fibre (refractive index about 1.5) and copper.
func (l Metres) PropagationDelay() Time {
	return Time(float64(l)*5*float64(Nanosecond) + 0.5)
}

// String prints the length in metres.
func (l Metres) String() string { return trimFloat(float64(l), 3) + "m" }

func trimFloat(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	for len(s) > 0 && s[len(s)-1] == '0' {
		s = s[:len(s)-1]
	}
	if len(s) > 0 && s[len(s)-1] == '.' {
		s = s[:len(s)-1]
	}
	return s
}
