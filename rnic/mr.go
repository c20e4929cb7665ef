package rnic

import (
	"encoding/binary"
	"errors"
)

// Access says what a peer may do with a memory region.
type Access uint8

// The rights. Local access needs none: it is by slice.
const (
	RemoteRead Access = 1 << iota
	RemoteWrite
	RemoteAtomic
)

// PD is a protection domain: its queue pairs reach its memory regions only.
type PD struct {
	dev *Device
}

// AllocPD makes a protection domain.
func (d *Device) AllocPD() *PD { return &PD{dev: d} }

// MR is a registered memory region. Peers address it by key and by an address
// that the device has chosen; it says nothing of where the memory is.
type MR struct {
	pd     *PD
	buf    []byte
	base   uint64
	key    uint32
	access Access
	valid  bool
}

// Limits of a device.
const (
	MaxMRs = 1 << 12
	MaxQPs = 1 << 12
	// MaxMessage is the most bytes of one message (section 9.2 of the
	// specification: 2^31).
	MaxMessage = 1 << 31
)

// The errors of resources.
var (
	ErrTooMany = errors.New("rnic: no free slot: too many queue pairs or memory regions")
	ErrClosed  = errors.New("rnic: device closed")
)

// RegisterMR makes buf, which stays the caller's, accessible to peers. The
// caller should expect it to change at any time until Deregister has returned.
// It returns ErrTooMany when MaxMRs regions are registered.
func (p *PD) RegisterMR(buf []byte, access Access) (*MR, error) {
	d := p.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	slot := -1
	for i := range d.regions {
		if d.regions[i] == nil {
			slot = i
			break
		}
	}
	if slot < 0 {
		if len(d.regions) >= MaxMRs {
			return nil, ErrTooMany
		}
		slot = len(d.regions)
		d.regions = append(d.regions, nil)
	}
	// Regions lie far apart, so that no address is right by chance in another one.
	const page, apart = 4096, 1 << 40
	d.nextBase += apart + uint64(len(buf))&^(page-1)
	m := &MR{pd: p, buf: buf, base: d.nextBase, access: access, valid: true}
	m.key = uint32(slot) | d.rnd.Uint32()&^(MaxMRs-1)
	d.regions[slot] = m
	return m, nil
}

// Addr returns the address of the first byte of the region, for peers.
func (m *MR) Addr() uint64 { return m.base }

// RKey returns the key of the region, for peers.
func (m *MR) RKey() uint32 { return m.key }

// Len returns the length of the region in bytes.
func (m *MR) Len() int { return len(m.buf) }

// Deregister ends all access to the region: after it has returned, no packet
// touches the memory.
func (m *MR) Deregister() {
	d := m.pd.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	d.invalidate(m)
}

func (d *Device) invalidate(m *MR) {
	if slot := m.key & (MaxMRs - 1); m.valid && d.regions[slot] == m {
		d.regions[slot] = nil
	}
	m.valid = false
}

// Load returns the 8-byte value at an offset of the region that atomics
// change, and Store sets it; both are atomic with respect to peers.
func (m *MR) Load(offset int) uint64 {
	m.pd.dev.mu.Lock()
	defer m.pd.dev.mu.Unlock()
	return binary.NativeEndian.Uint64(m.buf[offset:])
}

// Store sets the 8-byte value at an offset. See Load.
func (m *MR) Store(offset int, v uint64) {
	m.pd.dev.mu.Lock()
	defer m.pd.dev.mu.Unlock()
	binary.NativeEndian.PutUint64(m.buf[offset:], v)
}

// region returns the region of a key, if it is of protection domain p and has
// the right.
func (d *Device) region(p *PD, key uint32, need Access) *MR {
	slot := int(key & (MaxMRs - 1))
	if slot >= len(d.regions) {
		return nil
	}
	m := d.regions[slot]
	if m == nil || m.key != key || m.pd != p || m.access&need == 0 {
		return nil
	}
	return m
}

// slice returns n bytes at address va of the region, if they lie inside.
func (m *MR) slice(va uint64, n uint32) ([]byte, bool) {
	off := va - m.base
	if va < m.base || off > uint64(len(m.buf)) || uint64(n) > uint64(len(m.buf))-off {
		return nil, false
	}
	return m.buf[off : off+uint64(n) : off+uint64(n)], true
}

// Byte returns the byte at an offset, safely while peers write.
func (m *MR) Byte(offset int) byte {
	m.pd.dev.mu.Lock()
	defer m.pd.dev.mu.Unlock()
	return m.buf[offset]
}
