package rnic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/roce"
	"weir/units"
)

// Open opens a device on UDP port 4791 of a local address. It needs no
// privilege. Several devices may be open at a time, on different addresses.
func Open(c Config) (*Device, error) {
	d, err := newDevice(&c)
	if err != nil {
		return nil, err
	}
	s, err := openSocket(&c, d.addr)
	if err != nil {
		return nil, fmt.Errorf("rnic: %v: %w", netip.AddrPortFrom(d.addr, roce.Port), err)
	}
	d.io, d.gso = s, c.Segmentation && s.gso
	d.tx.init(1 << 19)
	start := time.Now()
	d.now = func() units.Time { return units.Time(time.Since(start)) * units.Nanosecond }
	go d.run()
	return d, nil
}

// ReceiveBuffer returns the size in bytes of the receive buffer that the kernel
// granted; 0 on a Fabric. Packets in flight towards the device beyond it are
// lost; the kernel counts its own overhead in.
func (d *Device) ReceiveBuffer() int {
	if d.io == nil {
		return 0
	}
	return d.io.buffer
}

// run is the device's loop: receive, let the queue pairs send, wait.
func (d *Device) run() {
	s := d.io
	defer close(s.stopped)
	for {
		n := s.receive()
		d.mu.Lock()
		if d.closed {
			d.mu.Unlock()
			return
		}
		now := d.now()
		for i := range n {
			s.each(d, i, now)
		}
		d.expire(now)
		d.tx.reset()
		d.fill(now)
		idle := n == 0 && len(d.tx.sends) == 0
		d.asleep = idle
		until := d.check
		d.mu.Unlock()
		if refused := s.send(&d.tx); refused > 0 {
			d.mu.Lock()
			d.counters.SendErrors += uint64(refused)
			d.mu.Unlock()
		}
		if idle {
			s.wait(now, until)
		}
	}
}

const (
	receiveMessages = 32
	receiveBytes    = 1 << 16 // of a message: a train of datagrams that arrived together
	controlBytes    = 128
)

// socket is the input and output of a device: one socket bound to port 4791 for
// what arrives, and one for each source port for what leaves.
type socket struct {
	fd      int // UDP, port 4791
	raw     int // IPPROTO_UDP with headers, or -1
	event   int // eventfd that wakes the loop
	addr    netip.Addr
	gso     bool
	buffer  int
	senders map[uint16]*sender
	zone    uint32     // of a link-local address
	mu      sync.Mutex // of senders and closed
	closed  bool
	stopped chan struct{}

	msgs    []mmsghdr
	iovs    []unix.Iovec
	names   []unix.RawSockaddrInet6
	control []byte
	data    []byte

	outMsgs    []mmsghdr
	outIovs    []unix.Iovec
	outNames   []unix.RawSockaddrInet6
	outControl []byte
}

// sender is a socket bound to a source port.
type sender struct {
	fd   int
	port uint16
}

// mmsghdr is struct mmsghdr of recvmmsg and sendmmsg.
type mmsghdr struct {
	hdr unix.Msghdr
	len uint32
	_   [4]byte
}

func openSocket(c *Config, addr netip.Addr) (*socket, error) {
	s := &socket{fd: -1, raw: -1, event: -1, addr: addr, zone: zoneID(addr), senders: map[uint16]*sender{}, stopped: make(chan struct{})}
	ok := false
	defer func() {
		if !ok {
			s.release()
		}
	}()
	var err error
	if s.fd, err = udpSocket(addr, roce.Port); err != nil {
		return nil, err
	}
	size := c.ReceiveBuffer
	if size == 0 {
		size = 8 << 20
	}
	in := s.fd
	if c.RawReceive && addr.Is4() {
		if s.raw, err = rawSocket(addr); err != nil {
			return nil, fmt.Errorf("raw socket: %w", err)
		}
		// The UDP socket stays, or the kernel would answer "port unreachable".
		_ = unix.SetsockoptInt(s.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 0)
		in = s.raw
	} else {
		// Trains of datagrams that the kernel kept together come in one piece.
		_ = unix.SetsockoptInt(s.fd, unix.IPPROTO_UDP, unix.UDP_GRO, 1)
	}
	if unix.SetsockoptInt(in, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, size) != nil {
		_ = unix.SetsockoptInt(in, unix.SOL_SOCKET, unix.SO_RCVBUF, size)
	}
	s.buffer, _ = unix.GetsockoptInt(in, unix.SOL_SOCKET, unix.SO_RCVBUF)
	if s.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil, err
	}
	// A kernel that knows the option can segment.
	_, err = unix.GetsockoptInt(s.fd, unix.IPPROTO_UDP, unix.UDP_SEGMENT)
	s.gso = err == nil
	s.makeBuffers()
	ok = true
	return s, nil
}

