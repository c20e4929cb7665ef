package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	promconfig "github.com/prometheus/common/config"

	"weir/internal/input"
)

// Config is the file of --config: what a cluster file does not say. Names of
// files in it are relative to it.
type Config struct {
	Schema   string         `yaml:"schema"`
	Agents   AgentsConfig   `yaml:"agents"`
	Store    StoreConfig    `yaml:"store"`
	Alerts   AlertsConfig   `yaml:"alerts"`
	Switches []SwitchConfig `yaml:"switches"`
	Existing ExistingConfig `yaml:"existing"`
}

// ConfigSchema is the form of the file.
const ConfigSchema = "weir.server/1"

// AgentsConfig says where the agents are. With file or kubernetes the hosts
// of the cluster file are not asked.
type AgentsConfig struct {
	URL        string     `yaml:"url"`         // of a host's metrics, {host} stands for its name
	File       string     `yaml:"file"`        // targets in the form of Prometheus' file_sd
	Kubernetes KubeConfig `yaml:"kubernetes"`  // pods of a selector, asked from inside of a cluster
	HTTPConfig string     `yaml:"http_config"` // TLS and credentials: a file in the form of Prometheus' http_config
	Interval   Duration   `yaml:"interval"`
}

// KubeConfig names the pods of agents.
type KubeConfig struct {
	Namespace string `yaml:"namespace"`
	Selector  string `yaml:"selector"`
	Port      int    `yaml:"port"`   // default 9779
	Scheme    string `yaml:"scheme"` // https (default) or http
}

// StoreConfig is for an engine elsewhere.
type StoreConfig struct {
	WriteURL   string `yaml:"write_url"` // default: --store and /api/v1/write
	HTTPConfig string `yaml:"http_config"`
}

// ExistingConfig names a Prometheus that already has series of node_exporter,
// RDMA exporters or gnmic.
type ExistingConfig struct {
	URL        string   `yaml:"url"`
	HTTPConfig string   `yaml:"http_config"`
	Interval   Duration `yaml:"interval"` // default 15s
}

// Duration is a time.Duration written as in "5s".
type Duration time.Duration

// UnmarshalYAML reads "5s".
func (d *Duration) UnmarshalYAML(text []byte) error {
	v, err := time.ParseDuration(strings.Trim(strings.TrimSpace(string(text)), `"'`))
	if err != nil || v < 0 {
		return fmt.Errorf("found %s where a time as in 5s is allowed", bytes.TrimSpace(text))
	}
	*d = Duration(v)
	return nil
}

// maxConfigFile bounds the file.
const maxConfigFile = 4 << 20

// readConfig reads the file, or returns the defaults without one. A refusal
// is an *input.Error.
func readConfig(name string) (*Config, error) {
	c := &Config{}
	if name != "" {
		f, err := os.Open(name)
		if err != nil {
			return nil, &input.Error{File: name, Found: errors.Unwrap(err).Error()}
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxConfigFile))
		if err != nil {
			return nil, err
		}
		if c, err = parseConfig(name, text); err != nil {
			return nil, err
		}
	}
	if c.Agents.URL == "" {
		c.Agents.URL = "http://{host}:9779/metrics"
	}
	if c.Agents.Interval == 0 {
		c.Agents.Interval = Duration(5 * time.Second)
	}
	return c, nil
}

// parseConfig reads the text of a configuration file.
func parseConfig(name string, text []byte) (*Config, error) {
	var c Config
	if err := input.YAML(name, text, &c); err != nil {
		return nil, err
	}
	refuse := func(format string, args ...any) error {
		return &input.Error{File: name, Found: fmt.Sprintf(format, args...)}
	}
	if c.Schema != ConfigSchema {
		return nil, refuse("found schema %.40q: allowed %q", c.Schema, ConfigSchema)
	}
	if c.Agents.Interval != 0 && time.Duration(c.Agents.Interval) < time.Second {
		return nil, refuse("found agents.interval below 1s: allowed 1s or more")
	}
	if c.Agents.URL != "" && !strings.HasPrefix(c.Agents.URL, "http://") && !strings.HasPrefix(c.Agents.URL, "https://") {
		return nil, refuse("found agents.url %.80q: allowed http://... or https://...", c.Agents.URL)
	}
	if k := c.Agents.Kubernetes; k != (KubeConfig{}) {
		switch {
		case c.Agents.File != "":
			return nil, refuse("found both agents.file and agents.kubernetes")
		case k.Selector == "":
			return nil, refuse("found agents.kubernetes without selector")
		case k.Port < 0 || k.Port > 65535 || k.Scheme != "" && k.Scheme != "http" && k.Scheme != "https":
			return nil, refuse("found agents.kubernetes with port %d, scheme %.20q: allowed a port, http or https", k.Port, k.Scheme)
		}
	}
	if err := c.Alerts.check(); err != nil {
		return nil, refuse("%v", err)
	}
	dir := filepath.Dir(name)
	if err := checkSwitches(c.Switches, dir); err != nil {
		return nil, refuse("%v", err)
	}
	files := []*string{&c.Agents.File, &c.Agents.HTTPConfig, &c.Store.HTTPConfig, &c.Existing.HTTPConfig}
	for i := range c.Alerts.Receivers {
		files = append(files, &c.Alerts.Receivers[i].HTTPConfig)
	}
	resolve(dir, files...)
	return &c, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// transport returns a round tripper with the TLS and credentials of a file in
// the form of Prometheus' http_config, or a plain one without a file.
func transport(name, purpose string) (http.RoundTripper, error) {
	c := &promconfig.HTTPClientConfig{}
	if name != "" {
		var err error
		if c, _, err = promconfig.LoadHTTPConfigFile(name); err != nil {
			return nil, &input.Error{File: name, Found: firstLine(err.Error()), Allowed: "an http_config of Prometheus"}
		}
		if err := c.Validate(); err != nil {
			return nil, &input.Error{File: name, Found: firstLine(err.Error()), Allowed: "an http_config of Prometheus"}
		}
	}
	c.EnableHTTP2 = true
	return promconfig.NewRoundTripperFromConfig(*c, purpose)
}
