package fabric

import (
	"encoding/binary"
	"slices"

	"weir/internal/cluster"
)

// edge is a live port of a switch towards another switch.
type edge struct {
	to   int32 // dense switch number
	port uint16
	rise int8 // tier of the other end against this one's: 1 up, 0 level, -1 down
}

// router is the working memory of route.
type router struct {
	f       *Fabric
	edges   []edge
	first   []uint32 // edges of switch s: edges[first[s]:first[s+1]], by port number
	order   []int32  // switches from the highest tier down
	dist    []int32  // hops to the target by the route in use, -1: none
	falling []bool   // that route only goes down (always, in plain graphs)
	queue   []int32
	hops    []uint16
}

// route fills the tables for the links that are up.
func (f *Fabric) route() {
	f.groups = newGroups()
	r := &router{f: f}
	r.connect()
	targets := r.attach()
	f.table = make([]uint32, len(targets)*len(f.nodes))
	for t, leaves := range targets {
		row := f.table[t*len(f.nodes) : (t+1)*len(f.nodes)]
		r.measure(leaves)
		r.fill(row)
	}
	f.groups.index, f.groups.key = nil, nil
}

// connect lists the edges between switches.
func (r *router) connect() {
	c := r.f.c
	n := len(r.f.nodes)
	r.first = make([]uint32, 1, n+1)
	for _, id := range r.f.nodes {
		node := &c.Nodes[id]
		for k, p := range node.Ports {
			if !r.f.alive(p) {
				continue
			}
			peer := c.Ports[c.Ports[p].Peer].Node
			if to := r.f.sw[peer]; to >= 0 && peer != id {
				e := edge{to: to, port: uint16(k)}
				switch tier := c.Nodes[peer].Tier; {
				case tier > node.Tier:
					e.rise = 1
				case tier < node.Tier:
					e.rise = -1
				}
				r.edges = append(r.edges, e)
			}
		}
		r.first = append(r.first, uint32(len(r.edges)))
	}
	r.order = make([]int32, n)
	for i := range r.order {
		r.order[i] = int32(i)
	}
	slices.SortStableFunc(r.order, func(a, b int32) int {
		return int(c.Nodes[r.f.nodes[b]].Tier) - int(c.Nodes[r.f.nodes[a]].Tier)
	})
	r.dist = make([]int32, n)
	r.falling = make([]bool, n)
}

func (r *router) out(s int32) []edge { return r.edges[r.first[s]:r.first[s+1]] }

// attach finds for every host port, or bond, the leaves it hangs on and the
// ports there, and returns the distinct sets of leaves, which are the targets.
func (r *router) attach() (targets [][]int32) {
	f := r.f
	f.arrivals = make([]arrival, len(f.c.Ports))
	none := cluster.NodeID(cluster.None)
	for i := range f.arrivals {
		f.arrivals[i] = arrival{leaf: none, target: -1}
	}
	f.extra = nil
	index := map[string]int32{}
	for i := range f.c.Nodes {
		if f.sw[i] >= 0 {
			continue
		}
		ports := f.c.Nodes[i].Ports
		for _, id := range ports {
			if members := f.bond(id); members[0] == id {
				r.arrive(members, index, &targets)
			}
		}
		for _, id := range ports {
			f.arrivals[id] = f.arrivals[f.bond(id)[0]]
		}
	}
	return targets
}

// bond returns the host ports that share an address with p: p alone, or all
// members of its bond in an order that is the same for each of them.
func (f *Fabric) bond(p cluster.PortID) []cluster.PortID {
	port := &f.c.Ports[p]
	node := &f.c.Nodes[port.Node]
	if node.Host >= 0 && port.NIC >= 0 {
		if nic := &f.c.Hosts[node.Host].NICs[port.NIC]; nic.Bond {
			return nic.Ports
		}
	}
	if port.LAG < 0 {
		return node.Ports[port.Index : port.Index+1]
	}
	var members []cluster.PortID
	for _, id := range node.Ports {
		if f.c.Ports[id].LAG == port.LAG {
			members = append(members, id)
		}
	}
	return members
}

