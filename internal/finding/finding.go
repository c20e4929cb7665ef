// Package finding holds the one shape of an answer, shared by simulate,
// pcap, probe, audit, diagnose and accept.
package finding

// Severity orders findings by what they cost.
type Severity uint8

// The severities, mildest first.
const (
	Info Severity = iota
	Warning
	Error
	Critical
)

// String returns "info", "warning", "error" or "critical".
func (s Severity) String() string {
	return [...]string{"info", "warning", "error", "critical"}[min(s, Critical)]
}

// MarshalText makes JSON carry the name.
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Evidence is one observation that supports a finding: a line of a source, or
// a measured value. Text is what was seen, in one line.
type Evidence struct {
	Source string `json:"source,omitempty"`
	Line   int    `json:"line,omitempty"`
	Text   string `json:"text"`
}

// A Fix is one step of a repair, and what applying it disturbs.
type Fix struct {
	Command    string `json:"command,omitempty"`
	Text       string `json:"text"`
	Disruption string `json:"disruption,omitempty"` // "none", "pause", "flap", "reload"
}

// A Finding names one cause. Cause is an id of package cause.
// Confidence is 0 to 1. Where names nodes, ports or links as the cluster
// file does.
type Finding struct {
	Cause        string     `json:"cause"`
	Severity     Severity   `json:"severity"`
	Confidence   float64    `json:"confidence"`
	Where        string     `json:"where"`
	Summary      string     `json:"summary"`
	Evidence     []Evidence `json:"evidence"`
	RefutedBy    string     `json:"refuted_by,omitempty"`
	DecidingTest string     `json:"deciding_test,omitempty"`
	Fix          []Fix      `json:"fix"`
}
