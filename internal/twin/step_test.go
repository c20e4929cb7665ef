package twin_test

import (
	"context"
	"math"
	"testing"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/training"
	"weir/internal/twin"
	"weir/units"
)

// fixed returns a runner whose collectives all take the same time and whose
// flows take another, and notes the clusters that it was given.
func fixed(d, fct units.Time, seen *[]*cluster.Cluster) twin.Runner {
	return func(_ context.Context, c *cluster.Cluster, _ twin.Options) (*twin.Result, error) {
		*seen = append(*seen, c)
		r := &twin.Result{}
		for i := range c.Jobs {
			j := &c.Jobs[i]
			if j.Kind == cluster.FlowJob {
				for k := range j.Flows {
					r.Flows = append(r.Flows, twin.Flow{ID: k, FCT: fct})
				}
				continue
			}
			r.Collectives = append(r.Collectives, twin.Collective{Job: j.Name, Op: j.Op, Bytes: j.Begin, Time: d, Fidelity: "flow"})
		}
		return r, nil
	}
}

const oneGPUNodes = "host: {count: 4, gpus: 1, gpu: a100, nic: {count: 1, speed: 200Gbps}}\nfabric: {topology: single-switch}\n"

// Validation row V67: gradients of ten equal buckets become ready at a constant
// rate over the backward pass, two thirds of 90 ms, and are reduced in order.
func TestBucketedOverlap(t *testing.T) {
	const buckets = 10
	back := 60. // ms
	for _, reduce := range []float64{1, 5.4, 8, 20} {
		c := parse(t, oneGPUNodes+"job: {training: {parameters: 65536000, data_type: fp32, compute: 90ms, bucket: 25M, first_bucket: 25M}}")
		var seen []*cluster.Cluster
		r, err := twin.RunTraining(context.Background(), c, twin.Options{}, fixed(units.Time(reduce*float64(units.Millisecond)), 0, &seen))
		if err != nil {
			t.Fatal(err)
		}
		// max(0, n t - T + first bucket's wait): the reductions queue up behind the
		// first one, or only the last one shows.
		want := math.Max(reduce, back/buckets+buckets*reduce-back)
		s := &r.Steps[0]
		got := s.ExposedCommunication.Seconds() * 1e3
		if math.Abs(got-want) > 0.01 {
			t.Errorf("buckets of %g ms: exposed %g ms, want %g", reduce, got, want)
		}
		if u := 90 / (90 + want); math.Abs(s.GPUUtilisation-u) > 1e-4 || s.Fidelity != "flow" {
			t.Errorf("buckets of %g ms: utilisation %g, want %g; fidelity %s", reduce, s.GPUUtilisation, u, s.Fidelity)
		}
		if len(seen) != 1 || s.Parts[0].Count != buckets {
			t.Errorf("%d runs, %d buckets", len(seen), s.Parts[0].Count)
		}
	}
}

// Without overlap all reductions follow the backward pass.
func TestNoOverlap(t *testing.T) {
	c := parse(t, oneGPUNodes+"job: {training: {parameters: 65536000, data_type: fp32, compute: 90ms, bucket: 25M, first_bucket: 25M, overlap: false}}")
	var seen []*cluster.Cluster
	r, err := twin.RunTraining(context.Background(), c, twin.Options{}, fixed(units.Millisecond, 0, &seen))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Steps[0].ExposedCommunication; got != 10*units.Millisecond {
		t.Errorf("exposed %v, want 10ms", got)
	}
}

