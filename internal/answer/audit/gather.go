package audit

import (
	"context"
	"io"
	"slices"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/field/evidence"
	"weir/internal/field/setup"
)

// Gather reads files, directories, archives and, for "-", standard input. Shell
// scripts and documents that set a host up are read as well, by what they set.
func Gather(ctx context.Context, names []string, stdin io.Reader) (*Evidence, error) {
	e := &Evidence{}
	var rest []evidence.Input
	lines := map[string]map[int]bool{} // that set-up commands stand in, by source
	for _, name := range names {
		for _, in := range evidence.Inputs(name, stdin) {
			whole, again, err := in.Whole(setup.MaxText)
			text := string(whole)
			if m, ok := setup.Manifest(text, in.Name, in.Host); ok && err == nil {
				e.Facts = append(e.Facts, m.Facts...)
				continue
			}
			if err != nil || whole == nil || !setup.Is(text) {
				rest = append(rest, again)
				continue
			}
			r := setup.Read(text, in.Name, in.Host)
			e.Facts = append(e.Facts, r.Facts...)
			e.Mistakes = append(e.Mistakes, r.Mistakes...)
			if !setup.IsScript(text) {
				rest = append(rest, again)
				lines[in.Name] = r.Lines
			}
		}
	}
	read, err := evidence.Read(ctx, evidence.Parsers(), rest...)
	if err != nil {
		return nil, err
	}
	e.Configs, e.Refused = read.Configs, read.Refused
	e.Facts = append(e.Facts, read.Facts...)
	e.keep(read, lines)
	return e, nil
}

// keep keeps what was not understood: the lines, but for remarks and for lines that
// are set-up commands, and of files in which nothing was, that alone.
func (e *Evidence) keep(read *evidence.Report, lines map[string]map[int]bool) {
	alien := map[string]bool{}
	for _, s := range read.Sources {
		if s.Facts == 0 && len(s.Tools) == 0 && s.NotUnderstood > 0 && len(lines[s.Name]) == 0 {
			alien[s.Name] = true
			e.NotUnderstood = append(e.NotUnderstood, fact.NotUnderstood{Origin: fact.Origin{Source: s.Name}, Text: "nothing in this file is a configuration, an output or a setting that is known"})
		}
	}
	for _, n := range read.NotUnderstood {
		if text := strings.TrimSpace(n.Text); alien[n.Origin.Source] || lines[n.Origin.Source][n.Origin.Line] || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "!") {
			continue
		}
		n.Text = dialect.Excerpt(n.Text)
		e.NotUnderstood = append(e.NotUnderstood, n)
	}
}

// setupTool is the tool of facts that commands set.
const setupTool = "set-up commands"

// snippets judges set-up commands that belong to no host of the plan: what an
// article or a colleague says to type.
func (a *auditor) snippets() {
	for i := range a.e.Mistakes {
		m := &a.e.Mistakes[i]
		d := deviation{setting: m.Setting, cause: m.Cause, severity: problem, expected: m.Expected, found: dialect.Excerpt(m.Text),
			consequence: m.Explanation, source: m.Source, line: m.Line, device: m.Source}
		if id, ok := nodeOf(a.names(), "", m.Source); ok {
			d.node, d.device = id, ""
		}
		a.add(d)
	}
	bySource := map[string][]int{}
	var sources []string
	for i := range a.e.Facts {
		f := &a.e.Facts[i]
		if f.Origin.Tool != setupTool && f.Origin.Tool != "env" {
			continue
		}
		if _, ok := nodeOf(a.names(), f.Subject.Host, f.Origin.Source); ok {
			continue
		}
		if bySource[f.Origin.Source] == nil {
			sources = append(sources, f.Origin.Source)
		}
		bySource[f.Origin.Source] = append(bySource[f.Origin.Source], i)
	}
	a.r.Snippets = len(sources)
	for _, s := range sources {
		a.snippet(s, bySource[s])
	}
}

func (a *auditor) snippet(source string, list []int) {
	if len(a.c.Hosts) == 0 {
		return
	}
	host := a.c.Hosts[0].Node
	before := len(a.found)
	cards := map[string][]int{}
	d := &device{node: host, facts: map[string][]int{}}
	for _, i := range list {
		part := partOf(a.e.Facts[i].Subject)
		d.facts[part] = append(d.facts[part], i)
		if a.e.Facts[i].Subject.Kind == fact.NIC {
			cards[part] = append(cards[part], i)
		}
	}
	names := make([]string, 0, len(cards))
	for n := range cards {
		names = append(names, n)
	}
	slices.Sort(names)
	saved := a.nodes[host]
	a.nodes[host] = d
	gaps := len(a.r.NotChecked)
	for _, n := range names {
		s := &portState{name: n, qos: a.portFromFacts(n, cards[n]), facts: cards[n]}
		a.checkPort(host, a.c.Hosts[0].NICs[0].Ports[0], s)
		a.checkCard(host, a.c.Hosts[0].NICs[0].Ports[0], s)
	}
	a.checkEnvironment(host, &a.c.Hosts[0], d)
	a.nodes[host] = saved
	a.r.NotChecked = a.r.NotChecked[:gaps] // a snippet need not say everything
	for i := before; i < len(a.found); i++ {
		a.found[i].device = source
	}
}

// names are the nodes of the plan by their names in small letters.
func (a *auditor) names() map[string]nodeID {
	if a.byName == nil {
		a.byName = map[string]nodeID{}
		for i := range a.c.Nodes {
			a.byName[strings.ToLower(a.c.Nodes[i].Name)] = nodeID(i)
		}
	}
	return a.byName
}
