package evidence

import "testing"

func TestHostTools(t *testing.T) { checkTools(t, hostTools()) }

func hostTools() []toolCase {
	return []toolCase{
		{"lspci -vvv", `0000:65:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]
	Subsystem: Mellanox Technologies Device 0042
	Control: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr+ Stepping- SERR+ FastB2B- DisINTx+
	NUMA node: 1
	IOMMU group: 47
	Capabilities: [60] Express (v2) Endpoint, MSI 00
		DevCap:	MaxPayload 512 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
		DevCtl:	CorrErr+ NonFatalErr+ FatalErr+ UnsupReq+
			RlxdOrd+ ExtTag+ PhantFunc- AuxPwr- NoSnoop+ FLReset-
			MaxPayload 256 bytes, MaxReadReq 4096 bytes
		DevSta:	CorrErr+ NonFatalErr- FatalErr- UnsupReq+ AuxPwr- TransPend-
		LnkCap:	Port #0, Speed 32GT/s, Width x16, ASPM not supported
			ClockPM- Surprise- LLActRep- BwNot- ASPMOptComp+
		LnkSta:	Speed 16GT/s (downgraded), Width x8 (downgraded)
			TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
	Capabilities: [230 v1] Access Control Services
		ACSCap:	SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
		ACSCtl:	SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
	Capabilities: [480 v1] Address Translation Service (ATS)
		ATSCap:	Invalidate Queue Depth: 00
		ATSCtl:	Enable+, Smallest Translation Unit: 00
	Kernel driver in use: mlx5_core

01:02.0 PCI bridge: Broadcom / LSI Device c030
	LnkSta:	Speed 32GT/s, Width x16
		ACSCtl:	SrcValid+ TransBlk- ReqRedir+ CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-
`, []string{"0000:65:00.0 pcie.max_speed=32", "0000:65:00.0 pcie.max_width=16", "0000:65:00.0 pcie.speed=16", "0000:65:00.0 pcie.width=8", "0000:65:00.0 pcie.relaxed_ordering=true",
			"0000:65:00.0 pcie.max_payload=256", "0000:65:00.0 pcie.max_read_request=4096", "0000:65:00.0 pcie.numa_node=1", "0000:65:00.0 pcie.iommu_group=47", "0000:65:00.0 pcie.acs.redirect=false",
			"0000:65:00.0 pcie.ats=true", "0000:65:00.0 pcie.error=CorrErr", "0000:01:02.0 pcie.acs.redirect=true", "0000:01:02.0 pcie.width=16"}, 0},
		{"lsmod with peer memory", "Module                  Size  Used by\nnv_peer_mem            16384  0\nmlx5_core            2000000  2 mlx5_ib,mlxdevm\nxfs                  2000000  1\n", []string{" host.peermem=true", " host.module.nv_peer_mem=true"}, 0},
		{"lsmod by grep says nothing of what is missing", "mlx5_ib               466944  0\nib_uverbs             172032  2 rdma_ucm,mlx5_ib\n", []string{" host.module.mlx5_ib=true"}, 0},
		{"dmesg -T, syslog and modprobe", `[Tue Mar  4 10:11:12 2025] mlx5_core 0000:3b:00.1 ens3f1np1: Link down
[Tue Mar  4 10:11:15 2025] mlx5_core 0000:3b:00.1 ens3f1np1: Link up
Mar  4 10:12:00 gpu-19 kernel: [  123.456789] bnxt_en 0000:81:00.0 eth4: NIC Link is Down
Mar  4 10:12:01 gpu-19 kernel: NVRM: Xid (PCI:0000:1a:00): 79, pid=1234, GPU has fallen off the bus.
[ 5.000001] pcieport 0000:00:01.0: AER: Corrected error received: 0000:01:00.0
[ 6.000001] mlx5_core 0000:17:00.0: assert_var[0] 0x00000000
[ 7.000001] bnxt_en 0000:5e:00.0: 31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link at 0000:5d:00.0 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)
[ 8.000001] systemd[1]: Started something.
[ 9.000001] nvidia_peermem: disagrees about version of symbol ib_register_peer_memory_client
modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument
`, []string{"ens3f1np1 kernel.event=link_down", "ens3f1np1 kernel.event=link_up", "gpu-19/eth4 kernel.event=link_down", "gpu-19 kernel.event=xid", "0000:00:01.0 kernel.event=pcie_error", "0000:17:00.0 kernel.event=firmware_error",
			"0000:5e:00.0 pcie.bandwidth=31504000000", "0000:5e:00.0 pcie.max_width=16", "0000:5e:00.0 pcie.width=4", " host.module_error=nvidia_peermem: Invalid argument"}, 0},
		{"limits in all forms", "max locked memory           (kbytes, -l) unlimited\nMax locked memory         65536                65536                bytes     \n* soft memlock 1024\n", []string{" host.memlock_unlimited=true", " host.memlock=65536", " host.memlock=1048576"}, 0},
		{"locked memory by command", "node$ ulimit -l\nunlimited\n", []string{"node host.memlock_unlimited=true"}, 0},
		{"devlink text and json", `pci/0000:05:00.1:
  reporter fw
    state error error 3 recover 2 last_dump_date 2025-03-01 last_dump_time 10:00:00 grace_period 0 auto_recover true
  name flow_steering_mode type driver-specific
    values:
      cmode runtime value smfs
{"health":{"pci/0000:06:00.0":[{"reporter":"fw_fatal","state":"healthy","error":0,"recover":1}]}}
`, []string{"0000:05:00.1 devlink.reporter.fw.state=error", "0000:05:00.1 devlink.reporter.fw.errors=3", "0000:05:00.1 devlink.reporter.fw.recoveries=2", "0000:05:00.1 devlink.param.flow_steering_mode=smfs",
			"0000:06:00.0 devlink.reporter.fw_fatal.state=healthy", "0000:06:00.0 devlink.reporter.fw_fatal.recoveries=1"}, 0},
		{"sysctl without blanks", "net.ipv4.conf.ens2.rp_filter=1\nnet.ipv6.conf.all.disable_ipv6 = 0\nkernel.numa_balancing = 1\n", []string{" sysctl.net.ipv4.conf.ens2.rp_filter=1", " sysctl.kernel.numa_balancing=1"}, 0},
		{"environment", "export NCCL_IB_HCA=\"^mlx5_9\"\nNCCL_IB_TC=128\ndeclare -x UCX_TLS=\"rc,cuda\"\nHF_TOKEN=secret\nNCCL_SOCKET_IFNAME=^lo,docker\n",
			[]string{" nccl.hca.exclude=true", " nccl.hca.devices=mlx5_9", " nccl.tc.dscp=32", " env.UCX_TLS=rc,cuda", " nccl.env.NCCL_SOCKET_IFNAME=^lo,docker"}, 0},
		{"command lines", "user@login:~/run$ srun -N 2 --export=ALL,NCCL_ALGO=Ring,NCCL_DEBUG=INFO ./build/all_gather_perf -b 8\nsudo mpiexec -genv NCCL_IB_TIMEOUT 23 -n 4 alltoall_perf\nNCCL_DEBUG=INFO NCCL_IB_GID_INDEX=5 python train.py\n",
			[]string{"login nccl.env.NCCL_ALGO=Ring", "login command.program=all_gather_perf", "login nccl.env.NCCL_IB_TIMEOUT=23", "login command.program=alltoall_perf", "login nccl.env.NCCL_IB_GID_INDEX=5"}, 0},
	}
}

