package diagnosis

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"weir/internal/cause"
	"weir/internal/field/evidence"
)

// A fixture is one evidence of ours, in the tools' formats: what the answer
// must name, the lines that decide it, and the host names in it.
type fixture struct {
	name     string
	cause    string
	hosts    []string
	deciding *regexp.Regexp
	files    []txtar.File // "(shuffle)" after a name: the lines do not depend on one another
}

func fixtures(t *testing.T) []fixture {
	t.Helper()
	names, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no fixtures", err)
	}
	var out []fixture
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f := fixture{name: strings.TrimSuffix(filepath.Base(name), ".txtar"), files: a.Files}
		for _, line := range strings.Split(string(a.Comment), "\n") {
			switch key, value, _ := strings.Cut(line, ": "); key {
			case "cause":
				f.cause = value
			case "hosts":
				f.hosts = strings.Fields(value)
			case "deciding":
				parts := strings.Split(value, "|")
				for i := range parts {
					parts[i] = regexp.QuoteMeta(parts[i])
				}
				f.deciding = regexp.MustCompile(strings.Join(parts, "|"))
			}
		}
		out = append(out, f)
	}
	return out
}

func diagnose(t *testing.T, files []txtar.File) *Result {
	t.Helper()
	catalogue, err := loadOnce()
	if err != nil {
		t.Fatal(err)
	}
	var inputs []evidence.Input
	for _, f := range files {
		name, _, _ := strings.Cut(f.Name, " ")
		inputs = append(inputs, evidence.Text(name, string(f.Data)))
	}
	report, err := evidence.Read(context.Background(), evidence.Parsers(), inputs...)
	if err != nil {
		t.Fatal(err)
	}
	return Run(report.Facts, catalogue, cause.English)
}

// answer is what must not depend on names, addresses and order.
func answer(r *Result) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%s %s %.2f\n", f.Cause, f.Severity, f.Confidence)
	}
	asked := []string{}
	for _, m := range r.Missing {
		asked = append(asked, m.Cause)
	}
	slices.Sort(asked)
	fmt.Fprintln(&b, asked)
	return b.String()
}

func edited(files []txtar.File, edit func(name, text string) (string, string)) []txtar.File {
	out := make([]txtar.File, len(files))
	for i, f := range files {
		name, text := edit(f.Name, string(f.Data))
		out[i] = txtar.File{Name: name, Data: []byte(text)}
	}
	return out
}

func TestFixturesNameTheirCause(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			r := diagnose(t, f.files)
			if len(r.Findings) == 0 || r.Findings[0].Cause != f.cause {
				t.Fatalf("want %s first, got\n%s", f.cause, answer(r))
			}
			got := r.Findings[0]
			if len(got.Evidence) == 0 || got.Evidence[0].Source == "" || got.DecidingTest == "" || got.RefutedBy == "" || len(got.Fix) == 0 || got.Summary == "" {
				t.Errorf("the finding lacks a part: %+v", got)
			}
		})
	}
}

// Without the line that decides, the answer asks for it and does not claim the
// cause as if it had been seen.
func TestWithoutTheDecidingLine(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			cut := edited(f.files, func(name, text string) (string, string) {
				lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), f.deciding.MatchString)
				return name, strings.Join(lines, "")
			})
			r := diagnose(t, cut)
			if len(r.Missing) == 0 {
				t.Errorf("nothing is asked for:\n%s", answer(r))
			}
			for _, g := range r.Findings {
				if g.Cause == f.cause && g.Confidence >= settled {
					t.Errorf("%s is still claimed with %.2f:\n%s", g.Cause, g.Confidence, answer(r))
				}
			}
		})
	}
}

