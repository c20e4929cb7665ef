package diagnosis

import (
	_ "embed"
	"strings"
	"sync"

	"weir/internal/fact"
	"weir/internal/finding"
)

// Names of the environment variables of NCCL, RCCL, UCX, NVSHMEM and OpenMPI
// that set how the network is used. One a line. Sources: the libraries'
// manuals and, for internal ones, their parameter declarations.
//
//go:embed variables.txt
var variableNames string

var variableSet = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, line := range strings.Split(variableNames, "\n") {
		if name := strings.TrimSpace(line); name != "" && name[0] != '#' {
			set[name] = true
		}
	}
	return set
})

func knownVariable(name string) bool { return variableSet()[name] }

// familyOf names the library whose settings a variable looks like.
func familyOf(name string) string {
	for _, p := range []string{"NCCL_", "RCCL_", "UCX_"} {
		if strings.HasPrefix(name, p) {
			return p
		}
	}
	return ""
}

// openFamilies take variables whose names are made at run time, or that belong
// to programs around the library.
var openFamilies = []string{"NCCL_TESTS_", "NCCL_TEST_", "RCCL_TESTS_", "NCCL_PROFILER_", "NCCL_INSPECTOR_", "UCX_TLS", "UCX_CONFIG", "NCCL_GIN_", "NCCL_RMA_", "NCCL_DEBUG", "NCCL_MPI"}

// Misspelled returns the known variable that an unknown name was probably
// meant to be.
func Misspelled(name string) (meant string, ok bool) { return misspelled(name) }

// KnownVariable reports whether a library of this field reads the variable.
func KnownVariable(name string) bool { return knownVariable(name) }

// misspelled returns the known variable that a name was probably meant to be:
// one edit away, or two in a long name.
func misspelled(name string) (meant string, ok bool) {
	if knownVariable(name) {
		return "", false
	}
	for _, p := range openFamilies {
		if strings.HasPrefix(name, p) && !strings.HasPrefix(name, "NCCL_DEBUG") {
			return "", false
		}
	}
	limit := 1
	if len(name) >= 10 {
		limit = 2
	}
	best := limit + 1
	for known := range variableSet() {
		if d := distance(name, known, best); d < best || d == best && d <= limit && known < meant {
			best, meant = d, known
		}
	}
	return meant, best <= limit
}

// distance is the number of insertions, deletions, changes and swaps of
// neighbours between two names (optimal string alignment), or above limit if
// it is at least that.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// envTypo looks for settings whose names nobody knows.
func envTypo(x *index, v *verdict) {
	for _, f := range append(x.under("nccl.env."), x.under("env.")...) {
		name := f.Key[strings.Index(f.Key, "env.")+4:]
		meant, ok := misspelled(name)
		if !ok || familyOf(meant) == "" && familyOf(name) == "" || echoed(x, f, meant) {
			continue
		}
		c := claim{
			cause: "env-typo", confidence: 0.85, severity: finding.Warning, where: places(f), evidence: quotes(f),
			summary: sayf("%s is not a variable that the library knows: it is ignored in silence, and the default of %s is in force. It was probably meant to be %s.",
				"库不认识变量 %s：它被静默忽略，%s 仍为默认值。应为 %s。", name, meant, meant),
			test: "NCCL_DEBUG=INFO JOB 2>&1 | grep " + meant,
		}
		c.fix = append(c.fix, repair("export "+meant+"="+f.Value.String(), "Correct the name, on all nodes.", "在所有节点上更正变量名。"))
		if e := x.any((*event).noAnswer); len(e) > 0 && strings.Contains(meant, "_IB_") {
			c.confidence, c.severity = 0.95, finding.Error
			c.evidence = append(c.evidence, quoteEvents(e)...)
			c.explains = []symptom{noAnswer, noEntry}
		}
		if e := x.any((*event).noEntry); len(e) > 0 && strings.Contains(meant, "GID") {
			c.confidence, c.severity = 0.95, finding.Error
			c.evidence = append(c.evidence, quoteEvents(e)...)
			c.explains = []symptom{noAnswer, noEntry}
		}
		v.claim(c)
	}
}

// echoed reports that the variable is set under its right name as well, on
// the same machine: then the misspelled one does no harm.
func echoed(x *index, f *fact.Fact, meant string) bool {
	for _, g := range x.env(meant) {
		if sameHost(f.Subject, g.Subject) {
			return true
		}
	}
	return false
}