func (f *Fabric) sameEndpoint(a, b cluster.PortID) bool {
	return slices.Contains(f.bond(a), b)
}

// arrive sets the arrival of a bond's first port.
func (r *router) arrive(members []cluster.PortID, index map[string]int32, targets *[][]int32) {
	f := r.f
	var egress []uint16
	var leaves []local
	for _, id := range members {
		if !f.alive(id) {
			continue
		}
		egress = append(egress, f.c.Ports[id].Index)
		leaf := f.c.Ports[f.c.Ports[id].Peer].Node
		if f.sw[leaf] >= 0 && !slices.ContainsFunc(leaves, func(l local) bool { return l.leaf == leaf }) {
			leaves = append(leaves, local{leaf: leaf})
		}
	}
	slices.Sort(egress)
	a := &f.arrivals[members[0]]
	a.egress = f.groups.intern(egress)
	if len(leaves) == 0 {
		return
	}
	slices.SortFunc(leaves, func(x, y local) int { return int(x.leaf) - int(y.leaf) })
	key := make([]byte, 0, 16)
	set := make([]int32, len(leaves))
	for i := range leaves {
		r.hops = r.hops[:0]
		for _, id := range members {
			if peer := &f.c.Ports[f.c.Ports[id].Peer]; f.alive(id) && peer.Node == leaves[i].leaf {
				r.hops = append(r.hops, peer.Index)
			}
		}
		slices.Sort(r.hops)
		leaves[i].group = f.groups.intern(r.hops)
		set[i] = f.sw[leaves[i].leaf]
		key = binary.LittleEndian.AppendUint32(key, uint32(set[i]))
	}
	t, ok := index[string(key)]
	if !ok {
		t = int32(len(*targets))
		*targets = append(*targets, set)
		index[string(key)] = t
	}
	a.leaf, a.group, a.target = leaves[0].leaf, leaves[0].group, t
	a.extra, a.more = uint32(len(f.extra)), uint32(len(leaves)-1)
	f.extra = append(f.extra, leaves[1:]...)
}

// measure sets each switch's distance to a set of leaves. With tiers, a switch
// that can go down does; the others take the shortest way by one level link
// (between the two of an MLAG pair) or up. Such routes never turn up again.
func (r *router) measure(leaves []int32) {
	for i := range r.dist {
		r.dist[i], r.falling[i] = -1, false
	}
	r.queue = append(r.queue[:0], leaves...)
	for _, l := range leaves {
		r.dist[l], r.falling[l] = 0, true
	}
	for i := 0; i < len(r.queue); i++ {
		s := r.queue[i]
		for _, e := range r.out(s) {
			if r.dist[e.to] < 0 && (r.f.plain || e.rise > 0) {
				r.dist[e.to], r.falling[e.to] = r.dist[s]+1, true
				r.queue = append(r.queue, e.to)
			}
		}
	}
	if r.f.plain {
		return
	}
	for _, s := range r.order {
		if r.falling[s] {
			continue
		}
		best := int32(-1)
		for _, e := range r.out(s) {
			if d := r.dist[e.to]; r.useful(e) && d >= 0 && (best < 0 || d+1 < best) {
				best = d + 1
			}
		}
		r.dist[s] = best
	}
}

// useful reports whether a switch that cannot go down may use an edge: up, or
// level to a switch that goes down from there.
func (r *router) useful(e edge) bool { return e.rise > 0 || e.rise == 0 && r.falling[e.to] }

// fill sets each switch's next hops from the distances.
func (r *router) fill(row []uint32) {
	for s := range row {
		d := r.dist[s]
		if d <= 0 {
			continue // no way, or the target itself, which arrivals cover
		}
		r.hops = r.hops[:0]
		for _, e := range r.out(int32(s)) {
			if r.dist[e.to] != d-1 {
				continue
			}
			if r.f.plain || r.falling[s] && r.falling[e.to] && e.rise < 0 || !r.falling[s] && r.useful(e) {
				r.hops = append(r.hops, e.port)
			}
		}
		row[s] = r.f.groups.intern(r.hops)
	}
}
