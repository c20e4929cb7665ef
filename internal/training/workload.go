package training

import (
	"bytes"
	"fmt"
	"io"

	"weir/internal/input"
)

// Limits of a workload: bytes of the file, and operations of a step.
const (
	maxWorkload = 64 << 20
	maxNodes    = 1 << 19
)

// ReadWorkload reads what a step does from a file of another tool: a text
// workload of SimAI as AICB writes it, or an execution trace of Chakra. It
// tells them apart by their first bytes. Errors are refusals of package input.
func ReadWorkload(name string, r io.Reader) (*Program, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxWorkload+1))
	if err != nil {
		return nil, err
	}
	switch {
	case len(data) > maxWorkload:
		return nil, &input.Error{File: name, Found: "found more than 64 MiB", Allowed: "a workload of up to 64 MiB"}
	case len(data) == 0:
		return nil, &input.Error{File: name, Found: "found an empty file", Allowed: "a workload of SimAI or an execution trace of Chakra"}
	case bytes.HasPrefix(data, []byte(aicbHeader)):
		return readAICB(name, string(data))
	case isText(data[:min(len(data), 64)]):
		return nil, &input.Error{File: name, Line: 1, Found: fmt.Sprintf("found %.40q", data), Allowed: "allowed " + aicbHeader + " ..., or an execution trace of Chakra"}
	}
	return readChakra(name, data)
}

// isText tells whether bytes are a line that a person would write: the first
// message of a trace begins with its length and a field's tag.
func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c >= 0x7f {
			return false
		}
	}
	return true
}
