package roce

import "strconv"

// PSN is a packet sequence number: 24 bits, compared by signed difference
// modulo 2^24 (InfiniBand Architecture Specification, volume 1, section 9.7.2).
// Values above 2^24-1 are not valid PSNs.
type PSN uint32

// PSNMask has the 24 bits that a PSN may use.
const PSNMask = 1<<24 - 1

// Add returns p moved on by n packets, modulo 2^24. n may be negative.
func (p PSN) Add(n int32) PSN { return PSN(uint32(p)+uint32(n)) & PSNMask }

// Sub returns the signed distance p-q in the range -2^23 to 2^23-1.
func (p PSN) Sub(q PSN) int32 { return int32((uint32(p)-uint32(q))<<8) >> 8 }

// Less reports whether p comes before q, that is, whether their distance is negative.
func (p PSN) Less(q PSN) bool { return p.Sub(q) < 0 }

// InWindow reports whether p lies in the n packets that start at first.
func (p PSN) InWindow(first PSN, n uint32) bool { return (uint32(p)-uint32(first))&PSNMask < n }

// String prints the number in decimal, as packet analysers do.
func (p PSN) String() string { return strconv.FormatUint(uint64(p), 10) }
