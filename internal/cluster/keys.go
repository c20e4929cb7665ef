package cluster

import "slices"

// root is the table of keys: everything that a cluster file may hold. It is
// never changed.
var root = key{name: "cluster", kind: mapping, keys: []key{
	{name: "name", kind: name, def: "cluster", doc: "Name of the cluster, for reports."},
	{name: "seed", kind: count, min: 0, max: 1 << 53, def: "1", doc: "Seed of everything that chance decides: hashes of switches, random placement, injected loss."},
	{
		name: "hosts", single: "host", kind: list, doc: "Classes of servers. With one class write host: and its keys; several form a list under hosts:. Hosts are numbered through the classes.",
		keys: []key{{name: "host", kind: mapping, doc: "One class of servers.", keys: hostKeys}},
	},
	{name: "fabric", kind: mapping, doc: "Switches and cables.", keys: fabricKeys},
	{name: "switch", kind: mapping, doc: "What the switches are.", keys: append([]key{
		{name: "leaf", when: "switches of that tier", kind: mapping, doc: "Differing settings of the leaves.", keys: switchKeys},
		{name: "spine", when: "switches of that tier", kind: mapping, doc: "Differing settings of the spines (of a fat tree: the aggregation switches).", keys: switchKeys},
		{name: "core", when: "switches of that tier", kind: mapping, doc: "Differing settings of the cores.", keys: switchKeys},
		{name: "alpha", kind: number, min: 1.0 / 1024, max: 1024, from: "catalogue", doc: "Dynamic threshold of lossless ingress queues: XOFF at alpha times the free shared buffer."},
		{name: "headroom", kind: size, auto: "auto", max: 1 << 30, def: "auto", doc: "Headroom of each port and lossless priority. auto computes it from rate, cable length and MTU of each port."},
		{name: "xon_offset", kind: size, max: 1 << 30, from: "two MTU", doc: "How far below XOFF a paused queue must fall before it resumes."},
	}, switchKeys...)},
	{name: "qos", kind: mapping, doc: "Queues, priorities, PFC and ECN, as intended on every switch and NIC.", keys: qosKeys},
	{name: "transport", kind: choice, choices: []string{"rocev2", "rocev1", "tcp", "infiniband"}, def: "rocev2", doc: "How jobs use the network."},
	{name: "transports", kind: mapping, doc: "What each transport costs: docs/transports.md has the source of every value.", keys: transportKeys},
	{name: "routing", kind: mapping, doc: "How switches pick among equal next hops.", keys: routingKeys},
	{name: "rdma", kind: mapping, doc: "Connections of the NICs.", keys: rdmaKeys},
	{name: "dcqcn", kind: mapping, doc: "Congestion control, under the names of the NIC's own parameters.", keys: dcqcnKeys},
	{name: "nccl", kind: mapping, doc: "Settings of the collective library that shape the traffic.", keys: ncclKeys},
	{
		name: "jobs", single: "job", kind: list, doc: "What runs. With one job write job: and its keys.",
		keys: []key{{name: "job", kind: mapping, doc: "One job: a collective, a pattern of flows, or a training job.", keys: jobKeys}},
	},
	{
		name: "faults", kind: list, doc: "Faults that the simulator injects, each a cause by its id.",
		keys: []key{{name: "fault", kind: mapping, doc: "One fault.", keys: faultKeys}},
	},
	{name: "prices", kind: mapping, doc: "Prices in any one currency, for ranking designs.", keys: priceKeys},
}}

