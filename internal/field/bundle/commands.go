package bundle

import (
	"slices"
	"strings"

	"weir/internal/field/remote"
)

// Right is what a command needs to show all that it can.
type Right string

// The rights.
const (
	AnyUser  Right = "any user"
	NetAdmin Right = "CAP_NET_ADMIN"
	Root     Right = "root"
	Operator Right = "a read-only operator of the switch"
)

// A Command is one that is run on a host or a switch. It reads only.
type Command struct {
	Line  string // {n} stands for a network interface, {d} for an RDMA device
	Each  string // "", "interface" (those of RDMA devices) or "device"
	Right Right
	Tells string
}

// Counters are read twice.
var Counters = []Command{
	{`ethtool -S {n}`, "interface", AnyUser, "statistics of the driver: priorities, pauses, discards, PCIe stalls"},
	{`ethtool -I --show-fec {n}`, "interface", NetAdmin, "corrected and uncorrected FEC blocks"},
	{`grep -r . /sys/class/infiniband/{d}/ports/1/counters /sys/class/infiniband/{d}/ports/1/hw_counters`, "device", AnyUser, "counters of the RDMA port"},
	{`rdma -p statistic show link {d}/1`, "device", AnyUser, "the same, with optional counters"},
}

// State is read once.
var State = []Command{
	{`uname -r`, "", AnyUser, "kernel"},
	{`ip -d addr show`, "", AnyUser, "addresses, MTU"},
	{`ip route show table all`, "", AnyUser, "routes of each rail"},
	{`ip rule show`, "", AnyUser, "source routing"},
	{`ip neigh show`, "", AnyUser, "neighbours"},
	{`rdma link show`, "", AnyUser, "RDMA devices and their interfaces"},
	{`ibv_devinfo -v`, "", AnyUser, "firmware, MTU, GIDs"},
	{`show_gids`, "", AnyUser, "GIDs with type and address"},
	{`lsmod`, "", AnyUser, "peer memory and driver modules"},
	{`lspci -vvv`, "", Root, "link speed and width, ACS"},
	{`nvidia-smi topo -m`, "", AnyUser, "distances between GPUs and NICs"},
	{`rocm-smi --showtopo`, "", AnyUser, "distances between GPUs"},
	{`sysctl -a --pattern 'net.ipv4.conf.*(arp_|rp_filter)|net.ipv4.tcp_|vm.zone_reclaim|kernel.numa'`, "", AnyUser, "ARP, reverse path filter"},
	{`ulimit -l`, "", AnyUser, "lockable memory"},
	{`lldpctl -f json`, "", Root, "neighbours"},
	{`dmesg --ctime | tail -n 2000`, "", Root, "what the kernel says of links and cards"},
	{`env | grep -E '^(NCCL|RCCL|UCX|OMPI_MCA|NVSHMEM)_' | grep -viE 'token|secret|passw'`, "", AnyUser, "settings of communication libraries"},
	{`cat /etc/nccl.conf`, "", AnyUser, "the same"},
	{`ethtool {n}`, "interface", AnyUser, "link and speed"},
	{`ethtool -i {n}`, "interface", AnyUser, "driver and firmware"},
	{`ethtool -a {n}`, "interface", AnyUser, "link-level pause"},
	{`ethtool -m {n}`, "interface", NetAdmin, "module, optical power"},
	{`ethtool --show-fec {n}`, "interface", AnyUser, "FEC"},
	{`mlnx_qos -i {n}`, "interface", Root, "trust, PFC, ETS, buffers"},
	{`dcb pfc show dev {n}`, "interface", NetAdmin, "PFC"},
	{`dcb ets show dev {n}`, "interface", NetAdmin, "ETS"},
	{`dcb app show dev {n}`, "interface", NetAdmin, "DSCP map"},
	{`cma_roce_tos -d {d}`, "device", Root, "TOS of connections by the connection manager"},
	{`cma_roce_mode -d {d} -p 1`, "device", Root, "RoCE version"},
	{`grep -r . /sys/class/infiniband/{d}/tc`, "device", AnyUser, "traffic class that is forced"},
	{`grep -r . /sys/kernel/debug/mlx5/*/cc_params`, "", Root, "DCQCN parameters"},
	{`mlxconfig -d {d} query`, "device", Root, "firmware settings"},
	{`niccli -dev {n} getqos`, "interface", Root, "QoS of Broadcom cards"},
	{`nicctl show qos`, "", Root, "QoS of AMD cards"},
	{`nicctl show dcqcn`, "", Root, "DCQCN of AMD cards"},
}

