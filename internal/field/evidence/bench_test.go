package evidence

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
)

// lines yields the lines of make(i) one after the other, total bytes in all,
// without holding them.
type lines struct {
	make  func(i int) string
	total int64
	i     int
	rest  string
}

func (l *lines) Read(p []byte) (int, error) {
	if l.rest == "" {
		if l.total <= 0 {
			return 0, io.EOF
		}
		l.rest = l.make(l.i)
		l.i++
		l.total -= int64(len(l.rest))
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func (l *lines) Close() error { return nil }

// jobLog makes the log of a large job: mostly lines that NCCL repeats for
// every channel, between lines of the training program.
func jobLog(i int) string {
	rank := i / 7 % 1024
	head := fmt.Sprintf("gpu%03d:%d:%d [%d] ", rank/8, 4000+rank%8, 9000+rank%8, rank%8)
	switch i % 7 {
	case 0, 1, 2:
		return fmt.Sprintf("%sNCCL INFO Channel %02d/0 : %d[%d] -> %d[%d] [send] via NET/IB/%d/GDRDMA\n", head, i/7168%32, rank, rank%8, (rank+8)%1024, rank%8, rank%8)
	case 3:
		return fmt.Sprintf("%sNCCL INFO NCCL_IB_TIMEOUT set by environment to 22.\n", head)
	case 4:
		return fmt.Sprintf("[%d] step %d loss %.4f tokens per second %d\n", rank, i, 1.0/float64(i+1), i*7%1000)
	case 5:
		return fmt.Sprintf("%sNCCL INFO NET/IB: NCCL Dev %d IbDev %d Port 1 qpn %d mtu 5 GID 3 (0/%X0A0AFFFF0000) fifoRkey=0x1\n", head, rank%8, rank%8, i, rank+4096)
	}
	return fmt.Sprintf("%stransport/net_ib.cc:1093 NCCL WARN NET/IB : Got completion from peer 10.0.%d.5<33092> with status=12 opcode=0 len=0 vendor err 129 (Recv) localGid ::ffff:10.0.0.2 remoteGids::ffff:10.0.0.1 hca mlx5_%d\n", head, rank%256, rank%8)
}

func benchmarkLines(b *testing.B, make func(i int) string) {
	const size = 4 << 20
	b.SetBytes(size)
	for b.Loop() {
		in := Input{Name: "x", Open: func() (io.ReadCloser, error) { return &lines{make: make, total: size}, nil }}
		if _, err := Read(context.Background(), Parsers(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkJobLog(b *testing.B) { benchmarkLines(b, jobLog) }

func BenchmarkUnknownLines(b *testing.B) {
	benchmarkLines(b, func(i int) string { return fmt.Sprintf("%d some words of a program that nobody knows %d\n", i, i*31) })
}

func BenchmarkBlankLines(b *testing.B) {
	benchmarkLines(b, func(int) string { return "\n" })
}

func BenchmarkCounters(b *testing.B) {
	head := "NIC statistics:\n" + strings.Repeat("     rx_prio3_bytes: 123456789012\n     rx5_packets: 5\n", 200)
	benchmarkLines(b, func(int) string { return head })
}

// BenchmarkHosts reads what a collector brings from many hosts: statistics of
// several NICs one after the other, each behind its command line.
func BenchmarkHosts(b *testing.B) {
	names := []string{"rx_packets", "tx_packets", "rx_vport_rdma_unicast_bytes", "tx_vport_rdma_unicast_bytes", "rx_discards_phy", "rx_crc_errors_phy", "outbound_pci_stalled_wr", "module_unplug"}
	for p := range 8 {
		for _, n := range []string{"rx_prio%d_bytes", "rx_prio%d_pause", "rx_prio%d_pause_duration", "tx_prio%d_bytes", "tx_prio%d_pause", "rx_prio%d_discards"} {
			names = append(names, fmt.Sprintf(n, p))
		}
	}
	benchmarkLines(b, func(i int) string {
		var s strings.Builder
		fmt.Fprintf(&s, "root@gpu%03d:~# ethtool -S eth%d\nNIC statistics:\n", i/8, i%8)
		for k, n := range names {
			fmt.Fprintf(&s, "     %s: %d\n", n, i*1000+k)
		}
		return s.String()
	})
}
