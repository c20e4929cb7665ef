package roce_test

import (
	"testing"

	"pgregory.net/rapid"

	"weir/roce"
)

// TestParts: the forms for sockets agree with those for frames, for all opcodes
// and both IP versions.
func TestParts(t *testing.T) {
	ops := []roce.Opcode{
		roce.RCSendMiddle, roce.RCWriteOnlyImmediate, roce.RCReadRequest, roce.RCAcknowledge, roce.RCAtomicAcknowledge,
		roce.RCCompareSwap, roce.RCSendOnlyInvalidate, roce.UDSendOnlyImmediate, roce.CNP,
	}
	rapid.Check(t, func(t *rapid.T) {
		var p, q roce.Packet
		p.Has = roce.HasIPv4
		p.IPv4.Flags, p.IPv4.ID = roce.DontFragment, rapid.Uint16().Draw(t, "id")
		if rapid.Bool().Draw(t, "v6") {
			p.Has = roce.HasIPv6
		}
		p.UDP.SrcPort = rapid.Uint16().Draw(t, "port")
		p.BTH.Opcode = rapid.SampledFrom(ops).Draw(t, "opcode")
		p.BTH.PSN = 0x123456
		p.BTH.FECN = rapid.Bool().Draw(t, "fecn")
		if p.BTH.Opcode.HasPayload() {
			p.Payload = rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload")
		}
		b := make([]byte, p.Len())
		if _, err := p.Encode(b); err != nil {
			t.Fatal(err)
		}
		head := p.Len() - p.TransportLen()
		got, ok := roce.ICRCParts(b[:head], b[head:len(b)-roce.ICRCLen])
		if !ok || got != p.ICRC {
			t.Fatalf("ICRC in parts %08x %v, in one %08x", got, ok, p.ICRC)
		}
		if err := q.DecodeTransport(b[head:]); err != nil {
			t.Fatal(err)
		}
		if q.BTH != p.BTH || string(q.Payload) != string(p.Payload) || q.ICRC != p.ICRC {
			t.Fatalf("decoded %+v, encoded %+v", q.BTH, p.BTH)
		}
	})
	if _, ok := roce.ICRCParts(make([]byte, 28), make([]byte, 11)); ok {
		t.Error("short transport taken")
	}
}
