package audit_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/answer/audit"
	"weir/internal/answer/render"
	"weir/internal/cluster"
	"weir/internal/fact"
)

// A line that nobody knows is kept wherever it stands: behind every line of the
// base texts and of what weir render writes, remarks that look like commands
// among them.
func TestUnknownLineBehindEveryLine(t *testing.T) {
	for _, s := range systems {
		unknown := "frobnicate the widget 7"
		inserted := unknown
		if s.name == "junos" {
			inserted += ";" // without, it goes on in the next line
		}
		t.Run(s.name, func(t *testing.T) {
			texts := map[string]string{"base": base(t, s.name)}
			f, err := cluster.Parse("test.yaml", []byte("name: test\nhost: {count: 2, gpus: 1, nic: {count: 1, speed: 100Gbps}}\nfabric: {topology: single-switch}\nswitch: {model: "+s.model+", os: "+s.name+"}\n"), nil)
			if err != nil {
				t.Fatal(err)
			}
			files, err := render.Files(f.Cluster)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				// A script may run any program: only its settings are read.
				if strings.HasPrefix(f.Name, "switches/") && !strings.HasSuffix(f.Name, ".sh") {
					texts[f.Name] = string(f.Body)
				}
			}
			for name, text := range texts {
				if strings.HasPrefix(strings.TrimSpace(text), "{") {
					continue // JSON has no lines of its own
				}
				lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
				var lost []string
				for i := range lines {
					if strings.HasPrefix(lines[i], "system {") || strings.HasPrefix(lines[i], "    host-name") {
						continue // Junos' own: what stands in that block is passed over
					}
					changed := strings.Join(slices.Insert(slices.Clone(lines), i+1, inserted), "\n") + "\n"
					e, err := audit.Gather(context.Background(), []string{"-"}, strings.NewReader(changed))
					if err != nil {
						t.Fatal(err)
					}
					if !slices.ContainsFunc(e.NotUnderstood, func(n fact.NotUnderstood) bool { return strings.Contains(n.Text, unknown) }) {
						lost = append(lost, fmt.Sprintf("%d: %s", i+1, lines[i]))
					}
				}
				if len(lost) > 0 {
					t.Errorf("%s: lost behind\n%s", name, strings.Join(lost, "\n"))
				}
			}
		})
	}
}
