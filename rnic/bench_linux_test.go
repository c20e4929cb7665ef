package rnic

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"weir/test/netns"
)

// vethPair opens a device in each of two namespaces with a cable between them.
func vethPair(b *testing.B) (da, db *Device, na, nb *netns.Namespace) {
	na, nb = netns.New(b), netns.New(b)
	netns.Join(na, nb, "v0", "v1", "10.83.0.1/24", "10.83.0.2/24", 4300)
	var err error
	na.Do(func() { da, err = Open(Config{Addr: netip.MustParseAddr("10.83.0.1"), Segmentation: true}) })
	if err != nil {
		b.Fatal(err)
	}
	nb.Do(func() { db, err = Open(Config{Addr: netip.MustParseAddr("10.83.0.2"), Segmentation: true}) })
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { da.Close(); db.Close() })
	return da, db, na, nb
}

const benchMessage = 1 << 20

// BenchmarkVethWrite: WRITEs of 1 MiB at path MTU 4096 between two namespaces.
func BenchmarkVethWrite(b *testing.B) {
	da, db, na, nb := vethPair(b)
	buf := make([]byte, benchMessage)
	mr, err := db.AllocPD().RegisterMR(buf, RemoteWrite)
	if err != nil {
		b.Fatal(err)
	}
	cq, other := da.CreateCQ(64), db.CreateCQ(64)
	qa, err := da.AllocPD().CreateQP(QPConfig{SendCQ: cq, RecvCQ: cq, MaxSend: 32})
	if err != nil {
		b.Fatal(err)
	}
	qb, err := mr.pd.CreateQP(QPConfig{SendCQ: other, RecvCQ: other})
	if err != nil {
		b.Fatal(err)
	}
	path := DefaultPath()
	path.MTU, path.Window = 4096, 512
	na.Do(func() { err = qa.Connect(Peer{Addr: db.Addr(), QPN: qb.Number(), PSN: qb.PSN()}, path) })
	if err != nil {
		b.Fatal(err)
	}
	nb.Do(func() { err = qb.Connect(Peer{Addr: da.Addr(), QPN: qa.Number(), PSN: qa.PSN()}, path) })
	if err != nil {
		b.Fatal(err)
	}
	r := SendRequest{Op: OpWrite, Data: make([]byte, benchMessage), RemoteAddr: mr.Addr(), RKey: mr.RKey()}
	b.SetBytes(benchMessage)
	b.ReportAllocs()
	b.ResetTimer()
	var c [32]Completion
	posted, done := 0, 0
	for done < b.N {
		for posted < b.N && posted-done < 16 {
			if err := qa.PostSend(&r); err != nil {
				b.Fatal(err)
			}
			posted++
		}
		if err := cq.Wait(context.Background()); err != nil {
			b.Fatal(err)
		}
		n := cq.Poll(c[:])
		for _, x := range c[:n] {
			if x.Status != Success {
				b.Fatal(x.Status)
			}
		}
		done += n
	}
	b.StopTimer()
	b.ReportMetric(float64(da.Counters().Retransmitted)/float64(b.N), "again/op")
}

// BenchmarkVethPlain is what BenchmarkVethWrite is held against: the same
// sockets, batches and trains of the same packets, without any protocol: nothing
// is copied in or out, checked or acknowledged. The rate counts what arrived.
func BenchmarkVethPlain(b *testing.B) {
	na, nb := netns.New(b), netns.New(b)
	netns.Join(na, nb, "v0", "v1", "10.83.0.1/24", "10.83.0.2/24", 4300)
	src, dst := netip.MustParseAddr("10.83.0.1"), netip.MustParseAddr("10.83.0.2")
	var sa, sb *socket
	var err error
	p := &path{dst: dst, srcPort: 50000, gso: true}
	na.Do(func() {
		if sa, err = openSocket(&Config{}, src); err == nil {
			err = sa.sender(p)
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	nb.Do(func() { sb, err = openSocket(&Config{}, dst) })
	if err != nil {
		b.Fatal(err)
	}
	defer sa.release()
	defer sb.release()
	var tx batch
	tx.init(1 << 19)
	const packet = 4112 // WRITE MIDDLE at path MTU 4096
	for tx.room() {
		tx.add(p, 106, packet)
	}
	perBatch := tx.used
	stop, arrived := make(chan struct{}), make(chan int)
	go func() {
		sum := 0
		for {
			n := sb.receive()
			for i := range n {
				sum += int(sb.msgs[i].len)
			}
			if n == 0 {
				select {
				case <-stop:
					arrived <- sum
					return
				default:
					sb.wait(0, 1e9) // 1 ms
				}
			}
		}
	}()
	b.SetBytes(benchMessage)
	b.ReportAllocs()
	b.ResetTimer()
	start := time.Now()
	for sent := 0; sent < b.N*benchMessage; sent += perBatch {
		sa.send(&tx)
	}
	took := time.Since(start)
	b.StopTimer()
	close(stop)
	b.ReportMetric(float64(<-arrived)/took.Seconds()/1e6, "arrived-MB/s")
}