var hostKeys = []key{
	{name: "class", kind: name, from: "host, or class-N in a list", doc: "Name of the class."},
	{name: "count", kind: count, min: 1, max: maxNodes, def: "1", doc: "How many hosts of this class there are."},
	{name: "names", kind: list, doc: "Names of the hosts, one each. Without it they are host-0, host-1 and so on.", keys: []key{{name: "name", kind: name}}},
	{name: "gpus", kind: count, min: 0, max: 64, def: "8", doc: "GPUs in each host."},
	{name: "gpu", when: "gpus of at least 1", kind: choice, choices: gpuNames(), def: "h100", doc: "GPU model of the catalogue."},
	{name: "nvlink", when: "gpus of at least 1", kind: rate, min: 0, max: 1e14, from: "catalogue: nominal rate times the share that a ring reaches", doc: "Usable NVLink rate of each GPU and direction. 0: GPUs talk over PCIe."},
	{name: "nic", kind: mapping, doc: "The network cards of each host.", keys: []key{
		{name: "count", kind: count, min: 1, max: 64, from: "one for each GPU", doc: "Cards in each host. Card n serves rail n unless rails says otherwise."},
		{name: "model", kind: choice, choices: nicNames(), from: "the catalogue's usual card for the speed", doc: "Card model of the catalogue."},
		{name: "speed", kind: rate, min: 1e8, max: 2e12, from: "catalogue: the card's highest", doc: "Rate of each port."},
		{name: "ports", kind: count, min: 1, max: 2, def: "1", doc: "Cabled ports of each card. With as many planes as ports, port p goes to plane p."},
		{name: "bond", kind: toggle, def: "false", doc: "The two ports of a card form one LAG towards the host."},
		{name: "pcie", kind: rate, min: 1e9, max: 1e13, from: "catalogue", doc: "Usable PCIe rate of each card and direction."},
		{name: "latency", kind: duration, min: 0, max: 1e9, from: "catalogue", doc: "Through the card, one way: doorbell to wire, or wire to memory."},
		{name: "devices", kind: list, from: "mlx5_0, mlx5_1 and so on, by the driver of the card", doc: "Names of the RDMA devices, in the order of the cards.", keys: []key{{name: "device", kind: name}}},
		{name: "rails", kind: table, from: "card n is rail n", doc: "The rail of each RDMA device.", keys: []key{{name: "rail", kind: count, min: 0, max: 63}}},
		{name: "gpus", kind: table, from: "cards and GPUs in order", doc: "The GPU nearest to each RDMA device; -1: none.", keys: []key{{name: "gpu", kind: count, min: -1, max: 63}}},
		{name: "vlan", kind: count, min: 0, max: 4094, def: "0", doc: "VLAN of the cards; 0: untagged."},
		{name: "vlan_per_rail", kind: toggle, def: "false", doc: "The VLAN of rail r is vlan + r."},
		{name: "addresses", kind: list, doc: "IPv4 addresses of the cards, host by host. Without it rail r gets 10.r.0.0/16.", keys: []key{{name: "address", kind: text}}},
	}},
	{name: "cpu", kind: mapping, doc: "What kernel transports run on.", keys: []key{
		{name: "cores", kind: count, min: 1, max: 4096, def: "64", doc: "Cores of each host."},
		{name: "clock", kind: frequency, min: 1e6, max: 1e11, def: "2.5GHz", doc: "Clock of the cores."},
	}},
}

var linkKeys = []key{
	{name: "speed", kind: rate, min: 1e8, max: 2e12, from: "the NIC's, or the switch port's", doc: "Rate of each cable."},
	{name: "length", kind: length, min: 0, max: 1e5, from: "5m to hosts, 30m to spines, 100m to cores", doc: "Length of each cable."},
	{name: "delay", kind: duration, min: 0, max: 1e12, from: "5 ns for each metre", doc: "Propagation, one way."},
}

var trunkKeys = append([]key{
	{name: "count", kind: count, min: 1, max: 1024, from: "as many as make the tier non-blocking", doc: "Cables between each pair of switches."},
	{name: "lag", kind: toggle, def: "false", doc: "The cables of a pair form one LAG; without it each is a path of its own."},
}, linkKeys...)

