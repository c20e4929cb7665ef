package fabric

import (
	"fmt"
	"net/netip"

	"weir/internal/cluster"
)

// subnetBits is the prefix of a rail's network, as the cluster's own addresses
// are laid out (10.rail.0.0/16).
const subnetBits = 16

// OneDomain returns nil if two NICs are in one layer-2 domain, the same VLAN
// and the same network of 16 bits, else an error that says why RoCEv1 cannot
// carry their traffic: its frames have no IP header that a router could read.
func OneDomain(c *cluster.Cluster, a, b cluster.NICRef) error {
	x, y := &c.Hosts[a.Host].NICs[a.NIC], &c.Hosts[b.Host].NICs[b.NIC]
	if x.VLAN == y.VLAN && subnet(x) == subnet(y) {
		return nil
	}
	return fmt.Errorf("RoCEv1 from %s to %s: its frames have no IP header, so nothing routes them between %s and %s; put both into one subnet and VLAN, keep the job on one rail, or use rocev2",
		nicName(c, a), nicName(c, b), domainName(x), domainName(y))
}

func subnet(n *cluster.NIC) netip.Prefix {
	a, err := netip.ParseAddr(n.Address)
	if err != nil {
		return netip.Prefix{}
	}
	p, _ := a.Prefix(subnetBits)
	return p
}

func domainName(n *cluster.NIC) string {
	if n.VLAN != 0 {
		return fmt.Sprintf("%s (VLAN %d)", subnet(n), n.VLAN)
	}
	return subnet(n).String()
}

func nicName(c *cluster.Cluster, r cluster.NICRef) string {
	h := &c.Hosts[r.Host]
	return c.Nodes[h.Node].Name + "/" + h.NICs[r.NIC].Name
}
