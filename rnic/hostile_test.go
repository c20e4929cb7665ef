package rnic_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"weir/rnic"
	"weir/roce"
	"weir/units"
)

// target is a device with a queue pair of each type, and memory around its
// region that nothing may touch.
type target struct {
	f    *rnic.Fabric
	dev  *rnic.Device
	ends [3]*end
	peer [3]*end
	mem  []byte // of the RC queue pair: guard, region, guard
	key  uint32
	at   uint64
}

const guard = 512

func newTarget(t testing.TB) *target {
	f := rnic.NewFabric(11, rnic.Impairments{})
	x := &target{f: f, mem: make([]byte, 4096+2*guard)}
	da, err := f.Open(rnic.Config{Addr: addrA})
	if err != nil {
		t.Fatal(err)
	}
	if x.dev, err = f.Open(rnic.Config{Addr: addrB}); err != nil {
		t.Fatal(err)
	}
	path := rnic.DefaultPath()
	path.MTU = 256
	for typ := range x.ends {
		x.peer[typ], x.ends[typ] = newEnd(t, da, rnic.QPType(typ)), newEnd(t, x.dev, rnic.QPType(typ))
		connect(t, x.peer[typ], x.ends[typ], path)
		for i := range 8 {
			x.ends[typ].recv(t, uint64(i), make([]byte, 600))
		}
	}
	for i := range x.mem {
		x.mem[i] = 0xa5
	}
	mr, err := x.ends[0].pd.RegisterMR(x.mem[guard:guard+4096], rnic.RemoteRead|rnic.RemoteWrite|rnic.RemoteAtomic)
	if err != nil {
		t.Fatal(err)
	}
	x.key, x.at = mr.RKey(), mr.Addr()
	return x
}

// seal puts the right ICRC at the end of b, as any sender could.
func seal(b []byte, src, dst netip.Addr, port uint16) {
	if len(b) < roce.BTHLen+roce.ICRCLen {
		return
	}
	var p roce.Packet
	p.Has = roce.HasIPv4
	p.IPv4 = roce.IPv4{Protocol: 17, Flags: roce.DontFragment, TotalLen: uint16(len(b) + 28), Src: src.As4(), Dst: dst.As4()}
	p.UDP = roce.UDP{SrcPort: port, DstPort: roce.Port, Length: uint16(len(b) + 8)}
	var head [28]byte
	p.IPv4.Put(head[:])
	p.UDP.Put(head[20:])
	icrc, _ := roce.ICRCParts(head[:], b[:len(b)-roce.ICRCLen])
	binary.LittleEndian.PutUint32(b[len(b)-roce.ICRCLen:], icrc)
}

// check fails when anything outside the region has changed.
func (x *target) check(t testing.TB) {
	t.Helper()
	for i := range guard {
		if x.mem[i] != 0xa5 || x.mem[len(x.mem)-1-i] != 0xa5 {
			t.Fatal("memory outside the region was changed")
		}
	}
}

// FuzzReceive feeds a device packets that a peer with full knowledge of queue
// pairs and keys could send: nothing outside the region changes, nothing hangs.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0x0a, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 64, 1, 2, 3}, uint8(0), uint32(0), uint32(64))
	f.Add([]byte{0x06, 0, 0}, uint8(0), uint32(4090), uint32(700))
	f.Add([]byte{0x0c}, uint8(0), uint32(0), uint32(4096))
	f.Add([]byte{0x14}, uint8(0), uint32(4092), uint32(0))
	f.Add([]byte{0x26, 1}, uint8(1), uint32(1), uint32(1))
	f.Add([]byte{0x64, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, uint8(2), uint32(0x11111111), uint32(0))
	f.Add([]byte{0x11, 0x60}, uint8(0), uint32(0), uint32(0))
	f.Fuzz(func(t *testing.T, script []byte, typ uint8, offset, length uint32) {
		x := newTarget(t)
		typ %= 3
		to, from := x.ends[typ], x.peer[typ]
		psn := from.qp.PSN()
		for i := 0; i < len(script) && i < 64; i++ {
			op := roce.Opcode(script[i])
			b := make([]byte, roce.BTHLen+op.HeaderBytes()+int(script[len(script)-1-i])*4+roce.ICRCLen)
			h := roce.BTH{Opcode: op, PKey: 0xffff, DestQP: to.qp.Number(), PSN: psn, AckReq: i&1 == 0}
			h.Put(b)
			rest := b[roce.BTHLen:]
			if op.Headers()&roce.HasRETH != 0 {
				(&roce.RETH{VA: x.at + uint64(offset), RKey: x.key, Length: length}).Put(rest)
			} else if op.Headers()&roce.HasAtomicETH != 0 {
				(&roce.AtomicETH{VA: x.at + uint64(offset), RKey: x.key, SwapOrAdd: 1}).Put(rest)
			} else if op.Headers()&roce.HasDETH != 0 {
				(&roce.DETH{QKey: offset, SrcQP: 5}).Put(rest)
			} else {
				copy(rest, script[i:])
			}
			seal(b, addrA, addrB, 50000)
			x.f.Inject(addrA, addrB, 50000, script[i], b)
			if script[i]&0x40 == 0 {
				psn = psn.Add(1)
			}
		}
		x.f.Run(10 * units.Second)
		x.check(t)
	})
}

