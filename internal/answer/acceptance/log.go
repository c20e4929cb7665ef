package acceptance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// A Record is what is kept of one test, beside the file of its output.
type Record struct {
	Step    string  `json:"step"` // "pairs", "gpudirect", "collectives"
	Pass    string  `json:"pass"` // of pairs: "alone" or "together"
	Test    string  `json:"test"` // "bandwidth", "latency", or a collective
	From    string  `json:"from,omitempty"`
	To      string  `json:"to,omitempty"`
	Nodes   int     `json:"nodes,omitempty"` // of a collective
	File    string  `json:"file"`
	Command string  `json:"command"`
	Exit    int     `json:"exit"`
	Error   string  `json:"error,omitempty"`
	Seconds float64 `json:"seconds"`
}

// key names a test; a test is run once.
func (r *Record) key() string {
	return fmt.Sprintf("%s %s %s %s %s %d", r.Step, r.Pass, r.Test, r.From, r.To, r.Nodes)
}

// A Log is the directory of results.
type Log struct {
	dir     string
	mu      sync.Mutex
	file    *os.File
	Records []Record
	done    map[string]bool
}

const logName = "tests.jsonl"

// maxLog bounds tests.jsonl.
const maxLog = 256 << 20

// OpenLog opens a directory of results for more of them, and makes it if it is
// not there. A last line that an interruption has torn is dropped.
func OpenLog(dir string) (*Log, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := &Log{dir: dir, done: map[string]bool{}}
	name := filepath.Join(dir, logName)
	whole, err := l.read(name)
	if err != nil {
		return nil, err
	}
	if l.file, err = os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644); err != nil {
		return nil, err
	}
	if err = l.file.Truncate(whole); err == nil {
		_, err = l.file.Seek(whole, 0)
	}
	if err != nil {
		l.file.Close()
		return nil, err
	}
	return l, nil
}

// ReadLog reads the records of a directory without opening it for more. A
// directory without any has none.
func ReadLog(dir string) ([]Record, error) {
	l := &Log{dir: dir, done: map[string]bool{}}
	_, err := l.read(filepath.Join(dir, logName))
	return l.Records, err
}

// read returns how many bytes of the file are whole lines.
func (l *Log) read(name string) (whole int64, err error) {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case info.Size() > maxLog:
		return 0, fmt.Errorf("%s: %d bytes, at most %d are read", name, info.Size(), maxLog)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for n := 1; ; n++ {
		at := bytes.IndexByte(b[whole:], '\n')
		if at < 0 {
			return whole, nil
		}
		line := b[whole : whole+int64(at)]
		var r Record
		if err := json.Unmarshal(line, &r); err != nil {
			return 0, fmt.Errorf("%s:%d: not a record of a test: %v", name, n, err)
		}
		l.Records = append(l.Records, r)
		l.done[r.key()] = true
		whole += int64(at) + 1
	}
}

// Done reports whether a test has been run.
func (l *Log) Done(r *Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.done[r.key()]
}

// Add keeps a test and what it printed.
func (l *Log) Add(r Record, output []byte) error {
	r.File = fileName(&r)
	path := filepath.Join(l.dir, r.File)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path, output, 0o644); err != nil {
		return err
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	w := bufio.NewWriter(l.file)
	w.Write(line)
	w.WriteByte('\n')
	if err := w.Flush(); err != nil {
		return err
	}
	l.Records = append(l.Records, r)
	l.done[r.key()] = true
	return nil
}

// Close closes the directory.
func (l *Log) Close() error { return l.file.Close() }

// fileName names the file of a test within the directory.
func fileName(r *Record) string {
	name := r.Test
	for _, part := range []string{r.From, r.To} {
		if part != "" {
			name += "_" + part
		}
	}
	if r.Nodes > 0 {
		name += fmt.Sprintf("_%d-nodes_%s", r.Nodes, r.Pass)
	}
	clean := strings.Map(func(c rune) rune {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
			return c
		}
		return '.'
	}, name)
	dir := r.Step
	if r.Pass != "" && r.Nodes == 0 {
		dir += "-" + r.Pass
	}
	return dir + "/" + clean + ".txt"
}
