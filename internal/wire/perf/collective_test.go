//go:build linux

package perf

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"weir/internal/collective"
	"weir/units"
)

// TestCollectives runs each operation between ranks over loopback sockets and
// checks every byte of the results.
func TestCollectives(t *testing.T) {
	for i, tt := range []struct {
		op    collective.Op
		algo  collective.Algorithm
		ranks int
	}{
		{collective.AllReduce, collective.Auto, 3}, {collective.AllReduce, collective.Tree, 4}, {collective.AllGather, collective.Auto, 3},
		{collective.ReduceScatter, collective.Auto, 4}, {collective.AllToAll, collective.Auto, 3}, {collective.Broadcast, collective.Auto, 3},
	} {
		t.Run(fmt.Sprint(tt.op, tt.algo), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
			defer cancel()
			ended := make(chan error, tt.ranks)
			c := Collective{
				Op: tt.op, Algorithm: tt.algo, Ranks: tt.ranks, Iterations: 2,
				Sizes: []units.Bytes{960, 60_000, 3_000_000}, Addr: netip.AddrFrom4([4]byte{127, 85, byte(i), 1}),
				Start: func(int) (io.WriteCloser, io.Reader, error) {
					inR, inW := io.Pipe()
					outR, outW := io.Pipe()
					go func() { ended <- ServeRank(ctx, inR, outW) }()
					return inW, outR, nil
				},
			}
			rows := 0
			if err := c.Run(func(r Row) error {
				rows++
				if r.Wrong != 0 || r.Time <= 0 || r.BusBW <= 0 || len(strings.Fields(r.String())) != 13 {
					t.Errorf("%+v\n%v", r, r)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if rows != 3 {
				t.Errorf("%d rows", rows)
			}
			for range tt.ranks {
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		})
	}
}
