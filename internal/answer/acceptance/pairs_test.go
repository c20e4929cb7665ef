package acceptance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"weir/internal/cluster"
	"weir/internal/field/remote"
)

// scripts is a runner that runs a shell script here in place of a host's
// command; a host without one cannot be reached.
type scripts struct {
	mu     sync.Mutex
	client func(host, command string) (string, bool)
	calls  int
}

func (s *scripts) Run(ctx context.Context, host, command string, limit time.Duration) (remote.Result, error) {
	if strings.HasPrefix(command, "exec timeout") { // the server
		if _, ok := s.client(host, command); !ok {
			return remote.Result{}, fmt.Errorf("%s: no route: %w", host, remote.ErrUnreachable)
		}
		<-ctx.Done()
		return remote.Result{}, ctx.Err()
	}
	s.mu.Lock()
	s.calls++
	s.mu.Unlock()
	script, ok := s.client(host, command)
	if !ok {
		return remote.Result{}, fmt.Errorf("%s: no route: %w", host, remote.ErrUnreachable)
	}
	return remote.Local().Run(ctx, host, script, limit)
}

// runPairs runs the tests of a cluster's first cards into a directory.
func runPairs(t *testing.T, ctx context.Context, c *cluster.Cluster, dir string, r remote.Runner) (planned int, err error) {
	t.Helper()
	log, err := OpenLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var tests []Test
	for _, x := range PairTests(c, []int{0, 1, 2, 3}, 0, false) {
		if x.From.NIC == 0 {
			tests = append(tests, x)
		}
	}
	p := &Pairs{Cluster: c, Runner: r, Tool: Perftest{GIDIndex: -1}, Log: log, Duration: time.Second, Limit: 400 * time.Millisecond, Now: time.Now}
	return len(tests), p.Run(ctx, Steps(c, tests), Alone, Bandwidth)
}

func fourParsed(t *testing.T) *cluster.Cluster {
	t.Helper()
	f, err := cluster.Parse("c.yaml", []byte(fourHosts), nil)
	if err != nil {
		t.Fatal(err)
	}
	return f.Cluster
}

func good() string { return "cat <<'END'\n" + write("391.80") + "END" }

