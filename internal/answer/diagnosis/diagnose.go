package diagnosis

import (
	"slices"

	"weir/internal/cause"
	"weir/internal/fact"
	"weir/internal/finding"
)

// Threshold is the confidence below which nothing is said.
const Threshold = 0.3

// settled is the confidence from which a claim explains its symptoms so well
// that no further facts are asked for.
const settled = 0.8

// A Finding is one cause with what speaks against it, beyond the common form.
type Finding struct {
	finding.Finding
	Against []finding.Evidence `json:"evidence_against,omitempty"`
	Verify  string             `json:"verify,omitempty"` // what shows that the repair worked
}

// A Missing is a fact that would settle a cause.
type Missing struct {
	Cause   string `json:"cause"`
	Fact    string `json:"fact"`
	Command string `json:"command"`
}

// A Result is the answer: findings, most sure first, what an error in the logs
// means, and what is missing to decide further.
type Result struct {
	Findings []Finding          `json:"findings"`
	Symptoms []finding.Evidence `json:"symptoms,omitempty"`
	Missing  []Missing          `json:"missing_facts"`
}

// A rule looks at the facts of one cause or family of causes.
type rule func(*index, *verdict)

// rules in the order of the questions.
var rules = [...]rule{
	envTypo, gidIndexWrong, gidTableSparse, lateTable, gidTableEmpty, gidIndexMoved, roceVersion,
	sameSubnet, railMismatch, movedNames, nicOrder, pathUnreachable,
	hcaPrefix, hcaLayers, hcaDown, hcaNoEntry, hcaAddresses, hcaSpeeds, portMerge, socketFallback, containerDevice, memlock, pluginMismatch, driverMismatch,
	acs, ats, gdrModule, gdrDistance, pcieLinks, relaxedOrdering, topoFar, topoFile,
	mtu,
	curedBy, lag, fewPairs, flows, slowTests,
	defaultPriority, unmarked, pfcSettings, headroomDiffers, ecnSettings, thresholdsDiffer, congestionControl, recoverySettings, cnpQueue, cnpPriority, copied, oddPeermem,
	linkFlap, linkSpeed, linkErrors, cabling, crossed,
	slowReceiver, globalPause, storm, pauseRoot, watchdog, receiverNotReady, loss, vanished, unheard, marksAndPause, incast, sisters, pausedWithoutEnd,
	noCommonFact,
}

// Run diagnoses facts. Texts are in the language asked for. The facts are not
// changed and not kept.
func Run(facts []fact.Fact, catalogue *cause.Catalogue, l cause.Language) *Result {
	return newIndex(append(slices.Clone(facts), interpret(facts)...)).diagnose(catalogue, l)
}

// RunRecorded diagnoses facts together with the counters of records on disk.
// The error is that of a record that cannot be read.
func RunRecorded(facts []fact.Fact, recordings []Recording, catalogue *cause.Catalogue, l cause.Language) (*Result, error) {
	x := newIndex(append(slices.Clone(facts), interpret(facts)...))
	if err := x.counters.add(recordings); err != nil {
		return nil, err
	}
	return x.diagnose(catalogue, l), nil
}

func (x *index) diagnose(catalogue *cause.Catalogue, l cause.Language) *Result {
	v := &verdict{x: x}
	for _, r := range rules {
		r(x, v)
	}
	claims := join(v.claims)
	stepBack(claims)
	rank(claims, catalogue)
	out := &Result{Findings: []Finding{}, Missing: []Missing{}}
	for i := range claims {
		if claims[i].confidence >= Threshold {
			out.Findings = append(out.Findings, claims[i].finding(catalogue, l))
		}
	}
	out.Missing = missing(v.lacks, claims, l)
	out.Symptoms = symptoms(x, l)
	if len(out.Findings) == 0 && len(out.Missing) == 0 {
		out.Missing = append(out.Missing, Missing{
			Cause: "unknown", Command: "NCCL_DEBUG=INFO JOB 2>&1 | tee nccl.log; rdma statistic; ethtool -S IF; sleep 30; rdma statistic; ethtool -S IF",
			Fact: say("nothing here points to a cause: the log of a failing or slow run, and the counters of both ends twice, 30 s apart while it runs",
				"现有信息未指向任何原因：需要失败或变慢时的作业日志，以及运行期间两端间隔 30 秒的两次计数").In(l),
		})
	}
	return out
}

// rank puts the surest first, and equally sure ones in the order of the questions.
func rank(claims []claim, catalogue *cause.Catalogue) {
	order := func(id string) int {
		if c, ok := catalogue.Find(id); ok {
			return c.Order
		}
		return 1 << 20
	}
	slices.SortStableFunc(claims, func(a, b claim) int {
		switch {
		case a.confidence > b.confidence:
			return -1
		case a.confidence < b.confidence:
			return 1
		}
		return order(a.cause) - order(b.cause)
	})
}

// finding words a claim with the texts of the catalogue.
func (c *claim) finding(catalogue *cause.Catalogue, l cause.Language) Finding {
	f := Finding{Finding: finding.Finding{
		Cause: c.cause, Severity: c.severity, Confidence: float64(int(c.confidence*100+0.5)) / 100, Where: c.where,
		Summary: c.summary.In(l), Evidence: c.evidence, DecidingTest: c.test, Fix: []finding.Fix{},
	}, Against: c.against}
	if f.Evidence == nil {
		f.Evidence = []finding.Evidence{}
	}
	fixes := c.fix
	if e, ok := catalogue.Find(c.cause); ok {
		f.RefutedBy = e.RefutedBy.In(l)
		f.Verify = verify(l)
		if f.DecidingTest == "" {
			f.DecidingTest = e.DecidingTest
		}
		if f.Summary == "" {
			f.Summary = e.Effect.In(l)
		}
		fixes = append(slices.Clone(fixes), e.Fixes...)
	}
	for _, x := range fixes {
		f.Fix = append(f.Fix, finding.Fix{Command: x.Command, Text: x.In(l), Disruption: x.Disruption})
	}
	return f
}

// verify says what shows that the repair worked.
func verify(l cause.Language) string {
	return say("Repeat the deciding test and the run that failed: the evidence above must not come back.", "重复判定测试与失败的运行：上述证据不应再出现。").In(l)
}

// missing lists what would settle the symptoms that no claim explains well.
func missing(lacks []lack, claims []claim, l cause.Language) []Missing {
	out := []Missing{}
	for _, k := range lacks {
		explained := slices.ContainsFunc(claims, func(c claim) bool {
			return c.confidence >= settled && (slices.Contains(c.explains, k.symptom) || c.cause == k.cause)
		})
		m := Missing{Cause: k.cause, Fact: k.fact.In(l), Command: k.command}
		if !explained && !slices.ContainsFunc(out, func(o Missing) bool { return o.Command == m.Command }) {
			out = append(out, m)
		}
	}
	return out
}
