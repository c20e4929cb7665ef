package cluster

import (
	"fmt"
	"slices"
	"strconv"

	"weir/internal/collective"
	"weir/units"
)

func (b *builder) jobs() error {
	names := map[string]bool{}
	for i, n := range b.root.items("jobs") {
		n.preferFlags()
		j := Job{Name: n.stringOr("name", "job-"+strconv.Itoa(i), "default"), Start: n.time("start")}
		if names[j.Name] {
			return n.where("name").found("job "+quoted(j.Name)+" twice", "a name of its own for each job")
		}
		names[j.Name] = true
		if err := b.jobTransport(n, &j); err != nil {
			return err
		}
		var err error
		switch {
		case n.gave("collective") && n.gave("pattern"):
			return n.where("pattern").found("both collective and pattern", "one of them in a job")
		case n.gave("training") && (n.gave("collective") || n.gave("pattern")):
			return n.where("training").found("training beside collective or pattern", "one of them in a job")
		case n.gave("collective"):
			err = b.collective(n, &j)
		case n.gave("pattern"):
			err = b.pattern(n, &j)
		case n.gave("training"):
			err = b.training(n, &j)
		default:
			return n.pos.found("a job with neither collective nor pattern nor training", "collective: "+joinWords(n.at("collective").key.choices)+"; or pattern: "+joinWords(n.at("pattern").key.choices)+"; or training: {model: ...}")
		}
		if err != nil {
			return err
		}
		b.c.Jobs = append(b.c.Jobs, j)
	}
	return nil
}

// jobTransport reads what a job's packets are: those of the cluster's
// transport, or TCP beside it.
func (b *builder) jobTransport(n *node, j *Job) error {
	j.Transport = b.c.Transport
	if n.gave("pattern") {
		t := n.at("transport")
		t.or(value{s: b.c.Transport.String()}, "computed: transport")
		if j.Transport = Transport(choiceIndex(t)); j.Transport != b.c.Transport && j.Transport != TCP {
			return n.where("transport").found(j.Transport.String()+" in a cluster of "+b.c.Transport.String(), b.c.Transport.String()+" or tcp")
		}
	}
	usual, from := b.c.QoS.RoCE().Priority, "computed: qos.roce.priority"
	if j.Transport == TCP {
		usual, from = b.c.TCP.Priority, "computed: transports.tcp.priority"
	}
	j.Priority = uint8(n.intOr("priority", int64(usual), from))
	if !b.hasPriority(j.Priority) && j.Priority != usual {
		return n.where("priority").found("priority "+strconv.Itoa(int(j.Priority)), "the priority of a class of qos")
	}
	return nil
}

// preferFlags lets what flags say of a job win over what the file says in
// other words: another kind of job, or sizes in another form.
func (n *node) preferFlags() {
	for _, p := range [...][2]string{{"collective", "pattern"}, {"collective", "training"}, {"pattern", "training"}, {"training", "collective"}, {"training", "pattern"}, {"begin", "size"}, {"end", "size"}, {"size", "begin"}, {"size", "end"}} {
		n.prefer(p[0], p[1])
		if p[0] == "collective" && p[1] == "pattern" {
			n.prefer(p[1], p[0])
		}
	}
	if n.gave("begin") && n.gave("end") && n.at("end").val.i < n.at("begin").val.i {
		n.prefer("begin", "end")
		n.prefer("end", "begin")
	}
}

func (b *builder) hasPriority(p uint8) bool {
	for _, c := range b.c.QoS.Classes {
		if c.Priority == p {
			return true
		}
	}
	return false
}

func (b *builder) collective(n *node, j *Job) error {
	j.Kind = CollectiveJob
	j.Op = collective.Op(choiceIndex(n.at("collective")))
	alg := n.at("algorithm")
	alg.or(value{s: algorithmNames[b.c.NCCL.Algorithm]}, "computed: nccl.algorithm")
	j.Algorithm = collective.Algorithm(choiceIndex(alg))
	if v, ok := n.optional("size"); ok {
		if n.gave("begin") || n.gave("end") {
			return n.where("size").found("size beside begin or end", "size, or begin and end")
		}
		j.Begin, j.End = units.Bytes(v.i), units.Bytes(v.i)
		j.Factor = 2
	} else {
		j.Begin = n.bytes("begin")
		j.End = units.Bytes(n.intOr("end", int64(j.Begin), "default"))
		j.Factor = int(n.int("factor"))
	}
	if j.End < j.Begin {
		return n.where("end", "begin").found(fmt.Sprintf("end %v below begin %v", j.End, j.Begin), "begin up to end")
	}
	j.Iterations = int(n.int("iterations"))
	hosts, err := b.place(n)
	if err != nil {
		return err
	}
	j.Hosts = hosts
	return b.gpusPerHost(n, j)
}