// A test that hangs is ended at its limit and has failed, with what it printed;
// a host that is gone does not stop the others.
func TestPairsFailures(t *testing.T) {
	c, dir := fourParsed(t), t.TempDir()
	dead := c.Nodes[c.Hosts[3].Node].Name
	r := &scripts{client: func(host, command string) (string, bool) {
		switch {
		case host == dead:
			return "", false
		case host == "gpu01" && strings.Contains(command, c.Hosts[1].NICs[0].Address), host == "gpu02" && strings.Contains(command, c.Hosts[0].NICs[0].Address):
			return "echo waiting for the peer; exec sleep 30", true
		}
		return good(), true
	}}
	planned, err := runPairs(t, context.Background(), c, dir, r)
	if err != nil {
		t.Fatal(err)
	}
	results, err := ReadResults(context.Background(), c, dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(results.Pairs) != planned || planned != 6 {
		t.Fatalf("%d of %d", len(results.Pairs), planned)
	}
	passed, hung, gone := 0, 0, 0
	for _, p := range results.Pairs {
		switch {
		case p.Error == "" && p.Rate > 391e9:
			passed++
		case strings.Contains(p.Error, "ended at its time limit"):
			hung++
			if b, err := os.ReadFile(p.Source); err != nil || !strings.Contains(string(b), "waiting for the peer") {
				t.Errorf("%s: %q %v", p.Source, b, err)
			}
		case strings.Contains(p.Error, dead):
			gone++
		}
	}
	if passed != 2 || hung != 1 || gone != 3 {
		t.Errorf("%d passed, %d hung, %d without the host: %+v", passed, hung, gone, results.Pairs)
	}
	step, _, suspects, err := JudgePairs(c, results.Pairs, true, planned)
	if err != nil || step.Verdict != Fail {
		t.Errorf("%+v %v", step, err)
	}
	found := false
	for _, s := range suspects {
		found = found || s.Name == dead
	}
	if !found {
		t.Errorf("%+v", suspects)
	}
}

// A run that is interrupted is incomplete, and goes on with what is missing.
func TestPairsResume(t *testing.T) {
	c, dir := fourParsed(t), t.TempDir()
	ctx, stop := context.WithCancel(context.Background())
	n := 0
	var mu sync.Mutex
	r := &scripts{client: func(_, command string) (string, bool) {
		mu.Lock()
		defer mu.Unlock()
		if !strings.HasPrefix(command, "exec timeout") {
			if n++; n == 4 {
				stop()
			}
		}
		return good(), true
	}}
	planned, err := runPairs(t, ctx, c, dir, r)
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	results, err := ReadResults(context.Background(), c, dir)
	if err != nil {
		t.Fatal(err)
	}
	first := len(results.Pairs)
	if first == 0 || first >= planned {
		t.Fatalf("%d of %d", first, planned)
	}
	if step, _, _, err := JudgePairs(c, results.Pairs, true, planned); err != nil || step.Verdict != Incomplete {
		t.Errorf("%+v %v", step, err)
	}
	// The interruption tore the last line of the log.
	f, err := os.OpenFile(filepath.Join(dir, logName), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"step":"pairs","pa`)
	f.Close()
	r.calls = 0
	if _, err = runPairs(t, context.Background(), c, dir, r); err != nil {
		t.Fatal(err)
	}
	if r.calls != planned-first {
		t.Errorf("%d tests run again, %d were missing", r.calls, planned-first)
	}
	if results, err = ReadResults(context.Background(), c, dir); err != nil || len(results.Pairs) != planned {
		t.Fatalf("%d of %d, %v", len(results.Pairs), planned, err)
	}
	if step, _, _, err := JudgePairs(c, results.Pairs, true, planned); err != nil || step.Verdict != Pass {
		t.Errorf("%+v %v", step, err)
	}
}

// All at once, no card is used twice in a step, and no test is lost.
func TestAtOnce(t *testing.T) {
	tests := PairTests(fourParsed(t), []int{0, 1, 2, 3}, 0, false)
	steps := AtOnce(tests)
	n := 0
	for _, step := range steps {
		used := map[cluster.NICRef]bool{}
		for _, x := range step {
			if used[x.From] || used[x.To] {
				t.Errorf("%+v used twice", x)
			}
			used[x.From], used[x.To] = true, true
			n++
		}
	}
	// Four hosts meet in three rounds; eight rails, two pairs a round.
	if n != len(tests) || n != 48 || len(steps) != 3 || len(steps[0]) != 16 {
		t.Errorf("%d tests of %d in %d steps", n, len(tests), len(steps))
	}
}

// Missing latencies are missing tests, and do not hide behind bandwidths.
func TestLatencyPlanned(t *testing.T) {
	c := fourParsed(t)
	pair := Test{cluster.NICRef{Host: 0}, cluster.NICRef{Host: 1}}
	bandwidth := PairResult{Test: pair, Pass: Alone, Rate: 391e9, What: Bandwidth}
	latency := PairResult{Test: pair, Pass: Alone, Latency: 2.1, What: Latency}
	broken := PairResult{Test: pair, Pass: Alone, Error: "exit status 1", What: Latency}
	for _, x := range []struct {
		results []PairResult
		want    Verdict
	}{{[]PairResult{bandwidth, latency}, Pass}, {[]PairResult{bandwidth}, Incomplete}, {[]PairResult{bandwidth, broken}, Fail}, {[]PairResult{latency, latency}, Incomplete}} {
		if step, _, _, err := JudgePairs(c, x.results, true, 2); err != nil || step.Verdict != x.want {
			t.Errorf("%+v: %+v %v", x.results, step, err)
		}
	}
}
