package capture

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weir/roce"
)

// Packets that this host sends to itself on the loopback device: RoCE is seen, other
// traffic is not.
func TestLive(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	live, err := Listen(ctx, "lo", 2*time.Second)
	if errors.Is(err, unix.EPERM) {
		t.Skip("no right to open packet sockets")
	}
	if err != nil {
		t.Skip("no packet socket on lo: ", err)
	}
	defer live.Close()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// The transport part of a SEND ONLY, addressed as loopback is.
	var p roce.Packet
	p.Has = roce.HasIPv4
	p.BTH = roce.BTH{Opcode: roce.RCSendOnly, PSN: 5, DestQP: 0x4d2f1}
	p.Payload = []byte("live")
	buf := make([]byte, 100)
	n, err := p.Encode(buf)
	if err != nil {
		t.Fatal(err)
	}
	for _, port := range []int{roce.Port, 9999, roce.Port} {
		if _, err := conn.WriteToUDP(buf[roce.IPv4Len+roce.UDPLen:n], &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}); err != nil {
			t.Fatal(err)
		}
	}
	filter, err := ParseFilter("qp 0x4d2f1 and frame 1-1000000")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	a := New(Options{Filter: filter, Packet: func(s *Sighting) {
		// Loopback shows each packet going out and coming in.
		if seen++; seen == 2 || string(s.Frame.Payload) != "live" || s.Frame.BTH.PSN != 5 {
			cancel()
		}
	}})
	if err := a.Drain(ctx, live); err != nil && ctx.Err() == nil {
		t.Fatal(err)
	}
	if r := a.Report(); r.RoCEPackets < 2 || r.Opcodes["RC_SEND_ONLY"] != r.RoCEPackets {
		t.Errorf("%+v", r)
	}
	if _, err := Listen(ctx, "no-such-interface", 0); err == nil {
		t.Error("an interface that is not there")
	}
}
