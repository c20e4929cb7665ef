package telemetry

import (
	"testing"

	"pgregory.net/rapid"
)

// A model of a counter of a source: it moves by less than half its range
// between readings, is read with gaps, wraps, is reset, and the reader
// restarts from what it stored. The sum of the rises of the stored values,
// where a fall counts from zero as PromQL does, is what the counter moved.
func TestExtendedFollowsTheCounter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.SampledFrom([]uint8{32, 64}).Draw(t, "bits")
		half := uint64(1) << (bits - 1)
		mask := half<<1 - 1
		raw := rapid.Uint64Range(0, mask).Draw(t, "first")
		if bits == 64 {
			// A 64-bit counter does not live to see its wrap.
			raw = rapid.Uint64Range(0, 1<<62).Draw(t, "first")
			half = 1 << 50
		}
		var e Extended
		stored := e.Add(bits, raw)
		var moved, seen uint64
		for range rapid.IntRange(1, 60).Draw(t, "readings") {
			switch rapid.SampledFrom([]string{"step", "step", "step", "restart", "reset", "still"}).Draw(t, "what") {
			case "step":
				d := rapid.Uint64Range(0, half-1).Draw(t, "by")
				raw = (raw + d) & mask
				moved += d
			case "restart":
				e = Extended{}
				e.Resume(bits, stored)
			case "reset":
				// A reset shows only if it does not look like a wrap.
				if raw >= half || raw == 0 {
					continue
				}
				raw = rapid.Uint64Range(0, raw-1).Draw(t, "from zero to")
				moved += raw
			}
			next := e.Add(bits, raw)
			if next >= stored {
				seen += next - stored
			} else {
				seen += next
			}
			stored = next
			if stored&mask != raw {
				t.Fatalf("extended %d is not %d modulo 2^%d", stored, raw, bits)
			}
		}
		if seen != moved {
			t.Fatalf("the stored values rose by %d, the counter by %d", seen, moved)
		}
	})
}

// The out_of_sequence counter of mlx5 is 32 bits wide: from 4294967290 to 5
// it moved by 11.
func TestExtendedWrap(t *testing.T) {
	var e Extended
	e.Add(32, 4294967290)
	if got := e.Add(32, 5); got != 4294967301 {
		t.Errorf("%d, want 4294967301", got)
	}
}
