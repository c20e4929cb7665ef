// Command weir-server keeps the counters of a live cluster, serves them
// through the Prometheus API, raises alerts and shows the dashboard. See
// docs/live.md.
package main

import (
	"os"

	"weir/internal/cli"
	"weir/internal/server"
)

func main() { os.Exit(cli.MainProgram(server.NewCommand)) }
