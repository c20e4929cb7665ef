package capture

import (
	"bufio"
	"os"
	"testing"

	"weir/roce"
	"weir/roce/pcapfile"
)

// generate writes a healthy capture of at least size bytes to name: 16 queue
// pairs that take turns with RDMA WRITEs of 64 KiB in packets of 1 KiB, each
// acknowledged.
func generate(tb testing.TB, name string, size int64) {
	f, err := os.Create(name)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	b := bufio.NewWriterSize(f, 1<<20)
	w, err := pcapfile.NewWriter(b, pcapfile.Options{LinkType: pcapfile.Ethernet})
	if err != nil {
		tb.Fatal(err)
	}
	const qps, packets = 16, 64
	payload := make([]byte, 1024)
	for i := range payload {
		payload[i] = byte(i * 31)
	}
	var psn [qps]roce.PSN
	var buf [1200]byte
	var p roce.Packet
	ns, written := int64(1700000000e9), int64(24)
	put := func(reverse bool) {
		p.Has = roce.HasEthernet | roce.HasIPv4
		p.Ethernet.Src, p.Ethernet.Dst = roce.MAC{2, 0, 0, 0, 0, 1}, roce.MAC{2, 0, 0, 0, 0, 2}
		p.IPv4 = roce.IPv4{TOS: 26<<2 | 2, TTL: 64, Flags: roce.DontFragment, Src: [4]byte{192, 0, 2, 1}, Dst: [4]byte{192, 0, 2, 2}}
		if reverse {
			p.Ethernet.Src, p.Ethernet.Dst = p.Ethernet.Dst, p.Ethernet.Src
			p.IPv4.Src, p.IPv4.Dst = p.IPv4.Dst, p.IPv4.Src
		}
		n, err := p.Encode(buf[:])
		if err == nil {
			err = w.Write(ns, buf[:n], 0)
		}
		if err != nil {
			tb.Fatal(err)
		}
		written += int64(n) + 16
		ns += 90 // about 100 Gb/s
	}
	for msn := uint32(1); written < size; msn++ {
		for q := range qps {
			p.UDP.SrcPort = roce.SourcePortQPs(roce.QPN(0x100+q), roce.QPN(0x200+q))
			for i := range packets {
				op := roce.RCWriteMiddle
				switch i {
				case 0:
					op = roce.RCWriteFirst
				case packets - 1:
					op = roce.RCWriteLast
				}
				p.BTH = roce.BTH{Opcode: op, PKey: 0xffff, DestQP: roce.QPN(0x200 + q), PSN: psn[q], AckReq: i == packets-1, MigReq: true}
				p.RETH = roce.RETH{VA: 0x7f0000000000, RKey: 0x1234, Length: packets * 1024}
				p.Payload = payload
				put(false)
				psn[q] = psn[q].Add(1)
			}
			p.BTH = roce.BTH{Opcode: roce.RCAcknowledge, PKey: 0xffff, DestQP: roce.QPN(0x100 + q), PSN: psn[q].Add(-1), MigReq: true}
			p.AETH = roce.AETH{Syndrome: roce.SyndromeACK, MSN: msn}
			p.Payload = nil
			put(true)
		}
	}
	if err := b.Flush(); err != nil {
		tb.Fatal(err)
	}
}

// TestGenerate writes a capture of 1 GB to the file that WEIR_GENERATE names,
// for the comparison of docs/performance-wire.md.
func TestGenerate(t *testing.T) {
	name := os.Getenv("WEIR_GENERATE")
	if name == "" {
		t.Skip("WEIR_GENERATE names no file")
	}
	generate(t, name, 1e9)
}
