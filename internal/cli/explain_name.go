package cli

import (
	"bufio"
	"fmt"
	"slices"
	"sort"
	"strings"

	"weir/internal/answer/diagnosis"
	"weir/internal/cause"
	"weir/internal/telemetry"
)

// explainName explains a setting or a counter, and reports whether it knows one
// of that name.
func explainName(out *bufio.Writer, name string, l cause.Language) (bool, error) {
	variables, err := cause.Variables()
	if err != nil {
		return false, err
	}
	for _, v := range variables {
		if v.Name == strings.ToUpper(name) {
			explainVariable(out, &v, l)
			return true, nil
		}
	}
	if diagnosis.KnownVariable(strings.ToUpper(name)) {
		texts := cause.Text{
			En: "A setting that the library reads; it has no part in the causes that weir knows.",
			Zh: "库会读取该设置；它与 weir 所知的原因无关。",
		}
		fmt.Fprintf(out, "%s\n  %s\n", strings.ToUpper(name), texts.In(l))
		return true, nil
	}
	if done, err := explainSetting(out, name, l); done || err != nil {
		return done, err
	}
	return explainCounter(out, name, l)
}

func explainVariable(out *bufio.Writer, v *cause.Variable, l cause.Language) {
	standard, causes := "Default", "Has a part in"
	if l == cause.Chinese {
		standard, causes = "默认值", "相关原因"
	}
	fmt.Fprintf(out, "%s\n  %s\n\n%s\n  %s\n", v.Name, v.In(l), standard, v.Default)
	if len(v.Causes) > 0 {
		fmt.Fprintf(out, "\n%s\n  %s\n", causes, strings.Join(v.Causes, ", "))
	}
}

// explainCounter explains a metric under its own name or a vendor's.
func explainCounter(out *bufio.Writer, name string, l cause.Language) (bool, error) {
	counters, err := cause.Counters()
	if err != nil {
		return false, err
	}
	done := false
	for _, id := range metricsNamed(name) {
		m := telemetry.Table()[id]
		help, reading := m.Help, cause.Counter{}
		if i := slices.IndexFunc(counters, func(c cause.Counter) bool { return c.Metric == m.Name }); i >= 0 {
			reading = counters[i]
		}
		labels := [...]string{"Metric", "Unit", "Labels", "Names", "A rise speaks for"}
		if l == cause.Chinese {
			labels = [...]string{"指标", "单位", "标签", "各厂商名称", "增长意味着"}
			if reading.Zh != "" {
				help = reading.Zh
			}
		}
		if done {
			fmt.Fprintln(out)
		}
		done = true
		fmt.Fprintf(out, "%s\n  %s\n\n%s\n  %s (%s)\n\n%s\n  %s\n\n%s\n  %s\n", name, help, labels[0], m.Name, m.Kind, labels[1], m.Unit, labels[2], strings.Join(m.LabelNames(), ", "))
		fmt.Fprintf(out, "\n%s\n", labels[3])
		for _, family := range familiesOf(&m) {
			fmt.Fprintf(out, "  %-18s %s\n", family, strings.Join(m.Vendors[family], ", "))
		}
		if len(reading.Causes) > 0 {
			fmt.Fprintf(out, "\n%s\n  %s\n", labels[4], strings.Join(reading.Causes, ", "))
		}
	}
	return done, nil
}

func familiesOf(m *telemetry.Metric) []string {
	var out []string
	for f := range m.Vendors {
		out = append(out, f)
	}
	sort.Strings(out)
	return out
}

// metricsNamed returns the metrics that have the name themselves or at some
// vendor, each once.
func metricsNamed(name string) []telemetry.MetricID {
	if id, ok := telemetry.Lookup(name); ok {
		return []telemetry.MetricID{id}
	}
	var out []telemetry.MetricID
	for _, family := range []string{
		telemetry.MLX5, telemetry.MLX5Ethtool, telemetry.BnxtRe, telemetry.BnxtReOOT, telemetry.BnxtEnEthtool, telemetry.Irdma,
		telemetry.IceEthtool, telemetry.Ionic, telemetry.IonicEthtool, telemetry.SONiC, telemetry.OpenConfig,
	} {
		if src, ok := telemetry.Vendor(family, name); ok && !slices.Contains(out, src.Metric) {
			out = append(out, src.Metric)
		}
	}
	return out
}
