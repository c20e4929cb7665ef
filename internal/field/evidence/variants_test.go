package evidence

import (
	"strings"
	"testing"
)

// Comments of shell scripts and settings files are understood and say nothing;
// those of other texts are kept.
func TestComments(t *testing.T) {
	checkTools(t, []toolCase{
		{"head, middle, tail", "# for the cluster\n#\n\nNCCL_IB_HCA=mlx5_0\n# class\nNCCL_IB_TC=106 # dscp 26\n\n#export NCCL_DEBUG=WARN\nexport NCCL_SOCKET_IFNAME='eth0' # boot\n# end\n",
			[]string{" nccl.env.NCCL_IB_HCA=mlx5_0", " nccl.env.NCCL_IB_TC=106", " nccl.tc.dscp=26", " nccl.env.NCCL_SOCKET_IFNAME=eth0"}, 0},
		{"script with commands", "#!/bin/bash\n# first\nsudo pfcwd start --action drop ports all detection-time 200\n# second\n\tfrobnicate --now\n  # third\n", nil, 1},
		{"script by env", "#!/usr/bin/env bash\n# first\nset -euo pipefail\n", nil, 0},
		{"no script", "# a title\nsome text\n", nil, 2},
		{"a table behind settings", "export NCCL_DEBUG=WARN\n# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 validation: 0 \n# Out of bounds values : 3 FAILED\n",
			[]string{"nccl-tests nccl_tests.gpus_per_thread=8", "nccl-tests nccl_tests.wrong_total=3"}, 0},
		{"number sign in a value", "NCCL_TOPO_FILE=/tmp/a#b.xml\nNCCL_DEBUG_FILE=\"/tmp/a #b\"\n", []string{" nccl.env.NCCL_TOPO_FILE=/tmp/a#b.xml", " nccl.env.NCCL_DEBUG_FILE=/tmp/a #b"}, 0},
	})
}

// Forms of NCCL 2.19 to 2.27 in which a name has several words, several
// devices make one, or an event names its queue pair.
func TestNCCLVariants(t *testing.T) {
	info := func(lines ...string) string {
		return "node1:9:11 [0] NCCL INFO " + strings.Join(lines, "\nnode1:9:11 [0] NCCL INFO ") + "\n"
	}
	warn := func(text string) string { return "node1:9:11 [0] transport/net_ib.cc:90 NCCL WARN " + text + "\n" }
	checkTools(t, []toolCase{
		{"plugin of several words", info("NET/Plugin: Loaded net plugin NCCL RDMA Plugin v9 (v9)"), []string{"node1/9 nccl.plugin=NCCL RDMA Plugin v9"}, 0},
		{"plugin with its version before", info("P2P plugin v9 IBext_v9"), []string{"node1/9 nccl.plugin=IBext_v9"}, 0},
		{"plugin without version", info("P2P plugin IBext_v7"), []string{"node1/9 nccl.plugin=IBext_v7"}, 0},
		{"merged devices", info("NET/IB: Made virtual device [2] name=mlx5_0+mlx5_1 speed=400000 ndevs=2", "NET/IB : Using [0]={[0] mlx5_0:1/RoCE, [1] mlx5_1:1/RoCE} [RO]; OOB eth0:10.0.0.1<0>"),
			[]string{"node1/9 nccl.network_devices=mlx5_0:1,mlx5_1:1", "node1/9 nccl.layer.mlx5_1=RoCE", "node1/9 nccl.oob=eth0:10.0.0.1"}, 0},
		{"devices found", info("NET/IB : [0] mlx5_0:uverbs0:1/RoCE provider=Mlx5 speed=400000 context=0x56 pciPath=/sys/devices/pci0000:15 ar=0", "NET/IB: IbDev 1 Port 1 qpn 1234 set_ece={supported=1, vendor_id=0x15b3, options=0x30000002, comp_mask=0x0}"), nil, 0},
		{"connected", info("Connected all rings, use ring PXN 0 GDR 1", "Connected all trees", "Connected NVLS tree"), []string{"node1/9 nccl.connected=rings,trees,NVLS tree"}, 0},
		{"retries of connections", info("Call to connect returned Connection refused, retrying", "socketPollConnect: connect to 10.0.0.2<4> returned Connection refused, retrying (1/34) after sleep for 100 msec"), nil, 0},
		{"event on a queue pair", warn("NET/IB : mlx5_0:1 async fatal event on QP (0x7f01): local work queue catastrophic error"),
			[]string{"node1/9 nccl.error.kind=async_event", "node1/9 nccl.error.device=mlx5_0", "node1/9 nccl.error.event=local work queue catastrophic error"}, 0},
		{"unknown event", warn("NET/IB : mlx5_0:1 unknown event type (55)"), []string{"node1/9 nccl.error.kind=async_event", "node1/9 nccl.error.event=unknown event type (55)"}, 0},
		{"event of old releases", warn("NET/IB : Got async event : port error"), []string{"node1/9 nccl.error.event=port error"}, 0},
	})
}

