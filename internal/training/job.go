package training

import (
	"fmt"

	"weir/internal/collective"
	"weir/units"
)

// Job is a training job: what one step computes and sends.
type Job struct {
	Model    Model
	Parallel Parallel

	// Compute is what one GPU computes in one step, forward and backward pass
	// and update together, without any communication and before Inflation.
	Compute   units.Time
	Inflation float64 // factor on Compute that the file names; 0 is taken as 1

	Bucket      units.Bytes // of gradients reduced together
	FirstBucket units.Bytes // the one that is ready first; 0: like the others
	Overlap     bool        // buckets are reduced while the backward pass goes on

	DataSet int64 // samples of one epoch; 0: not given
	Steps   int   // how many steps are run; 0 is taken as 1

	// Workload names a file that says what a step does instead of Model, and
	// Read is what it said.
	Workload string
	Read     *Program
}

// Samples returns how many samples one step takes over all GPUs.
func (j *Job) Samples() int64 {
	p := &j.Parallel
	return int64(p.Data) * int64(p.MicroBatch) * int64(p.MicroBatches)
}

// GPUs returns how many GPUs the job takes.
func (p *Parallel) GPUs() int { return p.Tensor * p.Pipeline * p.Data }

// Computing returns the compute time of a step with its inflation.
func (j *Job) Computing() units.Time {
	if j.Inflation > 0 {
		return units.Time(float64(j.Compute)*j.Inflation + 0.5)
	}
	return j.Compute
}

// Dimension is a way to divide a step.
type Dimension uint8

// The dimensions, innermost first: tensor neighbours are next to each other.
const (
	Tensor Dimension = iota
	Expert
	Data
	Pipeline
)

// Dimensions is how many there are.
const Dimensions = 4

// String returns "tensor" ...
func (d Dimension) String() string {
	return [...]string{"tensor", "expert", "data", "pipeline"}[min(d, Pipeline)]
}

// Kind says what an operation of a Program is.
type Kind uint8

// The kinds. A Transfer goes from each pipeline stage to the next. A Bubble is
// time in which a stage of a pipeline has nothing to compute.
const (
	Compute Kind = iota
	Collective
	Transfer
	Bubble
)

// Operation is one operation of a GPU in a step.
type Operation struct {
	Name  string
	Kind  Kind
	Time  units.Time // of Compute; of Bubble: at least
	After []int32    // earlier operations that must have ended

	// Of Collective and Transfer.
	Dimension Dimension
	Op        collective.Op
	Bytes     units.Bytes // as nccl-tests states sizes: of the larger of a rank's two buffers

	// Of Bubble: Repeat times the duration of each of Like, communication that
	// other stages wait for while this one idles, is added to Time.
	Like   []int32
	Repeat float64
}

// Program is one step as every GPU runs it. Compute and Bubble operations run
// one after the other in the order of the list; so do the communications of a
// dimension, beside them and beside other dimensions.
type Program struct {
	Operations []Operation
}

// maxOperations bounds a step.
const maxOperations = 1 << 20

// Check refuses a job that cannot be run. Errors name the setting.
func (j *Job) Check() error {
	p := &j.Parallel
	switch {
	case j.Compute <= 0:
		return fmt.Errorf("no compute time: give compute, or a model and GPU whose speed is known")
	case p.Pipeline > 1 && j.Model.Layers < p.Pipeline:
		return fmt.Errorf("%d pipeline stages for a model of %d layers", p.Pipeline, j.Model.Layers)
	case p.Tensor > 1 && j.Model.Layers == 0:
		return fmt.Errorf("tensor parallelism %d for a model without layers", p.Tensor)
	case p.Expert > 1 && j.Model.MoELayers == 0:
		return fmt.Errorf("expert parallelism %d for a model without expert layers", p.Expert)
	case p.Expert > 1 && p.Data%p.Expert != 0:
		return fmt.Errorf("expert parallelism %d does not divide data parallelism %d", p.Expert, p.Data)
	}
	layers := max(j.stageLayers(), 1)
	if n := 12 * float64(layers) * float64(p.MicroBatches); n > maxOperations/2 {
		return fmt.Errorf("%d micro-batches of %d layers a stage: more than %d operations a step", p.MicroBatches, layers, maxOperations/2)
	}
	if n := j.gradientBytes() / float64(max(j.Bucket, 1)); n > maxOperations/8 {
		return fmt.Errorf("buckets of %v: more than %d of them", j.Bucket, maxOperations/8)
	}
	return nil
}

// stageLayers returns the layers of the largest pipeline stage.
func (j *Job) stageLayers() int {
	return (j.Model.Layers + j.Parallel.Pipeline - 1) / j.Parallel.Pipeline
}

// gradientBytes returns the gradients of one GPU.
func (j *Job) gradientBytes() float64 {
	return j.Model.Parameters / float64(j.Parallel.Tensor*j.Parallel.Pipeline) * j.Model.Bytes
}

// Buckets returns the sizes of the gradient buckets in the order in which the
// backward pass fills them.
func (j *Job) Buckets() []units.Bytes {
	left := units.Bytes(j.gradientBytes())
	size := j.Bucket
	if size <= 0 {
		size = left
	}
	next := size
	if j.FirstBucket > 0 {
		next = j.FirstBucket
	}
	var out []units.Bytes
	for left > 0 {
		b := min(next, left)
		out = append(out, b)
		left -= b
		next = size
	}
	return out
}
