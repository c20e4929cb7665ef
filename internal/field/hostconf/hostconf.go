// Package hostconf writes what a host needs for RoCE: a script that sets its
// cards' queues, marks, congestion control, addresses and routes and may run
// again at any time, the systemd unit that runs it, the environment of NCCL,
// and a pod for Kubernetes.
package hostconf

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weir/dcqcn"
	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/units"
)

// A File is one file of a host, by its name there.
type File struct {
	Name       string
	Body       string
	Executable bool
}

// ecnCapable are the bits of a traffic class byte that say ECT(0). Cards set
// them for RoCE themselves; stating them changes nothing there and is right
// for those that do not.
const ecnCapable = 2

// A Renderer writes files for the hosts of one cluster.
type Renderer struct {
	c    *cluster.Cluster
	nets map[int32]netip.Prefix // of each rail
}

// New returns a renderer.
func New(c *cluster.Cluster) (*Renderer, error) {
	nets, err := networks(c)
	return &Renderer{c, nets}, err
}

// Host returns the files of a host. d is what its cards should do.
func (r *Renderer) Host(host int, d *qos.Device) ([]File, error) {
	c := r.c
	for i := range c.Hosts[host].NICs {
		if d := c.Hosts[host].NICs[i].Model.Driver; drivers[d] == "" {
			return nil, fmt.Errorf("%s: no settings are known for driver %s", c.Nodes[c.Hosts[host].Node].Name, d)
		}
	}
	return []File{
		{Name: "roce-setup.sh", Body: r.setup(host, d), Executable: true},
		{Name: "roce-setup.service", Body: unit},
		{Name: "nccl.env", Body: r.nccl(host)},
		{Name: "pod.yaml", Body: r.pod(host)},
	}, nil
}

// unit runs the script at boot, when the network is there.
const unit = `# Install: cp roce-setup.sh /usr/local/sbin/ && cp roce-setup.service /etc/systemd/system/
#          systemctl daemon-reload && systemctl enable --now roce-setup.service
[Unit]
Description=Queues, marks, addresses and routes of the RoCE network cards
Wants=network-online.target
After=network-online.target openibd.service

[Service]
Type=oneshot
RemainAfterExit=yes
# Gateways of routed rails: GATEWAY_RAIL_0=10.0.0.254 and so on.
EnvironmentFile=-/etc/default/roce-setup
ExecStart=/usr/local/sbin/roce-setup.sh

[Install]
WantedBy=multi-user.target
`

// setup returns the script.
func (r *Renderer) setup(host int, d *qos.Device) string {
	c := r.c
	h := &c.Hosts[host]
	in := &c.QoS
	p := &d.Ports[0]
	var b strings.Builder
	fmt.Fprintf(&b, "#!/usr/bin/env bash\n# %s: %d network cards. Written by weir render; read it before you run it.\n", d.Name, len(h.NICs))
	b.WriteString("# Every step may run again; WEIR_FIRMWARE=1 also sets what lasts in the firmware and needs a reset of the card.\nset -euo pipefail\n\n")
	fmt.Fprintf(&b, "readonly ROCE_DSCP=%d ROCE_PRIORITY=%d CNP_DSCP=%d CNP_PRIORITY=%d\n", in.RoCE().DSCP, in.RoCE().Priority, in.CNP().DSCP, in.CNP().Priority)
	fmt.Fprintf(&b, "# The traffic class is the whole byte: DSCP %d x 4, and ECN-capable.\nreadonly TRAFFIC_CLASS=%d\n", in.RoCE().DSCP, trafficClass(in))
	plan(&b, p)
	parameters(&b, &c.DCQCN)
	b.WriteString(library)
	used := map[string]bool{}
	for i := range h.NICs {
		if n := h.NICs[i].Model.Driver; !used[n] {
			used[n] = true
			b.WriteString(drivers[n])
		}
	}
	b.WriteString("\nhost_settings\n")
	for i := range h.NICs {
		nic := &h.NICs[i]
		length := d.Ports[0].CableLength
		for k := range d.Ports {
			if d.Ports[k].Name == nic.Device {
				length = d.Ports[k].CableLength
			}
		}
		prefix := r.nets[nic.Rail]
		fmt.Fprintf(&b, "\n# %s: rail %d, GPU %d, %v of cable.\n", nic.Device, nic.Rail, nic.GPU, length)
		for k := range nic.Ports {
			fmt.Fprintf(&b, "interface=$(netdev %s %d)\n", nic.Device, k+1)
			fmt.Fprintf(&b, "link %s \"$interface\" %d\nqueues_%s %s \"$interface\" %d\n", nic.Device, d.Ports[0].MTU, nic.Model.Driver, nic.Device, max(1, int(float64(length)+0.999)))
			fmt.Fprintf(&b, "marks %s %d\ncongestion_%s %s \"$interface\"\n", nic.Device, k+1, nic.Model.Driver, nic.Device)
			if k == 0 && !nic.Bond {
				fmt.Fprintf(&b, "address \"$interface\" %s %d %s %d %d\n", nic.Address, prefix.Bits(), prefix.Masked(), nic.Rail, nic.VLAN)
			}
		}
		if nic.Bond {
			fmt.Fprintf(&b, "# The ports form a bond: give the bond %s/%d in the system's network configuration.\n", nic.Address, prefix.Bits())
		}
	}
	b.WriteString("\n# Verify:\n")
	for i := range h.NICs {
		nic := &h.NICs[i]
		fmt.Fprintf(&b, "#   %s\n", strings.ReplaceAll(verify[nic.Model.Driver], "DEV", nic.Device))
	}
	b.WriteString("#   rdma link; ip rule; ethtool -a INTERFACE (pause off both ways with PFC on)\n#   ping -M do -s 8972 -I ADDRESS PEER\n")
	return b.String()
}

