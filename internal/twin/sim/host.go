package sim

import (
	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/internal/twin/switchcore"
	"weir/units"
)

// stageOut copies a slice from a GPU to host memory, from where its NIC sends
// it, once the GPU has it at a time. It returns when the copy is there.
func (s *Sim) stageOut(id ConnID, bytes uint32, at units.Time) units.Time {
	d := &s.cards[s.conns[id].src]
	if d.copyPace != 0 {
		d.copiedOut = max(d.copiedOut, s.now) + d.copyPace.Time(bytes)
		at = max(at, d.copiedOut)
	}
	return at + s.cluster.HostCopy.Latency
}

// stageIn copies a slice that has come to host memory to the GPU.
func (s *Sim) stageIn(id ConnID, bytes uint32) units.Time {
	d := &s.cards[s.conns[id].dst]
	at := s.now
	if d.copyPace != 0 {
		d.copiedIn = max(d.copiedIn, s.now) + d.copyPace.Time(bytes)
		at = d.copiedIn
	}
	return at + s.cluster.HostCopy.Latency
}

// startCPU notes what the cores of a job's hosts have worked before a size.
func (s *Sim) startCPU(j *execJob) {
	j.cpuStart = j.cpuStart[:0]
	for _, h := range j.plan.Job.Hosts {
		j.cpuStart = append(j.cpuStart, s.CPUTime(h))
	}
}

// cpuShare returns the share of the busiest host's cores that the transport
// has taken since: 0 where NICs move the job's data, whatever TCP runs beside it.
func (s *Sim) cpuShare(j *execJob) (most float64) {
	if s.cluster.Transport != cluster.TCP {
		return 0
	}
	span := float64(j.run.End - j.run.Start)
	for i, h := range j.plan.Job.Hosts {
		cores := float64(max(s.cluster.Hosts[h].CPU.Cores, 1))
		if span > 0 {
			most = max(most, float64(s.CPUTime(h)-j.cpuStart[i])/(span*cores))
		}
	}
	return min(most, 1)
}

// bestEffort sets what switches do with TCP: its priority has the share of the
// link that no class was given, unless it is a class's, and marks at a step
// with DCTCP. Other controls are not capable of ECN.
func (s *Sim) bestEffort(cfg *switchcore.Config) {
	c := s.cluster
	prio := c.TCP.Priority
	left, taken := 1.0, false
	for i := range c.QoS.Classes {
		left -= c.QoS.Classes[i].Share
		taken = taken || c.QoS.Classes[i].Priority == prio
	}
	if !taken {
		cfg.Weight[prio] = uint32(max(left, 0)*100 + 0.5)
	}
	if c.TCP.Control == cluster.DCTCP && prio != c.QoS.RoCE().Priority {
		cfg.ECN[prio] = qos.ECN{Enabled: true, Min: c.TCP.ECNThreshold, Max: c.TCP.ECNThreshold, Probability: 1}
	}
}
