package expect

import (
	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/twin/plan"
)

// BusFactor is the factor from algorithm to bus bandwidth that nccl-tests
// prints (doc/PERFORMANCE.md there; validation row V43): bytes of the busiest
// link of a ring, as a multiple of the size.
func BusFactor(op collective.Op, ranks int) float64 {
	n := float64(ranks)
	switch op {
	case collective.AllReduce:
		return 2 * (n - 1) / n
	case collective.AllGather, collective.ReduceScatter, collective.AllToAll:
		return (n - 1) / n
	}
	return 1
}

// Header bytes around the payload of a packet, with preamble and gap (20
// bytes), by transport. RoCEv2 over IPv4: Ethernet 14, IP 20, UDP 8, BTH 12,
// ICRC 4, FCS 4. RoCEv1 has a GRH of 40 instead of IP and UDP. TCP over IPv4
// with timestamps: Ethernet 14, IP 20, TCP 32, FCS 4. InfiniBand: LRH 8, BTH
// 12, ICRC 4, VCRC 2, no gap.
const (
	rocev2Header     = 62 + 20
	rocev1Header     = 74 + 20
	tcpHeader        = 14 + 4 + 20
	tcpIPHeader      = 20 + 32 // inside the MTU
	infinibandHeader = plan.InfiniBandHeader
)

// PayloadShare returns the share of line rate that payload takes, packets full
// (validation row V01). TCP's packets have an MTU of
// their own.
func PayloadShare(c *cluster.Cluster) float64 {
	mtu := float64(c.QoS.MTU)
	switch c.Transport {
	case cluster.RoCEv1:
		return mtu / (mtu + rocev1Header)
	case cluster.InfiniBand:
		return mtu / (mtu + infinibandHeader)
	case cluster.TCP:
		port := float64(c.TCP.MTU)
		return (port - tcpIPHeader) / (port + tcpHeader)
	}
	return mtu / (mtu + rocev2Header)
}
