package cluster

import (
	"strconv"

	"weir/units"
)

const defaultFlow = 16 * units.MiB

// pattern resolves a flow pattern into flows.
func (b *builder) pattern(n *node, j *Job) error {
	j.Kind = FlowJob
	j.Pattern = n.string("pattern")
	if j.Pattern == "list" {
		return b.flowList(n, j)
	}
	size := units.Bytes(n.intOr("size", int64(defaultFlow), "default"))
	hosts, err := b.place(n)
	if err != nil {
		return err
	}
	j.Hosts = hosts
	var pairs [][2]NICRef
	if j.Pattern == "incast" {
		pairs, err = b.incast(n, hosts)
	} else {
		var ends []NICRef
		if ends, err = b.endpoints(n, hosts); err == nil {
			if j.Pattern == "permutation" {
				pairs, err = b.permutation(n, ends)
			} else {
				pairs, err = b.allPairs(n, ends)
			}
		}
	}
	if err != nil {
		return err
	}
	for _, p := range pairs {
		j.Flows = append(j.Flows, Flow{Src: p[0], Dst: p[1], Bytes: size})
	}
	return nil
}

// ref reads "host-8/nic-0"; a device name may stand for the NIC.
func (b *builder) ref(n *node) (NICRef, error) {
	text := n.value().s
	id, name, err := b.end(n)
	if err != nil {
		return NICRef{}, err
	}
	node := &b.c.Nodes[id]
	if node.Kind != HostNode {
		return NICRef{}, n.pos.found(quoted(text)+", a switch", "a host's NIC, as host-0/nic-0")
	}
	host := &b.c.Hosts[node.Host]
	for i := range host.NICs {
		if name == host.NICs[i].Name || name == host.NICs[i].Device || name == "" && i == 0 {
			return NICRef{Host: node.Host, NIC: int32(i)}, nil
		}
	}
	return NICRef{}, n.pos.found("unknown NIC "+quoted(name)+" of "+node.Name, "nic-0 to nic-"+strconv.Itoa(len(host.NICs)-1))
}

func (b *builder) flowList(n *node, j *Job) error {
	items := n.items("flows")
	if len(items) == 0 {
		return n.where("pattern").found("pattern list without flows", "flows: with src and dst each")
	}
	if len(items) > maxFlows {
		return n.where("flows").found(strconv.Itoa(len(items))+" flows", "at most "+strconv.Itoa(maxFlows))
	}
	size := int64(defaultFlow)
	if v, ok := n.optional("size"); ok {
		size = v.i
	}
	for _, it := range items {
		src, err := b.ref(it.at("src"))
		if err != nil {
			return err
		}
		dst, err := b.ref(it.at("dst"))
		if err != nil {
			return err
		}
		if src == dst {
			return it.where("dst").found("a flow from a NIC to itself", "two different NICs")
		}
		f := Flow{Src: src, Dst: dst, Bytes: units.Bytes(it.intOr("size", size, "computed: the job's size")), Start: it.time("start")}
		j.Flows = append(j.Flows, f)
	}
	return nil
}

// incast lets NICs of the other hosts send to one: the first NIC of each host
// in turn, then the second ones.
func (b *builder) incast(n *node, hosts []int32) ([][2]NICRef, error) {
	dst := NICRef{Host: hosts[len(hosts)-1]}
	if n.gave("receiver") {
		var err error
		if dst, err = b.ref(n.at("receiver")); err != nil {
			return nil, err
		}
	} else {
		n.stringOr("receiver", b.refName(dst), "computed: the first NIC of the last host")
	}
	var senders []NICRef
	others := 0
	for i := 0; ; i++ {
		found := false
		for _, h := range hosts {
			if h == dst.Host || i >= len(b.c.Hosts[h].NICs) {
				continue
			}
			found = true
			if i == 0 {
				others++
			}
			senders = append(senders, NICRef{Host: h, NIC: int32(i)})
		}
		if !found {
			break
		}
	}
	if len(senders) == 0 {
		return nil, n.where("hosts", "nodes", "pattern").found("an incast without a second host", "at least 2 hosts")
	}
	count := int(n.intOr("senders", int64(others), "computed: one on each other host"))
	if count > len(senders) {
		return nil, n.where("senders").found(plural(count, "sender", "senders"), "at most "+strconv.Itoa(len(senders))+", the NICs of the other hosts")
	}
	var out [][2]NICRef
	for _, s := range senders[:count] {
		out = append(out, [2]NICRef{s, dst})
	}
	return out, nil
}