// SwitchCommands are those of each switch system, under its name in cluster
// files.
var SwitchCommands = map[string][]string{
	"nxos": {"show running-config", "show interface priority-flow-control", "show queuing interface", "show queuing pfc-queue", "show lldp neighbors", "show interface transceiver details"},
	"eos":  {"show running-config", "show priority-flow-control", "show priority-flow-control counters", "show qos interfaces ecn counters queue | json", "show lldp neighbors"},
	"nvue": {"nv config show", "nv show qos roce", "nv show interface --view=counters", "nv show interface lldp"},
	"onyx": {"show running-config", "show roce", "show lldp remote"},
	"sonic": {"show runningconfiguration all", "show pfc counters", "show pfc priority", "show pfcwd stats", "show pfcwd config", "show priority-group drop counters", "show queue counters",
		"show queue wredcounters", "show interfaces counters", "show interfaces status", "ecnconfig -l", "show lldp table"},
	"vrp":     {"display current-configuration", "display dcb pfc", "display dcb pfc buffer", "display lldp neighbor brief"},
	"comware": {"display current-configuration", "display priority-flow-control interface", "display lldp neighbor-information list"},
	"junos":   {"show configuration | display set", "show interfaces extensive", "show lldp neighbors"},
}

// program is the word that must be there for a command to be tried.
func program(line string) string {
	word, _, _ := strings.Cut(line, " ")
	return word
}

// Script is the shell script that runs commands on a host and shows each as a
// terminal would. A command whose program is not there is left out; one that
// hangs is ended after 20 s.
func Script(host string, commands []Command) string {
	var b strings.Builder
	b.WriteString("export LC_ALL=C PATH=\"$PATH:/sbin:/usr/sbin:/usr/local/sbin:/opt/mellanox/ethtool/sbin\"\n")
	b.WriteString("u=$(id -un)\nt=; command -v timeout >/dev/null 2>&1 && t='timeout 20'\n")
	b.WriteString("devices=$(ls /sys/class/infiniband 2>/dev/null)\n")
	b.WriteString("interfaces=$(for d in $devices; do ls /sys/class/infiniband/$d/device/net 2>/dev/null; done | sort -u)\n")
	b.WriteString("run() {\n\tc=$(printf '%s' \"$1\" | sed \"s|{n}|$n|g; s|{d}|$d|g\")\n")
	b.WriteString("\tprintf '%s@" + host + ":~# %s\\n' \"$u\" \"$c\"\n\t$t sh -c \"$c\" 2>&1 </dev/null\n\techo\n}\n")
	one := func(c Command) {
		b.WriteString("command -v " + program(c.Line) + " >/dev/null 2>&1 && run " + remote.Quote(c.Line) + "\n")
	}
	for _, c := range commands {
		if c.Each == "" {
			one(c)
		}
	}
	for _, loop := range []struct{ each, variable, over string }{{"interface", "n", "interfaces"}, {"device", "d", "devices"}} {
		if !slices.ContainsFunc(commands, func(c Command) bool { return c.Each == loop.each }) {
			continue
		}
		b.WriteString("for " + loop.variable + " in $" + loop.over + "; do\n")
		for _, c := range commands {
			if c.Each == loop.each {
				one(c)
			}
		}
		b.WriteString("done\n")
	}
	b.WriteString("exit 0\n")
	return b.String()
}
