package perf

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"weir/rnic"
)

// Result is what a test found. Rates are of the direction from the client;
// with Spec.Both, of both directions together.
type Result struct {
	Schema     string        `json:"schema"` // "weir.perf/1"
	Spec       Spec          `json:"spec"`
	Peer       string        `json:"peer"`
	Iterations int           `json:"iterations"` // messages, of all queue pairs
	Bytes      int64         `json:"bytes"`
	Elapsed    time.Duration `json:"elapsed_ns"`
	// Peak is the best rate over a tenth of a second, or the whole if it is shorter.
	PeakBytesPerSecond float64       `json:"peak_bytes_per_second"`
	BytesPerSecond     float64       `json:"bytes_per_second"`
	MessagesPerSecond  float64       `json:"messages_per_second"`
	Latency            *Latency      `json:"latency,omitempty"`
	Client, Server     Cost          `json:"-"`
	Costs              []Cost        `json:"costs,omitempty"`
	Counters           rnic.Counters `json:"counters"` // of this side's device
}

// Cost is what a side spent.
type Cost struct {
	Side          string  `json:"side"`
	CPUSeconds    float64 `json:"cpu_seconds"`
	CPUShare      float64 `json:"cpu_share"` // of one processor
	CyclesPerByte float64 `json:"cycles_per_byte"`
	// ClockHz is the processor's nominal rate, with which cycles are computed from
	// processor time.
	ClockHz float64 `json:"clock_hz"`
}

// Latency is the distribution of a latency test, in microseconds.
type Latency struct {
	Min     float64 `json:"min_us"`
	Max     float64 `json:"max_us"`
	Typical float64 `json:"typical_us"` // the median
	Average float64 `json:"average_us"`
	Stdev   float64 `json:"stdev_us"`
	P99     float64 `json:"p99_us"`
	P999    float64 `json:"p999_us"`
}

// summarize returns the distribution of samples, which it sorts; nil for none.
func summarize(samples []time.Duration) *Latency {
	if len(samples) == 0 {
		return nil
	}
	slices.Sort(samples)
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	var sum, squares float64
	for _, d := range samples {
		sum += us(d)
	}
	mean := sum / float64(len(samples))
	for _, d := range samples {
		squares += (us(d) - mean) * (us(d) - mean)
	}
	at := func(share float64) float64 {
		return us(samples[min(len(samples)-1, int(math.Ceil(share*float64(len(samples))))-1)])
	}
	return &Latency{
		Min: us(samples[0]), Max: us(samples[len(samples)-1]), Typical: at(0.5), Average: mean,
		Stdev: math.Sqrt(squares / float64(len(samples))), P99: at(0.99), P999: at(0.999),
	}
}

// cost returns what a side spent between two readings of the process.
func cost(side string, cpu, elapsed time.Duration, bytes int64) Cost {
	c := Cost{Side: side, CPUSeconds: cpu.Seconds(), ClockHz: clockHz()}
	if elapsed > 0 {
		c.CPUShare = cpu.Seconds() / elapsed.Seconds()
	}
	if bytes > 0 {
		c.CyclesPerByte = cpu.Seconds() * c.ClockHz / float64(bytes)
	}
	return c
}

const mib = 1 << 20 // perftest's MB

// Text writes the result in perftest's columns, and the costs below.
func (r *Result) Text(w io.Writer) error {
	dashes := "---------------------------------------------------------------------------------------"
	kind := "BW"
	if r.Spec.Latency {
		kind = "Latency"
	}
	titles := map[Op]string{Write: "RDMA_Write", Read: "RDMA_Read", Send: "Send", Atomic: "Atomic"}
	title := fmt.Sprintf("%s %s Test", titles[r.Spec.Op], kind)
	if r.Spec.Transport == TCP {
		title = "TCP " + kind + " Test"
	}
	var err error
	p := func(format string, args ...any) {
		if err == nil {
			_, err = fmt.Fprintf(w, format, args...)
		}
	}
	p("%s\n                    %s\n", dashes, title)
	p(" Peer            : %s\t\tTransport       : %s\n", r.Peer, r.Spec.Transport)
	p(" Number of qps   : %d\t\tBoth directions : %v\n", r.Spec.QPs, r.Spec.Both)
	if r.Spec.Transport == RoCEv2 {
		p(" Mtu             : %d[B]\n", r.Spec.MTU)
	}
	p("%s\n", dashes)
	if l := r.Latency; l != nil {
		p(" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99%% percentile[usec]   99.9%% percentile[usec]\n")
		p(" %-7d %d          %-7.2f        %-7.2f      %-7.2f             %-7.2f          %-7.2f           %-7.2f                 %-7.2f\n",
			r.Spec.Size, r.Iterations, l.Min, l.Max, l.Typical, l.Average, l.Stdev, l.P99, l.P999)
	} else {
		p(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n")
		p(" %-7d    %-10d       %-7.2f            %-7.2f              %-7.6f\n",
			r.Spec.Size, r.Iterations, r.PeakBytesPerSecond/mib, r.BytesPerSecond/mib, r.MessagesPerSecond/1e6)
	}
	p("%s\n", dashes)
	for _, c := range r.Costs {
		p(" %-7s CPU %6.1f %%   %.2f cycles/byte at %.2f GHz\n", c.Side+":", 100*c.CPUShare, c.CyclesPerByte, c.ClockHz/1e9)
	}
	return err
}
