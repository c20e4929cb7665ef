package evidence

import (
	"strings"
	"testing"
)

// Lines that NCCL's subsystems print at INFO and that say nothing of the
// network, as releases 2.8 to 2.27 print them.
var plainInfo = []string{
	"Setting affinity for GPU 3 to ffff0000,ffff0000",
	"Launch mode Parallel/CGMD",
	"threadThresholds 8/8/64 | 128/8/64 | 512 | 512",
	"Using non-device net plugin version 0",
	"Using internal tuner plugin.",
	"NVLS multicast support is not available on dev 1 (NVLS_NCHANNELS 0)",
	"MNNVL busId 0x1b000 fabric UUID 0.0 cliqueId 0x0 state 3 healthMask 0x0",
	"CC Off, workFifoBytes 1048576",
	"Init timings - ncclCommInitRank: rank 0 nranks 16 total 1.61 (kernels 0.18, alloc 0.41, bootstrap 0.04, allgathers 0.02, topo 0.53)",
	"[Proxy Service] Device 0 CPU core 17",
	"[Service thread] Connection closed by localRank 1",
	"AllReduce: opCount 4 sendbuff 0x7f0000000000 recvbuff 0x7f0000000000 count 1048576 datatype 7 op 0 root 0 comm 0x55d0 [nranks=16] stream 0x5580",
	"4194304 Bytes -> Algo 1 proto 2 time 93.2",
	"=== System : maxBw 24.0 totalBw 24.0 ===",
	"CPU/0 (1/1/2)",
	"+ PCI[24.0] - PCI/1A000 (15b3197b15b3197b)",
	"GPU/1B000 :GPU/1B000 (0/5000.0/LOC) NET/0 (3/24.0/PXB)",
	"Pattern 4, crossNic 0, nChannels 4, bw 24.0/24.0, type NVL/PIX, sameChannels 1",
	"0 : NET/0 GPU/0 GPU/1 NET/0",
	"TUNER/Plugin: Could not find: libnccl-tuner.so",
	"PROFILER/Plugin: Could not find: libnccl-profiler.so.",
	"comm 0x55d0c0 rank 3 nranks 16 cudaDev 3 busId 8a000 - Destroy COMPLETE",
	"ncclCommInitRankConfig comm 0x55d0c0 rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 8a000 commId 0x9c4 - Init START",
	"Cuda Alloc Size 4194304 pointer 0x7f22",
}

func TestKnownInfoLinesAreUnderstood(t *testing.T) {
	var b strings.Builder
	for _, l := range plainInfo {
		b.WriteString("node1:77:78 [0] NCCL INFO " + l + "\n")
	}
	if r := read(t, "nccl.log", b.String()); len(r.NotUnderstood) > 0 {
		t.Errorf("not understood: %v", r.NotUnderstood)
	}
}

// A line that no release is known to print must not vanish, wherever its
// start looks like a known one.
func TestUnknownInfoLinesAreKept(t *testing.T) {
	unknown := []string{
		"Fabric manager lost lane 3 of switch 2",
		"NET/IB : frobnicated port 4",
		"NET/Plugin : the moon is full",
		"Channel 00 : sideways 4",
		"Bootstrap : no idea",
		"Ring of fire",
		"GPU Direct RDMA maybe",
		"NET/IB: Dev 0 Port 1 qpn x mtu y",
		"0 via nothing",
	}
	var b strings.Builder
	b.WriteString("node1:77:78 [0] NCCL INFO Using network IB\n")
	for _, l := range unknown {
		b.WriteString("node1:77:78 [0] NCCL INFO " + l + "\n")
	}
	r := read(t, "nccl.log", b.String())
	if len(r.NotUnderstood) != len(unknown) {
		t.Fatalf("%d of %d lines kept: %v", len(r.NotUnderstood), len(unknown), r.NotUnderstood)
	}
	for i, n := range r.NotUnderstood {
		if n.Origin.Line != i+2 || !strings.HasSuffix(n.Text, unknown[i]) {
			t.Errorf("line %d: %q, expected line %d: %q", n.Origin.Line, n.Text, i+2, unknown[i])
		}
	}
}
