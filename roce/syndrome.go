package roce

import "strconv"

// Syndrome is the first byte of the AETH: what the responder answers
// (InfiniBand Architecture Specification, volume 1, section 9.7.5.1).
type Syndrome uint8

// Syndromes. An acknowledgement carries a credit code in its low five bits
// (31: no credits are given), an RNR NAK a timer code.
const (
	SyndromeACK                  Syndrome = 0x1f
	SyndromeRNR                  Syndrome = 0x20
	SyndromeNAKSequenceError     Syndrome = 0x60
	SyndromeNAKInvalidRequest    Syndrome = 0x61
	SyndromeNAKRemoteAccessError Syndrome = 0x62
	SyndromeNAKRemoteOperational Syndrome = 0x63
	SyndromeNAKInvalidRDRequest  Syndrome = 0x64
)

// SyndromeKind is the class of a syndrome, its bits 7 to 5.
type SyndromeKind uint8

// The classes. All others are reserved.
const (
	KindACK SyndromeKind = 0
	KindRNR SyndromeKind = 1
	KindNAK SyndromeKind = 3
)

// Kind returns the class of s; reserved ones come out as they stand (2, 4 to 7).
func (s Syndrome) Kind() SyndromeKind { return SyndromeKind(s >> 5) }

// Code returns the low five bits: credit code of an ACK, timer code of an RNR
// NAK, NAK code of a NAK.
func (s Syndrome) Code() uint8 { return uint8(s & 31) }

// RNR returns the RNR NAK syndrome with a timer code.
func RNR(code uint8) Syndrome { return SyndromeRNR | Syndrome(code&31) }

// credits is table 46 of section 9.7.7.2.3: end-to-end credits by code.
var credits = [31]uint16{
	0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
	1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
}

// Credits returns how many receives an ACK says are posted. ok is false for
// credit code 31, which says nothing, and for syndromes that are no ACK.
func (s Syndrome) Credits() (n int, ok bool) {
	if s.Kind() != KindACK || s.Code() == 31 {
		return 0, false
	}
	return int(credits[s.Code()]), true
}

var nakNames = [5]string{
	"NAK PSN sequence error", "NAK invalid request", "NAK remote access error",
	"NAK remote operational error", "NAK invalid RD request",
}

// String says what s means: "ACK", "ACK, 8 credits", "RNR NAK 10.24ms",
// "NAK PSN sequence error", "reserved syndrome 0x45".
func (s Syndrome) String() string {
	switch k := s.Kind(); {
	case k == KindACK:
		if n, ok := s.Credits(); ok {
			return "ACK, " + strconv.Itoa(n) + " credits"
		}
		return "ACK"
	case k == KindRNR:
		return "RNR NAK " + RNRTime(s.Code()).String()
	case k == KindNAK && int(s.Code()) < len(nakNames):
		return nakNames[s.Code()]
	}
	return "reserved syndrome 0x" + string([]byte{hexDigits[s>>4], hexDigits[s&15]})
}
