package probe

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/roce"
)

// sock is a UDP socket whose packets have DF set and identification 0, and which
// tells traffic class and TTL of what it receives and the ICMP errors that its
// packets caused.
type sock struct {
	fd   int
	addr netip.Addr
	port uint16
}

func openSock(addr netip.Addr, port uint16) (*sock, error) {
	family := unix.AF_INET
	if addr.Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	options := [][3]int{
		{unix.IPPROTO_IP, unix.IP_MTU_DISCOVER, unix.IP_PMTUDISC_PROBE}, {unix.IPPROTO_IP, unix.IP_RECVTOS, 1},
		{unix.IPPROTO_IP, unix.IP_RECVTTL, 1}, {unix.IPPROTO_IP, unix.IP_RECVERR, 1},
	}
	if family == unix.AF_INET6 {
		options = [][3]int{
			{unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 1}, {unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER, unix.IPV6_PMTUDISC_PROBE},
			{unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1}, {unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT, 1},
			{unix.IPPROTO_IPV6, unix.IPV6_RECVERR, 1}, {unix.IPPROTO_UDP, unix.UDP_NO_CHECK6_RX, 1},
		}
	}
	for _, o := range options {
		if err := unix.SetsockoptInt(fd, o[0], o[1], o[2]); err != nil {
			unix.Close(fd)
			return nil, os.NewSyscallError("setsockopt", err)
		}
	}
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: int(port), Addr: as4(addr)}
	if family == unix.AF_INET6 {
		sa = &unix.SockaddrInet6{Port: int(port), Addr: addr.As16()}
	}
	if err := unix.Bind(fd, sa); err != nil {
		unix.Close(fd)
		return nil, os.NewSyscallError("bind", err)
	}
	return &sock{fd: fd, addr: addr, port: port}, nil
}

func as4(a netip.Addr) [4]byte {
	if a.Is4() {
		return a.As4()
	}
	return [4]byte{}
}

func (s *sock) close() { unix.Close(s.fd) }

// send sends a datagram to port 4791 with a traffic class and TTL (0: the usual).
func (s *sock) send(dst netip.Addr, b []byte, class uint8, ttl int) error {
	level, tos, hops := unix.IPPROTO_IP, unix.IP_TOS, unix.IP_TTL
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: roce.Port, Addr: as4(dst)}
	if s.addr.Is6() {
		level, tos, hops = unix.IPPROTO_IPV6, unix.IPV6_TCLASS, unix.IPV6_HOPLIMIT
		sa = &unix.SockaddrInet6{Port: roce.Port, Addr: dst.As16()}
	}
	oob := control(nil, level, tos, int32(class))
	if ttl > 0 {
		oob = control(oob, level, hops, int32(ttl))
	}
	var err error
	for range 3 { // an earlier packet's ICMP error is reported once, and clears
		if err = unix.Sendmsg(s.fd, b, oob, sa, 0); err == nil || errors.Is(err, unix.EMSGSIZE) {
			break
		}
	}
	return err
}

func control(oob []byte, level, kind int, v int32) []byte {
	c := make([]byte, unix.CmsgSpace(4))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&c[0]))
	h.Level, h.Type = int32(level), int32(kind)
	h.SetLen(unix.CmsgLen(4))
	binary.NativeEndian.PutUint32(c[unix.SizeofCmsghdr:], uint32(v))
	return append(oob, c...)
}

// arrival is a datagram that came in.
type arrival struct {
	b     []byte
	src   netip.Addr
	port  uint16
	class uint8
	ttl   uint8
}

// receive returns the next datagram that is there, or false.
func (s *sock) receive(buf []byte) (a arrival, ok bool) {
	var oob [256]byte
	n, on, _, from, err := unix.Recvmsg(s.fd, buf, oob[:], unix.MSG_DONTWAIT)
	if err != nil {
		return a, false
	}
	a.b = buf[:n]
	a.src, a.port = source(from)
	eachControl(oob[:on], func(level, kind int, data []byte) {
		switch {
		case level == unix.IPPROTO_IP && kind == unix.IP_TOS && len(data) > 0:
			a.class = data[0]
		case level == unix.IPPROTO_IPV6 && kind == unix.IPV6_TCLASS && len(data) >= 4:
			a.class = uint8(binary.NativeEndian.Uint32(data))
		case (level == unix.IPPROTO_IP && kind == unix.IP_TTL || level == unix.IPPROTO_IPV6 && kind == unix.IPV6_HOPLIMIT) && len(data) >= 4:
			a.ttl = uint8(binary.NativeEndian.Uint32(data))
		}
	})
	return a, true
}

func source(from unix.Sockaddr) (netip.Addr, uint16) {
	switch f := from.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrFrom4(f.Addr), uint16(f.Port)
	case *unix.SockaddrInet6:
		return netip.AddrFrom16(f.Addr).Unmap(), uint16(f.Port)
	}
	return netip.Addr{}, 0
}

func eachControl(oob []byte, f func(level, kind int, data []byte)) {
	ms, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for _, m := range ms {
		f(int(m.Header.Level), int(m.Header.Type), m.Data)
	}
}

// icmpError is an ICMP answer to a packet that the socket sent.
type icmpError struct {
	b       []byte // the packet, as far as it came back
	from    netip.Addr
	expired bool // time exceeded
	refused bool // port unreachable: the host is there and nobody listens
	banned  bool // administratively prohibited
	mtu     int  // fragmentation needed: the next hop's MTU
}

// icmp returns the next ICMP error, or false.
func (s *sock) icmp(buf []byte) (e icmpError, ok bool) {
	var oob [512]byte
	n, on, _, _, err := unix.Recvmsg(s.fd, buf, oob[:], unix.MSG_ERRQUEUE|unix.MSG_DONTWAIT)
	if err != nil {
		return e, false
	}
	e.b = buf[:n]
	eachControl(oob[:on], func(level, kind int, data []byte) {
		v4 := level == unix.IPPROTO_IP && kind == unix.IP_RECVERR
		v6 := level == unix.IPPROTO_IPV6 && kind == unix.IPV6_RECVERR
		if !v4 && !v6 || len(data) < 16 {
			return
		}
		origin, typ, code := data[4], data[5], data[6]
		const icmp, icmp6 = 2, 3
		if origin != icmp && origin != icmp6 {
			return
		}
		switch {
		case v4:
			e.expired, e.refused = typ == 11, typ == 3 && code == 3
			e.banned = typ == 3 && (code == 9 || code == 10 || code == 13)
			if typ == 3 && code == 4 {
				e.mtu = int(binary.NativeEndian.Uint32(data[8:]))
			}
			if len(data) >= 24 {
				e.from = netip.AddrFrom4([4]byte(data[20:]))
			}
		default:
			e.expired, e.refused, e.banned = typ == 3, typ == 1 && code == 4, typ == 1 && code == 1
			if typ == 2 {
				e.mtu = int(binary.NativeEndian.Uint32(data[8:]))
			}
			if len(data) >= 40 {
				e.from = netip.AddrFrom16([16]byte(data[24:]))
			}
		}
	})
	return e, true
}

// wait blocks until one of the sockets has something, or the time is over.
func wait(socks []*sock, d time.Duration) {
	fds := make([]unix.PollFd, len(socks))
	for i, s := range socks {
		fds[i] = unix.PollFd{Fd: int32(s.fd), Events: unix.POLLIN}
	}
	t := unix.NsecToTimespec(max(0, int64(d)))
	_, _ = unix.Ppoll(fds, &t, nil)
}
