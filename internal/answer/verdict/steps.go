package verdict

import (
	"fmt"
	"math"

	"weir/internal/cluster"
	"weir/internal/twin"
)

// hidden is the share of a step from which exposed communication is worth
// working on.
const hidden = 0.05

// Steps judges a run of a training job. Share is the GPU utilisation over what
// it would be without exposed communication: compute and bubble over all.
func Steps(c *cluster.Cluster, r *twin.Result) Verdict {
	v := Verdict{Share: math.NaN(), LimitedBy: "nothing that finished"}
	if len(r.Steps) == 0 {
		v.Sentence = "No step finished, so there is nothing to judge."
		return v
	}
	s := &r.Steps[0]
	v.Share = 1 - s.CommunicationShare
	v.Findings = findings(c, r, v.Share)
	at := fmt.Sprintf("A step takes %v, of which GPUs compute %.1f %%", s.Time, 100*s.GPUUtilisation)
	if s.CommunicationShare < hidden {
		v.LimitedBy = "compute"
		v.Sentence = fmt.Sprintf("%s and wait %.1f %% for the network: it carries the job.", at, 100*s.CommunicationShare)
		return v
	}
	worst := &s.Parts[0]
	for i := range s.Parts {
		if s.Parts[i].Exposed > worst.Exposed {
			worst = &s.Parts[i]
		}
	}
	what := worst.Op.String()
	if worst.Transfer {
		what = "transfer"
	}
	v.LimitedBy = worst.Dimension.String()
	v.Sentence = fmt.Sprintf("%s and wait %.1f %% for communication, most of it the %s of %v in the %s dimension.", at, 100*s.CommunicationShare, what, worst.Bytes, worst.Dimension)
	if len(v.Findings) > 0 {
		v.Sentence += fmt.Sprintf(" The network is limited by %s at %s.", v.Findings[0].Cause, v.Findings[0].Where)
	}
	return v
}
