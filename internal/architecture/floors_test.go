package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// house is what ARCHITECTURE.md says: the floor of each package pattern and
// the edges that are allowed within a floor.
type house struct {
	floors []placement
	edges  [][2]string
}

type placement struct {
	pattern string // "rc" or "internal/twin/..."
	floor   int
}

// readHouse reads the fenced block "floors" of ARCHITECTURE.md: lines
// "N pkg pkg ..." and "edge a -> b".
func readHouse(t *testing.T) house {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(text), "```floors\n")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no block ```floors")
	}
	block, _, _ = strings.Cut(block, "```")
	var h house
	for _, line := range strings.Split(strings.TrimSpace(block), "\n") {
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == "edge":
			if len(fields) != 4 || fields[2] != "->" {
				t.Fatalf("ARCHITECTURE.md: %q is not \"edge a -> b\"", line)
			}
			h.edges = append(h.edges, [2]string{fields[1], fields[3]})
		default:
			n, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatalf("ARCHITECTURE.md: %q does not start with a floor", line)
			}
			for _, p := range fields[1:] {
				h.floors = append(h.floors, placement{p, n})
			}
		}
	}
	return h
}

func matches(pattern, pkg string) bool {
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == base || strings.HasPrefix(pkg, base+"/")
	}
	return pkg == pattern
}

// floor returns the floor of a package by the longest pattern that matches.
func (h house) floor(pkg string) (int, bool) {
	best, floor := -1, 0
	for _, p := range h.floors {
		if matches(p.pattern, pkg) && len(p.pattern) > best {
			best, floor = len(p.pattern), p.floor
		}
	}
	return floor, best >= 0
}

func (h house) allowed(from, to string) bool {
	for _, e := range h.edges {
		if matches(e[0], from) && matches(e[1], to) {
			return true
		}
	}
	return false
}

type listed struct {
	ImportPath   string
	Doc          string
	Dir          string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func packages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Dir,Imports,TestImports,XTestImports", "./...")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

func TestImportsGoDown(t *testing.T) {
	h := readHouse(t)
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, "weir/")
		upper, ok := h.floor(from)
		if !ok {
			t.Errorf("%s stands on no floor of ARCHITECTURE.md", from)
			continue
		}
		for _, imp := range p.Imports {
			to, ours := strings.CutPrefix(imp, "weir/")
			if !ours {
				continue
			}
			lower, ok := h.floor(to)
			if !ok || lower < upper || h.allowed(from, to) {
				continue
			}
			t.Errorf("%s (floor %d) imports %s (floor %d): only floors below, or an edge listed in ARCHITECTURE.md", from, upper, to, lower)
		}
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	for _, p := range packages(t) {
		if p.Doc == "" {
			t.Errorf("%s has no documentation comment", p.ImportPath)
		}
	}
}

// The public packages must be usable without weir: roce stands on the standard
// library alone.
func TestPublicPackagesStandAlone(t *testing.T) {
	for _, p := range packages(t) {
		if p.ImportPath != "weir/roce" {
			continue
		}
		for _, imp := range p.Imports {
			if strings.Contains(imp, ".") || strings.HasPrefix(imp, "weir/") {
				t.Errorf("roce imports %s; it stands on the standard library alone", imp)
			}
		}
	}
}

// A dependency is named in ARCHITECTURE.md with its reason.
func TestDependenciesHaveAReason(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(mod), "\n") {
		fields := strings.Fields(line)
		if strings.Contains(line, "// indirect") || len(fields) < 2 || !strings.HasPrefix(line, "\t") {
			continue
		}
		if !strings.Contains(string(text), "`"+fields[0]+"`") {
			t.Errorf("ARCHITECTURE.md does not say why the module depends on %s", fields[0])
		}
	}
}
