package sim_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkMachine measures what the simulator's speed depends on most: the
// latency of a dependent load from a working set of some size. Quote it beside
// every figure of packet-hops a second: on machines shared with others it
// changes by a factor of four within minutes.
func BenchmarkMachine(b *testing.B) {
	for _, megabytes := range []int{1, 4, 16, 64} {
		b.Run(fmt.Sprintf("load-from-%dMB", megabytes), func(b *testing.B) {
			const line = 64 / 4 // words of a cache line
			lines := megabytes << 20 / 64
			next := make([]uint32, lines*line)
			order := rand.New(rand.NewPCG(1, 2)).Perm(lines)
			for i, at := range order {
				next[at*line] = uint32(order[(i+1)%lines] * line)
			}
			at := uint32(0)
			for b.Loop() {
				at = next[at]
			}
			if at == 1 { // never: keeps the loads
				b.Fatal(at)
			}
		})
	}
}
