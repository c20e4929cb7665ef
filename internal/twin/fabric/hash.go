package fabric

import (
	"math/bits"

	"weir/internal/cluster"
)

// Fields are the header fields that switches hash to pick one of several
// equal next hops.
type Fields struct {
	SrcIP, DstIP     uint32
	SrcPort, DstPort uint16
	DstQP            uint32 // 24 bits
	Protocol         uint8  // 17 for RoCEv2
}

// Hash hashes the fields that mask selects: MurmurHash3 (32 bits) over one
// little-endian word each for the source address, the destination address, the
// two ports together, the protocol and the queue pair. Like the hash of a
// switch chip it is a fixed function of fields and seed: switches with the
// same seed that see the same fields decide alike.
func (f *Fields) Hash(mask cluster.HashField, seed uint32) uint32 {
	h, n := seed, uint32(0)
	if mask&cluster.HashSrcIP != 0 {
		h, n = mix(h, f.SrcIP), n+4
	}
	if mask&cluster.HashDstIP != 0 {
		h, n = mix(h, f.DstIP), n+4
	}
	if mask&(cluster.HashSrcPort|cluster.HashDstPort) != 0 {
		var ports uint32
		if mask&cluster.HashSrcPort != 0 {
			ports = uint32(f.SrcPort)
		}
		if mask&cluster.HashDstPort != 0 {
			ports |= uint32(f.DstPort) << 16
		}
		h, n = mix(h, ports), n+4
	}
	if mask&cluster.HashProtocol != 0 {
		h, n = mix(h, uint32(f.Protocol)), n+4
	}
	if mask&cluster.HashDstQP != 0 {
		h, n = mix(h, f.DstQP), n+4
	}
	return finish(h ^ n)
}

// mix is the block step of MurmurHash3_x86_32.
func mix(h, k uint32) uint32 {
	k *= 0xcc9e2d51
	k = bits.RotateLeft32(k, 15)
	k *= 0x1b873593
	return bits.RotateLeft32(h^k, 13)*5 + 0xe6546b64
}

// finish is the finaliser of MurmurHash3_x86_32.
func finish(h uint32) uint32 {
	h ^= h >> 16
	h *= 0x85ebca6b
	h ^= h >> 13
	h *= 0xc2b2ae35
	return h ^ h>>16
}

// nodeSeed gives each node a hash seed of its own, which depends on the
// cluster's seed and the node's name alone.
func nodeSeed(seed uint64, name string) uint32 {
	h := mix(mix(0, uint32(seed)), uint32(seed>>32))
	for i := 0; i < len(name); i++ {
		h = mix(h, uint32(name[i]))
	}
	return finish(h ^ uint32(len(name)))
}
