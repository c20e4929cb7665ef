package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
)

// tree reads the small files of /sys and /proc, with bounds.
type tree struct{ root *os.Root }

// below hands f the tree of a folder: a file in it is then opened in one
// step instead of one for every part of its path. It reports whether the
// folder is there.
func (t tree) below(dir string, f func(tree)) bool {
	r, err := t.root.OpenRoot(dir)
	if err != nil {
		return false
	}
	defer r.Close()
	f(tree{r})
	return true
}

// maxFile is the most bytes of one file (the kernel's attributes have at most
// a page), maxEntries the most names of one folder.
const (
	maxFile    = 4096
	maxEntries = 65536
)

var (
	errTooLarge = errors.New("too large")
	errNoNumber = errors.New("not a number")
)

// text returns a file without the white space around it.
func (t tree) text(name string) (string, error) {
	f, err := t.root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var buf [maxFile + 1]byte
	n := 0
	for n < len(buf) {
		k, err := f.Read(buf[n:])
		n += k
		if err == io.EOF {
			return string(bytes.TrimSpace(buf[:n])), nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%s: %w", name, errTooLarge)
}

// word returns a file's text, "" if it cannot be read.
func (t tree) word(name string) string {
	s, _ := t.text(name)
	return s
}

func (t tree) number(name string) (uint64, error) {
	s, err := t.text(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, errNoNumber)
	}
	return n, nil
}

// list returns the names in a folder in order, none if it cannot be read.
func (t tree) list(name string) []string {
	f, err := t.root.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	// What came before an error is true all the same: processes end while
	// /proc is listed.
	out, _ := f.Readdirnames(maxEntries)
	slices.Sort(out)
	return out
}

// link returns what a symbolic link says, "" if it is none.
func (t tree) link(name string) string {
	s, err := t.root.Readlink(name)
	if err != nil {
		return ""
	}
	return s
}

// target returns the path that a symbolic link leads to, from the root.
func (t tree) target(name string) string {
	s := t.link(name)
	switch {
	case s == "":
		return ""
	case strings.HasPrefix(s, "/"):
		return path.Clean(s)[1:]
	}
	return path.Join(path.Dir(name), s)
}
