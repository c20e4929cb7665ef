// Package remote runs commands on the hosts and switches of a cluster: over
// SSH, by Slurm's srun, by kubectl, in network namespaces, or here.
package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// MaxOutput bounds what is kept of each of a command's two outputs.
const MaxOutput = 16 << 20

// A Result is what a command left.
type Result struct {
	Stdout, Stderr []byte
	Exit           int  // status of the command
	Cut            bool // there was more than MaxOutput
	Took           time.Duration
}

// ErrUnreachable wraps what kept a command from being started on a host.
var ErrUnreachable = errors.New("host not reached")

// ErrHung is the error of a command that did not end in its time; the Result
// has what it printed until then.
var ErrHung = errors.New("ended at its time limit")

// A Runner starts commands, several at a time.
type Runner interface {
	// Run runs a shell command on a host and waits until it ends, limit has
	// passed (ErrHung), or ctx ends. A command that ends with a status other
	// than 0 is no error. The error wraps ErrUnreachable if the host could not
	// be asked at all.
	Run(ctx context.Context, host, command string, limit time.Duration) (Result, error)
}

// Exec is a Runner that starts a local program for each command.
type Exec struct {
	// Argv gives the program and its arguments.
	Argv func(host, command string) []string
	// Unreachable is the exit status by which the program says that it could
	// not reach the host (ssh: 255); 0: none.
	Unreachable int
}

// Local runs commands on this machine, whatever the host.
func Local() *Exec {
	return &Exec{Argv: func(_, command string) []string { return []string{"sh", "-c", command} }}
}

// Namespaces runs commands in network namespaces named like the hosts, with a
// prefix.
func Namespaces(prefix string) *Exec {
	return &Exec{Argv: func(host, command string) []string {
		return []string{"ip", "netns", "exec", prefix + host, "sh", "-c", command}
	}}
}

// Slurm runs commands as steps of one task by srun, inside the allocation that
// the environment names, or in one of their own.
func Slurm(options ...string) *Exec {
	return &Exec{Argv: func(host, command string) []string {
		argv := append([]string{"srun", "--nodes=1", "--ntasks=1", "--nodelist=" + host, "--overlap", "--quiet"}, options...)
		return append(argv, "sh", "-c", command)
	}}
}

// Kubernetes runs commands in a pod on the host, whose name pod returns.
func Kubernetes(namespace string, pod func(host string) string) *Exec {
	return &Exec{Argv: func(host, command string) []string {
		argv := []string{"kubectl", "exec"}
		if namespace != "" {
			argv = append(argv, "--namespace="+namespace)
		}
		return append(argv, pod(host), "--", "sh", "-c", command)
	}}
}

// Run implements Runner.
func (e *Exec) Run(ctx context.Context, host, command string, limit time.Duration) (Result, error) {
	argv := e.Argv(host, command)
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	c := exec.CommandContext(limited, argv[0], argv[1:]...)
	var stdout, stderr capped
	c.Stdout, c.Stderr = &stdout, &stderr
	// A command of its own group, so that what it started ends with it.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = 2 * time.Second
	start := time.Now()
	err := c.Run()
	if c.Process != nil {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
	}
	r := Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Cut: stdout.cut || stderr.cut, Took: time.Since(start)}
	if c.ProcessState != nil {
		r.Exit = c.ProcessState.ExitCode()
	}
	var status *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case limited.Err() != nil:
		return r, ErrHung
	case errors.As(err, &status):
		if e.Unreachable != 0 && r.Exit == e.Unreachable {
			return r, fmt.Errorf("%w: %s", ErrUnreachable, lastLine(r.Stderr))
		}
		return r, nil
	case errors.Is(err, exec.ErrWaitDelay): // something that it started keeps the outputs open
		return r, nil
	case err != nil:
		return r, fmt.Errorf("%w: %v", ErrUnreachable, err)
	}
	return r, nil
}

// capped is a buffer that drops what is beyond MaxOutput.
type capped struct {
	mu  sync.Mutex // a command that hangs is left while it may still write
	b   bytes.Buffer
	cut bool
}

func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := p
	if room := MaxOutput - c.b.Len(); len(p) > room {
		c.cut, keep = true, p[:room]
	}
	c.b.Write(keep)
	return len(p), nil
}

// Bytes returns what is kept so far.
func (c *capped) Bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.b.Bytes())
}

func lastLine(b []byte) string {
	s := strings.TrimSpace(string(b))
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// Quote quotes a word for the shell.
func Quote(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@%+") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