func TestTopologyTools(t *testing.T) { checkTools(t, topologyTools()) }

func topologyTools() []toolCase {
	return []toolCase{
		{"nvidia-smi of old drivers", "\tGPU0\tGPU1\tmlx5_0\tmlx5_1\tCPU Affinity\nGPU0\t X \tNV2\tPIX\tSOC\t0-13\nGPU1\tNV2\t X \tSOC\tNODE\t14-27\nmlx5_0\tPIX\tSOC\t X \tSOC\nmlx5_1\tSOC\tNODE\tSOC\t X \n\nLegend:\n\n  X   = Self\n  SOC  = Connection traversing PCIe as well as the SMP link between CPU sockets(e.g. QPI)\n",
			[]string{"0 topo.nearest_nics=mlx5_0", "0 topo.nearest_path=PIX", "1 topo.nearest_nics=mlx5_1", "1 topo.nearest_path=NODE", " topo.nvlink=true", " topo.flat=false", " topo.unassigned_nics=mlx5_1"}, 1},
		{"rocm-smi", `============================ ROCm System Management Interface ============================
================================ Weight between two GPUs =================================
       GPU0         GPU1         
GPU0   0            72           
GPU1   72           0            

================================= Hops between two GPUs ==================================
       GPU0         GPU1         
GPU0   0            3            
GPU1   3            0            

=============================== Link Type between two GPUs ===============================
       GPU0         GPU1         
GPU0   0            PCIE         
GPU1   PCIE         0            

======================================= Numa Nodes =======================================
GPU[0]		: (Topology) Numa Node: 0
GPU[0]		: (Topology) Numa Affinity: 0
GPU[1]		: (Topology) Numa Node: 4
GPU[1]		: (Topology) Numa Affinity: 4
================================== End of ROCm SMI Log ===================================
`, []string{"0 topo.weight.GPU1=72", "1 topo.hops.GPU0=3", "0 topo.path.GPU1=PCIE", "1 topo.numa=4", " topo.nvlink=false", " topo.gpus=2"}, 0},
		{"NCCL topology file", `<system version="1">
  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:17:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="3" sm="90" rank="3" gdr="1">
      </gpu>
      <nic>
        <net name="mlx5_4" dev="2" latency="0.000000" speed="400000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
      </nic>
    </pci>
  </cpu>
</system>
`, []string{"0000:17:00.0 pcie.width=16", "0000:17:00.0 pcie.speed=32", "3 nccl.gpu.gdr=true", "mlx5_4 nccl.gdr.mlx5_4=true", "mlx5_4 link.speed=400000000000"}, 0},
	}
}
