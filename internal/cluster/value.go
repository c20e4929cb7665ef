package cluster

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/units"
)

// parse reads the text of a scalar of kind k. The error is a clause pair
// (found, allowed) in the form of units.ParseError.
func (k *key) parse(s string) (value, error) {
	if k.auto != "" && s == k.auto {
		return value{s: s}, nil
	}
	v, err := k.parseKind(s)
	if err != nil {
		return value{}, err
	}
	return v, k.inRange(s, v)
}

type clauseError struct{ found, allowed string }

func (e *clauseError) Error() string { return e.found + ": " + e.allowed }

func (k *key) parseKind(s string) (v value, err error) {
	switch k.kind {
	case count:
		v.i, err = strconv.ParseInt(s, 10, 64)
	case number:
		v.f, err = strconv.ParseFloat(s, 64)
		if err == nil && (math.IsNaN(v.f) || math.IsInf(v.f, 0)) {
			err = errors.New("not finite")
		}
	case size:
		var b units.Bytes
		b, err = units.ParseBytes(s)
		v.i = int64(b)
	case testSize:
		var b units.Bytes
		b, err = units.ParseTestSize(s)
		v.i = int64(b)
	case micros:
		var t units.Time
		if _, e := strconv.ParseUint(s, 10, 32); e == nil {
			s += "us"
		}
		t, err = units.ParseTime(s)
		v.i = int64(t)
	case duration:
		var t units.Time
		t, err = units.ParseTime(s)
		v.i = int64(t)
	case megabits:
		var r units.BitRate
		if _, e := strconv.ParseUint(s, 10, 32); e == nil {
			s += "Mbps"
		}
		r, err = units.ParseBitRate(s)
		v.i = int64(r)
	case rate:
		var r units.BitRate
		r, err = units.ParseBitRate(s)
		v.i = int64(r)
	case length:
		var m units.Metres
		m, err = units.ParseLength(s)
		v.f = float64(m)
	case share:
		v.f, err = units.ParseShare(s)
	case frequency:
		v.f, err = parseFrequency(s)
	case toggle:
		switch s {
		case "true":
			v.i = 1
		case "false":
		default:
			err = errors.New("not a truth value")
		}
	case text:
		v.s = s
		if len(s) > maxText {
			err = errors.New("too long")
		}
	case name:
		v.s = s
		if !validName(s) {
			err = errors.New("not a name")
		}
	case choice:
		for _, c := range k.choices {
			if c == s {
				return value{s: s}, nil
			}
		}
		err = errors.New("not a choice")
	}
	if err == nil {
		return v, nil
	}
	what := kindNames[k.kind]
	if k.kind == choice || k.kind == toggle {
		return value{}, &clauseError{"found " + k.name + " " + quoted(s), "allowed " + k.allowed() + Nearest(s, k.choices)}
	}
	return value{}, &clauseError{quoted(s) + " is not a " + what, k.allowed()}
}

// inRange checks the limits of numbers.
func (k *key) inRange(s string, v value) error {
	x := v.f
	if k.whole() {
		x = float64(v.i)
	}
	switch k.kind {
	case mapping, list, table, share, toggle, text, name, choice:
		return nil
	}
	if x < k.min || k.max != 0 && x > k.max || len(k.choices) > 0 && !slices.Contains(k.choices, k.format(v)) {
		return &clauseError{"found " + k.name + " " + oneLine(s), "allowed " + k.limitsText()}
	}
	return nil
}

// format writes v so that parse returns exactly v again.
func (k *key) format(v value) string {
	if k.auto != "" && v.s == k.auto {
		return v.s
	}
	switch {
	case k.kind == toggle:
		return strconv.FormatBool(v.i != 0)
	case k.whole():
		return formatWhole(k.kind, v.i)
	}
	switch k.kind {
	case number:
		return trimNumber(v.f)
	case length:
		if s := units.Metres(v.f).String(); roundTrips(k, s, v) {
			return s
		}
		return trimNumber(v.f) + "m"
	case share:
		if s := trimNumber(math.Round(v.f*1e6)/1e4) + "%"; roundTrips(k, s, v) {
			return s
		}
		return trimNumber(v.f)
	case frequency:
		if s := trimNumber(v.f/1e9) + "GHz"; roundTrips(k, s, v) {
			return s
		}
		return trimNumber(v.f) + "Hz"
	}
	return v.s
}

func roundTrips(k *key, s string, v value) bool {
	w, err := k.parseKind(s)
	return err == nil && w == v
}

func formatWhole(kd kind, i int64) string {
	var s, base string
	switch kd {
	case size, testSize:
		s, base = units.Bytes(i).String(), strconv.FormatInt(i, 10)
	case duration, micros:
		s, base = units.Time(i).String(), strconv.FormatInt(i, 10)+"ps"
	case rate, megabits:
		s, base = units.BitRate(i).String(), strconv.FormatInt(i, 10)+"bps"
	default:
		return strconv.FormatInt(i, 10)
	}
	if k := (&key{kind: kd}); roundTrips(k, s, value{i: i}) {
		return s
	}
	return base
}

func trimNumber(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

func parseFrequency(s string) (float64, error) {
	for _, u := range [...]struct {
		name  string
		scale float64
	}{{"GHz", 1e9}, {"MHz", 1e6}, {"Hz", 1}} {
		if num, ok := strings.CutSuffix(s, u.name); ok {
			f, err := strconv.ParseFloat(strings.TrimSpace(num), 64)
			if err != nil || !(f > 0 && f <= 1e12/u.scale) {
				return 0, errors.New("not a frequency")
			}
			return f * u.scale, nil
		}
	}
	return 0, errors.New("no unit")
}

// validName keeps names clear of the characters that places are written with
// (/, ~, comma, @) and of anything that would need quoting; "." and ".." name
// no file of their own.
func validName(s string) bool {
	if s == "" || len(s) > maxText || s == "." || s == ".." {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '.', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

// Nearest returns `; did you mean "x"?` for the closest of names, if one is close.
func Nearest(s string, names []string) string {
	best, dist := "", len(s)/2+1
	for _, n := range names {
		if d := distance(strings.ToLower(s), strings.ToLower(n)); d < dist {
			best, dist = n, d
		}
	}
	if best == "" {
		return ""
	}
	return `; did you mean "` + best + `"?`
}

// distance is the edit distance in which a swap of neighbours counts one.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
