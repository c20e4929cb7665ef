package host

import (
	"bufio"
	"cmp"
	"io"
	"slices"
	"strconv"
	"strings"

	"weir/internal/telemetry"
)

// A Reading is one value as it leaves the agent. Count holds it if it is a
// whole number that a float64 may not hold, else Value does.
type Reading struct {
	Name, Help string
	Kind       telemetry.Kind
	Labels     []telemetry.Label
	Count      uint64
	Value      float64
}

// writeText writes readings in the Prometheus text format, grouped by name.
// Of several readings of one series the first holds.
func writeText(w io.Writer, all []Reading) error {
	keys := make([]string, len(all))
	order := make([]int, len(all))
	for i := range all {
		keys[i], order[i] = labelText(all[i].Labels), i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(strings.Compare(all[i].Name, all[j].Name), strings.Compare(keys[i], keys[j]))
	})
	b := bufio.NewWriterSize(w, 16<<10)
	last, lastKey := "", ""
	for _, i := range order {
		r := &all[i]
		if r.Name != last {
			kind := "gauge"
			if r.Kind == telemetry.Counter {
				kind = "counter"
			}
			b.WriteString("# HELP " + r.Name + " " + helpEscape.Replace(r.Help) + "\n# TYPE " + r.Name + " " + kind + "\n")
		} else if keys[i] == lastKey {
			continue
		}
		last, lastKey = r.Name, keys[i]
		b.WriteString(r.Name)
		b.WriteString(keys[i])
		b.WriteByte(' ')
		if r.Count != 0 {
			b.WriteString(strconv.FormatUint(r.Count, 10))
		} else {
			b.WriteString(strconv.FormatFloat(r.Value, 'f', -1, 64))
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

var (
	helpEscape  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	labelEscape = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

// labelText writes {name="value",...}; labels without value are left out.
func labelText(labels []telemetry.Label) string {
	var b strings.Builder
	sep := byte('{')
	for _, l := range labels {
		if l.Value == "" {
			continue
		}
		b.WriteByte(sep)
		b.WriteString(l.Name + `="`)
		labelEscape.WriteString(&b, strings.ToValidUTF8(l.Value, "?"))
		b.WriteByte('"')
		sep = ','
	}
	if sep == ',' {
		b.WriteByte('}')
	}
	return b.String()
}
