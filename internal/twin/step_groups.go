package twin

import (
	"fmt"
	"slices"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/training"
	"weir/units"
)

// stepKey identifies a kind of communication of a step.
type stepKey struct {
	dimension training.Dimension
	transfer  bool
	op        collective.Op
	bytes     units.Bytes
}

func keyOf(o *training.Operation) stepKey {
	return stepKey{o.Dimension, o.Kind == training.Transfer, o.Op, o.Bytes}
}

// gpuOf returns where a rank of a training job lives.
func gpuOf(job *cluster.Job, rank int) (host, gpu int32) {
	return job.Hosts[rank/job.GPUsPerHost], int32(rank % job.GPUsPerHost)
}

// groupJob turns a group of ranks into a collective job. The group must have
// the same GPUs on each of its hosts.
func groupJob(job *cluster.Job, ranks []int, name string) (cluster.Job, error) {
	out := cluster.Job{Name: name, Kind: cluster.CollectiveJob, Priority: job.Priority, Iterations: 1, Factor: 2}
	gpus := map[int32][]int32{}
	for _, r := range ranks {
		h, g := gpuOf(job, r)
		if gpus[h] == nil {
			out.Hosts = append(out.Hosts, h)
		}
		gpus[h] = append(gpus[h], g)
	}
	out.GPUs = gpus[out.Hosts[0]]
	out.GPUsPerHost = len(out.GPUs)
	for _, h := range out.Hosts {
		if !slices.Equal(gpus[h], out.GPUs) {
			return out, fmt.Errorf("job %s: group %s has GPUs %v on one host and %v on another: choose parallelism that divides hosts evenly", job.Name, name, out.GPUs, gpus[h])
		}
	}
	return out, nil
}

// groupJobs returns the collective jobs that one operation of a training job
// starts at the same time: one for each group of its dimension. Groups that
// stay within a host do not meet on the network, and hosts are alike, so one
// stands for all of them.
func groupJobs(job *cluster.Job, k stepKey, iterations int) ([]cluster.Job, error) {
	var out []cluster.Job
	for i, ranks := range job.Training.Parallel.Groups(k.dimension) {
		if len(ranks) < 2 {
			return nil, nil
		}
		g, err := groupJob(job, ranks, fmt.Sprintf("%s-%s-%d", job.Name, k.dimension, i))
		if err != nil {
			return nil, err
		}
		g.Op, g.Begin, g.End, g.Iterations = k.op, k.bytes, k.bytes, iterations
		if k.op == collective.AllReduce && len(g.Hosts) > 1 {
			g.Algorithm = job.Algorithm
		}
		out = append(out, g)
		if len(g.Hosts) == 1 {
			break
		}
	}
	return out, nil
}

// transferJob returns the flows of one hand-over between all pipeline stages
// and their next ones, from the card next to each GPU. Stages that share hosts
// have none.
func transferJob(c *cluster.Cluster, job *cluster.Job, k stepKey) (cluster.Job, error) {
	out := cluster.Job{Name: fmt.Sprintf("%s-%s", job.Name, k.dimension), Kind: cluster.FlowJob, Priority: job.Priority, Pattern: "list"}
	for _, stages := range job.Training.Parallel.Groups(k.dimension) {
		for i := range len(stages) - 1 {
			a, g := gpuOf(job, stages[i])
			b, h := gpuOf(job, stages[i+1])
			if a == b {
				continue
			}
			src, err := cardOf(c, a, g)
			if err != nil {
				return out, err
			}
			dst, err := cardOf(c, b, h)
			if err != nil {
				return out, err
			}
			out.Flows = append(out.Flows, cluster.Flow{Src: src, Dst: dst, Bytes: k.bytes})
		}
	}
	return out, nil
}

// cardOf returns the card nearest to a GPU, or the one that it shares.
func cardOf(c *cluster.Cluster, host, gpu int32) (cluster.NICRef, error) {
	h := &c.Hosts[host]
	if len(h.NICs) == 0 {
		return cluster.NICRef{}, fmt.Errorf("%s has no NIC", c.Nodes[h.Node].Name)
	}
	for i := range h.NICs {
		if h.NICs[i].GPU == gpu {
			return cluster.NICRef{Host: host, NIC: int32(i)}, nil
		}
	}
	return cluster.NICRef{Host: host, NIC: gpu * int32(len(h.NICs)) / int32(max(h.GPUs, 1))}, nil
}
