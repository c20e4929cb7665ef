package cluster

import (
	"fmt"

	"weir/units"
)

// Control is the congestion control of TCP.
type Control uint8

// The controls: RFC 9438, RFC 8257 and RFC 5681.
const (
	CUBIC Control = iota
	DCTCP
	Reno
)

// String returns the name used in files.
func (c Control) String() string { return [...]string{"cubic", "dctcp", "reno"}[min(c, Reno)] }

// TCPModel holds the parameters of the kernel's TCP and of the library's sockets.
type TCPModel struct {
	Control          Control
	MTU              units.Bytes // of IP
	Priority         uint8       // of its class, lossy as a rule
	Threads, Sockets int         // of a connection between two ranks; sockets for each thread
	MinTask          units.Bytes // a message is not split over sockets into less
	SendBuffer       units.Bytes
	ReceiveBuffer    units.Bytes
	InitialWindow    int         // segments
	WarmWindow       units.Bytes // of a collective's connections
	MinRTO           units.Time
	ECNThreshold     units.Bytes // DCTCP: the queue from which its class marks
	Batch            units.Bytes // most bytes that one pass through the stack takes (TSO, GRO)

	// Work of the host's cores, in cycles.
	SendByte, ReceiveByte float64 // copies between user and kernel, each byte
	SendCall, ReceiveCall float64 // each call of the application, a batch at most
	Segment               float64 // each segment received: driver, GRO, its way through IP and TCP
	Ack                   float64 // each acknowledgement received
	Interrupt             float64 // each interrupt
	InterruptDelay        units.Time
	WakeDelay             units.Time // until a thread runs that slept until data came
	SameCore              bool       // interrupts on the core of the thread that reads (aRFS); else on others (RSS)
}

// InfiniBandModel holds the parameters of a fabric of InfiniBand switches.
type InfiniBandModel struct {
	SwitchLatency units.Time
	LaneBuffer    units.Bytes // receive buffer of a port and virtual lane
	CreditDelay   units.Time  // from room in the buffer to credits on the cable, and from the cable to their use
	Adaptive      bool        // packets take the least loaded of equal ports
	Congestion    bool        // switches mark and cards slow down

	Reduction        bool        // switches reduce all_reduce
	ReductionLatency units.Time  // of each switch on the way up
	ReductionShare   float64     // of the line's payload rate that reductions reach
	ReductionLimit   units.Bytes // longest message of one reduction
}

// HostCopyModel holds what a transfer pays whose NIC does not reach the GPU's
// memory: GPUDirect off, and TCP.
type HostCopyModel struct {
	Rate    units.BitRate // of a card's copies, each way; 0: half of the card's PCIe
	Latency units.Time    // of a copy, each way
}

// A parameter is a key of a transport's table with the source of its value.
type parameter struct {
	key
	source string
	fitted bool
}

