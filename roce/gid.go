package roce

import "net/netip"

// GID is the 128-bit address of a RoCE port. RoCEv2 over IPv4 uses the
// IPv4-mapped form (ten bytes 00, two ff, the address), RoCEv2 over IPv6 the
// address itself; the default GID is the link-local address made of the MAC.
type GID [16]byte

// GIDFromIPv4 returns the IPv4-mapped GID of a.
func GIDFromIPv4(a [4]byte) GID {
	return GID{10: 0xff, 11: 0xff, 12: a[0], 13: a[1], 14: a[2], 15: a[3]}
}

// GIDFromAddr returns the GID of an address; a zone is dropped. The invalid
// address gives the zero GID.
func GIDFromAddr(a netip.Addr) GID {
	if !a.IsValid() {
		return GID{}
	}
	return a.As16()
}

// GIDFromMAC returns the link-local GID fe80::/64 whose interface identifier
// is made of m (RFC 4291, appendix A): the entry that a port has before any
// address is set.
func GIDFromMAC(m MAC) GID {
	return GID{0: 0xfe, 1: 0x80, 8: m[0] ^ 2, 9: m[1], 10: m[2], 11: 0xff, 12: 0xfe, 13: m[3], 14: m[4], 15: m[5]}
}

// ParseGID reads an IPv4 or IPv6 address, or the form in which verbs tools and
// sysfs print GIDs (eight groups of four digits). It returns ErrBadAddress for
// anything else.
func ParseGID(s string) (GID, error) {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return GID{}, ErrBadAddress
	}
	return a.As16(), nil
}

// Addr returns the IP address of g: IPv4 if it is IPv4-mapped.
func (g GID) Addr() netip.Addr { return netip.AddrFrom16(g).Unmap() }

// IsIPv4 reports whether g is IPv4-mapped.
func (g GID) IsIPv4() bool { return netip.AddrFrom16(g).Is4In6() }

// IPv4 returns the last four bytes, which are the IPv4 address if IsIPv4 says so.
func (g GID) IPv4() [4]byte { return [4]byte(g[12:]) }

// IsLinkLocal reports whether g is in fe80::/10, which no router forwards.
func (g GID) IsLinkLocal() bool { return g[0] == 0xfe && g[1]&0xc0 == 0x80 }

// IsZero reports whether g is an empty entry of a GID table.
func (g GID) IsZero() bool { return g == GID{} }

// String prints the address that Addr returns.
func (g GID) String() string { return g.Addr().String() }

// Groups prints all 16 bytes as eight groups of four hexadecimal digits, as
// sysfs does: "0000:0000:0000:0000:0000:ffff:0a4d:000b".
func (g GID) Groups() string {
	b := make([]byte, 0, 39)
	for i, v := range g {
		if i > 0 && i%2 == 0 {
			b = append(b, ':')
		}
		b = append(b, hexDigits[v>>4], hexDigits[v&15])
	}
	return string(b)
}
