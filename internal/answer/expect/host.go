package expect

import (
	"fmt"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/collective/nccl"
	"weir/internal/twin/plan"
	"weir/units"
)

// ByCPU: the cores that copy TCP's data and serve its interrupts.
const ByCPU Limit = "CPU"

// tcpHeaders is what IP and TCP take of a segment (timestamp option included).
const tcpHeaders = tcpIPHeader

// cpuTransfer is the time that the busiest core works for the data: a thread
// of a proxy, which copies what its NIC sends and, where the same GPU does
// both, receives; or a core that serves the interrupts of one socket.
func cpuTransfer(p *plan.Plan, choice nccl.Choice, perNIC float64, channels int) (resource, bool) {
	c := p.Cluster
	t, hertz := &c.TCP, p.Cluster.Hosts[p.Job.Hosts[0]].CPU.Hertz
	if c.Transport != cluster.TCP || perNIC == 0 || hertz <= 0 {
		return resource{}, false
	}
	batch := float64(max(t.Batch, 1))
	send, receive := t.SendByte+t.SendCall/batch, t.ReceiveByte+t.ReceiveCall/batch
	cycles := max(send, receive)
	if nics := len(p.NICs[0]); choice.Algorithm != collective.Ring || 2*nics > p.PerNode {
		cycles = (send + receive) * max(1, float64(nics)/float64(p.PerNode))
	}
	threads := float64(max(t.Threads, 1))
	thread := perNIC * cycles / threads
	socks := threads * float64(max(t.Sockets, 1)*max(channels/max(len(p.NICs[0]), 1), 1))
	interrupts := perNIC * t.Segment / float64(max(t.MTU-tcpHeaders, 1)) / socks
	what, most := "copies of a thread", thread
	if interrupts > most {
		what, most = "interrupts of a socket", interrupts
	}
	us := most / hertz * 1e6
	return resource{Term{"CPU", us, fmt.Sprintf("%s: %.4g cycles at %.3g GHz", what, most, hertz/1e9)}, ByCPU}, true
}

// hostLatency is what a step between nodes takes longer than with GPUDirect and
// a NIC that moves the data, in microseconds.
func hostLatency(p *plan.Plan, choice nccl.Choice, bytes units.Bytes) float64 {
	c := p.Cluster
	if p.Nodes == 1 || !c.Staged() {
		return 0
	}
	us := 2 * c.HostCopy.Latency.Microseconds()
	if hertz := c.Hosts[p.Job.Hosts[0]].CPU.Hertz; c.Transport == cluster.TCP && hertz > 0 {
		t := &c.TCP
		us += t.InterruptDelay.Microseconds() + (t.SendCall+t.Interrupt+t.Segment+t.ReceiveCall)/hertz*1e6
		// A message is copied, taken and copied again, one after the other, as
		// far as it is not more than a batch.
		if s, err := p.Schedule(choice, bytes); err == nil {
			sum, messages := s.Traffic(0)
			message := min(float64(choice.Protocol.WireBytes(sum))/max(messages, 1), float64(t.Batch))
			us += message * (t.SendByte + t.ReceiveByte + t.Segment/float64(max(t.MTU-tcpHeaders, 1))) / hertz * 1e6
		}
	}
	return us
}