func trafficClass(in *qos.Intent) int { return int(in.RoCE().DSCP)<<2 | ecnCapable }

// plan writes the queues of a card as bash arrays, by priority.
func plan(b *strings.Builder, p *qos.Port) {
	var pfc, tsa, bw, classes []string
	weights := p.Percents(1)
	for q := range p.Queues {
		on := "0"
		if p.PFC == qos.On && p.PFCMask>>q&1 == 1 {
			on = "1"
		}
		pfc = append(pfc, on)
		// Unused classes stay strict, as drivers have them: an ets class of 0% is refused by some.
		kind := "strict"
		if weights[q] > 0 {
			kind = "ets"
		}
		tsa = append(tsa, kind)
		bw = append(bw, strconv.Itoa(weights[q]))
	}
	for d := range uint8(64) {
		classes = append(classes, strconv.Itoa(int(p.Priority(d))))
	}
	fmt.Fprintf(b, "readonly PFC=(%s) # by priority\nreadonly TSA=(%s) # by traffic class, which is the priority\nreadonly BANDWIDTH=(%s) # percent\nreadonly PRIORITY_OF_DSCP=(%s)\n",
		strings.Join(pfc, " "), strings.Join(tsa, " "), strings.Join(bw, " "), strings.Join(classes, " "))
	fmt.Fprintf(b, "readonly PFC_LIST=%s TSA_LIST=%s BANDWIDTH_LIST=%s\n", strings.Join(pfc, ","), strings.Join(tsa, ","), strings.Join(bw, ","))
}

// parameters writes DCQCN's as a bash table under the card's own names.
func parameters(b *strings.Builder, d *dcqcn.Params) {
	us := func(t units.Time) int64 { return int64(t / units.Microsecond) }
	mbps := func(r units.BitRate) int64 { return int64(r / units.Mbps) }
	flag := func(on bool) int64 {
		if on {
			return 1
		}
		return 0
	}
	fmt.Fprintf(b, "readonly CONGESTION_CONTROL=%d\n# Microseconds, Mb/s; rp_byte_reset stays as the firmware has it where the cluster file leaves it off.\nreadonly DCQCN=(\n", flag(d.Enabled))
	for _, x := range []struct {
		name string
		v    int64
	}{
		{"rp_initial_alpha_value", int64(d.InitialAlpha)}, {"rp_dce_tcp_g", int64(d.G)}, {"rp_dce_tcp_rtt", us(d.AlphaPeriod)},
		{"rp_rate_reduce_monitor_period", us(d.ReducePeriod)}, {"rp_rate_to_set_on_first_cnp", mbps(d.FirstCNPRate)}, {"rp_min_dec_fac", int64(d.MinDecFac)},
		{"rp_min_rate", mbps(d.MinRate)}, {"rp_time_reset", us(d.TimeReset)}, {"rp_byte_reset", int64(d.ByteReset)}, {"rp_threshold", int64(d.Threshold)},
		{"rp_ai_rate", mbps(d.AIRate)}, {"rp_hai_rate", mbps(d.HAIRate)}, {"rp_clamp_tgt_rate", flag(d.ClampTarget)}, {"rp_clamp_tgt_rate_ati", flag(d.ClampAfterIncrease)},
		{"np_min_time_between_cnps", us(d.MinTimeBetweenCNPs)},
	} {
		if x.name == "rp_byte_reset" && x.v == 0 {
			continue
		}
		fmt.Fprintf(b, "  %s=%d\n", x.name, x.v)
	}
	b.WriteString(")\n")
}

// networks returns the network of each rail: the smallest that holds the
// addresses of all its cards; for generated addresses the rail's own /16.
func networks(c *cluster.Cluster) (map[int32]netip.Prefix, error) {
	rails := make(map[int32][]netip.Addr)
	generated := make(map[int32]bool)
	for h := range c.Hosts {
		for i := range c.Hosts[h].NICs {
			nic := &c.Hosts[h].NICs[i]
			a, err := netip.ParseAddr(nic.Address)
			if err != nil {
				return nil, err
			}
			own := strings.HasPrefix(nic.Address, "10."+strconv.Itoa(int(nic.Rail))+".")
			generated[nic.Rail] = own && (generated[nic.Rail] || len(rails[nic.Rail]) == 0)
			rails[nic.Rail] = append(rails[nic.Rail], a)
		}
	}
	out := make(map[int32]netip.Prefix)
	for rail, list := range rails {
		n := 16
		if !generated[rail] {
			n = smallest(list)
		}
		out[rail] = netip.PrefixFrom(list[0], n)
	}
	return out, nil
}

// smallest returns the length of the smallest network in which all addresses
// are hosts': neither its first address nor its last.
func smallest(list []netip.Addr) int {
	var differ uint32
	for _, a := range list {
		differ |= word(a) ^ word(list[0])
	}
	n := min(30, 32-bits.Len32(differ))
	for ; n > 1; n-- {
		mask := uint32(1)<<(32-n) - 1
		if !slices.ContainsFunc(list, func(a netip.Addr) bool { return word(a)&mask == 0 || word(a)&mask == mask }) {
			break
		}
	}
	return n
}

func word(a netip.Addr) uint32 {
	b := a.As4()
	return binary.BigEndian.Uint32(b[:])
}
