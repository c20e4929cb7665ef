// Package perf measures bandwidth and latency between two hosts with RoCEv2
// queue pairs of the software RNIC or with the kernel's TCP, speaks the
// handshake of the perftest tools (ib_write_bw and its kin) in both roles, and
// runs collectives over real packets.
package perf

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"weir/rnic"
	"weir/roce"
)

// Op is what a test does.
type Op string

// The operations.
const (
	Write  Op = "write"
	Read   Op = "read"
	Send   Op = "send"
	Atomic Op = "atomic" // FETCH_ADD of 8 bytes
)

// Transport is how data go.
type Transport string

// The transports. TCP knows Write alone: a stream one way.
const (
	RoCEv2 Transport = "rocev2"
	TCP    Transport = "tcp"
)

// Limits of a test, which a server holds its clients to.
const (
	MaxSize       = 8 << 20 // bytes of one message
	MaxQPs        = 256
	MaxMemory     = 256 << 20 // bytes of a server's buffers
	MaxIterations = 100_000_000
	MaxDuration   = 10 * time.Minute
)

// Spec says what to measure. Its JSON form is what a client asks a server for.
type Spec struct {
	Op           Op            `json:"op"`
	Transport    Transport     `json:"transport"`
	Size         int           `json:"size_bytes"`  // of a message
	Iterations   int           `json:"iterations"`  // messages of each queue pair; 0: Duration counts
	Duration     time.Duration `json:"duration_ns"` // 0: Iterations count
	QPs          int           `json:"qps"`         // queue pairs, or TCP connections
	Both         bool          `json:"both"`        // both directions at a time
	Latency      bool          `json:"latency"`     // one message at a time
	MTU          int           `json:"mtu_bytes"`   // path MTU; 0: the largest that both interfaces take
	TrafficClass uint8         `json:"traffic_class"`
	// Segmentation: the kernel cuts trains into packets (see rnic.Config).
	Segmentation bool `json:"segmentation"`
}

// Check returns what is wrong with a spec.
func (s *Spec) Check() error {
	switch s.Op {
	case Write, Read, Send, Atomic:
	default:
		return fmt.Errorf("operation %q: allowed are write, read, send and atomic", s.Op)
	}
	switch {
	case s.Transport != RoCEv2 && s.Transport != TCP:
		return fmt.Errorf("transport %q: allowed are rocev2 and tcp", s.Transport)
	case s.Transport == TCP && s.Op != Write:
		return fmt.Errorf("operation %q over TCP: a TCP connection only knows write", s.Op)
	case s.Size < 1 || s.Size > MaxSize:
		return fmt.Errorf("size %d: allowed are 1 byte to 8 MiB", s.Size)
	case s.Op == Atomic && s.Size != 8:
		return fmt.Errorf("size %d of an atomic: it has 8 bytes", s.Size)
	case s.QPs < 1 || s.QPs > MaxQPs:
		return fmt.Errorf("%d queue pairs: allowed are 1 to %d", s.QPs, MaxQPs)
	case s.QPs*s.Size > MaxMemory:
		return fmt.Errorf("%d queue pairs of %d bytes: more than %d MiB together", s.QPs, s.Size, MaxMemory>>20)
	case s.Iterations < 0 || s.Iterations > MaxIterations || s.Duration < 0 || s.Duration > MaxDuration:
		return fmt.Errorf("%d iterations, %v: at most %d and %v", s.Iterations, s.Duration, MaxIterations, MaxDuration)
	case s.Iterations == 0 && s.Duration == 0:
		return errors.New("neither iterations nor a duration")
	case s.MTU != 0 && s.MTU != 256 && s.MTU != 512 && s.MTU != 1024 && s.MTU != 2048 && s.MTU != 4096:
		return fmt.Errorf("path MTU %d: allowed are 256, 512, 1024, 2048 and 4096", s.MTU)
	}
	return nil
}

// pathMTU returns the largest path MTU whose packets fit the interface of a
// local address.
func pathMTU(addr netip.Addr) int {
	const headers = 80 // of a packet at most: IPv6, UDP, BTH and extensions, ICRC
	mtu := 1500
	if ifs, err := net.Interfaces(); err == nil {
		for _, i := range ifs {
			as, _ := i.Addrs()
			for _, a := range as {
				if p, err := netip.ParsePrefix(a.String()); err == nil && (p.Addr() == addr || addr.IsLoopback() && p.Contains(addr)) {
					mtu = i.MTU
				}
			}
		}
	}
	for code := uint8(5); code > 1; code-- {
		if n := roce.MTUBytes(code); n+headers <= mtu {
			return n
		}
	}
	return 256
}

// deviceAddr picks the device's address from the control connection: its own
// end, unless both ends are the same address of the loopback interface, where
// two devices need two addresses.
func deviceAddr(conn net.Conn, client bool) netip.Addr {
	local := addrOf(conn.LocalAddr())
	if client && local == addrOf(conn.RemoteAddr()) && local.Is4() && local.IsLoopback() {
		a := local.As4()
		a[1] += 83
		a[3]++
		return netip.AddrFrom4(a)
	}
	return local
}

func addrOf(a net.Addr) netip.Addr {
	if t, ok := a.(*net.TCPAddr); ok {
		if p, ok := netip.AddrFromSlice(t.IP); ok {
			p = p.Unmap()
			if t.Zone != "" && p.Is6() {
				p = p.WithZone(t.Zone)
			}
			return p
		}
	}
	return netip.Addr{}
}

// window returns how many packets a queue pair may have in flight towards a
// device with a receive buffer of the given size, which n queue pairs share.
func window(buffer, mtu, n int) int {
	const overhead = 1024 // that the kernel counts for a packet
	return max(4, min(256, buffer/2/n/(mtu+overhead)))
}

// pathOf returns the settings of a test's connections.
func pathOf(s *Spec, buffer int) rnic.Path {
	p := rnic.DefaultPath()
	p.MTU = s.MTU
	p.TrafficClass = s.TrafficClass
	p.Window = window(buffer, s.MTU, s.QPs)
	return p
}
