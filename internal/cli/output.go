package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeReport hands write standard output, or a file that appears whole or
// not at all.
func writeReport(s *Streams, name string, write func(io.Writer) error) error {
	if name == "" || name == "-" {
		if err := write(s.Out); err != nil {
			return failed(fmt.Errorf("standard output: %w", err))
		}
		return nil
	}
	return writeFile(name, write)
}

// writeFile writes beside the final name and renames, so that an interruption
// leaves the old file or the new one, never a part.
func writeFile(name string, write func(io.Writer) error) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".weir-*")
	if err != nil {
		return failed(err)
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
			err = failed(fmt.Errorf("%s: %w", name, err))
		}
	}()
	if err = write(tmp); err != nil {
		tmp.Close()
		return err
	}
	if err = tmp.Chmod(0o644); err != nil {
		tmp.Close()
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), name)
}
