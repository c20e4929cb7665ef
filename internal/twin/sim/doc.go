// Package sim is the packet-level, discrete-event simulator of a lossless
// fabric: event engine, links, switch nodes, NICs and the workloads that use
// them.
package sim
