// Package tap turns the packet descriptors of package rc, as they pass a
// simulated port, into real RoCEv2 packets with right ICRCs, and pause frames
// and congestion notifications with them, in a capture file that any analyser
// reads.
package tap

import (
	"io"

	"weir/rc"
	"weir/roce"
	"weir/roce/pcapfile"
	"weir/units"
)

// Path is how the packets of one direction of a connection are addressed.
// Src and Dst are both IPv4-mapped, or neither. ID counts up with each packet, as a
// Linux host's identification does.
type Path struct {
	SrcMAC, DstMAC roce.MAC
	Src, Dst       roce.GID
	DestQP         roce.QPN
	SrcPort        uint16
	TrafficClass   uint8  // DSCP << 2 | ECN
	VLAN           uint16 // 0: untagged
	Priority       uint8  // of the tag
	ID             uint16
}

// Packet is one packet to write.
type Packet struct {
	rc.Packet
	// Message is the length of the whole message in bytes, for the RETH of a WRITE
	// FIRST; a READ request asks for Bytes.
	Message uint32
	VA      uint64
	RKey    uint32
	// Marked: a switch on the way set CE.
	Marked bool
}

// Options of a Writer.
type Options struct {
	// Start is the time of simulated time 0, in nanoseconds since 1970.
	Start int64
	// SnapLen cuts what is written of a packet, in bytes; 0: whole packets. The
	// payload is zero in any case, and the ICRC that of the whole packet.
	SnapLen int
}

// Writer writes packets to a capture. It does not allocate in steady state.
type Writer struct {
	out    *pcapfile.Writer
	start  int64
	packet roce.Packet
	buf    [maxFrame]byte
}

// maxFrame is the longest frame: link and transport headers and the largest
// payload, which simulations may choose above the adapters' 4096.
const maxFrame = 1 << 16

// NewWriter writes the header of a capture of Ethernet frames to w, which
// should be buffered.
func NewWriter(w io.Writer, o Options) (*Writer, error) {
	out, err := pcapfile.NewWriter(w, pcapfile.Options{LinkType: pcapfile.Ethernet, SnapLen: o.SnapLen})
	return &Writer{out: out, start: o.Start}, err
}

// address fills in all that stands before the BTH.
func (t *Writer) address(path *Path) {
	p := &t.packet
	p.Has = roce.HasEthernet
	p.Ethernet.Src, p.Ethernet.Dst = path.SrcMAC, path.DstMAC
	p.Tags = 0
	if path.VLAN != 0 {
		p.Has |= roce.HasVLAN
		p.Tags = 1
		p.VLANs[0] = roce.VLAN{Priority: path.Priority, ID: path.VLAN}
	}
	if path.Src.IsIPv4() {
		p.Has |= roce.HasIPv4
		p.IPv4 = roce.IPv4{
			TOS: path.TrafficClass, TTL: 64, Flags: roce.DontFragment, ID: path.ID,
			Src: path.Src.IPv4(), Dst: path.Dst.IPv4(),
		}
		path.ID++
	} else {
		p.Has |= roce.HasIPv6
		p.IPv6 = roce.IPv6{TrafficClass: path.TrafficClass, HopLimit: 64, Src: path.Src, Dst: path.Dst}
	}
	p.UDP = roce.UDP{SrcPort: path.SrcPort}
}

// Packet writes a packet that passes at a time. It returns roce.ErrPayload if the
// payload does not fit a frame or the opcode, and what the underlying writer returns.
func (t *Writer) Packet(at units.Time, path *Path, in *Packet) error {
	t.address(path)
	p := &t.packet
	if in.Marked {
		p.SetTrafficClass(p.TrafficClass() | uint8(roce.CE))
	}
	p.BTH = roce.BTH{Opcode: in.Op, PKey: 0xffff, MigReq: true, DestQP: path.DestQP, PSN: in.PSN, AckReq: in.Flags&rc.AckRequest != 0}
	p.RETH = roce.RETH{VA: in.VA, RKey: in.RKey, Length: max(in.Message, in.Bytes)}
	p.AtomicETH = roce.AtomicETH{VA: in.VA, RKey: in.RKey}
	p.AETH = roce.AETH{Syndrome: in.Syndrome, MSN: in.MSN}
	p.Payload, p.PayloadLen = nil, 0
	if in.Op.HasPayload() {
		if in.Bytes > maxFrame {
			return roce.ErrPayload
		}
		p.PayloadLen = int(in.Bytes)
	}
	return t.write(at)
}

// CNP writes a congestion notification along a path, to its queue pair.
func (t *Writer) CNP(at units.Time, path *Path) error {
	t.address(path)
	t.packet.SetCNP(path.DestQP)
	return t.write(at)
}

// PFC writes a pause frame by priority, sent by src.
func (t *Writer) PFC(at units.Time, src roce.MAC, pfc roce.PFC) error {
	t.packet.Has, t.packet.Ethernet.Src, t.packet.PFC = roce.HasPFC, src, pfc
	return t.write(at)
}

// Pause writes a pause frame for the whole link, sent by src.
func (t *Writer) Pause(at units.Time, src roce.MAC, pause roce.Pause) error {
	t.packet.Has, t.packet.Ethernet.Src, t.packet.Pause = roce.HasPause, src, pause
	return t.write(at)
}

func (t *Writer) write(at units.Time) error {
	n, err := t.packet.Encode(t.buf[:])
	if err == roce.ErrBuffer {
		err = roce.ErrPayload
	}
	if err != nil {
		return err
	}
	return t.out.Write(t.start+int64(at/units.Nanosecond), t.buf[:n], n)
}

// MAC returns a locally administered address made of two numbers, such as node and
// port: addresses of simulated ports.
func MAC(node uint32, port uint16) roce.MAC {
	return roce.MAC{0x02, byte(node >> 16), byte(node >> 8), byte(node), byte(port >> 8), byte(port)}
}
