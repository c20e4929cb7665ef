package cause

import (
	_ "embed"
	"fmt"

	"github.com/goccy/go-yaml"
)

//go:embed reference/variables.yaml
var variablesYAML []byte

//go:embed reference/counters.yaml
var countersYAML []byte

// A Variable is a setting of the communication library.
type Variable struct {
	Name    string `yaml:"name"`
	Default string `yaml:"default"`
	Text    `yaml:",inline"`
	Causes  []string `yaml:"causes"` // that it has a part in
}

// A Counter tells what a rise of a metric speaks for. Metric is a name of the
// metric table, which holds the English meaning.
type Counter struct {
	Metric string   `yaml:"metric"`
	Zh     string   `yaml:"zh"`
	Causes []string `yaml:"causes"`
}

// Variables returns the settings that are explained, in order of importance.
func Variables() ([]Variable, error) {
	var out []Variable
	if err := yaml.UnmarshalWithOptions(variablesYAML, &out, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("reference/variables.yaml: %w", err)
	}
	return out, nil
}

// Counters returns the counters that are explained.
func Counters() ([]Counter, error) {
	var out []Counter
	if err := yaml.UnmarshalWithOptions(countersYAML, &out, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("reference/counters.yaml: %w", err)
	}
	return out, nil
}
