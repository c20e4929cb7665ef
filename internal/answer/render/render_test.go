package render

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/cluster"
	"weir/internal/field/dialect/systems"
)

// The example of 64 hosts renders for all systems, each switch in a text that
// its own parser understands to the last line.
func TestPodRendersEverywhere(t *testing.T) {
	for _, s := range systems.All() {
		model := "spectrum-3"
		switch s.Name {
		case "nxos", "eos", "vrp", "comware", "junos":
			model = "tomahawk-4"
		}
		f, err := cluster.Read(os.DirFS(filepath.Join("..", "..", "..", "examples")), "pod-64x8.yaml", []string{"switch.model=" + model, "switch.os=" + s.Name})
		if err != nil {
			t.Fatal(err)
		}
		files, err := Files(f.Cluster)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		switches := 0
		for _, file := range files {
			if !strings.HasPrefix(file.Name, "switches/") || strings.HasSuffix(file.Name, ".sh") {
				continue
			}
			switches++
			if os.Getenv("WEIR_LONG") == "" && !strings.Contains(file.Name, "-0.") {
				continue // one of each tier will do
			}
			r, err := s.Parse(strings.NewReader(file.Body), file.Name)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range r.NotUnderstood {
				t.Errorf("%s line %d: %s", file.Name, n.Origin.Line, n.Text)
			}
			// 64 ports to hosts and 32 to spines, or 64 to leaves.
			if n := len(r.Device.Ports); n != 96 && n != 64 {
				t.Errorf("%s: %d ports", file.Name, n)
			}
		}
		if switches != 12 {
			t.Errorf("%s: %d switches, want 12", s.Name, switches)
		}
	}
}

// What a system has no form for is an error that names the missing fact, and
// nothing else comes back.
func TestCannot(t *testing.T) {
	for _, c := range []struct {
		want string
		set  []string
	}{
		{"watchdog action forward: drop", []string{"switch.os=nxos", "switch.model=tomahawk-4", "qos.watchdog.action=forward"}},
		{"strict class of higher priority", []string{"switch.os=eos", "switch.model=tomahawk-4", "qos.cnp.priority=1"}},
		{"alpha 3: a power of two", []string{"switch.os=nvue", "switch.model=spectrum-3", "switch.alpha=3"}},
		{"alpha 3: a power of two", []string{"switch.os=sonic", "switch.model=spectrum-3", "switch.alpha=3"}},
		{"watchdog detection after 50ms: 100ms to 5s", []string{"switch.os=sonic", "switch.model=spectrum-3", "qos.watchdog.detect_after=50ms"}},
		{"another priority: NX-OS has no pause for the default class", []string{"switch.os=nxos", "switch.model=tomahawk-4", "qos.roce.priority=0"}},
		{"two different whole percents", []string{"switch.os=junos", "switch.model=trident-4", "qos.ecn.min=100KB", "qos.ecn.max=200KB"}},
	} {
		f, err := cluster.Parse("c.yaml", []byte(small), c.set)
		if err != nil {
			t.Fatal(err)
		}
		files, err := Files(f.Cluster)
		if err == nil || !strings.Contains(err.Error(), c.want) || files != nil {
			t.Errorf("%v: %v with %d files, want %q", c.set, err, len(files), c.want)
		}
	}
	// Without the cell size Comware cannot be written.
	f, err := cluster.Parse("c.yaml", []byte(small), []string{"switch.os=comware", "switch.model=trident-4"})
	if err != nil {
		t.Fatal(err)
	}
	target, err := Target(f.Cluster, leaf(t, f.Cluster))
	if err != nil {
		t.Fatal(err)
	}
	target.Cell = 0
	s, _ := systems.Named("comware")
	if _, err := s.Write(target); err == nil || !strings.Contains(err.Error(), "the cell size of the switch model trident-4") {
		t.Errorf("%v", err)
	}
}
