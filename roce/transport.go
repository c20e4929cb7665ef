package roce

import "encoding/binary"

// Sizes of the transport headers in bytes.
const (
	BTHLen          = 12
	RETHLen         = 16
	AETHLen         = 4
	AtomicETHLen    = 28
	AtomicAckETHLen = 8
	DETHLen         = 8
	ImmDtLen        = 4
	IETHLen         = 4
	ICRCLen         = 4
)

// QPN is a queue pair number: 24 bits. 1 is the connection manager's.
type QPN uint32

// QPNMask has the 24 bits that a QPN may use.
const QPNMask = 1<<24 - 1

// BTH is the base transport header, 12 bytes (InfiniBand Architecture
// Specification, volume 1, section 9.2). By byte: 0 opcode; 1 solicited event
// (bit 7), migration request (6), pad count (5-4), transport version (3-0);
// 2-3 partition key; 4 FECN (bit 7), BECN (6), reserved; 5-7 destination QPN;
// 8 acknowledge request (bit 7), reserved; 9-11 PSN. FECN and BECN are annex
// A17's; byte 4 is outside the ICRC.
type BTH struct {
	Opcode    Opcode
	Pad       uint8 // bytes between payload and ICRC, 0 to 3
	Version   uint8 // 0
	Solicited bool
	MigReq    bool
	FECN      bool
	BECN      bool
	AckReq    bool
	PKey      uint16
	DestQP    QPN
	PSN       PSN
}

func bit(b bool, n uint) byte {
	if b {
		return 1 << n
	}
	return 0
}

// Decode reads h from the first 12 bytes of b. It returns ErrTruncated if b
// is shorter. Every value of those bytes is accepted.
func (h *BTH) Decode(b []byte) error {
	if len(b) < BTHLen {
		return ErrTruncated
	}
	w := binary.BigEndian.Uint64(b)
	h.Opcode = Opcode(w >> 56)
	h.Solicited = w>>55&1 != 0
	h.MigReq = w>>54&1 != 0
	h.Pad = uint8(w >> 52 & 3)
	h.Version = uint8(w >> 48 & 15)
	h.PKey = uint16(w >> 32)
	h.FECN = w>>31&1 != 0
	h.BECN = w>>30&1 != 0
	h.DestQP = QPN(w & QPNMask)
	v := binary.BigEndian.Uint32(b[8:])
	h.AckReq = v>>31 != 0
	h.PSN = PSN(v & PSNMask)
	return nil
}

// Put writes h to the first 12 bytes of b, which must be there. Reserved bits
// are written as zero; Pad, Version, DestQP and PSN are cut to their width.
func (h *BTH) Put(b []byte) {
	_ = b[BTHLen-1]
	b[0] = byte(h.Opcode)
	b[1] = bit(h.Solicited, 7) | bit(h.MigReq, 6) | h.Pad&3<<4 | h.Version&15
	binary.BigEndian.PutUint16(b[2:], h.PKey)
	binary.BigEndian.PutUint32(b[4:], uint32(h.DestQP)&QPNMask)
	b[4] = bit(h.FECN, 7) | bit(h.BECN, 6)
	binary.BigEndian.PutUint32(b[8:], uint32(h.PSN)&PSNMask)
	b[8] = bit(h.AckReq, 7)
}

// RETH is the RDMA extended transport header, 16 bytes (section 9.3.3): 0-7
// virtual address, 8-11 remote key, 12-15 DMA length of the whole message in
// bytes, in a WRITE FIRST too.
type RETH struct {
	VA     uint64
	RKey   uint32
	Length uint32
}

// Decode reads h from the first 16 bytes of b, or returns ErrTruncated.
func (h *RETH) Decode(b []byte) error {
	if len(b) < RETHLen {
		return ErrTruncated
	}
	h.VA = binary.BigEndian.Uint64(b)
	h.RKey = binary.BigEndian.Uint32(b[8:])
	h.Length = binary.BigEndian.Uint32(b[12:])
	return nil
}

// Put writes h to the first 16 bytes of b, which must be there.
func (h *RETH) Put(b []byte) {
	_ = b[RETHLen-1]
	binary.BigEndian.PutUint64(b, h.VA)
	binary.BigEndian.PutUint32(b[8:], h.RKey)
	binary.BigEndian.PutUint32(b[12:], h.Length)
}

// AETH is the acknowledge extended transport header, 4 bytes (section 9.3.5):
// 0 syndrome, 1-3 message sequence number, which counts the requests that the
// responder has completed, modulo 2^24.
type AETH struct {
	Syndrome Syndrome
	MSN      uint32
}

// Decode reads h from the first 4 bytes of b, or returns ErrTruncated.
func (h *AETH) Decode(b []byte) error {
	if len(b) < AETHLen {
		return ErrTruncated
	}
	v := binary.BigEndian.Uint32(b)
	h.Syndrome, h.MSN = Syndrome(v>>24), v&PSNMask
	return nil
}

// Put writes h to the first 4 bytes of b, which must be there.
func (h *AETH) Put(b []byte) {
	binary.BigEndian.PutUint32(b, uint32(h.Syndrome)<<24|h.MSN&PSNMask)
}

// AtomicETH is the atomic extended transport header, 28 bytes (section 9.3.4):
// 0-7 virtual address, 8-11 remote key, 12-19 swap data (or the number to
// add), 20-27 compare data (0 in a fetch-and-add). Swap stands before compare;
// the verbs interface has them the other way round.
type AtomicETH struct {
	VA        uint64
	RKey      uint32
	SwapOrAdd uint64
	Compare   uint64
}

// Decode reads h from the first 28 bytes of b, or returns ErrTruncated.
func (h *AtomicETH) Decode(b []byte) error {
	if len(b) < AtomicETHLen {
		return ErrTruncated
	}
	h.VA = binary.BigEndian.Uint64(b)
	h.RKey = binary.BigEndian.Uint32(b[8:])
	h.SwapOrAdd = binary.BigEndian.Uint64(b[12:])
	h.Compare = binary.BigEndian.Uint64(b[20:])
	return nil
}

// Put writes h to the first 28 bytes of b, which must be there.
func (h *AtomicETH) Put(b []byte) {
	_ = b[AtomicETHLen-1]
	binary.BigEndian.PutUint64(b, h.VA)
	binary.BigEndian.PutUint32(b[8:], h.RKey)
	binary.BigEndian.PutUint64(b[12:], h.SwapOrAdd)
	binary.BigEndian.PutUint64(b[20:], h.Compare)
}

// DETH is the datagram extended transport header, 8 bytes (section 9.3.2): 0-3
// queue key, 4 reserved, 5-7 QPN of the sender.
type DETH struct {
	QKey  uint32
	SrcQP QPN
}

// Decode reads h from the first 8 bytes of b, or returns ErrTruncated.
func (h *DETH) Decode(b []byte) error {
	if len(b) < DETHLen {
		return ErrTruncated
	}
	h.QKey = binary.BigEndian.Uint32(b)
	h.SrcQP = QPN(binary.BigEndian.Uint32(b[4:]) & QPNMask)
	return nil
}

// Put writes h to the first 8 bytes of b, which must be there.
func (h *DETH) Put(b []byte) {
	_ = b[DETHLen-1]
	binary.BigEndian.PutUint32(b, h.QKey)
	binary.BigEndian.PutUint32(b[4:], uint32(h.SrcQP)&QPNMask)
}
