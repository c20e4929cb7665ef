package roce_test

import (
	"net/netip"
	"testing"

	"weir/roce"
)

func TestOpcodes(t *testing.T) {
	type row struct {
		op      roce.Opcode
		name    string
		bytes   int // of the headers after the BTH
		first   bool
		last    bool
		request bool
		reply   bool
		payload bool
	}
	rows := []row{
		{0x00, "RC_SEND_FIRST", 0, true, false, true, false, true},
		{0x03, "RC_SEND_LAST_IMM", 4, false, true, true, false, true},
		{0x06, "RC_WRITE_FIRST", 16, true, false, true, false, true},
		{0x0b, "RC_WRITE_ONLY_IMM", 20, true, true, true, false, true},
		{0x0c, "RC_READ_REQUEST", 16, true, true, true, false, false},
		{0x0d, "RC_READ_RESP_FIRST", 4, true, false, false, true, true},
		{0x0e, "RC_READ_RESP_MIDDLE", 0, false, false, false, true, true},
		{0x10, "RC_READ_RESP_ONLY", 4, true, true, false, true, true},
		{0x11, "RC_ACKNOWLEDGE", 4, true, true, false, true, false},
		{0x12, "RC_ATOMIC_ACK", 12, true, true, false, true, false},
		{0x13, "RC_CMP_SWAP", 28, true, true, true, false, false},
		{0x16, "RC_SEND_LAST_INV", 4, false, true, true, false, true},
		{0x2b, "UC_WRITE_ONLY_IMM", 20, true, true, true, false, true},
		{0x65, "UD_SEND_ONLY_IMM", 12, true, true, true, false, true},
		{0x81, "CNP", 0, true, true, false, false, false},
		{0x1c, "UNKNOWN_0x1c", 0, false, false, false, false, false},
		{0x2c, "UNKNOWN_0x2c", 0, false, false, false, false, false},
	}
	for _, r := range rows {
		op := r.op
		got := row{op, op.String(), op.HeaderBytes(), op.IsFirst(), op.IsLast(), op.IsRequest(), op.IsResponse(), op.HasPayload()}
		if got != r {
			t.Errorf("got %+v, want %+v", got, r)
		}
	}
	known := 0
	for i := range 256 {
		op := roce.Opcode(i)
		if op.Known() {
			known++
		}
		if back, ok := roce.ParseOpcode(op.String()); !ok || back != op {
			t.Errorf("ParseOpcode(%q) = %v, %v", op.String(), back, ok)
		}
		if got, want := op.IsReadResponse(), i >= 0x0d && i <= 0x10; got != want {
			t.Errorf("%v: IsReadResponse %v", op, got)
		}
	}
	if known != 23+12+2+1 {
		t.Errorf("%d known opcodes", known)
	}
	if _, ok := roce.ParseOpcode("RC_NOTHING"); ok {
		t.Error("RC_NOTHING was found")
	}
	for op, want := range map[roce.Opcode]string{0x11: "RC", 0x24: "UC", 0x44: "RD", 0x64: "UD", 0x81: "CNP", 0xa4: "XRC", 0xff: "MANUFACTURER"} {
		if got := op.Transport().String(); got != want {
			t.Errorf("transport of %v is %s, want %s", op, got, want)
		}
	}
}

func TestSyndromes(t *testing.T) {
	for s, want := range map[roce.Syndrome]string{
		0x1f: "ACK", 0x05: "ACK, 6 credits", 0x06: "ACK, 8 credits", 0x1e: "ACK, 32768 credits", 0x00: "ACK, 0 credits",
		0x34: "RNR NAK 10.24ms", 0x20: "RNR NAK 655.36ms",
		0x60: "NAK PSN sequence error", 0x61: "NAK invalid request", 0x62: "NAK remote access error",
		0x63: "NAK remote operational error", 0x64: "NAK invalid RD request",
		0x65: "reserved syndrome 0x65", 0x45: "reserved syndrome 0x45", 0xff: "reserved syndrome 0xff",
	} {
		if got := s.String(); got != want {
			t.Errorf("syndrome %#x is %q, want %q", uint8(s), got, want)
		}
	}
	if got := roce.RNR(20); got != 0x34 || got.Kind() != roce.KindRNR || got.Code() != 20 {
		t.Errorf("RNR(20) = %#x", got)
	}
	if _, ok := roce.SyndromeNAKSequenceError.Credits(); ok {
		t.Error("a NAK has credits")
	}
}

