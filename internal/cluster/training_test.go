package cluster

import (
	"strings"
	"testing"

	"weir/internal/training"
	"weir/units"
)

const fourNodes = "host: {count: 4, gpus: 8, gpu: a100, nic: {count: 8, speed: 200Gbps}}\n"

// A training job takes what the file leaves out from its model and its GPUs.
func TestTraining(t *testing.T) {
	f, err := Parse("c.yaml", []byte(fourNodes+`
transport: tcp
job:
  training:
    model: pointpillars
    compute: 6ms
    compute_inflation: {tcp: 1.168}
    micro_batch: 2
    data_set: 100000
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	j := &f.Cluster.Jobs[0]
	got := *j.Training
	m, _ := training.Preset("pointpillars")
	want := training.Job{
		Model: m, Compute: 6 * units.Millisecond, Inflation: 1.168,
		Parallel: training.Parallel{Tensor: 1, Pipeline: 1, Data: 32, Expert: 1, Interleave: 1, MicroBatch: 2, MicroBatches: 1},
		Bucket:   25 * units.MiB, FirstBucket: units.MiB, Overlap: true, DataSet: 100000, Steps: 1,
	}
	if j.Kind != TrainingJob || got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if got.Computing() != 7008*units.Microsecond || got.Samples() != 64 {
		t.Errorf("computes %v for %d samples", got.Computing(), got.Samples())
	}
}

func TestTrainingRefused(t *testing.T) {
	for _, tt := range []struct{ name, job, want string }{
		{"no model", "{}", "a custom model without parameters"},
		{"speed unknown", "{model: pointpillars}", "no compute time"},
		{"does not fill", "{model: bert-large, tensor: 3}", "tensor 3 x pipeline 1 x data 10 = 30 GPUs: allowed 32, the GPUs of the job"},
		{"too many stages", "{model: bert-large, pipeline: 32}", "32 pipeline stages for a model of 24 layers"},
		{"no layers", "{model: resnet-50, tensor: 2}", "tensor parallelism 2 for a model without layers"},
		{"no experts", "{model: bert-large, expert: 2}", "expert parallelism 2 for a model without expert layers"},
		{"two times", "{workload: a.txt, compute: 1ms}", "compute 1ms beside workload"},
		{"buckets", "{model: gpt3-175b, bucket: 1024}", "buckets of 1KiB"},
		{"ignored", "{model: bert-large, interleave: 2}", "interleave"},
	} {
		_, err := Parse("c.yaml", []byte(fourNodes+"job: {training: "+tt.job+"}\n"), nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
	_, err := Parse("c.yaml", []byte(fourNodes+"job: {collective: all_reduce, training: {model: bert-large}}\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "training beside collective or pattern") {
		t.Errorf("got %v", err)
	}
}
