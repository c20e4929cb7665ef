// Package cli is the command line of weir: one file a command, which reads
// flags, makes one call and prints.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// Exit statuses, the same for every command.
const (
	ExitOK          = 0   // done and fine
	ExitFinding     = 1   // a finding, or a failed judgement
	ExitRefused     = 2   // bad usage or input: nothing done
	ExitEnvironment = 3   // the environment failed; partial output kept
	ExitInterrupted = 130 // Ctrl-C; what was done is kept
)

// Streams are a command's surroundings: what it may read and write, and the clock.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Now      func() time.Time
	// Terminal: progress may be drawn on Err.
	Terminal bool
}

// An exitError carries the exit status of a failed command. A nil err prints nothing:
// the command has already said what there is to say.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// refused marks bad usage or input; judged a finding or failed judgement that
// was printed; failed a failure of the environment.
func refused(err error) error { return &exitError{ExitRefused, err} }
func judged() error           { return &exitError{ExitFinding, nil} }
func failed(err error) error  { return &exitError{ExitEnvironment, err} }
func interrupted() error      { return &exitError{ExitInterrupted, nil} }

// Main runs the command line of the process and returns its exit status.
func Main() int { return MainProgram(newRoot) }

// Run runs one command line and returns its exit status. Errors are printed
// on s.Err as one line.
func Run(ctx context.Context, s *Streams, args []string) int {
	return runProgram(ctx, s, newRoot(s), args)
}

func newRoot(s *Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "weir",
		Short:         "Will this network carry this training job at full speed, and if not, what must change?",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cmd.Help()
		},
	}
	root.AddCommand(newSimulate(s), newCluster(s), newPcap(s), newExplain(s), newVersion(s), newFacts(s))
	root.AddCommand(newDiagnose(s), newPerf(s), newProbe(s), newAgent(s))
	root.AddCommand(newImport(s))
	root.AddCommand(newRender(s))
	root.AddCommand(newAudit(s))
	root.AddCommand(newExpect(s))
	root.AddCommand(newAccept(s))
	root.AddCommand(newCollect(s))
	root.AddCommand(newCompare(s))
	return root
}

// oneLine folds an error to a single line: messages are read by scripts, too.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}

// inputError words the failure to read an input file, which is a refusal when
// the file is not there or not readable and a failed environment otherwise.
func inputError(name string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EISDIR) {
		return refused(fmt.Errorf("%s: %w", name, err))
	}
	return failed(fmt.Errorf("%s: %w", name, err))
}
