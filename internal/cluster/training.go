package cluster

import (
	"fmt"
	"strconv"

	"weir/internal/collective"
	"weir/internal/training"
	"weir/units"
)

// valueBytes are the bytes of one value by data type.
var valueBytes = map[string]float64{"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1}

var trainingKeys = []key{
	{name: "model", kind: choice, choices: append(training.Presets(), "custom"), def: "custom", doc: "A known model, whose figures the keys below may change, or custom."},
	{name: "parameters", kind: number, min: 1, max: 1e15, from: "the model's", doc: "Parameters of the whole model, as 340e6."},
	{name: "layers", kind: count, min: 0, max: 1 << 14, from: "the model's, or 0", doc: "Layers of a transformer."},
	{name: "hidden", kind: count, min: 0, max: 1 << 20, from: "the model's, or 0", doc: "Its hidden size."},
	{name: "sequence", kind: count, min: 0, max: 1 << 24, from: "the model's, or 0", doc: "Tokens of a sample."},
	{name: "moe_layers", kind: count, min: 0, max: 1 << 14, from: "the model's, or 0", doc: "Layers with experts."},
	{name: "top_k", when: "moe_layers", kind: number, min: 1, max: 1024, def: "2", doc: "Experts that a token visits."},
	{name: "data_type", kind: choice, choices: []string{"fp32", "fp16", "bf16", "fp8"}, from: "the model's, or bf16", doc: "Type of activations and gradients."},
	{name: "compute", kind: duration, min: 1, max: 1e16, from: "the model's operations at efficiency times the GPU's peak", doc: "What a GPU computes in one step, measured without communication: forward and backward pass and update."},
	{name: "efficiency", when: "no compute", kind: share, def: "40%", doc: "Share of the GPU's dense half-precision peak that compute reaches."},
	{name: "compute_inflation", kind: mapping, doc: "Factors by which a transport slows compute down, named in the output.", keys: []key{
		{name: "rocev2", kind: number, min: 0.1, max: 100, def: "1", doc: "With RoCEv2."},
		{name: "rocev1", kind: number, min: 0.1, max: 100, def: "1", doc: "With RoCEv1."},
		{name: "tcp", kind: number, min: 0.1, max: 100, def: "1", doc: "With TCP, whose copies and interrupts take cores from the input pipeline."},
		{name: "infiniband", kind: number, min: 0.1, max: 100, def: "1", doc: "With InfiniBand."},
	}},
	{name: "tensor", kind: count, min: 1, max: 4096, def: "1", doc: "Tensor parallelism: neighbouring GPUs."},
	{name: "pipeline", kind: count, min: 1, max: 4096, def: "1", doc: "Pipeline stages."},
	{name: "data", kind: count, min: 1, max: collective.MaxRanks, from: "all GPUs of the job", doc: "Data parallelism. The GPUs of the job are tensor x pipeline x data."},
	{name: "expert", kind: count, min: 1, max: 4096, def: "1", doc: "Expert parallelism; divides data."},
	{name: "sequence_parallel", kind: toggle, def: "false", doc: "Tensor groups gather and reduce-scatter along the sequence instead of all-reducing."},
	{name: "zero", kind: count, min: 0, max: 3, def: "0", doc: "ZeRO stage: what data-parallel GPUs divide among them."},
	{name: "interleave", when: "pipeline above 1", kind: count, min: 1, max: 64, def: "1", doc: "Virtual stages of each pipeline stage."},
	{name: "scatter_gather", when: "pipeline above 1", kind: toggle, def: "false", doc: "Pipeline stages exchange shares of tensors."},
	{name: "micro_batch", kind: count, min: 1, max: 1 << 20, def: "1", doc: "Samples of a micro-batch."},
	{name: "micro_batches", kind: count, min: 1, max: 1 << 16, def: "1", doc: "Micro-batches of a step and pipeline."},
	{name: "bucket", kind: testSize, min: 1024, max: 1 << 40, def: "25M", doc: "Gradients that are reduced together."},
	{name: "first_bucket", kind: testSize, min: 1024, max: 1 << 40, from: "1 MiB, or bucket if that is smaller", doc: "The bucket that is ready first."},
	{name: "overlap", kind: toggle, def: "true", doc: "Buckets are reduced while the backward pass goes on."},
	{name: "data_set", kind: count, min: 0, max: 1 << 50, def: "0", doc: "Samples of an epoch; 0: no epoch time."},
	{name: "steps", kind: count, min: 1, max: 1000, def: "1", doc: "Steps that are simulated one after the other; the spread of their times is the jitter."},
	{name: "workload", kind: text, doc: "A workload of SimAI's (AICB) or an execution trace of Chakra that says what a step does, by its path from the cluster file."},
}

// training reads a training job.
func (b *builder) training(n *node, j *Job) error {
	j.Kind = TrainingJob
	j.Op = collective.AllReduce
	alg := n.at("algorithm")
	alg.or(value{s: algorithmNames[b.c.NCCL.Algorithm]}, "computed: nccl.algorithm")
	j.Algorithm = collective.Algorithm(choiceIndex(alg))
	hosts, err := b.place(n)
	if err != nil {
		return err
	}
	j.Hosts = hosts
	if err := b.gpusPerHost(n, j); err != nil {
		return err
	}
	n = n.at("training")
	t := &training.Job{Inflation: 1}
	j.Training = t
	t.Model = b.trainingModel(n)
	if t.Parallel, err = b.parallel(n, len(hosts)*j.GPUsPerHost); err != nil {
		return err
	}
	t.Bucket = n.bytes("bucket")
	t.FirstBucket = units.Bytes(n.intOr("first_bucket", int64(min(t.Bucket, units.MiB)), "computed"))
	t.Overlap = n.bool("overlap")
	t.DataSet, t.Steps = n.int("data_set"), int(n.int("steps"))
	factors := n.at("compute_inflation")
	for tr := RoCEv2; tr <= InfiniBand; tr++ {
		if f := factors.float(tr.String()); tr == b.c.Transport {
			t.Inflation = f
		}
	}
	if v, ok := n.optional("workload"); ok {
		t.Workload = v.s
		if v, ok := n.optional("compute"); ok {
			return n.where("compute").found("compute "+units.Time(v.i).String()+" beside workload", "one of them: a workload has its own compute times")
		}
		return nil
	}
	return b.computeTime(n, j)
}

// computeTime sets the compute time of a step, measured or from the model.
func (b *builder) computeTime(n *node, j *Job) error {
	t := j.Training
	if t.Model.Parameters <= 0 {
		return n.where("model").found("a custom model without parameters", "parameters, as 340e6; or model: "+joinWords(training.Presets()))
	}
	if v, ok := n.optional("compute"); ok {
		t.Compute = units.Time(v.i)
	} else {
		gpu := ""
		if g := b.c.Hosts[j.Hosts[0]].GPU; g != nil {
			gpu = g.Name
		}
		t.Compute = t.ComputeTime(gpu, n.float("efficiency"))
		if t.Compute <= 0 {
			return n.where("model").found("no compute time, and neither operations of the model nor a known GPU to compute it from", "compute: the measured time of one step on a GPU")
		}
	}
	if err := t.Check(); err != nil {
		return n.where("pipeline", "tensor", "expert", "micro_batches", "bucket").found(err.Error(), "a job that fits its model")
	}
	return nil
}

func (b *builder) trainingModel(n *node) training.Model {
	m, _ := training.Preset(n.string("model"))
	m.Parameters = n.floatOr("parameters", m.Parameters, "the model's")
	m.Layers = int(n.intOr("layers", int64(m.Layers), "the model's"))
	m.Hidden = int(n.intOr("hidden", int64(m.Hidden), "the model's"))
	m.Sequence = int(n.intOr("sequence", int64(m.Sequence), "the model's"))
	m.MoELayers = int(n.intOr("moe_layers", int64(m.MoELayers), "the model's"))
	if m.MoELayers > 0 {
		m.TopK = n.float("top_k")
	}
	kind := "bf16"
	switch m.Bytes {
	case 4:
		kind = "fp32"
	case 2:
		kind = "fp16"
	}
	m.Bytes = valueBytes[n.stringOr("data_type", kind, "the model's")]
	return m
}

// parallel reads how the job is divided over its GPUs.
func (b *builder) parallel(n *node, gpus int) (training.Parallel, error) {
	p := training.Parallel{
		Tensor: int(n.int("tensor")), Pipeline: int(n.int("pipeline")), Expert: int(n.int("expert")),
		Sequence: n.bool("sequence_parallel"), ZeRO: int(n.int("zero")), Interleave: 1,
		MicroBatch: int(n.int("micro_batch")), MicroBatches: int(n.int("micro_batches")),
	}
	if p.Pipeline > 1 {
		p.Interleave = int(n.int("interleave"))
		p.ScatterGather = n.bool("scatter_gather")
	}
	p.Data = int(n.intOr("data", int64(max(gpus/(p.Tensor*p.Pipeline), 1)), "computed: all GPUs of the job"))
	if p.GPUs() != gpus {
		return p, n.where("data", "tensor", "pipeline").found(
			fmt.Sprintf("tensor %d x pipeline %d x data %d = %d GPUs", p.Tensor, p.Pipeline, p.Data, p.GPUs()),
			strconv.Itoa(gpus)+", the GPUs of the job")
	}
	return p, nil
}
