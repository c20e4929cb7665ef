package accept

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const clusterFile = `
name: four
host: {count: 4, nic: {count: 1, speed: 100Gbps, addresses: [10.94.0.1, 10.94.0.2, 10.94.0.3, 10.94.0.4]}}
fabric: {topology: single-switch}
`

// bench is four hosts on a switch.
type bench struct {
	t      *testing.T
	prefix string
	weir   string
	dir    string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, tool := range []string{"ip", "tc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	b := &bench{t: t, prefix: fmt.Sprintf("weir-accept-%d-", os.Getpid()), dir: t.TempDir()}
	b.weir = filepath.Join(b.dir, "weir")
	if out, err := exec.Command("go", "build", "-o", b.weir, "weir/cmd/weir").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.WriteFile(filepath.Join(b.dir, "four.yaml"), []byte(clusterFile), 0o644); err != nil {
		t.Fatal(err)
	}
	sw := b.prefix + "switch"
	b.must(t.Skipf, "ip netns add "+sw)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", sw).Run() })
	b.must(t.Skipf, "ip -n "+sw+" link add br0 type bridge")
	b.must(t.Fatalf, "ip -n "+sw+" link set br0 up")
	for i := range 4 {
		host := fmt.Sprintf("%shost-%d", b.prefix, i)
		b.must(t.Fatalf, "ip netns add "+host)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", host).Run() })
		for _, line := range []string{
			fmt.Sprintf("ip -n %s link add v0 type veth peer name p%d netns %s", host, i, sw),
			"ip -n " + host + " link set lo up",
			"ip -n " + host + " link set v0 up",
			fmt.Sprintf("ip -n %s addr add 10.94.0.%d/24 dev v0", host, i+1),
			fmt.Sprintf("ip -n %s link set p%d master br0", sw, i),
			fmt.Sprintf("ip -n %s link set p%d up", sw, i),
		} {
			b.must(t.Fatalf, line)
		}
		b.shape(i, "300mbit")
	}
	return b
}

func (b *bench) must(fail func(string, ...any), line string) {
	b.t.Helper()
	words := strings.Fields(line)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		fail("%s: %v %s", line, err, out)
	}
}

// shape sets the rate of a host's link, both ways.
func (b *bench) shape(host int, rate string) {
	b.must(b.t.Fatalf, fmt.Sprintf("ip netns exec %shost-%d tc qdisc replace dev v0 root tbf rate %s burst 128kb latency 40ms", b.prefix, host, rate))
	b.must(b.t.Fatalf, fmt.Sprintf("ip netns exec %sswitch tc qdisc replace dev p%d root tbf rate %s burst 128kb latency 40ms", b.prefix, host, rate))
}

type acceptance struct {
	Verdict  string
	Steps    []struct{ Name, Verdict, Summary string }
	Suspects []struct {
		Kind, Name   string
		Alternatives []string
		RateShare    float64 `json:"rate_share"`
	}
	Pairs []struct {
		From, To, Verdict, Error string

		Gbps float64 `json:"bandwidth_gbits_per_s"`
	}
}

func (b *bench) accept(args ...string) (a acceptance, status int) {
	b.t.Helper()
	c := exec.Command(b.weir, append([]string{"accept", "four.yaml", "--json", "--runner", "namespaces", "--prefix", b.prefix, "--tool", "weir", "--weir", b.weir, "--duration", "600ms"}, args...)...)
	c.Dir = b.dir
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := c.Run(); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else if err != nil {
		b.t.Fatal(err)
	}
	if err := json.Unmarshal(stdout.Bytes(), &a); err != nil {
		b.t.Fatalf("%v\n%s\n%s", err, stdout.Bytes(), stderr.Bytes())
	}
	return a, status
}

// TestSlowLink: of four hosts one has a link of half the rate. It is found, and
// after repair the network passes.
func TestSlowLink(t *testing.T) {
	b := newBench(t)
	b.shape(2, "150mbit")
	a, status := b.accept("--dir", "slow")
	if status != 1 || a.Verdict != "fail" || len(a.Suspects) != 1 || len(a.Pairs) != 6 {
		t.Fatalf("status %d, %+v", status, a)
	}
	s := a.Suspects[0]
	if s.Kind != "cable" || !strings.HasPrefix(s.Name, "host-2/nic-0~") || s.RateShare < 0.4 || s.RateShare > 0.6 {
		t.Errorf("%+v", s)
	}
	for _, p := range a.Pairs {
		if through := strings.Contains(p.From+p.To, "host-2"); through != (p.Verdict == "fail") {
			t.Errorf("%+v", p)
		}
	}
	b.shape(2, "300mbit")
	if a, status := b.accept("--dir", "repaired", "--latency"); status != 0 || a.Verdict != "pass" && a.Verdict != "warn" || len(a.Suspects) != 0 || len(a.Pairs) != 12 {
		t.Errorf("status %d, %+v", status, a)
	}
	// What the hosts say of themselves; no time for tests is no pass.
	short, status := b.accept("--dir", "short", "--steps", "preflight,pairs", "--budget", "1ns")
	if status != 1 || len(short.Pairs) != 0 || len(short.Steps) != 2 || short.Steps[0].Name != "preflight" || short.Steps[0].Verdict == "skipped" || short.Steps[1].Verdict != "incomplete" {
		t.Errorf("status %d, %d pairs, %+v", status, len(short.Pairs), short.Steps)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "short", "preflight.tar.zst")); err != nil {
		t.Error(err)
	}
	// Judged again from its results, and resumed: no test is run twice.
	if again, status := b.accept("--results", "slow"); status != 1 || len(again.Suspects) != 1 || again.Suspects[0].Name != s.Name {
		t.Errorf("status %d, %+v", status, again)
	}
}
