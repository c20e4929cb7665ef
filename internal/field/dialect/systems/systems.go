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
}

// All returns the dialects.
func All() []System {
	return []System{
		{nxos.System, "Cisco NX-OS", nxos.Parse, nxos.Score, nxos.Starts},
		{eos.System, "Arista EOS", eos.Parse, eos.Score, eos.Starts},
		{nvue.System, "NVIDIA Cumulus Linux", nvue.Parse, nvue.Score, nvue.Starts},
		{onyx.System, "NVIDIA Onyx", onyx.Parse, onyx.Score, onyx.Starts},
		{sonic.System, "SONiC", sonic.Parse, sonic.Score, sonic.Starts},
		{vrp.System, "Huawei VRP", vrp.Parse, vrp.Score, vrp.Starts},
		{comware.System, "H3C Comware", comware.Parse, comware.Score, comware.Starts},
		{junos.System, "Juniper Junos", junos.Parse, junos.Score, junos.Starts},
	}
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
