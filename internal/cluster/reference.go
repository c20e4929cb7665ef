package cluster

import (
	"fmt"
	"strings"
)

// Reference returns the reference of cluster files in Markdown, from the
// table that the parser works from.
func Reference() []byte {
	var b strings.Builder
	b.WriteString(referenceHead)
	b.WriteString("\n## Top level\n\n")
	section(&b, &root, "")
	for i := range root.keys {
		k := &root.keys[i]
		if k.scalar() {
			continue
		}
		title := k.name
		if k.single != "" {
			title = k.single + " (or a list: " + k.name + ")"
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", title, k.doc)
		section(&b, k.body(), k.path())
	}
	b.WriteString(catalogueReference())
	return []byte(b.String())
}

const referenceHead = `# The cluster file

Generated from the table of keys that the parser works from; do not edit.

A cluster file says once what a training cluster is: its hosts, cards, switches, cables, queues and jobs. Everything
that it leaves out has a default: a constant, a figure of the catalogue at the end of this page, or computed from the rest.
The effective file shows each with its origin and loads to the same cluster. Any setting can be given on the command line
instead: ` + "`--set PATH=VALUE`" + `, with the paths below and the same checks. Lists take an index (` + "`jobs[0].size`" + `);
` + "`host`" + ` and ` + "`job`" + ` stand for the only item of ` + "`hosts`" + ` and ` + "`jobs`" + `.

Quantities carry units:

| kind | written as |
|---|---|
| size | ` + "`150KB`, `16MiB`, `4096`" + ` (bytes). KB, MB, GB are powers of 1000; KiB, MiB, GiB of 1024. Sizes of jobs also take K, M, G of 1024, as nccl-tests does |
| time | ` + "`30us`, `200ms`, `1.5s`" + `; ps, ns, us, ms, s, min, h |
| rate | ` + "`400Gbps`, `100G`, `40Mbps`" + ` |
| length | ` + "`30m`" + ` |
| share | ` + "`20%` or `0.2`" + ` |
| frequency | ` + "`2.5GHz`" + ` |
| name | letters, digits, dots, hyphens, underscores; not . or .. |

Settings that nothing in the file reads (cores in a leaf-spine fabric) are refused, not ignored.
`

// body is the mapping that a key's table of settings describes.
func (k *key) body() *key {
	if k.kind == list && k.keys[0].kind == mapping {
		return &k.keys[0]
	}
	return k
}

func (k *key) path() string {
	if k.single != "" {
		return k.single + "."
	}
	if k.kind == list {
		return k.name + "[]."
	}
	return k.name + "."
}

// section prints the table of a mapping: nested mappings follow in the same
// table with their whole path.
func section(b *strings.Builder, m *key, prefix string) {
	b.WriteString("| key | type | default | meaning |\n|---|---|---|---|\n")
	rows(b, m, prefix)
}

func rows(b *strings.Builder, m *key, prefix string) {
	for i := range m.keys {
		k := &m.keys[i]
		if prefix == "" && !k.scalar() {
			fmt.Fprintf(b, "| `%s` | %s | | %s See below. |\n", k.name, k.typeText(), k.doc)
			continue
		}
		meaning := k.doc
		if k.when != "" {
			meaning += " Only with " + k.when + "."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", prefix+k.name, k.typeText(), k.defaultText(), strings.TrimSpace(meaning))
		if body := k.body(); body.kind == mapping && prefix != "" {
			rows(b, body, prefix+k.path())
		}
	}
}

func (k *key) typeText() string {
	s := kindNames[k.kind]
	switch k.kind {
	case list, table:
		if it := &k.keys[0]; it.scalar() {
			s += " of " + it.typeText()
		}
	case choice:
		s = strings.Join(k.choices, ", ")
	case count:
		switch {
		case len(k.choices) > 0:
			s = strings.Join(k.choices, ", ")
		case k.max != 0:
			s = "whole number, " + trimNumber(k.min) + " to " + trimNumber(k.max)
		}
	case micros:
		s = "time; plain number: us"
	case megabits:
		s = "rate; plain number: Mb/s"
	case testSize:
		s = "size, K M G of 1024"
	}
	if k.auto != "" {
		s += ", or " + k.auto
	}
	return s
}

func (k *key) defaultText() string {
	switch {
	case k.need:
		return "must be given"
	case k.def != "":
		return "`" + k.def + "`"
	case k.from != "":
		return k.from
	}
	return ""
}

// catalogueReference lists the parts of the catalogue with their sources.
func catalogueReference() string {
	var b strings.Builder
	b.WriteString("\n## Catalogue\n\nFigures that stand in for what a file leaves out. Any of them can be set in the file.\n\n")
	b.WriteString("| card | ports | speeds | PCIe | latency | out of order | selective repeat | source |\n|---|---|---|---|---|---|---|---|\n")
	for _, m := range nicCatalogue {
		fmt.Fprintf(&b, "| `%s` | %d | %s | %v | %v | %s | %s | %s |\n", m.Name, m.Ports, speedList(m.Speeds), m.PCIe, m.Latency, yes(m.OutOfOrder), yes(m.SelectiveRepeat), m.Source)
	}
	b.WriteString("\n| switch | ports | split | buffer | latency | adaptive | spraying | lossless classes | systems | source |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range switchCatalogue {
		fmt.Fprintf(&b, "| `%s` | %d x %v | %d | %v | %v | %s | %s | %d | %s | %s |\n", m.Name, m.Ports, m.Speed, m.MaxPorts, m.Buffer, m.Latency, yes(m.Adaptive), yes(m.Spray), m.Lossless, joinWords(m.OS), m.Source)
	}
	b.WriteString("\n| GPU | NVLink, each direction | share that a ring reaches | NVLS | source |\n|---|---|---|---|---|\n")
	for _, m := range gpuCatalogue {
		fmt.Fprintf(&b, "| `%s` | %v | %g | %s | %s |\n", m.Name, m.NVLink, m.NVLinkEfficiency, yes(m.NVLS), m.Source)
	}
	return b.String()
}

func yes(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}
