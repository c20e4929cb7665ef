package roce_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"weir/roce"
)

// FuzzDecode feeds any bytes to every entry point: no panic, slices inside
// the input; and what decodes with a valid ICRC encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	for _, fr := range frames {
		b := unhex(f, fr.hex)
		f.Add(b)
		f.Add(append(append(append([]byte{}, b[:12]...), 0x81, 0, 0x60, 0x64), b[12:]...))
	}
	var p roce.Packet
	if err := p.DecodeEthernet(unhex(f, frames[3].hex)); err != nil {
		f.Fatal(err)
	}
	buf := make([]byte, 300)
	p.Has |= roce.HasTunnel
	n, _ := p.Encode(buf)
	f.Add(bytes.Clone(buf[:n]))
	p.Has, p.IPv6 = roce.HasEthernet|roce.HasGRH, roce.GRH{HopLimit: 1}
	n, _ = p.Encode(buf)
	f.Add(bytes.Clone(buf[:n]))
	pfc := roce.PFC{Enable: 8, Quanta: [8]uint16{3: 9}}
	pfc.PutFrame(buf, roce.MAC{2})
	f.Add(bytes.Clone(buf[:60]))

	f.Fuzz(func(t *testing.T, b []byte) {
		var p roce.Packet
		_ = p.DecodeIP(b)
		_ = p.DecodeGRH(b)
		_ = p.DecodeEtherType(0x0800, b)
		p.CheckICRC()
		p = roce.Packet{}
		if p.DecodeEthernet(b) != nil {
			return
		}
		if len(p.Payload) > p.PayloadLen || p.Has&roce.HasICRC != 0 && len(p.Payload) != p.PayloadLen {
			t.Fatalf("payload %d of %d", len(p.Payload), p.PayloadLen)
		}
		var cm roce.CM
		_ = cm.Decode(p.Payload)
		checkGeneralWay(t, b, &p)
		checkRoundTrip(t, b, p)
	})
}

// checkGeneralWay holds the short way of DecodeEthernet against the general one,
// which DecodeEtherType takes.
func checkGeneralWay(t *testing.T, b []byte, p *roce.Packet) {
	var q roce.Packet
	if err := q.DecodeEtherType(uint16(b[12])<<8|uint16(b[13]), b[14:]); err != nil {
		t.Fatalf("the general way fails: %v", err)
	}
	c := *p
	c.Has, c.Ethernet = c.Has&^roce.HasEthernet, roce.Ethernet{}
	if c.Has&roce.HasTunnel != 0 {
		c.Tunnel, q.Tunnel, q.Has, q.Ethernet = roce.Tunnel{}, roce.Tunnel{}, q.Has&^roce.HasEthernet, roce.Ethernet{}
	}
	if d := cmp.Diff(q, c); d != "" {
		t.Fatalf("the two ways differ: %s", d)
	}
}

func checkRoundTrip(t *testing.T, b []byte, p roce.Packet) {
	if p.CheckICRC() != roce.ICRCValid || p.Has&roce.HasTunnel != 0 || p.Has&roce.HasIPv4 != 0 && p.IPv4.HdrLen != 20 {
		return
	}
	var q roce.Packet
	out := make([]byte, p.Len())
	c := p
	n, err := c.Encode(out)
	if err != nil {
		return // payload where the opcode has none
	}
	if err := q.DecodeEthernet(out[:n]); err != nil || q.BTH.Opcode != p.BTH.Opcode || q.BTH.PSN != p.BTH.PSN || q.RETH != p.RETH || !bytes.Equal(q.Payload, p.Payload) || q.CheckICRC() != roce.ICRCValid {
		t.Fatalf("%v after encoding: %+v\nwas %+v", err, q, p)
	}
}
