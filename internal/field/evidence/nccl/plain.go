package nccl

import (
	"strings"

	"weir/internal/field/evidence/tool"
)

// Lines of INFO level that are known and give no fact, by how they start. Each
// group is one subsystem of NCCL_DEBUG_SUBSYS, in the order of its bits, from
// the messages of releases 2.8 to 2.27; the last is RCCL's.
var plainStarts = [...]string{
	// INIT
	"Setting affinity for GPU", "Launch mode ", "Init timings", "Threads per block", "threadThresholds ", "Using internal ", "Using non-device ", "NCCL_CONFIG", "Comm config ",
	"MNNVL ", "NVLS ", "nvls ", "CC Off", "CC On", "P2P is disabled", "Check P2P Type", "CUDA Dev", "ncclCommInit", "ncclCommSplit",
	"ncclCommFinalize", "ncclCommDestroy", "ncclCommAbort", "Abort COMPLETE", "Destroy COMPLETE", "Bootstrap timings", "RAS ", "Ras ", "[Service thread]",
	"Symmetric ", "symmetric ", "Assigned RMA ", "Assigned GIN ", "Initialized GIN ", "Initialized RMA ", "GIN/", "Failed to open lib",
	"Could not enable P2P between dev", "Using network plugin", "Successfully loaded external ", "NCCL git version", "DL: ", "NVML ", "Using CUDA", "cuMem ",
	// COLL and P2P
	"AllReduce: ", "AllGather: ", "ReduceScatter: ", "Reduce: ", "Broadcast: ", "AlltoAll: ", "AllToAll: ", "Send: ", "Recv: ", "Gather: ", "Scatter: ",
	// SHM, NET, GRAPH
	"SHM ", "MMAP ", "CollNet ", "COLLNET/", "Attribute ", "=== System", "=====", "CPU/", "GPU/", "NET/IB/", "NIC/", "Pattern ", "Search ", "Topology detection",
	"KV Convert to ", "Retain ", "GDRCopy", "GDRCOPY",
	// TUNING, ENV, ALLOC, PROXY, PROFILE
	"TUNER/", "Latency/AlgBw", "Max NThreads", "Avg bandwidth", "Tree/", "Ring/", "Algorithm ", "ENV/Plugin", "Cuda Alloc", "Cuda Host Alloc", "Mem Alloc", "Mem Realloc",
	"CUMEM ", "UDS: ", "Call to connect returned ", "socketPollConnect: ", "socketStartConnect: ", "Proxy: ", "Proxy ", "[Proxy Service", "[Proxy Progress", "PROFILER/", "Shutdown ",
	// RCCL
	"ROCr ", "initialized internal alternative rsmi", "Kernel version", "Dmabuf", "DMABUF", "RCCL ", "MSCCL", "Mscclpp",
}

// plainForms are those that have no fixed start.
var plainForms = [...]*tool.Pattern{
	tool.MustCompile(`^\d+ : (?:NET|GPU|NVS|PCI|CPU)/`),                    // a path of the graph search
	tool.MustCompile(`^\s*\+ (?:PCI|NVL|SYS|NET|C2C|GPU|NIC|NVS|PIX)\b`),   // the tree of the machine
	tool.MustCompile(`^\d+ Bytes -> Algo `),                                // the tuner's choice
	tool.MustCompile(`\bcomm:? 0x[0-9a-f]+\b.*\b(?:START|COMPLETE|Abort)`), // life of a communicator
	tool.MustCompile(`^\S+\.(?:cc|c|h|cu):\d+ (?:Cuda|Mem|NCCL|Ibv|call|ret)`),
}

// plain reports whether a line is a known one that gives no fact.
func plain(t string) bool {
	t = strings.TrimLeft(t, " ")
	if t == "" {
		return true
	}
	for _, s := range plainStarts {
		if strings.HasPrefix(t, s) {
			return true
		}
	}
	for _, p := range plainForms {
		if p.MatchString(t) {
			return true
		}
	}
	return false
}
