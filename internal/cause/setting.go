package cause

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

//go:embed reference/settings.yaml
var settingsYAML []byte

// A Setting is one of switches, cards or hosts that RoCE depends on. Name is its
// path in the cluster file where it has one. Vendors holds, by system or tool, the
// statement that sets it, or what stands in its place.
type Setting struct {
	Name        string   `yaml:"name"`
	Aliases     []string `yaml:"aliases"`
	Unit        Text     `yaml:"unit"`
	Text        `yaml:",inline"`
	Recommended Text              `yaml:"recommended"`
	Low         Text              `yaml:"low"`
	High        Text              `yaml:"high"`
	Vendors     map[string]string `yaml:"vendors"`
	Causes      []string          `yaml:"causes"`
}

// Settings returns the settings that are explained, in order of importance.
func Settings() ([]Setting, error) {
	var out []Setting
	if err := yaml.UnmarshalWithOptions(settingsYAML, &out, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("reference/settings.yaml: %w", err)
	}
	return out, nil
}

// Answers reports whether the setting has the name, whatever its case.
func (s *Setting) Answers(name string) bool {
	return strings.EqualFold(s.Name, name) || slices.ContainsFunc(s.Aliases, func(a string) bool { return strings.EqualFold(a, name) })
}
