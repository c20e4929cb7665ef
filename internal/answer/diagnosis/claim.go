package diagnosis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/cause"
	"weir/internal/finding"
)

// A symptom is what a job or test suffers from. A claim says which symptoms it
// explains; a lack, which one it would help to explain.
type symptom string

const (
	noAnswer  symptom = "no-answer"  // status 12; errno 110, 101, 113 from modify_qp
	noEntry   symptom = "no-entry"   // ENODEV, EINVAL from modify_qp
	access    symptom = "access"     // status 4, 10; access violation
	noMemory  symptom = "no-memory"  // ENOMEM when registering memory
	sockets   symptom = "sockets"    // RDMA is not in use
	gdrOff    symptom = "gdr-off"    // GPUDirect RDMA is not in use
	slow      symptom = "slow"       // bandwidth below what was expected
	lost      symptom = "lost"       // packets lost, reordered, timed out
	paused    symptom = "paused"     // a port is paused much
	portEvent symptom = "port-event" // asynchronous port events
	hang      symptom = "hang"       // no progress and no error
	setting   symptom = "setting"    // nothing seen to suffer: a setting is looked at
)

// A claim is what a rule found.
type claim struct {
	cause      string
	confidence float64
	severity   finding.Severity
	where      string
	summary    cause.Text
	evidence   []finding.Evidence
	against    []finding.Evidence
	test       string      // in place of the catalogue's deciding test
	fix        []cause.Fix // before the catalogue's fixes
	explains   []symptom
	after      []string // causes that, where found, have this one as their consequence
}

// A lack is a fact that would settle a cause.
type lack struct {
	cause   string
	fact    cause.Text
	command string
	symptom symptom
	order   int
}

// A verdict gathers what rules say.
type verdict struct {
	x      *index
	claims []claim
	lacks  []lack
}

func (v *verdict) claim(c claim) { v.claims = append(v.claims, c) }

// lack asks for a fact.
func (v *verdict) lack(cause string, s symptom, en, zh, command string) {
	v.lacks = append(v.lacks, lack{cause: cause, fact: say(en, zh), command: command, symptom: s, order: len(v.lacks)})
}

// say makes a text in both languages.
func say(en, zh string) cause.Text { return cause.Text{En: en, Zh: zh} }

// sayf makes a text in both languages of the same arguments.
func sayf(en, zh string, args ...any) cause.Text {
	return cause.Text{En: fmt.Sprintf(en, args...), Zh: fmt.Sprintf(zh, args...)}
}

// repair makes a fix that disturbs nothing.
func repair(command, en, zh string) cause.Fix {
	return cause.Fix{Disruption: "none", Command: command, Text: say(en, zh)}
}

// maxEvidence is the number of evidence lines of a finding.
const maxEvidence = 12

// join makes one claim of those on the same cause: the surest one leads, and
// evidence and places are united. A senior engineer names a cause once.
func join(claims []claim) []claim {
	var out []claim
	at := map[string]int{}
	slices.SortStableFunc(claims, func(a, b claim) int { return compareClaims(&a, &b) })
	for _, c := range claims {
		n, ok := at[c.cause]
		if !ok {
			at[c.cause] = len(out)
			out = append(out, c)
			continue
		}
		o := &out[n]
		o.severity = max(o.severity, c.severity)
		o.evidence = append(o.evidence, c.evidence...)
		o.against = append(o.against, c.against...)
		o.explains = append(o.explains, c.explains...)
		o.where = unite(o.where, c.where)
	}
	for i := range out {
		out[i].evidence = unique(out[i].evidence)
		out[i].against = unique(out[i].against)
	}
	return out
}

// compareClaims puts the surer claim first, and orders equal ones by what they say.
func compareClaims(a, b *claim) int {
	switch {
	case a.confidence > b.confidence:
		return -1
	case a.confidence < b.confidence:
		return 1
	case a.cause != b.cause:
		return strings.Compare(a.cause, b.cause)
	case a.where != b.where:
		return strings.Compare(a.where, b.where)
	}
	return strings.Compare(a.summary.En, b.summary.En)
}

// maxPlaces is how many places a finding names.
const maxPlaces = 8

// unite joins two lists of places, each with its "and 12 more" if it has one.
func unite(a, b string) string {
	var names []string
	seen := map[string]bool{}
	more := 0
	for _, list := range [...]string{a, b} {
		head, tail, cut := strings.Cut(list, " and ")
		if n, ok := strings.CutSuffix(tail, " more"); cut && ok {
			if k, err := strconv.Atoi(n); err == nil {
				list, more = head, more+k
			}
		}
		for _, n := range strings.Split(list, ", ") {
			if n != "" && !seen[n] {
				seen[n] = true
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	if more += max(len(names)-maxPlaces, 0); more > 0 {
		return strings.Join(names[:min(len(names), maxPlaces)], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(names, ", ")
}

func unique(list []finding.Evidence) []finding.Evidence {
	var out []finding.Evidence
	for _, e := range list {
		if len(out) == maxEvidence {
			break
		}
		if !slices.Contains(out, e) && len(out) < maxEvidence {
			out = append(out, e)
		}
	}
	return out
}

// stepBack lowers the claims whose cause is a consequence of another that was
// found at least as surely, and lets that one explain its symptoms.
func stepBack(claims []claim) {
	for i := range claims {
		c := &claims[i]
		for j := range claims {
			root := &claims[j]
			if slices.Contains(c.after, root.cause) && root.confidence >= 0.6 && root.confidence >= c.confidence-0.15 {
				c.confidence = min(c.confidence*0.7, root.confidence-0.05)
				root.explains = append(root.explains, c.explains...)
			}
		}
	}
}