// udpSocket makes a UDP socket bound to a port, whose packets have DF set and
// identification 0 (which unconnected sockets give when path MTU discovery is
// PROBE), and which tells the traffic class of what it receives.
func udpSocket(addr netip.Addr, port uint16) (int, error) {
	family := unix.AF_INET
	if addr.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	type option struct{ level, name, value int }
	options := []option{
		{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE},
		{unix.IPPROTO_IP, unix.IP_RECVTOS, 1},
	}
	if family == unix.AF_INET6 {
		options = []option{
			{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1},
			{unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE},
			{unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1},
			{unix.IPPROTO_UDP, unix.UDP_NO_CHECK6_RX, 1}, // rdma_rxe sends UDP checksum 0
		}
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("socket option %d/%d: %w", o.level, o.name, err)
		}
	}
	if err := unix.Bind(fd, sockaddr(addr, port)); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func sockaddr(addr netip.Addr, port uint16) unix.Sockaddr {
	if addr.Is4() {
		return &unix.SockaddrInet4{Port: int(port), Addr: addr.As4()}
	}
	return &unix.SockaddrInet6{Port: int(port), Addr: addr.As16(), ZoneId: zoneID(addr)}
}

// rawSocket makes a socket that receives the UDP packets to port 4791 of addr
// with their headers.
func rawSocket(addr netip.Addr) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_UDP)
	if err != nil {
		return -1, err
	}
	// Load the IP header's length, and the port behind it; take or refuse.
	code := []unix.SockFilter{
		{Code: 0xb1, K: 0}, // ldxb 4*([0]&0xf)
		{Code: 0x48, K: 2}, // ldh [x+2]
		{Code: 0x15, Jt: 0, Jf: 1, K: uint32(roce.Port)}, // jeq #4791
		{Code: 0x06, K: 1 << 18},                         // ret #262144
		{Code: 0x06, K: 0},                               // ret #0
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog)
	if err == nil {
		err = unix.Bind(fd, sockaddr(addr, 0))
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

func (s *socket) makeBuffers() {
	s.msgs = make([]mmsghdr, receiveMessages)
	s.iovs = make([]unix.Iovec, receiveMessages)
	s.names = make([]unix.RawSockaddrInet6, receiveMessages)
	s.control = make([]byte, receiveMessages*controlBytes)
	s.data = make([]byte, receiveMessages*receiveBytes)
	for i := range s.msgs {
		s.iovs[i].Base = &s.data[i*receiveBytes]
		s.iovs[i].SetLen(receiveBytes)
		h := &s.msgs[i].hdr
		h.Iov, h.Name, h.Control = &s.iovs[i], (*byte)(unsafe.Pointer(&s.names[i])), &s.control[i*controlBytes]
		h.SetIovlen(1)
	}
	s.outMsgs = make([]mmsghdr, maxSends)
	s.outIovs = make([]unix.Iovec, maxSends)
	s.outNames = make([]unix.RawSockaddrInet6, maxSends)
	s.outControl = make([]byte, maxSends*controlBytes)
}

// maxSenders bounds the sockets of a device; beyond it, source ports are shared.
const maxSenders = 256

// sender finds or makes the socket of a path's source port. Where the port is
// taken or there are too many, the path gets another.
func (s *socket) sender(p *path) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if p.sender = s.senders[p.srcPort]; p.sender != nil {
		return nil
	}
	if len(s.senders) >= maxSenders {
		for _, x := range s.senders {
			if p.sender == nil || (x.port^p.srcPort) < (p.sender.port^p.srcPort) {
				p.sender = x
			}
		}
		p.srcPort = p.sender.port
		return nil
	}
	const tries = 64
	var err error
	for i := range uint16(tries) {
		port := p.srcPort + i
		if port < 1024 {
			port += 0xc000
		}
		var fd int
		if fd, err = udpSocket(s.addr, port); err == nil {
			// Nothing is received here.
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 0)
			_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<20)
			p.sender = &sender{fd: fd, port: port}
			p.srcPort = port
			s.senders[port] = p.sender
			return nil
		}
		if !errors.Is(err, unix.EADDRINUSE) {
			return err
		}
	}
	return err
}

