package ns3

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/units"
)

const smallTopology = `6 2 6
4 5
0 4 100Gbps 1000ns 0
1 4 100Gbps 0.001ms 0.0
2 5 25Gbps 1us 0
3 5 100Gbps 1000ns 0.5

4 5 400Gbps 2000ns 0
4 5 400Gbps 2000ns 0
`

func TestReadTopology(t *testing.T) {
	topo, err := ReadTopology("small.txt", strings.NewReader(smallTopology))
	if err != nil {
		t.Fatal(err)
	}
	if topo.Nodes != 6 || len(topo.Switches) != 2 || len(topo.Links) != 6 {
		t.Fatalf("got %d nodes, %d switches, %d links", topo.Nodes, len(topo.Switches), len(topo.Links))
	}
	if got, want := topo.Links[1], (Link{1, 4, 100 * units.Gbps, units.Microsecond, 0}); got != want {
		t.Errorf("second link is %+v, want %+v", got, want)
	}
	if got := topo.Links[3].Loss; got != 0.5 {
		t.Errorf("loss is %v, want 0.5", got)
	}
	c, err := topo.Cluster("small.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Hosts) != 4 || c.Nodes[4].Name != "leaf-0" || c.Nodes[5].Name != "leaf-1" || c.Nodes[3].Name != "host-3" {
		t.Errorf("hosts %d, names %q %q %q", len(c.Hosts), c.Nodes[4].Name, c.Nodes[5].Name, c.Nodes[3].Name)
	}
	for id, p := range c.Ports {
		if int(c.Ports[p.Peer].Peer) != id {
			t.Errorf("port %d: the peer's peer is port %d", id, c.Ports[p.Peer].Peer)
		}
	}
}

func TestTiers(t *testing.T) {
	const fatTree = "7 5 6\n2 3 4 5 6\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 4 1Gbps 1us 0\n3 5 1Gbps 1us 0\n4 6 1Gbps 1us 0\n5 6 1Gbps 1us 0\n"
	topo, err := ReadTopology("ft.txt", strings.NewReader(fatTree))
	if err != nil {
		t.Fatal(err)
	}
	c, err := topo.Cluster("ft.txt")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range c.Nodes {
		names = append(names, n.Name)
	}
	if got, want := strings.Join(names, " "), "host-0 host-1 leaf-0 leaf-1 spine-0 spine-1 core-0"; got != want {
		t.Errorf("nodes are %s, want %s", got, want)
	}
}

func TestReadFlows(t *testing.T) {
	w, err := ReadFlows("f.txt", strings.NewReader("2\n0 3 3 100 10000 2.000000001\n1 2 3 500 0.1\n"), 4)
	if err != nil {
		t.Fatal(err)
	}
	want := []Flow{
		{0, 3, 3, 100, 10000, 2*units.Second + units.Nanosecond},
		{1, 2, 3, 100, 500, units.Second / 10},
	}
	for i := range want {
		if w.Flows[i] != want[i] {
			t.Errorf("flow %d is %+v, want %+v", i, w.Flows[i], want[i])
		}
	}
}

func TestReadRing(t *testing.T) {
	w, err := ReadFlows("r.ring", strings.NewReader("2 3 1000\n0 1 2 0\n1 2 0 1\n"), 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Chains) != 2 || len(w.Chains[1].Ranks) != 4 || w.Chains[1].Ranks[2] != 0 || w.Chains[0].Bytes != 1000 {
		t.Errorf("got %+v", w.Chains)
	}
}

func TestReadPaths(t *testing.T) {
	paths, err := ReadPaths("p.csv", strings.NewReader("src,dst,spine_index\n0,17,1\n1,18,7\n"), 128)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != 2 || paths[[2]int{1, 18}] != 7 {
		t.Errorf("got %v", paths)
	}
}