// gpusPerHost checks that every host of the job has the GPUs.
func (b *builder) gpusPerHost(n *node, j *Job) error {
	least := b.c.Hosts[j.Hosts[0]].GPUs
	who := j.Hosts[0]
	for _, h := range j.Hosts {
		if g := b.c.Hosts[h].GPUs; g < least {
			least, who = g, h
		}
	}
	name := b.c.Nodes[b.c.Hosts[who].Node].Name
	if least == 0 {
		return n.where("hosts", "nodes", "collective").found("a collective on "+name+", which has no GPU", "hosts with GPUs")
	}
	j.GPUsPerHost = int(n.intOr("gpus_per_host", int64(least), "computed: all"))
	if j.GPUsPerHost > least {
		return n.where("gpus_per_host").found(plural(j.GPUsPerHost, "GPU", "GPUs")+" on "+name, "at most "+strconv.Itoa(least))
	}
	if j.Op == collective.Broadcast || len(j.Hosts)*j.GPUsPerHost >= 2 {
		return nil
	}
	return n.where("nodes", "hosts", "collective").found("a collective of 1 rank", "at least 2")
}

// place returns the hosts of a job in rank order.
func (b *builder) place(n *node) ([]int32, error) {
	if n.gave("hosts") {
		return b.named(n)
	}
	total := len(b.c.Hosts)
	count := int(n.intOr("nodes", int64(total), "computed: all"))
	if count > total {
		return nil, n.where("nodes").found(plural(count, "node", "nodes"), "at most "+strconv.Itoa(total)+", the hosts of the file")
	}
	all := make([]int32, total)
	for i := range all {
		all[i] = int32(i)
	}
	switch n.string("placement") {
	case "spread":
		all = b.spread(all)
	case "random":
		seed := uint64(n.intOr("placement_seed", int64(b.c.Seed), "computed: seed"))
		shuffle(all, seed)
	}
	return all[:count], nil
}

func (b *builder) named(n *node) ([]int32, error) {
	var out []int32
	seen := map[int32]bool{}
	for _, it := range n.items("hosts") {
		id, ok := b.byName[it.val.s]
		if !ok || b.c.Nodes[id].Kind != HostNode {
			return nil, it.pos.found("unknown host "+quoted(it.val.s), "a host of the file"+b.nearestNode(it.val.s))
		}
		h := b.c.Nodes[id].Host
		if seen[h] {
			return nil, it.pos.found("host "+quoted(it.val.s)+" twice", "each host once")
		}
		seen[h] = true
		out = append(out, h)
	}
	if len(out) == 0 {
		return nil, n.where("hosts").found("no hosts", "at least one")
	}
	if v, ok := n.optional("nodes"); ok && int(v.i) != len(out) {
		return nil, n.where("nodes").found(plural(int(v.i), "node", "nodes")+" with "+plural(len(out), "host", "hosts")+" named", "the number of hosts")
	}
	return out, nil
}

// spread deals hosts out leaf by leaf, so that neighbours sit under different ones.
func (b *builder) spread(hosts []int32) []int32 {
	var leaves []NodeID
	under := map[NodeID][]int32{}
	for _, h := range hosts {
		l := b.leafOf[h]
		if under[l] == nil {
			leaves = append(leaves, l)
		}
		under[l] = append(under[l], h)
	}
	out := make([]int32, 0, len(hosts))
	for i := 0; len(out) < len(hosts); i++ {
		for _, l := range leaves {
			if i < len(under[l]) {
				out = append(out, under[l][i])
			}
		}
	}
	return out
}

// shuffle permutes s by Fisher and Yates' method with numbers from mix.
func shuffle(s []int32, seed uint64) {
	for i := len(s) - 1; i > 0; i-- {
		j := below(seed, uint64(i), uint64(i+1))
		s[i], s[j] = s[j], s[i]
	}
}

// below returns a number below n that is a function of seed and position
// alone. The bias for n up to 2^20 is below 2^-44.
func below(seed, position, n uint64) uint64 { return mix(seed^mix(position+1)) % n }

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func (b *builder) prices() error {
	if !b.root.gave("prices") {
		return nil
	}
	n := b.root.at("prices")
	b.c.Prices = Prices{Currency: n.string("currency"), Switch: n.float("switch"), Port: n.float("port"), NIC: n.float("nic"), Optic: n.float("optic"), CablePerMetre: n.float("cable_per_metre")}
	return nil
}

// nicNumbers reads which NICs of each host a pattern uses; nil means all.
func (b *builder) nicNumbers(n *node) ([]int32, error) {
	if !n.gave("nics") {
		return nil, nil
	}
	var out []int32
	for _, it := range n.items("nics") {
		x := int32(it.val.i)
		if slices.Contains(out, x) {
			return nil, it.pos.found("NIC "+strconv.Itoa(int(x))+" twice", "each number once")
		}
		out = append(out, x)
	}
	return out, nil
}
