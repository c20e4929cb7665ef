package evidence

import (
	"strings"
	"testing"
)

// A toolCase is an output in a tool's format, written for this test, and facts
// that it holds: "subject key=value", where the subject may be empty.
type toolCase struct {
	name     string
	text     string
	want     []string
	leftOver int // lines not understood
}

func checkTools(t *testing.T, cases []toolCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := read(t, c.name, c.text)
			have := map[string]bool{}
			for _, f := range r.Facts {
				have[f.Subject.String()+" "+f.Key+"="+f.Value.String()] = true
			}
			for _, w := range c.want {
				if !have[w] {
					t.Errorf("no fact %q", w)
				}
			}
			if len(r.NotUnderstood) != c.leftOver {
				t.Errorf("%d lines not understood, expected %d: %v", len(r.NotUnderstood), c.leftOver, r.NotUnderstood)
			}
			if t.Failed() {
				for _, f := range r.Facts {
					t.Logf("%d %s %s=%s", f.Origin.Line, f.Subject, f.Key, f.Value)
				}
			}
		})
	}
}

func TestQoSTools(t *testing.T) { checkTools(t, qosTools()) }

func qosTools() []toolCase {
	return []toolCase{
		{"mlnx_qos old with socket priorities", `Priority trust state: pcp
PFC configuration:
	priority    0   1   2   3   4   5   6   7
	enabled     0   0   0   0   1   1   0   0   

tc: 0 ratelimit: unlimited, tsa: strict
	 up:  0
		skprio: 0
		skprio: 2 (tos: 8)
	 up:  1
tc: 5 ratelimit: 12.5 Gbps, tsa: ets, bw: 85%
	 up:  5
`, []string{" qos.trust=pcp", " qos.pfc.enabled=4,5", " qos.priority.1.tc=0", " qos.priority.5.tc=5", " qos.tc.5.bandwidth=85", " qos.tc.5.rate_limit=1.25e+10", " qos.tc.0.tsa=strict"}, 0},
		{"mlnx_qos of two interfaces in a script", "+ mlnx_qos -i ens9\nDCBX mode: OS controlled\nPriority trust state: dscp\n\tprio:5 dscp:46,40,\n+ mlnx_qos -i ens10\nDCBX mode: Firmware controlled\nPriority trust state: pcp\n",
			[]string{"ens9 qos.trust=dscp", "ens9 qos.dscp.46.priority=5", "ens10 qos.trust=pcp", "ens10 qos.dcbx.owner=firmware"}, 0},
		{"dcb all objects", `n7$ dcb pfc show dev eth7
pfc-cap 4 macsec-bypass on delay 65535
prio-pfc 0:off 1:off 2:off 3:on 4:off 5:on 6:off 7:off
willing on ets-cap 3 cbs off
tc-bw 0:20 1:80
tc-tsa 0:ets 1:ets 2:strict
prio-tc 0:0 3:1
ethtype-prio 0x8906:3
default-prio 2
stream-port-prio 3260:4
dgram-port-prio 4791:5
dscp-prio AF31:3 EF:5 CS7:7 13:1
tc-maxrate 0:100Gbit 1:500Mbit
total-size 512Kb
apptrust order: dscp pcp
`, []string{"n7/eth7 qos.pfc.enabled=3,5", "n7/eth7 qos.pfc.classes=4", "n7/eth7 qos.pfc.delay=65535", "n7/eth7 qos.ets.willing=true", "n7/eth7 qos.tc.1.bandwidth=80", "n7/eth7 qos.tc.2.tsa=strict", "n7/eth7 qos.priority.3.tc=1",
			"n7/eth7 qos.app.ethertype.0x8906.priority=3", "n7/eth7 qos.default_priority=2", "n7/eth7 qos.app.tcp.3260.priority=4", "n7/eth7 qos.app.udp.4791.priority=5", "n7/eth7 qos.dscp.26.priority=3", "n7/eth7 qos.dscp.46.priority=5",
			"n7/eth7 qos.dscp.56.priority=7", "n7/eth7 qos.dscp.13.priority=1", "n7/eth7 qos.tc.1.rate_limit=5e+08", "n7/eth7 qos.buffer.total=524288", "n7/eth7 qos.trust=dscp,pcp"}, 0},
		{"dcb json", `{"pfc_cap":8,"macsec_bypass":false,"delay":0,"prio_pfc":[false,false,true,false,false,false,false,true]}
{"willing":true,"ets_cap":8,"cbs":false,"tc_bw":[10,90,0],"tc_tsa":["ets","ets","strict"],"prio_tc":[0,0,1]}
{"dscp_prio":[[26,3],[48,6]],"default_prio":[1]}
{"prio_buffer":[0,1],"buffer_size":[1024,2097152],"total_size":3000000}
`, []string{" qos.pfc.enabled=2,7", " qos.ets.willing=true", " qos.tc.1.bandwidth=90", " qos.tc.2.tsa=strict", " qos.priority.2.tc=1", " qos.dscp.48.priority=6", " qos.default_priority=1",
			" qos.priority.1.buffer=1", " qos.buffer.1.size=2097152", " qos.buffer.total=3000000"}, 0},
		{"lldptool none and neighbour", `[root@n3 ~]# lldptool -t -n -i ens7
Chassis ID TLV
	MAC: 02:00:00:00:00:99
Port ID TLV
	Ifname: Ethernet1/17
System Name TLV
	leaf-12
Management Address TLV
	IPv4: 198.51.100.7
	Ifindex: 10
Maximum Frame Size TLV
	9236
IEEE 8021QAZ PFC TLV
	 Willing: no
	 MACsec Bypass Capable: no
	 PFC capable traffic classes: 2
	 PFC enabled: none
End of LLDPDU TLV
`, []string{"n3/ens7 link.neighbour=leaf-12/Ethernet1/17", "n3/ens7 link.neighbour.address=198.51.100.7", "n3/ens7 link.neighbour.mtu=9236", "n3/ens7 qos.pfc.willing=false", "n3/ens7 qos.pfc.enabled=", "n3/ens7 qos.pfc.classes=2"}, 0},
		{"lldptool several priorities", "IEEE 8021QAZ PFC TLV\n\t Willing: no\n\t PFC enabled: 3 5 \nIEEE 8021QAZ APP TLV\n\tAPP#0:\n\t Priority: 5\n\t Sel: 2\n\t TCP or SCTP: 3260\n",
			[]string{" qos.pfc.enabled=3,5", " qos.app.tcp.3260.priority=5"}, 0},
		{"niccli dscp map", "dscp2prio mapping:\n\tpriority:6  dscp: 46\n\tpriority:4  dscp: 34,36\n", []string{" qos.dscp.46.priority=6", " qos.dscp.36.priority=4"}, 0},
		{"nicctl qos", `NIC  : 42424650-0000-1111-2222-303443000000 (0000:86:00.0)

Port : 04908130-a7a0-4242-4242-000011010000

  Classification type         : DSCP

  DSCP-to-priority :
    DSCP bitmap               : 0xfffffffffbffffff ==> priority : 0
    DSCP bitmap               : 0x0000000004000000 ==> priority : 4
    DSCP                      : 0-25, 27-63 ==> priority : 0
    DSCP                      : 26 ==> priority : 4

  PFC :
    PFC priority bitmap       : 0x10
    PFC no-drop priorities    : 4

  Scheduling :
    --------------------------------------------
    Priority  Scheduling  Bandwidth Rate-limit
              Type        (in %age) (in Gbps)
    --------------------------------------------
    0         DWRR        30        N/A
    4         DWRR        70        N/A
    6         strict      N/A       10
`, []string{"0000:86:00.0 qos.trust=dscp", "0000:86:00.0 qos.dscp.26.priority=4", "0000:86:00.0 qos.dscp.27.priority=0", "0000:86:00.0 qos.pfc.enabled=4", "0000:86:00.0 qos.tc.4.bandwidth=70",
			"0000:86:00.0 qos.tc.6.tsa=strict", "0000:86:00.0 qos.tc.6.bandwidth=-", "0000:86:00.0 qos.tc.6.rate_limit=1e+10"}, 0},
		{"nicctl dcqcn", `NIC : 42424650-0000-1111-2222-303443000000 (0000:86:00.0)
------------------------------------------------------------------------------------------
Lif id                                     : 43000070-0100-0000-4242-04908130a7a0
ROCE device                                : rocep134s0
  DCQCN profile id                         : 1
  Status                                   : Disabled
  Rate increase in AI phase                : 160
  Rate increase threshold                  : 3
  DSCP value used for CNP                  : 46
`, []string{"rocep134s0 dcqcn.enabled=false", "rocep134s0 dcqcn.cnp_dscp=46", "rocep134s0 dcqcn.threshold=3", "rocep134s0 dcqcn.other.rate_increase_in_ai_phase=160", "rocep134s0 link.bus=0000:86:00.0"}, 0},
		{"mlxconfig with three columns and two ports", `
Device #1:
----------

Device type:    ConnectX7
Name:           MCX75310AAS-NEA_Ax
Description:    NVIDIA ConnectX-7 adapter card
Device:         /dev/mst/mt4129_pciconf0

Configurations:                                          Default             Current             Next Boot
*       ROCE_CC_PRIO_MASK_P1                             255                 255                 8
        ROCE_CC_PRIO_MASK_P2                             255                 255                 16
        CNP_DSCP_P1                                      48                  48                  46
        LINK_TYPE_P1                                     IB(1)               ETH(2)              ETH(2)
RO      SOME_READ_ONLY                                   0                   0                   0
        HOST_CHAINING_DESCRIPTORS                        Array[0..7]         Array[0..7]         Array[0..7]
The '*' shows parameters with next value different from default/current value.
`, []string{"/dev/mst/mt4129_pciconf0 dcqcn.priority_mask=8", "/dev/mst/mt4129_pciconf0/2 dcqcn.priority_mask=16", "/dev/mst/mt4129_pciconf0 dcqcn.cnp_dscp=46", "/dev/mst/mt4129_pciconf0 firmware.setting.LINK_TYPE_P1=ETH(2)"}, 2},
	}
}