// Two stages of two layers with tensor pairs inside hosts: what is exposed is
// 2 passes x 2 layers x 2 parts x 3 micro-batches of tensor all-reduces, 2(p-1)
// transfers, and one gradient bucket. The bubble is one micro-batch: its
// compute and its eight all-reduces.
func TestPipelineStep(t *testing.T) {
	c := parse(t, `
host: {count: 4, gpus: 4, gpu: a100, nic: {count: 4, speed: 200Gbps}}
fabric: {topology: single-switch}
job: {training: {parameters: 1e6, layers: 4, hidden: 64, sequence: 64, tensor: 2, pipeline: 2, micro_batches: 3, compute: 30ms, bucket: 1G, data_set: 24}}
`)
	var seen []*cluster.Cluster
	ms := units.Millisecond
	r, err := twin.RunTraining(context.Background(), c, twin.Options{}, fixed(ms, 2*ms, &seen))
	if err != nil {
		t.Fatal(err)
	}
	s := &r.Steps[0]
	if s.Compute != 30*ms || s.Bubble != 18*ms {
		t.Errorf("compute %v, bubble %v; want 30ms, 18ms", s.Compute, s.Bubble)
	}
	if want := (24 + 2*2 + 1) * ms; s.ExposedCommunication != want {
		t.Errorf("exposed %v, want %v", s.ExposedCommunication, want)
	}
	if s.Epoch != 2*s.Time { // 24 samples, 12 a step
		t.Errorf("epoch %v for steps of %v", s.Epoch, s.Time)
	}
	for _, own := range seen {
		j := &own.Jobs[0]
		switch {
		case j.Kind == cluster.FlowJob:
			// Rank 0 is GPU 0 of host 0; its next stage is rank 8, GPU 0 of host 2.
			want := cluster.Flow{Src: cluster.NICRef{Host: 0, NIC: 0}, Dst: cluster.NICRef{Host: 2, NIC: 0}, Bytes: 64 * 64 * 2}
			if len(j.Flows) != 8 || j.Flows[0] != want {
				t.Errorf("%d transfers, the first %+v", len(j.Flows), j.Flows[0])
			}
		case len(j.Hosts) == 1:
			if len(own.Jobs) != 1 || j.GPUsPerHost != 2 {
				t.Errorf("tensor: %d jobs of %d GPUs", len(own.Jobs), j.GPUsPerHost)
			}
		default:
			// Two stages x two tensor ranks, each over two hosts of two GPUs.
			if len(own.Jobs) != 4 || len(j.Hosts) != 2 || j.GPUs[0] != 0 || j.GPUs[1] != 2 || own.Jobs[1].GPUs[1] != 3 {
				t.Errorf("data: %d jobs, first on %d hosts, GPUs %v", len(own.Jobs), len(j.Hosts), j.GPUs)
			}
		}
	}
}

// Groups that run at the same time share the fabric: the data-parallel groups
// of two tensor ranks that have one card between them take about twice as long
// as one of them, and groups with a card each do not.
func TestGroupsShareCards(t *testing.T) {
	times := map[string]units.Time{}
	for name, text := range map[string]string{
		"one group":   "host: {count: 2, gpus: 1, gpu: a100, nic: {count: 1, speed: 100Gbps}}\nfabric: {topology: single-switch}\njob: {training: {parameters: 4e6, compute: 1ms, bucket: 1G, first_bucket: 1G}}",
		"one card":    "host: {count: 2, gpus: 2, gpu: a100, nic: {count: 1, speed: 100Gbps}}\nfabric: {topology: single-switch}\njob: {training: {parameters: 8e6, layers: 1, hidden: 64, sequence: 64, tensor: 2, compute: 1ms, bucket: 1G, first_bucket: 1G}}",
		"two cards":   "host: {count: 2, gpus: 2, gpu: a100, nic: {count: 2, speed: 100Gbps}}\nfabric: {topology: single-switch}\njob: {training: {parameters: 8e6, layers: 1, hidden: 64, sequence: 64, tensor: 2, compute: 1ms, bucket: 1G, first_bucket: 1G}}",
		"three steps": "host: {count: 2, gpus: 2, gpu: a100, nic: {count: 2, speed: 100Gbps}}\nfabric: {topology: single-switch}\njob: {training: {parameters: 8e6, layers: 1, hidden: 64, sequence: 64, tensor: 2, compute: 1ms, bucket: 1G, first_bucket: 1G, steps: 3}}",
	} {
		r, err := twin.Run(context.Background(), parse(t, text), twin.Options{Check: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Steps[0].Parts {
			if p.Dimension == training.Data {
				if p.Op != collective.AllReduce || p.Bytes != 8e6 {
					t.Fatalf("%s: %+v", name, p)
				}
				times[name] = p.Time
			}
		}
	}
	if ratio := float64(times["one card"]) / float64(times["one group"]); ratio < 1.6 || ratio > 2.4 {
		t.Errorf("two groups on one card take %.2f times as long as one", ratio)
	}
	for _, name := range []string{"two cards", "three steps"} {
		if ratio := float64(times[name]) / float64(times["one group"]); math.Abs(ratio-1) > 0.1 {
			t.Errorf("%s: %.2f times as long as one group", name, ratio)
		}
	}
}

// Parallelism that gives hosts different GPUs is refused.
func TestUnevenGroups(t *testing.T) {
	c := parse(t, "host: {count: 3, gpus: 4, gpu: a100, nic: {count: 4, speed: 100Gbps}}\nfabric: {topology: single-switch}\njob: {training: {parameters: 1e6, layers: 12, hidden: 64, sequence: 64, tensor: 6, compute: 1ms}}")
	if _, err := twin.Run(context.Background(), c, twin.Options{}); err == nil {
		t.Error("no error")
	}
}
