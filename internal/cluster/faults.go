package cluster

import (
	"errors"
	"fmt"
	"strings"

	"weir/units"
)

func (b *builder) faults() error {
	for _, n := range b.root.items("faults") {
		f, err := b.c.fault(n)
		if err != nil {
			return err
		}
		b.c.Faults = append(b.c.Faults, f)
	}
	return nil
}

// fault reads one fault and checks it against the cluster.
func (c *Cluster) fault(n *node) (Fault, error) {
	f := Fault{ID: n.string("id"), Place: n.string("place"), Start: n.time("start"), Severity: -1}
	if v := n.at("end").value(); v.s == "" {
		f.End = units.Time(v.i)
		if f.End <= f.Start {
			return f, n.where("end", "start").found(fmt.Sprintf("a fault from %v to %v", f.Start, f.End), "an end after the start")
		}
	}
	if v := n.at("severity").value(); v.s == "" {
		f.Severity = v.f
	}
	if _, err := c.Place(f.Place); err != nil {
		var clause *clauseError
		errors.As(err, &clause)
		return f, n.where("place").clause(clause.found, clause.allowed)
	}
	return f, nil
}

const faultForm = "ID@PLACE,start=TIME,end=TIME,severity=0..1, as in pfc-storm@host-7/nic-3,start=1ms,severity=0.5"

// ParseFault reads a fault as --fault takes it, ID@PLACE,start=,end=,severity=,
// with the checks of the file's own faults. The error is an *input.Error that
// names the flag.
func (c *Cluster) ParseFault(s string) (Fault, error) {
	pos := position{flag: "--fault " + oneLine(s)}
	id, rest, ok := strings.Cut(s, "@")
	if !ok || len(s) > maxText*4 {
		return Fault{}, pos.clause("no @ in "+quoted(s), "allowed "+faultForm)
	}
	i, _ := root.child("faults")
	k := &root.keys[i].keys[0]
	n := newNode(k, pos)
	n.given = true
	set := func(name, text string) error {
		i, _ := k.child(name)
		if i < 0 || name == "id" || name == "place" {
			return pos.found(quoted(name), faultForm)
		}
		if n.kids[i] != nil {
			return pos.found(name+" twice", "each once")
		}
		v, err := scalarNode(&k.keys[i], text, pos)
		n.kids[i] = v
		return err
	}
	// A pair of hosts has a comma of its own: what follows belongs to the
	// place until something is set.
	parts := strings.Split(rest, ",")
	place := parts[0]
	for _, p := range parts[1:] {
		name, text, assigned := strings.Cut(p, "=")
		if !assigned {
			place += "," + p
			continue
		}
		if err := set(name, text); err != nil {
			return Fault{}, err
		}
	}
	for _, kv := range [...][2]string{{"id", id}, {"place", place}} {
		i, _ := k.child(kv[0])
		v, err := scalarNode(&k.keys[i], kv[1], pos)
		if err != nil {
			return Fault{}, err
		}
		n.kids[i] = v
	}
	return c.fault(n)
}
