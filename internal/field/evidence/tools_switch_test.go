package evidence

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/internal/field/evidence/switches"
)

// found lists "subject key=value" of the facts whose key is one of keys, or
// all of them.
func found(r *Report, keys ...string) []string {
	var out []string
	for _, f := range r.Facts {
		if len(keys) == 0 || slices.Contains(keys, f.Key) {
			out = append(out, f.Subject.String()+" "+f.Key+"="+f.Value.String())
		}
	}
	return out
}

func wantFacts(t *testing.T, r *Report, want ...string) {
	t.Helper()
	got := found(r)
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("no fact %q among:\n%s", w, strings.Join(got, "\n"))
			return
		}
	}
}

func nothingLost(t *testing.T, r *Report) {
	t.Helper()
	for _, n := range r.NotUnderstood {
		t.Errorf("line %d not understood: %s", n.Origin.Line, n.Text)
	}
}

// switchOutputs are outputs in the tools' formats with values of our own. They
// also seed the fuzzing.
var switchOutputs = map[string]string{
	"sonic tables": `admin@leaf3:~$ show pfc counters
     Port Rx    PFC0    PFC1    PFC2       PFC3    PFC4    PFC5    PFC6    PFC7
------------  ------  ------  ------  ---------  ------  ------  ------  ------
 Ethernet496       0       0     N/A  1,234,567       0       0       0       0

     Port Tx    PFC0    PFC1    PFC2    PFC3    PFC4    PFC5    PFC6    PFC7
------------  ------  ------  ------  ------  ------  ------  ------  ------
 Ethernet496       0       0       0      12       0       0       0       0

admin@leaf3:~$ show pfcwd stats
        QUEUE       STATUS    STORM DETECTED/RESTORED    TX OK/DROP    RX OK/DROP    TX LAST OK/DROP    RX LAST OK/DROP
-------------  -----------  -------------------------  ------------  ------------  -----------------  -----------------
Ethernet496:3      stormed                        7/6         0/900         1/901               0/90               1/91
admin@leaf3:~$ sudo pfcwd show config
Changed polling interval to 250ms
       PORT    ACTION    DETECTION TIME    RESTORATION TIME
-----------  --------  ----------------  ------------------
Ethernet496   forward               400                2000
  Ethernet8       N/A               N/A                 N/A
admin@leaf3:~$ show queue watermark unicast
Egress shared pool occupancy per unicast queue:
       Port    UC0    UC1    UC2      UC3    UC4
-----------  -----  -----  -----  -------  -----
Ethernet496      0      0      0  4096000    N/A
admin@leaf3:~$ show buffer_pool watermark
Shared pool maximum occupancy:
                 Pool    Bytes
---------------------  -------
ingress_lossless_pool  9238176
admin@leaf3:~$ show interfaces status
  Interface            Lanes    Speed    MTU    FEC    Alias    Vlan    Oper    Admin         Type    Asym PFC
-----------  ---------------  -------  -----  -----  -------  ------  ------  -------  -----------  ----------
Ethernet496  1,2,3,4,5,6,7,8     400G   9216     rs    etp63  routed      up       up  QSFP-DD 2X         off
admin@leaf3:~$ ecnconfig -l
Profile: AI_LOSSLESS
-----------------------  --------
green_max_threshold      500000
green_min_threshold      250000
green_drop_probability   40
ecn                      ecn_green
-----------------------  --------

admin@leaf3:~$ show interfaces counters fec-histogram Ethernet496
Symbol Errors Per Codeword      Codewords
----------------------------  -----------
BIN0                           1234567890
BIN15                                 N/A
`,
	"sonic lldp": `sonic# show lldp table
Capability codes: (R) Router, (B) Bridge, (O) Other
LocalPort    RemoteDevice    RemotePortID       Capability    RemotePortDescr
-----------  --------------  -----------------  ------------  -----------------
Ethernet0    gpu07           0c:42:a1:00:00:01  OR            eth4
Ethernet8    spine-2         Ethernet504        BR            to leaf3
--------------------------------------------------
Total entries displayed:  2
`,
	"counters db": `{
  "COUNTERS_PORT_NAME_MAP": {"Ethernet8": "oid:0x1000000000002"},
  "COUNTERS_QUEUE_NAME_MAP": {"Ethernet8:3": "oid:0x15000000000010"},
  "COUNTERS_PG_NAME_MAP": {"Ethernet8:3": "oid:0x1a000000000010"},
  "COUNTERS:oid:0x1000000000002": {"expireat": 1.5, "ttl": -0.001, "type": "hash", "value": {
    "SAI_PORT_STAT_PFC_5_RX_PKTS": "18446744073709551615", "EST_PORT_STAT_PFC_5_RX_PAUSE_DURATION_US": "77", "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S9": "4", "SAI_PORT_STAT_LLR_TX_OK": "9"}},
  "COUNTERS:oid:0x15000000000010": {"PFC_WD_STATUS": "operational", "PFC_WD_DETECTION_TIME": "250000", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": "123", "SAI_QUEUE_STAT_DROPPED_PACKETS": ""},
  "COUNTERS:oid:0x1a000000000010": {"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": "6"}
}
`,
	"nvue": `cumulus@leaf01:mgmt:~$ nv show interface swp49 qos roce counters
                               operational   applied  description
-----------------------------  ------------  -------  ------------------------------------------------------
rx-stats
  rx-pfc-stats
    pause-duration             55                     Rx PFC pause duration for RoCE traffic
    pause-packets              44                     Rx PFC pause packets for RoCE traffic
  rx-roce-stats
    no-buffer-discard          3                      Rx buffer discards for RoCE traffic
    pg-usage                   1.50 KB                Current PG-buffer usage for RoCE traffic
tx-stats
  tx-ecn-stats
    ecn-marked-packets         n/a                    Tx ECN marked packets
cumulus@leaf01:mgmt:~$ nv show interface swp49 qos pfc-watchdog
                   operational  applied
-----------------  -----------  -------
state              enabled      enabled

PFC WD Status
===========================
    traffic-class  status    deadlock-count
    -------------  --------  --------------
    3              DEADLOCK  12
cumulus@leaf01:mgmt:~$ nv show qos egress-scheduler default-global
    operational  applied  description
--  -----------  -------  -----------

TC->DWRR weight configuration
================================
    traffic-class  mode    bw-percent
    -------------  ------  ----------
    2              dwrr    30
    5              strict
`,
	"nvue json": `{"rx-stats": {"rx-pfc-stats": {"pause-packets": 17}, "rx-roce-stats": {"roce-packets": 5}},
 "tx-stats": {"tx-ecn-stats": {"ecn-marked-packets": 9007199254740993}}}
`,
	"netq": `spine-1   roce  RoCE PFC Priority Mismatch.Expected pfc-priority: 4.
`,
	"nxos": `switch-9# show interface priority-flow-control
============================================================
Port               Mode Oper(VL bmap)  RxPPP      TxPPP
============================================================

Ethernet1/33       On   On  (18)       9          10
Br-Ethernet101/1/10
                   Off  Off           0          7

switch-9# show queuing interface ethernet 1/33

slot  1
=======

Egress Queuing for Ethernet1/33 [Interface]
------------------------------------------------------------------------------
QoS-Group# Bandwidth% PrioLevel                Shape                   QLimit
                                   Min          Max        Units
------------------------------------------------------------------------------
      4            60         -           -            -     -            6(D)
      0             0         1           -            -     -            6(D)
+-------------------------------------------------------------+
|                              QOS GROUP 4                    |
+-------------------------------------------------------------+
|                           |  Unicast       |Multicast       |
+-------------------------------------------------------------+
|                   Tx Pkts |              77|               5|
|         Ecn Marked Pkts   |              66|               0|
|              Q Depth Byts |             208|               0|
|         Strange Pkts      |               1|               0|
+-------------------------------------------------------------+
|                              CONTROL QOS GROUP              |
+-------------------------------------------------------------+
|                   Tx Pkts |            9999|               0|
+-------------------------------------------------------------+
Ingress Queuing for Ethernet1/33
-----------------------------------------------------------------
QoS-Group#                 Pause                        QLimit
           Buff Size       Pause Th      Resume Th
-----------------------------------------------------------------
      4         100000        40000        30000         10(D)

PFC Statistics
------------------------------------------------------------------------------
TxPPP:                  500,   RxPPP:                  600
------------------------------------------------------------------------------
 COS QOS Group        PG   TxPause   TxCount         RxPause         RxCount
   4         4         4  Inactive       500        Active               600
------------------------------------------------------------------------------
`,
	"nxos watchdog": `+----------------------------------------------------+
Global watch-dog interval [Disabled]
+----------------------------------------------------+
Ethernet1/7 Interface PFC watchdog: [Disabled]
+----------------------------------------------------+
| QOS GROUP 4 [Active] PFC [YES] PFC-COS [5]
+----------------------------------------------------+
|                            |          Stats        |
+----------------------------------------------------+
|                    Shutdown|                     21|
|                    Restored|                     20|
|         Total pkts drained |                    300|
+----------------------------------------------------+
`,
	"nxos module": `Ethernet1/9
    transceiver is present
    type is QSFP-400G-DR4
    name is CISCO-ACME
    part number is N/A
    number of lanes 4

Lane Number:2 Network Lane
           SFP Detail Diagnostics Information (internal calibration)
  ----------------------------------------------------------------------------
                Current              Alarms                  Warnings
                Measurement     High        Low         High          Low
  ----------------------------------------------------------------------------
  Temperature   71.50 C  +     75.00 C     -5.00 C     70.00 C        0.00 C
  Rx Power       -3.10 dBm     2.00 dBm  -13.90 dBm   -1.00 dBm     -9.90 dBm
  Transmit Fault Count = 2
`,
	"eos": `Port                       RxPfc             TxPfc
Et5/1                        N/A             1,000
Po7                            1                 2
`,
	"eos lldp": `Port          Neighbor Device ID       Neighbor Port ID    TTL
---------- ------------------------ ---------------------- ---
Et1           spine1.example.net       Ethernet9/1         120
Ma1           oob                      7                   120
`,
	"eos json": `{"interfaces": {"Ethernet2": {"txQueues": {"UC3": {"stuckCount": 4, "recoveryCount": 3}}}}}
{"lldpNeighbors": [{"port": "Ethernet2", "neighborDevice": "gpu2", "neighborPort": "eth0", "ttl": 120}]}
{"interfaceCounters": {"Ethernet2": {"priorities": {"3": {"rxFrames": 8, "txFrames": 9}}}}}
`,
	"huawei": `<leaf-7> display dcb pfc
M:Manual; A:Auto
----------------------------------------------------------------------------------------------
Interface     Queue       Received(Frames)     ReceivedRate(pps)     DeadlockNum
                          Transmitted(Frames)  TransmittedRate(pps)  RecoveryNum
----------------------------------------------------------------------------------------------
400GE2/0/11       3                     10                     1               2
                                        20                     3               4
                  4                     30                     0               0
                                        40                     0               0
----------------------------------------------------------------------------------------------
<leaf-7> display ai-ecn calculated state
AI-ECN Model Version : 1.0.1
Mode : NN - Model inference    BBR - Heuristic inference    STATIC - Static threshold
-----------------------------------------------------------------------------------------------------------------------
Interface          Queue  Low-Threshold  High-Threshold  Probability  Mode     Active model                Actived time
                          (Byte)         (Byte)          (%)
-----------------------------------------------------------------------------------------------------------------------
400GE2/0/11            3         102400          307200           20  BBR      AI_ECN_Training             2025-11-12 13:14:15
-----------------------------------------------------------------------------------------------------------------------
<leaf-7> display lldp neighbor brief
Local Interface         Exptime(s) Neighbor Interface            Neighbor Device
-------------------------------------------------------------------------------
400GE2/0/11                   105  400GE1/0/1                    spine-2
`,
	"h3c": `<H3C> display priority-flow-control interface
Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv       Send       Inpps      Outpps
---------------------------------------------------------------------------------------------------------------
FGE1/0/9                         Auto       Enabled   0,3-4       3     1          2          3          4
                                                                  4     5          6          7          8
FGE1/0/10                        Disabled   Disabled              3     0          0          0          0
`,
	"h3c older": `Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv       Send
XGE1/0/1                         Enabled    Enabled   3           3     11         12
`,
	"huawei buffer": `Xon:        PFC backpressure stop threshold
Xoff:       PFC backpressure threshold
Hdrm:       Headroom buffer threshold
Guaranteed: PFC guaranteed buffer threshold
B:bytes     K:kilobytes   D:dynamic alpha
------------------------------------------------------------------------------------
Interface      Queue    Guaranteed     Xon-Lowest  Xon-Offset       Xoff        Hdrm
------------------------------------------------------------------------------------
100GE1/0/9         4       3200(B)        1280(B)        6(K)       7(D)       80(K)
------------------------------------------------------------------------------------
`,
	"junos queue": `admin@qfx> show interfaces queue et-0/0/7
Physical interface: et-0/0/7, up, Physical link is Up
  Interface index: 1019, SNMP ifIndex: 518
Queue: 4, Forwarding classes: NO-LOSS
  Queued:
    Packets              :           999999                     0 pps
  Transmitted:
    Packets              :            12,345                     9 pps
    Bytes                :            67890                     0 bps
    Tail-dropped packets :                1                     0 pps
    RED-dropped packets  :                2                     0 pps
    ECN-CE packets       :              345                     0 pps
    ECN-CE bytes         : Not Available
`,
	"nxos json": `{"TABLE_module": {"ROW_module": {"TABLE_pfc_interface": {"ROW_pfc_interface": [{"if_name_str": "Ethernet1/5", "admin": "Auto", "oper": "On (8)", "rx-stats": "11", "tx-stats": "12"}]}}}}
`,
	"eos status": `The hardware supports PFC on priorities 0 1 2 3 4 5 6 7
PFC receive processing is enabled on priorities 0 1 2 3 4 5 6 7
The PFC watchdog timeout is 0.2 second(s)
The PFC watchdog recovery-time is 0.5 second(s) (auto)
The PFC watchdog polling-interval is 0.1 second(s)
The PFC watchdog action is drop
Global PFC : Enabled
E: PFC Enabled, D: PFC Disabled, A: PFC Active, W: PFC Watchdog Enabled
Port              Status Priorities Action      Timeout  Recovery      Polling         Note
Et1/1             E A W  3 4
Et1/2             D
`,
	"minigraph": `<?xml version="1.0"?>
<DeviceMiniGraph xmlns:i="http://www.w3.org/2001/XMLSchema-instance" xmlns="Example">
  <PngDec>
    <DeviceInterfaceLinks>
      <DeviceLinkBase i:type="DeviceInterfaceLink">
        <ElementType>DeviceInterfaceLink</ElementType>
        <Bandwidth>400000</Bandwidth>
        <EndDevice>leaf-3</EndDevice>
        <EndPort>Ethernet8</EndPort>
        <StartDevice>gpu17</StartDevice>
        <StartPort>eth4</StartPort>
      </DeviceLinkBase>
    </DeviceInterfaceLinks>
  </PngDec>
  <Hostname>leaf-3</Hostname>
  <HwSku>Force10-S6000</HwSku>
</DeviceMiniGraph>
`,
	"h3c lldp": `Local Interface Chassis ID      Port ID                    System Name
FGE1/0/9        0003-0f00-0001  FourHundredGigE1/0/2       spine9
`,
	"junos": `admin@qfx> show interfaces et-0/0/9 extensive
Physical interface: et-0/0/9, Enabled, Physical link is Down
  Link-level type: Ethernet, MTU: 9216, LAN-PHY mode, Speed: 400Gbps, BPDU Error: None
  MAC statistics:                      Receive         Transmit
    MAC pause frames                         6                7
  MAC Priority Flow Control Statistics:
    Priority :  4                             8                9
Physical interface: et-0/0/10, Enabled, Physical link is Up
  MAC Priority Flow Control Statistics:
    Priority :  4                             1                2
`,
	"junos lldp": `Local Interface    Parent Interface    Chassis Id          Port info          System Name
et-0/0/9           -                   00:11:22:33:44:55   et-0/0/1           spine3
`,
	"nxos lldp": `Capability codes:
  (R) Router, (B) Bridge, (T) Telephone, (C) DOCSIS Cable Device
Device ID            Local Intf      Hold-time  Capability  Port ID
leaf-with-a-very-long-name.example.net
                     Eth1/3          120        BR          Ethernet1/49
gpu9                 Eth1/4          120                    enp1s0
`,
	"onyx": `RoCE mode      : semi-lossless
LLDP           : enabled
Port trust mode: both

Application TLV:
  Selector: udp
  Protocol: 4791
  Priority: 4

Port congestion-control:
  Mode: red, absolute
  Min : 10
  Max : 20

PFC : enabled
  switch-priority 4: enabled
  switch-priority 5: disabled
`,
	"openconfig": `{"source": "leaf1", "updates": [{"Path": "qos/interfaces/interface[interface-id=et-0/0/4]/output/queues/queue[name=5]/state", "values": {"qos/interfaces": {"openconfig-qos:ecn-marked-pkts": "12", "dropped-pkts": 3}}}]}
{"name": "s", "tags": {"interface_name": "et-0/0/5"}, "values": {"/interfaces/interface/state/counters/in-octets": "99", "/interfaces/interface/ethernet/state/counters/in-mac-pause-frames": 4}}
{"openconfig-qos:interface": [{"interface-id": "et-0/0/6", "output": {"queues": {"queue": [{"name": "2", "state": {"transmit-pkts": "8"}}]}}}]}
`,
	"snmp": `IF-MIB::ifName.7 = STRING: FortyGigE1/0/7
IEEE8021-PFC-MIB::ieee8021PfcRequests.7 = Counter32: 5
iso.3.111.2.802.1.1.21.1.1.1.3.8 = Counter32: 6
`,
	"snmp of interfaces": `IF-MIB::ifDescr.1001 = STRING: "port 1"
.1.3.6.1.2.1.2.2.1.3.1001 = INTEGER: ethernetCsmacd(6)
IF-MIB::ifMtu.1001 = INTEGER: 9216
IF-MIB::ifOperStatus.1001 = INTEGER: up(1)
IF-MIB::ifInDiscards.1001 = Counter32: 44
iso.3.6.1.2.1.31.1.1.1.1.1001 = STRING: "Ethernet1/1"
iso.3.6.1.2.1.31.1.1.1.6.1001 = Counter64: 18446744073709551615
IF-MIB::ifHighSpeed.1001 = Gauge32: 400000
EtherLike-MIB::dot3OutPauseFrames.1001 = Counter32: 12
`,
}

