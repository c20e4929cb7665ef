package scrape

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	"weir/internal/cluster"
	"weir/internal/input"
	"weir/internal/telemetry"
)

// A Discovery finds targets. It is asked again and again; an error leaves the
// targets as they are.
type Discovery interface {
	Targets(ctx context.Context) ([]Target, error)
}

// MaxTargets bounds the targets of a server.
const MaxTargets = 20_000

// Watch asks d every interval and sends each new set of targets until ctx
// ends. report is told every error and, with nil, every recovery.
func Watch(ctx context.Context, d Discovery, every time.Duration, sets chan<- []Target, report func(error)) {
	var last []Target
	first, failing := true, false
	for {
		targets, err := d.Targets(ctx)
		if err == nil && len(targets) > MaxTargets {
			err = fmt.Errorf("%d targets, more than %d", len(targets), MaxTargets)
		}
		switch {
		case err != nil:
			if !failing {
				report(err)
			}
			failing = true
		case first || !equal(last, targets):
			select {
			case sets <- targets:
			case <-ctx.Done():
				return
			}
			first, last = false, targets
		}
		if err == nil && failing {
			failing = false
			report(nil)
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return
		}
	}
}

func equal(a, b []Target) bool {
	return slices.EqualFunc(a, b, func(x, y Target) bool { return x.key() == y.key() && slices.Equal(x.Labels, y.Labels) })
}

// FromCluster are the hosts of a cluster file: template is the URL of an
// agent's metrics with {host} for the host's name.
type FromCluster struct {
	Cluster  *cluster.Cluster
	Template string
}

// Targets returns one target a host.
func (f FromCluster) Targets(context.Context) ([]Target, error) {
	out := make([]Target, 0, len(f.Cluster.Hosts))
	for i := range f.Cluster.Hosts {
		name := f.Cluster.Nodes[f.Cluster.Hosts[i].Node].Name
		out = append(out, Target{URL: strings.ReplaceAll(f.Template, "{host}", name), Instance: name})
	}
	return out, nil
}

// FromFile is a file of Prometheus' file_sd form, JSON or YAML: groups of
// targets (HOST:PORT) with labels. The label instance names the host; without
// it the target's host does.
type FromFile struct{ Name string }

// maxTargetFile bounds a file of targets.
const maxTargetFile = 16 << 20

// Targets reads the file.
func (f FromFile) Targets(context.Context) ([]Target, error) {
	r, err := os.Open(f.Name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxTargetFile+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxTargetFile {
		return nil, &input.Error{File: f.Name, Found: "found more than 16 MiB", Allowed: "allowed at most 16 MiB"}
	}
	return parseTargets(f.Name, text)
}

type targetGroup struct {
	Targets []string          `json:"targets" yaml:"targets"`
	Labels  map[string]string `json:"labels" yaml:"labels"`
}

func parseTargets(name string, text []byte) ([]Target, error) {
	refuse := func(format string, args ...any) error {
		return &input.Error{File: name, Found: fmt.Sprintf(format, args...), Allowed: `groups as in [{"targets": ["host-0:9779"], "labels": {"instance": "host-0"}}]`}
	}
	var groups []targetGroup
	if strings.HasSuffix(name, ".json") {
		if err := json.Unmarshal(text, &groups); err != nil {
			return nil, refuse("found %v", err)
		}
	} else if err := input.YAML(name, text, &groups); err != nil {
		return nil, err
	}
	var out []Target
	for i, g := range groups {
		for _, address := range g.Targets {
			t, err := fileTarget(address, g.Labels)
			if err != nil {
				return nil, refuse("group %d, target %.80q: %v", i+1, address, err)
			}
			out = append(out, t)
			if len(out) > MaxTargets {
				return nil, refuse("found more than %d targets", MaxTargets)
			}
		}
	}
	return out, nil
}

// fileTarget takes the labels that Prometheus gives a meaning to as it does.
func fileTarget(address string, ls map[string]string) (Target, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" || strings.ContainsAny(address, "/@?# ") {
		return Target{}, errors.New("not host:port")
	}
	t := Target{Instance: host}
	scheme, path := "http", "/metrics"
	for _, name := range sorted(ls) {
		v := ls[name]
		switch {
		case name == "__scheme__":
			scheme = v
		case name == "__metrics_path__":
			path = v
		case name == "instance":
			t.Instance = v
		case strings.HasPrefix(name, "__"):
		case !model.LegacyValidation.IsValidLabelName(name) || len(v) > maxLabelBytes:
			return Target{}, fmt.Errorf("label %.80q", name)
		default:
			t.Labels = append(t.Labels, telemetry.Label{Name: name, Value: v})
		}
	}
	if scheme != "http" && scheme != "https" {
		return Target{}, fmt.Errorf("__scheme__ %.20q", scheme)
	}
	u := url.URL{Scheme: scheme, Host: address, Path: path}
	t.URL = u.String()
	return t, nil
}

func sorted(m map[string]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
