package training

import "weir/units"

// peaks are the dense half-precision peaks of GPUs in FLOP/s, from their data
// sheets, by the names of the hardware catalogue.
var peaks = map[string]float64{
	"v100": 125e12, "a100": 312e12, "h100": 989e12, "h200": 989e12, "b200": 2250e12, "mi300x": 1307e12,
}

// FLOPs returns the floating-point operations of one step over all GPUs: three
// times the forward pass, which takes two for each parameter and token, and
// four for each pair of tokens, layer and hidden unit in attention (Megatron-LM
// 2021). 0: the model does not say.
func (m *Model) FLOPs(samples int64) float64 {
	forward := m.ForwardFLOPs
	if forward == 0 {
		tokens := float64(m.Sequence)
		forward = tokens * (2*m.Parameters + 4*float64(m.Layers)*float64(m.Hidden)*tokens)
	}
	return 3 * forward * float64(samples)
}

// ComputeTime returns how long one GPU of the job computes in a step at a share
// of its peak; 0 where the model or the GPU is not known well enough. Single
// precision runs at half the peak.
func (j *Job) ComputeTime(gpu string, efficiency float64) units.Time {
	peak := peaks[gpu] * efficiency
	if j.Model.Bytes > 2 {
		peak /= 2
	}
	flops := j.Model.FLOPs(j.Samples())
	if peak <= 0 || flops <= 0 {
		return 0
	}
	return units.Time(flops / float64(j.Parallel.GPUs()) / peak * float64(units.Second))
}