var fabricKeys = []key{
	{name: "topology", kind: choice, choices: []string{"single-switch", "leaf-spine", "rail-optimised", "fat-tree", "explicit"}, def: "leaf-spine", doc: "Shape of the fabric. rail-optimised is a leaf-spine whose leaves take one rail each."},
	{name: "planes", when: "a generated topology", kind: count, min: 1, max: 16, def: "1", doc: "Separate copies of the fabric. Ports of a card, or else cards, are dealt to them in turn."},
	{name: "leaves", when: "topology leaf-spine, rail-optimised or fat-tree", kind: count, min: 1, max: maxNodes, from: "as many as the hosts need", doc: "Leaves of each plane."},
	{name: "spines", when: "topology leaf-spine, rail-optimised or fat-tree", kind: count, min: 1, max: maxNodes, from: "as many as the leaves need", doc: "Spines of each plane; of a fat tree: aggregation switches, all pods together."},
	{name: "cores", when: "topology fat-tree", kind: count, min: 1, max: maxNodes, from: "as many as the aggregation needs", doc: "Cores of each plane of a fat tree."},
	{name: "pods", when: "topology fat-tree or rail-optimised", kind: count, min: 1, max: 4096, def: "2", doc: "Pods of a fat tree; of a rail-optimised fabric: groups of hosts that have leaves of their own."},
	{name: "mlag", when: "a generated topology", kind: toggle, def: "false", doc: "Leaves form MLAG pairs: port 0 of a card goes to the first, port 1 to the second."},
	{name: "host_link", when: "a generated topology", kind: mapping, doc: "Cables from hosts to leaves. Their rate is the NIC's.", keys: linkKeys[1:]},
	{name: "uplink", when: "topology leaf-spine, rail-optimised or fat-tree", kind: mapping, doc: "Cables from leaves to spines.", keys: trunkKeys},
	{name: "core_link", when: "topology fat-tree", kind: mapping, doc: "Cables from aggregation switches to cores.", keys: trunkKeys},
	{name: "switches", when: "topology explicit", kind: list, doc: "The switches of an explicit topology.", keys: []key{{name: "switch", kind: mapping, keys: []key{
		{name: "name", need: true, kind: name, doc: "Name of the switch."},
		{name: "tier", kind: count, min: 1, max: 3, def: "1", doc: "1 leaf, 2 spine, 3 core."},
		{name: "plane", kind: count, min: 0, max: 15, def: "0", doc: "Its plane."},
		{name: "model", kind: choice, choices: switchNames(), from: "switch.model", doc: "Model of the catalogue."},
		{name: "os", kind: choice, choices: systems, from: "switch.os", doc: "Its operating system."},
		{name: "mlag", kind: name, doc: "The other switch of its MLAG pair, which must name this one."},
	}}}},
	{name: "links", when: "topology explicit", kind: list, doc: "The cables of an explicit topology.", keys: []key{{name: "link", kind: mapping, keys: append([]key{
		{name: "a", need: true, kind: text, doc: "One end: host-0/nic-3, host-0/nic-3.1 (second port), leaf-0/port-5, leaf-0/Ethernet12, or leaf-0 for its next free port."},
		{name: "b", need: true, kind: text, doc: "The other end."},
		{name: "lag", kind: name, doc: "Cables with the same name form one LAG on each switch or host where they end."},
		{name: "loss", kind: share, def: "0%", doc: "Random loss of packets, each way."},
	}, linkKeys...)}}},
}

var switchKeys = []key{
	{name: "model", kind: choice, choices: switchNames(), from: "the catalogue's usual switch for the speed", doc: "Switch model of the catalogue."},
	{name: "os", kind: choice, choices: systems, from: "catalogue: the first that the model runs", doc: "Operating system, for configuration."},
	{name: "ports", kind: count, min: 1, max: 65535, from: "catalogue", doc: "Ports at full speed."},
	{name: "speed", kind: rate, min: 1e8, max: 2e12, from: "catalogue", doc: "Highest rate of a port."},
	{name: "buffer", kind: size, min: 1e4, max: 1 << 40, from: "catalogue", doc: "Packet memory, headroom included."},
	{name: "latency", kind: duration, min: 0, max: 1e9, from: "catalogue", doc: "Through the switch, port to port."},
}

var classKeys = []key{
	{name: "dscp", kind: count, min: 0, max: 63, doc: "Code point."},
	{name: "priority", kind: count, min: 0, max: 7, doc: "Priority of 802.1p, which is also the queue."},
	{name: "lossless", kind: toggle, def: "false", doc: "PFC on this priority."},
	{name: "share", kind: share, def: "0%", doc: "ETS share of the link."},
	{name: "strict", kind: toggle, def: "false", doc: "Served before all that have a share."},
}

