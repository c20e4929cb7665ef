package host

import (
	"path"
	"strings"

	"weir/internal/telemetry"
)

// device is an RDMA device below /sys/class/infiniband.
type device struct {
	name    string // mlx5_0
	dir     string // sys/class/infiniband/mlx5_0
	rdma    string // family of its hw_counters
	ethtool string // family of its ethtool statistics; "" if none is known
	pci     string // 0000:17:00.0
	pf      string // PCI address of its physical function, if it is a virtual one
	ports   []port
}

// port is one port of a device.
type port struct {
	number string
	dir    string
	netdev string // "" if there is none in sight
	pfc    string // net device whose ethtool statistics count its PFC: of the physical function, if it is a virtual one
}

const classDir = "sys/class/infiniband"

// devices lists the RDMA devices of the host.
func (a *Agent) devices() []device {
	var out []device
	for _, name := range a.tree.list(classDir) {
		if a.exclude[name] {
			continue
		}
		d := device{name: name, dir: classDir + "/" + name}
		d.rdma, d.ethtool = a.families(d)
		d.pci = a.pciAddress(d.dir + "/device")
		var pfNetdevs []string
		if l := a.tree.link(d.dir + "/device/physfn"); l != "" {
			d.pf = path.Base(l)
			pfNetdevs = a.tree.list(d.dir + "/device/physfn/net")
		}
		netdevs := a.tree.list(d.dir + "/device/net")
		for i, number := range a.tree.list(d.dir + "/ports") {
			p := port{number: number, dir: d.dir + "/ports/" + number}
			p.netdev = a.portNetdev(p, netdevs, i)
			p.pfc = p.netdev
			if i < len(pfNetdevs) {
				p.pfc = pfNetdevs[i]
			}
			d.ports = append(d.ports, p)
		}
		out = append(out, d)
	}
	return out
}

// portNetdev finds the net device of a port: the GID table names it; a device
// with as many ports as net devices has them in the same order.
func (a *Agent) portNetdev(p port, netdevs []string, i int) string {
	for _, n := range a.tree.list(p.dir + "/gid_attrs/ndevs") {
		if s := a.tree.word(p.dir + "/gid_attrs/ndevs/" + n); s != "" {
			return s
		}
	}
	for _, n := range netdevs {
		if a.tree.word("sys/class/net/"+n+"/dev_port") == itoa(i) {
			return n
		}
	}
	if i < len(netdevs) {
		return netdevs[i]
	}
	return ""
}

// families tells the names that a device's counters have, from its driver, or
// from the name of the device and of its counters where no driver is in sight.
func (a *Agent) families(d device) (rdma, ethtool string) {
	driver := path.Base(a.tree.link(d.dir + "/device/driver"))
	has := func(prefix string) bool { return strings.HasPrefix(d.name, prefix) }
	switch {
	case driver == "mlx5_core" || has("mlx5_"):
		return telemetry.MLX5, telemetry.MLX5Ethtool
	case driver == "bnxt_en" || has("bnxt_re"):
		// Only the driver outside the kernel counts notifications.
		for _, p := range a.tree.list(d.dir + "/ports") {
			if _, err := a.tree.text(d.dir + "/ports/" + p + "/hw_counters/np_cnp_sent"); err == nil {
				return telemetry.BnxtReOOT, telemetry.BnxtEnEthtool
			}
		}
		return telemetry.BnxtRe, telemetry.BnxtEnEthtool
	case driver == "ice" || driver == "irdma" || driver == "i40e" || has("irdma"):
		return telemetry.Irdma, telemetry.IceEthtool
	case driver == "ionic" || has("ionic_"):
		return telemetry.Ionic, telemetry.IonicEthtool
	}
	return "", ""
}

// pciAddress is the last part of the path of a PCI device, "" for others.
func (a *Agent) pciAddress(link string) string {
	base := path.Base(a.tree.link(link))
	if len(base) >= 12 && strings.Count(base, ":") == 2 {
		return base
	}
	return ""
}
