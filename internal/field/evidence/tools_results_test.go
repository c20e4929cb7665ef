package evidence

import (
	"strings"
	"testing"
)

const perfHead = `---------------------------------------------------------------------------------------
                    RDMA_Read BW Test
 Dual-port       : OFF		Device         : irdma1
 Number of qps   : 8		Transport type : IB
 Connection type : RC		Using SRQ      : OFF
 PCIe relax order: OFF		Lock-free      : OFF
 TX depth        : 64
 CQ Moderation   : 64
 Mtu             : 2048[B]
 Link type       : Ethernet
 GID index       : 7
 Outstand reads  : 16
 rdma_cm QPs	 : OFF
 Data ex. method : Ethernet
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0002 PSN 0x1 OUT 0x10 RKey 0x2 VAddr 0x007f
 GID: 254:128:00:00:00:00:00:00:02:170:187:255:254:00:00:01
 remote address: LID 0000 QPN 0x0003 PSN 0x1 OUT 0x10 RKey 0x2 VAddr 0x007f
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:198:51:100:09
---------------------------------------------------------------------------------------
`

func TestPerftestTools(t *testing.T) { checkTools(t, perftestTools()) }

func perftestTools() []toolCase {
	return []toolCase{
		{"read bandwidth with CPU", perfHead + " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]   CPU_Util[%]\n 1048576    3000             196.10             195.55             0.023311        12.50\n",
			[]string{"ib_read_bw perftest.verb=read_bw", "ib_read_bw perftest.device=irdma1", "ib_read_bw perftest.qps=8", "ib_read_bw perftest.mtu=2048", "ib_read_bw perftest.gid_index=7", "ib_read_bw perftest.relaxed_ordering=false",
				"ib_read_bw perftest.local_gid=fe80::2aa:bbff:fe00:1", "ib_read_bw perftest.remote_gid=::ffff:198.51.100.9", "ib_read_bw perftest.bandwidth.1048576=1.9555e+11", "ib_read_bw perftest.peak.1048576=1.961e+11",
				"ib_read_bw perftest.cpu.1048576=12.5", "ib_read_bw perftest.link_type_forced=false", "ib_read_bw perftest.setting.Outstand reads=16", "ib_read_bw perftest.rows=1"}, 0},
		{"two runs one after the other, the second fails", perfHead + " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n 65536      1000             1000.00            500.00             0.008\n" + perfHead + " Failed status-remote access error (10): wr_id 3 syndrom 0x88\n scnt=9, ccnt=4\nFailed to modify QP 77 to RTR\n",
			[]string{"ib_read_bw perftest.bandwidth.65536=4.194304e+09", "ib_read_bw#2 perftest.error.status=10", "ib_read_bw#2 perftest.error.vendor=136", "ib_read_bw#2 perftest.error.text=remote access error", "ib_read_bw#2 perftest.error=connect"}, 0},
		{"dual port", strings.Replace(perfHead, "Dual-port       : OFF", "Dual-port       : ON", 1) + " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]   BW Port1[Gb/sec]   MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]\n 65536      5000             0.00              180.25              0.34    90.00  0.17  90.25  0.17\n",
			[]string{"ib_read_bw perftest.bandwidth.65536=1.8025e+11", "ib_read_bw perftest.bandwidth_port.2.65536=9.025e+10", "ib_read_bw perftest.largest_peak=-"}, 0},
		{"latency by duration", strings.Replace(perfHead, "RDMA_Read BW", "Send Latency", 1) + " #bytes        #iterations       t_avg[usec]    tps average\n 64            1234567          1.91           523560.21\n",
			[]string{"ib_send_lat perftest.latency.average.64=1.91", "ib_send_lat perftest.transactions.64=523560.21", "ib_send_lat perftest.iterations.64=1234567"}, 0},
		{"InfiniBand with LIDs is not forced", "                    Send BW Test\n Link type       : IB\n local address: LID 0x04 QPN 0x0048 PSN 0x1\n remote address: LID 0x05 QPN 0x0048 PSN 0x1\n", []string{"ib_send_bw perftest.link_type_forced=false"}, 0},
		{"no connection", "Couldn't connect to 192.0.2.9:18515\n Unable to open file descriptor for socket connection Unable to init the socket connection\n", nil, 2},
		{"Slurm labels", "0: " + strings.ReplaceAll(strings.TrimSpace(perfHead), "\n", "\n0: ") + "\n0:  #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n0:  65536      10             1.00            1.00             0.1\n",
			[]string{"ib_read_bw perftest.bandwidth.65536=1e+09"}, 0},
	}
}

