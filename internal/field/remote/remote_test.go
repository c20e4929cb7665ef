package remote

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestLocal(t *testing.T) {
	r, err := Local().Run(t.Context(), "any", "echo out; echo err >&2; exit 3", 5*time.Second)
	if err != nil || string(r.Stdout) != "out\n" || string(r.Stderr) != "err\n" || r.Exit != 3 {
		t.Errorf("%q %q %d %v", r.Stdout, r.Stderr, r.Exit, err)
	}
}

// TestHung: what a command printed before its limit is kept, and what it
// started ends with it.
func TestHung(t *testing.T) {
	start := time.Now()
	r, err := Local().Run(t.Context(), "any", "echo begun; sleep 61.25 & sleep 61.25", 300*time.Millisecond)
	if !errors.Is(err, ErrHung) || string(r.Stdout) != "begun\n" {
		t.Errorf("%q %v", r.Stdout, err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
	if out, _ := exec.Command("pgrep", "-f", "sleep 61.25").Output(); strings.TrimSpace(string(out)) != "" {
		t.Errorf("still running: %s", out)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := Local().Run(ctx, "any", "sleep 60", time.Minute); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestUnreachable(t *testing.T) {
	e := &Exec{Argv: func(_, command string) []string { return []string{"sh", "-c", command} }, Unreachable: 255}
	if _, err := e.Run(t.Context(), "h", "echo no route >&2; exit 255", time.Second); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "no route") {
		t.Error(err)
	}
	e = &Exec{Argv: func(_, _ string) []string { return []string{"/nonexistent/program"} }}
	if _, err := e.Run(t.Context(), "h", "", time.Second); !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
}

func TestBounded(t *testing.T) {
	r, err := Local().Run(t.Context(), "any", "head -c 20000000 /dev/zero", 20*time.Second)
	if err != nil || len(r.Stdout) != MaxOutput || !r.Cut {
		t.Errorf("%d bytes, cut %v, %v", len(r.Stdout), r.Cut, err)
	}
}

func TestArgv(t *testing.T) {
	for want, e := range map[string]*Exec{
		"srun --nodes=1 --ntasks=1 --nodelist=n1 --overlap --quiet sh -c true": Slurm(),
		"kubectl exec --namespace=mpi pod-n1 -- sh -c true":                    Kubernetes("mpi", func(h string) string { return "pod-" + h }),
		"ip netns exec weir-n1 sh -c true":                                     Namespaces("weir-"),
	} {
		if got := strings.Join(e.Argv("n1", "true"), " "); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"plain-1.2/x": "plain-1.2/x", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := Quote(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
