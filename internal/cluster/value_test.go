package cluster

import (
	"math"
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// What format writes, parse reads as the same value.
func TestFormatParse(t *testing.T) {
	for _, kd := range []kind{count, size, testSize, duration, micros, rate, megabits, number, length, share, frequency, toggle} {
		k := &key{kind: kd}
		rapid.Check(t, func(t *rapid.T) {
			var v value
			switch {
			case kd == toggle:
				v.i = rapid.Int64Range(0, 1).Draw(t, "v")
			case k.whole():
				// Up to 2^53: unit.Parse computes in float64.
				v.i = rapid.Int64Range(0, 1<<53).Draw(t, "v")
			case kd == share:
				v.f = rapid.Float64Range(0, 1).Draw(t, "v")
			case kd == length:
				v.f = rapid.Float64Range(0, 1e5).Draw(t, "v")
			default:
				v.f = rapid.Float64Range(1, 1e12).Draw(t, "v")
			}
			s := k.format(v)
			got, err := k.parse(s)
			if err != nil || got != v {
				t.Fatalf("%s %v: %q reads as %v, %v", kindNames[kd], v, s, got, err)
			}
		})
	}
}

// The patterns of the schema accept just what the parser accepts.
func TestPatternsAgree(t *testing.T) {
	for kd, pattern := range map[kind]string{size: sizePattern, testSize: testSizePattern, duration: timePattern, rate: ratePattern, length: lengthPattern, share: sharePattern, frequency: frequencyPattern} {
		re := regexp.MustCompile(pattern)
		k := &key{kind: kd}
		rapid.Check(t, func(t *rapid.T) {
			num := rapid.SampledFrom([]string{"", "0", "1", "7", "10", "99", "100", "101", "150", "1.5", ".5", "5.", ".", "1.2.3", "-1", "0.2", "1.0", "1.1"}).Draw(t, "number")
			unit := rapid.SampledFrom([]string{"", "B", "KB", "kB", "KiB", "kiB", "MB", "mb", "GiB", "TiB", "K", "k", "M", "m", "G", "g", "ps", "ns", "us", "µs", "ms", "s", "min", "h", "bps", "Kbps", "Gbps", "Gb/s", "kb/s", "T", "cm", "km", "mm", "%", "Hz", "MHz", "GHz", "XB"}).Draw(t, "unit")
			s := rapid.SampledFrom([]string{"", " "}).Draw(t, "before") + num + rapid.SampledFrom([]string{"", " ", "  "}).Draw(t, "between") + unit
			_, err := k.parse(s)
			// A plain number is a matter of YAML's types, which the schema tells apart before.
			if plain := regexp.MustCompile(`^\s*[0-9.]+\s*$`).MatchString(s); plain && kd != share {
				return
			}
			if zero := regexp.MustCompile(`^\s*0*\.?0*\s*[a-zA-Z]*$`).MatchString(s) && kd == frequency; zero {
				return // 0 Hz is refused by range, not by form
			}
			if re.MatchString(s) != (err == nil) {
				t.Fatalf("%s %q: pattern %v, parser %v", kindNames[kd], s, re.MatchString(s), err)
			}
		})
	}
}

func TestNearest(t *testing.T) {
	for _, tt := range []struct{ s, want string }{
		{"alhpa", `; did you mean "alpha"?`}, {"Alpha", `; did you mean "alpha"?`}, {"buffers", `; did you mean "buffer"?`}, {"zzzz", ""},
	} {
		if got := Nearest(tt.s, []string{"alpha", "buffer", "os"}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.s, got, tt.want)
		}
	}
}

func TestMixIsSpread(t *testing.T) {
	const n, draws = 16, 16000
	var hist [n]int
	for i := uint64(0); i < draws; i++ {
		hist[below(42, i, n)]++
	}
	// 1000 a bin, standard deviation about 31.
	for b, h := range hist {
		if math.Abs(float64(h)-draws/n) > 150 {
			t.Errorf("bin %d has %d of %d", b, h, draws)
		}
	}
}
