package deploy

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

const dir = "../../deploy"

// fresh holds a generated file against the one in the repository.
func fresh(t *testing.T, name string, want []byte) {
	t.Helper()
	full := filepath.Join(dir, name)
	if os.Getenv("WEIR_UPDATE") != "" {
		if err := os.WriteFile(full, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(full)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the table says: WEIR_UPDATE=1 go test ./internal/deploy", full)
	}
}

func TestPrometheusRules(t *testing.T) { fresh(t, "prometheus/weir.rules.yml", PrometheusRules()) }

// Prometheus' own tool checks the rules and runs their tests: series in,
// alerts out.
func TestPromtool(t *testing.T) {
	tool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian: prometheus)")
	}
	for _, args := range [][]string{{"check", "rules", "weir.rules.yml"}, {"test", "rules", "weir.test.yml"}} {
		cmd := exec.Command(tool, args...)
		cmd.Dir = filepath.Join(dir, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

func TestGrafanaDashboard(t *testing.T) {
	text, err := GrafanaDashboard()
	if err != nil {
		t.Fatal(err)
	}
	fresh(t, "grafana/weir-roce.json", append(text, '\n'))
	var d struct {
		Panels []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	taken := map[[2]int]string{}
	p := parser.NewParser(parser.Options{})
	for _, x := range d.Panels {
		for i := range x.GridPos.W {
			for j := range x.GridPos.H {
				at := [2]int{x.GridPos.X + i, x.GridPos.Y + j}
				if other, ok := taken[at]; ok {
					t.Fatalf("%q lies on %q", x.Title, other)
				}
				taken[at] = x.Title
			}
		}
		for _, q := range x.Targets {
			expr := strings.NewReplacer("$__rate_interval", "1m", "$instance", ".*", "$switch", ".*").Replace(q.Expr)
			if _, err := p.ParseExpr(expr); err != nil {
				t.Errorf("%s: %v", x.Title, err)
			}
		}
	}
	if len(d.Panels) < 20 {
		t.Errorf("%d panels", len(d.Panels))
	}
}
