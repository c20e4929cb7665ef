//go:build !linux

package perf

import "time"

func cpuTime() time.Duration { return 0 }

func clockHz() float64 { return 0 }