// Ports of captured connections: equal QPNs 0x1d gave 49993, 0x1e 50052,
// 0x4a with 0x4b 54702, 0x67 with 0x15 51315; a connection manager's flow label
// of ports 0xe49a and 0x1c06 stood as 0xbcaac in its request, whose queue
// pairs used port 51843.
func TestSourcePort(t *testing.T) {
	for _, c := range []struct {
		a, b roce.QPN
		want uint16
	}{{0x1d, 0x1d, 49993}, {0x1e, 0x1e, 50052}, {0x4a, 0x4b, 54702}, {0x67, 0x15, 51315}} {
		if got := roce.SourcePortQPs(c.a, c.b); got != c.want {
			t.Errorf("SourcePortQPs(%#x, %#x) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := roce.SourcePortQPs(c.b, c.a); got != c.want {
			t.Errorf("SourcePortQPs(%#x, %#x) = %d, want %d", c.b, c.a, got, c.want)
		}
	}
	if got := roce.FlowLabelPorts(0xe49a, 0x1c06); got != 0xbcaac {
		t.Errorf("FlowLabelPorts = %#x", got)
	}
	if got := roce.SourcePort(0xbcaac); got != 51843 {
		t.Errorf("SourcePort(0xbcaac) = %d", got)
	}
}

func TestGID(t *testing.T) {
	for _, c := range []struct {
		in, out, groups  string
		ipv4, link, zero bool
	}{
		{"10.77.0.11", "10.77.0.11", "0000:0000:0000:0000:0000:ffff:0a4d:000b", true, false, false},
		{"0000:0000:0000:0000:0000:ffff:0a4d:000b", "10.77.0.11", "0000:0000:0000:0000:0000:ffff:0a4d:000b", true, false, false},
		{"fe80::5054:ff:fe77:11", "fe80::5054:ff:fe77:11", "fe80:0000:0000:0000:5054:00ff:fe77:0011", false, true, false},
		{"2001:db8::1", "2001:db8::1", "2001:0db8:0000:0000:0000:0000:0000:0001", false, false, false},
		{"::", "::", "0000:0000:0000:0000:0000:0000:0000:0000", false, false, true},
	} {
		g, err := roce.ParseGID(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if g.String() != c.out || g.Groups() != c.groups || g.IsIPv4() != c.ipv4 || g.IsLinkLocal() != c.link || g.IsZero() != c.zero {
			t.Errorf("%s: %s, %s, %v, %v, %v", c.in, g, g.Groups(), g.IsIPv4(), g.IsLinkLocal(), g.IsZero())
		}
		if roce.GIDFromAddr(netip.MustParseAddr(c.in)) != g {
			t.Errorf("GIDFromAddr(%s) differs", c.in)
		}
	}
	if _, err := roce.ParseGID("10.77.0"); err != roce.ErrBadAddress {
		t.Error(err)
	}
	if got := roce.GIDFromMAC(roce.MAC{0x52, 0x54, 0, 0x77, 0, 0x11}).String(); got != "fe80::5054:ff:fe77:11" {
		t.Errorf("GIDFromMAC = %s", got)
	}
	if g := roce.GIDFromIPv4([4]byte{192, 0, 2, 1}); g.String() != "192.0.2.1" || g.IPv4() != [4]byte{192, 0, 2, 1} {
		t.Error(g)
	}
	if !(roce.GIDFromAddr(netip.Addr{})).IsZero() {
		t.Error("invalid address")
	}
}
