package evidence

import (
	"fmt"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// Bounds of a report. A source that has more facts than a real output can
// have must not fill the memory.
const (
	maxFacts            = 4_000_000
	maxSourceFacts      = 200_000
	maxNotUnderstood    = 100_000
	maxSourceUnderstood = 1_000
)

// A Report is what was learnt from all inputs, in the order of the inputs.
type Report struct {
	Facts         []fact.Fact
	NotUnderstood []fact.NotUnderstood
	Sources       []Source
	Configs       []tool.Config // configurations of switches, as a whole
	Refused       []Refusal
	Defects       []Defect

	mark struct{ facts, not int } // where the present source starts
	lost struct{ facts, not int } // beyond its bounds
}

// A Source is one file, archive member or standard input that was read.
type Source struct {
	Name          string
	Tools         []string // that were recognised, in order of appearance
	Lines         int
	Facts         int
	NotUnderstood int // lines; the report keeps the first thousand of a source
}

// A Defect is a failure of a parser, which lost the rest of an output.
type Defect struct {
	Tool   string
	Source string
	Line   int
	Text   string
}

// A Refusal tells why a source was not read.
type Refusal struct {
	Source string
	Reason string
	Minor  bool // a part of a directory or archive, or the end of a cut one: the rest was read
}

func (p *Report) begin() {
	p.mark.facts, p.mark.not = len(p.Facts), len(p.NotUnderstood)
	p.lost.facts, p.lost.not = 0, 0
}

func (p *Report) addFact(f fact.Fact) {
	if len(p.Facts)-p.mark.facts >= maxSourceFacts || len(p.Facts) >= maxFacts {
		p.lost.facts++
		return
	}
	p.Facts = append(p.Facts, f)
}

func (p *Report) addNotUnderstood(n fact.NotUnderstood) {
	if len(p.NotUnderstood)-p.mark.not >= maxSourceUnderstood || len(p.NotUnderstood) >= maxNotUnderstood {
		p.lost.not++
		return
	}
	p.NotUnderstood = append(p.NotUnderstood, n)
}

// end closes the present source. What went beyond the bounds is told, not
// dropped in silence.
func (p *Report) end(s Source) {
	origin := fact.Origin{Source: s.Name}
	if n := p.lost.not; n > 0 {
		p.NotUnderstood = append(p.NotUnderstood, fact.NotUnderstood{Origin: origin, Text: fmt.Sprintf("and %d further lines", n)})
	}
	if n := p.lost.facts; n > 0 {
		p.NotUnderstood = append(p.NotUnderstood, fact.NotUnderstood{Origin: origin, Text: fmt.Sprintf("%d facts beyond the first %d of this source were left out", n, maxSourceFacts)})
	}
	p.Sources = append(p.Sources, s)
}

// A position marks a state of the report, to return to.
type position struct{ facts, not, sources, configs int }

func (p *Report) position() position {
	return position{len(p.Facts), len(p.NotUnderstood), len(p.Sources), len(p.Configs)}
}

// refuse records that a source was not read, and forgets what was learnt
// from it since at.
func (p *Report) refuse(at position, source, reason string, minor bool) {
	p.Facts = p.Facts[:at.facts]
	p.NotUnderstood = p.NotUnderstood[:at.not]
	p.Sources = p.Sources[:at.sources]
	p.Configs = p.Configs[:at.configs]
	p.Refused = append(p.Refused, Refusal{source, reason, minor})
}
