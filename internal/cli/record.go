package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"weir/internal/cluster"
	"weir/internal/telemetry"
	"weir/internal/twin"
	"weir/internal/twin/record"
	"weir/units"
)

// recording is an open --record.
type recording struct {
	root *os.Root
	rec  *record.Recorder
}

// startRecord makes the directory of --record and hooks the recorder into the
// run; nil without the flag. A directory that holds anything is refused, so
// that no earlier record is lost.
func (f *simulateFlags) startRecord(c *cluster.Cluster, name string, o *twin.Options) (*recording, error) {
	if f.record == "" {
		return nil, nil
	}
	every, err := units.ParseTime(f.recordEvery)
	if err != nil || every < units.Microsecond {
		return nil, refused(fmt.Errorf("--record-every %q: a time of 1us or more, as in 100us", f.recordEvery))
	}
	if err := os.Mkdir(f.record, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, inputError(f.record, err)
	}
	root, err := os.OpenRoot(f.record)
	if err != nil {
		return nil, inputError(f.record, err)
	}
	if entries, err := fs.ReadDir(root.FS(), "."); err != nil || len(entries) > 0 {
		root.Close()
		if err != nil {
			return nil, inputError(f.record, err)
		}
		return nil, refused(fmt.Errorf("--record %s: the directory is not empty", f.record))
	}
	rec, err := record.New(root, c, telemetry.Header{Source: "weir simulate " + name, Cluster: c.Name, Interval: every}, telemetry.WriterOptions{})
	if err != nil {
		root.Close()
		return nil, failed(err)
	}
	o.Sample, o.SampleEvery = rec.Sample, every
	return &recording{root, rec}, nil
}

func (r *recording) close() error { return errors.Join(r.rec.Close(), r.root.Close()) }
