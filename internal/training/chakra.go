package training

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"weir/internal/collective"
	"weir/internal/input"
	"weir/units"
)

// Numbers of Chakra's public schema (mlcommons/chakra, schema/protobuf/et_def.proto).
const (
	chakraID, chakraName, chakraType          = 1, 2, 3
	chakraControl, chakraData                 = 4, 5
	chakraDuration, chakraAttribute           = 7, 10
	attributeName, attributeString            = 1, 29
	nodeInvalid, nodeMetadata                 = 0, 1
	nodeSend, nodeReceive, nodeCollective     = 5, 6, 7
	commReduceScatter, commBlock, commBarrier = 7, 8, 9
)

// attributeIntegers are the fields of whole numbers in an attribute, those that
// are written with zigzag marked.
var attributeIntegers = map[protowire.Number]bool{7: false, 9: false, 11: false, 13: false, 15: true, 17: true, 27: false}

var chakraOps = map[int64]collective.Op{
	0: collective.AllReduce, 2: collective.AllGather, 5: collective.Broadcast, 6: collective.AllToAll,
	commReduceScatter: collective.ReduceScatter, commBlock: collective.ReduceScatter,
}

// chakraNode is one node of a trace.
type chakraNode struct {
	id       uint64
	name     string
	kind     int64
	micros   uint64
	deps     []uint64
	comm     int64
	bytes    int64
	group    string
	hasComm  bool
	position int // of its message in the file
}

// readChakra reads an execution trace of one rank: messages, each after its
// length, the first of them the metadata. Compute and memory nodes take their
// duration, collectives run in the dimension that the name of their process
// group tells (tp, ep, pp; else data), and sends hand over to the next stage.
func readChakra(name string, data []byte) (*Program, error) {
	var nodes []chakraNode
	index := map[uint64]int{}
	size := len(data)
	for first := true; len(data) > 0; first = false {
		at := size - len(data)
		refuse := func(found, allowed string) error {
			return &input.Error{File: name, Found: fmt.Sprintf("byte %d: found %s", at, found), Allowed: "allowed " + allowed}
		}
		message, n := protowire.ConsumeBytes(data)
		if n < 0 {
			return nil, refuse("no whole message", "messages of Chakra's schema, each after its length")
		}
		data = data[n:]
		if first {
			continue // GlobalMetadata
		}
		node, err := parseNode(message)
		if err != nil {
			return nil, refuse(err.Error(), "a node of Chakra's schema")
		}
		node.position = at
		if _, twice := index[node.id]; twice {
			return nil, refuse(fmt.Sprintf("node %d twice", node.id), "an id of its own for each node")
		}
		if len(nodes) == maxNodes {
			return nil, refuse("one more node", fmt.Sprintf("%d nodes", maxNodes))
		}
		index[node.id] = len(nodes)
		nodes = append(nodes, node)
	}
	return chakraProgram(name, nodes, index)
}

// fields calls f with each field of a message.
func fields(b []byte, f func(n protowire.Number, t protowire.Type, v uint64, bytes []byte) error) error {
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return fmt.Errorf("a broken field")
		}
		b = b[n:]
		var v uint64
		var inner []byte
		switch typ {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			inner, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return fmt.Errorf("a broken field %d", num)
		}
		if err := f(num, typ, v, inner); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func parseNode(message []byte) (chakraNode, error) {
	var node chakraNode
	err := fields(message, func(n protowire.Number, t protowire.Type, v uint64, inner []byte) error {
		switch {
		case n == chakraID && t == protowire.VarintType:
			node.id = v
		case n == chakraName && t == protowire.BytesType:
			node.name = text(inner)
		case n == chakraType && t == protowire.VarintType:
			node.kind = int64(v)
		case (n == chakraControl || n == chakraData) && t == protowire.VarintType:
			node.deps = append(node.deps, v)
		case (n == chakraControl || n == chakraData) && t == protowire.BytesType: // packed
			for len(inner) > 0 {
				v, k := protowire.ConsumeVarint(inner)
				if k < 0 {
					return fmt.Errorf("a broken list of dependencies")
				}
				node.deps = append(node.deps, v)
				inner = inner[k:]
			}
		case n == chakraDuration && t == protowire.VarintType:
			node.micros = v
		case n == chakraAttribute && t == protowire.BytesType:
			return node.attribute(inner)
		}
		return nil
	})
	return node, err
}

