// Package systems lists the dialects: one row a switch operating system.
package systems

import (
	"io"

	"weir/internal/field/dialect"
	"weir/internal/field/dialect/comware"
	"weir/internal/field/dialect/eos"
	"weir/internal/field/dialect/junos"
	"weir/internal/field/dialect/nvue"
	"weir/internal/field/dialect/nxos"
	"weir/internal/field/dialect/onyx"
	"weir/internal/field/dialect/sonic"
	"weir/internal/field/dialect/vrp"
)

// A System is one dialect.
type System struct {
	Name   string // as switch.os in cluster files
	Vendor string
	Parse  func(r io.Reader, source string) (*dialect.Reading, error)
	Score  func(text []byte) int
	Starts func(line string) bool

	// Statements is the table of the system's statements; nil for systems
	// whose configurations are trees of tables.
	Statements func() *dialect.Grammar

	// Write returns the configuration of a device.
	Write func(t *dialect.Target) ([]dialect.Text, error)
}

// All returns the dialects.
func All() []System {
	return []System{
		{nxos.System, "Cisco NX-OS", nxos.Parse, nxos.Score, nxos.Starts, nxos.Statements, nxos.Write},
		{eos.System, "Arista EOS", eos.Parse, eos.Score, eos.Starts, eos.Statements, eos.Write},
		{nvue.System, "NVIDIA Cumulus Linux", nvue.Parse, nvue.Score, nvue.Starts, nvue.Statements, nvue.Write},
		{onyx.System, "NVIDIA Onyx", onyx.Parse, onyx.Score, onyx.Starts, onyx.Statements, onyx.Write},
		{sonic.System, "SONiC", sonic.Parse, sonic.Score, sonic.Starts, nil, sonic.Write},
		{vrp.System, "Huawei VRP", vrp.Parse, vrp.Score, vrp.Starts, vrp.Statements, vrp.Write},
		{comware.System, "H3C Comware", comware.Parse, comware.Score, comware.Starts, comware.Statements, comware.Write},
		{junos.System, "Juniper Junos", junos.Parse, junos.Score, junos.Starts, junos.Statements, junos.Write},
	}
}

// Named returns the dialect of that name.
func Named(name string) (System, bool) {
	for _, s := range All() {
		if s.Name == name {
			return s, true
		}
	}
	return System{}, false
}

// certain is the score from which a text counts as recognised.
const certain = 30

// Recognise returns the dialect that text is most surely written in; false
// where none is sure enough, or two are as sure as each other.
func Recognise(text []byte) (System, bool) {
	var best System
	score, second := 0, 0
	for _, s := range All() {
		switch n := s.Score(text); {
		case n > score:
			best, score, second = s, n, score
		case n > second:
			second = n
		}
	}
	return best, score >= certain && score > second
}
