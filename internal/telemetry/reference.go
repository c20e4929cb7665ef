package telemetry

import (
	"fmt"
	"slices"
	"strings"
)

// Reference returns the metric table in Markdown.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, side := range []Side{HostSide, SwitchSide} {
		if side == HostSide {
			b.WriteString("\n## Hosts\n\nLabels of all: `device`, `port`; the scraper adds `instance`, the host.\n\n")
		} else {
			b.WriteString("\n## Switches\n\nLabels of all: `switch`, `port`.\n\n")
		}
		b.WriteString("| metric | further labels | kind | unit | meaning | sources |\n|---|---|---|---|---|---|\n")
		for i := range table {
			if m := &table[i]; m.Side == side {
				fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n", m.Name, strings.Join(m.Labels, ", "), m.kindText(), m.Unit, m.Help, m.sources())
			}
		}
	}
	return []byte(b.String())
}

const referenceHead = `# Metrics

Generated from the metric table; do not edit.

Simulated ports, real cards and real switches are counted under the same names in the same units. Host metrics keep the
names of the host exporters in use, with their units: port data in words of 4 bytes, pause in microseconds. Series in
base units have names of their own (` + "`..._bytes_total`, `..._seconds_total`" + `); they are computed when shown and not recorded.

A counter of 32 bits wraps: it must be read before it can move by half its range. A reading below the one before is a
wrap if the counter stood in the upper half of its range and the way around is less than half of it, else a reset.

The last column names the counter at its source, with the labels' values in braces: ` + "`mlx5`, `bnxt_re`, `irdma`, `ionic`" + ` are
files below ` + "`/sys/class/infiniband`" + ` (` + "`bnxt_re_oot`" + `: the driver outside the kernel), ` + "`..._ethtool`" + ` is ` + "`ethtool -S`" + `,
` + "`sonic`" + ` is COUNTERS_DB, ` + "`openconfig`" + ` the leaf below the interface's counters or the queue's state.
`

func (m *Metric) kindText() string {
	if m.Kind == Counter {
		return fmt.Sprintf("counter, %d bits", m.Bits)
	}
	return m.Kind.String()
}

func (m *Metric) sources() string {
	if m.Of != "" {
		return fmt.Sprintf("%g x `%s`", m.Factor, m.Of)
	}
	families := make([]string, 0, len(m.Vendors))
	for f := range m.Vendors {
		families = append(families, f)
	}
	slices.Sort(families)
	var out []string
	for _, f := range families {
		out = append(out, f+": `"+strings.Join(m.Vendors[f], "`, `")+"`")
	}
	return strings.Join(out, "; ")
}