func (node *chakraNode) attribute(message []byte) error {
	var name, str string
	var value int64
	err := fields(message, func(n protowire.Number, t protowire.Type, v uint64, inner []byte) error {
		zigzag, whole := attributeIntegers[n]
		switch {
		case n == attributeName && t == protowire.BytesType:
			name = text(inner)
		case n == attributeString && t == protowire.BytesType:
			str = text(inner)
		case whole && t == protowire.VarintType && zigzag:
			value = protowire.DecodeZigZag(v)
		case whole && t == protowire.VarintType:
			value = int64(v)
		}
		return nil
	})
	switch name {
	case "comm_type":
		node.comm, node.hasComm = value, true
	case "comm_size":
		node.bytes = value
	case "pg_name":
		node.group = str
	}
	return err
}

// text bounds what a trace calls things.
func text(b []byte) string {
	return strings.ToValidUTF8(string(b[:min(len(b), 80)]), "?")
}

// dimension tells the dimension from the name of a process group.
func (node *chakraNode) dimension() Dimension {
	group := strings.ToLower(node.group)
	for _, known := range []struct {
		names     []string
		dimension Dimension
	}{{[]string{"tp", "tensor"}, Tensor}, {[]string{"ep", "expert"}, Expert}, {[]string{"pp", "pipeline"}, Pipeline}} {
		for _, n := range known.names {
			if strings.HasPrefix(group, n) {
				return known.dimension
			}
		}
	}
	return Data
}

// chakraProgram puts the nodes in an order in which each follows those that it
// waits for, by id where that leaves a choice.
func chakraProgram(name string, nodes []chakraNode, index map[uint64]int) (*Program, error) {
	refuse := func(node *chakraNode, found, allowed string) error {
		return &input.Error{File: name, Found: fmt.Sprintf("byte %d: found %s", node.position, found), Allowed: "allowed " + allowed}
	}
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if nodes[a].id < nodes[b].id {
			return -1
		}
		return 1
	})
	left := make([]int, len(nodes))
	after := make([][]int32, len(nodes)) // nodes that wait for one
	for _, i := range order {
		for _, d := range nodes[i].deps {
			k, ok := index[d]
			if !ok {
				return nil, refuse(&nodes[i], fmt.Sprintf("node %d, which waits for node %d", nodes[i].id, d), "nodes of the file")
			}
			left[i]++
			after[k] = append(after[k], int32(i))
		}
	}
	var ready []int
	for _, i := range order {
		if left[i] == 0 {
			ready = append(ready, i)
		}
	}
	place := make([]int32, len(nodes))
	var p Program
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		o, found, allowed := nodes[i].operation()
		if allowed != "" {
			return nil, refuse(&nodes[i], found, allowed)
		}
		for _, d := range nodes[i].deps {
			o.After = append(o.After, place[index[d]])
		}
		place[i] = int32(len(p.Operations))
		p.Operations = append(p.Operations, o)
		for _, k := range after[i] {
			if left[k]--; left[k] == 0 {
				ready = append(ready, int(k))
			}
		}
	}
	if len(p.Operations) < len(nodes) {
		return nil, &input.Error{File: name, Found: fmt.Sprintf("found %d nodes that wait for each other in a circle", len(nodes)-len(p.Operations)), Allowed: "allowed a trace without circles"}
	}
	return &p, nil
}

// operation is what a node does. allowed is not empty where it is refused.
func (node *chakraNode) operation() (o Operation, found, allowed string) {
	o = Operation{Name: node.name, Kind: Compute}
	const longest = 1e12 // us: eleven days
	switch {
	case node.micros > longest:
		return o, fmt.Sprintf("node %d of %d us", node.id, node.micros), "up to eleven days"
	case node.kind == nodeCollective && (!node.hasComm || node.bytes < 0 || node.bytes > collective.MaxBytes):
		return o, fmt.Sprintf("collective node %d without comm_type, or of %d bytes", node.id, node.bytes), "comm_type, and a comm_size of up to 64 TiB"
	case node.kind == nodeCollective && node.comm == commBarrier:
	case node.kind == nodeCollective:
		op, ok := chakraOps[node.comm]
		if !ok {
			return o, fmt.Sprintf("collective %d in node %d", node.comm, node.id), "all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, barrier"
		}
		o.Kind, o.Op, o.Dimension, o.Bytes = Collective, op, node.dimension(), units.Bytes(node.bytes)
		if o.Bytes == 0 {
			o.Kind = Compute
		}
	case node.kind == nodeSend && (node.bytes < 1 || node.bytes > collective.MaxBytes):
		return o, fmt.Sprintf("send node %d of %d bytes", node.id, node.bytes), "a comm_size of 1 byte to 64 TiB"
	case node.kind == nodeSend:
		o.Kind, o.Dimension, o.Bytes = Transfer, Pipeline, units.Bytes(node.bytes)
	case node.kind == nodeReceive, node.kind == nodeMetadata, node.kind == nodeInvalid:
	default:
		o.Time = units.Time(node.micros) * units.Microsecond
	}
	return o, "", ""
}
