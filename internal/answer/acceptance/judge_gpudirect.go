package acceptance

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/answer/expect"
	"weir/internal/cluster"
	"weir/internal/fact"
)

// Passes of the GPUDirect step: buffers in the hosts' memory, and in GPUs'.
const (
	HostBuffers = "gpudirect-host"
	GPUBuffers  = "gpudirect-gpu"
)

// Limits of the ratio of bandwidths with and without GPU buffers. GPUDirect RDMA
// takes the same way over the same slot: on a healthy node there is no
// difference that the noise of either test does not have.
const (
	ratioWarn = 0.95
	ratioFail = 0.80
)

// A GPUDirectReport is one pair of NICs with buffers in GPUs.
type GPUDirectReport struct {
	From     string  `json:"from"`
	To       string  `json:"to"`
	GPU      float64 `json:"gpu_gbits_per_s,omitempty"`
	Host     float64 `json:"host_gbits_per_s,omitempty"`
	Expected float64 `json:"expected_gbits_per_s"`
	Ratio    float64 `json:"ratio,omitempty"`
	// Path is the way between the NIC and its nearest GPU at the sender, as
	// nvidia-smi topo prints it.
	Path    string  `json:"path,omitempty"`
	Verdict Verdict `json:"verdict"`
	Error   string  `json:"error,omitempty"`
	Source  string  `json:"source,omitempty"`
}

// JudgeGPUDirect judges bandwidths with GPU buffers against those without, and
// what NCCL's channel lines say. It is skipped where nothing speaks of
// GPUDirect.
func JudgeGPUDirect(c *cluster.Cluster, results []PairResult, facts []fact.Fact, planned int) (StepReport, []GPUDirectReport, error) {
	step := StepReport{Name: StepGPUDirect, Verdict: Skipped}
	type key struct{ from, to cluster.NICRef }
	hosts := map[key]float64{}
	for i := range results {
		r := &results[i]
		// The same pair tested alone is as good a reference.
		if r.Error == "" && r.Rate > 0 && r.Pass != GPUBuffers && r.Pass != Together {
			k := key{r.From, r.To}
			if _, own := hosts[k]; !own || r.Pass == HostBuffers {
				hosts[k] = r.Rate
			}
		}
	}
	var out []GPUDirectReport
	var ratios []float64
	bad := 0
	for i := range results {
		r := &results[i]
		if r.Pass != GPUBuffers {
			continue
		}
		want, err := expect.Between(c, r.From, r.To)
		if err != nil {
			return step, nil, err
		}
		limits := want.Limits()
		p := GPUDirectReport{From: NICName(c, r.From), To: NICName(c, r.To), GPU: r.Rate / 1e9, Host: hosts[key{r.From, r.To}] / 1e9,
			Expected: want.Gbps, Path: pathOf(c, r.From, facts), Error: r.Error, Source: r.Source, Verdict: Pass}
		if p.Host > 0 && p.GPU > 0 {
			p.Ratio = p.GPU / p.Host
			ratios = append(ratios, p.Ratio)
		}
		switch {
		case p.Error != "" || p.GPU == 0:
			p.Verdict, p.Error = Fail, first(p.Error, "no bandwidth")
		case p.GPU < limits.Fail || p.Ratio > 0 && p.Ratio < ratioFail:
			p.Verdict = Fail
		case p.GPU < limits.Warn || p.Ratio > 0 && p.Ratio < ratioWarn:
			p.Verdict = Warn
		}
		if p.Verdict == Fail {
			bad++
		}
		step.Verdict = worse(step.Verdict, p.Verdict)
		out = append(out, p)
	}
	with, without := channels(facts)
	var texts []string
	if len(out) > 0 {
		texts = append(texts, fmt.Sprintf("%d pairs with GPU buffers, %d failed or below the limit", len(out), bad))
	}
	if len(ratios) > 0 {
		slices.Sort(ratios)
		texts = append(texts, fmt.Sprintf("%.2f of the bandwidth of host buffers in the median, %.2f at least", ratios[len(ratios)/2], ratios[0]))
		step.Measured = map[string]float64{"ratio_median": ratios[len(ratios)/2], "ratio_min": ratios[0]}
		step.Expected = map[string]float64{"ratio_warn_below": ratioWarn, "ratio_fail_below": ratioFail}
	}
	if with+without > 0 {
		texts = append(texts, fmt.Sprintf("NCCL's network channels: %d logs with GDRDMA throughout, %d without", with, without))
		step.Verdict = worse(step.Verdict, Pass)
		if without > 0 {
			step.Verdict = Fail
		}
	}
	if len(out) < planned {
		step.Verdict = worse(step.Verdict, Incomplete)
		texts = append(texts, fmt.Sprintf("%d of %d tests", len(out), planned))
	}
	step.Summary = strings.Join(texts, "; ") + "."
	if len(texts) == 0 {
		step.Summary = "nothing speaks of GPUDirect RDMA."
	}
	return step, out, nil
}

// channels counts the logs whose network channels all use GPUDirect RDMA, and
// those in which some do not.
func channels(facts []fact.Fact) (with, without int) {
	for i := range facts {
		if f := &facts[i]; f.Key == "nccl.gdrdma" {
			switch on, ok := f.Value.Bool(); {
			case ok && on:
				with++
			case ok:
				without++
			}
		}
	}
	return with, without
}

// pathOf is the way from a NIC to its nearest GPU on its host.
func pathOf(c *cluster.Cluster, r cluster.NICRef, facts []fact.Fact) string {
	host, nic := c.Nodes[c.Hosts[r.Host].Node].Name, nic(c, r)
	if nic.GPU < 0 {
		return ""
	}
	index := "" // of the NIC in the host's matrix
	for i := range facts {
		f := &facts[i]
		if n, ok := strings.CutPrefix(f.Key, "topo.nic."); ok && f.Subject.Host+f.Subject.Name == host && f.Value.String() == nic.Device {
			index = n
		}
	}
	if index == "" {
		return ""
	}
	for i := range facts {
		f := &facts[i]
		if f.Subject.Kind == fact.GPU && f.Subject.Host == host && f.Subject.Name == fmt.Sprint(nic.GPU) && f.Key == "topo.path.NIC"+index {
			return f.Value.String()
		}
	}
	return ""
}
