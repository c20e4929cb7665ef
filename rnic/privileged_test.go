package rnic_test

import "os"

// privileged reports whether the process may open raw sockets.
func privileged() bool { return os.Geteuid() == 0 }
