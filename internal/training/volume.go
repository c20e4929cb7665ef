// Package training says what a training step sends: the collectives of each
// dimension of parallelism and their sizes.
package training

// Model is a network as far as its traffic and its compute depend on it. Layers,
// Hidden and Sequence are 0 for one that is not a transformer.
type Model struct {
	Name       string
	Parameters float64 // of the whole model
	// ForwardFLOPs are the floating-point operations of one sample's forward
	// pass, for models whose parameters do not say it; 0: computed.
	ForwardFLOPs float64

	Layers    int
	Hidden    int     // h
	Sequence  int     // s: tokens of one sample
	MoELayers int     // of the layers, those with experts
	TopK      float64 // experts that a token visits
	Bytes     float64 // of one value: 2 for half precision
}

// Parallel says how a step is divided.
type Parallel struct {
	Tensor, Pipeline, Data, Expert int  // ways; Expert divides Data
	Sequence                       bool // sequence parallelism within the tensor groups
	ZeRO                           int  // stage, 0 to 3
	Interleave                     int  // virtual stages of a pipeline stage; 0 is taken as 1
	MicroBatch                     int  // samples of one micro-batch
	MicroBatches                   int  // of one step and pipeline
	ScatterGather                  bool // pipeline stages exchange shares of tensors
}

// Payload returns the activations of one micro-batch in bytes, b·s·h·dtype:
// what a tensor-parallel all_reduce works on, and what a pipeline stage hands
// to the next.
func (m *Model) Payload(p *Parallel) float64 {
	return float64(p.MicroBatch) * float64(m.Sequence) * float64(m.Hidden) * m.Bytes
}

// Volume holds the bytes that one GPU sends in one step, by dimension.
type Volume struct {
	Tensor, Pipeline, Data, ZeRO3, Expert float64
}

// Volume returns the bytes that one GPU sends in one step (Megatron-LM 2019
// and 2021, ZeRO 2020), on rings:
//
//   - Tensor: four all_reduces of the payload for each layer of the stage and
//     micro-batch. Sequence parallelism makes each a reduce_scatter and an
//     all_gather of the same bytes.
//   - Pipeline: the payload to each neighbour stage and micro-batch, forward
//     activations and backward gradients together for an inner stage.
//   - Data: one all_reduce of the GPU's gradients. ZeRO3: a reduce_scatter and
//     two all_gathers instead.
//   - Expert: two all_to_alls for each expert layer of the stage, pass (forward
//     and backward) and micro-batch.
func (m *Model) Volume(p *Parallel) Volume {
	ring := func(n int) float64 { return float64(n-1) / float64(n) }
	layers := float64(m.Layers) / float64(p.Pipeline)
	batches := float64(p.MicroBatches)
	payload := m.Payload(p)
	own := m.Parameters / float64(p.Tensor*p.Pipeline) * m.Bytes
	v := Volume{
		Tensor: 4 * layers * batches * 2 * ring(p.Tensor) * payload,
		Data:   2 * ring(p.Data) * own,
		ZeRO3:  3 * ring(p.Data) * own,
		Expert: 2 * 2 * float64(m.MoELayers) / float64(p.Pipeline) * batches * m.TopK * payload * ring(p.Expert),
	}
	if p.Pipeline > 1 {
		v.Pipeline = 2 * batches * payload
		if p.ScatterGather {
			v.Pipeline /= float64(p.Tensor)
		}
	}
	return v
}

// Bubble returns the idle share of a pipeline over its busy time: (p-1)/m.
func (p *Parallel) Bubble() float64 {
	return float64(p.Pipeline-1) / float64(p.MicroBatches)
}
