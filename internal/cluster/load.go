package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"weir/internal/input"
)

// Load reads the cluster file name of fsys, applies overrides of the form
// "PATH=VALUE" in order, fills in every default and returns the model. What
// is wrong with the file comes back as *input.Error; an *fs.PathError means that it
// could not be read.
func Load(fsys fs.FS, name string, overrides []string) (*Cluster, error) {
	f, err := Read(fsys, name, overrides)
	if err != nil {
		return nil, err
	}
	return f.Cluster, nil
}

// A File is a cluster file with its model and the settings behind it.
type File struct {
	Cluster  *Cluster
	settings *node
}

// Read is Load for those who also want the effective settings.
func Read(fsys fs.FS, name string, overrides []string) (*File, error) {
	set, err := Sets(overrides)
	if err != nil {
		return nil, err
	}
	return ReadWith(fsys, name, set)
}

// ReadWith is Read with overrides that name their flags.
func ReadWith(fsys fs.FS, name string, overrides []Override) (*File, error) {
	r, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxFile+1))
	if err != nil {
		return nil, err
	}
	return parse(name, data, overrides)
}

// Parse is Read of text that is at hand. name stands in messages.
func Parse(name string, data []byte, overrides []string) (*File, error) {
	set, err := Sets(overrides)
	if err != nil {
		return nil, err
	}
	return parse(name, data, set)
}

func parse(name string, data []byte, overrides []Override) (*File, error) {
	f, err := parseFile(data, overrides)
	if err != nil {
		var e *input.Error
		if errors.As(err, &e) && e.File == "" {
			e.File = name
			if e.Line == 0 {
				e.Line, e.Column = 1, 1 // a default, or the file as a whole
			}
		}
		return nil, err
	}
	return f, nil
}

func parseFile(data []byte, overrides []Override) (*File, error) {
	if len(data) > maxFile {
		return nil, (position{line: 1, column: 1}).found("a file of more than 4 MiB", "at most 4 MiB")
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte order mark
	settings, err := readSettings(data, overrides)
	if err != nil {
		return nil, err
	}
	b := &builder{root: settings, c: &Cluster{}, byName: map[string]NodeID{}}
	if err := b.build(); err != nil {
		return nil, err
	}
	if err := b.noEffect(data, overrides); err != nil {
		return nil, err
	}
	return &File{Cluster: b.c, settings: settings}, nil
}

func readSettings(data []byte, overrides []Override) (*node, error) {
	r := &reader{}
	body, err := r.document(data)
	if err != nil {
		return nil, err
	}
	settings := newNode(&root, position{line: 1, column: 1})
	if body != nil {
		if settings, err = r.value(&root, body, 0); err != nil {
			return nil, err
		}
		settings.pos = position{line: 1, column: 1}
	}
	for _, o := range overrides {
		if err := settings.set(o); err != nil {
			return nil, err
		}
	}
	settings.used = true
	return settings, settings.missing()
}

// A builder makes the model from the settings.
type builder struct {
	root      *node
	c         *Cluster
	byName    map[string]NodeID
	classes   []class
	hostOf    []int // host -> class
	leafOf    []NodeID
	models    tierModels
	nextLAG   map[NodeID]int32
	hostPorts int
}

func (b *builder) build() error {
	c, n := b.c, b.root
	c.Name = n.string("name")
	c.Seed = uint64(n.int("seed"))
	c.Transport = Transport(choiceIndex(n.at("transport")))
	for _, step := range []func() error{b.hosts, b.transports, b.fabric, b.qos, b.routing, b.rdma, b.dcqcn, b.nccl, b.jobs, b.faults, b.prices} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// choiceIndex returns the position of a choice's value among its choices.
func choiceIndex(n *node) int {
	s := n.value().s
	for i, c := range n.key.choices {
		if c == s {
			return i
		}
	}
	return -1
}

// noEffect refuses settings that nothing reads, such as cores in a leaf-spine
// fabric. Settings of the file that only an override made idle are let be.
func (b *builder) noEffect(data []byte, overrides []Override) error {
	n, path := b.root.unused("", func(*node) bool { return true })
	if n == nil {
		return nil
	}
	if len(overrides) > 0 && n.pos.flag == "" {
		if _, err := parseFile(data, nil); err == nil {
			if n, path = b.root.unused("", func(n *node) bool { return n.pos.flag != "" }); n == nil {
				return nil
			}
		}
	}
	allowed := n.key.when
	if allowed == "" {
		allowed = "where something reads it"
	}
	return n.pos.found(path+", which has no effect here", "with "+allowed)
}

func countOf(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
