// Package cluster reads cluster.yaml, the one description of a training
// cluster, into an immutable model with dense numbers for nodes, ports and
// links, and holds the hardware catalogue that supplies what the file leaves
// out.
package cluster

import (
	"weir/dcqcn"
	"weir/internal/collective"
	"weir/internal/qos"
	"weir/internal/training"
	"weir/units"
)

// NodeID, PortID and LinkID index Cluster.Nodes, Ports and Links.
type (
	NodeID uint32
	PortID uint32
	LinkID uint32
)

// None marks an absent port or link.
const None = ^uint32(0)

// NodeKind tells hosts from switches.
type NodeKind uint8

// The kinds of node.
const (
	HostNode NodeKind = iota
	SwitchNode
)

// Node is a host or a switch. Tier is 0 for hosts, 1 for leaves, 2 for spines
// (aggregation), 3 for cores.
type Node struct {
	Name     string
	Kind     NodeKind
	Tier     uint8
	Plane    uint8
	Ports    []PortID     // in order of port number
	Host     int32        // index into Hosts, or -1
	Model    *SwitchModel // of a switch, with what the file overrides
	OS       string       // of a switch: "sonic" ...
	MLAGPeer NodeID       // None: not a member of an MLAG pair
}

// Port is one end of a link.
type Port struct {
	Node  NodeID
	Index uint16 // number within the node, from 0
	Name  string // "port-5" on switches, "nic-3" (or "nic-3.1" of a dual-port NIC) on hosts
	Link  LinkID // None: not cabled
	Peer  PortID // the other end
	LAG   int32  // group within the node, or -1; a hash over the members picks one
	NIC   int32  // index into Hosts[h].NICs, or -1
	Rate  units.BitRate
}

// Link is a cable.
type Link struct {
	A, B   PortID
	Rate   units.BitRate
	Length units.Metres
	Delay  units.Time // one way, from Length unless given
	Loss   float64    // random loss of packets, each way, for imported topologies; 0 in healthy clusters
}

// Host is one server.
type Host struct {
	Node   NodeID
	Class  string
	GPUs   int
	GPU    *GPUModel
	NICs   []NIC
	NVLink units.BitRate // per GPU and direction, usable; 0: no NVLink, peers go over PCIe
	CPU    CPU
}

// NIC is one network card with its one or two ports.
type NIC struct {
	Name    string // "nic-3"
	Device  string // "mlx5_3"
	Rail    int32
	GPU     int32 // nearest GPU, or -1
	Ports   []PortID
	Bond    bool // its ports form one LAG towards the host
	Model   *NICModel
	PCIe    units.BitRate // usable, per direction
	Address string        // IPv4, from the file or generated
	VLAN    uint16        // 0: untagged
}

// CPU is what kernel transports run on.
type CPU struct {
	Cores int
	Hertz float64
}

// Transport is the way that jobs use the network.
type Transport uint8

// The transports.
const (
	RoCEv2 Transport = iota
	RoCEv1
	TCP
	InfiniBand
)

// String returns the name used in files: "rocev2" ...
func (t Transport) String() string {
	return [...]string{"rocev2", "rocev1", "tcp", "infiniband"}[min(t, InfiniBand)]
}

// RoutingMode says how a switch picks among equal next hops.
type RoutingMode uint8

// The modes: a hash of the packet's fields, the least loaded port for each
// packet, the same for each flowlet, or round-robin spraying of packets.
const (
	ECMP RoutingMode = iota
	Adaptive
	Flowlet
	Spray
)

// String returns the name used in files.
func (m RoutingMode) String() string {
	return [...]string{"ecmp", "adaptive", "flowlet", "spray"}[min(m, Spray)]
}

// HashField is one input of the ECMP hash.
type HashField uint8

// The fields, as bits of Routing.HashFields.
const (
	HashSrcIP HashField = 1 << iota
	HashDstIP
	HashSrcPort
	HashDstPort
	HashProtocol
	HashDstQP
)

// Routing is how packets find their way.
type Routing struct {
	Mode       RoutingMode
	HashFields HashField
	HashSeed   uint64 // 0: each switch has its own, from the cluster's seed; else the same on all
	FlowletGap units.Time
}

// RDMA holds the settings of connections.
type RDMA struct {
	QPsPerConnection int
	SplitData        bool // a message is split over the queue pairs instead of taking turns
	AckEvery         uint32
	Window           units.Bytes // 0: none
	Recovery         string      // "go-back-n", "selective-repeat", "go-back-0"
	OutOfOrder       bool
	Timeout          uint8 // exponent: 4.096 us x 2^Timeout; NCCL_IB_TIMEOUT
	RetryCount       uint8
	RNRRetry         uint8
	NakInterval      units.Time
	SourcePorts      string // "per-qp" or "fixed"
	CNPOnAck         bool   // the ns-3 simulators' way
	GPUDirect        bool
}

// NCCL holds the library's settings that the schedule depends on.
type NCCL struct {
	Channels    int // 0: chosen by the model
	Algorithm   collective.Algorithm
	Protocol    string      // "auto", "Simple", "LL", "LL128"
	BuffSize    units.Bytes // 0: default
	PXN         bool
	ClearToSend bool // a control write per message, as the network plugin does
	NoOverhead  bool // steps between nodes take what transport and fabric take
}

// JobKind tells collectives from plain flow patterns and training jobs.
type JobKind uint8

// The kinds of job.
const (
	CollectiveJob JobKind = iota
	FlowJob
	TrainingJob
)

// Job is one piece of work. Hosts lists the hosts in rank order.
type Job struct {
	Name      string
	Kind      JobKind
	Start     units.Time
	Transport Transport // the cluster's, or TCP beside it

	// Collective.
	Op          collective.Op
	Algorithm   collective.Algorithm
	Begin, End  units.Bytes // sizes as nccl-tests' -b and -e
	Factor      int         // -f
	Iterations  int
	Hosts       []int32 // rank order by node
	GPUsPerHost int
	GPUs        []int32 // the GPUs of each host that take part, in order; nil: the first GPUsPerHost

	// Training job: Hosts, GPUsPerHost and Algorithm above, and what it trains.
	Training *training.Job

	// Flows.
	Pattern  string // "incast", "permutation", "all-pairs", "list"
	Flows    []Flow
	Priority uint8
}

// Flow is one transfer between two NICs.
type Flow struct {
	Src, Dst NICRef
	Bytes    units.Bytes
	Start    units.Time
}

// NICRef names a NIC of a host by indexes.
type NICRef struct {
	Host int32
	NIC  int32
}

// Fault is one injected fault (syntax: design of the command line).
type Fault struct {
	ID         string
	Place      string
	Start, End units.Time // End 0: to the end
	Severity   float64    // 0 to 1; negative: the fault's default
}

// Cluster is the whole description. It is not changed after Load.
type Cluster struct {
	Name     string
	Seed     uint64
	Nodes    []Node
	Ports    []Port
	Links    []Link
	Hosts    []Host
	Topology string // "single-switch", "leaf-spine", "rail-optimised", "fat-tree", "explicit"
	Planes   int

	QoS        qos.Intent
	DCQCN      dcqcn.Params // LineRate is left zero: each NIC port has its own
	Transport  Transport
	TCP        TCPModel
	InfiniBand InfiniBandModel
	HostCopy   HostCopyModel
	Routing    Routing
	RDMA       RDMA
	NCCL       NCCL
	Jobs       []Job
	Faults     []Fault
	Prices     Prices
}

// Prices are in any one currency; 0 where none was given.
type Prices struct {
	Currency                                string
	Switch, Port, NIC, Optic, CablePerMetre float64
}
