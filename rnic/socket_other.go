//go:build !linux

package rnic

import (
	"errors"
)

// Open opens a device on UDP port 4791. It is for Linux alone; a Fabric works
// everywhere.
func Open(Config) (*Device, error) {
	return nil, errors.New("rnic: devices on sockets need Linux")
}

// ReceiveBuffer returns 0.
func (d *Device) ReceiveBuffer() int { return 0 }

type sender struct{}

type socket struct{}

func (s *socket) sender(*path) error { return errors.ErrUnsupported }
func (s *socket) wake()              {}
func (s *socket) close() error       { return nil }
