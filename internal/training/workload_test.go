package training

import (
	"bytes"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"weir/internal/collective"
	"weir/internal/input"
	"weir/units"
)

const aicbText = "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 8 ep: 2 pp: 1 vpp: 2 ga: 1 all_gpus: 32 checkpoints: 0 checkpoint_initiates: 0\n" +
	"2\n" +
	"attention   \t-1\t2000\t ALLREDUCE\t 50331648\t3000\t ALLREDUCE\t 50331648\t4000\tREDUCESCATTER_DP\t4096\t100\n" +
	"experts     \t-1\t7000\t ALLTOALL_EP\t 8192\t9000\t      NONE\t 0\t0\tALLGATHER\t1024\t200\n"

// Columns of a workload, read by hand: the times in nanoseconds, what blocks
// compute, what does not, and updates that wait for their reduction.
func TestAICB(t *testing.T) {
	p, err := ReadWorkload("w.txt", strings.NewReader(aicbText))
	if err != nil {
		t.Fatal(err)
	}
	ns := units.Nanosecond
	want := []Operation{
		{Name: "forward attention", Time: 2000 * ns},
		{Name: "attention", Kind: Collective, Dimension: Tensor, Op: collective.AllReduce, Bytes: 50331648, After: []int32{0}},
		{Name: "forward experts", Time: 7000 * ns, After: []int32{1}},
		{Name: "experts", Kind: Collective, Dimension: Expert, Op: collective.AllToAll, Bytes: 8192, After: []int32{2}},
		{Name: "backward experts", Time: 9000 * ns, After: []int32{3}},
		{Name: "weights experts"},
		{Name: "experts", Kind: Collective, Dimension: Data, Op: collective.AllGather, Bytes: 1024, After: []int32{5}},
		{Name: "backward attention", Time: 3000 * ns},
		{Name: "attention", Kind: Collective, Dimension: Tensor, Op: collective.AllReduce, Bytes: 50331648, After: []int32{7}},
		{Name: "weights attention", Time: 4000 * ns, After: []int32{8}},
		{Name: "attention", Kind: Collective, Dimension: Data, Op: collective.ReduceScatter, Bytes: 4096, After: []int32{9}},
		{Name: "update experts", Time: 200 * ns, After: []int32{6}},
		{Name: "update attention", Time: 100 * ns, After: []int32{10}},
	}
	compare(t, p, want)
	if err := p.Fit(&Parallel{Tensor: 8, Expert: 1, Data: 4, Pipeline: 1}); err == nil || !strings.Contains(err.Error(), "expert: 1") {
		t.Errorf("a job without experts: %v", err)
	}
	if err := p.Fit(&Parallel{Tensor: 8, Expert: 2, Data: 4, Pipeline: 1}); err != nil {
		t.Error(err)
	}
}

func compare(t *testing.T, p *Program, want []Operation) {
	t.Helper()
	if len(p.Operations) != len(want) {
		t.Fatalf("%d operations, want %d: %+v", len(p.Operations), len(want), p.Operations)
	}
	for i, o := range p.Operations {
		w := want[i]
		same := o.Name == w.Name && o.Kind == w.Kind && o.Time == w.Time && o.Dimension == w.Dimension && o.Op == w.Op && o.Bytes == w.Bytes && len(o.After) == len(w.After)
		for k := range w.After {
			same = same && o.After[k] == w.After[k]
		}
		if !same {
			t.Errorf("operation %d: got %+v, want %+v", i, o, w)
		}
	}
}

// message builds a protobuf message by hand, field by field.
type message []byte

func (m message) number(field protowire.Number, v uint64) message {
	return protowire.AppendVarint(protowire.AppendTag(m, field, protowire.VarintType), v)
}

func (m message) bytes(field protowire.Number, v []byte) message {
	return protowire.AppendBytes(protowire.AppendTag(m, field, protowire.BytesType), v)
}

func attribute(name string, field protowire.Number, v uint64) []byte {
	return message{}.bytes(1, []byte(name)).number(field, v)
}

