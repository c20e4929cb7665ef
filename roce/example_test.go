package roce_test

import (
	"encoding/hex"
	"fmt"

	"weir/roce"
)

// Decode a captured frame and check its ICRC.
func ExamplePacket_DecodeEthernet() {
	frame, _ := hex.DecodeString("525400770012525400770011080045000030f646400040112fc60a4d000b0a4d000cc90012b7001c00001100ffff000000300043c4081f000001e4ee98ba")
	var p roce.Packet
	if err := p.DecodeEthernet(frame); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Src(), "to", p.Dst(), p.BTH.Opcode, "PSN", p.BTH.PSN, p.AETH.Syndrome, "ICRC", p.CheckICRC())
	// Output: 10.77.0.11 to 10.77.0.12 RC_ACKNOWLEDGE PSN 4441096 ACK ICRC valid
}

// Build an RDMA WRITE of five bytes; lengths, checksum, pad and ICRC are computed.
func ExamplePacket_Encode() {
	p := roce.Packet{
		Has:  roce.HasIPv4,
		IPv4: roce.IPv4{TOS: 26<<2 | 2, TTL: 64, Flags: roce.DontFragment, Src: [4]byte{192, 0, 2, 1}, Dst: [4]byte{192, 0, 2, 2}},
		UDP:  roce.UDP{SrcPort: roce.SourcePortQPs(0x1d, 0x2d)},
		BTH:  roce.BTH{Opcode: roce.RCWriteOnly, PKey: 0xffff, DestQP: 0x2d, PSN: 1000, AckReq: true},
		RETH: roce.RETH{VA: 0x7f0000001000, RKey: 0x1234, Length: 5},
	}
	p.Payload = []byte("hello")
	var buf [128]byte
	n, err := p.Encode(buf[:])
	fmt.Println(n, err, p.BTH.Pad, p.IPv4.TotalLen)

	var q roce.Packet
	fmt.Println(q.DecodeIP(buf[:n]), q.CheckICRC(), string(q.Payload))
	// Output:
	// 68 <nil> 3 68
	// <nil> valid hello
}

// A congestion notification for queue pair 0x118.
func ExamplePacket_SetCNP() {
	p := roce.Packet{
		Has:  roce.HasIPv4,
		IPv4: roce.IPv4{TOS: 48 << 2, TTL: 64, Src: [4]byte{192, 0, 2, 2}, Dst: [4]byte{192, 0, 2, 1}},
	}
	p.SetCNP(0x118)
	var buf [64]byte
	n, _ := p.Encode(buf[:])
	fmt.Println(n, p.BTH.Opcode, p.BTH.BECN)
	// Output: 60 CNP true
}

func ExamplePFC_PutFrame() {
	pfc := roce.PFC{Enable: 1 << 3, Quanta: [8]uint16{3: 65535}}
	var frame [roce.PauseFrameLen]byte
	pfc.PutFrame(frame[:], roce.MAC{2, 0, 0, 0, 0, 1})
	fmt.Println(hex.EncodeToString(frame[:34]), roce.PauseTime(65535, 100e9))
	// Output: 0180c2000001020000000001880801010008000000000000ffff0000000000000000 335.539µs
}

func ExampleRNRTime() {
	fmt.Println(roce.RNRTime(12), roce.AckTimeout(14))
	// Output: 640µs 67.108864ms
}

func ExampleGID_Groups() {
	g, _ := roce.ParseGID("192.0.2.1")
	fmt.Println(g.Groups(), g)
	// Output: 0000:0000:0000:0000:0000:ffff:c000:0201 192.0.2.1
}
