// Command weir plans, proves and operates lossless RoCEv2 networks for
// training clusters. See README.md.
package main

import (
	"os"

	"weir/internal/cli"
)

func main() { os.Exit(cli.Main()) }