// chakraTrace is compute, two collectives after it, a send, and compute after
// all, written out of order.
func chakraTrace() []byte {
	node := func(id uint64, name string, kind uint64) message {
		return message{}.number(1, id).bytes(2, []byte(name)).number(3, kind)
	}
	messages := []message{
		message{}.bytes(1, []byte("0.0.4")),
		node(9, "last", 4).bytes(5, protowire.AppendVarint(protowire.AppendVarint(nil, 3), 4)).number(4, 5).number(7, 40),
		node(1, "first", 4).number(7, 25).number(99, 1),
		node(3, "gradients", 7).number(5, 1).bytes(10, attribute("comm_type", 9, 0)).bytes(10, attribute("comm_size", 13, 1<<20)),
		node(4, "activations", 7).number(5, 1).bytes(10, attribute("comm_type", 7, 7)).bytes(10, attribute("comm_size", 17, 2*4096)).
			bytes(10, message{}.bytes(1, []byte("pg_name")).bytes(29, []byte("tp_group_0"))),
		node(5, "hand over", 5).number(5, 1).bytes(10, attribute("comm_size", 9, 777)),
	}
	var out []byte
	for _, m := range messages {
		out = protowire.AppendBytes(out, m)
	}
	return out
}

func TestChakra(t *testing.T) {
	p, err := ReadWorkload("t.et", bytes.NewReader(chakraTrace()))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, p, []Operation{
		{Name: "first", Time: 25 * units.Microsecond},
		{Name: "gradients", Kind: Collective, Dimension: Data, Op: collective.AllReduce, Bytes: 1 << 20, After: []int32{0}},
		{Name: "activations", Kind: Collective, Dimension: Tensor, Op: collective.ReduceScatter, Bytes: 4096, After: []int32{0}},
		{Name: "hand over", Kind: Transfer, Dimension: Pipeline, Bytes: 777, After: []int32{0}},
		{Name: "last", Time: 40 * units.Microsecond, After: []int32{1, 2, 3}},
	})
}

func TestWorkloadRefused(t *testing.T) {
	header := "HYBRID_TRANSFORMER_FWD_IN_BCKWD x\n"
	line := "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"
	trace := func(nodes ...message) string {
		out := protowire.AppendBytes(nil, message{}.bytes(1, []byte("1")))
		for _, n := range nodes {
			out = protowire.AppendBytes(out, n)
		}
		return string(out)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "w: found an empty file"},
		{"other text", "layers: 3\n", `w:1: found "layers: 3`},
		{"no count", header, `w:2: found ""`},
		{"columns", header + "1\na b c\n", "w:3: found 3 columns: allowed 12"},
		{"operation", header + "1\n" + strings.Replace(line, "NONE", "GATHER", 1), `w:3: found "GATHER": allowed NONE`},
		{"negative", header + "1\n" + strings.Replace(line, " 1 ", " -5 ", 1), `w:3: found "-5": allowed a compute time`},
		{"too few", header + "2\n" + line, "found 1 layers: allowed the 2 of line 2"},
		{"too many", header + "1\n" + line + line, "w:4: found more than the 1 layers"},
		{"truncated", trace(message{}.number(1, 1))[:5], "found no whole message"},
		{"broken", trace(message{0x0a, 0x7f}), "broken field 1"},
		{"twice", trace(message{}.number(1, 1), message{}.number(1, 1)), "node 1 twice"},
		{"unknown node", trace(message{}.number(1, 1).number(5, 2)), "which waits for node 2"},
		{"circle", trace(message{}.number(1, 1).number(5, 2), message{}.number(1, 2).number(5, 1)), "2 nodes that wait for each other"},
		{"gather", trace(message{}.number(3, 7).bytes(10, attribute("comm_type", 9, 3))), "collective 3 in node 0"},
		{"no type", trace(message{}.number(3, 7)), "without comm_type"},
		{"empty send", trace(message{}.number(3, 5)), "send node 0 of 0 bytes"},
	} {
		_, err := ReadWorkload("w", strings.NewReader(tt.text))
		if err == nil || !input.IsRefusal(err) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %s", tt.name, err, tt.want)
		}
	}
}

// Whatever is read is refused or makes operations that wait for earlier ones.
func FuzzReadWorkload(f *testing.F) {
	f.Add([]byte(aicbText))
	f.Add(chakraTrace())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadWorkload("fuzz", bytes.NewReader(data))
		if err != nil {
			if !input.IsRefusal(err) {
				t.Fatal(err)
			}
			return
		}
		for i, o := range p.Operations {
			if o.Time < 0 || o.Bytes < 0 || o.Kind == Bubble {
				t.Fatalf("operation %d: %+v", i, o)
			}
			for _, a := range o.After {
				if a < 0 || int(a) >= i {
					t.Fatalf("operation %d waits for %d", i, a)
				}
			}
		}
	})
}