// receive takes what has arrived, without waiting, and returns the number of
// messages.
func (s *socket) receive() int {
	fd := s.fd
	if s.raw >= 0 {
		fd = s.raw
	}
	for i := range s.msgs {
		h := &s.msgs[i].hdr
		h.Namelen = unix.SizeofSockaddrInet6
		h.SetControllen(controlBytes)
	}
	n, _, errno := unix.Syscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.msgs[0])), uintptr(len(s.msgs)), unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// each hands the datagrams of message i to the device.
func (s *socket) each(d *Device, i int, now units.Time) {
	m := &s.msgs[i]
	b := s.data[i*receiveBytes:][:m.len]
	var g datagram
	name := (*[unix.SizeofSockaddrInet6]byte)(unsafe.Pointer(&s.names[i]))
	g.srcPort = binary.BigEndian.Uint16(name[2:])
	if s.addr.Is4() {
		g.src = netip.AddrFrom4([4]byte(name[4:]))
	} else {
		g.src = netip.AddrFrom16([16]byte(name[8:]))
	}
	seg := len(b)
	s.ancillary(i, &g.tc, &seg)
	if s.raw >= 0 {
		if !g.fromHeaders(b) {
			d.counters.Malformed++
			return
		}
		d.receive(now, &g)
		return
	}
	for len(b) > seg {
		g.data = b[:seg]
		d.receive(now, &g)
		b = b[seg:]
	}
	g.data = b
	d.receive(now, &g)
}

// fromHeaders reads an IPv4 packet from a raw socket.
func (g *datagram) fromHeaders(b []byte) bool {
	var ip roce.IPv4
	var udp roce.UDP
	if ip.Decode(b) != nil || udp.Decode(b[ip.HdrLen:]) != nil || int(ip.HdrLen)+int(udp.Length) > len(b) {
		return false
	}
	g.src, g.srcPort, g.tc, g.id, g.idKnown = netip.AddrFrom4(ip.Src), udp.SrcPort, ip.TOS, ip.ID, true
	g.data = b[int(ip.HdrLen)+roce.UDPLen : int(ip.HdrLen)+int(udp.Length)]
	return true
}

// ancillary reads traffic class and segment size of message i.
func (s *socket) ancillary(i int, tc *uint8, seg *int) {
	c := s.control[i*controlBytes:][:s.msgs[i].hdr.Controllen]
	for len(c) >= unix.SizeofCmsghdr {
		h := (*unix.Cmsghdr)(unsafe.Pointer(&c[0]))
		n := int(h.Len)
		if n < unix.SizeofCmsghdr || n > len(c) {
			return
		}
		data := c[unix.SizeofCmsghdr:n]
		switch {
		case h.Level == unix.IPPROTO_IP && h.Type == unix.IP_TOS && len(data) >= 1:
			*tc = data[0]
		case h.Level == unix.IPPROTO_IPV6 && h.Type == unix.IPV6_TCLASS && len(data) >= 4:
			*tc = uint8(binary.NativeEndian.Uint32(data))
		case h.Level == unix.IPPROTO_UDP && h.Type == unix.UDP_GRO && len(data) >= 4:
			if v := int(binary.NativeEndian.Uint32(data)); v > 0 {
				*seg = v
			}
		}
		c = c[min(len(c), (n+7)&^7):]
	}
}

