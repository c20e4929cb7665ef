package server

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"

	"weir/internal/field/switches"
)

// SwitchConfig says how one switch is read: by any of three ways at a time.
// Secrets stand in files of their own.
type SwitchConfig struct {
	Name  string            `yaml:"name"`  // in the cluster file
	Ports map[string]string `yaml:"ports"` // the switch's name of a port to the cluster's, where that cannot be told
	GNMI  *GNMIConfig       `yaml:"gnmi"`
	SNMP  *SNMPConfig       `yaml:"snmp"`
	SSH   *SSHConfig        `yaml:"ssh"`
}

// GNMIConfig is a subscription.
type GNMIConfig struct {
	Address      string   `yaml:"address"`
	Model        string   `yaml:"model"` // openconfig (default) or sonic
	Username     string   `yaml:"username"`
	PasswordFile string   `yaml:"password_file"`
	Plaintext    bool     `yaml:"plaintext"`
	CAFile       string   `yaml:"ca_file"`
	CertFile     string   `yaml:"cert_file"`
	KeyFile      string   `yaml:"key_file"`
	ServerName   string   `yaml:"server_name"`
	SkipVerify   bool     `yaml:"insecure_skip_verify"`
	Interval     Duration `yaml:"interval"` // default 5s
}

// SNMPConfig is polling by SNMP, 2c or 3 (SHA, AES).
type SNMPConfig struct {
	Address       string   `yaml:"address"`
	Version       string   `yaml:"version"`
	CommunityFile string   `yaml:"community_file"`
	User          string   `yaml:"user"`
	AuthFile      string   `yaml:"auth_file"`
	PrivFile      string   `yaml:"priv_file"`
	Interval      Duration `yaml:"interval"` // default 15s
}

// SSHConfig is polling by commands.
type SSHConfig struct {
	Address    string   `yaml:"address"` // host or host:port
	OS         string   `yaml:"os"`
	User       string   `yaml:"user"`
	Keys       []string `yaml:"keys"`        // files; default the user's own and the agent's
	KnownHosts []string `yaml:"known_hosts"` // files; default the user's own
	Interval   Duration `yaml:"interval"`    // default 60s
}

// checkSwitches returns what is wrong with the switches' part and fills in
// defaults.
func checkSwitches(list []SwitchConfig, dir string) error {
	seen := map[string]bool{}
	for i := range list {
		s := &list[i]
		where := fmt.Sprintf("switches[%d]", i)
		switch {
		case s.Name == "" || seen[s.Name]:
			return fmt.Errorf("found %s without a name of its own", where)
		case s.GNMI == nil && s.SNMP == nil && s.SSH == nil:
			return fmt.Errorf("found %s (%.40s) without gnmi, snmp and ssh", where, s.Name)
		}
		seen[s.Name] = true
		if g := s.GNMI; g != nil {
			g.Interval = orDefault(g.Interval, 5*time.Second)
			if g.Address == "" || g.Model != "" && g.Model != "openconfig" && g.Model != "sonic" {
				return fmt.Errorf("found %s.gnmi with address %.80q, model %.20q: allowed host:port, openconfig or sonic", where, g.Address, g.Model)
			}
			if g.Username != "" && g.Plaintext && !loopbackAddress(g.Address) {
				return fmt.Errorf("found %s.gnmi with a password over plain text: allowed with TLS only", where)
			}
			resolve(dir, &g.PasswordFile, &g.CAFile, &g.CertFile, &g.KeyFile)
		}
		if n := s.SNMP; n != nil {
			n.Interval = orDefault(n.Interval, 15*time.Second)
			if _, err := switches.SNMP(switches.SNMPConfig{Address: n.Address, Version: n.Version}); err != nil {
				return fmt.Errorf("found %s.snmp: %w", where, err)
			}
			if n.Version == "3" && (n.User == "" || n.AuthFile == "" || n.PrivFile == "") || n.Version != "3" && n.CommunityFile == "" {
				return fmt.Errorf("found %s.snmp without credentials: allowed community_file, or version 3 with user, auth_file and priv_file", where)
			}
			resolve(dir, &n.CommunityFile, &n.AuthFile, &n.PrivFile)
		}
		if h := s.SSH; h != nil {
			h.Interval = orDefault(h.Interval, time.Minute)
			if h.Address == "" || !slices.Contains(switches.Systems(), h.OS) {
				return fmt.Errorf("found %s.ssh with address %.80q, os %.20q: allowed a host and %s", where, h.Address, h.OS, strings.Join(switches.Systems(), ", "))
			}
			for j := range h.Keys {
				resolve(dir, &h.Keys[j])
			}
			for j := range h.KnownHosts {
				resolve(dir, &h.KnownHosts[j])
			}
		}
	}
	return nil
}

func loopbackAddress(s string) bool {
	return strings.HasPrefix(s, "127.") || strings.HasPrefix(s, "localhost:") || strings.HasPrefix(s, "[::1]:")
}

func orDefault(d Duration, otherwise time.Duration) Duration {
	if d == 0 {
		return Duration(otherwise)
	}
	return max(d, Duration(time.Second))
}

// resolve makes names of files relative to dir.
func resolve(dir string, names ...*string) {
	for _, n := range names {
		if *n != "" && !filepath.IsAbs(*n) {
			*n = filepath.Join(dir, *n)
		}
	}
}

// secret reads a file with one secret. Errors name the file, never what is in it.
func secret(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	if len(b) > 4096 {
		return "", fmt.Errorf("%s: more than 4096 bytes for a secret", name)
	}
	return strings.TrimSpace(string(b)), nil
}

func (g *GNMIConfig) options() (switches.GNMIConfig, error) {
	password, err := secret(g.PasswordFile)
	if err != nil {
		return switches.GNMIConfig{}, err
	}
	out := switches.GNMIConfig{Address: g.Address, Model: g.Model, Username: g.Username, Password: password, Interval: time.Duration(g.Interval)}
	if !g.Plaintext {
		out.TLS, err = promconfig.NewTLSConfig(&promconfig.TLSConfig{CAFile: g.CAFile, CertFile: g.CertFile, KeyFile: g.KeyFile, ServerName: g.ServerName, InsecureSkipVerify: g.SkipVerify, MinVersion: tls.VersionTLS12})
	}
	return out, err
}

func (n *SNMPConfig) poll() (switches.Poll, error) {
	c := switches.SNMPConfig{Address: n.Address, Version: n.Version, User: n.User}
	var errs [3]error
	c.Community, errs[0] = secret(n.CommunityFile)
	c.AuthPassphrase, errs[1] = secret(n.AuthFile)
	c.PrivPassphrase, errs[2] = secret(n.PrivFile)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return switches.SNMP(c)
}