func TestLinkTools(t *testing.T) { checkTools(t, linkTools()) }

func linkTools() []toolCase {
	return []toolCase{
		{"ethtool all forms", `# ethtool enp3s0f1
Settings for enp3s0f1:
	Supported ports: [ Backplane	 FIBRE ]
	Supported link modes:   10000baseKR/Full
	                        200000baseSR4/Full
	Supported pause frame use: Symmetric
	Supports auto-negotiation: Yes
	Supported FEC modes: None	 RS	 BASER
	Advertised FEC modes: Not reported
	Speed: 200000Mb/s
	Duplex: Full
	Auto-negotiation: off
	Port: FIBRE
	Current message level: 0x00000004 (4)
			       link
	Link detected: yes
# ethtool -a enp3s0f1
Pause parameters for enp3s0f1:
Autonegotiate:	off
RX:		on
TX:		off
# ethtool -I --show-fec enp3s0f1
FEC parameters for enp3s0f1:
Supported/Configured FEC encodings: RS
Active FEC encoding: RS
Statistics:
  corrected_blocks: 77
  uncorrectable_blocks: 2
# ethtool -i enp3s0f1
driver: bnxt_en
version: 6.8.0
firmware-version: 229.1.123.0/pkg 229.1.123.0
expansion-rom-version: 
bus-info: 0000:03:00.1
supports-statistics: yes
supports-priv-flags: no
`, []string{"enp3s0f1 link.max_speed=200000000000", "enp3s0f1 link.speed=200000000000", "enp3s0f1 link.fec.supported=None,RS,BASER", "enp3s0f1 link.fec.advertised=-", "enp3s0f1 link.autoneg=false", "enp3s0f1 link.state=up",
			"enp3s0f1 pause.rx=true", "enp3s0f1 pause.tx=false", "enp3s0f1 link.fec.active=RS", "enp3s0f1 counter.uncorrectable_blocks=2", "enp3s0f1 link.driver=bnxt_en", "enp3s0f1 link.firmware=229.1.123.0/pkg 229.1.123.0", "enp3s0f1 link.bus=0000:03:00.1"}, 0},
		{"ethtool -S of queues, and a value beyond 2^63", "NIC statistics:\n     rx_bytes: 18446744073709551615\n     rx0_packets: 1\n     tx15_bytes: 9\n     ch3_events: 4\n     [7]: tx_ucast_packets: 3\n",
			[]string{" counter.rx_bytes=18446744073709551615", " counters.per_queue=4"}, 0},
		{"ethtool -S from grep, headless", "     rx_prio5_pause: 17\n     tx_prio5_pause_duration: 23\n", []string{" counter.rx_prio5_pause=17", " counter.tx_prio5_pause_duration=23"}, 0},
		{"ethtool -m optics", `	Identifier                                : 0x18 (QSFP-DD Double Density 8X Pluggable Transceiver (INF-8628))
	Vendor name                               : EXAMPLE
	Vendor PN                                 : QDD-400G-DR4
	Vendor SN                                 : X123
	Transmitter technology                    : 0x04 (1310 nm DFB)
	Cable assembly length                     : 0.00m
	Module temperature                        : 61.25 degrees C / 142.25 degrees F
	Module voltage                            : 3.3010 V
	Laser tx bias current (Channel 1)         : 50.120 mA
	Transmit avg optical power (Channel 1)    : 1.2589 mW / 1.00 dBm
	Rcvr signal avg optical power (Channel 2) : 0.0316 mW / -15.00 dBm
	Module temperature high alarm             : Off
	Rx power low alarm (Channel 2)            : On
	Module temperature high alarm threshold   : 75.00 degrees C / 167.00 degrees F
`, []string{" module.part=QDD-400G-DR4", " module.copper=false", " module.temperature=61.25", " module.lane.1.bias=50.12", " module.lane.1.tx_power=1", " module.lane.2.rx_power=-15", " module.alarm=Rx power low alarm (Channel 2)"}, 0},
		{"ip", `3: ens1f0np0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 9000 qdisc mq state DOWN group default qlen 1000
    link/ether 02:aa:bb:cc:dd:01 brd ff:ff:ff:ff:ff:ff
    inet 10.9.8.7/23 brd 10.9.9.255 scope global ens1f0np0
       valid_lft forever preferred_lft forever
4: vlan7@ens1f0np0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 4200 qdisc noqueue state UP mode DEFAULT
ens2             UP             10.1.1.1/24 fe80::1/64
`, []string{"ens1f0np0 link.mtu=9000", "ens1f0np0 link.state=down", "ens1f0np0 link.address=10.9.8.7/23", "ens1f0np0 link.mac=02:aa:bb:cc:dd:01", "vlan7 link.mtu=4200", "vlan7 link.state=up", "ens2 link.address=10.1.1.1/24"}, 0},
		{"lldpctl text", `-------------------------------------------------------------------------------
LLDP neighbors:
-------------------------------------------------------------------------------
Interface:    eth2, via: LLDP, RID: 1, Time: 0 day, 00:01:02
  Chassis:     
    ChassisID:    mac 02:00:00:00:11:22
    SysName:      leaf-3
    SysDescr:     Some NOS
    MgmtIP:       192.0.2.33
    Capability:   Bridge, on
  Port:        
    PortID:       ifname swp7
    PortDescr:    to host
    TTL:          120
    MFS:          9238
`, []string{"eth2 link.neighbour=leaf-3/swp7", "eth2 link.neighbour.address=192.0.2.33", "eth2 link.neighbour.mtu=9238"}, 0},
		{"lldpctl json and keyvalue", `{"lldp": {"interface": [
 {"eth4": {"via": "LLDP", "chassis": {"spine-1": {"id": {"type": "mac", "value": "02:00:00:00:00:01"}, "mgmt-ip": ["192.0.2.1", "fd00::1"]}}, "port": {"id": {"type": "local", "value": "Ethernet8"}, "descr": "x"}}},
 {"eth5": {"via": "LLDP", "chassis": {"spine-2": {"id": {"type": "mac", "value": "02:00:00:00:00:02"}}}, "port": {"id": {"type": "mac", "value": "02:00:00:00:00:03"}, "descr": "Ethernet1/2"}}}]}}
lldp.eth6.via=LLDP
lldp.eth6.chassis.name=spine-3
lldp.eth6.port.ifname=et-0/0/1
`, []string{"eth4 link.neighbour=spine-1/Ethernet8", "eth4 link.neighbour.address=192.0.2.1", "eth5 link.neighbour=spine-2/Ethernet1/2", "eth6 link.neighbour=spine-3/et-0/0/1"}, 0},
		{"lldpctl json0", `{"lldp": [{"interface": [{"name": "eth9", "via": "LLDP", "chassis": [{"id": [{"type": "mac", "value": "02:00:00:00:00:05"}], "name": [{"value": "leaf-9"}]}], "port": [{"id": [{"type": "ifname", "value": "Ethernet12"}], "mfs": [{"value": "9216"}]}]}]}]}`,
			[]string{"eth9 link.neighbour=leaf-9/Ethernet12", "eth9 link.neighbour.mtu=9216"}, 0},
	}
}

