package expect

import (
	"errors"
	"fmt"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/twin/plan"
	"weir/units"
)

// Limits are the values below which a measured rate is worth a warning, and
// below which a test has failed, in the unit of what they judge.
type Limits struct {
	Warn, Fail float64
	Text       string
}

// How much longer than expected the parts of a time may take. Measured bus
// bandwidths of large sizes lie within 5 % of the closed form (validation rows
// V47, V48), small ones within a factor of 1.5 (V55). A fault costs more than
// that: 80 % of a link's payload rate is the usual alarm for a pair of cards,
// and twice the latency is no scatter of measurement.
const (
	warnTransfer, warnLatency = 0.95, 1.5
	failTransfer, failLatency = 0.80, 2.0
)

// Limits returns what a measured bus bandwidth is judged by, in GB/s.
func (e *Collective) Limits() Limits {
	transfer := e.TimeUS * e.TransferShare
	rest := e.TimeUS - transfer
	at := func(share, factor float64) float64 {
		if e.TimeUS <= 0 {
			return 0
		}
		return e.BusBW * e.TimeUS / (rest*factor + transfer/share)
	}
	return Limits{at(warnTransfer, warnLatency), at(failTransfer, failLatency), fmt.Sprintf(
		"warn: %.1f us x %g + %.1f us / %g; fail: %.1f us x %g + %.1f us / %g",
		rest, warnLatency, transfer, warnTransfer, rest, failLatency, transfer, failTransfer)}
}

// Limits returns what a measured bandwidth of a pair is judged by, in Gb/s.
func (p *Pair) Limits() Limits {
	return Limits{p.Gbps * warnTransfer, p.Gbps * failTransfer, fmt.Sprintf("warn: x %g; fail: x %g", warnTransfer, failTransfer)}
}

// On returns the expectation of an operation and size on the given hosts, in
// rank order, with so many GPUs each (0: as many as the poorest host has). The
// cluster's transport and library settings apply.
func On(c *cluster.Cluster, op collective.Op, bytes units.Bytes, hosts []int32, gpus int) (Collective, error) {
	p, err := PlanOn(c, op, hosts, gpus)
	if err != nil {
		return Collective{}, err
	}
	return Of(p, bytes)
}

// PlanOn returns the plan that On asks, for several sizes.
func PlanOn(c *cluster.Cluster, op collective.Op, hosts []int32, gpus int) (*plan.Plan, error) {
	if gpus == 0 {
		for i, h := range hosts {
			if n := c.Hosts[h].GPUs; i == 0 || n < gpus {
				gpus = n
			}
		}
	}
	return plan.New(c, &cluster.Job{Name: op.String(), Kind: cluster.CollectiveJob, Op: op, Hosts: hosts, GPUsPerHost: gpus, Iterations: 1, Factor: 2})
}

// Sheet is what the tests of a cluster should show.
type Sheet struct {
	Src, Dst    cluster.NICRef // of Pair
	Pair        *Pair          // nil: a single host
	Hosts, GPUs int            // that the collectives run on: hosts, and GPUs of each
	Rows        map[collective.Op][]Collective
}

// Ops lists the operations of a Sheet in order.
func Ops() []collective.Op {
	return []collective.Op{collective.AllReduce, collective.AllGather, collective.ReduceScatter, collective.AllToAll, collective.Broadcast}
}

// Tests returns what perftest shows between a first card and the one of the
// same rail that is farthest from it, and what nccl-tests show for sizes on
// the first nodes hosts that have GPUs (0: all).
func Tests(c *cluster.Cluster, nodes, gpus int, sizes []units.Bytes) (*Sheet, error) {
	s := &Sheet{Rows: map[collective.Op][]Collective{}}
	var hosts []int32
	for h := range c.Hosts {
		if c.Hosts[h].GPUs > 0 {
			hosts = append(hosts, int32(h))
		}
	}
	if nodes > len(hosts) {
		return nil, fmt.Errorf("%d nodes: the cluster has %d hosts with GPUs", nodes, len(hosts))
	}
	if nodes > 0 {
		hosts = hosts[:nodes]
	}
	if err := s.farthest(c, hosts); err != nil {
		return nil, err
	}
	s.Hosts = len(hosts)
	if len(hosts) == 0 {
		if s.Pair == nil {
			return nil, errors.New("nothing to expect: the cluster has no GPU and fewer than two hosts")
		}
		return s, nil
	}
	for _, op := range Ops() {
		p, err := PlanOn(c, op, hosts, gpus)
		if err != nil {
			return nil, err
		}
		s.GPUs = p.PerNode
		if p.Ranks < 2 {
			continue
		}
		for _, size := range sizes {
			e, err := Of(p, size)
			if err != nil {
				break // what the library's settings leave open does not have this operation
			}
			s.Rows[op] = append(s.Rows[op], e)
		}
	}
	return s, nil
}

// farthest picks the pair of cards: the first host's first card, and of the
// others the card of its rail that most switches lie before.
func (s *Sheet) farthest(c *cluster.Cluster, hosts []int32) error {
	if len(hosts) < 2 {
		hosts = hosts[:0:0]
		for h := range c.Hosts {
			hosts = append(hosts, int32(h))
		}
	}
	if len(hosts) < 2 || len(c.Hosts[hosts[0]].NICs) == 0 {
		return nil
	}
	src := cluster.NICRef{Host: hosts[0]}
	rail := c.Hosts[src.Host].NICs[0].Rail
	var first error
	// Hosts come leaf by leaf: the far ends and the middle are enough to look at.
	for _, i := range []int{len(hosts) - 1, len(hosts) / 2, 1} {
		h := hosts[i]
		for n := range c.Hosts[h].NICs {
			if c.Hosts[h].NICs[n].Rail != rail {
				continue
			}
			dst := cluster.NICRef{Host: h, NIC: int32(n)}
			p, err := Between(c, src, dst)
			if err != nil {
				first = errors.Join(first, err)
				continue
			}
			if s.Pair == nil || p.Hops > s.Pair.Hops {
				s.Src, s.Dst, s.Pair = src, dst, &p
			}
			break
		}
	}
	if s.Pair == nil {
		return first
	}
	return nil
}
