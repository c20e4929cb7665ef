package acceptance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"weir/internal/cluster"
	"weir/internal/field/remote"
)

// Pairs runs tests between pairs of NICs.
type Pairs struct {
	Cluster  *cluster.Cluster
	Runner   remote.Runner
	Tool     Tool
	Log      *Log
	Duration time.Duration // of a bandwidth test
	Limit    time.Duration // after which a test is ended and counts as failed
	// Until is when no further step is started; zero: no budget.
	Until time.Time
	Now   func() time.Time
	// Progress, if set, is told after every step.
	Progress func(done, total int)

	mu   sync.Mutex
	port int
	dead map[string]int // hosts that could not be reached, and how often
}

// firstPort is the first TCP port of the tools' own exchange. Each test has
// another, so that what an earlier one left behind does not matter.
const (
	firstPort = 18600
	ports     = 2000
	// deadAfter is after how many failures to reach it a host is given up.
	deadAfter = 2
)

// ErrBudget tells that the time was over before the tests were.
var ErrBudget = errors.New("the time budget is used up")

// Run runs the steps one after the other, each with its tests at once, and
// keeps every result. Tests that the log has are not repeated. It returns an
// error if it had to stop: ErrBudget, or that of ctx.
func (p *Pairs) Run(ctx context.Context, steps [][]Test, pass, what string) error {
	if p.dead == nil {
		p.dead = map[string]int{}
	}
	for i, step := range steps {
		var todo []Record
		var tests []Test
		for _, t := range step {
			r := Record{Step: "pairs", Pass: pass, Test: what, From: NICName(p.Cluster, t.From), To: NICName(p.Cluster, t.To)}
			if !p.Log.Done(&r) {
				todo, tests = append(todo, r), append(tests, t)
			}
		}
		if len(todo) > 0 && !p.Until.IsZero() && p.Now().After(p.Until) {
			return ErrBudget
		}
		var wg sync.WaitGroup
		errs := make([]error, len(todo))
		for k := range todo {
			wg.Go(func() { errs[k] = p.one(ctx, tests[k], todo[k]) })
		}
		wg.Wait()
		if err := errors.Join(errs...); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if p.Progress != nil {
			p.Progress(i+1, len(steps))
		}
	}
	return nil
}

// one runs one test. A test that fails is a result; an error is what keeps
// results from being kept.
func (p *Pairs) one(ctx context.Context, t Test, r Record) error {
	from, to := p.host(t.From), p.host(t.To)
	p.mu.Lock()
	port := firstPort + p.port%ports
	p.port++
	for _, h := range []string{from, to} {
		if p.dead[h] >= deadAfter && r.Error == "" {
			r.Error = h + " was not reached before"
		}
	}
	p.mu.Unlock()
	server, client := p.Tool.Commands(p.Cluster, t, r.Test, port, p.Duration)
	r.Command = client
	if r.Error != "" {
		return p.Log.Add(r, nil)
	}
	// The server's own limit ends it even where its host is out of reach by then.
	serving, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	var served remote.Result
	go func() {
		var err error
		served, err = p.Runner.Run(serving, to, fmt.Sprintf("exec timeout %d %s", int((p.Limit+5*time.Second).Seconds()), server), p.Limit+10*time.Second)
		ended <- err
	}()
	got, err := p.Runner.Run(ctx, from, retried(client), p.Limit)
	stop()
	serverErr := <-ended
	if ctx.Err() != nil {
		return nil // neither a result nor a failure
	}
	r.Exit, r.Seconds = got.Exit, got.Took.Seconds()
	switch {
	case errors.Is(serverErr, remote.ErrUnreachable):
		p.unreached(to)
		r.Error = fmt.Sprintf("%s: %v", to, serverErr)
	case errors.Is(err, remote.ErrUnreachable):
		p.unreached(from)
		r.Error = fmt.Sprintf("%s: %v", from, err)
	case err != nil:
		r.Error = err.Error()
	case got.Exit != 0:
		r.Error = fmt.Sprintf("exit status %d", got.Exit)
	}
	output := append(got.Stdout, got.Stderr...)
	if r.Error != "" && len(served.Stdout)+len(served.Stderr) > 0 {
		output = append(append(append(output, "\nserver:\n"...), served.Stdout...), served.Stderr...)
	}
	return p.Log.Add(r, output)
}

func (p *Pairs) host(r cluster.NICRef) string {
	return p.Cluster.Nodes[p.Cluster.Hosts[r.Host].Node].Name
}

func (p *Pairs) unreached(host string) {
	p.mu.Lock()
	p.dead[host]++
	p.mu.Unlock()
}

// retried repeats a client until its server listens, a few times, and prints
// what the last attempt printed.
func retried(client string) string {
	return `i=0; while :; do out=$(` + client + ` 2>&1); s=$?; i=$((i+1)); [ $s = 0 ] || [ $i -ge 6 ] && break; sleep 0.$((i*2)); done; printf '%s\n' "$out"; exit $s`
}
