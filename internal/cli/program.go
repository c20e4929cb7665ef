package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"weir/internal/cluster"
)

// MainProgram runs the process as the program that build makes, and returns
// its exit status. weir and weir-server share the meaning of exit statuses and
// the form of messages through it.
func MainProgram(build func(*Streams) *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Now: time.Now,
		Terminal: term.IsTerminal(int(os.Stderr.Fd())),
	}
	return runProgram(ctx, s, build(s), os.Args[1:])
}

func runProgram(ctx context.Context, s *Streams, root *cobra.Command, args []string) int {
	root.SetOut(s.Out)
	root.SetErr(s.Err)
	root.SetIn(s.In)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return ExitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		// cobra's own errors are all about usage.
		exit = &exitError{ExitRefused, err}
	}
	if exit.err != nil {
		fmt.Fprintf(s.Err, "%s: %s\n", root.Name(), oneLine(exit.err))
	}
	return exit.status
}

// Refused marks bad usage or input: nothing was done.
func Refused(err error) error { return refused(err) }

// Failed marks a failure of the environment.
func Failed(err error) error { return failed(err) }

// LoadCluster reads a cluster file with values that --set changes; its errors
// carry their exit status.
func LoadCluster(name string, set []string) (*cluster.Cluster, error) {
	overrides, err := cluster.Sets(set)
	if err != nil {
		return nil, refused(err)
	}
	file, err := loadCluster(name, overrides)
	if err != nil {
		return nil, err
	}
	return file.Cluster, nil
}
