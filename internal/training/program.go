package training

import (
	"fmt"

	"weir/internal/collective"
	"weir/units"
)

// backwardShare is the part of compute that the backward pass takes: twice the
// forward pass, as each weight's gradient and each input's gradient need a
// product as large as the forward one.
const backwardShare = 2. / 3

// Program lays out one step of a pipeline stage with one forward and one
// backward pass for each micro-batch in turn:
//
//   - Tensor: two all_reduces of the payload a layer and pass, which compute
//     waits for; with sequence parallelism an all_gather and a reduce_scatter
//     each.
//   - Expert: two all_to_alls for each expert layer and pass, likewise.
//   - Pipeline: the payload to the neighbour after each pass, beside compute;
//     2(p-1) more that nothing hides while the pipeline fills and drains, and
//     the bubble of p-1 micro-batches. Both stand before the last backward
//     pass: the first stage, which ends last, reduces its gradients after it.
//   - Data: a collective for each bucket of gradients that the last backward
//     pass has filled. ZeRO 1 and 2 reduce_scatter them and all_gather the
//     parameters before the forward pass; ZeRO 3 gathers them once more before
//     the backward pass. ZeRO 3 is taken to keep gathered parameters from one
//     micro-batch to the next, which makes its volume that of V64.
func (j *Job) Program() (*Program, error) {
	if j.Read != nil {
		return j.Read, nil
	}
	if j.Workload != "" {
		return nil, fmt.Errorf("workload %s has not been read", j.Workload)
	}
	if err := j.Check(); err != nil {
		return nil, err
	}
	b := &builder{job: j, buckets: j.Buckets()}
	for _, size := range b.buckets {
		b.gradients += float64(size)
	}
	p := &j.Parallel
	batches := max(p.MicroBatches, 1)
	each := float64(j.Computing()) / float64(batches)
	for i := range batches {
		b.forward(i, each*(1-backwardShare))
		if i == batches-1 && p.Pipeline > 1 {
			b.bubble(each)
		}
		b.backward(i, each*backwardShare, i == batches-1)
	}
	return &Program{b.ops}, nil
}

type builder struct {
	job       *Job
	ops       []Operation
	buckets   []units.Bytes // in the order of the backward pass
	gradients float64
	lastPiece int32   // the last compute operation
	waits     []int32 // what the next compute operation waits for
	blocking  []int32 // communications of the first forward pass that compute waits for
}

func (b *builder) add(o Operation) int32 {
	b.ops = append(b.ops, o)
	return int32(len(b.ops) - 1)
}

func (b *builder) compute(name string, t float64, after ...int32) {
	b.lastPiece = b.add(Operation{Name: name, Kind: Compute, Time: units.Time(t + 0.5), After: append(b.waits, after...)})
	b.waits = nil
}

// wait adds a communication that compute waits for.
func (b *builder) wait(name string, d Dimension, op collective.Op, bytes float64) {
	after := b.lastPiece
	if n := len(b.waits); n > 0 {
		after = b.waits[n-1]
	}
	id := b.add(Operation{Name: name, Kind: Collective, Dimension: d, Op: op, Bytes: units.Bytes(bytes), After: []int32{after}})
	b.waits = []int32{id}
}

// pieces returns in how many parts a pass of a micro-batch is computed.
func (b *builder) pieces(bucketed bool) int {
	p := &b.job.Parallel
	switch {
	case p.Tensor > 1 || p.Expert > 1:
		return 2 * b.job.stageLayers() // attention and feed-forward part
	case bucketed && p.Data > 1:
		return len(b.buckets)
	}
	return 1
}

// share returns which part of the pass a piece is: as large as its bucket
// where pieces are buckets.
func (b *builder) share(pieces, i int) float64 {
	if p := &b.job.Parallel; p.Tensor > 1 || p.Expert > 1 || pieces == 1 {
		return 1 / float64(pieces)
	}
	return float64(b.buckets[i]) / b.gradients
}

func (b *builder) forward(batch int, total float64) {
	p := &b.job.Parallel
	gathers := batch == 0 && p.ZeRO > 0 && p.Data > 1
	n := b.pieces(gathers)
	var ready []int32 // gathers, first layers first
	if gathers {
		for i := range b.buckets {
			ready = append(ready, b.data("gather", collective.AllGather, len(b.buckets)-1-i))
		}
	}
	done, from := 0., len(b.ops)
	for i := range n {
		k := i
		if n == len(b.buckets) {
			k = n - 1 - i // the forward pass meets the last bucket first
		}
		part := b.share(n, k)
		done += part
		if gathers {
			b.waits = append(b.waits, ready[b.covering(done, true)])
		}
		b.compute(fmt.Sprintf("forward %d", batch), total*part)
		b.exchange("forward", i, n)
	}
	if batch == 0 {
		for i := from; i < len(b.ops); i++ {
			if o := &b.ops[i]; o.Kind == Collective && o.Dimension != Data {
				b.blocking = append(b.blocking, int32(i))
			}
		}
	}
	b.handOver("activations")
}