// TestFlood: random and half-right datagrams cost a counter each and nothing else.
func TestFlood(t *testing.T) {
	x := newTarget(t)
	rnd := rand.New(rand.NewPCG(3, 4))
	stranger := netip.MustParseAddr("192.0.2.99")
	const n = 20_000
	good := x.ends[0].qp.Number()
	psn := x.peer[0].qp.PSN()
	make1 := func(op roce.Opcode, qpn roce.QPN, key uint32) []byte {
		b := make([]byte, roce.BTHLen+op.HeaderBytes()+64+roce.ICRCLen)
		(&roce.BTH{Opcode: op, PKey: 0xffff, DestQP: qpn, PSN: psn, AckReq: true}).Put(b)
		(&roce.RETH{VA: x.at, RKey: key, Length: 64}).Put(b[roce.BTHLen:])
		return b
	}
	flood := func(i int) {
		switch i % 5 {
		case 0: // noise
			b := make([]byte, rnd.IntN(200))
			for k := range b {
				b[k] = byte(rnd.Uint32())
			}
			x.f.Inject(stranger, addrB, 1, 0, b)
		case 1: // a queue pair that is not there
			b := make1(roce.RCWriteOnly, good+roce.QPN(rnic.MaxQPs), x.key)
			seal(b, addrA, addrB, 50000)
			x.f.Inject(addrA, addrB, 50000, 0, b)
		case 2: // right in everything but the sender's address
			b := make1(roce.RCWriteOnly, good, x.key)
			seal(b, stranger, addrB, 50000)
			x.f.Inject(stranger, addrB, 50000, 0, b)
		case 3: // wrong ICRC
			b := make1(roce.RCWriteOnly, good, x.key)
			seal(b, addrA, addrB, 50000)
			b[len(b)-1] ^= 1
			x.f.Inject(addrA, addrB, 50000, 0, b)
		case 4: // another service's opcode
			b := make1(roce.UCWriteOnly, good, x.key)
			seal(b, addrA, addrB, 50000)
			x.f.Inject(addrA, addrB, 50000, 0, b)
		}
		if i%64 == 63 {
			x.f.Run(x.f.Now() + units.Millisecond)
		}
	}
	for i := range 1000 {
		flood(i)
	}
	var before [1]byte
	before[0] = x.mem[guard]
	if a := testing.AllocsPerRun(1, func() {
		for i := range n {
			flood(i)
		}
	}); a > 3*n { // the packets themselves are made here
		t.Errorf("%v allocations for %d packets", a, n)
	}
	x.f.Run(x.f.Now() + units.Second)
	c := x.dev.Counters()
	if c.UnknownQP == 0 || c.WrongSource == 0 || c.BadICRC == 0 || c.Malformed == 0 {
		t.Errorf("%+v", c)
	}
	if c.SentPackets != 0 {
		t.Errorf("%d packets were sent in answer", c.SentPackets)
	}
	if sum := c.UnknownQP + c.WrongSource + c.BadICRC + c.Malformed + c.BadPKey + c.NotReady; sum != c.ReceivedPackets {
		t.Errorf("%d packets received, %d accounted for: %+v", c.ReceivedPackets, sum, c)
	}
	x.check(t)
	if x.mem[guard] != 0xa5 || before[0] != 0xa5 {
		t.Error("a refused packet wrote to memory")
	}
	// The connection works after all that.
	x.peer[0].send(t, rnic.SendRequest{Op: rnic.OpWrite, Data: []byte{1}, RemoteAddr: x.at, RKey: x.key})
	x.f.Run(x.f.Now() + units.Second)
	if got := x.peer[0].poll(); len(got) != 1 || got[0].Status != rnic.Success || x.mem[guard] != 1 {
		t.Errorf("after the flood: %+v", got)
	}
}
