// Package listen opens the HTTP listeners of the agent and the server and
// keeps the rule for both: loopback by default; beyond it authentication, and
// TLS unless plain text was asked for by name.
package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"

	"github.com/prometheus/exporter-toolkit/web"
	"go.yaml.in/yaml/v2"

	"weir/internal/input"
)

// Options of a listener.
type Options struct {
	Address string // host:port; a port of 0 picks a free one
	// WebConfig is a configuration file of Prometheus' exporter-toolkit: TLS,
	// client certificates, basic authentication.
	WebConfig string
	Insecure  bool // plain text beyond loopback
}

// maxConfig is the most bytes of a web configuration.
const maxConfig = 1 << 20

// Open checks the rule and listens. A refusal is an *input.Error.
func Open(ctx context.Context, o Options) (net.Listener, error) {
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, &input.Error{File: "--listen", Found: fmt.Sprintf("found %q", o.Address), Allowed: "host:port, as in 127.0.0.1:8080"}
	}
	encrypted, authenticated := false, false
	if o.WebConfig != "" {
		if encrypted, authenticated, err = protection(o.WebConfig); err != nil {
			return nil, err
		}
	}
	if !loopback(host) {
		switch {
		case !authenticated:
			return nil, &input.Error{File: "--listen " + o.Address, Found: "beyond loopback without authentication", Allowed: "--web-config FILE with basic_auth_users or client certificates"}
		case !encrypted && !o.Insecure:
			return nil, &input.Error{File: "--listen " + o.Address, Found: "beyond loopback without TLS", Allowed: "--web-config FILE with tls_server_config, or --insecure"}
		}
	}
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", o.Address)
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// protection tells whether a web configuration encrypts and whether it
// authenticates.
func protection(name string) (encrypted, authenticated bool, err error) {
	refuse := func(err error) error {
		return &input.Error{File: name, Found: err.Error(), Allowed: "a web configuration of Prometheus' exporter-toolkit"}
	}
	f, err := os.Open(name)
	if err != nil {
		return false, false, refuse(errors.Unwrap(err))
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig))
	if err != nil {
		return false, false, refuse(err)
	}
	if err := web.Validate(name); err != nil {
		return false, false, refuse(err)
	}
	var c struct {
		TLS struct {
			Cert       string `yaml:"cert"`
			CertFile   string `yaml:"cert_file"`
			ClientAuth string `yaml:"client_auth_type"`
		} `yaml:"tls_server_config"`
		Users map[string]string `yaml:"basic_auth_users"`
	}
	// The toolkit has read the file: these keys are there as it says.
	if err := yaml.Unmarshal(text, &c); err != nil {
		return false, false, refuse(errors.New("not YAML"))
	}
	encrypted = c.TLS.Cert != "" || c.TLS.CertFile != ""
	authenticated = len(c.Users) > 0 || encrypted && c.TLS.ClientAuth == "RequireAndVerifyClientCert"
	return encrypted, authenticated, nil
}

// Serve serves h on l until ctx ends, then lets running requests finish for a
// few seconds.
func Serve(ctx context.Context, l net.Listener, h http.Handler, o Options, log *slog.Logger) error {
	s := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	systemd := false
	served := make(chan error, 1)
	go func() {
		served <- web.Serve(l, s, &web.FlagConfig{WebListenAddresses: &[]string{l.Addr().String()}, WebSystemdSocket: &systemd, WebConfigFile: &o.WebConfig}, log)
	}()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(grace); err != nil {
		s.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