func withDefaults(keys []key, defaults map[string]string) []key {
	out := append([]key(nil), keys...)
	for i := range out {
		if d, ok := defaults[out[i].name]; ok {
			out[i].def = d
		}
	}
	return out
}

func needed(keys []key, names ...string) []key {
	out := append([]key(nil), keys...)
	for i := range out {
		out[i].need = slices.Contains(names, out[i].name)
	}
	return out
}

var qosKeys = []key{
	{name: "roce", kind: mapping, doc: "The class of RoCE data.", keys: withDefaults(classKeys, map[string]string{"dscp": "26", "priority": "3", "lossless": "true", "share": "50%"})},
	{name: "cnp", kind: mapping, doc: "The class of congestion notifications.", keys: withDefaults(classKeys, map[string]string{"dscp": "48", "priority": "6", "strict": "true"})},
	{name: "classes", kind: list, doc: "Further classes.", keys: []key{{name: "class", kind: mapping, keys: append([]key{
		{name: "name", need: true, kind: name, doc: "Name of the class."},
	}, needed(classKeys, "dscp", "priority")...)}}},
	{name: "mtu", kind: count, choices: []string{"256", "512", "1024", "2048", "4096"}, def: "4096", doc: "RDMA path MTU: payload of a packet."},
	{name: "port_mtu", kind: count, min: 1280, max: 16384, def: "9216", doc: "Layer-2 payload limit of switch ports."},
	{name: "pfc", kind: toggle, def: "true", doc: "Ports send and honour pause on lossless priorities."},
	{name: "ecn", kind: mapping, doc: "Marking of the RoCE queue: none below min, a share that rises to probability at max, every packet above.", keys: []key{
		{name: "enabled", kind: toggle, def: "true", doc: "Switches mark."},
		{name: "min", kind: size, max: 1 << 40, from: "100KB for each 25Gbps of the slowest NIC", doc: "Queue length at which marking starts."},
		{name: "max", kind: size, max: 1 << 40, from: "400KB for each 25Gbps of the slowest NIC", doc: "Queue length from which every packet is marked."},
		{name: "probability", kind: share, def: "20%", doc: "Share of packets marked at max."},
		{name: "mark_at", kind: choice, choices: []string{"enqueue", "dequeue"}, def: "enqueue", doc: "Compare the queue when a packet enters (itself and the one in service counted) or leaves (bytes left behind)."},
	}},
	{name: "watchdog", kind: mapping, doc: "PFC watchdog.", keys: []key{
		{name: "enabled", kind: toggle, def: "true", doc: "The watchdog runs."},
		{name: "detect_after", kind: duration, min: 1e6, max: 1e14, def: "200ms", doc: "Paused without progress for this long: stormed."},
		{name: "restore_after", kind: duration, min: 1e6, max: 1e14, def: "200ms", doc: "Free of pause for this long: lossless again."},
		{name: "action", kind: choice, choices: []string{"drop", "forward"}, def: "drop", doc: "What a stormed queue does with its packets."},
	}},
}

var hashFields = []string{"src_ip", "dst_ip", "src_port", "dst_port", "protocol", "dst_qp"}

var routingKeys = []key{
	{name: "mode", kind: choice, choices: []string{"ecmp", "adaptive", "flowlet", "spray"}, from: "ecmp; adaptive with transport infiniband", doc: "Hash of fields; least loaded port for each packet, or each flowlet; round robin of packets."},
	{name: "hash_fields", kind: list, from: "src_ip, dst_ip, src_port, dst_port, protocol", doc: "Inputs of the hash.", keys: []key{{name: "field", kind: choice, choices: hashFields}}},
	{name: "hash_seed", kind: count, max: 1 << 53, auto: "per-switch", def: "per-switch", doc: "Seed of the hash. per-switch: each has its own; a number: all have this one (polarisation)."},
	{name: "flowlet_gap", kind: duration, min: 1e3, max: 1e12, def: "50us", doc: "A pause this long lets a flow change its path."},
}

