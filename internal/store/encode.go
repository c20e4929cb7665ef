package store

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// encodeResult writes a result as the HTTP API does. An answer for thousands
// of series is large, so it is appended to one slice instead of going through
// encoding/json value by value.
func encodeResult(r *promql.Result) (encoded, error) {
	b := fmt.Appendf(nil, `{"status":"success","data":{"resultType":%q,"result":`, r.Value.Type())
	switch v := r.Value.(type) {
	case promql.Vector:
		b = append(b, '[')
		for i := range v {
			b = openSeries(b, i, v[i].Metric)
			if v[i].H != nil {
				return nil, errHistogram
			}
			b = append(b, `"value":`...)
			b = append(appendPoint(b, v[i].T, v[i].F), '}')
		}
		b = append(b, ']')
	case promql.Matrix:
		b = append(b, '[')
		for i := range v {
			if len(v[i].Histograms) > 0 {
				return nil, errHistogram
			}
			b = append(openSeries(b, i, v[i].Metric), `"values":[`...)
			for j, p := range v[i].Floats {
				if j > 0 {
					b = append(b, ',')
				}
				b = appendPoint(b, p.T, p.F)
			}
			b = append(b, "]}"...)
		}
		b = append(b, ']')
	case promql.Scalar:
		b = appendPoint(b, v.T, v.V)
	case promql.String:
		b = append(appendSeconds(append(b, '['), v.T), ',')
		b = append(appendString(b, v.V), ']')
	}
	b = append(b, '}')
	if warnings, _ := r.Warnings.AsStrings("", 10, 10); len(warnings) > 0 {
		text, err := json.Marshal(warnings)
		if err != nil {
			return nil, err
		}
		b = append(append(b, `,"warnings":`...), text...)
	}
	return append(b, '}', '\n'), nil
}

// errHistogram: nothing that weir stores is a histogram.
var errHistogram = fmt.Errorf("%w: native histograms are not served", ErrQuery)

func openSeries(b []byte, i int, ls labels.Labels) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	b = append(b, `{"metric":{`...)
	first := true
	ls.Range(func(l labels.Label) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(appendString(b, l.Name), ':')
		b = appendString(b, l.Value)
	})
	return append(b, "},"...)
}

func appendPoint(b []byte, t int64, v float64) []byte {
	b = append(appendSeconds(append(b, '['), t), `,"`...)
	form := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		form = 'e'
	}
	return append(strconv.AppendFloat(b, v, form, -1, 64), `"]`...)
}

// appendSeconds writes milliseconds as seconds: 1.5, 12, -0.25.
func appendSeconds(b []byte, ms int64) []byte {
	return strconv.AppendFloat(b, float64(ms)/1000, 'f', -1, 64)
}

// appendString quotes s for JSON.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			text, err := json.Marshal(s)
			if err != nil {
				text = []byte(`""`)
			}
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

func sortedKeys(m map[string]bool) []string {
	if out := slices.Sorted(maps.Keys(m)); out != nil {
		return out
	}
	return []string{}
}
