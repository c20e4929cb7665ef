package diagnosis

import (
	"slices"

	"weir/internal/cause"
	"weir/internal/fact"
	"weir/internal/telemetry"
)

// A Window is what the counters of a live cluster did lately.
type Window struct {
	Name     string // shown as source
	Registry *telemetry.Registry
	Counters []Counter
}

// A Counter is what one series of the window's registry did.
type Counter struct {
	Series  uint32
	Seconds float64 // between the readings that were used
	Moved   uint64  // of a counter: without wraps and resets
	Known   bool    // Moved holds: there were two readings
	Last    uint64  // newest value; of a gauge the highest
	Mean    float64 // of a gauge, over the time
}

// RunWindow diagnoses facts together with the counters of a live cluster, in
// each of the languages.
func RunWindow(facts []fact.Fact, w Window, catalogue *cause.Catalogue, languages ...cause.Language) []*Result {
	x := newIndex(append(slices.Clone(facts), interpret(facts)...))
	list := make([]*series, len(w.Counters))
	for i, k := range w.Counters {
		list[i] = recordedSeries(w.Registry, k.Series, recorded{moved: k.Moved, known: k.Known, seconds: k.Seconds, last: k.Last, mean: k.Mean, source: w.Name})
	}
	x.counters.take(list)
	out := make([]*Result, len(languages))
	for i, l := range languages {
		out[i] = x.diagnose(catalogue, l)
	}
	return out
}
