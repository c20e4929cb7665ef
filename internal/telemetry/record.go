package telemetry

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"weir/units"
)

// A record on disk is a directory (docs/record.md):
//
//	series.json           what is recorded, replaced as a whole
//	samples-000000.csv.gz the readings, a block each, complete or not there
//	samples-000001.csv.gz
//
// It is read by zcat and any CSV reader; nothing of it needs this program.

// RecordSchema names the form of a record.
const RecordSchema = "weir.record/1"

const (
	seriesFile  = "series.json"
	blockHeader = "time_ps,series,value\n"
)

func blockName(n int) string { return fmt.Sprintf("samples-%06d.csv.gz", n) }

var blockPattern = regexp.MustCompile(`^samples-([0-9]{6})\.csv\.gz$`)

// Header is what a record says of itself.
type Header struct {
	Source   string     // what made it: "weir simulate examples/pod-64x8.yaml"
	Cluster  string     // name of the cluster
	Interval units.Time // wanted distance of the readings
}

// manifest is series.json.
type manifest struct {
	Schema     string           `json:"schema"`
	Source     string           `json:"source"`
	Cluster    string           `json:"cluster"`
	IntervalPS int64            `json:"interval_ps"`
	Complete   bool             `json:"complete"`
	Full       bool             `json:"full,omitempty"` // ended early, at its largest size
	Blocks     int              `json:"blocks"`
	EndPS      int64            `json:"end_ps"`
	Series     []manifestSeries `json:"series"`
}

type manifestSeries struct {
	Metric string            `json:"metric"`
	Unit   string            `json:"unit"`
	Kind   string            `json:"kind"`
	Bits   uint8             `json:"bits,omitempty"`
	Labels map[string]string `json:"labels"`
}

func newManifest(h Header, r *Registry) manifest {
	m := manifest{Schema: RecordSchema, Source: h.Source, Cluster: h.Cluster, IntervalPS: int64(h.Interval), Series: make([]manifestSeries, r.Len())}
	for i := range m.Series {
		metric := r.Metric(uint32(i))
		s := manifestSeries{Metric: metric.Name, Unit: metric.Unit, Kind: metric.Kind.String(), Bits: metric.Bits, Labels: map[string]string{}}
		for j, l := range metric.LabelNames() {
			if v := r.series[i].Values[j]; v != "" {
				s.Labels[l] = v
			}
		}
		m.Series[i] = s
	}
	return m
}

// registry turns the listed series back into a registry. A metric that this
// program does not know is refused: its width and meaning would be a guess.
func (m *manifest) registry() (*Registry, error) {
	r := NewRegistry()
	for i, s := range m.Series {
		id, ok := Lookup(s.Metric)
		if !ok {
			return nil, fmt.Errorf("series %d: unknown metric %q", i, clip(s.Metric))
		}
		names := table[id].LabelNames()
		values := make([]string, len(names))
		known := 0
		for j, l := range names {
			if v, ok := s.Labels[l]; ok {
				values[j] = v
				known++
			}
		}
		if known != len(s.Labels) {
			return nil, fmt.Errorf("series %d: labels of %s are %s", i, s.Metric, strings.Join(names, ", "))
		}
		n, err := r.Add(id, values...)
		if err != nil {
			return nil, err
		}
		if int(n) != i {
			return nil, fmt.Errorf("series %d is series %d again", i, n)
		}
	}
	return r, nil
}

func parseManifest(data []byte) (manifest, error) {
	var m manifest
	if err := json.Unmarshal(data, &m); err != nil {
		return m, err
	}
	if m.Schema != RecordSchema {
		return m, fmt.Errorf("schema %q, allowed %q", clip(m.Schema), RecordSchema)
	}
	if m.IntervalPS < 0 || m.EndPS < 0 || m.Blocks < 0 || m.Blocks > maxBlocks {
		return m, fmt.Errorf("interval, end or number of blocks out of range")
	}
	return m, nil
}

func clip(s string) string {
	if len(s) > 80 {
		s = s[:80] + "..."
	}
	return s
}

// Limits of a record.
const (
	maxBlocks   = 1000000
	maxManifest = 256 << 20
	maxBlock    = 256 << 20 // text of a block
	maxLine     = 64        // a line of a block: two 20-digit numbers, a 10-digit one and commas
)