// Names of hosts and files, addresses and the order of what has none must not
// change the answer.
func TestAnswerDoesNotDependOnNames(t *testing.T) {
	address := regexp.MustCompile(`\b10\.(\d+\.\d+\.\d+)\b`)
	mapped := regexp.MustCompile(`ffff:0a([0-9a-f]{2})`)
	edits := map[string]func(f *fixture, r *rand.Rand) []txtar.File{
		"files renamed": func(f *fixture, r *rand.Rand) []txtar.File {
			n := 0
			return edited(f.files, func(_, text string) (string, string) { n++; return fmt.Sprintf("x%02d", (n*7)%31), text })
		},
		"inputs in another order": func(f *fixture, r *rand.Rand) []txtar.File {
			files := slices.Clone(f.files)
			r.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
			return files
		},
		"hosts renamed": func(f *fixture, r *rand.Rand) []txtar.File {
			return edited(f.files, func(name, text string) (string, string) {
				for i, h := range f.hosts {
					text = regexp.MustCompile(`\b`+regexp.QuoteMeta(h)+`\b`).ReplaceAllString(text, fmt.Sprintf("zz-rack%d-u%02d", 9-i, i+11))
				}
				return name, text
			})
		},
		"addresses changed": func(f *fixture, r *rand.Rand) []txtar.File {
			return edited(f.files, func(name, text string) (string, string) {
				text = address.ReplaceAllString(text, "11.$1")
				return name, mapped.ReplaceAllString(text, "ffff:0b$1")
			})
		},
		"independent lines shuffled": func(f *fixture, r *rand.Rand) []txtar.File {
			return edited(f.files, func(name, text string) (string, string) {
				if !strings.Contains(name, "(shuffle)") {
					return name, text
				}
				lines := strings.SplitAfter(text, "\n")
				lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
				r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
				return name, strings.Join(lines, "")
			})
		},
	}
	for _, f := range fixtures(t) {
		want := answer(diagnose(t, f.files))
		for name, edit := range edits {
			for seed := range uint64(2) {
				if got := answer(diagnose(t, edit(&f, rand.New(rand.NewPCG(seed, 1))))); got != want {
					t.Errorf("%s, %s: the answer changed (seed %d)\nwas\n%sis\n%s", f.name, name, seed, want, got)
					break
				}
			}
		}
	}
}

// Every text is there in Chinese.
func TestChineseTexts(t *testing.T) {
	catalogue, err := cause.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fixtures(t) {
		var inputs []evidence.Input
		for _, file := range f.files {
			inputs = append(inputs, evidence.Text(file.Name, string(file.Data)))
		}
		report, err := evidence.Read(context.Background(), evidence.Parsers(), inputs...)
		if err != nil {
			t.Fatal(err)
		}
		r := Run(report.Facts, catalogue, cause.Chinese)
		for _, g := range r.Findings {
			if !hasHan(g.Summary) || !hasHan(g.RefutedBy) || !hasHan(g.Verify) || slices.ContainsFunc(g.Fix, func(x fix) bool { return !hasHan(x.Text) }) {
				t.Errorf("%s, %s: a text is not Chinese", f.name, g.Cause)
			}
		}
		for _, m := range r.Missing {
			if !hasHan(m.Fact) {
				t.Errorf("%s: %q is not Chinese", f.name, m.Fact)
			}
		}
	}
}

// renamed reads a case's input in reverse order, with other hosts, addresses
// and file names.
func renamed(t *testing.T, dir string) []txtar.File {
	t.Helper()
	names, err := filepath.Glob(dir + "/input/*")
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(names)
	var out []txtar.File
	for i, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		other := strings.NewReplacer("node-a", "gx17", "node-b", "ax02", "node-d", "r3", "node-k", "b4", "vm-b", "guest9", "worker-0", "pod77", "192.0.2.", "10.77.3.", "c000:02", "0a4d:03", "fd00:db8:", "fd11:beef:").Replace(string(text))
		as := fmt.Sprintf("%c%d", 'z'-rune(i), i)
		if strings.Trim(other, "0123456789\n") == "" {
			as = filepath.Base(name) // a bare number says nothing without its name
		}
		out = append(out, txtar.File{Name: as, Data: []byte(other)})
	}
	return out
}

// The recorded public cases, where they are at hand: the targets of the table
// in docs/diagnosis.md.
func TestSharedCases(t *testing.T) {
	const dir = "../../../../shared/cases"
	names, _ := filepath.Glob(dir + "/*/case.yaml")
	if len(names) == 0 {
		t.Skip("the shared cases are not here")
	}
	catalogue, err := cause.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		report, err := evidence.ReadPaths(context.Background(), []string{filepath.Join(filepath.Dir(name), "input")}, bytes.NewReader(nil))
		if err != nil {
			t.Fatal(err)
		}
		right := rightOf(t, text)
		r := Run(report.Facts, catalogue, cause.English)
		if got, want := answer(diagnose(t, renamed(t, filepath.Dir(name)))), answer(r); got != want {
			t.Errorf("%s: other names change the answer: was\n%sis\n%s", filepath.Base(filepath.Dir(name)), want, got)
		}
		at := slices.IndexFunc(r.Findings, func(f Finding) bool { return slices.Contains(right, f.Cause) })
		if at < 0 || at > 1 {
			t.Errorf("%s: none of %v is among the first two:\n%s", filepath.Base(filepath.Dir(name)), right, answer(r))
		}
	}
}
