package rnic

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/netip"
	"testing"

	"weir/roce"
)

// TestICRCOfForeignPackets: packets of a kernel driver, whose identifications
// (58f9, f646, 5817, 5905) a socket would not tell, are found right, and wrong
// when a bit is changed. They were captured between two hosts with rdma_rxe.
func TestICRCOfForeignPackets(t *testing.T) {
	for _, frame := range []string{
		"52540077001152540077001208004500003058f940004011cd130a4d000c0a4d000bc90012b7001c00000430ffff000000308043c40840000000e8f8668f",
		"525400770012525400770011080045000030f646400040112fc60a4d000b0a4d000cc90012b7001c00001100ffff000000300043c4081f000001e4ee98ba",
		"525400770011525400770012080045000048581740004011cddd0a4d000c0a4d000bc8a112b7003400001300ffff0000002f8000000e00007f39c2f8b00000001fc0000000000000009911223344556677883c90ec02",
	} {
		b, err := hex.DecodeString(frame)
		if err != nil {
			t.Fatal(err)
		}
		ip := b[14:]
		d := &Device{addr: netip.AddrFrom4([4]byte(ip[16:]))}
		g := datagram{data: ip[28:], src: netip.AddrFrom4([4]byte(ip[12:])), srcPort: binary.BigEndian.Uint16(ip[20:])}
		if !d.checkICRC(&g) || d.counters.ICRCLoose != 1 {
			t.Errorf("%s: refused", frame[28:])
		}
		for bit := range 8 * len(g.data) {
			if bit/8 == 4 { // FECN, BECN and reserved bits are not covered
				continue
			}
			g.data[bit/8] ^= 1 << (bit % 8)
			if d.checkICRC(&g) {
				t.Errorf("taken with bit %d changed", bit)
			}
			g.data[bit/8] ^= 1 << (bit % 8)
		}
		g.id, g.idKnown = binary.BigEndian.Uint16(ip[4:]), true
		if !d.checkICRC(&g) {
			t.Errorf("refused with its identification known")
		}
		g.id++
		if d.checkICRC(&g) {
			t.Errorf("taken with another identification")
		}
	}
}

// TestLooseICRC: without the identification, one in 65,536 random ICRCs is taken.
func TestLooseICRC(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	d := &Device{addr: netip.MustParseAddr("10.0.0.2")}
	g := datagram{data: make([]byte, 1040), src: netip.MustParseAddr("10.0.0.1"), srcPort: 50000}
	const tries = 1 << 20
	taken := 0
	for range tries {
		binary.LittleEndian.PutUint32(g.data[len(g.data)-roce.ICRCLen:], rnd.Uint32())
		if d.checkICRC(&g) {
			taken++
		}
	}
	// 16 are expected; a Poisson count is beyond 40 once in a million times.
	if taken > 40 || taken == 0 {
		t.Errorf("%d of %d random ICRCs are taken, expected about %d", taken, tries, tries/65536)
	}
}
