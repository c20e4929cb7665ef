package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SSHConfig says how to reach hosts over SSH. A host key that the known hosts
// do not have, or have otherwise, is refused.
type SSHConfig struct {
	User       string
	Port       int      // 0: 22
	KnownHosts []string // files; at least one
	Agent      string   // socket of an agent; "": none
	Keys       []string // files of private keys without passphrase
	// Address returns where a host is reached, as name or address, with or
	// without port; nil: by its name.
	Address func(host string) string
	Dial    func(ctx context.Context, network, address string) (net.Conn, error) // nil: net.Dialer
}

// DefaultSSH is what the ssh program would use: the user's known_hosts, the
// agent of the environment and the usual key files that are there.
func DefaultSSH(home string, getenv func(string) string) SSHConfig {
	c := SSHConfig{User: getenv("USER"), KnownHosts: []string{filepath.Join(home, ".ssh", "known_hosts")}, Agent: getenv("SSH_AUTH_SOCK")}
	if c.User == "" {
		c.User = "root"
	}
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		if file := filepath.Join(home, ".ssh", name); readable(file) {
			c.Keys = append(c.Keys, file)
		}
	}
	return c
}

func readable(name string) bool {
	f, err := os.Open(name)
	if err == nil {
		f.Close()
	}
	return err == nil
}

// SSH is a Runner that keeps one connection to each host.
type SSH struct {
	c       SSHConfig
	client  *ssh.ClientConfig
	agent   net.Conn
	mu      sync.Mutex
	clients map[string]*connection
}

type connection struct {
	mu     sync.Mutex
	client *ssh.Client
}

// dialTime bounds how long a connection may take to stand.
const dialTime = 15 * time.Second

// NewSSH reads known hosts and keys. Close ends its connections.
func NewSSH(c SSHConfig) (*SSH, error) {
	known, err := knownhosts.New(c.KnownHosts...)
	if err != nil {
		return nil, fmt.Errorf("known hosts: %w", err)
	}
	s := &SSH{c: c, clients: map[string]*connection{}}
	var signers []ssh.Signer
	for _, name := range c.Keys {
		b, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		signer, err := ssh.ParsePrivateKey(b)
		var locked *ssh.PassphraseMissingError
		switch {
		case errors.As(err, &locked): // the agent's business
			continue
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		signers = append(signers, signer)
	}
	methods := []ssh.AuthMethod{ssh.PublicKeys(signers...)}
	if c.Agent != "" {
		if s.agent, err = net.Dial("unix", c.Agent); err == nil {
			methods = append([]ssh.AuthMethod{ssh.PublicKeysCallback(agent.NewClient(s.agent).Signers)}, methods...)
		}
	}
	if len(signers) == 0 && s.agent == nil {
		return nil, errors.New("no SSH key: neither an agent nor a key file without passphrase")
	}
	s.client = &ssh.ClientConfig{User: c.User, Auth: methods, HostKeyCallback: known, Timeout: dialTime}
	return s, nil
}

// Close ends all connections.
func (s *SSH) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, c := range s.clients {
		if c.client != nil {
			errs = append(errs, c.client.Close())
		}
	}
	s.clients = map[string]*connection{}
	if s.agent != nil {
		errs = append(errs, s.agent.Close())
	}
	return errors.Join(errs...)
}

// address returns where a host is reached.
func (s *SSH) address(host string) string {
	at := host
	if s.c.Address != nil {
		at = s.c.Address(host)
	}
	if _, _, err := net.SplitHostPort(at); err == nil {
		return at
	}
	port := s.c.Port
	if port == 0 {
		port = 22
	}
	return net.JoinHostPort(at, fmt.Sprint(port))
}

func (s *SSH) connect(ctx context.Context, host string) (*ssh.Client, *connection, error) {
	s.mu.Lock()
	c := s.clients[host]
	if c == nil {
		c = &connection{}
		s.clients[host] = c
	}
	s.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != nil {
		return c.client, c, nil
	}
	dial := s.c.Dial
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	at := s.address(host)
	conn, err := dial(ctx, "tcp", at)
	if err != nil {
		return nil, nil, err
	}
	// A server that says nothing must not hold us.
	_ = conn.SetDeadline(time.Now().Add(dialTime))
	sc, chans, reqs, err := ssh.NewClientConn(conn, at, s.client)
	if err != nil {
		conn.Close()
		return nil, nil, err
	}
	_ = conn.SetDeadline(time.Time{})
	c.client = ssh.NewClient(sc, chans, reqs)
	return c.client, c, nil
}

// forget drops a connection that broke, so that the next command makes a new one.
func (c *connection) forget(client *ssh.Client) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client == client {
		c.client = nil
		client.Close()
	}
}

// Run implements Runner.
func (s *SSH) Run(ctx context.Context, host, command string, limit time.Duration) (Result, error) {
	start := time.Now()
	client, conn, err := s.connect(ctx, host)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %v", ErrUnreachable, err)
	}
	session, err := client.NewSession()
	if err != nil {
		conn.forget(client)
		return Result{}, fmt.Errorf("%w: %v", ErrUnreachable, err)
	}
	defer session.Close()
	var stdout, stderr capped
	session.Stdout, session.Stderr = &stdout, &stderr
	if err := session.Start(command); err != nil {
		conn.forget(client)
		return Result{}, fmt.Errorf("%w: %v", ErrUnreachable, err)
	}
	done := make(chan error, 1)
	go func() { done <- session.Wait() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	var ended error
	select {
	case err = <-done:
	case <-ctx.Done():
		ended = ctx.Err()
	case <-timer.C:
		ended = ErrHung
	}
	if ended != nil {
		_ = session.Signal(ssh.SIGTERM)
		session.Close()
		select {
		case err = <-done:
		case <-time.After(2 * time.Second): // the connection hangs, too
			conn.forget(client)
			<-done
		}
	}
	r := Result{Stdout: stdout.Bytes(), Stderr: stderr.Bytes(), Cut: stdout.cut || stderr.cut, Took: time.Since(start)}
	var status *ssh.ExitError
	switch {
	case ended != nil:
		return r, ended
	case errors.As(err, &status):
		r.Exit = status.ExitStatus()
	case err != nil: // the connection broke while the command ran
		conn.forget(client)
		return r, fmt.Errorf("%w: %v", ErrUnreachable, err)
	}
	return r, nil
}