func TestRefusals(t *testing.T) {
	topology := func(text string) error {
		topo, err := ReadTopology("t.txt", strings.NewReader(text))
		if err == nil {
			_, err = topo.Cluster("t.txt")
		}
		return err
	}
	flows := func(text string) error { _, err := ReadFlows("f.txt", strings.NewReader(text), 4); return err }
	ring := func(text string) error { _, err := ReadFlows("r.ring", strings.NewReader(text), 3); return err }
	paths := func(text string) error { _, err := ReadPaths("p.csv", strings.NewReader(text), 9); return err }
	for _, test := range []struct {
		read       func(string) error
		text, want string
	}{
		{topology, "", "t.txt:1: end of file: the number of nodes"},
		{topology, "3 one 2\n", `t.txt:1:3: "one": the number of switches, a whole number from 0 to 3`},
		{topology, "3 1 2 8\n", `t.txt:1:7: "8": end of line: node count, switch count, link count (files with GPU counts are another format)`},
		{topology, "3 2 0\n1 1\n", `t.txt:2:3: "1": each switch once`},
		{topology, "3 1 1\n2\n0 2 100Gbs 1us 0\n", `t.txt:3:5: "100Gbs": the link's rate, as in 100Gbps`},
		{topology, "3 1 1\n2\n0 2 100Gbps 1000 0\n", `t.txt:3:13: "1000": the link's delay, as in 1000ns or 0.001ms`},
		{topology, "3 1 1\n2\n0 3 100Gbps 1us 0\n", `t.txt:3:3: "3": a node number, a whole number from 0 to 2`},
		{topology, "3 1 1\n2\n2 2 100Gbps 1us 0\n", `t.txt:3:3: "2": two different nodes`},
		{topology, "3 1 1\n2\n0 2 100Gbps 1us 1.5\n", `t.txt:3:17: "1.5": the link's loss, a number from 0 to 1`},
		{topology, "3 1 1\n2\n0 2 1Gbps 1us 0\n0 2 1Gbps 1us 0\n", `t.txt:4:1: "0": end of file after 1 links`},
		{topology, "3 1 2\n2\n0 2 1Gbps 1us 0\n", `t.txt:4: end of file: a node number`},
		{topology, "3 2 1\n1 2\n0 1 1Gbps 1us 0\n", `t.txt: switch 2 has no path to any host: a connected topology`},
		{topology, "1 1 0\n0\n", `t.txt: switch 0 has no path to any host: a connected topology`},
		{flows, "1\n0 1 3 100 5 -1\n", `f.txt:2:13: "-1": the start in seconds, as in 2.000000001`},
		{flows, "1\n0 9 3 100 5 1\n", `f.txt:2:3: "9": the destination node, a whole number from 0 to 3`},
		{flows, "1\n0 0 3 100 5 1\n", `f.txt:2:3: "0": another node than the source`},
		{flows, "1\n0 1 9 100 5 1\n", `f.txt:2:5: "9": the priority, a whole number from 0 to 7`},
		{flows, "1\n0 1 3 100 0 1\n", `f.txt:2:11: "0": at least 1 byte`},
		{flows, "1\n0 1 3\n", `f.txt:2: 3 fields: source, destination, priority, [destination port,] bytes, start in seconds`},
		{flows, "2\n0 1 3 100 7 1\n", `f.txt:3: end of file after 1 flows: the 2 flows that line 1 names`},
		{flows, "0\n0 1 3 100 7 1\n", `f.txt:2:1: "0": end of file after 0 flows`},
		{ring, "1 2 1000\n0 1\n", `r.ring:3: end of file: a node of the chain`},
		{ring, "1 1 1000\n0 1 2\n", `r.ring:2:5: "2": end of line: 2 nodes, one more than hops`},
		{paths, "a,b,c\n", `p.csv:1: another header: src,dst,spine_index`},
		{paths, "src,dst,spine_index\n0,1,2\n0,1,3\n", `p.csv:3:1: "0": each pair once`},
	} {
		err := test.read(test.text)
		if err == nil {
			t.Errorf("%q was taken", test.text)
		} else if err.Error() != test.want {
			t.Errorf("%q:\n got %s\nwant %s", test.text, err, test.want)
		}
	}
}

// The line that alibaba-edu/High-Precision-Congestion-Control prints for a
// flow of node 1 to node 0 (address scheme of its scratch/third.cc).
func TestWriteCompletions(t *testing.T) {
	var b bytes.Buffer
	err := WriteCompletions(&b, []Completion{{
		Flow:       Flow{Src: 1, Dst: 300, DstPort: 100, Bytes: 10_000_000, Start: units.Millisecond},
		SourcePort: 10000, FCT: 2269456*units.Nanosecond + 499, Alone: 838265 * units.Nanosecond,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.String(), "0b000101 0b012c01 10000 100 10000000 1000000 2269456 838265\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSharedCases(t *testing.T) {
	dir := "../../../../shared/simcases"
	open := func(name string) *os.File {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Skipf("the shared simulation cases are not here: %v", err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	t1, err := ReadTopology("t1", open("t1.topology.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if t1.Nodes != 144 || len(t1.Switches) != 16 || len(t1.Links) != 192 {
		t.Errorf("T1: %d nodes, %d switches, %d links; want 144, 16, 192", t1.Nodes, len(t1.Switches), len(t1.Links))
	}
	for name, want := range map[string]int{
		"w0a_single.flows.txt": 1, "w0b_2to1_samerack.flows.txt": 2, "w1_perm10MB.flows.txt": 128, "w2_incast32_1MB.flows.txt": 32,
	} {
		w, err := ReadFlows(name, open(name), t1.Nodes)
		if err != nil {
			t.Error(err)
		} else if len(w.Flows) != want {
			t.Errorf("%s: %d flows, want %d", name, len(w.Flows), want)
		}
	}
	ring, err := ReadFlows("w3a.ring", open("w3a_ring64_64MB_local.ring"), t1.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	if len(ring.Chains) != 64 || len(ring.Chains[0].Ranks) != 127 || ring.Chains[0].Bytes != 1_000_000 {
		t.Errorf("W3a: %d chains of %d ranks and %d bytes", len(ring.Chains), len(ring.Chains[0].Ranks), ring.Chains[0].Bytes)
	}
	paths, err := ReadPaths("w1_paths.csv", open("w1_paths.csv"), t1.Nodes)
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) != 128 {
		t.Errorf("W1: %d paths, want 128", len(paths))
	}
}

func FuzzRead(f *testing.F) {
	f.Add(smallTopology)
	f.Add("2\n0 3 3 100 10000 2.000000001\n1 2 3 500 0.1\n")
	f.Add("2 3 1000\n0 1 2 0\n1 2 0 1\n")
	f.Add("src,dst,spine_index\n0,17,1\n1,18,7\n")
	f.Fuzz(func(t *testing.T, text string) {
		if topo, err := ReadTopology("t", strings.NewReader(text)); err == nil {
			if c, err := topo.Cluster("t"); err == nil && len(c.Links) != len(topo.Links) {
				t.Errorf("%d links of %d", len(c.Links), len(topo.Links))
			}
		}
		ReadFlows("f", strings.NewReader(text), 10)
		ReadFlows("f.ring", strings.NewReader(text), 10)
		ReadPaths("p", strings.NewReader(text), 10)
	})
}
