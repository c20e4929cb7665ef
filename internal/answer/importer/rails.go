package importer

import (
	"fmt"
	"slices"
	"weir/internal/field/dialect"

	"weir/internal/answer/audit"
	"weir/internal/field/inventory"
	"weir/internal/finding"
)

// outliers finds cables that break a rule which the others keep: card n of nearly
// every host goes to the same leaf, and this one's does not.
func (k *knowledge) outliers() []audit.Finding {
	const enough = 3                           // hosts, to call it a rule
	byCard := map[string]map[string][]string{} // card -> leaf -> hosts
	for _, l := range k.links {
		if k.devices[l.a.node].kind != inventory.Host || l.a.port == "" {
			continue
		}
		if byCard[l.a.port] == nil {
			byCard[l.a.port] = map[string][]string{}
		}
		byCard[l.a.port][l.b.node] = append(byCard[l.a.port][l.b.node], l.a.node)
	}
	rail := map[string]string{} // card -> leaf
	leaves := map[string]bool{}
	var cards []string
	for card, leaf := range byCard {
		total, best := 0, ""
		for name, hosts := range leaf {
			total += len(hosts)
			if best == "" || len(hosts) > len(leaf[best]) {
				best = name
			}
		}
		if total >= enough && len(leaf[best])*4 >= total*3 {
			rail[card] = best
			leaves[best] = true
			cards = append(cards, card)
		}
	}
	out := []audit.Finding{}
	if len(leaves) < 2 { // all on one leaf: no rails
		return out
	}
	slices.SortFunc(cards, dialect.CompareNames)
	for _, l := range k.links {
		want, ok := rail[l.a.port]
		if !ok || k.devices[l.a.node].kind != inventory.Host || l.b.node == want {
			continue
		}
		f := audit.Finding{Device: l.a.node, Port: l.a.port, Setting: "cable", Expected: want, Found: l.b.String(),
			Consequence: "Traffic of one rail lands on another rail's switch: connections within the rail take a detour or fail.",
			Repair:      []audit.Step{{Commands: []string{}, Text: "Move the cable to " + want + ".", Disruption: "flap", Scope: "port"}}, Undo: []audit.Step{}}
		f.Cause, f.Severity, f.Confidence, f.Where = "cabling-wrong", finding.Warning, 0.8, l.a.String()
		f.Summary = fmt.Sprintf("%s goes to %s, while this card of %d other hosts goes to %s.", l.a, l.b.node, len(byCard[l.a.port][want]), want)
		f.Evidence = []finding.Evidence{{Source: l.from, Text: l.a.String() + " to " + l.b.String()}}
		f.Fix = []finding.Fix{{Text: f.Repair[0].Text, Disruption: "flap"}}
		out = append(out, f)
	}
	return out
}