// send sends the batch, socket by socket in its order, and returns how many
// messages the kernel refused.
func (s *socket) send(b *batch) (refused int) {
	for from := 0; from < len(b.sends); {
		to := from
		sender := b.sends[from].path.sender
		for to < len(b.sends) && b.sends[to].path.sender == sender {
			s.prepare(&b.sends[to], to-from, b.arena)
			to++
		}
		for at := 0; at < to-from; {
			n, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(sender.fd), uintptr(unsafe.Pointer(&s.outMsgs[at])), uintptr(to-from-at), 0, 0, 0)
			switch {
			case errno == unix.EINTR:
			case errno != 0:
				refused++ // lost, as on a wire
				at++
			default:
				at += int(n)
			}
		}
		from = to
	}
	runtime.KeepAlive(s)
	return refused
}

// prepare fills in message i for a send.
func (s *socket) prepare(x *send, i int, arena []byte) {
	s.outIovs[i].Base = &arena[x.from]
	s.outIovs[i].SetLen(x.to - x.from)
	h := &s.outMsgs[i].hdr
	h.Iov = &s.outIovs[i]
	h.SetIovlen(1)
	h.Name = (*byte)(unsafe.Pointer(&s.outNames[i]))
	name := (*[unix.SizeofSockaddrInet6]byte)(unsafe.Pointer(&s.outNames[i]))
	c := s.outControl[i*controlBytes:]
	h.Control = &c[0]
	binary.BigEndian.PutUint16(name[2:], roce.Port)
	level, kind := unix.IPPROTO_IP, unix.IP_TOS
	if dst := x.path.dst; dst.Is4() {
		h.Namelen = unix.SizeofSockaddrInet4
		binary.NativeEndian.PutUint16(name[:], unix.AF_INET)
		a := dst.As4()
		copy(name[4:], a[:])
	} else {
		h.Namelen = unix.SizeofSockaddrInet6
		binary.NativeEndian.PutUint16(name[:], unix.AF_INET6)
		a := dst.As16()
		copy(name[8:], a[:])
		binary.NativeEndian.PutUint32(name[24:], s.zone)
		level, kind = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
	}
	n := putControl(c, level, kind, 4)
	binary.NativeEndian.PutUint32(c[n-8:], uint32(x.tc))
	if x.n > 1 {
		k := putControl(c[n:], unix.IPPROTO_UDP, unix.UDP_SEGMENT, 2)
		binary.NativeEndian.PutUint16(c[n+k-8:], uint16(x.seg))
		n += k
	}
	h.SetControllen(n)
}

// putControl writes the head of a control message with size bytes (up to 8) of
// data, which start 8 bytes before its end, and returns its length with padding.
func putControl(c []byte, level, kind, size int) int {
	h := (*unix.Cmsghdr)(unsafe.Pointer(&c[0]))
	h.Level, h.Type = int32(level), int32(kind)
	h.SetLen(unix.SizeofCmsghdr + size)
	return unix.SizeofCmsghdr + 8
}

// wait blocks until something arrives, wake is called, or the time comes.
func (s *socket) wait(now, until units.Time) {
	fd := s.fd
	if s.raw >= 0 {
		fd = s.raw
	}
	fds := [2]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(s.event), Events: unix.POLLIN}}
	var timeout *unix.Timespec
	if until != units.Never {
		t := unix.NsecToTimespec(max(0, int64((until-now)/units.Nanosecond)))
		timeout = &t
	}
	if n, _ := unix.Ppoll(fds[:], timeout, nil); n > 0 && fds[1].Revents != 0 {
		var b [8]byte
		_, _ = unix.Read(s.event, b[:])
	}
}

func (s *socket) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	b := [8]byte{}
	binary.NativeEndian.PutUint64(b[:], 1)
	_, _ = unix.Write(s.event, b[:])
}

// close ends the loop of a device that is marked as closed.
func (s *socket) close() error {
	s.wake()
	<-s.stopped
	s.release()
	return nil
}

func (s *socket) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, fd := range []int{s.fd, s.raw, s.event} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
	for _, x := range s.senders {
		unix.Close(x.fd)
	}
}
