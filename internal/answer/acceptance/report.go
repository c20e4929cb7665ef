package acceptance

// Report is the whole acceptance.
type Report struct {
	Schema   string          `json:"schema"` // "weir.accept/1"
	Cluster  string          `json:"cluster"`
	Verdict  Verdict         `json:"verdict"`
	Steps    []StepReport    `json:"steps"`
	Suspects []SuspectReport `json:"suspects"`
	Pairs    []PairReport    `json:"pairs"`

	GPUDirect   []GPUDirectReport  `json:"gpudirect,omitempty"`
	Collectives []CollectiveReport `json:"collectives,omitempty"`
	// Drift is what an earlier acceptance had, beside what is now.
	Drift []Drift `json:"drift,omitempty"`
	// Unplaced and NotRead are results that could not be used.
	Unplaced []string `json:"unplaced,omitempty"`
	NotRead  []string `json:"not_read,omitempty"`
}

// Schema of the report's JSON.
const Schema = "weir.accept/1"

// Finish sets the verdict of the whole: that of the worst step that was asked
// for; none at all is no pass.
func (r *Report) Finish() {
	r.Schema, r.Verdict = Schema, Skipped
	for i := range r.Steps {
		r.Verdict = worse(r.Verdict, r.Steps[i].Verdict)
	}
	if r.Verdict == Skipped {
		r.Verdict = Incomplete
	}
	if r.Suspects == nil {
		r.Suspects = []SuspectReport{}
	}
}

// Accepted reports whether the network is accepted: warnings allow it.
func (r *Report) Accepted() bool { return r.Verdict == Pass || r.Verdict == Warn }
