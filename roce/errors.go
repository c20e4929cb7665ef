package roce

// Error is a reason why bytes were not decoded or a packet not encoded. The
// values are constants, so that reporting one allocates nothing and callers
// compare with ==.
type Error uint8

// The errors. ErrNotRoCE is returned for well-formed frames of other
// protocols; the rest mean that a header is there and is not right.
const (
	ErrNotRoCE    Error = iota + 1 // another EtherType, IP protocol or UDP port
	ErrTruncated                   // the bytes end inside a header
	ErrLength                      // a length field contradicts the headers or another length
	ErrVersion                     // IP version, BTH transport version or VXLAN flags
	ErrFragment                    // an IP fragment: RoCE packets are never fragmented
	ErrVLANDepth                   // more than two VLAN tags
	ErrTunnel                      // a VXLAN tunnel inside a VXLAN tunnel
	ErrBuffer                      // the caller's buffer is too small for the packet
	ErrPayload                     // the payload does not fit the opcode or the length fields
	ErrBadAddress                  // not a GID, or a family that does not fit
)

var errorTexts = [...]string{
	ErrNotRoCE:    "not a RoCE or pause frame",
	ErrTruncated:  "packet ends inside a header",
	ErrLength:     "length field contradicts the packet",
	ErrVersion:    "unknown protocol version",
	ErrFragment:   "IP fragment",
	ErrVLANDepth:  "more than two VLAN tags",
	ErrTunnel:     "VXLAN inside VXLAN",
	ErrBuffer:     "buffer too small for the packet",
	ErrPayload:    "payload does not fit the packet",
	ErrBadAddress: "not a GID",
}

func (e Error) Error() string {
	if int(e) < len(errorTexts) && errorTexts[e] != "" {
		return "roce: " + errorTexts[e]
	}
	return "roce: unknown error"
}