func TestNCCLTestsTools(t *testing.T) { checkTools(t, ncclTestsTools()) }

func ncclTestsTools() []toolCase {
	return []toolCase{
		{"alltoall without in-place and checks", `# nThread 1 nGpus 8 minBytes 1024 maxBytes 4096 step: 2(factor) warmup iters: 5 iters: 100 agg iters: 1 validation: 0 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid     77 on   node-003 device  0 [0x18] NVIDIA A100-SXM4-80GB
#  Rank  1 Group  0 Pid     78 on   node-004 device  0 [0x18] NVIDIA A100-SXM4-80GB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
        1024            32     float    none      -1    50.00    0.02    0.01    N/A    49.00    0.02    0.01    N/A
        4096           128     float    none      -1    60.00    0.07    0.04    N/A      N/A     N/A     N/A    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.025
`, []string{"nccl-tests nccl_tests.gpus_per_thread=8", "nccl-tests nccl_tests.iterations=100", "nccl-tests nccl_tests.ranks=2", "nccl-tests nccl_tests.nodes=2", "nccl-tests nccl_tests.rank_host.1=node-004",
			"nccl-tests nccl_tests.out.wrong.1024=-", "nccl-tests nccl_tests.in.time.4096=-", "nccl-tests nccl_tests.rows=2", "nccl-tests nccl_tests.average_busbw=2e+08", "nccl-tests nccl_tests.out.busbw.4096=3.2e+08"}, 0},
		{"two programs, the second wrong", `# nccl-tests version 2.13.10 nccl-headers=22602 nccl-library=22602
# Collective test starting: all_gather_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
     8388608       2097152     float    none      -1    100.0   83.89   41.94       0    101.0   83.06   41.53       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 41.735
# Collective test concluded: all_gather_perf
# nccl-tests version 2.13.10 nccl-headers=22602 nccl-library=22602
# Collective test starting: all_reduce_perf
     8388608       2097152  bfloat16     sum      -1    100.0   83.89  125.83       3    101.0   83.06  124.58       0
# Out of bounds values : 3 FAILED
`, []string{"all_gather_perf nccl_tests.version=2.13.10", "all_gather_perf nccl_tests.op=none", "all_gather_perf nccl_tests.largest_busbw=3.3552e+11", "all_reduce_perf nccl_tests.wrong_total=3",
			"all_reduce_perf nccl_tests.out.wrong.8388608=3", "all_reduce_perf nccl_tests.ranks_by_ratio=4", "all_reduce_perf nccl_tests.type=bfloat16"}, 0},
		{"2019 errors as numbers, failure", "           8             2   float     sum    30.10    0.00    0.00  1e-07    29.90    0.00    0.00  0e+00\nnode-1: Test NCCL failure common.cu:777 'unhandled system error'\n .. node-1 pid 99: Test failure common.cu:891\n",
			[]string{"nccl-tests nccl_tests.out.error.8=1e-07", "nccl-tests nccl_tests.in.error.8=0", "nccl-tests nccl_tests.error=node-1: Test NCCL failure common.cu:777 'unhandled system error'"}, 0},
		{"log and table mixed line by line", "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n  1048576        262144     float     sum      -1    80.00   13.11   19.66      0    80.00   13.11   19.66      0\nhost-9:10:11 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n  2097152        524288     float     sum      -1    90.00   23.30   34.95      0    90.00   23.30   34.95      0\nhost-9:10:11 [0] NCCL INFO Connected all rings\n# Avg bus bandwidth    : 27.3\n",
			[]string{"nccl-tests nccl_tests.rows=2", "nccl-tests nccl_tests.average_busbw=2.184e+11", "host-9/10 nccl.gdrdma=true", "nccl-tests nccl_tests.ranks_by_ratio=4"}, 0},
	}
}

func TestNCCLLogTools(t *testing.T) { checkTools(t, ncclLogTools()) }

