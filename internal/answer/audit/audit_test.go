package audit_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/internal/answer/audit"
	"weir/internal/cause"
	"weir/internal/cluster"
)

// A system is one switch system in the tests: the ports of the base text, and
// a model that runs it.
type system struct {
	name, model, port1, port2, file string
}

var systems = []system{
	{"nxos", "tomahawk-4", "Ethernet1/1", "Ethernet1/2", "leaf-0.cfg"},
	{"eos", "tomahawk-4", "Ethernet1/1", "Ethernet2/1", "leaf-0.cfg"},
	{"nvue", "spectrum-3", "swp1", "swp2", "leaf-0.nv"},
	{"onyx", "spectrum-3", "Eth1/1", "Eth1/2", "leaf-0.txt"},
	{"sonic", "spectrum-3", "Ethernet0", "Ethernet4", "leaf-0.json"},
	{"vrp", "tomahawk-4", "100GE1/0/1", "100GE1/0/2", "leaf-0.cfg"},
	{"comware", "tomahawk-4", "HundredGigE1/0/1", "HundredGigE1/0/2", "leaf-0.cfg"},
	{"junos", "tomahawk-4", "et-0/0/0", "et-0/0/1", "leaf-0.conf"},
}

// plan is a leaf with two hosts. Models that the catalogue does not let run a
// system keep their own: it is the file's text that counts.
func plan(t testing.TB, s system, extra string) *cluster.Cluster {
	t.Helper()
	m, _ := cluster.LookupSwitch(s.model)
	os := ""
	if slices.Contains(m.OS, s.name) {
		os = ", os: " + s.name
	}
	text := fmt.Sprintf(`name: test
host: {names: [h1, h2], count: 2, gpus: 1, nic: {count: 1, speed: 100Gbps}}
fabric:
  topology: explicit
  switches: [{name: leaf-0, model: %s%s}]
  links:
    - {a: h1/nic-0, b: leaf-0/%s}
    - {a: h2/nic-0, b: leaf-0/%s}
qos:
  ecn: {min: 500KB, max: 1500KB, probability: 20%%}
%s`, s.model, os, s.port1, s.port2, extra)
	f, err := cluster.Parse("test.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.Cluster
}

func base(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/base/" + name + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// run audits files by name and text.
func run(t testing.TB, c *cluster.Cluster, files map[string]string) *audit.Result {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return runPath(t, c, dir)
}

var loadCauses = sync.OnceValues(cause.Load)

func runPath(t testing.TB, c *cluster.Cluster, paths ...string) *audit.Result {
	t.Helper()
	catalogue, err := loadCauses()
	if err != nil {
		t.Fatal(err)
	}
	e, err := audit.Gather(context.Background(), paths, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	r, err := audit.Run(c, e, catalogue, "")
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func list(r *audit.Result) string {
	var b strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(&b, "  %s %s %s: found %q, expected %q (%s)\n", f.Cause, f.Setting, f.Where, f.Found, f.Expected, f.Device)
	}
	return b.String()
}

// withoutSystem drops what is told of models that the catalogue does not let run the system.
func withoutSystem(r *audit.Result) *audit.Result {
	r.Findings = slices.DeleteFunc(r.Findings, func(f audit.Finding) bool { return f.Setting == "system" })
	return r
}

func TestBaseTextsAreClean(t *testing.T) {
	for _, s := range systems {
		t.Run(s.name, func(t *testing.T) {
			r := withoutSystem(run(t, plan(t, s, ""), map[string]string{s.file: base(t, s.name), "h1/state.txt": base(t, "host"), "h2/setup.sh": base(t, "setup")}))
			if len(r.Findings) > 0 {
				t.Errorf("findings:\n%s", list(r))
			}
			if r.PathsChecked != 2 || r.PathsTotal != 2 {
				t.Errorf("%d of %d paths checked, want 2 of 2; gaps %+v", r.PathsChecked, r.PathsTotal, r.NotChecked)
			}
			if len(r.NotUnderstood) > 0 {
				t.Errorf("not understood: %+v", r.NotUnderstood)
			}
			for _, h := range r.Path {
				if h.Priority != "3" || h.Lossless != "yes" {
					t.Errorf("hop %+v", h)
				}
			}
			t.Logf("gaps: %+v", r.NotChecked)
		})
	}
}
