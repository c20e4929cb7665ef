package cluster

import (
	"strconv"
	"strings"
)

// An Override is one value that was given outside the file. It wins over the
// file's. Flag stands as the place in messages: "--set qos.ecn.min=10KB", or
// the whole of another flag that is short for a path, as in "-b 16M".
type Override struct {
	Flag, Path, Value string
}

// Sets turns texts of --set, PATH=VALUE, into overrides.
func Sets(texts []string) ([]Override, error) {
	var out []Override
	for _, t := range texts {
		flag := "--set " + oneLine(t)
		path, value, ok := strings.Cut(t, "=")
		if !ok {
			return nil, (position{flag: flag}).clause("no = in "+quoted(t), "allowed PATH=VALUE, as in qos.ecn.min=10KB")
		}
		out = append(out, Override{flag, path, value})
	}
	return out, nil
}

// set applies one override to the settings.
func (n *node) set(o Override) error {
	pos := position{flag: oneLine(o.Flag)}
	path, text := o.Path, o.Value
	if len(text) > maxText<<8 {
		return pos.found("a value this long", "at most 65280 bytes")
	}
	steps, ok := splitPath(path)
	if !ok {
		return pos.found("path "+quoted(path), "names joined by dots, with [N] behind lists, as in jobs[0].size")
	}
	cur := n
	for len(steps) > 0 {
		next, rest, err := cur.step(steps, pos)
		if err != nil {
			return err
		}
		cur.given = true
		if len(rest) == 0 && next.slot != nil {
			return next.fill(text, pos)
		}
		cur, steps = next.node, rest
	}
	return pos.found("path "+quoted(path), "a path to a setting")
}

// A place is a slot of the tree that a path leads to.
type place struct {
	node *node  // what is there, made if it was not
	slot **node // where a new value goes
	key  *key
}

func (p place) fill(text string, pos position) error {
	if p.key.scalar() {
		v, err := scalarNode(p.key, text, pos)
		if err != nil {
			return err
		}
		*p.slot = v
		return nil
	}
	r := &reader{flag: pos.flag}
	if p.key.kind == list && p.key.keys[0].scalar() && !strings.HasPrefix(text, "[") {
		text = "[" + text + "]" // a,b
	}
	body, err := r.document([]byte(text))
	if err != nil {
		return err
	}
	if body == nil {
		return pos.found("no value", p.key.allowed())
	}
	v, err := r.value(p.key, body, 0)
	if err != nil {
		return err
	}
	v.pos = pos
	*p.slot = v
	return nil
}

// step takes one or more steps of a path from n.
func (n *node) step(steps []string, pos position) (place, []string, error) {
	s := steps[0]
	switch n.key.kind {
	case mapping:
		i, single := n.key.child(s)
		if i < 0 {
			return place{}, nil, unknownKey(pos, n.key, s)
		}
		child := &n.key.keys[i]
		if n.kids[i] == nil && (len(steps) > 1 || single) {
			n.kids[i] = newNode(child, pos)
			n.kids[i].given = true
		}
		if !single {
			return place{n.kids[i], &n.kids[i], child}, steps[1:], nil
		}
		l := n.kids[i]
		switch len(l.kids) {
		case 0:
			item := newNode(&child.keys[0], pos)
			item.given = true
			l.kids = append(l.kids, item)
		case 1:
		default:
			return place{}, nil, pos.found(s+" where the file has "+strconv.Itoa(len(l.kids)), child.name+"[0] to "+child.name+"["+strconv.Itoa(len(l.kids)-1)+"]")
		}
		return place{l.kids[0], &l.kids[0], &child.keys[0]}, steps[1:], nil
	case list:
		i, err := strconv.Atoi(strings.Trim(s, "[]"))
		if !strings.HasPrefix(s, "[") || err != nil || i < 0 {
			return place{}, nil, pos.found(quoted(s)+" behind "+n.key.name, "[N] with N from 0")
		}
		if i > len(n.kids) {
			return place{}, nil, pos.found(n.key.name+s, "[0] to ["+strconv.Itoa(len(n.kids))+"]; the last adds an item")
		}
		item := &n.key.keys[0]
		if i == len(n.kids) {
			n.kids = append(n.kids, newNode(item, pos))
			n.kids[i].given = true
		}
		return place{n.kids[i], &n.kids[i], item}, steps[1:], nil
	case table:
		for i, name := range n.names {
			if name == s {
				return place{n.kids[i], &n.kids[i], &n.key.keys[0]}, steps[1:], nil
			}
		}
		if !validName(s) {
			return place{}, nil, pos.found(quoted(s), (&key{}).nameRule())
		}
		n.names = append(n.names, s)
		n.kids = append(n.kids, newNode(&n.key.keys[0], pos))
		last := len(n.kids) - 1
		return place{n.kids[last], &n.kids[last], &n.key.keys[0]}, steps[1:], nil
	}
	return place{}, nil, pos.found(quoted(s)+" below "+n.key.name, "nothing: "+n.key.name+" holds one value")
}

// splitPath splits "jobs[0].size" into "jobs", "[0]", "size".
func splitPath(path string) ([]string, bool) {
	if path == "" || len(path) > 512 {
		return nil, false
	}
	var out []string
	for _, part := range strings.Split(path, ".") {
		name, rest, _ := strings.Cut(part, "[")
		if name == "" {
			return nil, false
		}
		out = append(out, name)
		for rest != "" {
			idx, more, ok := strings.Cut(rest, "]")
			if !ok || idx == "" {
				return nil, false
			}
			out = append(out, "["+idx+"]")
			if more != "" && !strings.HasPrefix(more, "[") {
				return nil, false
			}
			rest = strings.TrimPrefix(more, "[")
		}
	}
	return out, true
}
