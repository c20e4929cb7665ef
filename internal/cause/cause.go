// Package cause is the one catalogue of causes: id, texts in English and
// Chinese, what the evidence usually looks like, what refutes it, the test
// that decides, and the fix. Rules that recognise a cause live with the
// diagnosis; faults that the simulator injects carry the same ids.
//
// Each cause is a file under catalogue.
package cause

import (
	"embed"
	"fmt"
	"io/fs"
	"sort"
	"strings"

	"github.com/goccy/go-yaml"
)

// Language of the texts.
type Language string

// The languages.
const (
	English Language = "en"
	Chinese Language = "zh"
)

// Text is one text in both languages.
type Text struct {
	En string `yaml:"en"`
	Zh string `yaml:"zh"`
}

// In returns the text in a language.
func (t Text) In(l Language) string {
	if l == Chinese {
		return t.Zh
	}
	return t.En
}

// Fix is one way to repair. Command may hold names in capitals that the user
// fills in; Disruption is what applying it disturbs: "none", "pause", "flap"
// or "reload".
type Fix struct {
	Disruption string `yaml:"disruption"`
	Command    string `yaml:"command"`
	Text       `yaml:",inline"`
}

// Cause is one entry.
type Cause struct {
	ID           string `yaml:"id"`
	Group        string `yaml:"group"` // "address", "rails", "devices", "gpudirect", "mtu", "balance", "lossless", "switch", "link", "library"
	Order        int    `yaml:"order"` // position in lists: the order of the questions
	Title        Text   `yaml:"title"`
	Effect       Text   `yaml:"effect"`
	LooksLike    Text   `yaml:"looks_like"`
	RefutedBy    Text   `yaml:"refuted_by"`
	DecidingTest string `yaml:"deciding_test"`
	Fixes        []Fix  `yaml:"fix"`
}

//go:embed catalogue/*.yaml
var files embed.FS

// Catalogue holds all causes. It is not changed after Load.
type Catalogue struct {
	all  []Cause
	byID map[string]int
}

// Load reads the catalogue that is built into the program.
func Load() (*Catalogue, error) { return read(files) }

func read(fsys fs.FS) (*Catalogue, error) {
	names, err := fs.Glob(fsys, "catalogue/*.yaml")
	if err != nil {
		return nil, err
	}
	c := &Catalogue{byID: map[string]int{}}
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		var e Cause
		if err := yaml.UnmarshalWithOptions(data, &e, yaml.Strict()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if want := strings.TrimSuffix(strings.TrimPrefix(name, "catalogue/"), ".yaml"); e.ID != want {
			return nil, fmt.Errorf("%s: id %q: the file is named after its id", name, e.ID)
		}
		c.all = append(c.all, e)
	}
	sort.Slice(c.all, func(i, j int) bool { return c.all[i].Order < c.all[j].Order })
	for i, e := range c.all {
		c.byID[e.ID] = i
	}
	return c, nil
}

// All returns the causes in order, which the caller must not change.
func (c *Catalogue) All() []Cause { return c.all }

// Find returns the cause with an id.
func (c *Catalogue) Find(id string) (*Cause, bool) {
	i, ok := c.byID[id]
	if !ok {
		return nil, false
	}
	return &c.all[i], true
}
