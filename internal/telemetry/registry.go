package telemetry

import (
	"fmt"
	"strings"
)

// MaxSeries bounds a registry.
const MaxSeries = 1 << 21

// A Series is one metric with one set of labels. Values are in the order of
// Metric.LabelNames.
type Series struct {
	Metric MetricID
	Values []string
}

// A Registry numbers series from 0. It is not safe for concurrent use.
type Registry struct {
	series []Series
	byKey  map[string]uint32
}

// NewRegistry returns an empty registry.
func NewRegistry() *Registry { return &Registry{byKey: map[string]uint32{}} }

// Add returns the number of the series of a metric with these label values,
// which it takes up if it is new. There must be as many values as the metric
// has labels.
func (r *Registry) Add(id MetricID, values ...string) (uint32, error) {
	if int(id) >= len(table) {
		return 0, fmt.Errorf("no metric %d", id)
	}
	m := &table[id]
	if want := m.LabelNames(); len(values) != len(want) {
		return 0, fmt.Errorf("%s has %d labels (%s), not %d", m.Name, len(want), strings.Join(want, ", "), len(values))
	}
	k := seriesKey(id, values)
	if n, ok := r.byKey[k]; ok {
		return n, nil
	}
	if len(r.series) >= MaxSeries {
		return 0, fmt.Errorf("more than %d series", MaxSeries)
	}
	n := uint32(len(r.series))
	r.series = append(r.series, Series{Metric: id, Values: append([]string(nil), values...)})
	r.byKey[k] = n
	return n, nil
}

func seriesKey(id MetricID, values []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", id)
	for _, v := range values {
		fmt.Fprintf(&b, "\x00%d\x00%s", len(v), v)
	}
	return b.String()
}

// Len returns how many series there are.
func (r *Registry) Len() int { return len(r.series) }

// Series returns series n, whose Values must not be changed.
func (r *Registry) Series(n uint32) Series { return r.series[n] }

// Metric returns the metric of series n.
func (r *Registry) Metric(n uint32) *Metric { return &table[r.series[n].Metric] }

// Label returns the value of one label of series n, "" if it has none of
// that name.
func (r *Registry) Label(n uint32, name string) string {
	for i, l := range r.Metric(n).LabelNames() {
		if l == name {
			return r.series[n].Values[i]
		}
	}
	return ""
}

// Find returns the series of a metric that carry all the given labels, in
// order of number.
func (r *Registry) Find(id MetricID, labels ...Label) []uint32 {
	var out []uint32
next:
	for i := range r.series {
		if r.series[i].Metric != id {
			continue
		}
		for _, l := range labels {
			if r.Label(uint32(i), l.Name) != l.Value {
				continue next
			}
		}
		out = append(out, uint32(i))
	}
	return out
}

// String returns series n as Prometheus writes it: name{label="value",...}.
// Labels without value are left out.
func (r *Registry) String(n uint32) string {
	m := r.Metric(n)
	var b strings.Builder
	b.WriteString(m.Name)
	sep := byte('{')
	for i, l := range m.LabelNames() {
		if v := r.series[n].Values[i]; v != "" {
			b.WriteByte(sep)
			fmt.Fprintf(&b, "%s=%q", l, v)
			sep = ','
		}
	}
	if sep == ',' {
		b.WriteByte('}')
	}
	return b.String()
}
