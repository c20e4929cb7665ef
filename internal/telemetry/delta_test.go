package telemetry

import (
	"testing"

	"pgregory.net/rapid"

	"weir/units"
)

func TestStep(t *testing.T) {
	const top = 1<<32 - 1
	for _, tt := range []struct {
		name          string
		bits          uint8
		before, after uint64
		moved         uint64
		reset         bool
	}{
		{"still", 64, 7, 7, 0, false},
		{"up", 64, 7, 9, 2, false},
		{"wrap of 32 bits", 32, top, 4, 5, false},
		{"wrap from the upper half", 32, 3 << 30, 1 << 29, 1<<30 + 1<<29, false},
		{"reset below the upper half", 32, 1 << 31 >> 1, 5, 5, true},
		{"too far around: a reset", 32, 1 << 31, 1<<31 - 1, 1<<31 - 1, true},
		{"64 bits never wrap in practice", 64, 1 << 40, 3, 3, true},
		{"64 bits at the very end", 64, 1<<64 - 1, 1, 2, false},
		{"reset to zero", 64, 100, 0, 0, true},
	} {
		if moved, reset := Step(tt.bits, tt.before, tt.after); moved != tt.moved || reset != tt.reset {
			t.Errorf("%s: %d %v, want %d %v", tt.name, moved, reset, tt.moved, tt.reset)
		}
	}
}

// A counter that wraps, read often enough, loses nothing.
func TestWrapLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]uint8{32, 64}).Draw(t, "bits")
		mask := uint64(1)<<32 - 1
		if bits == 64 {
			mask = ^uint64(0)
		}
		start := rapid.Uint64().Draw(t, "start") & mask
		steps := rapid.SliceOfN(rapid.Uint64Range(0, 1<<31-1), 1, 20).Draw(t, "steps")
		var a Accumulator
		value, sum := start, uint64(0)
		a.Add(bits, 0, value)
		for i, s := range steps {
			value = (value + s) & mask
			sum += s
			a.Add(bits, units.Time(i+1), value)
		}
		d, ok := a.Delta()
		if !ok || d.Value != sum || d.Resets != 0 || d.Span != units.Time(len(steps)) {
			t.Fatalf("%+v %v, want %d", d, ok, sum)
		}
	})
}

// With resets the sum is what was counted after each, and never more than the
// counter really moved.
func TestResets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Accumulator
		var value, want, true_ uint64
		resets := uint32(0)
		a.Add(64, 0, value)
		for i := range rapid.IntRange(1, 20).Draw(t, "n") {
			up := rapid.Uint64Range(0, 1000).Draw(t, "up")
			if rapid.Bool().Draw(t, "reset") {
				lost := rapid.Uint64Range(0, 1000).Draw(t, "lost") // counted before the reset, never read
				true_ += lost
				if up < value {
					resets++
					want += up
				} else {
					want += up - value // a reset that cannot be seen
				}
				value = up
			} else {
				value += up
				want += up
			}
			true_ += up
			a.Add(64, units.Time(i+1), value)
		}
		d, _ := a.Delta()
		if d.Value != want || d.Resets != resets || d.Value > true_ {
			t.Fatalf("%+v, want %d with %d resets, at most %d", d, want, resets, true_)
		}
	})
}

func TestGap(t *testing.T) {
	var a Accumulator
	if _, ok := a.Delta(); ok {
		t.Error("a delta of nothing")
	}
	a.Add(64, 10, 5)
	if _, ok := a.Delta(); ok {
		t.Error("a delta of one reading")
	}
	a.Gap()
	a.Add(64, 20, 50)
	if _, ok := a.Delta(); ok {
		t.Error("a delta across a gap")
	}
	a.Add(64, 30, 52)
	a.Add(64, 30, 99) // not later
	a.Gap()
	a.Add(64, 40, 90)
	if d, ok := a.Delta(); !ok || d != (Delta{Value: 2, Span: 10}) {
		t.Errorf("%+v %v", d, ok)
	}
	if r := (Delta{Value: 3, Span: 2 * units.Second}).PerSecond(); r != 1.5 {
		t.Errorf("rate %g", r)
	}
}
