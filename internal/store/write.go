package store

import (
	"math"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"google.golang.org/protobuf/encoding/protowire"
)

// Remote write 1.0 sends WriteRequest{repeated TimeSeries timeseries = 1},
// TimeSeries{repeated Label labels = 1; repeated Sample samples = 2},
// Label{string name = 1; string value = 2}, Sample{double value = 1;
// int64 timestamp = 2}, packed with snappy.

// appendTimeSeries appends one sample as a field of a WriteRequest.
func appendTimeSeries(b []byte, p *Point) []byte {
	size := 0
	p.Series.labels.Range(func(l labels.Label) { size += fieldSize(labelSize(l)) })
	value := math.Float64bits(p.Value)
	sample := 1 + 8 + 1 + protowire.SizeVarint(uint64(p.At))
	size += fieldSize(sample)
	b = protowire.AppendTag(b, 1, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(size))
	p.Series.labels.Range(func(l labels.Label) {
		b = protowire.AppendTag(b, 1, protowire.BytesType)
		b = protowire.AppendVarint(b, uint64(labelSize(l)))
		b = protowire.AppendString(protowire.AppendTag(b, 1, protowire.BytesType), l.Name)
		b = protowire.AppendString(protowire.AppendTag(b, 2, protowire.BytesType), l.Value)
	})
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	b = protowire.AppendVarint(b, uint64(sample))
	b = protowire.AppendFixed64(protowire.AppendTag(b, 1, protowire.Fixed64Type), value)
	return protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), uint64(p.At))
}

func fieldSize(n int) int { return 1 + protowire.SizeBytes(n) }

func labelSize(l labels.Label) int { return fieldSize(len(l.Name)) + fieldSize(len(l.Value)) }

func packSnappy(b []byte) []byte { return snappy.Encode(nil, b) }