var rdmaKeys = []key{
	{name: "qps_per_connection", kind: count, min: 1, max: 128, def: "1", doc: "Queue pairs of a connection (NCCL_IB_QPS_PER_CONNECTION)."},
	{name: "split_data", kind: toggle, def: "false", doc: "Split each message over the queue pairs (NCCL_IB_SPLIT_DATA_ON_QPS); without it they take turns."},
	{name: "ack_every", kind: count, min: 1, max: 65536, def: "16", doc: "Packets to an acknowledgement, the last of a message aside."},
	{name: "window", kind: size, max: 1 << 40, def: "0", doc: "Most unacknowledged bytes of a queue pair; 0: no limit."},
	{name: "recovery", kind: choice, choices: []string{"go-back-n", "selective-repeat", "go-back-0"}, def: "go-back-n", doc: "What is sent again after a loss."},
	{name: "out_of_order", kind: toggle, from: "true where packets of a flow take several paths and the NIC can", doc: "Packets that arrive out of order are placed, not refused."},
	{name: "timeout", kind: count, min: 1, max: 31, def: "20", doc: "Time-out is 4.096 us x 2^timeout (NCCL_IB_TIMEOUT)."},
	{name: "retry_count", kind: count, min: 0, max: 7, def: "7", doc: "Tries after a time-out (NCCL_IB_RETRY_CNT)."},
	{name: "rnr_retry", kind: count, min: 0, max: 7, def: "7", doc: "Tries after receiver-not-ready; 7: without end."},
	{name: "nak_interval", kind: duration, max: 1e12, def: "0us", doc: "Least time between two NAKs for the same gap; 0: one NAK a gap."},
	{name: "source_ports", kind: choice, choices: []string{"per-qp", "fixed"}, def: "per-qp", doc: "UDP source port of each queue pair, or one for all."},
	{name: "cnp_on_ack", kind: toggle, def: "false", doc: "Congestion notification rides on the ACK, as in ns-3 simulators."},
	{name: "gpudirect", kind: toggle, def: "true", doc: "NICs read and write GPU memory without a copy in host memory."},
}

var dcqcnKeys = []key{
	{name: "enabled", kind: toggle, def: "true", doc: "NICs slow down on congestion notifications."},
	{name: "variant", kind: choice, choices: []string{"adapter", "paper", "ns3"}, def: "adapter", doc: "Reading of the algorithm: the NIC firmware's, the paper's, or that of the public ns-3 models."},
	{name: "rp_initial_alpha_value", kind: count, min: 0, max: 1023, def: "1023", doc: "First alpha, of 1024: 1023 halves at the first cut."},
	{name: "rp_dce_tcp_g", kind: count, min: 0, max: 1023, def: "1019", doc: "Weight that the old alpha keeps, of 1024."},
	{name: "rp_dce_tcp_rtt", kind: micros, min: 1e6, max: 131071e6, def: "1us", doc: "Period of the alpha update."},
	{name: "rp_rate_reduce_monitor_period", kind: micros, min: 0, max: 131071e6, def: "4us", doc: "At most one cut in this time; 0: a cut for every CNP."},
	{name: "rp_rate_to_set_on_first_cnp", kind: megabits, min: 0, max: 2e12, def: "0", doc: "Rate after the first CNP; 0: off."},
	{name: "rp_min_dec_fac", kind: count, min: 0, max: 100, def: "50", doc: "Percent of the rate that one cut leaves at least. 100: never cut."},
	{name: "rp_min_rate", kind: megabits, min: 1e6, max: 2e12, def: "1Mbps", doc: "Floor of the rate."},
	{name: "rp_time_reset", kind: micros, min: 1e6, max: 131071e6, def: "300us", doc: "Increase timer."},
	{name: "rp_byte_reset", kind: size, max: 1 << 40, def: "0", doc: "Byte counter of the increase; 0: off. The firmware's literal 32767 has no documented unit, so it is off unless set."},
	{name: "rp_threshold", kind: count, min: 1, max: 31, def: "1", doc: "Rounds of fast recovery before additive increase."},
	{name: "rp_ai_rate", kind: megabits, min: 0, max: 2e12, def: "5Mbps", doc: "Additive increase."},
	{name: "rp_hai_rate", kind: megabits, min: 0, max: 2e12, def: "50Mbps", doc: "Hyper increase."},
	{name: "rp_clamp_tgt_rate", kind: toggle, def: "false", doc: "Every cut lowers the target rate."},
	{name: "rp_clamp_tgt_rate_ati", kind: toggle, def: "true", doc: "The first cut after an increase by timer lowers the target rate."},
	{name: "np_min_time_between_cnps", kind: micros, min: 0, max: 131071e6, def: "4us", doc: "Least time between two CNPs; 0: one for every marked packet."},
}

