package roce

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
