package acceptance

import (
	"fmt"
	"slices"

	"weir/internal/answer/audit"
	"weir/internal/answer/diagnosis"
	"weir/internal/cause"
	"weir/internal/cluster"
)

// The steps, in their order.
const (
	StepPreflight   = "preflight"
	StepPairs       = "pairs"
	StepGPUDirect   = "gpudirect"
	StepCollectives = "collectives"
)

// StepNames lists the steps in their order.
func StepNames() []string {
	return []string{StepPreflight, StepPairs, StepGPUDirect, StepCollectives}
}

// Options say how results are judged.
type Options struct {
	// Asked are the steps that were asked for by name: without evidence they
	// are incomplete. With none, steps without evidence are skipped.
	Asked []string
	// Absolute: the rates are the network's (perftest), not the hosts'.
	Absolute bool
	// Planned is how many tests each step should have; 0: not known.
	Planned map[string]int
}

// Judge judges everything that a directory of results has. evidence is what
// the same files say of hosts and switches.
func Judge(c *cluster.Cluster, results *Results, evidence *audit.Evidence, catalogue *cause.Catalogue, o Options) (*Report, error) {
	r := &Report{Cluster: c.Name, Unplaced: results.Unplaced, NotRead: results.NotRead}
	found := byStep(diagnosis.Run(evidence.Facts, catalogue, cause.English).Findings, results, catalogue)

	preflight, err := judgePreflight(c, evidence, found[StepPreflight], catalogue)
	if err != nil {
		return nil, err
	}
	var pairs StepReport
	if between := bandwidths(results.Pairs); len(between) > 0 || o.Planned[StepPairs] > 0 {
		if pairs, r.Pairs, r.Suspects, err = JudgePairs(c, between, o.Absolute, o.Planned[StepPairs]); err != nil {
			return nil, err
		}
	} else {
		pairs = StepReport{Name: StepPairs, Verdict: Skipped, Summary: "no result of a test between two NICs."}
	}
	gpudirect, direct, err := JudgeGPUDirect(c, results.Pairs, evidence.Facts, o.Planned[StepGPUDirect])
	if err != nil {
		return nil, err
	}
	r.GPUDirect = direct
	collectives := StepReport{Name: StepCollectives, Verdict: Skipped, Summary: "no result of nccl-tests."}
	if len(results.Collectives) > 0 || o.Planned[StepCollectives] > 0 {
		collectives, r.Collectives = JudgeCollectives(c, results.Collectives, o.Planned[StepCollectives])
	}
	for _, step := range []*StepReport{&pairs, &gpudirect, &collectives} {
		for _, f := range found[step.Name] {
			step.Findings = append(step.Findings, f.Finding)
		}
		// A diagnosis of what is not judged otherwise is still no pass.
		if step.Verdict != Skipped || len(step.Findings) > 0 {
			step.Verdict = worse(step.Verdict, verdictOf(step.Findings))
		}
	}
	for _, step := range []StepReport{preflight, pairs, gpudirect, collectives} {
		if len(o.Asked) > 0 && !slices.Contains(o.Asked, step.Name) {
			continue
		}
		if step.Verdict == Skipped && slices.Contains(o.Asked, step.Name) {
			step.Verdict = Incomplete
		}
		step.Commands = commands(results.Records, step.Name)
		r.Steps = append(r.Steps, step)
	}
	r.Finish()
	return r, nil
}

// bandwidths leaves out the tests of GPUDirect.
func bandwidths(all []PairResult) []PairResult {
	var out []PairResult
	for i := range all {
		if all[i].Pass != HostBuffers && all[i].Pass != GPUBuffers {
			out = append(out, all[i])
		}
	}
	return out
}

// byStep gives each finding of the diagnosis to the step whose files show it.
func byStep(all []diagnosis.Finding, results *Results, catalogue *cause.Catalogue) map[string][]diagnosis.Finding {
	of := map[string]string{}
	for i := range results.Pairs {
		of[results.Pairs[i].Source] = StepPairs
	}
	for i := range results.Collectives {
		of[results.Collectives[i].Source] = StepCollectives
	}
	out := map[string][]diagnosis.Finding{}
	for _, f := range all {
		step := StepPreflight
		if c, ok := catalogue.Find(f.Cause); ok && c.Group == "gpudirect" {
			step = StepGPUDirect
		} else if len(f.Evidence) > 0 && of[f.Evidence[0].Source] != "" {
			step = of[f.Evidence[0].Source]
		}
		out[step] = append(out[step], f)
	}
	return out
}

// commands lists what was run in a step.
func commands(records []Record, step string) []string {
	var out []string
	for i := range records {
		if r := &records[i]; r.Step == step && r.Command != "" {
			host := r.From
			if host == "" {
				host = fmt.Sprintf("%d nodes %s", r.Nodes, r.Pass)
			}
			out = append(out, host+": "+r.Command)
		}
	}
	return out
}
