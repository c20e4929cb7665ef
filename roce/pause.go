package roce

import (
	"encoding/binary"
	"time"
)

// PauseAddress is the destination of every pause frame. Bridges never forward it.
var PauseAddress = MAC{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01}

// MAC control opcodes, the first two bytes after EtherType 0x8808.
const (
	MACControlPause = 0x0001 // 802.3 annex 31B
	MACControlPFC   = 0x0101 // 802.3 annex 31D, 802.1Qbb
)

// PauseFrameLen is the length of a pause frame with its padding, in bytes
// without the frame check sequence.
const PauseFrameLen = 60

// QuantumBits is the unit of pause times: the time of 512 bits at the link's rate.
const QuantumBits = 512

// PauseTime returns how long quanta last on a link of the given bits per
// second, rounded to the nanosecond: 65535 quanta take 335.5 us at 100 Gb/s
// and 83.9 us at 400 Gb/s. It returns 0 if bitsPerSecond is not positive.
func PauseTime(quanta uint16, bitsPerSecond int64) time.Duration {
	if bitsPerSecond <= 0 {
		return 0
	}
	// 65535 * 512 * 1e9 is below 2^55.
	return time.Duration((int64(quanta)*QuantumBits*1e9 + bitsPerSecond/2) / bitsPerSecond)
}

// Pause is the pause of a whole link (802.3 annex 31B): bytes 0-1 after the
// MAC control opcode are the time in quanta. 0 resumes.
type Pause struct {
	Quanta uint16
}

// PFC is the pause by priority (802.1Qbb): after the opcode, bytes 0-1 are the
// class enable vector (bit c of the low byte: class c), then eight times in
// quanta, two bytes each. A class that is enabled with time 0 resumes; times
// of classes that are not enabled mean nothing.
type PFC struct {
	Enable uint8
	Quanta [8]uint16
}

// Decode reads p from what follows the MAC control opcode, or returns ErrTruncated.
func (p *Pause) Decode(b []byte) error {
	if len(b) < 2 {
		return ErrTruncated
	}
	p.Quanta = binary.BigEndian.Uint16(b)
	return nil
}

// Decode reads p from what follows the MAC control opcode, or returns ErrTruncated.
func (p *PFC) Decode(b []byte) error {
	if len(b) < 18 {
		return ErrTruncated
	}
	p.Enable = b[1]
	for i := range p.Quanta {
		p.Quanta[i] = binary.BigEndian.Uint16(b[2+2*i:])
	}
	return nil
}

// PutFrame writes the whole frame of 60 bytes, sent by src, to b.
func (p *Pause) PutFrame(b []byte, src MAC) {
	putControl(b, src, MACControlPause)
	binary.BigEndian.PutUint16(b[16:], p.Quanta)
}

// PutFrame writes the whole frame of 60 bytes, sent by src, to b.
func (p *PFC) PutFrame(b []byte, src MAC) {
	putControl(b, src, MACControlPFC)
	b[17] = p.Enable
	for i, q := range p.Quanta {
		binary.BigEndian.PutUint16(b[18+2*i:], q)
	}
}

func putControl(b []byte, src MAC, opcode uint16) {
	clear(b[:PauseFrameLen])
	eth := Ethernet{Dst: PauseAddress, Src: src, EtherType: EtherTypeMACControl}
	eth.Put(b)
	binary.BigEndian.PutUint16(b[14:], opcode)
}