// The tables of the transports: the only place where their values stand. The
// parser reads the keys, docs/transports.md shows them.
var (
	tcpTable = []parameter{
		{key{name: "congestion", kind: choice, choices: []string{"cubic", "dctcp", "reno"}, def: "cubic", doc: "Congestion control: RFC 9438, RFC 8257 or RFC 5681."}, "default of Linux", false},
		{key{name: "mtu", kind: count, min: 576, max: 16384, def: "1500", doc: "MTU of IP; a segment's payload is 52 bytes less."}, "default of Ethernet; jumbo frames are set as 9000", false},
		{key{name: "priority", kind: count, min: 0, max: 7, def: "0", doc: "Priority of TCP's packets. It needs no class of its own."}, "best effort", false},
		{key{name: "threads", kind: count, min: 1, max: 16, def: "1", doc: "Threads of a connection (NCCL_SOCKET_NTHREADS); 1: the proxy's own."}, "NCCL user guide", false},
		{key{name: "sockets", kind: count, min: 1, max: 16, def: "1", doc: "Sockets of each thread (NCCL_NSOCKS_PERTHREAD)."}, "NCCL user guide", false},
		{key{name: "min_task", kind: size, min: 1024, max: 1 << 30, def: "64KiB", doc: "A message is not split over sockets into less."}, "NVIDIA/nccl net_socket.cc (MIN_CHUNKSIZE)", false},
		{key{name: "send_buffer", kind: size, min: 1 << 14, max: 1 << 30, def: "4MiB", doc: "Socket buffer, sending."}, "Linux: third value of net.ipv4.tcp_wmem", false},
		{key{name: "receive_buffer", kind: size, min: 1 << 14, max: 1 << 30, def: "6MiB", doc: "Socket buffer, receiving: the largest window."}, "Linux: third value of net.ipv4.tcp_rmem", false},
		{key{name: "initial_window", kind: count, min: 1, max: 1000, def: "10", doc: "First congestion window, in segments."}, "RFC 6928", false},
		{key{name: "warm_window", kind: size, min: 1 << 10, max: 1 << 30, def: "1MiB", doc: "First congestion window of a collective's connections, over which the library has run its warm-up."}, "our choice: above the bandwidth-delay product of 100 Gb/s and 80 us", false},
		{key{name: "min_rto", kind: duration, min: 1e6, max: 1e14, def: "200ms", doc: "Shortest retransmission time-out."}, "Linux: TCP_RTO_MIN", false},
		{key{name: "ecn_threshold", kind: size, max: 1 << 40, from: "100KB for each 25Gbps of the slowest NIC", doc: "DCTCP: queue length from which every packet of its class is marked."}, "our choice: as the RoCE class; RFC 8257 asks for more than a seventh of rate times round trip", false},
		{key{name: "batch", kind: size, min: 1 << 10, max: 1 << 20, def: "64KiB", doc: "Most bytes that one pass through the stack takes (TSO, GRO)."}, "Linux: GSO_MAX_SIZE", false},
		{key{name: "send_byte", kind: number, min: 0, max: 1000, def: "0.35", doc: "Cycles to send a byte: the copy from user to kernel, and its share of the stack."}, "with receive_byte and segment: the 26 points of CPU share that a published TCP deployment has above RDMA (7.5 GB/s each way on 16 cores of 2.7 GHz); the model takes 30 there", true},
		{key{name: "receive_byte", kind: number, min: 0, max: 1000, def: "0.48", doc: "Cycles to receive a byte: the copy from kernel to user."}, "with segment: 42 Gb/s on one core of 3.4 GHz with jumbo frames (Cai et al., SIGCOMM 2021), recalled", true},
		{key{name: "send_call", kind: number, min: 0, max: 1e7, def: "3500", doc: "Cycles of a call that sends."}, "as receive_call", true},
		{key{name: "receive_call", kind: number, min: 0, max: 1e7, def: "2500", doc: "Cycles of a call that receives."}, "latency of 2 KB (below)", true},
		{key{name: "segment", kind: number, min: 0, max: 1e6, def: "1040", doc: "Cycles for each segment received: driver, GRO, IP and TCP."}, "with receive_byte: 1.2 cycles a byte at an MTU of 1500, so that 40 Gb/s take a sixth of 16 cores at 2.2 GHz (Zhu et al., SIGCOMM 2015, figure 1, says more than a fifth)", true},
		{key{name: "ack", kind: number, min: 0, max: 1e6, def: "1000", doc: "Cycles for each acknowledgement received."}, "as segment", true},
		{key{name: "interrupt", kind: number, min: 0, max: 1e6, def: "3000", doc: "Cycles of an interrupt, until polling begins."}, "latency of 2 KB", true},
		{key{name: "interrupt_delay", kind: duration, min: 0, max: 1e10, def: "5.7us", doc: "From a packet's arrival at an idle queue to its interrupt (coalescing)."}, "latency of 2 KB: 25.4 us on 2.2 GHz cores (Zhu et al., SIGCOMM 2015, figure 1) with 25 % tolerance, and the all-reduce of 25 MiB over 256 nodes in 8.7 ms (examples/bert-large-256.yaml)", true},
		{key{name: "wake_delay", kind: duration, min: 0, max: 1e10, def: "9us", doc: "Until a thread runs that slept until data came. NCCL's proxies poll instead."}, "latency of 2 KB", true},
		{key{name: "steering", kind: choice, choices: []string{"rss", "arfs"}, def: "rss", doc: "Where interrupts are served: rss on cores of their own, arfs on the core of the thread that reads."}, "default of Linux", false},
	}
	infinibandTable = []parameter{
		{key{name: "switch_latency", kind: duration, min: 0, max: 1e9, def: "130ns", doc: "Through a switch, port to port, in place of switch.latency."}, "NVIDIA Quantum (QM8700) data sheet, recalled", false},
		{key{name: "lane_buffer", kind: size, min: 8192, max: 1 << 30, def: "128KB", doc: "Receive buffer of each port and virtual lane, which is also the most that is sent without new credits."}, "our choice: 128 KB carry 400 Gb/s over a credit round trip of 2.56 us", false},
		{key{name: "credit_delay", kind: duration, min: 0, max: 1e9, def: "100ns", doc: "From room in a buffer to the use of its credits, the cable aside."}, "our estimate", false},
		{key{name: "adaptive_routing", kind: toggle, def: "true", doc: "Packets take the least loaded of equal ports, and cards put them in order. false: routing.mode holds."}, "usual setting of subnet managers since HDR", false},
		{key{name: "congestion_control", kind: toggle, def: "false", doc: "Switches mark by qos.ecn and cards slow down by dcqcn's rules."}, "usual setting", false},
		{key{name: "in_network_reduction", kind: toggle, def: "false", doc: "Switches reduce all_reduce between nodes (SHARP), unless an algorithm is named. Other operations run as without it."}, "option of subnet managers and the library", false},
		{key{name: "reduction_latency", kind: duration, min: 0, max: 1e9, def: "100ns", doc: "What a switch on the way up takes beyond switch_latency to reduce."}, "our assumption", false},
		{key{name: "reduction_share", kind: share, def: "95%", doc: "Share of the line's payload rate that reductions of long messages reach."}, "Graham et al., ISC 2020, abstract: about 95 % of network bandwidth on HDR", false},
		{key{name: "reduction_limit", kind: size, min: 4096, max: 1 << 40, def: "1073741792", doc: "Longest message of a reduction. What a card has beyond it goes in pieces, each of which takes the way through the tree."}, "NVIDIA SHARP 2.6.1 manual, streaming aggregation", false},
	}
	hostCopyTable = []parameter{
		{key{name: "rate", kind: rate, min: 1e9, max: 1e13, auto: "shared", def: "shared", doc: "Rate of a card's copies between GPU and host memory, each way. shared: GPU and card share the card's PCIe slot, so each has half of it."}, "each byte crosses PCIe and host memory twice: min(line, host path / 2)", false},
		{key{name: "latency", kind: duration, min: 0, max: 1e10, def: "1us", doc: "Of a copy, each way."}, "our estimate: a write over PCIe and a flag", false},
	}
)

