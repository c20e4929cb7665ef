package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"weir/internal/cluster"
	"weir/internal/input"
	"weir/internal/report"
	"weir/internal/training"
	"weir/internal/twin"
)

// timelineWriters are the forms of --timeline by the ending of its file.
var timelineWriters = map[string]func(io.Writer, *twin.Step) error{
	".svg":  report.WriteTimelineSVG,
	".json": report.WriteTimelineTrace,
}

// fitTimeline refuses a --timeline that says no known form.
func (f *simulateFlags) fitTimeline() error {
	if f.timeline != "" && timelineWriters[filepath.Ext(f.timeline)] == nil {
		return refused(fmt.Errorf("--timeline %s: allowed are FILE.svg and FILE.json", f.timeline))
	}
	return nil
}

// needsTraining refuses flags that only a training job can serve.
func (f *simulateFlags) needsTraining(c *cluster.Cluster) error {
	switch {
	case hasTraining(c) && len(c.Jobs) > 1:
		return refused(errors.New("a training job beside others: it runs alone"))
	case f.timeline != "" && !hasTraining(c):
		return refused(errors.New("--timeline has no effect without a training job"))
	case hasTraining(c) && (f.record != "" || f.pcap != ""):
		return refused(errors.New("--record and --pcap have no effect on a training job, whose communication is simulated in parts"))
	}
	return nil
}

// readWorkloads reads the files that training jobs name, relative to the
// cluster file.
func readWorkloads(file *cluster.File, name string) error {
	for i := range file.Cluster.Jobs {
		job := &file.Cluster.Jobs[i]
		if job.Kind != cluster.TrainingJob || job.Training.Workload == "" {
			continue
		}
		path := job.Training.Workload
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(name), path)
		}
		err := readFile(path, func(r io.Reader) error {
			program, err := training.ReadWorkload(path, r)
			if err != nil {
				return err
			}
			if err := program.Fit(&job.Training.Parallel); err != nil {
				return &input.Error{File: path, Found: err.Error(), Allowed: "the parallelism of the cluster file must be the workload's"}
			}
			read := *job.Training
			read.Read = program
			job.Training = &read
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// writeTimeline writes the first step where --timeline says.
func (f *simulateFlags) writeTimeline(r *twin.Result) error {
	if f.timeline == "" || len(r.Steps) == 0 {
		return nil
	}
	return writeFile(f.timeline, func(w io.Writer) error {
		return timelineWriters[filepath.Ext(f.timeline)](w, &r.Steps[0])
	})
}