func ncclLogTools() []toolCase {
	return []toolCase{
		{"2.8 to 2.10 forms", `h1:31:90 [2] NCCL INFO NET/IB : GPU Direct RDMA Enabled for GPU 3b000 / HCA 1 (distance 4 <= 4), read 0
h1:31:90 [2] NCCL INFO Trees [0] 3/8/-1->2->-1|-1->2->3/8/-1 [1] 3/-1/-1->2->10
h1:31:90 [2] NCCL INFO comm 0x7f2 rank 2 nranks 16 cudaDev 2 busId 3b000 - Init COMPLETE
h1:31:90 [2] NCCL INFO Channel 00 : 10[3b000] -> 2[3b000] [receive] via NET/IB/1/GDRDMA
h1:31:90 [2] NCCL INFO Channel 00 : 2[3b000] -> 3[86000] via P2P/IPC
h1:31:90 [2] NCCL INFO Channel 01 : 2[3b000] -> 10[3b000] [send] via NET/IB/1
`, []string{"h1/31 nccl.gdr.hca1=true", "h1/2 nccl.tree.0=3/8/-1->2->-1|-1->2->3/8/-1", "h1/2 nccl.trees=2", "h1/2 nccl.ranks=16", "h1/2 nccl.gpu.bus=3b000", "h1/2 nccl.init_complete=true",
			"h1/31 nccl.channel.count=2", "h1/31 nccl.channel.gdrdma=1", "h1/31 nccl.gdrdma=false", "h1/31 nccl.channel.transport.P2P=1", "h1/31 nccl.channel.transport.NET/IB=2"}, 0},
		{"2.20 to 2.28 forms", `[2025-06-01 12:00:00] h2:5:6 [1] transport/net_ib.cc:1234 NCCL WARN NET/IB : mlx5_3:1 Got async event : port error
h2:5:6 [1] NCCL INFO Bootstrap: Using ens9:198.51.100.2<0>
h2:5:6 [1] NCCL INFO ENV/Plugin: Could not find: libnccl-env.so
h2:5:6 [1] NCCL INFO NCCL_IB_QPS_PER_CONNECTION set by environment to 4.
h2:5:6 [1] NCCL INFO NCCL_ALGO set by environment to Ring
h2:5:6 [1] NCCL INFO NET/IB : Using [0]mlx5_3:1/RoCE [1]mlx5_6:1/RoCE [RO]; OOB ens9:198.51.100.2<0>
h2:5:6 [1] NCCL INFO Initialized NET plugin IB
h2:5:6 [1] NCCL INFO NET/IB : GPU Direct RDMA (DMABUF) Enabled for HCA 0 'mlx5_3'
h2:5:6 [1] NCCL INFO NET/IB: NCCL Dev 1 IbDev 1 Port 1 qpn 300 mtu 5 query_ece={supported=1, vendor_id=0x15b3} GID 5 (0/0203640AFFFF0000) fifoRkey=0x1 fifoLkey=0x1
h2:5:6 [1] NCCL INFO NET/IB: NCCL Dev 1 IbDev 1 Port 1 qpn 301 mtu 5 query_ece={supported=1, vendor_id=0x15b3} GID 5 (0/0203640AFFFF0000) fifoRkey=0x1 fifoLkey=0x1
h2:5:6 [1] NCCL INFO comm 0x55 rank 9 nRanks 16 nNodes 2 localRanks 8 localRank 1 MNNVL 0
h2:5:6 [1] NCCL INFO 16 coll channels, 16 collnet channels, 8 nvls channels, 24 p2p channels, 2 p2p channels per peer
h2:5:6 [1] NCCL INFO Connected all rings, use ring PXN 0 GDR 1
h2:5:6 [1] NCCL INFO ncclCommInitRankConfig comm 0x55 rank 9 nranks 16 cudaDev 1 nvmlDev 1 busId 2a000 commId 0xabc - Init COMPLETE
h2:5:6 [1] transport/net_ib/connect.cc:99 NCCL WARN Call to ibv_modify_qp failed with 113 No route to host, on dev mlx5_6:1, curr state INIT, next state RTR, local GID index 5, local GID ::ffff:10.100.3.2, remote GID ::ffff:10.100.9.2
h2:5:6 [1] transport/net_ib/p2p.cc:700 NCCL WARN NET/IB: Got completion from peer 10.100.9.2<4000> with status=IBV_WC_LOC_PROT_ERR(4) opcode=IBV_WC_SEND(0) reqSize=0 vendor_err=81 req_type=Send localGid fe80::1 remoteGids fe80::2 hca mlx5_6
h2:5:6 [1] NCCL INFO transport/net.cc:900 -> 2
h2:5:6 [1] NCCL INFO proxy.cc:1 -> 2
`, []string{"h2/5 nccl.error.event=port error", "h2/5 nccl.error.device=mlx5_3", "h2/5 nccl.bootstrap=ens9:198.51.100.2", "h2/5 nccl.env.NCCL_IB_QPS_PER_CONNECTION=4", "h2/5 nccl.env.NCCL_ALGO=Ring",
			"h2/5 nccl.network_devices=mlx5_3:1,mlx5_6:1", "h2/5 nccl.layer.mlx5_6=RoCE", "h2/5 nccl.oob=ens9:198.51.100.2", "h2/5 nccl.gdr.mlx5_3=true", "h2/5 nccl.dmabuf=true", "h2/5 nccl.qp.mtu=4096", "h2/5 nccl.qp.gid_index=5",
			"h2/5 nccl.qp.gid=::ffff:10.100.3.2", "h2/9 nccl.nodes=2", "h2/9 nccl.ranks=16", "h2/5 nccl.channels.nvls=8", "h2/5 nccl.channels.p2p=24", "h2/5 nccl.channels.p2p_per_peer=2", "h2/5 nccl.connected=rings",
			"h2/9 nccl.init_complete=true", "h2/5 nccl.error.errno=113", "h2/5 nccl.error.text=No route to host", "h2/5 nccl.error.state=INIT to RTR", "h2/5 nccl.error.gid_index=5", "h2/5 nccl.error.remote_gid=::ffff:10.100.9.2",
			"h2/5 nccl.error.status=4", "h2/5 nccl.error.status_name=IBV_WC_LOC_PROT_ERR", "h2/5 nccl.error.vendor=81", "h2/5 nccl.error.direction=Send", "h2/5 nccl.error.link_local=true", "h2/5 nccl.failed_at=transport/net.cc:900 -> 2", "h2/5 nccl.errors=3"}, 0},
		{"RCCL", "RCCL version : 2.22.3-HEAD:1234abc\nHIP version  : 6.4.43482-0f2d60242\nHostname     : mi300-1\nLibrccl path : /opt/rocm/lib/librccl.so.1\nmi300-1:9:9 [0] NCCL INFO NET/IB : Using [0]bnxt_re0:1/RoCE [1]ionic_1:1/RoCE [RO]; OOB eth0:198.51.100.3<0>\nmi300-1:9:9 [0] NCCL INFO RCCL_MSCCL_ENABLE set by environment to 0.\n",
			[]string{" nccl.library=rccl", " nccl.version=2.22.3-HEAD:1234abc", "mi300-1/9 nccl.network_devices=bnxt_re0:1,ionic_1:1", "mi300-1/9 nccl.env.RCCL_MSCCL_ENABLE=0"}, 0},
		{"sockets and other warnings", "x:1:2 [0] NCCL INFO NET/IB : No device found.\nx:1:2 [0] NCCL INFO NET/Socket : Using [0]ens3:192.0.2.44<0> [1]ens4:192.0.2.45<0>\nx:1:2 [0] NCCL INFO Using network Socket\nx:1:2 [0] misc/socket.cc:500 NCCL WARN socketStartConnect: Connect to 192.0.2.46<40000> failed : Connection refused\nx:1:2 [0] enqueue.cc:10 NCCL WARN Cuda failure 'out of memory'\nx:1:2 [0] misc/ibvwrap.cc:100 NCCL WARN Call to ibv_create_qp failed with error Cannot allocate memory errno 12\n",
			[]string{"x/1 nccl.no_device=true", "x/1 nccl.network=Socket", "x/1 nccl.network_devices=ens3,ens4", "x/1 nccl.error.kind=socket", "x/1 nccl.error.kind=cuda", "x/1 nccl.error.call=ibv_create_qp", "x/1 nccl.error.errno=12"}, 0},
		{"UCX", "[1700000000.123456] [gpu3:4120 :0] ib_mlx5_log.c:179  UCX  ERROR Transport retry count exceeded on mlx5_5:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)\n[1700000000.223456] [gpu3:4120 :1] ucp_context.c:1 UCX  INFO  something\n",
			[]string{"gpu3/4120 nccl.error.status=12", "gpu3/4120 nccl.error.vendor=129", "gpu3/4120 nccl.error.device=mlx5_5"}, 0},
	}
}