func keysOf(table []parameter) []key {
	var keys []key
	for i := range table {
		keys = append(keys, table[i].key)
	}
	return keys
}

var transportKeys = []key{
	{name: "tcp", kind: mapping, doc: "The kernel's TCP.", keys: keysOf(tcpTable)},
	{name: "infiniband", kind: mapping, doc: "InfiniBand switches and links.", keys: keysOf(infinibandTable)},
	{name: "host_copy", kind: mapping, doc: "Copies between GPU and host memory: with rdma.gpudirect off, and with TCP.", keys: keysOf(hostCopyTable)},
}

// transports reads the tables. It runs after the hosts.
func (b *builder) transports() error {
	n := b.root.at("transports").at("tcp")
	slowest := b.classes[0].speed
	for i := range b.classes {
		slowest = min(slowest, b.classes[i].speed)
	}
	b.c.TCP = TCPModel{
		Control: Control(choiceIndex(n.at("congestion"))), MTU: n.bytes("mtu"), Priority: uint8(n.int("priority")),
		Threads: int(n.int("threads")), Sockets: int(n.int("sockets")), MinTask: n.bytes("min_task"),
		SendBuffer: n.bytes("send_buffer"), ReceiveBuffer: n.bytes("receive_buffer"), InitialWindow: int(n.int("initial_window")),
		MinRTO: n.time("min_rto"), WarmWindow: n.bytes("warm_window"),
		ECNThreshold: units.Bytes(n.intOr("ecn_threshold", int64(ecnMinPer25)*int64(slowest/units.Mbps)/25000, fmt.Sprintf("computed: %v for each 25Gbps of the slowest NIC", ecnMinPer25))),
		Batch:        n.bytes("batch"),
		SendByte:     n.float("send_byte"), ReceiveByte: n.float("receive_byte"),
		SendCall: n.float("send_call"), ReceiveCall: n.float("receive_call"),
		Segment: n.float("segment"), Ack: n.float("ack"), Interrupt: n.float("interrupt"), WakeDelay: n.time("wake_delay"),
		InterruptDelay: n.time("interrupt_delay"), SameCore: n.string("steering") == "arfs",
	}
	n = b.root.at("transports").at("infiniband")
	b.c.InfiniBand = InfiniBandModel{
		SwitchLatency: n.time("switch_latency"), LaneBuffer: n.bytes("lane_buffer"), CreditDelay: n.time("credit_delay"),
		Adaptive: n.bool("adaptive_routing"), Congestion: n.bool("congestion_control"),
		Reduction: n.bool("in_network_reduction"), ReductionLatency: n.time("reduction_latency"),
		ReductionShare: n.float("reduction_share"), ReductionLimit: n.bytes("reduction_limit"),
	}
	n = b.root.at("transports").at("host_copy")
	b.c.HostCopy = HostCopyModel{Rate: n.bits("rate"), Latency: n.time("latency")}
	return nil
}

// SwitchLatency returns how long a switch takes, port to port: its model's
// latency, or that of InfiniBand switches in its place. It is 0 for hosts.
func (c *Cluster) SwitchLatency(id NodeID) units.Time {
	n := &c.Nodes[id]
	switch {
	case n.Kind != SwitchNode:
		return 0
	case c.Transport == InfiniBand:
		return c.InfiniBand.SwitchLatency
	case n.Model == nil:
		return 0
	}
	return n.Model.Latency
}

// Staged tells whether data between GPU and NIC pass through host memory.
func (c *Cluster) Staged() bool { return !c.RDMA.GPUDirect || c.Transport == TCP }

// DataPriority is the priority of the jobs' data: of the RoCE class, or TCP's.
func (c *Cluster) DataPriority() uint8 {
	if c.Transport == TCP {
		return c.TCP.Priority
	}
	return c.QoS.RoCE().Priority
}
