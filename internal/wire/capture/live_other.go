//go:build !linux

package capture

import (
	"context"
	"errors"
	"io"
	"time"

	"weir/roce/pcapfile"
)

// Live would deliver the frames of a network interface: on Linux only.
type Live struct{}

// Listen returns an error: packet sockets are Linux's.
func Listen(context.Context, string, time.Duration) (*Live, error) {
	return nil, errors.New("live capture needs Linux; read a file, or standard input from tcpdump -w -")
}

// Next returns io.EOF.
func (*Live) Next(*pcapfile.Record) error { return io.EOF }

// Dropped returns 0.
func (*Live) Dropped() uint64 { return 0 }

// Close does nothing.
func (*Live) Close() error { return nil }
