package cluster

import (
	"fmt"
	"strings"
)

const transportsIntro = `# Transports

` + "`weir simulate FILE --transport rocev2|rocev1|tcp|infiniband`" + ` runs the same jobs on the same fabric over another transport;
` + "`transport: tcp`" + ` in a job of flows puts TCP beside RDMA. Each transport has one table of parameters, below: all examples and
validation rows use it, ` + "`--set transports.tcp.mtu=9000`" + ` changes one value everywhere. This page is generated from the table
(` + "`internal/cluster/transports.go`" + `). Values marked **fitted** have no source of their own: they were chosen so that the
published figure that is named comes out, within its tolerance.

| | rocev2 | rocev1 | tcp | infiniband |
|---|---|---|---|---|
| bytes around the payload of a packet | 62 | 74 | 70 | 26 |
| line time beside (preamble, gap) | 20 | 20 | 20 | 0 |
| payload of a packet | qos.mtu | qos.mtu | transports.tcp.mtu - 52 | qos.mtu |
| loss | prevented by PFC | prevented by PFC | repaired (SACK) | prevented by credits |
| congestion control | DCQCN | DCQCN | CUBIC, DCTCP or Reno | none, unless switched on |
| between subnets | routed | refused | routed | one subnet |
| hash of ECMP | addresses, UDP port, queue pair | addresses of the card and queue pair only where the chip sees it | addresses, TCP ports | adaptive |
| who moves the data | card | card | the hosts' cores | card |

What TCP's model does: a call of the library's thread copies up to a batch into the socket buffer; the card sends segments as
the congestion window lets it; an interrupt, after its delay, takes what has come through the stack, segment by segment, and
acknowledges it; another call copies it to the reader. Each of these occupies one core for its cycles, so a thread that is
busy or a core that serves interrupts sets the limit before the link does. Data of GPUs pass through host memory. NCCL's
proxies poll; threads of plain flows sleep and are woken. What it leaves out: handshakes, delayed acknowledgement, HyStart,
pacing, memory bandwidth of the host, NUMA distance, and zero copy.

In-network reduction (` + "`transports.infiniband.in_network_reduction`" + `) is a closed form, not packets; its rows say ` + "`closed form`" + `, and
as the expectation is the same form, their share is 100 %. Each card sends its share of the data once up a tree of switches
and gets the sums once, both at the same time; a rail has a tree of its own, whose root is the lowest tier that sees all its
cards. The time is NCCL's latency of its collective-network algorithm (31 us between nodes, 2 x (3.7 us + 0.4 us for each further
GPU) inside), the way up and down beyond the 2 us that these figures have, and the longest of the data's times on card, PCIe
slot, NVLink and the leaves' uplinks. It has no counters, no contention and no limit of trees or groups of a switch, and it
takes sums, minima and maxima of all types alike. It is refused beside other jobs, with faults, and where packets are to be
recorded. All other operations run packet by packet as without it.

` + "`cpu_share`" + ` in the JSON output (` + "`cpu`" + ` in the text) is the share of the busiest host's cores that this took while the collective ran.
`

// TransportReference returns docs/transports.md: what the transports are, and
// every value with its source.
func TransportReference() []byte {
	var s strings.Builder
	s.WriteString(transportsIntro)
	for _, t := range []struct {
		name  string
		table []parameter
	}{{"tcp", tcpTable}, {"infiniband", infinibandTable}, {"host_copy", hostCopyTable}} {
		fmt.Fprintf(&s, "\n## transports.%s\n\n| key | default | what it is | source |\n|---|---|---|---|\n", t.name)
		for i := range t.table {
			p := &t.table[i]
			def, source := p.def, p.source
			if def == "" {
				def = p.from
			}
			if p.fitted {
				source = "**fitted**: " + source
			}
			fmt.Fprintf(&s, "| `%s` | %s | %s | %s |\n", p.name, def, p.doc, source)
		}
	}
	return []byte(s.String())
}
