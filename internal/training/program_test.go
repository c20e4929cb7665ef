package training

import (
	"slices"
	"testing"

	"weir/internal/collective"
	"weir/units"
)

// ringBytes returns what a rank of n sends in a collective of the size, by the
// identities of V43.
func ringBytes(op collective.Op, n int, size float64) float64 {
	share := float64(n-1) / float64(n)
	if op == collective.AllReduce {
		return 2 * share * size
	}
	return share * size
}

// A program sends what V64 says, in each dimension and whatever the ZeRO stage.
func TestProgramVolumes(t *testing.T) {
	for _, tt := range []struct {
		name     string
		zero     int
		sequence bool
		experts  int
	}{{"plain", 0, false, 1}, {"sequence parallel", 1, true, 1}, {"sharded", 3, true, 1}, {"experts", 2, false, 4}} {
		j := Job{
			Model: gpt3, Compute: units.Second, Bucket: 256 * units.MiB, FirstBucket: units.MiB, Overlap: true,
			Parallel: Parallel{Tensor: 8, Pipeline: 8, Data: 16, Expert: tt.experts, MicroBatch: 1, MicroBatches: 4, ZeRO: tt.zero, Sequence: tt.sequence},
		}
		if tt.experts > 1 {
			j.Model.MoELayers, j.Model.TopK = 48, 2
		}
		program, err := j.Program()
		if err != nil {
			t.Fatal(err)
		}
		var sent [Dimensions]float64
		var compute units.Time
		for i, o := range program.Operations {
			for _, a := range o.After {
				if int(a) >= i {
					t.Fatalf("%s: operation %d waits for %d", tt.name, i, a)
				}
			}
			switch o.Kind {
			case Compute:
				compute += o.Time
			case Collective:
				sent[o.Dimension] += ringBytes(o.Op, j.Parallel.Ways(o.Dimension), float64(o.Bytes))
			case Transfer:
				if o.Name != "fill and drain" {
					sent[Pipeline] += float64(o.Bytes)
				}
			case Bubble: // (p-1)/m of compute: V64
				near(t, tt.name+": bubble", o.Time.Seconds(), 7./4, 1e-6)
			}
		}
		want := j.Model.Volume(&j.Parallel)
		data := want.Data
		if tt.zero == 3 {
			data = want.ZeRO3
		}
		near(t, tt.name+": tensor", sent[Tensor], want.Tensor, 1e-9)
		near(t, tt.name+": pipeline", sent[Pipeline], want.Pipeline, 1e-9)
		near(t, tt.name+": data", sent[Data], data, 1e-6)
		if tt.experts > 1 {
			near(t, tt.name+": experts", sent[Expert], want.Expert, 1e-9)
		}
		near(t, tt.name+": compute", compute.Seconds(), 1, 1e-6)
	}
}

// Buckets partition the gradients; PyTorch's first one is 1 MiB.
func TestBuckets(t *testing.T) {
	j := Job{Model: Model{Parameters: 25.6e6, Bytes: 4}, Bucket: 25 * units.MiB, FirstBucket: units.MiB, Parallel: Parallel{Tensor: 1, Pipeline: 1}}
	got := j.Buckets()
	want := []units.Bytes{1 << 20, 25 << 20, 25 << 20, 25 << 20, 102400000 - 76<<20}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// Groups of Megatron-LM's order for two stages, two copies, two tensor ways.
func TestGroups(t *testing.T) {
	p := Parallel{Tensor: 2, Pipeline: 2, Data: 2, Expert: 2}
	for d, want := range [Dimensions][][]int{
		Tensor:   {{0, 1}, {2, 3}, {4, 5}, {6, 7}},
		Data:     {{0, 2}, {1, 3}, {4, 6}, {5, 7}},
		Expert:   {{0, 2}, {1, 3}, {4, 6}, {5, 7}},
		Pipeline: {{0, 4}, {1, 5}, {2, 6}, {3, 7}},
	} {
		if got := p.Groups(Dimension(d)); !slices.EqualFunc(got, want, slices.Equal[[]int]) {
			t.Errorf("%v: got %v, want %v", Dimension(d), got, want)
		}
	}
}

// Llama 3 405B: 8192-token sequences take 3 x (2 P + 4 l h s) operations a token,
// 2.63e12 of them for parameters and attention together.
func TestComputeTime(t *testing.T) {
	m, ok := Preset("llama3-405b")
	if !ok {
		t.Fatal("no preset")
	}
	near(t, "operations a token", m.FLOPs(1)/8192, 2.633e12, 0.001)
	j := Job{Model: m, Parallel: Parallel{Tensor: 8, Pipeline: 16, Data: 128, MicroBatch: 1, MicroBatches: 16}}
	// 16 M tokens on 16,384 H100 at 40 % of 989 TFLOP/s.
	near(t, "step", j.ComputeTime("h100", 0.4).Seconds(), 16777216*2.633e12/16384/(0.4*989e12), 0.001)
	if _, ok := Preset("gpt-4"); ok {
		t.Error("a model that nobody knows")
	}
}