// A bidirectional bandwidth is the sum of both directions, so the fact must
// say so; builds with GPU buffers talk about them around the table.
func TestPerftestVariants(t *testing.T) {
	checkTools(t, []toolCase{
		{"bidirectional", "                    RDMA_Write Bidirectional BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\n #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n 65536      5000             391.00             390.50               0.744\n",
			[]string{"ib_write_bw perftest.setting.Bidirectional=ON", "ib_write_bw perftest.bandwidth.65536=3.905e+11"}, 0},
		{"GPU buffers", "initializing CUDA\nListing all CUDA devices in system:\nCUDA device 0: PCIe address is 07:00\n\nPicking device No. 0\n[pid = 1234, dev = 0] device name = [NVIDIA A100]\ncreating CUDA Ctx\nmaking it the current CUDA Ctx\ncuMemAlloc() of a 131072 bytes GPU buffer\nallocated GPU buffer address at 00007f00 pointer=0x7f00\n                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : mlx5_0\ndeallocating GPU buffer 00007f00\ndestroying current CUDA Ctx\n",
			[]string{"ib_write_bw perftest.device=mlx5_0"}, 0},
	})
}

// Files shown one by one at a prompt belong to their paths, and what follows
// another command does not.
func TestShownFiles(t *testing.T) {
	const dir = "/sys/class/infiniband/mlx5_1/ports/1/hw_counters"
	checkTools(t, []toolCase{
		{"cat of one file", "root@gpu01:~# cat " + dir + "/packet_seq_err\n33\n", []string{"gpu01/mlx5_1 counter.packet_seq_err=33"}, 0},
		{"the next command's output is not of that file", "$ cat " + dir + "/packet_seq_err\n33\n$ grep . *\nlocal_ack_timeout_err:5\n", []string{"mlx5_1 counter.packet_seq_err=33", " counter.local_ack_timeout_err=5"}, 0},
	})
}

// Forms of iproute2 6 and lldpad 1.1.
func TestDCBVariants(t *testing.T) {
	checkTools(t, []toolCase{
		{"options before the object", "# dcb -s pfc show dev eth0\npfc-cap 8 macsec-bypass off delay 4096\nprio-pfc 0:off 3:on\nrequests 0:0 3:1217\nindications 0:0 3:8812\n",
			[]string{"eth0 qos.pfc.enabled=3", "eth0 counter.pfc_requests.3=1217", "eth0 counter.pfc_indications.3=8812"}, 0},
		{"bandwidth of groups", "# dcb ets show dev eth0\nwilling off ets-cap 8 cbs off\npg-bw 0:0 1:0\ntc-tsa 0:ets 3:strict\n", []string{"eth0 qos.tc.3.tsa=strict"}, 0},
		{"application entries", "# lldptool -t -i eth0 -V APP\nIEEE 8021QAZ APP TLV\n\tApp#0:\n\t Priority: 3\n\t Sel: 5\n\t Protocol: 26\n\t Colour: red\n", []string{"eth0 qos.dscp.26.priority=3"}, 1},
	})
}
