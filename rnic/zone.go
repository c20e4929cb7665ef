package rnic

import (
	"net"
	"net/netip"
	"strconv"
)

// zoneID returns the interface index of an address's zone, 0 if it has none.
func zoneID(a netip.Addr) uint32 {
	z := a.Zone()
	if z == "" {
		return 0
	}
	if i, err := net.InterfaceByName(z); err == nil {
		return uint32(i.Index)
	}
	n, _ := strconv.ParseUint(z, 10, 32)
	return uint32(n)
}