func TestRDMATools(t *testing.T) { checkTools(t, rdmaTools()) }

func rdmaTools() []toolCase {
	return []toolCase{
		{"rdma link, old and new", "link mlx5_7/1 state ACTIVE physical_state LINK_UP netdev ens7np0 \n0/1: rocep1/1: state DOWN physical_state DISABLED netdev eth9 \n2: mlx5_7: node_type ca fw 28.39.1002 node_guid a088:c203:00ab:cdef sys_image_guid a088:c203:00ab:cdee \n",
			[]string{"mlx5_7 rdma.state=ACTIVE", "mlx5_7 rdma.netdev=ens7np0", "rocep1 rdma.state=DOWN", "mlx5_7 rdma.firmware=28.39.1002", "mlx5_7 rdma.guid=a088:c203:00ab:cdef"}, 0},
		{"rdma statistic of irdma, with blanks in names", "link rocep3s0f0/1 ip4InOctets 12 cnpSent 7 Nak Sequence Error 3 RNR sent 2 \nlink mlx5_0/2 out_of_buffer 5 \n",
			[]string{"rocep3s0f0 counter.Nak Sequence Error=3", "rocep3s0f0 counter.cnpSent=7", "rocep3s0f0 counter.RNR sent=2", "mlx5_0/2 counter.out_of_buffer=5", "mlx5_0/2 rdma.port=2"}, 0},
		{"rdma statistic of queue pairs", "link mlx5_3/1 cntn 4 type RC rx_write_requests 8 out_of_sequence 1 \n    LQPN: <101,102>\n", []string{"mlx5_3/cntn4 counter.out_of_sequence=1"}, 0},
		{"ibv_devinfo of two ports", "hca_id:\tmlx5_bond_0\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t22.41.1000\n\tnode_guid:\t\t\t0c42:a103:0012:3456\n\tboard_id:\t\t\tMT_0000000359\n\tphys_port_cnt:\t\t\t2\n\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_DOWN (1)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t4096 (5)\n\t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t50.0 Gbps (64)\n\t\tport:\t2\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tactive_mtu:\t\t2048 (4)\n\t\t\tlink_layer:\t\tEthernet\n\t\t\tGID[  5]:\t\t::ffff:10.2.3.4, RoCE v2\n",
			[]string{"mlx5_bond_0 rdma.firmware=22.41.1000", "mlx5_bond_0 rdma.state=DOWN", "mlx5_bond_0 rdma.rate=200000000000", "mlx5_bond_0/2 rdma.state=ACTIVE", "mlx5_bond_0/2 rdma.active_mtu=2048", "mlx5_bond_0/2 gid.5.ipv4=10.2.3.4", "mlx5_bond_0/2 gid.best_v2_ipv4=5"}, 0},
		{"ibstatus", "Infiniband device 'mlx5_9' port 1 status:\n\tdefault gid:\t fe80:0000:0000:0000:0202:c9ff:fe00:0001\n\tbase lid:\t 0x0\n\tstate:\t\t 1: DOWN\n\tphys state:\t 3: Disabled\n\trate:\t\t 40 Gb/sec (4X QDR)\n\tlink_layer:\t Ethernet\n",
			[]string{"mlx5_9 rdma.state=DOWN", "mlx5_9 rdma.phys_state=Disabled", "mlx5_9 rdma.rate=40000000000", "mlx5_9 gid.0.address=fe80::202:c9ff:fe00:1"}, 0},
		{"show_gids, blanks for tabs", "DEV     PORT    INDEX   GID                                     IPv4            VER     DEV\n---     ----    -----   ---                                     ------------    ---     ---\nrdma3     1       2      0000:0000:0000:0000:0000:ffff:c633:6401 198.51.100.1          v1      eth3\nrdma3     1       5      0000:0000:0000:0000:0000:ffff:c633:6401 198.51.100.1          v2      eth3\nrdma3     1       6      2001:0db8:0000:0000:0000:0000:0000:0001                        v2      \n",
			[]string{"rdma3 gid.best_v2_ipv4=5", "rdma3 gid.5.netdev=eth3", "rdma3 gid.6.address=2001:db8::1", "rdma3 gid.count=3"}, 0},
		{"sysfs by grep", strings.Join([]string{
			"/sys/class/infiniband/mlx5_2/ports/1/hw_counters/np_cnp_sent:99",
			"/sys/class/infiniband/mlx5_2/ports/1/hw_counters/lifespan:10",
			"/sys/class/infiniband/mlx5_2/ports/1/counters/port_xmit_data:4294967296123",
			"/sys/class/infiniband/mlx5_2/ports/1/gids/3:0000:0000:0000:0000:0000:ffff:0a01:0203",
			"/sys/class/infiniband/mlx5_2/ports/1/gids/4:0000:0000:0000:0000:0000:0000:0000:0000",
			"/sys/class/infiniband/mlx5_2/ports/1/gid_attrs/types/3:RoCE v2",
			"/sys/class/infiniband/mlx5_2/ports/1/gid_attrs/ndevs/3:ens2np0",
			"/sys/class/infiniband/mlx5_2/ports/1/rate:400 Gb/sec (4X NDR)",
			"/sys/class/infiniband/mlx5_2/ports/1/state:4: ACTIVE",
			"/sys/class/infiniband/mlx5_2/tc/1/traffic_class:Global tclass=104",
			"/sys/class/infiniband/mlx5_2/fw_ver:28.43.2026",
			"/sys/class/net/ens2np0/ecn/roce_np/enable/3:1",
			"/sys/class/net/ens2np0/ecn/roce_rp/enable/3:0",
			"/sys/class/net/ens2np0/ecn/roce_np/cnp_dscp:46",
			"/sys/class/net/ens2np0/mtu:4200",
			"/sys/class/net/ens2np0/device/current_link_width:8",
			"/sys/class/net/ens2np0/device/max_link_speed:32.0 GT/s PCIe",
			"/sys/kernel/debug/mlx5/0000:17:00.0/cc_params/rp_hai_rate:400",
			"/sys/kernel/config/bnxt_re/bnxt_re1/ports/1/cc/cnp_dscp:0x30",
			"/sys/kernel/config/bnxt_re/bnxt_re1/ports/1/cc/ecn_enable:1",
		}, "\n"), []string{"mlx5_2 counter.np_cnp_sent=99", "mlx5_2 counter.port_xmit_data=4294967296123", "mlx5_2 gid.3.ipv4=10.1.2.3", "mlx5_2 gid.3.version=v2", "mlx5_2 gid.3.netdev=ens2np0", "mlx5_2 rdma.rate=400000000000",
			"mlx5_2 rdma.width=4", "mlx5_2 rdma.state=ACTIVE", "mlx5_2 roce.dscp=26", "mlx5_2 rdma.firmware=28.43.2026", "ens2np0 dcqcn.np.priority.3=true", "ens2np0 dcqcn.rp.priority.3=false", "ens2np0 dcqcn.cnp_dscp=46",
			"ens2np0 link.mtu=4200", "ens2np0 pcie.width=8", "ens2np0 pcie.max_speed=32", "0000:17:00.0 dcqcn.hai_rate=400000000", "bnxt_re1 dcqcn.cnp_dscp=48", "bnxt_re1 dcqcn.other.ecn_enable=1"}, 0},
		{"tail of several files", "==> /sys/class/infiniband/mlx5_4/ports/1/hw_counters/out_of_sequence <==\n31\n\n==> /sys/class/infiniband/mlx5_4/ports/1/link_layer <==\nEthernet\n",
			[]string{"mlx5_4 counter.out_of_sequence=31", "mlx5_4 rdma.layer=Ethernet"}, 0},
		{"connection manager", "$ cma_roce_tos -d mlx5_6\n105\n$ cma_roce_mode -d mlx5_6 -p 1\nIB/RoCE v1\n", []string{"mlx5_6 roce.cma.tos=105", "mlx5_6 roce.cma.dscp=26", "mlx5_6 roce.cma.ecn_bits=1", "mlx5_6 roce.cma.mode=IB/RoCE v1"}, 0},
	}
}