func TestSwitchOutputs(t *testing.T) {
	want := map[string][]string{
		"sonic tables": {"leaf3/Ethernet496/3 pfc.rx_frames=1234567", "leaf3/Ethernet496/2 pfc.rx_frames=-", "leaf3/Ethernet496/3 pfc.tx_frames=12", "leaf3/Ethernet496/3 watchdog.state=stormed", "leaf3/Ethernet496/3 watchdog.storms=7",
			"leaf3/Ethernet496/3 watchdog.restores=6", "leaf3/Ethernet496/3 watchdog.rx_drops=901", "leaf3/Ethernet496/3 watchdog.last_tx_drops=90", "leaf3 watchdog.poll_interval=250", "leaf3/Ethernet496 watchdog.action=forward",
			"leaf3/Ethernet496 watchdog.restore_time=2000", "leaf3/Ethernet8 watchdog.enabled=false", "leaf3/Ethernet8 watchdog.detect_time=-", "leaf3/Ethernet496/3 queue.watermark=4096000", "leaf3/Ethernet496/4 queue.watermark=-",
			"leaf3 buffer.pool.ingress_lossless_pool.max_usage=9238176", "leaf3/Ethernet496 link.speed=400000000000", "leaf3/Ethernet496 link.mtu=9216", "leaf3/Ethernet496 module.media=QSFP-DD 2X", "leaf3/Ethernet496 pfc.asymmetric=false",
			"leaf3 ecn.profile.AI_LOSSLESS.mode=ecn_green", "leaf3 ecn.profile.AI_LOSSLESS.green.max=500000", "leaf3/Ethernet496 fec.codewords.0=1234567890", "leaf3/Ethernet496 fec.codewords.15=-"},
		"sonic lldp":  {"sonic/Ethernet0 link.neighbour=gpu07/0c:42:a1:00:00:01", "sonic/Ethernet8 link.neighbour=spine-2/Ethernet504"},
		"counters db": {"Ethernet8/5 pfc.rx_frames=18446744073709551615", "Ethernet8/5 pfc.rx_pause_time=77", "Ethernet8 fec.codewords.9=4", "Ethernet8 counter.SAI_PORT_STAT_LLR_TX_OK=9", "Ethernet8/3 watchdog.state=operational", "Ethernet8/3 watchdog.detect_time=250", "Ethernet8/3 queue.ecn_marked_packets=123", "Ethernet8/3 queue.drop_packets=-", "Ethernet8/PG3 pg.drop_packets=6"},
		"nvue": {"leaf01/swp49 pfc.rx_frames=44", "leaf01/swp49 pfc.rx_pause_time=55", "leaf01/swp49 roce.rx_discards=3", "leaf01/swp49 counter.rx-stats.rx-roce-stats.pg-usage=1536", "leaf01/swp49 queue.ecn_marked_packets=-", "leaf01/swp49 watchdog.enabled=true", "leaf01/swp49/3 watchdog.state=stormed",
			"leaf01/swp49/3 watchdog.storms=12", "leaf01 qos.tc.2.bandwidth=30", "leaf01 qos.tc.5.tsa=strict"},
		"nvue json": {" pfc.rx_frames=17", " roce.rx_packets=5", " queue.ecn_marked_packets=9007199254740993"},
		"netq":      {"spine-1 netq.reason=RoCE PFC Priority Mismatch.Expected pfc-priority: 4."},
		"nxos": {"switch-9/Ethernet1/33 qos.pfc.enabled=3,4", "switch-9/Ethernet1/33 pfc.rx_frames=9", "switch-9/Br-Ethernet101/1/10 pfc.mode=off", "switch-9/Br-Ethernet101/1/10 pfc.tx_frames=7", "switch-9/Ethernet1/33 qos.tc.4.bandwidth=60", "switch-9/Ethernet1/33 qos.tc.0.tsa=strict",
			"switch-9/Ethernet1/33/4 queue.packets=77", "switch-9/Ethernet1/33/4 queue.multicast_packets=5", "switch-9/Ethernet1/33/4 queue.ecn_marked_packets=66", "switch-9/Ethernet1/33/4 queue.depth=208", "switch-9/Ethernet1/33/4 counter.Strange_Pkts=1", "switch-9/Ethernet1/33/4 pg.xoff=40000",
			"switch-9/Ethernet1/33/4 pg.xon=30000", "switch-9/Ethernet1/33/4 pfc.rx_paused=true", "switch-9/Ethernet1/33/4 pfc.rx_frames=600", "switch-9/Ethernet1/33 pfc.tx_frames=500"},
		"nxos watchdog": {" watchdog.enabled=false", "Ethernet1/7 watchdog.enabled=false", "Ethernet1/7/4 watchdog.state=operational", "Ethernet1/7/4 watchdog.storms=21", "Ethernet1/7/4 watchdog.drained_packets=300", "Ethernet1/7 qos.priority.5.tc=4"},
		"nxos module":   {"Ethernet1/9 module.type=QSFP-400G-DR4", "Ethernet1/9 module.vendor=CISCO-ACME", "Ethernet1/9 module.temperature=71.5", "Ethernet1/9 module.alarm=temperature high warning", "Ethernet1/9 module.lane.2.rx_power=-3.1", "Ethernet1/9 counter.transmit_fault_count=2"},
		"eos":           {"Et5/1 pfc.rx_frames=-", "Et5/1 pfc.tx_frames=1000", "Po7 pfc.tx_frames=2"},
		"eos lldp":      {"Et1 link.neighbour=spine1.example.net/Ethernet9/1", "Ma1 link.neighbour=oob/7"},
		"eos json":      {"Ethernet2/3 watchdog.storms=4", "Ethernet2/3 watchdog.restores=3", "Ethernet2 link.neighbour=gpu2/eth0", "Ethernet2/3 pfc.tx_frames=9"},
		"huawei": {"leaf-7/400GE2/0/11/3 pfc.rx_frames=10", "leaf-7/400GE2/0/11/3 pfc.tx_frame_rate=3", "leaf-7/400GE2/0/11/3 watchdog.storms=2", "leaf-7/400GE2/0/11/3 watchdog.restores=4", "leaf-7/400GE2/0/11/4 pfc.tx_frames=40", "leaf-7/400GE2/0/11/3 ecn.max=307200",
			"leaf-7/400GE2/0/11/3 ecn.model=BBR", "leaf-7/400GE2/0/11 link.neighbour=spine-2/400GE1/0/1"},
		"h3c":           {"H3C/FGE1/0/9 pfc.mode=auto", "H3C/FGE1/0/9 pfc.active=true", "H3C/FGE1/0/9 qos.pfc.enabled=0,3,4", "H3C/FGE1/0/9/3 pfc.tx_frames=2", "H3C/FGE1/0/9/4 pfc.rx_frame_rate=7", "H3C/FGE1/0/10 pfc.mode=off"},
		"h3c older":     {"XGE1/0/1 qos.pfc.enabled=3", "XGE1/0/1/3 pfc.tx_frames=12"},
		"huawei buffer": {"100GE1/0/9/4 pg.size=3200", "100GE1/0/9/4 pg.headroom=81920", "100GE1/0/9/4 pg.xon=1280"},
		"junos queue": {"qfx/et-0/0/7/4 queue.packets=12345", "qfx/et-0/0/7/4 queue.bytes=67890", "qfx/et-0/0/7/4 queue.drop_packets=1",
			"qfx/et-0/0/7/4 queue.wred_drop_packets=2", "qfx/et-0/0/7/4 queue.ecn_marked_packets=345", "qfx/et-0/0/7/4 queue.ecn_marked_bytes=-"},
		"nxos json": {"Ethernet1/5 pfc.mode=auto", "Ethernet1/5 pfc.active=true", "Ethernet1/5 pfc.tx_frames=12"},
		"eos status": {" watchdog.detect_time=200", " watchdog.restore_time=500", " watchdog.poll_interval=100", " watchdog.action=drop",
			"Et1/1 qos.pfc.enabled=3,4", "Et1/1 watchdog.enabled=true", "Et1/2 pfc.mode=off"},
		"minigraph": {"gpu17/eth4 link.neighbour=leaf-3/Ethernet8", "leaf-3/Ethernet8 link.neighbour=gpu17/eth4",
			"leaf-3/Ethernet8 link.speed=400000000000", "leaf-3 switch.system=sonic", " switch.hwsku=Force10-S6000"},
		"h3c lldp":           {"FGE1/0/9 link.neighbour=spine9/FourHundredGigE1/0/2"},
		"junos":              {"qfx/et-0/0/9 link.state=down", "qfx/et-0/0/9 link.mtu=9216", "qfx/et-0/0/9 link.speed=400000000000", "qfx/et-0/0/9 pause.rx_frames=6", "qfx/et-0/0/9/4 pfc.rx_frames=8", "qfx/et-0/0/10/4 pfc.tx_frames=2"},
		"junos lldp":         {"et-0/0/9 link.neighbour=spine3/et-0/0/1"},
		"nxos lldp":          {"Eth1/3 link.neighbour=leaf-with-a-very-long-name.example.net/Ethernet1/49", "Eth1/4 link.neighbour=gpu9/enp1s0"},
		"onyx":               {" roce.mode=semi-lossless", " qos.trust=both", " qos.app.udp.4791.priority=4", " ecn.enabled=false", " ecn.max=20000", " qos.pfc.enabled=4"},
		"openconfig":         {"et-0/0/4/5 queue.ecn_marked_packets=12", "et-0/0/4/5 queue.drop_packets=3", "et-0/0/5 port.rx_bytes=99", "et-0/0/5 pause.rx_frames=4", "et-0/0/6/2 queue.packets=8"},
		"snmp":               {"FortyGigE1/0/7 pfc.tx_frames=5", "8 pfc.rx_frames=6"},
		"snmp of interfaces": {"Ethernet1/1 link.mtu=9216", "Ethernet1/1 link.state=up", "Ethernet1/1 port.rx_drops=44", "Ethernet1/1 port.rx_bytes=18446744073709551615", "Ethernet1/1 link.speed=400000000000", "Ethernet1/1 pause.tx_frames=12"},
	}
	for name, text := range switchOutputs {
		t.Run(name, func(t *testing.T) {
			r := read(t, "x", text)
			if len(want[name]) == 0 {
				t.Fatal("nothing expected")
			}
			wantFacts(t, r, want[name]...)
			if name != "nxos lldp" && name != "sonic lldp" { // legends of codes
				nothingLost(t, r)
			}
		})
	}
}

