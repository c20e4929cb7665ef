package roce

// Headers is a set of headers, as bits.
type Headers uint32

// The headers that a Packet can have.
const (
	HasEthernet Headers = 1 << iota
	HasVLAN             // one or two tags
	HasTunnel           // VXLAN, and the headers outside it
	HasIPv4
	HasIPv6
	HasGRH // RoCEv1
	HasUDP
	HasBTH
	HasDETH
	HasRETH
	HasAtomicETH
	HasAETH
	HasAtomicAckETH
	HasImmDt
	HasIETH
	HasICRC
	HasPause // 802.3x
	HasPFC   // 802.1Qbb
)

// extension are the headers that an opcode decides on, in the order in which
// they stand: DETH; RETH, AtomicETH or AETH; AtomicAckETH; ImmDt or IETH.
const extension = HasDETH | HasRETH | HasAtomicETH | HasAETH | HasAtomicAckETH | HasImmDt | HasIETH

// size returns the bytes of the extension headers in h.
func (h Headers) size() int {
	n := 0
	for _, e := range [...]struct {
		bit Headers
		len int
	}{
		{HasDETH, DETHLen},
		{HasRETH, RETHLen},
		{HasAtomicETH, AtomicETHLen},
		{HasAETH, AETHLen},
		{HasAtomicAckETH, AtomicAckETHLen},
		{HasImmDt, ImmDtLen},
		{HasIETH, IETHLen},
	} {
		if h&e.bit != 0 {
			n += e.len
		}
	}
	return n
}
