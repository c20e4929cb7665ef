//go:build !linux

package probe

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"time"
)

// DefaultPort is the TCP port on which a responder tells what arrived.
const DefaultPort = 18517

// Options say what to probe.
type Options struct {
	Host                         string
	Port, Ports, Rounds, MaxHops int
	Local                        netip.Addr
	Class                        uint8
	Timeout                      time.Duration
	Rand                         *rand.Rand
}

// Server answers probes.
type Server struct {
	Addr netip.Addr
	Port int
}

var errLinux = errors.New("probing needs Linux")

// Run is for Linux alone.
func (s *Server) Run(context.Context, func()) error { return errLinux }

// Run is for Linux alone.
func Run(context.Context, Options) (*Report, error) { return nil, errLinux }
