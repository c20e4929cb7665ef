package roce

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// Every length and alignment, against hash/crc32.
func TestCRCRest(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	buf := make([]byte, 1200)
	for i := range buf {
		buf[i] = byte(rnd.Uint32())
	}
	for n := range 1100 {
		state, at := rnd.Uint32(), rnd.IntN(64)
		b := buf[at : at+n]
		want := crc32.Update(^state, crc32.IEEETable, b)
		if got := crcRest(state, b); got != want {
			t.Fatalf("%d bytes: %08x, want %08x", n, got, want)
		}
		if s, k := fold(state, b); k > 0 {
			if got, want := ^s, crc32.Update(^state, crc32.IEEETable, b[:k]); got != want {
				t.Fatalf("folding %d bytes: %08x, want %08x", k, got, want)
			}
		}
	}
}
