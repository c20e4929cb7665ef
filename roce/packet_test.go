package roce_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/roce"
)

// Frames of Linux's rdma_rxe and, the last, of a ConnectX-4 Lx, with the
// fields that an independent decoder read from them.
var frames = []struct {
	name    string
	hex     string
	op      roce.Opcode
	opName  string
	src     string
	dst     string
	port    uint16
	dest    roce.QPN
	psn     roce.PSN
	ackReq  bool
	payload string // hex
	pad     uint8
	icrc    uint32 // little-endian of the last four bytes
	check   func(t *testing.T, p *roce.Packet)
}{
	{
		"SEND ONLY of 1 byte, 3 pad",
		"52540077001152540077001208004500003058f940004011cd130a4d000c0a4d000bc90012b7001c00000430ffff000000308043c40840000000e8f8668f",
		roce.RCSendOnly, "RC_SEND_ONLY", "10.77.0.12", "10.77.0.11", 51456, 0x30, 4441096, true, "40", 3, 0x8f66f8e8,
		func(t *testing.T, p *roce.Packet) {
			if p.IPv4.ID != 0x58f9 || p.IPv4.Flags != roce.DontFragment || p.IPv4.TTL != 64 || p.IPv4.TotalLen != 48 {
				t.Errorf("IPv4 = %+v", p.IPv4)
			}
			if p.Ethernet.Src.String() != "52:54:00:77:00:12" || p.Ethernet.Dst.String() != "52:54:00:77:00:11" {
				t.Errorf("Ethernet = %+v", p.Ethernet)
			}
		},
	},
	{
		"ACK",
		"525400770012525400770011080045000030f646400040112fc60a4d000b0a4d000cc90012b7001c00001100ffff000000300043c4081f000001e4ee98ba",
		roce.RCAcknowledge, "RC_ACKNOWLEDGE", "10.77.0.11", "10.77.0.12", 51456, 0x30, 4441096, false, "", 0, 0xba98eee4,
		func(t *testing.T, p *roce.Packet) {
			if want := (roce.AETH{Syndrome: roce.SyndromeACK, MSN: 1}); p.AETH != want {
				t.Errorf("AETH = %+v, want %+v", p.AETH, want)
			}
		},
	},
	{
		"COMPARE SWAP",
		"525400770011525400770012080045000048581740004011cddd0a4d000c0a4d000bc8a112b7003400001300ffff0000002f8000000e00007f39c2f8b00000001fc0000000000000009911223344556677883c90ec02",
		roce.RCCompareSwap, "RC_CMP_SWAP", "10.77.0.12", "10.77.0.11", 51361, 0x2f, 14, true, "", 0, 0x02ec903c,
		func(t *testing.T, p *roce.Packet) {
			want := roce.AtomicETH{VA: 0x7f39c2f8b000, RKey: 0x1fc0, SwapOrAdd: 0x99, Compare: 0x1122334455667788}
			if p.AtomicETH != want {
				t.Errorf("AtomicETH = %+v, want %+v", p.AtomicETH, want)
			}
		},
	},
	{
		"WRITE ONLY with immediate, 6 bytes",
		"525400770011525400770012080045000048590540004011ccef0a4d000c0a4d000bc90012b7003400000b20ffff000000308043c41300007ff03731d040000021ce0000000600000002404142434445000092c1a99a",
		roce.RCWriteOnlyImmediate, "RC_WRITE_ONLY_IMM", "10.77.0.12", "10.77.0.11", 51456, 0x30, 4441107, true, "404142434445", 2, 0x9aa9c192,
		func(t *testing.T, p *roce.Packet) {
			if want := (roce.RETH{VA: 0x7ff03731d040, RKey: 0x21ce, Length: 6}); p.RETH != want || p.Immediate != 2 {
				t.Errorf("RETH = %+v, want %+v; immediate %d, want 2", p.RETH, want, p.Immediate)
			}
		},
	},
	{
		"SEND ONLY of 0 bytes",
		"52540077001152540077001208004500002c581940004011cdf70a4d000c0a4d000bc8a112b7001800000400ffff0000002f80000010faff922d",
		roce.RCSendOnly, "RC_SEND_ONLY", "10.77.0.12", "10.77.0.11", 51361, 0x2f, 16, true, "", 0, 0x2d92fffa, nil,
	},
	{
		"ACK over IPv6",
		"52540077001252540077001186dd60000000001c1140fe80000000000000505400fffe770011fe80000000000000505400fffe770012c79012b7001c00001100ffff0000002c004282dc1f0000018eb7c826",
		roce.RCAcknowledge, "RC_ACKNOWLEDGE", "fe80::5054:ff:fe77:11", "fe80::5054:ff:fe77:12", 51088, 0x2c, 4358876, false, "", 0, 0x26c8b78e,
		func(t *testing.T, p *roce.Packet) {
			if p.UDP.Checksum != 0 || p.IPv6.HopLimit != 64 || p.IPv6.FlowLabel != 0 || p.IPv6.PayloadLen != 28 {
				t.Errorf("UDP = %+v, IPv6 = %+v", p.UDP, p.IPv6)
			}
		},
	},
	{
		"CNP of an adapter",
		"e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b7002800008100ffff40000118000000000000000000000000000000000000000082fd002a",
		roce.CNP, "CNP", "10.0.17.1", "10.0.18.1", 0, 0x118, 0, false, "00000000000000000000000000000000", 0, 0x2a00fd82,
		func(t *testing.T, p *roce.Packet) {
			if !p.BTH.BECN || p.BTH.FECN || p.DSCP() != 48 || p.ECN() != roce.ECT0 {
				t.Errorf("BTH = %+v, DSCP %d, %v", p.BTH, p.DSCP(), p.ECN())
			}
		},
	},
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFrames(t *testing.T) {
	for _, f := range frames {
		t.Run(f.name, func(t *testing.T) {
			b := unhex(t, f.hex)
			var p roce.Packet
			if err := p.DecodeEthernet(b); err != nil {
				t.Fatal(err)
			}
			got := []any{p.BTH.Opcode, p.BTH.Opcode.String(), p.Src().String(), p.Dst().String(), p.UDP.SrcPort, p.BTH.DestQP, p.BTH.PSN, p.BTH.AckReq, hex.EncodeToString(p.Payload), p.BTH.Pad, p.ICRC, p.BTH.PKey, p.PayloadLen}
			want := []any{f.op, f.opName, f.src, f.dst, f.port, f.dest, f.psn, f.ackReq, f.payload, f.pad, f.icrc, uint16(0xffff), len(f.payload) / 2}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
			if f.check != nil {
				f.check(t, &p)
			}
			if s := p.CheckICRC(); s != roce.ICRCValid {
				t.Errorf("ICRC %v", s)
			}
			out := make([]byte, 200)
			p.IPv4.Checksum, p.ICRC, p.BTH.Pad, p.UDP.Length, p.IPv4.TotalLen, p.IPv6.PayloadLen = 1, 2, 1, 3, 4, 5
			n, err := p.Encode(out)
			if err != nil || !bytes.Equal(out[:n], b) {
				t.Errorf("encoded %x, %v\n want    %x", out[:n], err, b)
			}
		})
	}
}

// Fields that change on the way are outside the ICRC, all others inside.
func TestICRCMask(t *testing.T) {
	for _, f := range frames {
		b := unhex(t, f.hex)
		ip, udp := 14, 34
		free := map[int]bool{15: true, 22: true, 24: true, 25: true}
		if b[12] == 0x86 {
			udp = 54
			free = map[int]bool{15: true, 16: true, 17: true, 21: true}
		}
		free[udp+6], free[udp+7], free[udp+12] = true, true, true
		want, _ := roce.ICRC(b[ip : len(b)-4])
		for i := ip; i < len(b)-4; i++ {
			for bit := range 8 {
				if i == ip || i == udp || i == 20 && b[12] == 0x86 {
					continue // would change the layout
				}
				b[i] ^= 1 << bit
				got, ok := roce.ICRC(b[ip : len(b)-4])
				if !ok || (got == want) != free[i] {
					t.Fatalf("%s: bit %d of byte %d changes the ICRC: %v, want %v", f.name, bit, i, got != want, !free[i])
				}
				b[i] ^= 1 << bit
			}
		}
	}
}

// Payloads of every length against the plain definition.
func TestICRCLengths(t *testing.T) {
	var p roce.Packet
	p.Has = roce.HasIPv4
	p.IPv4 = roce.IPv4{TOS: 0x6a, TTL: 7, ID: 0x1234, Flags: 2, Src: [4]byte{192, 0, 2, 1}, Dst: [4]byte{192, 0, 2, 2}}
	p.UDP.SrcPort = 0xc123
	p.BTH = roce.BTH{Opcode: roce.RCSendMiddle, PKey: 0xffff, DestQP: 0x123456, PSN: 0xabcdef, FECN: true}
	buf := make([]byte, 5000)
	pay := make([]byte, 4200)
	for i := range pay {
		pay[i] = byte(i * 7)
	}
	for n := 0; n < 4200; n += 1 + n/200 {
		for _, has := range []roce.Headers{roce.HasIPv4, roce.HasIPv6, roce.HasGRH} {
			p.Has, p.Payload = has, pay[:n]
			size, err := p.Encode(buf)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := binary.LittleEndian.Uint32(buf[size-4:]), plainICRC(buf[:size-4], has); got != want {
				t.Fatalf("payload %d: ICRC %08x, want %08x", n, got, want)
			}
		}
	}
}

// plainICRC is the definition, bit by bit.
func plainICRC(p []byte, has roce.Headers) uint32 {
	m := append(bytes.Repeat([]byte{0xff}, 8), p...)
	ip := m[8:]
	mask := []int{1, 8, 10, 11, 26, 27, 32}
	switch has {
	case roce.HasIPv6:
		mask = []int{1, 2, 3, 7, 46, 47, 52}
		ip[0] |= 0xf
	case roce.HasGRH:
		mask = []int{1, 2, 3, 7, 44}
		ip[0] |= 0xf
	}
	for _, i := range mask {
		ip[i] = 0xff
	}
	s := ^uint32(0)
	for _, b := range m {
		s ^= uint32(b)
		for range 8 {
			s = s>>1 ^ 0xedb88320&-(s&1)
		}
	}
	return ^s
}

func TestVLANAndTrailer(t *testing.T) {
	b := unhex(t, frames[0].hex)
	tagged := append(append(append([]byte{}, b[:12]...), 0x88, 0xa8, 0x60, 0x05, 0x81, 0x00, 0xb0, 0x64), b[12:]...)
	tagged = append(tagged, make([]byte, 20)...) // padding and FCS
	var p roce.Packet
	if err := p.DecodeEthernet(tagged); err != nil {
		t.Fatal(err)
	}
	if p.Tags != 2 || p.VLANs[0].ID != 5 || p.VLANs[0].Priority != 3 || p.VLANs[1].ID != 100 || p.VLANs[1].Priority != 5 || !p.VLANs[1].DEI {
		t.Errorf("tags %+v", p.VLANs)
	}
	if p.CheckICRC() != roce.ICRCValid || string(p.Payload) != "@" {
		t.Errorf("ICRC %v, payload %q", p.CheckICRC(), p.Payload)
	}
	out := make([]byte, 100)
	n, err := p.Encode(out)
	if err != nil || !bytes.Equal(out[:n], tagged[:len(tagged)-20]) {
		t.Errorf("encoded %x, %v", out[:n], err)
	}
	three := append(append(append([]byte{}, b[:12]...), 0x81, 0, 0, 1, 0x81, 0, 0, 1, 0x81, 0, 0, 1), b[12:]...)
	if err := p.DecodeEthernet(three); err != roce.ErrVLANDepth {
		t.Errorf("three tags: %v", err)
	}
}

func TestTunnel(t *testing.T) {
	var p roce.Packet
	if err := p.DecodeEthernet(unhex(t, frames[3].hex)); err != nil {
		t.Fatal(err)
	}
	for _, v6 := range []bool{false, true} {
		p.Has |= roce.HasTunnel
		p.Tunnel = roce.Tunnel{IsIPv6: v6, VNI: 0xabcdef, UDP: roce.UDP{SrcPort: 50000}}
		p.Tunnel.Ethernet.Src = roce.MAC{2, 0, 0, 0, 0, 9}
		p.Tunnel.IPv4 = roce.IPv4{TOS: 3, TTL: 60, Flags: 2, Src: [4]byte{198, 51, 100, 1}, Dst: [4]byte{198, 51, 100, 2}}
		p.Tunnel.IPv6 = roce.IPv6{HopLimit: 60, TrafficClass: 3, Src: roce.GID{0x20, 1}, Dst: roce.GID{0x20, 2}}
		buf := make([]byte, 300)
		n, err := p.Encode(buf)
		if err != nil {
			t.Fatal(err)
		}
		if want := len(frames[3].hex)/2 + 50; !v6 && n != want || v6 && n != want+20 {
			t.Errorf("length %d", n)
		}
		var q roce.Packet
		if err := q.DecodeEthernet(buf[:n]); err != nil {
			t.Fatal(err)
		}
		if q.CheckICRC() != roce.ICRCValid || q.Tunnel.VNI != 0xabcdef || q.Tunnel.IsIPv6 != v6 || q.Src() != p.Src() || q.Immediate != 2 || q.Tunnel.UDP.SrcPort != 50000 {
			t.Errorf("decoded %+v", q)
		}
	}
}

// A frame of the standard's layout, written out by hand: class 3 for 65535
// quanta, class 4 resumed.
func TestPause(t *testing.T) {
	b := unhex(t, "0180c2000001020000000101"+"8808"+"0101"+"0018"+"0000"+"0000"+"0000"+"ffff"+"0000"+"0000"+"0000"+"0000")
	b = append(b, make([]byte, 60-len(b))...)
	var p roce.Packet
	if err := p.DecodeEthernet(b); err != nil {
		t.Fatal(err)
	}
	if want := (roce.PFC{Enable: 0x18, Quanta: [8]uint16{3: 65535}}); p.Has != roce.HasEthernet|roce.HasPFC || p.PFC != want {
		t.Errorf("has %b, PFC %+v", p.Has, p.PFC)
	}
	out := bytes.Repeat([]byte{0xee}, 64)
	if n, err := p.Encode(out); err != nil || !bytes.Equal(out[:n], b) {
		t.Errorf("encoded %x, %v", out[:n], err)
	}
	b = unhex(t, "0180c20000010200000001018808000101f4")
	if err := p.DecodeEthernet(b); err != nil || p.Has != roce.HasEthernet|roce.HasPause || p.Pause.Quanta != 500 {
		t.Errorf("%v, has %b, pause %+v", err, p.Has, p.Pause)
	}
	// 65535 quanta of 512 bits: 335.5 us at 100 Gb/s, 83.9 us at 400 Gb/s.
	for rate, want := range map[int64]time.Duration{100e9: 335539, 400e9: 83885, 0: 0} {
		if got := roce.PauseTime(65535, rate); got != want {
			t.Errorf("PauseTime(65535, %d) = %v, want %v", rate, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	b := unhex(t, frames[0].hex)
	edit := func(i int, v ...byte) []byte {
		c := bytes.Clone(b)
		copy(c[i:], v)
		return c
	}
	for _, c := range []struct {
		name string
		b    []byte
		want error
		has  roce.Headers
	}{
		{"empty", nil, roce.ErrTruncated, 0},
		{"ARP", edit(12, 8, 6), roce.ErrNotRoCE, roce.HasEthernet},
		{"TCP", edit(23, 6), roce.ErrNotRoCE, roce.HasEthernet | roce.HasIPv4},
		{"port", edit(36, 0x12, 0xb8), roce.ErrNotRoCE, roce.HasEthernet | roce.HasIPv4},
		{"IP version", edit(14, 0x55), roce.ErrVersion, roce.HasEthernet},
		{"header length", edit(14, 0x44), roce.ErrLength, roce.HasEthernet},
		{"fragment", edit(20, 0, 1), roce.ErrFragment, roce.HasEthernet | roce.HasIPv4},
		{"UDP longer than IP", edit(38, 0, 0x1d), roce.ErrLength, roce.HasEthernet | roce.HasIPv4 | roce.HasUDP | roce.HasBTH},
		{"no room for the ICRC", edit(38, 0, 0x17), roce.ErrLength, roce.HasEthernet | roce.HasIPv4 | roce.HasUDP | roce.HasBTH},
		{"cut in the BTH", b[:50], roce.ErrTruncated, roce.HasEthernet | roce.HasIPv4 | roce.HasUDP},
	} {
		var p roce.Packet
		if err := p.DecodeEthernet(c.b); err != c.want || p.Has != c.has {
			t.Errorf("%s: %v, has %b; want %v, %b", c.name, err, p.Has, c.want, c.has)
		}
	}
	var p roce.Packet
	if err := p.DecodeEthernet(b[:len(b)-1]); err != nil || p.CheckICRC() != roce.ICRCUnchecked || p.PayloadLen != 1 {
		t.Errorf("cut in the ICRC: %v, %v", err, p.CheckICRC())
	}
	if err := p.DecodeEthernet(b); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Encode(make([]byte, len(b)-1)); err != roce.ErrBuffer {
		t.Errorf("short buffer: %v", err)
	}
	p.BTH.Opcode = roce.RCReadRequest
	if _, err := p.Encode(make([]byte, 100)); err != roce.ErrPayload {
		t.Errorf("READ request with payload: %v", err)
	}
}

func TestNoAllocation(t *testing.T) {
	bs := make([][]byte, len(frames))
	for i := range frames {
		bs[i] = unhex(t, frames[i].hex)
	}
	out := make([]byte, 200)
	var p roce.Packet
	if n := testing.AllocsPerRun(100, func() {
		for _, b := range bs {
			if p.DecodeEthernet(b) != nil || p.CheckICRC() != roce.ICRCValid {
				t.Fatal("wrong")
			}
			if _, err := p.Encode(out); err != nil {
				t.Fatal(err)
			}
			if p.DecodeEthernet(b[:20]) == nil {
				t.Fatal("no error")
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func kilobyte(b testing.TB) []byte {
	var p roce.Packet
	p.Has = roce.HasEthernet | roce.HasIPv4
	p.IPv4 = roce.IPv4{TOS: 0x6a, TTL: 64, Flags: 2, Src: [4]byte{192, 0, 2, 1}, Dst: [4]byte{192, 0, 2, 2}}
	p.UDP.SrcPort = 0xc123
	p.BTH = roce.BTH{Opcode: roce.RCWriteMiddle, PKey: 0xffff, DestQP: 0x1234, PSN: 0xabcdef}
	p.PayloadLen = 1024
	buf := make([]byte, 1200)
	n, err := p.Encode(buf)
	if err != nil {
		b.Fatal(err)
	}
	return buf[:n]
}

// Decode and ICRC check of packets with 1 KiB of payload.
func BenchmarkDecodeCheck1K(b *testing.B) {
	frame := kilobyte(b)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	var p roce.Packet
	for b.Loop() {
		if p.DecodeEthernet(frame) != nil || p.CheckICRC() != roce.ICRCValid {
			b.Fatal("wrong")
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	frame := kilobyte(b)
	b.ReportAllocs()
	var p roce.Packet
	for b.Loop() {
		if p.DecodeEthernet(frame) != nil {
			b.Fatal("wrong")
		}
	}
}

func BenchmarkEncode1K(b *testing.B) {
	var p roce.Packet
	if err := p.DecodeEthernet(kilobyte(b)); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 1200)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Encode(buf); err != nil {
			b.Fatal(err)
		}
	}
}
