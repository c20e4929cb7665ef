// Package validation runs the model against second sources: closed forms,
// published measurements, and the figures of other simulators. Each target
// yields rows of docs/validation.md. Expected values are literals with their
// source; a missed row stays in the table as missed, with the reason.
package validation

import (
	"context"
	"fmt"
	"math"
	"strconv"
)

// Status of a row.
type Status uint8

// The statuses. NotRun rows say why.
const (
	Met Status = iota
	Missed
	NotRun
)

// String returns "met", "missed" or "not run".
func (s Status) String() string { return [...]string{"met", "missed", "not run"}[min(s, NotRun)] }

// Row compares one measured value with one expected one.
type Row struct {
	Case      string // what was set up
	Expected  string
	Tolerance string
	Measured  string
	Status    Status
	Note      string // why missed or not run; or a convention that the reader must know
}

// Target is one entry of the table.
type Target struct {
	ID     string // "V08", "W1"
	Title  string
	Source string // where the expected values come from
	Long   bool   // takes more than some seconds: left out of quick runs
	Run    func(ctx context.Context) ([]Row, error)
}

// Near is met when measured lies within tolerance (relative) of expected.
func Near(label string, expected, measured, tolerance float64, unit string) Row {
	r := Row{
		Case: label, Expected: number(expected) + suffix(unit), Measured: number(measured) + suffix(unit),
		Tolerance: "±" + strconv.FormatFloat(100*tolerance, 'g', 3, 64) + " %",
	}
	if tolerance == 0 {
		r.Tolerance = "exact"
	}
	if !(math.Abs(measured-expected) <= tolerance*math.Abs(expected)) {
		r.Status = Missed
	}
	return r
}

// Points is met when measured lies within tolerance (absolute) of expected.
func Points(label string, expected, measured, tolerance float64, unit string) Row {
	r := Row{
		Case: label, Expected: number(expected) + suffix(unit), Measured: number(measured) + suffix(unit),
		Tolerance: "±" + number(tolerance) + suffix(unit),
	}
	if !(math.Abs(measured-expected) <= tolerance) {
		r.Status = Missed
	}
	return r
}

// Between is met when low <= measured <= high. An infinite bound is left out of the text.
func Between(label string, low, high, measured float64, unit string) Row {
	r := Row{Case: label, Measured: number(measured) + suffix(unit), Tolerance: "range"}
	switch {
	case math.IsInf(high, 1):
		r.Expected = "at least " + number(low) + suffix(unit)
	case math.IsInf(low, -1):
		r.Expected = "at most " + number(high) + suffix(unit)
	default:
		r.Expected = number(low) + " to " + number(high) + suffix(unit)
	}
	if !(measured >= low && measured <= high) {
		r.Status = Missed
	}
	return r
}

// True is met when the statement holds.
func True(label, statement string, holds bool, measured string) Row {
	r := Row{Case: label, Expected: statement, Tolerance: "must hold", Measured: measured}
	if !holds {
		r.Status = Missed
	}
	return r
}

// Skip is a row that was not run.
func Skip(label, expected, why string) Row {
	return Row{Case: label, Expected: expected, Measured: "-", Tolerance: "-", Status: NotRun, Note: why}
}

// because adds a note to a row.
func (r Row) because(format string, args ...any) Row {
	r.Note = fmt.Sprintf(format, args...)
	return r
}

func suffix(unit string) string {
	if unit == "" {
		return ""
	}
	return " " + unit
}

// number prints with six significant digits, without an exponent for everyday sizes.
func number(v float64) string {
	a := math.Abs(v)
	if a != 0 && (a < 1e-3 || a >= 1e9) {
		return strconv.FormatFloat(v, 'g', 4, 64)
	}
	s := strconv.FormatFloat(v, 'f', max(0, 5-int(math.Floor(math.Log10(math.Max(a, 1))))), 64)
	for len(s) > 1 && containsDot(s) && (s[len(s)-1] == '0' || s[len(s)-1] == '.') {
		dot := s[len(s)-1] == '.'
		s = s[:len(s)-1]
		if dot {
			break
		}
	}
	return s
}

func containsDot(s string) bool {
	for i := range len(s) {
		if s[i] == '.' {
			return true
		}
	}
	return false
}
