// Package telemetry holds the one table of metrics (names, units, kinds,
// labels, vendors' names), samples and the differences of counters over
// windows, and the record on disk that simulations write.
package telemetry

import "weir/units"

// Kind says how a metric behaves.
type Kind uint8

// The kinds of metric.
const (
	Counter Kind = iota // only rises, wraps at 2^Bits, may reset to zero
	Gauge
	Info // value 1, the fact is in the labels
)

// Side says what a metric's labels start with.
type Side uint8

// Host metrics carry {device,port}, switch metrics {switch,port}.
const (
	HostSide Side = iota
	SwitchSide
)

// Metric is one row of the metric table.
type Metric struct {
	Name   string // Prometheus name
	Help   string
	Unit   string // "frames", "packets", "bytes", "words4" (4-byte words), "us", "seconds", "ratio"
	Kind   Kind
	Side   Side
	Bits   uint8    // counter width before it wraps: 32 or 64
	Labels []string // beyond those of Side
	// Vendors maps a family ("mlx5", "mlx5_ethtool", "bnxt_re", "irdma",
	// "ionic", "sonic", "openconfig") to its own name. A {p} stands for the
	// priority.
	Vendors map[string]string
}

// MetricID is an index into the table: Table()[id].
type MetricID uint16

// Sample is one reading of one series.
type Sample struct {
	Series uint32
	At     units.Time
	Value  uint64
}

// Delta is the difference of a counter over a window.
type Delta struct {
	Value  uint64
	Span   units.Time // time between the two readings that were used
	Resets uint32     // how often the counter fell to a smaller value without wrapping
}

// Window gives differences over one interval. Store, record and bundle
// implement it. false means a gap: no two readings in the interval.
type Window interface {
	Delta(series uint32) (Delta, bool)
}
