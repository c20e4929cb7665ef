package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"weir/roce"
	"weir/roce/pcapfile"
)

// Live delivers the frames of a network interface. It needs the right to
// open packet sockets (CAP_NET_RAW).
type Live struct {
	fd    int
	ctx   context.Context
	until time.Time // zero: until the context is done
	buf   []byte
	oob   [256]byte
	link  pcapfile.LinkType
}

const (
	// liveBuffer is the socket's queue: 32 MiB hold 2.5 ms at 100 Gb/s.
	liveBuffer = 32 << 20
	// livePoll is how long one wait for packets lasts: the time that Ctrl-C takes.
	livePoll = 200 * time.Millisecond
)

// Listen opens an interface for capturing until ctx is done or, if it is not 0,
// for a duration. The kernel passes on RoCE, VXLAN and pause frames alone.
// The caller closes it.
func Listen(ctx context.Context, name string, duration time.Duration) (*Live, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	l := &Live{fd: fd, ctx: ctx, buf: make([]byte, 1<<16), link: pcapfile.Ethernet}
	if duration > 0 {
		l.until = time.Now().Add(duration)
	}
	if err := l.setUp(ifi); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return l, nil
}

func (l *Live) setUp(ifi *net.Interface) error {
	if unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, liveBuffer) != nil {
		// Without the right to force it the system's limit counts.
		_ = unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, liveBuffer)
	}
	prog := kernelFilter()
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	if err := unix.SetsockoptSockFprog(l.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &fprog); err != nil {
		return fmt.Errorf("attach filter: %w", err)
	}
	if err := unix.SetsockoptInt(l.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1); err != nil {
		return err
	}
	// The kernel takes VLAN tags off and tells them on the side.
	if err := unix.SetsockoptInt(l.fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
		return err
	}
	promiscuous := unix.PacketMreq{Ifindex: int32(ifi.Index), Type: unix.PACKET_MR_PROMISC}
	_ = unix.SetsockoptPacketMreq(l.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &promiscuous)
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	return unix.Bind(l.fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: ifi.Index})
}

// kernelFilter is the classic BPF program that lets through what may be RoCE:
// EtherTypes of RoCEv1, MAC control and VLAN, and UDP to ports 4791 and 4789.
func kernelFilter() []unix.SockFilter {
	const accept, reject = 14, 15
	jump := func(at int, k uint32, yes, no int) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(yes - at - 1), Jf: uint8(no - at - 1), K: k}
	}
	load := func(size uint16, at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | size | unix.BPF_ABS, K: at}
	}
	return []unix.SockFilter{
		0:      load(unix.BPF_H, 12),
		1:      jump(1, roce.EtherTypeRoCEv1, accept, 2),
		2:      jump(2, roce.EtherTypeMACControl, accept, 3),
		3:      jump(3, roce.EtherTypeVLAN, accept, 4),
		4:      jump(4, roce.EtherTypeIPv6, 11, 5),
		5:      jump(5, roce.EtherTypeIPv4, 6, reject),
		6:      load(unix.BPF_B, 23),
		7:      jump(7, 17, 8, reject),
		8:      {Code: unix.BPF_LDX | unix.BPF_B | unix.BPF_MSH, K: 14}, // X: length of the IPv4 header
		9:      {Code: unix.BPF_LD | unix.BPF_H | unix.BPF_IND, K: 16},  // UDP destination port
		10:     {Code: unix.BPF_JMP | unix.BPF_JA, K: 1},                // to 12
		11:     load(unix.BPF_H, 56),                                    // that of IPv6
		12:     jump(12, roce.Port, accept, 13),
		13:     jump(13, roce.PortVXLAN, accept, reject),
		accept: {Code: unix.BPF_RET | unix.BPF_K, K: 0x40000},
		reject: {Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
}

// Next waits for the next frame. It returns io.EOF when the time is over or the
// context is done.
func (l *Live) Next(rec *pcapfile.Record) error {
	for {
		if l.ctx.Err() != nil || !l.until.IsZero() && time.Now().After(l.until) {
			return io.EOF
		}
		// Room before the frame for a VLAN tag.
		n, oobn, flags, _, err := unix.Recvmsg(l.fd, l.buf[roce.VLANLen:], l.oob[:], unix.MSG_DONTWAIT|unix.MSG_TRUNC)
		switch {
		case err == nil:
			l.record(rec, n, flags, l.oob[:oobn])
			return nil
		case errors.Is(err, unix.EAGAIN):
			p := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(p, int(livePoll/time.Millisecond)); err != nil && !errors.Is(err, unix.EINTR) {
				return err
			}
		case errors.Is(err, unix.EINTR):
		default:
			return err
		}
	}
}

// record fills rec from a received frame of n bytes on the wire.
func (l *Live) record(rec *pcapfile.Record, n, _ int, oob []byte) {
	frame := l.buf[roce.VLANLen : roce.VLANLen+min(n, len(l.buf)-roce.VLANLen)]
	*rec = pcapfile.Record{Time: time.Now().UnixNano(), Data: frame, WireLen: n, LinkType: l.link}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})):
			rec.Time = (*unix.Timespec)(unsafe.Pointer(&m.Data[0])).Nano()
		case m.Header.Level == unix.SOL_PACKET && m.Header.Type == unix.PACKET_AUXDATA && len(m.Data) >= int(unsafe.Sizeof(unix.TpacketAuxdata{})):
			aux := (*unix.TpacketAuxdata)(unsafe.Pointer(&m.Data[0]))
			if aux.Status&unix.TP_STATUS_VLAN_VALID != 0 && len(frame) >= roce.EthernetLen {
				l.insertTag(rec, aux)
			}
		}
	}
}

// insertTag puts the VLAN tag back that the kernel took off.
func (l *Live) insertTag(rec *pcapfile.Record, aux *unix.TpacketAuxdata) {
	tpid := uint16(roce.EtherTypeVLAN)
	if aux.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
		tpid = aux.Vlan_tpid
	}
	b := l.buf[:roce.VLANLen+len(rec.Data)]
	copy(b, b[roce.VLANLen:roce.VLANLen+12])
	binary.BigEndian.PutUint16(b[12:], tpid)
	binary.BigEndian.PutUint16(b[14:], aux.Vlan_tci)
	rec.Data, rec.WireLen = b, rec.WireLen+roce.VLANLen
}

// Dropped returns how many frames the kernel dropped since the last call because
// the program was too slow.
func (l *Live) Dropped() uint64 {
	stats, err := unix.GetsockoptTpacketStats(l.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0
	}
	return uint64(stats.Drops)
}

// Close closes the socket.
func (l *Live) Close() error { return unix.Close(l.fd) }
