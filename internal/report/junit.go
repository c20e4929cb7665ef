package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"weir/internal/answer/acceptance"
)

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure,omitempty"`
	Skipped *struct{}     `xml:"skipped,omitempty"`
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Skipped  int         `xml:"skipped,attr,omitempty"`
	Cases    []junitCase `xml:"testcase"`
}

func writeJUnit(w io.Writer, s junitSuite) error {
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	enc := xml.NewEncoder(w)
	enc.Indent("", "  ")
	if err := enc.Encode(s); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// AcceptJUnit writes a test suite with a case for each step, each pair and each
// size of a collective, for build servers.
func AcceptJUnit(w io.Writer, r *acceptance.Report) error {
	s := junitSuite{Name: "weir accept " + r.Cluster}
	add := func(class, name string, v acceptance.Verdict, text string) {
		c := junitCase{Class: class, Name: name}
		switch v {
		case acceptance.Fail, acceptance.Incomplete:
			c.Failure = &junitFailure{Message: text, Type: string(v), Text: text}
			s.Failures++
		case acceptance.Skipped:
			c.Skipped = &struct{}{}
			s.Skipped++
		}
		s.Cases = append(s.Cases, c)
	}
	for i := range r.Steps {
		add("step", r.Steps[i].Name, r.Steps[i].Verdict, r.Steps[i].Summary)
	}
	for i := range r.Pairs {
		p := &r.Pairs[i]
		text := p.Error
		if text == "" {
			text = fmt.Sprintf("%.2f of %.2f Gbit/s", p.Gbps, p.Expected)
		}
		add("pairs", strings.TrimSpace(p.From+" to "+p.To+" "+p.Pass), p.Verdict, text)
	}
	for i := range r.GPUDirect {
		p := &r.GPUDirect[i]
		add("gpudirect", p.From+" to "+p.To, p.Verdict, first(p.Error, fmt.Sprintf("%.2f Gbit/s, %.2f of that with host buffers", p.GPU, p.Ratio)))
	}
	for i := range r.Collectives {
		c := &r.Collectives[i]
		add("collectives", fmt.Sprintf("%s %d nodes %s %s", c.Op, c.Nodes, c.Pass, sizeText(float64(c.Bytes))), c.Verdict, first(c.Error, fmt.Sprintf("%.2f of %.2f GB/s", c.BusBW, c.Expected)))
	}
	s.Tests = len(s.Cases)
	return writeJUnit(w, s)
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