var ncclKeys = []key{
	{name: "channels", kind: count, min: 1, max: 64, auto: "auto", def: "auto", doc: "Rings or trees side by side."},
	{name: "algorithm", kind: choice, choices: algorithmNames, def: "auto", doc: "Algorithm of jobs that name none. auto picks by NCCL's cost model; hierarchical is ours, and auto never picks it."},
	{name: "protocol", kind: choice, choices: []string{"auto", "Simple", "LL", "LL128"}, def: "auto", doc: "How data and flags travel (NCCL_PROTO)."},
	{name: "buffsize", kind: size, auto: "auto", min: 1 << 14, max: 1 << 30, def: "auto", doc: "Buffer of a channel (NCCL_BUFFSIZE); auto: the protocol's own."},
	{name: "overhead", kind: choice, choices: []string{"library", "none"}, def: "library", doc: "What the host adds to a step between nodes. library: the latencies of NCCL's cost model; none: GPUs write to each other without a proxy, so that a step takes what transport and fabric take."},
	{name: "pxn", kind: toggle, def: "true", doc: "Reach another rail's NIC through the GPU next to it (PXN)."},
	{name: "clear_to_send", kind: toggle, def: "true", doc: "A control write before each message, as the network plugin does."},
}

var algorithmNames = []string{"auto", "ring", "tree", "nvls", "nvls_tree", "hierarchical", "direct"}

