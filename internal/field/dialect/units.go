package dialect

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"weir/internal/qos"
	"weir/units"
)

// KByte is what "kbytes" of a command line counts. Vendors' manuals do not
// say whether it is 1000 or 1024; Onyx and Cumulus, which print the same
// threshold both ways, mean 1000. The difference of 2.4 % is below the
// rounding of the hardware's own cells.
const KByte = units.KB

// Threshold turns a pair of thresholds in vendors' units into bytes, or keeps
// them as Raw where only the switch's model data could. Either may be 0.
func Threshold(q *qos.Queue, low float64, lowUnit string, high float64, highUnit string) {
	lowScale, lowName := unitScale(lowUnit)
	highScale, highName := unitScale(highUnit)
	if lowName == "" && highName == "" {
		q.Min, q.Max, q.Raw = byteCount(low*lowScale), byteCount(high*highScale), qos.Raw{}
		return
	}
	name := highName
	if lowName != highName {
		name = cmp.Or(lowName, "bytes") + "/" + cmp.Or(highName, "bytes")
	}
	q.Raw = qos.Raw{Min: low * lowScale, Max: high * highScale, Unit: name}
}

// unitScale returns the bytes of a unit, or for units that are not of size
// the name that Raw gives it.
func unitScale(unit string) (float64, string) {
	switch strings.ToLower(unit) {
	case "", "byte", "bytes", "b":
		return 1, ""
	case "kbyte", "kbytes", "kb":
		return float64(KByte), ""
	case "mbyte", "mbytes", "mb":
		return float64(units.MB), ""
	case "us", "microseconds":
		return 1, "us"
	case "ms", "milliseconds":
		return 1000, "us"
	}
	return 1, strings.ToLower(unit)
}

func byteCount(v float64) units.Bytes {
	if !(v >= 0) || v > math.MaxInt64/2 {
		return 0
	}
	return units.Bytes(math.Round(v))
}

// Bits returns the priorities of a mask in rising order.
func Bits(mask uint8) []int {
	var out []int
	for p := range 8 {
		if mask>>p&1 == 1 {
			out = append(out, p)
		}
	}
	return out
}

// Mask returns the mask of a list of priorities; ok is false for one above 7.
func Mask(list []int) (mask uint8, ok bool) {
	for _, p := range list {
		if p < 0 || p > 7 {
			return 0, false
		}
		mask |= 1 << p
	}
	return mask, true
}

// Key names a numbered setting in qos.Port's Lines and Reasons: "dscp.26".
func Key[N ~int | ~uint8](setting string, n N) string {
	return setting + "." + strconv.Itoa(int(n))
}
