package diagnosis

import (
	"fmt"

	"weir/internal/fact"
	"weir/internal/telemetry"
	"weir/units"
)

// A Recording is a record on disk whose counters are read over one window.
type Recording struct {
	Name     string // shown as source
	Record   *telemetry.Record
	From, To units.Time // the window; To 0: to the end
}

// seriesOf reads the window of a recording into series.
func (r *Recording) seriesOf() ([]*series, error) {
	to := r.To
	if to == 0 {
		to = units.Time(1<<63 - 1)
	}
	w, err := r.Record.Window(r.From, to)
	if err != nil {
		return nil, err
	}
	span := (w.To - w.From).Seconds()
	means, err := r.means(w)
	if err != nil {
		return nil, err
	}
	var out []*series
	reg := r.Record.Registry
	for n := range uint32(reg.Len()) {
		s := recordedSeries(reg, n, recorded{source: r.Name, seconds: span})
		d, ok := w.Delta(n)
		s.recorded.moved, s.recorded.known = d.Value, ok
		s.recorded.mean = means[n]
		if _, high, last, has := w.Range(n); has {
			s.recorded.last = last
			if s.gauge {
				s.recorded.last = high
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// recordedSeries names series n of a registry.
func recordedSeries(reg *telemetry.Registry, n uint32, r recorded) *series {
	m := reg.Metric(n)
	s := &series{metric: m.Name, name: m.Name, labels: map[string]string{}, gauge: m.Kind != telemetry.Counter, bits: m.Bits, recorded: &r}
	for _, name := range m.LabelNames() {
		if v := reg.Label(n, name); v != "" {
			s.labels[name] = v
		}
	}
	s.subject = recordedSubject(m, s.labels)
	return s
}

// means returns the time-weighted mean of every gauge over a window.
func (r *Recording) means(w *telemetry.RecordWindow) ([]float64, error) {
	n := r.Record.Registry.Len()
	sum, value, since := make([]float64, n), make([]uint64, n), make([]units.Time, n)
	err := r.Record.Each(func(in telemetry.Instant) error {
		for _, c := range in.Changes {
			if r.Record.Registry.Metric(c.Series).Kind != telemetry.Gauge {
				continue
			}
			from, to := max(since[c.Series], w.From), min(in.At, w.To)
			if to > from {
				sum[c.Series] += float64(value[c.Series]) * (to - from).Seconds()
			}
			value[c.Series], since[c.Series] = c.Value, in.At
		}
		return nil
	})
	span := (w.To - w.From).Seconds()
	for i := range sum {
		if from := max(since[i], w.From); w.To > from {
			sum[i] += float64(value[i]) * (w.To - from).Seconds()
		}
		if span > 0 {
			sum[i] /= span
		}
	}
	return sum, err
}

// recordedSubject names what a series of the metric table is about.
func recordedSubject(m *telemetry.Metric, l map[string]string) fact.Subject {
	if m.Side == telemetry.HostSide {
		return fact.Subject{Kind: fact.NIC, Host: l["instance"], Name: nameOr(l["netdev"], l["device"])}
	}
	number := l["priority"]
	if number == "" {
		number = l["queue"]
	}
	if number == "" {
		return fact.Subject{Kind: fact.Port, Host: l["switch"], Name: l["port"]}
	}
	return fact.Subject{Kind: fact.Queue, Host: l["switch"], Name: l["port"] + "/" + number}
}

// add takes the series of recordings into the view of counters.
func (c *counters) add(recordings []Recording) error {
	for i := range recordings {
		list, err := recordings[i].seriesOf()
		if err != nil {
			return fmt.Errorf("%s: %w", recordings[i].Name, err)
		}
		c.take(list)
	}
	return nil
}

func (c *counters) take(list []*series) {
	for _, s := range list {
		c.series = append(c.series, s)
		c.byMetric[s.metric] = append(c.byMetric[s.metric], s)
	}
	c.windows = true
}

// share returns the largest part of the window that a duration counter of
// microseconds covers, and its series; 0 where no window is known.
func share(list []*series) (float64, *series) {
	top, at := 0.0, (*series)(nil)
	for _, s := range list {
		if s.recorded == nil || s.recorded.seconds <= 0 {
			continue
		}
		d, _ := s.moved()
		if v := float64(d) / 1e6 / s.recorded.seconds; v > top {
			top, at = v, s
		}
	}
	return top, at
}
