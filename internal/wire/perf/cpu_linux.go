package perf

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the processor time of this process, user and system.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// clockHz returns the processor's rate as the kernel states it, 0 if it doesn't.
func clockHz() float64 {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(b) {
		if k, v, ok := bytes.Cut(line, []byte(":")); ok && bytes.HasPrefix(k, []byte("cpu MHz")) {
			mhz, _ := strconv.ParseFloat(string(bytes.TrimSpace(v)), 64)
			return mhz * 1e6
		}
	}
	return 0
}
