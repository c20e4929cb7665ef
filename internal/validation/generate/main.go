// Command generate runs the validation targets and writes docs/validation.md.
// Arguments are target ids (all, if there are none); the table goes to
// standard output.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"weir/internal/validation"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	outcomes := validation.Run(ctx, validation.Targets(), os.Args[1:], func(t validation.Target) {
		fmt.Fprintf(os.Stderr, "%s %s\n", t.ID, t.Title)
	})
	if err := validation.WriteMarkdown(os.Stdout, outcomes); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
	for _, o := range outcomes {
		if o.Err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", o.Target.ID, o.Err)
			os.Exit(1)
		}
	}
}
