package training

import (
	"math"
	"testing"
)

// gpt3 is GPT-3 175B.
var gpt3 = Model{Parameters: 175e9, Layers: 96, Hidden: 12288, Sequence: 2048, Bytes: 2}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.Abs(got/want-1) > tolerance {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Validation row V63: payload of a tensor-parallel all_reduce.
func TestPayload(t *testing.T) {
	near(t, "payload", gpt3.Payload(&Parallel{MicroBatch: 1}), 50331648, 0)
}

// Validation row V64: GPT-3, t = p = 8, half precision.
func TestVolume(t *testing.T) {
	for d, want := range map[int]float64{8: 9.57e9, 16: 10.25e9, 64: 10.77e9} {
		p := Parallel{Tensor: 8, Pipeline: 8, Data: d, Expert: 1, MicroBatch: 1, MicroBatches: 32}
		v := gpt3.Volume(&p)
		near(t, "data parallel", v.Data, want, 0.001)
		near(t, "ZeRO-3", v.ZeRO3, 1.5*want, 0.001)
		// 4 x 12 layers x 32 micro-batches x 2 x 7/8 x 50 331 648 B.
		near(t, "tensor parallel", v.Tensor, 135291469824, 1e-12)
		// 2 x 32 x 50 331 648 B.
		near(t, "pipeline", v.Pipeline, 3221225472, 1e-12)
		if v.Expert != 0 {
			t.Errorf("experts in a dense model: %v", v.Expert)
		}
	}
	p := Parallel{Tensor: 8, Pipeline: 8, Data: 8, Expert: 8, MicroBatch: 1, MicroBatches: 4, ScatterGather: true}
	moe := gpt3
	moe.MoELayers, moe.TopK = 48, 2
	v := moe.Volume(&p)
	near(t, "pipeline with scatter", v.Pipeline, 50331648, 1e-12)
	// 6 expert layers x 4 all_to_alls x 4 micro-batches x 2 experts x 50 331 648 B x 7/8.
	near(t, "experts", v.Expert, 8455716864, 1e-12)
	near(t, "bubble", p.Bubble(), 7./4, 1e-12)
}
