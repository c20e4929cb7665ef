// Package pcapfile reads and writes packet captures in the pcap and pcapng
// formats, as a stream and with bounded memory. It depends on the standard
// library alone.
//
// Formats: draft-ietf-opsawg-pcap and draft-ietf-opsawg-pcapng.
package pcapfile

import "fmt"

// LinkType says with which header a packet begins (the LINKTYPE registry of
// the pcap formats).
type LinkType uint16

// The link types that carry Ethernet or IP.
const (
	Null      LinkType = 0   // BSD loopback: address family in host order
	Ethernet  LinkType = 1   //
	RawOld    LinkType = 12  // raw IP, as some systems number it
	RawOpen   LinkType = 14  // raw IP, as others do
	Raw       LinkType = 101 // raw IPv4 or IPv6
	Loop      LinkType = 108 // OpenBSD loopback: address family in network order
	LinuxSLL  LinkType = 113 // Linux "cooked" capture
	IPv4      LinkType = 228
	IPv6      LinkType = 229
	LinuxSLL2 LinkType = 276 // Linux "cooked" capture, version 2
)

// Limits. A record or block above them is taken for corruption: the file cannot
// make a reader allocate more.
const (
	// MaxPacket is the longest packet in bytes.
	MaxPacket = 1 << 20
	// maxInterfaces is how many interfaces a pcapng section may describe.
	maxInterfaces = 1 << 12

	// A packet block of pcapng adds its fields and options.
	maxPacketBlock = MaxPacket + 1<<16
)

// Record is one captured packet.
type Record struct {
	Time      int64 // nanoseconds since 1970, as the capturing host's clock had it; 0 if the record has none
	Offset    int64 // byte of the file (uncompressed) at which the record starts
	Data      []byte
	WireLen   int // length on the wire in bytes; len(Data) is less if the capture cut it
	LinkType  LinkType
	Interface uint32 // of a pcapng section; 0 in pcap
}

// A FormatError says at which byte of the (uncompressed) file reading stopped,
// and why.
type FormatError struct {
	Offset int64
	Reason string
	// Cut: the file ends in the middle of something that was right so far.
	Cut bool
	// InPacket: what was cut is a packet, whose length was still there.
	InPacket bool
}

func (e *FormatError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Reason) }
