package bundle

import (
	"archive/tar"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Schema of manifests.
const Schema = "weir.bundle/1"

// A Manifest tells what an archive holds.
type Manifest struct {
	Schema   string    `json:"schema"`
	Cluster  string    `json:"cluster,omitempty"`
	Started  time.Time `json:"started"`
	Interval float64   `json:"interval_s"` // between the two readings of counters
	Sources  []Source  `json:"sources"`
}

// A Source is a host or switch.
type Source struct {
	Name  string `json:"name"`
	Kind  string `json:"kind"` // "host" or "switch"
	OS    string `json:"os,omitempty"`
	Error string `json:"error,omitempty"` // why it, or a part of it, is not there
	// ClockOffset is by how much its clock is ahead of the collector's, with
	// half the exchange's time as uncertainty; absent: not told.
	ClockOffset      *float64 `json:"clock_offset_s,omitempty"`
	ClockUncertainty float64  `json:"clock_uncertainty_s,omitempty"`
	Files            []File   `json:"files"`
}

// A File is a text of a source.
type File struct {
	Name    string    `json:"name"`
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	Bytes   int       `json:"bytes"`
	Cut     bool      `json:"cut,omitempty"`
	Error   string    `json:"error,omitempty"`
}

// write writes the archive: the manifest first, then the texts in the
// manifest's order.
func write(w io.Writer, m *Manifest, texts map[string][]byte) error {
	z, err := zstd.NewWriter(w)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	head, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	add := func(name string, at time.Time, b []byte) error {
		err := t.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(b)), ModTime: at.Truncate(time.Second), Format: tar.FormatPAX})
		if err == nil {
			_, err = t.Write(b)
		}
		return err
	}
	if err := add("manifest.json", m.Started, append(head, '\n')); err != nil {
		return err
	}
	for i := range m.Sources {
		for _, f := range m.Sources[i].Files {
			if err := add(f.Name, f.At, texts[f.Name]); err != nil {
				return err
			}
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

// fileOf names a source's file; names come from cluster files, which allow no
// separators, but an archive must not depend on it.
func fileOf(dir, name string) string {
	clean := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r < ' ' {
			return '_'
		}
		return r
	}, name)
	if clean == "." || clean == ".." {
		clean = "_"
	}
	return fmt.Sprintf("%s/%s.txt", dir, clean)
}