// A configuration beside tables: each is read by its own, and names where it
// stands.
func TestSwitchConfigurationAmongOutputs(t *testing.T) {
	text := "leaf4# show running-config\n\n!Command: show running-config\nversion 10.4(2)\nhostname leaf4\n\nclass-map type qos match-any R\n  match dscp 34\npolicy-map type qos P\n  class R\n    set qos-group 4\n" +
		"policy-map type network-qos N\n  class type network-qos c-8q-nq4\n    pause pfc-cos 4\nsystem qos\n  service-policy type network-qos N\n  service-policy type qos input P\nsnmp-server community hunter2hunter2 ro\nwhatsit password hunter2hunter2\n" +
		"interface Ethernet1/1\n  mtu 9000\n  priority-flow-control mode on\n\nleaf4# show interface priority-flow-control\nPort               Mode Oper(VL bmap)  RxPPP      TxPPP\nEthernet1/1        On   On  (10)       9          10\n"
	r := read(t, "capture.txt", text)
	wantFacts(t, r, "leaf4 switch.system=nxos", "leaf4/Ethernet1/1 qos.dscp.34.priority=4", "leaf4/Ethernet1/1 qos.pfc.enabled=4", "leaf4/Ethernet1/1 link.mtu=9000", "leaf4/Ethernet1/1 pfc.rx_frames=9")
	for _, f := range r.Facts {
		if f.Key == "link.mtu" && f.Origin.Line != 21 {
			t.Errorf("MTU stands in line 21, not %d", f.Origin.Line)
		}
		if strings.Contains(f.Value.String(), "hunter2") {
			t.Errorf("secret in fact %+v", f)
		}
	}
	if len(r.NotUnderstood) != 1 || r.NotUnderstood[0].Text != "whatsit password <redacted>" || r.NotUnderstood[0].Origin.Line != 19 {
		t.Errorf("not understood: %+v", r.NotUnderstood)
	}
}

// switchTools are the outputs as cases of the checks of all tools.
func switchTools() []toolCase {
	var cases []toolCase
	for _, name := range slices.Sorted(maps.Keys(switchOutputs)) {
		cases = append(cases, toolCase{name: "switch " + name, text: switchOutputs[name]})
	}
	return cases
}

func TestSwitchSampleKeys(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(samplesDir, "switch", "*"))
	if len(files) == 0 {
		t.Skip("no samples beside the repository")
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		checkReport(t, read(t, filepath.Base(f), string(text)), strings.Count(string(text), "\n")+1)
	}
}

func FuzzSwitchOutputs(f *testing.F) {
	for _, text := range switchOutputs {
		f.Add(text)
	}
	parsers := switches.Parsers()
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Read(context.Background(), parsers, Text("f", text))
		if err != nil {
			return
		}
		checkReport(t, r, strings.Count(text, "\n")+1)
	})
}