var jobKeys = []key{
	{name: "name", kind: name, from: "job-N", doc: "Name of the job."},
	{name: "start", kind: duration, max: 1e15, def: "0s", doc: "When it starts."},
	{name: "collective", kind: choice, choices: []string{"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}, doc: "Collective operation. A job has this, pattern or training."},
	{name: "pattern", kind: choice, choices: []string{"incast", "permutation", "all-pairs", "list"}, doc: "Pattern of plain flows. A job has this, collective or training."},
	{name: "training", when: "a job with neither collective nor pattern", kind: mapping, doc: "A training job, step by step.", keys: trainingKeys},
	{name: "size", kind: testSize, min: 1, max: 1 << 46, doc: "One size instead of begin and end; of a pattern: bytes of each flow."},
	{name: "begin", when: "a collective job without size", kind: testSize, min: 1, max: 1 << 46, def: "1M", doc: "Smallest size (-b of nccl-tests; K, M and G are 1024)."},
	{name: "end", when: "a collective job without size", kind: testSize, min: 1, max: 1 << 46, from: "begin", doc: "Largest size (-e)."},
	{name: "factor", when: "a collective job without size", kind: count, min: 2, max: 1024, def: "2", doc: "From one size to the next (-f)."},
	{name: "iterations", when: "a collective job", kind: count, min: 1, max: 1000, def: "1", doc: "Runs of each size, whose mean is shown."},
	{name: "algorithm", when: "a collective or training job", kind: choice, choices: algorithmNames, from: "nccl.algorithm", doc: "Algorithm."},
	{name: "hosts", when: "a job that is not a list of flows", kind: list, doc: "Hosts by name, in rank order. Without it placement chooses.", keys: []key{{name: "host", kind: name}}},
	{name: "nodes", when: "a job without hosts that is not a list of flows", kind: count, min: 1, max: maxNodes, from: "all", doc: "How many hosts it runs on."},
	{name: "placement", when: "a job without hosts that is not a list of flows", kind: choice, choices: []string{"packed", "spread", "random"}, def: "packed", doc: "packed: in the order of the file; spread: neighbours in rank under different leaves; random: by placement_seed."},
	{name: "placement_seed", when: "placement random or pattern permutation", kind: count, min: 0, max: 1 << 53, from: "seed", doc: "Seed of a random placement or permutation."},
	{name: "gpus_per_host", when: "a collective or training job", kind: count, min: 1, max: 64, from: "all", doc: "GPUs used in each host."},
	{name: "transport", when: "a job of flows", kind: choice, choices: []string{"rocev2", "rocev1", "tcp", "infiniband"}, from: "transport", doc: "tcp lets flows go over TCP beside the cluster's transport."},
	{name: "priority", kind: count, min: 0, max: 7, from: "qos.roce.priority, or transports.tcp.priority", doc: "Priority of the traffic; must belong to a class, but for TCP's own."},
	{name: "receiver", when: "pattern incast", kind: text, from: "the first NIC of the last host", doc: "Receiver of an incast, as host-8/nic-0."},
	{name: "senders", when: "pattern incast", kind: count, min: 1, max: maxFlows, from: "every host but the receiver's", doc: "Senders of an incast: the first NIC of each host in order, then the second ones."},
	{name: "scope", when: "pattern permutation", kind: choice, choices: []string{"any", "other-host", "other-leaf"}, def: "other-host", doc: "Whom a permutation may pair: any other NIC, one of another host, or one under another leaf."},
	{name: "nics", when: "pattern permutation or all-pairs", kind: list, from: "all", doc: "Numbers of the NICs that a permutation or all-pairs uses in each host.", keys: []key{{name: "nic", kind: count, min: 0, max: 63}}},
	{name: "flows", when: "pattern list", kind: list, doc: "The flows of pattern list.", keys: []key{{name: "flow", kind: mapping, keys: []key{
		{name: "src", need: true, kind: text, doc: "Sender, as host-0/nic-0."},
		{name: "dst", need: true, kind: text, doc: "Receiver."},
		{name: "size", kind: testSize, min: 1, max: 1 << 46, from: "the job's size", doc: "Bytes."},
		{name: "start", kind: duration, max: 1e15, def: "0s", doc: "When it starts, counted from the start of the job."},
	}}}},
}

var faultKeys = []key{
	{name: "id", need: true, kind: name, doc: "Id of the cause."},
	{name: "place", need: true, kind: text, doc: "Node (leaf-2), NIC or port (host-7/nic-3, leaf-2/port-5), link (leaf-2~spine-1), pair (host-1,host-2) or fabric."},
	{name: "start", kind: duration, max: 1e15, def: "0s", doc: "When it begins."},
	{name: "end", kind: duration, max: 1e15, auto: "never", def: "never", doc: "When it ends."},
	{name: "severity", kind: share, auto: "default", def: "default", doc: "0 to 1; what it scales depends on the fault."},
}

var priceKeys = []key{
	{name: "currency", kind: name, def: "USD", doc: "Name of the currency."},
	{name: "switch", kind: number, max: 1e12, def: "0", doc: "One switch."},
	{name: "port", kind: number, max: 1e12, def: "0", doc: "One used switch port, licences and the like."},
	{name: "nic", kind: number, max: 1e12, def: "0", doc: "One network card."},
	{name: "optic", kind: number, max: 1e12, def: "0", doc: "One transceiver; a link has two."},
	{name: "cable_per_metre", kind: number, max: 1e12, def: "0", doc: "One metre of cable."},
}

// moved names the right key for settings that people look for elsewhere.
var moved = map[string]string{
	"dcqcn.np_cnp_dscp":      "qos.cnp.dscp",
	"dcqcn.np_cnp_prio":      "qos.cnp.priority",
	"dcqcn.np_cnp_802p_prio": "qos.cnp.priority",
	"host.nics":              "nic.count",
	"qos.alpha":              "switch.alpha",
	"qos.headroom":           "switch.headroom",
	"qos.buffer":             "switch.buffer",
	"ecn.pmax":               "probability",
	"ecn.kmin":               "min",
	"ecn.kmax":               "max",
}
