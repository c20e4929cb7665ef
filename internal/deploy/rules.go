// Package deploy writes what other programs need to work with weir's metrics:
// Prometheus alert rules and a Grafana dashboard, from the same tables as
// weir-server's own.
package deploy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/internal/answer/alert"
)

// PrometheusRules returns the alert rules as a file of Prometheus. Hysteresis
// is an expression over ALERTS: a subject that is in alarm stays there while
// it is above the lower threshold.
func PrometheusRules() []byte {
	var b strings.Builder
	b.WriteString("# Generated from the rules of weir-server; do not edit. WEIR_UPDATE=1 go test ./internal/deploy\ngroups:\n  - name: weir\n    rules:\n")
	for _, r := range alert.Rules() {
		fmt.Fprintf(&b, "      - alert: %s\n        expr: %s\n", r.Name, strconv.Quote(expression(&r)))
		if r.For > 0 {
			fmt.Fprintf(&b, "        for: %s\n", promDuration(r.For))
		}
		fmt.Fprintf(&b, "        keep_firing_for: %s\n        labels: {severity: %s}\n        annotations:\n          summary: %s\n", promDuration(r.Keep), r.Severity, strconv.Quote(template(&r)))
		if r.Cause != "" {
			fmt.Fprintf(&b, "          cause: %s\n          explain: weir explain %s\n", r.Cause, r.Cause)
		}
	}
	return []byte(b.String())
}

func expression(r *alert.Rule) string {
	above := fmt.Sprintf("(%s) > %g", r.Expr, r.Above)
	if r.Clear == r.Above {
		return above
	}
	return fmt.Sprintf("%s or (%s) > %g and on (%s) ALERTS{alertname=%q,alertstate=\"firing\"}", above, r.Expr, r.Clear, strings.Join(r.By, ", "), r.Name)
}

func promDuration(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}

// template writes a summary in Prometheus' template language.
func template(r *alert.Rule) string {
	value := `{{ printf "%.3g" $value }}`
	if r.Unit == "share" {
		value = "{{ $value | humanizePercentage }}"
	}
	pairs := []string{"{value}", value}
	for _, l := range r.By {
		pairs = append(pairs, "{"+l+"}", "{{ $labels."+l+" }}")
	}
	return strings.NewReplacer(pairs...).Replace(r.Summary)
}
