//go:build !purego

package roce

import "encoding/binary"

// foldBlock is what foldBlocks works on at once.
const foldBlock = 128

// foldBlocks reduces n bytes at p, a positive multiple of foldBlock, to 16 bytes that
// have the same CRC. state is the CRC's before them. It needs VPCLMULQDQ.
//
//go:noescape
func foldBlocks(state uint32, p *byte, n int, out *[16]byte)

func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
func xgetbv() (eax uint32)

// canFold: the processor has AVX2 and VPCLMULQDQ, and the system saves the
// registers. Read only.
var canFold = detectFold()

func detectFold() bool {
	const (
		osxsave    = 1 << 27 // leaf 1, ecx
		avx        = 1 << 28
		avx2       = 1 << 5  // leaf 7, ebx
		vpclmulqdq = 1 << 10 // leaf 7, ecx
		ymmState   = 6       // XCR0: SSE and AVX
	)
	if top, _, _, _ := cpuid(0, 0); top < 7 {
		return false
	}
	if _, _, c, _ := cpuid(1, 0); c&(osxsave|avx) != osxsave|avx || xgetbv()&ymmState != ymmState {
		return false
	}
	_, b, c, _ := cpuid(7, 0)
	return b&avx2 != 0 && c&vpclmulqdq != 0
}

// fold takes the whole blocks at the start of b and returns the state after
// them, and how many bytes they were.
func fold(s uint32, b []byte) (uint32, int) {
	n := len(b) &^ (foldBlock - 1)
	if !canFold || n == 0 {
		return s, 0
	}
	var out [16]byte
	foldBlocks(s, &b[0], n, &out)
	return crcTwo(binary.LittleEndian.Uint64(out[:]), binary.LittleEndian.Uint64(out[8:])), n
}
