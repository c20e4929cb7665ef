package netns

import (
	"encoding/binary"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// Frame is an Ethernet frame on a Bridge. Its length may be cut; to lose it,
// return false.
type Frame struct {
	B   []byte
	ToB bool // from host a to host b
}

// UDPPort returns the UDP source port of an untagged IPv4 frame to port 4791, or 0.
func (f *Frame) UDPPort() uint16 {
	b := f.B
	if len(b) < 42 || binary.BigEndian.Uint16(b[12:]) != 0x0800 || b[14] != 0x45 || b[23] != 17 || binary.BigEndian.Uint16(b[36:]) != 4791 {
		return 0
	}
	return binary.BigEndian.Uint16(b[34:])
}

// SetClass sets the traffic class of an IPv4 frame and mends the header checksum.
func (f *Frame) SetClass(tc byte) {
	h := f.B[14:34]
	h[1] = tc
	h[10], h[11] = 0, 0
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(h[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(h[10:], ^uint16(sum))
}

// Class returns the traffic class of an IPv4 frame.
func (f *Frame) Class() byte { return f.B[15] }

// Bridge joins two hosts by a cable each to a namespace of its own, where every
// frame passes through a function in this process: a switch, a filter, a bad
// link. The hosts are returned with the addresses 10.83.0.1/24 on v0 (a) and
// 10.83.0.2/24 on v1 (b). The function is called from one goroutine at a time,
// and calls forward for each frame that goes on, at any time.
func Bridge(t testing.TB, mtu int, each func(f *Frame, forward func(*Frame))) (a, b *Namespace) {
	t.Helper()
	a, b = New(t), New(t)
	m := New(t)
	Join(a, m, "v0", "p0", "10.83.0.1/24", "10.90.0.1/24", mtu)
	Join(b, m, "v1", "p1", "10.83.0.2/24", "10.90.1.1/24", mtu)
	m.Run("ip addr flush dev p0\nip addr flush dev p1")
	for _, e := range []struct {
		n   *Namespace
		dev string
	}{{a, "v0"}, {b, "v1"}} {
		if out, err := e.n.Command("ethtool", "-K", e.dev, "tx", "off", "gso", "off", "gro", "off").CombinedOutput(); err != nil {
			t.Skipf("ethtool: %v %s", err, out)
		}
	}
	var fds [2]int
	m.Do(func() {
		for i, dev := range []string{"p0", "p1"} {
			fds[i] = packetSocket(t, dev)
		}
	})
	var mu sync.Mutex
	forward := func(f *Frame) {
		fd := fds[0]
		if f.ToB {
			fd = fds[1]
		}
		_, _ = unix.Write(fd, f.B) // a full queue loses the frame, as on a wire
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for i, fd := range fds {
		wg.Go(func() {
			buf := make([]byte, 1<<16)
			for {
				select {
				case <-stop:
					return
				default:
				}
				n, from, err := unix.Recvfrom(fd, buf, 0)
				if err != nil || n < 14 {
					continue // the timeout that lets us look at stop
				}
				if ll, ok := from.(*unix.SockaddrLinklayer); ok && ll.Pkttype == unix.PACKET_OUTGOING {
					continue
				}
				mu.Lock()
				each(&Frame{B: buf[:n], ToB: i == 0}, forward)
				mu.Unlock()
			}
		})
	}
	t.Cleanup(func() {
		close(stop)
		wg.Wait()
		unix.Close(fds[0])
		unix.Close(fds[1])
	})
	return a, b
}

// packetSocket makes a socket that sees all frames of an interface.
func packetSocket(t testing.TB, dev string) int {
	const all = 0x0300 // ETH_P_ALL in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		t.Fatal(err)
	}
	ifr, err := unix.NewIfreq(dev)
	if err == nil {
		err = unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, ifr)
	}
	if err != nil {
		t.Fatal(err)
	}
	index := int(ifr.Uint32())
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: index}); err != nil {
		t.Fatal(err)
	}
	mreq := unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}
	if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &mreq); err != nil {
		t.Fatal(err)
	}
	tv := unix.Timeval{Usec: 50_000}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &tv); err != nil {
		t.Fatal(err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20)
	return fd
}