func (b *builder) refName(r NICRef) string {
	return b.c.Nodes[b.c.Hosts[r.Host].Node].Name + "/" + b.c.Hosts[r.Host].NICs[r.NIC].Name
}

// endpoints lists the NICs of a pattern in order of hosts.
func (b *builder) endpoints(n *node, hosts []int32) ([]NICRef, error) {
	nics, err := b.nicNumbers(n)
	if err != nil {
		return nil, err
	}
	var out []NICRef
	for _, h := range hosts {
		have := len(b.c.Hosts[h].NICs)
		if nics == nil {
			for i := 0; i < have; i++ {
				out = append(out, NICRef{Host: h, NIC: int32(i)})
			}
			continue
		}
		for _, i := range nics {
			if int(i) >= have {
				return nil, n.where("nics").found("NIC "+strconv.Itoa(int(i))+" of "+b.c.Nodes[b.c.Hosts[h].Node].Name, "0 to "+strconv.Itoa(have-1))
			}
			out = append(out, NICRef{Host: h, NIC: i})
		}
	}
	return out, nil
}

// permutation sends from each NIC to exactly one other, each receiving once.
// A shuffle is repaired by swaps until no pair breaks the scope.
func (b *builder) permutation(n *node, ends []NICRef) ([][2]NICRef, error) {
	scope := n.string("scope")
	seed := uint64(n.intOr("placement_seed", int64(b.c.Seed), "computed: seed"))
	fits := func(x, y NICRef) bool {
		switch scope {
		case "any":
			return x != y
		case "other-leaf":
			return b.leafOf[x.Host] != b.leafOf[y.Host]
		}
		return x.Host != y.Host
	}
	to := make([]int32, len(ends))
	for i := range to {
		to[i] = int32(i)
	}
	shuffle(to, seed)
	for i := range to {
		if fits(ends[i], ends[to[i]]) {
			continue
		}
		swapped := false
		start := int(below(seed^0x5bd1, uint64(i), uint64(len(to))))
		for k := range to {
			j := (start + k) % len(to)
			if fits(ends[i], ends[to[j]]) && fits(ends[j], ends[to[i]]) {
				to[i], to[j] = to[j], to[i]
				swapped = true
				break
			}
		}
		if !swapped {
			return nil, n.where("scope", "pattern").found("no permutation with scope "+scope, "enough hosts on each side, or a wider scope")
		}
	}
	out := make([][2]NICRef, len(ends))
	for i := range ends {
		out[i] = [2]NICRef{ends[i], ends[to[i]]}
	}
	return out, nil
}

// allPairs sends from each NIC to those with the same number on every other host.
func (b *builder) allPairs(n *node, ends []NICRef) ([][2]NICRef, error) {
	byNIC := map[int32][]NICRef{}
	var order []int32
	total := 0
	for _, e := range ends {
		if byNIC[e.NIC] == nil {
			order = append(order, e.NIC)
		}
		byNIC[e.NIC] = append(byNIC[e.NIC], e)
	}
	for _, g := range byNIC {
		total += len(g) * (len(g) - 1)
	}
	if total == 0 || total > maxFlows {
		return nil, n.where("nodes", "nics", "pattern").found(strconv.Itoa(total)+" flows of all pairs", "1 to "+strconv.Itoa(maxFlows))
	}
	out := make([][2]NICRef, 0, total)
	for _, nic := range order {
		for _, x := range byNIC[nic] {
			for _, y := range byNIC[nic] {
				if x != y {
					out = append(out, [2]NICRef{x, y})
				}
			}
		}
	}
	return out, nil
}
