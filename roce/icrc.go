package roce

import (
	"encoding/binary"
	"hash/crc32"
)

// The invariant CRC (volume 1, section 7.8.1; annex A17, section 17.3.2) is
// the CRC-32 of Ethernet over 8 bytes of ones, the network header, UDP, BTH,
// and all that follows up to and with the pad, where the fields that change on
// the way count as ones: of IPv4 the TOS, TTL and header checksum, of IPv6 and
// GRH the traffic class, flow label and hop limit, the UDP checksum, and byte 4
// of the BTH. IPv4 total length, identification and fragment field, addresses,
// ports and UDP length do count. It is written least significant byte first.

// icrcSeed is the state after the 8 bytes of ones, before the final complement.
const icrcSeed = 0xdebb20e3

// slices are the tables for eight bytes a step (Kounavis and Berry, 2005).
// The masked headers go through them, word by word, so that no masked copy is
// needed; hash/crc32 does the rest with the processor's instructions. Read only.
var slices = makeSlices()

func makeSlices() (t [8][256]uint32) {
	t[0] = *crc32.IEEETable
	for i := range t[0] {
		for k := 1; k < 8; k++ {
			t[k][i] = t[k-1][i]>>8 ^ t[0][t[k-1][i]&0xff]
		}
	}
	return t
}

// crcWords moves the state on by the words of p, in little-endian order, each
// with the ones of its mask set. p must hold them all.
func crcWords(s uint32, p []byte, masks []uint64) uint32 {
	for i, m := range masks {
		w := binary.LittleEndian.Uint64(p[8*i:]) | m
		lo, hi := uint32(w)^s, uint32(w>>32)
		s = slices[7][lo&0xff] ^ slices[6][lo>>8&0xff] ^ slices[5][lo>>16&0xff] ^ slices[4][lo>>24] ^
			slices[3][hi&0xff] ^ slices[2][hi>>8&0xff] ^ slices[1][hi>>16&0xff] ^ slices[0][hi>>24]
	}
	return s
}

func crc4(s, w uint32) uint32 {
	w ^= s
	return slices[3][w&0xff] ^ slices[2][w>>8&0xff] ^ slices[1][w>>16&0xff] ^ slices[0][w>>24]
}

func crc1(s uint32, b byte) uint32 { return s>>8 ^ slices[0][byte(s)^b] }

// The masks of the headers up to the BTH as little-endian words.
var (
	// IPv4 20, UDP 8, BTH 12 bytes.
	masksIPv4 = [5]uint64{
		0xff << 8,         // byte 1: TOS
		0xff | 0xffff<<16, // bytes 8, 10, 11: TTL, checksum
		0,                 //
		0xffff << 16,      // bytes 26, 27: UDP checksum
		0xff,              // byte 32: byte 4 of the BTH
	}
	// IPv6 40, UDP 8, BTH 8 of its 12 bytes.
	masksIPv6 = [7]uint64{0: maskIPv6, 5: 0xffff << 48, 6: 0xff << 32}
	// GRH 40, BTH 8 of its 12 bytes.
	masksGRH = [6]uint64{0: maskIPv6, 5: 0xff << 32}
)

const maskIPv6 = 0xffffff0f | 0xff<<56 // bytes 0-3 but the version: class, flow label; 7: hop limit

// ICRC returns the invariant CRC of a packet that begins with its IPv4, IPv6
// or GRH header and ends with its pad, that is, without the ICRC itself: for
// RoCEv2 over IPv4 the first TotalLen-4 bytes. A GRH is told from IPv6 by its
// next header 0x1b. ok is false, and the result 0, if p is too short for the
// headers up to the BTH or of another IP version. It does not allocate.
//
// IPv4 options, which no RoCEv2 packet has, count unmasked.
func ICRC(p []byte) (icrc uint32, ok bool) {
	if len(p) < IPv4Len+UDPLen+BTHLen {
		return 0, false
	}
	var masks []uint64
	switch {
	case p[0] == 0x45:
		masks = masksIPv4[:]
	case p[0]>>4 == 4:
		return icrcOptions(p)
	case p[0]>>4 != 6:
		return 0, false
	case p[6] == NextHeaderIBA:
		masks = masksGRH[:]
	default:
		masks = masksIPv6[:]
	}
	if len(p) < 8*len(masks) {
		return 0, false
	}
	return crcRest(crcWords(icrcSeed, p, masks), p[8*len(masks):]), true
}

// icrcOptions is the slow form for IPv4 headers with options.
func icrcOptions(p []byte) (uint32, bool) {
	n := int(p[0]&15) * 4
	if n < IPv4Len || len(p) < n+UDPLen+BTHLen {
		return 0, false
	}
	s := uint32(icrcSeed)
	for i, b := range p[:n+UDPLen+8] {
		switch i {
		case 1, 8, 10, 11, n + 6, n + 7, n + UDPLen + 4:
			b = 0xff
		}
		s = crc1(s, b)
	}
	return crcRest(s, p[n+UDPLen+8:]), true
}

// crcTwo returns the state after two words, from state 0.
func crcTwo(a, b uint64) uint32 {
	lo, hi := uint32(a), uint32(a>>32)
	s := slices[7][lo&0xff] ^ slices[6][lo>>8&0xff] ^ slices[5][lo>>16&0xff] ^ slices[4][lo>>24] ^
		slices[3][hi&0xff] ^ slices[2][hi>>8&0xff] ^ slices[1][hi>>16&0xff] ^ slices[0][hi>>24]
	lo, hi = uint32(b)^s, uint32(b>>32)
	return slices[7][lo&0xff] ^ slices[6][lo>>8&0xff] ^ slices[5][lo>>16&0xff] ^ slices[4][lo>>24] ^
		slices[3][hi&0xff] ^ slices[2][hi>>8&0xff] ^ slices[1][hi>>16&0xff] ^ slices[0][hi>>24]
}

// crcRest finishes with the bytes of b: whole blocks by fold where the processor
// can, or by hash/crc32; what is left word by word.
func crcRest(s uint32, b []byte) uint32 {
	s, n := fold(s, b)
	b = b[n:]
	if n == 0 && len(b) >= 64 {
		n = len(b) &^ 15
		s = ^crc32.Update(^s, crc32.IEEETable, b[:n])
		b = b[n:]
	}
	n = len(b) / 8
	s = crcWords(s, b, noMasks[:n])
	b = b[8*n:]
	if len(b) >= 4 {
		s = crc4(s, binary.LittleEndian.Uint32(b))
		b = b[4:]
	}
	for _, v := range b {
		s = crc1(s, v)
	}
	return ^s
}

// noMasks are the masks of plain words: as many as foldBlock leaves over.
var noMasks [16]uint64
