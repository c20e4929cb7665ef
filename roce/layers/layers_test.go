package layers_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"weir/roce"
	rocelayers "weir/roce/layers"
)

func TestMain(m *testing.M) {
	rocelayers.Register()
	os.Exit(m.Run())
}

// Frames of Linux's rdma_rxe: RDMA WRITE ONLY with immediate of six bytes, and an
// acknowledgement over IPv6.
const (
	writeImmediate = "525400770011525400770012080045000048590540004011ccef0a4d000c0a4d000bc90012b7003400000b20ffff000000308043c41300007ff03731d040000021ce0000000600000002404142434445000092c1a99a"
	ackIPv6        = "52540077001252540077001186dd60000000001c1140fe80000000000000505400fffe770011fe80000000000000505400fffe770012c79012b7001c00001100ffff0000002c004282dc1f0000018eb7c826"
)

func packet(t testing.TB, text string) gopacket.Packet {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
}

func TestDecode(t *testing.T) {
	p := packet(t, writeImmediate)
	r, ok := p.Layer(rocelayers.LayerTypeTransport).(*rocelayers.Transport)
	if !ok {
		t.Fatal(p)
	}
	if r.BTH.Opcode != roce.RCWriteOnlyImmediate || r.BTH.PSN != 4441107 || r.RETH.Length != 6 || r.Immediate != 2 || string(r.LayerPayload()) != "@ABCDE" {
		t.Errorf("%+v", r.Packet)
	}
	if app := p.ApplicationLayer(); app == nil || string(app.Payload()) != "@ABCDE" {
		t.Errorf("application layer %v", app)
	}
	for _, text := range []string{writeImmediate, ackIPv6} {
		if s := rocelayers.CheckICRC(packet(t, text)); s != roce.ICRCValid {
			t.Errorf("ICRC %v", s)
		}
		if s := rocelayers.CheckICRC(packet(t, text[:len(text)-1]+"0")); s != roce.ICRCWrong {
			t.Errorf("changed: ICRC %v", s)
		}
		if p := packet(t, text[:100]); p.ErrorLayer() == nil {
			t.Error("a cut packet has no error layer")
		}
	}
	if s := rocelayers.CheckICRC(packet(t, "0180c2000001020000000101"+"8808"+"0101"+"0008"+"000000000000ffff0000000000000000")); s != roce.ICRCUnchecked {
		t.Errorf("pause frame: ICRC %v", s)
	}
}

func TestDecodingLayerParser(t *testing.T) {
	var eth layers.Ethernet
	var ip layers.IPv4
	var udp layers.UDP
	var r rocelayers.Transport
	parser := gopacket.NewDecodingLayerParser(layers.LayerTypeEthernet, &eth, &ip, &udp, &r)
	parser.IgnoreUnsupported = true
	var decoded []gopacket.LayerType
	b, _ := hex.DecodeString(writeImmediate)
	if err := parser.DecodeLayers(b, &decoded); err != nil || len(decoded) != 4 || r.BTH.DestQP != 0x30 {
		t.Errorf("%v, %v, %+v", err, decoded, r.BTH)
	}
}

// What was decoded serializes to the same bytes.
func TestSerialize(t *testing.T) {
	for _, text := range []string{writeImmediate, ackIPv6} {
		p := packet(t, text)
		eth := p.LinkLayer().(*layers.Ethernet)
		udp := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
		r := p.Layer(rocelayers.LayerTypeTransport).(*rocelayers.Transport)
		want := r.ICRC
		r.ICRC = 0
		if err := r.SetNetworkLayerForICRC(p.NetworkLayer(), udp.SrcPort); err != nil {
			t.Fatal(err)
		}
		ip := p.NetworkLayer().(gopacket.SerializableLayer)
		buf := gopacket.NewSerializeBuffer()
		opts := gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}
		payload := gopacket.Payload(r.LayerPayload())
		if err := gopacket.SerializeLayers(buf, opts, r, payload); err != nil {
			t.Fatal(err)
		}
		transport := bytes.Clone(buf.Bytes())
		udp.Checksum = 0
		opts.ComputeChecksums = false // RoCE over UDP carries none
		if err := gopacket.SerializeLayers(buf, opts, eth, ip, udp, gopacket.Payload(transport)); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(buf.Bytes()); got != text {
			t.Errorf("serialized %s\n    want   %s (ICRC %08x)", got, text, want)
		}
	}
	r := &rocelayers.Transport{}
	if err := gopacket.SerializeLayers(gopacket.NewSerializeBuffer(), gopacket.SerializeOptions{ComputeChecksums: true}, r); err == nil {
		t.Error("an ICRC without a network layer")
	}
	if err := r.SetNetworkLayerForICRC(&layers.IPv4{SrcIP: net.IP{1}}, 1); err != roce.ErrBadAddress {
		t.Error(err)
	}
}

func TestRoCEv1AndPause(t *testing.T) {
	v1 := roce.Packet{Has: roce.HasEthernet | roce.HasGRH, IPv6: roce.GRH{HopLimit: 1}, BTH: roce.BTH{Opcode: roce.RCSendOnly, PSN: 9}, Payload: []byte("hi")}
	b := make([]byte, 200)
	n, err := v1.Encode(b)
	if err != nil {
		t.Fatal(err)
	}
	p := gopacket.NewPacket(b[:n], layers.LayerTypeEthernet, gopacket.Default)
	r, ok := p.Layer(rocelayers.LayerTypeTransport).(*rocelayers.Transport)
	if !ok || r.BTH.PSN != 9 || string(r.LayerPayload()) != "hi" || rocelayers.CheckICRC(p) != roce.ICRCValid {
		t.Errorf("%v", p)
	}
	pfc := roce.PFC{Enable: 8, Quanta: [8]uint16{3: 99}}
	pfc.PutFrame(b, roce.MAC{2})
	p = gopacket.NewPacket(b[:60], layers.LayerTypeEthernet, gopacket.Default)
	if c, ok := p.Layer(rocelayers.LayerTypePause).(*rocelayers.Pause); !ok || !c.IsPFC || c.PFC != pfc {
		t.Errorf("%v", p)
	}
}

// Decode with gopacket after one call of Register.
func Example() {
	b, _ := hex.DecodeString(ackIPv6)
	p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	if r, ok := p.Layer(rocelayers.LayerTypeTransport).(*rocelayers.Transport); ok {
		fmt.Println(r.BTH.Opcode, r.AETH.Syndrome, rocelayers.CheckICRC(p))
	}
	// Output: RC_ACKNOWLEDGE ACK valid
}
