package remote

import (
	"crypto/ed25519"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// server is an SSH server that runs commands by sh.
func server(t *testing.T, host ssh.Signer, user ssh.PublicKey) string {
	t.Helper()
	conf := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if string(key.Marshal()) != string(user.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}}
	conf.AddHostKey(host)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn, conf)
		}
	}()
	return l.Addr().String()
}

func serve(conn net.Conn, conf *ssh.ServerConfig) {
	_, chans, reqs, err := ssh.NewServerConn(conn, conf)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(reqs)
	for nc := range chans {
		ch, reqs, err := nc.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range reqs {
				if r.Type != "exec" {
					_ = r.Reply(false, nil)
					continue
				}
				_ = r.Reply(true, nil)
				var p struct{ Command string }
				_ = ssh.Unmarshal(r.Payload, &p)
				go func() {
					c := exec.Command("sh", "-c", p.Command)
					c.Stdout, c.Stderr = ch, ch.Stderr()
					status := 0
					if c.Run() != nil {
						status = c.ProcessState.ExitCode()
					}
					_, _ = ch.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(status)}))
					ch.Close()
				}()
			}
		}()
	}
}

func newKey(t *testing.T) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, pem.EncodeToMemory(block)
}

func TestSSH(t *testing.T) {
	host, _ := newKey(t)
	stranger, _ := newKey(t)
	user, pemBytes := newKey(t)
	good, bad := server(t, host, user.PublicKey()), server(t, stranger, user.PublicKey())
	dir := t.TempDir()
	known, key := filepath.Join(dir, "known_hosts"), filepath.Join(dir, "key")
	lines := ""
	for _, at := range []string{good, bad} {
		lines += knownhosts.Line([]string{knownhosts.Normalize(at)}, host.PublicKey()) + "\n"
	}
	for name, b := range map[string]string{known: lines, key: string(pemBytes)} {
		if err := os.WriteFile(name, []byte(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := map[string]string{"good": good, "bad": bad, "absent": "127.0.0.1:1"}
	s, err := NewSSH(SSHConfig{User: "weir", KnownHosts: []string{known}, Keys: []string{key}, Address: func(h string) string { return at[h] }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r, err := s.Run(t.Context(), "good", "echo hello; echo oops >&2; exit 4", 10*time.Second)
	if err != nil || string(r.Stdout) != "hello\n" || string(r.Stderr) != "oops\n" || r.Exit != 4 {
		t.Errorf("%q %q %d %v", r.Stdout, r.Stderr, r.Exit, err)
	}
	// Several at a time over one connection.
	done := make(chan error, 5)
	for i := range 5 {
		go func() {
			r, err := s.Run(t.Context(), "good", fmt.Sprintf("sleep 0.1; echo %d", i), 10*time.Second)
			if err == nil && strings.TrimSpace(string(r.Stdout)) != fmt.Sprint(i) {
				err = fmt.Errorf("%q", r.Stdout)
			}
			done <- err
		}()
	}
	for range 5 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if r, err := s.Run(t.Context(), "good", "echo begun; sleep 30", 300*time.Millisecond); !errors.Is(err, ErrHung) || string(r.Stdout) != "begun\n" {
		t.Errorf("%q %v", r.Stdout, err)
	}
	for _, h := range []string{"bad", "absent"} {
		if _, err := s.Run(t.Context(), h, "true", time.Second); !errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: %v", h, err)
		}
	}
}

func TestSSHWithoutKeys(t *testing.T) {
	known := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(known, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewSSH(SSHConfig{KnownHosts: []string{known}}); err == nil {
		t.Error("no key is taken")
	}
	if _, err := NewSSH(SSHConfig{KnownHosts: []string{known + ".absent"}}); err == nil {
		t.Error("absent known hosts are taken")
	}
}
