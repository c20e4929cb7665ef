// Package telemetry holds the one table of metrics (names, units, kinds,
// labels, vendors' names), the registry of series, the differences of counters
// over windows, and the record on disk that simulations write.
//
// Host metrics keep the names and units of the host exporters in use
// (rdma_<counter>_total, port data in 4-byte words, durations in
// microseconds), so that existing dashboards work; series in base units have
// names of their own. Switch metrics are roce_switch_*.
package telemetry

import (
	"slices"

	"weir/units"
)

// Kind says how a metric behaves.
type Kind uint8

// The kinds of metric.
const (
	Counter Kind = iota // only rises, wraps at 2^Bits, may reset to zero
	Gauge
	Info // value 1, the fact is in the labels
)

// String returns "counter", "gauge" or "info".
func (k Kind) String() string { return [...]string{"counter", "gauge", "info"}[min(k, Info)] }

// Side says what a metric's labels start with.
type Side uint8

// Host metrics carry {instance,device,port}, of which the scraper adds
// instance, the host; switch metrics {switch,port}.
const (
	HostSide Side = iota
	SwitchSide
)

// Metric is one row of the metric table.
type Metric struct {
	Name   string // Prometheus name
	Help   string
	Unit   string // "frames", "packets", "bytes", "words4" (4-byte words), "us", "seconds", "percent", "events" ...
	Kind   Kind
	Side   Side
	Bits   uint8    // counter width before it wraps: 32 or 64
	Labels []string // beyond those of Side
	// Vendors maps a family of sources to its own names. A name may hold
	// {priority}, {queue}, {lane}, {op}, {severity}, {event}, {symbols},
	// {traffic} and {direction} (rx, tx; {DIRECTION} in capitals) where the
	// value of that label stands.
	Vendors map[string][]string
	// Of and Factor define a metric that is another one in base units:
	// Factor times the value of Of. It is computed when it is shown and
	// never recorded.
	Of     string
	Factor float64
}

// Families of sources whose names the table knows: the files below
// /sys/class/infiniband/*/ports/*/ (counters and hw_counters) by driver,
// ethtool -S by driver, COUNTERS_DB of SONiC, paths below OpenConfig's
// interface and queue.
const (
	MLX5          = "mlx5"
	MLX5Ethtool   = "mlx5_ethtool"
	BnxtRe        = "bnxt_re"     // upstream
	BnxtReOOT     = "bnxt_re_oot" // out of tree, as shipped for Thor2
	BnxtEnEthtool = "bnxt_en_ethtool"
	Irdma         = "irdma"
	IceEthtool    = "ice_ethtool"
	Ionic         = "ionic"
	IonicEthtool  = "ionic_ethtool"
	SONiC         = "sonic"
	OpenConfig    = "openconfig"
)

// MetricID is an index into the table: Table()[id].
type MetricID uint16

// Table returns the metric table. It is shared and must not be changed.
func Table() []Metric { return table }

// Lookup returns the metric of a Prometheus name.
func Lookup(name string) (MetricID, bool) {
	id, ok := byName[name]
	return id, ok
}

// MustLookup is Lookup for names that are written in the program. It panics
// on an unknown one.
func MustLookup(name string) MetricID {
	id, ok := byName[name]
	if !ok {
		panic("telemetry: no metric " + name)
	}
	return id
}

var table = slices.Concat(portMetrics, hwMetrics, netdevMetrics, stateMetrics, switchMetrics, bufferMetrics)

var byName = index(table)

func index(t []Metric) map[string]MetricID {
	m := make(map[string]MetricID, len(t))
	for i := range t {
		m[t[i].Name] = MetricID(i)
	}
	return m
}

// LabelNames returns all labels of a metric, those of its side first.
func (m *Metric) LabelNames() []string {
	if m.Side == SwitchSide {
		return append([]string{"switch", "port"}, m.Labels...)
	}
	return append([]string{"instance", "device", "port"}, m.Labels...)
}

// Sample is one reading of one series.
type Sample struct {
	Series uint32
	At     units.Time
	Value  uint64
}