func (b *builder) backward(batch int, total float64, last bool) {
	p := &b.job.Parallel
	reduces := last && p.Data > 1
	n := b.pieces(reduces)
	var ready []int32
	if reduces && p.ZeRO == 3 {
		for i := range b.buckets {
			ready = append(ready, b.data("gather", collective.AllGather, i))
		}
	}
	done, released := 0., 0
	for i := range n {
		part := b.share(n, i)
		done += part
		if ready != nil {
			b.waits = append(b.waits, ready[b.covering(done, false)])
		}
		b.compute(fmt.Sprintf("backward %d", batch), total*part)
		b.exchange("backward", i, n)
		for reduces && b.job.Overlap && released < len(b.buckets) && (i == n-1 || released < b.filled(done)) {
			b.reduce(released)
			released++
		}
	}
	for reduces && released < len(b.buckets) {
		b.reduce(released)
		released++
	}
	b.handOver("gradients")
}

// covering returns the bucket in which a part of the pass ends, counted from
// the first layer or from the last.
func (b *builder) covering(part float64, forward bool) int {
	sum := 0.
	for i := range b.buckets {
		k := i
		if forward {
			k = len(b.buckets) - 1 - i
		}
		sum += float64(b.buckets[k])
		if sum >= part*b.gradients*(1-1e-9) {
			return i
		}
	}
	return len(b.buckets) - 1
}

// filled returns how many buckets a part of the backward pass has filled.
func (b *builder) filled(part float64) int {
	sum := 0.
	for i := range b.buckets {
		sum += float64(b.buckets[i])
		if sum > part*b.gradients*(1+1e-9) {
			return i
		}
	}
	return len(b.buckets)
}

// reduce adds the collective of a bucket.
func (b *builder) reduce(i int) {
	op := collective.AllReduce
	if b.job.Parallel.ZeRO > 0 {
		op = collective.ReduceScatter
	}
	id := b.data("gradients", op, i)
	b.ops[id].After = []int32{b.lastPiece}
}

func (b *builder) data(name string, op collective.Op, bucket int) int32 {
	return b.add(Operation{Name: fmt.Sprintf("%s %d", name, bucket), Kind: Collective, Dimension: Data, Op: op, Bytes: b.buckets[bucket]})
}

// exchange adds what compute waits for after piece i of n of a pass.
func (b *builder) exchange(pass string, i, n int) {
	j := b.job
	p := &j.Parallel
	payload := j.Model.Payload(p)
	if p.Tensor > 1 {
		if p.Sequence {
			b.wait(pass, Tensor, collective.AllGather, payload)
			b.wait(pass, Tensor, collective.ReduceScatter, payload)
		} else {
			b.wait(pass, Tensor, collective.AllReduce, payload)
		}
	}
	// Expert layers are spread evenly over the feed-forward parts.
	layer, layers := i/2, n/2
	experts := (j.Model.MoELayers + p.Pipeline - 1) / p.Pipeline
	if p.Expert > 1 && i%2 == 1 && (layer+1)*experts/layers > layer*experts/layers {
		for range 2 {
			b.wait(pass, Expert, collective.AllToAll, j.Model.TopK*payload)
		}
	}
}

// handOver adds the transfer to the next stage, beside compute.
func (b *builder) handOver(name string) {
	p := &b.job.Parallel
	if p.Pipeline == 1 {
		return
	}
	for range max(p.Interleave, 1) {
		b.add(Operation{Name: name, Kind: Transfer, Dimension: Pipeline, Bytes: b.boundary(), After: []int32{b.lastPiece}})
	}
}

// boundary returns the bytes between two stages for one micro-batch.
func (b *builder) boundary() units.Bytes {
	p := &b.job.Parallel
	v := b.job.Model.Payload(p)
	if p.ScatterGather {
		v /= float64(p.Tensor)
	}
	return units.Bytes(v)
}

// bubble adds the time of an idle stage while the pipeline fills and drains,
// and the transfers that nothing hides then.
func (b *builder) bubble(each float64) {
	p := &b.job.Parallel
	idle := float64(p.Pipeline-1) / float64(max(p.Interleave, 1))
	b.lastPiece = b.add(Operation{
		Name: "bubble", Kind: Bubble, Time: units.Time(idle*each + 0.5), After: b.waits,
		Like: b.blocking, Repeat: 2 * idle,
	})
	b.waits = nil
	after := b.lastPiece
	for range 2 * (p.Pipeline - 1) {
		after = b.add(Operation{Name: "fill and drain", Kind: Transfer, Dimension: Pipeline, Bytes: b.boundary(), After: []int32{after}})
	}
	b.waits = []int32{after}
}
