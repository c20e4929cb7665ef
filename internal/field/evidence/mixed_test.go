package evidence

import (
	"slices"
	"strings"
	"testing"
)

// Outputs of several tools one after the other in one text must give the facts
// that each gives alone. Command lines are left out, since their host and
// interface hold for what follows; so are logs of one process and runs of one
// test, which do belong together.
func TestOutputsInOneTextKeepTheirFacts(t *testing.T) {
	var alone []string
	var all strings.Builder
	for _, c := range slices.Concat(qosTools(), linkTools(), rdmaTools(), topologyTools()) {
		if strings.Contains(c.text, "$ ") || strings.Contains(c.text, "# ethtool") || strings.Contains(c.text, "\n+ ") || strings.HasPrefix(c.text, "+ ") || strings.Contains(c.text, "==> ") || strings.Contains(c.text, "~]#") {
			continue
		}
		for _, f := range read(t, "x", c.text).Facts {
			alone = append(alone, f.Key+"="+f.Value.String())
		}
		all.WriteString(strings.TrimSuffix(c.text, "\n") + "\n\n")
	}
	var together []string
	for _, f := range read(t, "x", all.String()).Facts {
		together = append(together, f.Key+"="+f.Value.String())
	}
	slices.Sort(alone)
	slices.Sort(together)
	for _, f := range slices.Compact(slices.Clone(alone)) {
		if count(alone, f) != count(together, f) {
			t.Errorf("%s: %d times alone, %d times together", f, count(alone, f), count(together, f))
		}
	}
	if len(together) != len(alone) {
		t.Errorf("%d facts alone, %d together", len(alone), len(together))
	}
}

func count(list []string, s string) int {
	n := 0
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}
