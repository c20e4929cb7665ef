package training

import "fmt"

// Ranks are numbered as Megatron-LM does: tensor neighbours first, then data,
// then pipeline stages. An expert group is a run of neighbours in the data
// dimension.

// Groups returns the ranks of each group of a dimension, which all communicate
// at the same time. Of Pipeline, a group holds the stages of one pipeline in
// order.
func (p *Parallel) Groups(d Dimension) [][]int {
	var groups [][]int
	switch d {
	case Tensor:
		for first := 0; first < p.GPUs(); first += p.Tensor {
			groups = append(groups, run(first, 1, p.Tensor))
		}
	case Expert:
		for stage := range p.Pipeline {
			for data := 0; data < p.Data; data += p.Expert {
				for t := range p.Tensor {
					groups = append(groups, run(t+p.Tensor*(data+p.Data*stage), p.Tensor, p.Expert))
				}
			}
		}
	case Data:
		for stage := range p.Pipeline {
			for t := range p.Tensor {
				groups = append(groups, run(t+p.Tensor*p.Data*stage, p.Tensor, p.Data))
			}
		}
	case Pipeline:
		for r := range p.Tensor * p.Data {
			groups = append(groups, run(r, p.Tensor*p.Data, p.Pipeline))
		}
	}
	return groups
}

// Ways returns how many ranks a group of a dimension has.
func (p *Parallel) Ways(d Dimension) int {
	return [...]int{p.Tensor, p.Expert, p.Data, p.Pipeline}[d]
}

// Fit refuses a program that communicates in a dimension that the job does not
// have.
func (p *Program) Fit(by *Parallel) error {
	for i := range p.Operations {
		o := &p.Operations[i]
		if o.Kind != Compute && o.Kind != Bubble && by.Ways(o.Dimension) < 2 {
			return fmt.Errorf("%s communicates in the %s dimension, and the job has %s: %d", o.Name, o.Dimension, o.Dimension, by.Ways(o.Dimension))
		}
	}
	return nil
}

func run(first, stride, n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = first + i*stride
	}
	return out
}
