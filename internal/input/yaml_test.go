package input

import (
	"strings"
	"testing"
)

type file struct {
	Name  string            `yaml:"name"`
	Ports []int             `yaml:"ports"`
	More  map[string]string `yaml:"more"`
}

func TestYAML(t *testing.T) {
	var f file
	if err := YAML("f.yml", []byte("name: a\nports: [1, 2]\nmore: {k: v}\n"), &f); err != nil || f.Name != "a" || len(f.Ports) != 2 || f.More["k"] != "v" {
		t.Errorf("%+v, %v", f, err)
	}
	for text, want := range map[string]string{
		"name: a\nnmae: b\n":                  `f.yml:2:1: unknown field "nmae"`,
		"ports: [a]\n":                        "f.yml:1:9: ",
		"name: [":                             "f.yml:",
		strings.Repeat("[", 1000):             "f.yml:1: found deeper nesting: at most 64",
		strings.Repeat("[\n", 100):            "f.yml:65: found deeper nesting",
		"a: " + strings.Repeat("{a: ", 100):   "deeper nesting",
		strings.Repeat("- ", 200) + "a":       "deeper nesting",
		strings.Repeat(" ", 1000) + "a":       "deeper nesting",
		"name: " + strings.Repeat("a", 70000): "a longer line",
	} {
		err := YAML("f.yml", []byte(text), &file{})
		if err == nil || !IsRefusal(err) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
	// The library's decoder panics on this one.
	if err := YAML("f.yml", []byte("! 0000000"), &[]file{}); err == nil || !IsRefusal(err) {
		t.Errorf("a tag before a number as a list: %v", err)
	}
}

func FuzzYAML(f *testing.F) {
	f.Add("name: a\nports: [1, 2]\n")
	f.Add("! 0000000")
	f.Fuzz(func(t *testing.T, text string) {
		if err := YAML("f.yml", []byte(text), &file{}); err != nil && !IsRefusal(err) {
			t.Error(err)
		}
		if err := YAML("f.yml", []byte(text), &[]file{}); err != nil && !IsRefusal(err) {
			t.Error(err)
		}
	})
}
