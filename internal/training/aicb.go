package training

import (
	"fmt"
	"strconv"
	"strings"

	"weir/internal/collective"
	"weir/internal/input"
	"weir/units"
)

// aicbHeader begins a workload whose forward pass may be repeated in the
// backward pass, the only form that AICB writes for models.
const aicbHeader = "HYBRID_TRANSFORMER_FWD_IN_BCKWD"

// Columns of a layer (validation row V68): name, dependency, then compute time
// in nanoseconds, collective and bytes of the forward pass, of the gradients of
// inputs and of the gradients of weights, and the time of the update.
const aicbColumns = 12

// aicbOps are the collectives by name, without the suffix of the group.
var aicbOps = map[string]collective.Op{
	"ALLREDUCE": collective.AllReduce, "ALLGATHER": collective.AllGather,
	"REDUCESCATTER": collective.ReduceScatter, "ALLTOALL": collective.AllToAll,
}

// aicbGroups are the suffixes that name a group. Data-parallel groups of
// experts are taken as those of the other parameters.
var aicbGroups = []struct {
	suffix    string
	dimension Dimension
}{{"_DP_EP", Data}, {"_EP", Expert}, {"_DP", Data}, {"_TP", Tensor}}

// aicbLayer is one line.
type aicbLayer struct {
	name    string
	compute [3]units.Time // forward, input gradients, weight gradients
	comm    [3]aicbComm
	update  units.Time
}

type aicbComm struct {
	bytes     units.Bytes // 0: none
	op        collective.Op
	dimension Dimension
}

// aicbDefault are the groups of the three columns without a suffix, as SimAI
// takes them: the model-parallel group, and data parallelism for weights.
var aicbDefault = [3]Dimension{Tensor, Tensor, Data}

// readAICB reads a workload: a line with the parallelism, the number of layers,
// and a line for each. The parallelism is the cluster file's to say.
func readAICB(name, text string) (*Program, error) {
	lines := strings.Split(text, "\n")
	refuse := func(line int, found, allowed string) error {
		return &input.Error{File: name, Line: line, Found: "found " + found, Allowed: "allowed " + allowed}
	}
	if len(lines) < 2 {
		return nil, refuse(1, "a header alone", "the number of layers below it")
	}
	count, err := strconv.Atoi(strings.TrimSpace(lines[1]))
	if err != nil || count < 1 || count > maxNodes {
		return nil, refuse(2, fmt.Sprintf("%.40q", strings.TrimSpace(lines[1])), fmt.Sprintf("the number of layers, 1 to %d", maxNodes))
	}
	var layers []aicbLayer
	for i, line := range lines[2:] {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) < aicbColumns {
			return nil, refuse(i+3, fmt.Sprintf("%d columns", len(fields)), fmt.Sprintf("%d", aicbColumns))
		}
		if len(layers) == count {
			return nil, refuse(i+3, fmt.Sprintf("more than the %d layers of line 2", count), "as many lines as it says")
		}
		l, bad, want := aicbLine(fields)
		if want != "" {
			return nil, refuse(i+3, fmt.Sprintf("%.40q", bad), want)
		}
		layers = append(layers, l)
	}
	if len(layers) < count {
		return nil, refuse(len(lines), fmt.Sprintf("%d layers", len(layers)), fmt.Sprintf("the %d of line 2", count))
	}
	return aicbProgram(layers), nil
}

// aicbLine reads the columns of a layer. want is not empty where bad is not
// what a column takes.
func aicbLine(fields []string) (l aicbLayer, bad, want string) {
	const longest = 1e15 // ns: eleven days
	number := func(s string, most float64) (int64, bool) {
		v, err := strconv.ParseInt(s, 10, 64)
		return v, err == nil && v >= 0 && float64(v) <= most
	}
	l.name = fields[0]
	for c := range 3 {
		ns, ok := number(fields[2+3*c], longest)
		if !ok {
			return l, fields[2+3*c], "a compute time in nanoseconds"
		}
		l.compute[c] = units.Time(ns) * units.Nanosecond
		size, ok := number(fields[4+3*c], collective.MaxBytes)
		if !ok {
			return l, fields[4+3*c], "a size in bytes of up to 64 TiB"
		}
		op, d, ok := aicbCollective(fields[3+3*c], aicbDefault[c])
		if !ok {
			return l, fields[3+3*c], "NONE, ALLREDUCE, ALLGATHER, REDUCESCATTER or ALLTOALL, with _TP, _EP, _DP or _DP_EP"
		}
		if fields[3+3*c] != "NONE" {
			l.comm[c] = aicbComm{units.Bytes(size), op, d}
		}
	}
	ns, ok := number(fields[11], longest)
	if !ok {
		return l, fields[11], "an update time in nanoseconds"
	}
	l.update = units.Time(ns) * units.Nanosecond
	return l, "", ""
}

func aicbCollective(s string, d Dimension) (collective.Op, Dimension, bool) {
	if s == "NONE" {
		return 0, d, true
	}
	for _, g := range aicbGroups {
		if rest, ok := strings.CutSuffix(s, g.suffix); ok {
			s, d = rest, g.dimension
			break
		}
	}
	op, ok := aicbOps[s]
	return op, d, ok
}

// aicbProgram runs the layers forward, then backward: what the next layer needs
// blocks compute, the reduction of weights' gradients does not, and the update
// of a layer waits for its own.
func aicbProgram(layers []aicbLayer) *Program {
	var b builder
	do := func(l *aicbLayer, c int, pass string) {
		b.compute(pass+" "+l.name, float64(l.compute[c]))
		if k := l.comm[c]; k.bytes > 0 {
			b.wait(l.name, k.dimension, k.op, float64(k.bytes))
		}
	}
	for i := range layers {
		do(&layers[i], 0, "forward")
	}
	reduced := make([]int32, len(layers))
	for i := len(layers) - 1; i >= 0; i-- {
		l := &layers[i]
		do(l, 1, "backward")
		b.compute("weights "+l.name, float64(l.compute[2]))
		reduced[i] = -1
		if k := l.comm[2]; k.bytes > 0 {
			reduced[i] = b.add(Operation{Name: l.name, Kind: Collective, Dimension: k.dimension, Op: k.op, Bytes: k.bytes, After: []int32{b.lastPiece}})
		}
	}
	for i := len(layers) - 1; i >= 0; i-- {
		if reduced[i] >= 0 {
			b.compute("update "+layers[i].name, float64(layers[i].update), reduced[i])
		} else {
			b.compute("update "+layers[i].name, float64(layers[i].update))
		}
	}
	return &Program{b.ops}
}
