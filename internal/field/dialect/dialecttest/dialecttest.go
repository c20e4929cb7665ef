// Package dialecttest has what the tests of the dialects share: sample files
// of a directory beside the repository, checks of a table of forms, and seeds
// and rules for fuzzing.
package dialecttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/internal/field/dialect"
	"weir/internal/qos"

	"pgregory.net/rapid"
)

// Sample returns a file of ../shared beside the repository, by its path
// there. Without it the test is skipped.
func Sample(t testing.TB, name string) []byte {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Skip("no go.mod above the test")
		}
		dir = parent
	}
	data, err := os.ReadFile(filepath.Join(dir, "..", "shared", filepath.FromSlash(name)))
	if err != nil {
		t.Skip("sample not there: " + err.Error())
	}
	return data
}

// Port returns the named port of a device.
func Port(t testing.TB, d *qos.Device, name string) *qos.Port {
	t.Helper()
	for i := range d.Ports {
		if d.Ports[i].Name == name {
			return &d.Ports[i]
		}
	}
	t.Fatalf("no port %s among %d", name, len(d.Ports))
	return nil
}

// NoUnknown fails when a reading has lines that were not understood.
func NoUnknown(t testing.TB, r *dialect.Reading) {
	t.Helper()
	for _, n := range r.NotUnderstood {
		t.Errorf("line %d not understood: %s", n.Origin.Line, n.Text)
	}
}

// Forms checks a table: every form with an ID names its source, and what it
// writes is read back as the same statement with the same values.
func Forms(t *testing.T, g *dialect.Grammar) {
	forms := g.Forms()
	for i := range forms {
		f := &forms[i]
		if f.ID == "" {
			continue
		}
		if f.Source == "" {
			t.Errorf("form %q names no source", f.Text)
		}
		t.Run(f.In+"/"+f.ID, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { roundTrip(t, g, f) })
		})
	}
}

func roundTrip(t *rapid.T, g *dialect.Grammar, f *dialect.Form) {
	args := dialect.Args{}
	for _, p := range f.Places() {
		if p.Optional && !rapid.Bool().Draw(t, p.Name+" given") {
			continue
		}
		args[p.Name] = value(t, p)
	}
	line, err := f.Line(args)
	if err != nil {
		t.Fatalf("writing %q with %v: %v", f.Text, args, err)
	}
	got, read := g.Read(f.In, line)
	if got == nil {
		t.Fatalf("%q, written for %q, is not read", line, f.Text)
	}
	if got.ID != f.ID {
		t.Fatalf("%q is read as %q, want %q", line, got.ID, f.ID)
	}
	if got != f {
		return // another spelling of the same statement took it
	}
	again, err := got.Line(read)
	if err != nil || again != line {
		t.Fatalf("%q read and written again is %q (%v)", line, again, err)
	}
}

func value(t *rapid.T, p dialect.Place) string {
	word := rapid.StringMatching(`[A-Z][a-z0-9_]{2,8}x`)
	switch p.Kind {
	case "integer":
		return itoa(rapid.Int64Range(p.Lo, p.Hi).Draw(t, p.Name))
	case "number":
		return rapid.SampledFrom([]string{"0", "7", "0.25", "1500", "12.5"}).Draw(t, p.Name)
	case "list":
		return rapid.SampledFrom([]string{"3", "0-3", "1,4", "0-2,6"}).Draw(t, p.Name)
	case "choice":
		return rapid.SampledFrom(p.Choices).Draw(t, p.Name)
	case "literal":
		return p.Name
	case "words":
		return strings.Join(rapid.SliceOfN(word, 1, 3).Draw(t, p.Name), " ")
	}
	return word.Draw(t, p.Name)
}

func itoa(n int64) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = byte('0' + n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

// Parser is the Parse function of a dialect.
type Parser func(text []byte) (*dialect.Reading, error)

// Fuzz checks a parser on any text: it must not panic, must keep to the
// model's ranges, give lines within the text, keep unknown lines short, and
// not leak the marked secret of the seeds.
func Fuzz(f *testing.F, parse Parser, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := parse(text)
		if err != nil {
			return
		}
		lines := 1 + bytes.Count(text, []byte("\n"))
		for _, n := range r.NotUnderstood {
			if n.Origin.Line < 1 || n.Origin.Line > lines || len(n.Text) > 200+len(dialect.Redacted) || !utf8.ValidString(n.Text) && utf8.Valid(text) {
				t.Fatalf("unknown line %+v of %d", n, lines)
			}
		}
		if len(r.Device.Ports) > dialect.MaxPorts {
			t.Fatalf("%d ports", len(r.Device.Ports))
		}
		for i := range r.Device.Ports {
			checkPort(t, &r.Device.Ports[i], lines)
		}
		for i := range r.Device.Profiles {
			checkPort(t, &r.Device.Profiles[i], lines)
		}
	})
}

func checkPort(t *testing.T, p *qos.Port, lines int) {
	for d, prio := range p.DSCPToPriority {
		if prio != qos.Undefined && prio > 7 {
			t.Fatalf("DSCP %d has priority %d", d, prio)
		}
		if q := p.DSCPToQueue[d]; q != qos.Undefined && q > 7 {
			t.Fatalf("DSCP %d has queue %d", d, q)
		}
	}
	for i := range p.Queues {
		q := &p.Queues[i]
		if !(q.Share >= 0 && q.Share <= 1) || !(q.Probability <= 1) || q.Min < 0 || q.Max < 0 {
			t.Fatalf("queue %d out of range: %+v", i, *q)
		}
		if v := p.PriorityToQueue[i]; v != qos.Undefined && v > 7 {
			t.Fatalf("priority %d has queue %d", i, v)
		}
		if in := p.Ingress[i]; in.Headroom < 0 || in.Reserved < 0 {
			t.Fatalf("ingress %d out of range: %+v", i, in)
		}
	}
	if p.MTU < 0 || p.WatchdogDetect < 0 || p.WatchdogRestore < 0 {
		t.Fatalf("negative: MTU %d, watchdog %d %d", p.MTU, p.WatchdogDetect, p.WatchdogRestore)
	}
	for setting, line := range p.Lines {
		if line < 1 || line > lines {
			t.Fatalf("line %d of %s in a text of %d lines", line, setting, lines)
		}
	}
}
