package inventory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/internal/field/inventory"
)

func show(g *inventory.Graph) (nodes, links []string) {
	for _, n := range g.Nodes {
		nodes = append(nodes, fmt.Sprintf("%s %d %s", n.Name, n.Kind, n.System))
	}
	for _, l := range g.Links {
		links = append(links, fmt.Sprintf("%s/%s-%s/%s %g", l.A.Node, l.A.Port, l.B.Node, l.B.Port, float64(l.Length)))
	}
	slices.Sort(nodes)
	slices.Sort(links)
	return nodes, links
}

// The formats as their own documentation shows them; names are ours.
func TestFormats(t *testing.T) {
	for _, c := range []struct {
		name, text, format string
		nodes, links       []string
		notes              int
	}{
		{"slurm", "# topology\nSwitchName=leaf1 Nodes=gpu[01-02]\nSwitchName=leaf2 \\\n  Nodes=gpu03 LinkSpeed=400\nSwitchName=spine Switches=leaf[1-2]\n", "slurm topology.conf",
			[]string{"gpu01 1 ", "gpu02 1 ", "gpu03 1 ", "leaf1 2 ", "leaf2 2 ", "spine 2 "},
			[]string{"gpu01/-leaf1/ 0", "gpu02/-leaf1/ 0", "gpu03/-leaf2/ 0", "leaf1/-spine/ 0", "leaf2/-spine/ 0"}, 0},
		{"containerlab", `name: srl02
topology:
  kinds:
    sonic-vs:
      image: docker-sonic-vs:2020-11-12
  nodes:
    leaf1:
      kind: sonic-vs
    leaf2:
      kind: arista_ceos # second
    host1:
      kind: linux
  links:
    - endpoints: ["leaf1:eth1", "leaf2:eth1"]
    - endpoints:
        - node: host1
          interface: eth1
        - node: leaf1
          interface: eth2
    - endpoints: ["leaf1:eth9", "host:veth"]
`, "containerlab", []string{"host1 1 ", "leaf1 2 sonic", "leaf2 2 eos"}, []string{"host1/eth1-leaf1/eth2 0", "leaf1/eth1-leaf2/eth1 0"}, 0},
		{"netbox cables", `{"count": 2, "next": null, "results": [
 {"id": 1, "type": "dac-passive", "status": {"value": "connected", "label": "Connected"}, "length": 3.0, "length_unit": {"value": "m", "label": "Meters"},
  "a_terminations": [{"object_type": "dcim.interface", "object_id": 4, "object": {"id": 4, "display": "Ethernet1/1", "name": "Ethernet1/1", "device": {"id": 9, "display": "leaf-0", "name": "leaf-0"}}}],
  "b_terminations": [{"object_type": "dcim.interface", "object_id": 5, "object": {"id": 5, "display": "mlx5_0", "name": "mlx5_0", "device": {"id": 3, "display": "h1", "name": "h1"}}}]},
 {"id": 2, "status": {"value": "planned", "label": "Planned"}, "a_terminations": [], "b_terminations": []}
]}`, "netbox", []string{"h1 0 ", "leaf-0 0 "}, []string{"leaf-0/Ethernet1/1-h1/mlx5_0 3"}, 1},
		{"netbox devices", `[{"id": 9, "name": "leaf-0", "device_type": {"model": "SN4700", "manufacturer": {"slug": "nvidia"}}, "role": {"slug": "leaf-switch", "name": "Leaf"}, "platform": {"slug": "cumulus-linux"}},
 {"id": 3, "name": "h1", "device_type": {"model": "DGX H100", "manufacturer": {"slug": "nvidia"}}, "device_role": {"slug": "gpu-server"}, "platform": null}]`, "netbox",
			[]string{"h1 1 ", "leaf-0 2 nvue"}, nil, 0},
		{"netbox cables, older", `[{"id": 1, "termination_a": {"name": "swp1", "device": {"name": "leaf-0"}}, "termination_b": {"name": "eth2", "device": {"name": "h1"}}, "length": 10, "length_unit": "ft"}]`, "netbox",
			[]string{"h1 0 ", "leaf-0 0 "}, []string{"leaf-0/swp1-h1/eth2 3.048"}, 0},
		{"netbox interfaces from both ends", `{"results": [
 {"id": 1, "name": "swp1", "device": {"name": "leaf-0"}, "speed": 100000000, "connected_endpoints": [{"name": "eth2", "device": {"name": "h1"}}]},
 {"id": 2, "name": "eth2", "device": {"name": "h1"}, "connected_endpoints": [{"name": "swp1", "device": {"name": "leaf-0"}}]}]}`, "netbox",
			[]string{"h1 0 ", "leaf-0 0 "}, []string{"leaf-0/swp1-h1/eth2 0"}, 0},
		{"netbox table", "ID,Label,Device A,Termination A,Device B,Termination B,Status,Type,Length\n1,,leaf-0,swp1,h1,eth2,Connected,DAC,5 m\n2,,leaf-0,swp2,,,Connected,DAC,\n", "netbox",
			[]string{"h1 0 ", "leaf-0 0 "}, []string{"leaf-0/swp1-h1/eth2 5"}, 1},
		{"netbox import", "side_a_device,side_a_type,side_a_name,side_b_device,side_b_type,side_b_name\nleaf-0,dcim.interface,swp1,h1,dcim.interface,eth2\n", "netbox",
			[]string{"h1 0 ", "leaf-0 0 "}, []string{"leaf-0/swp1-h1/eth2 0"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := inventory.Read([]byte(c.text), "x")
			if g == nil {
				t.Fatal("not recognised")
			}
			nodes, links := show(g)
			slices.Sort(c.links)
			if g.Format != c.format || !slices.Equal(nodes, c.nodes) || !slices.Equal(links, c.links) || len(g.Notes) != c.notes {
				t.Errorf("%s\n nodes %q\n links %q\n notes %+v", g.Format, nodes, links, g.Notes)
			}
		})
	}
}

func TestOtherTextsAreNotTaken(t *testing.T) {
	for _, text := range []string{"", "a,b,c,d\n1,2,3,4\n", `{"PORT": {}}`, "hostname x\n", "topology: leaf-spine\nnodes: 3\n", "[1, 2]"} {
		if g := inventory.Read([]byte(text), "x"); g != nil {
			t.Errorf("%q is taken for %s", text, g.Format)
		}
	}
}

func TestHostList(t *testing.T) {
	for text, want := range map[string]string{
		"gpu[001-003,010],login": "gpu001 gpu002 gpu003 gpu010 login",
		"r[1-2]n[8-9]":           "r1n8 r1n9 r2n8 r2n9",
		"a":                      "a",
	} {
		got, ok := inventory.HostList(text)
		if !ok || strings.Join(got, " ") != want {
			t.Errorf("%s: %q %v, want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"a[1-", "a]1[", "a[2-1]", "a[1-99999999]", "a,,b", "a[[1]]", "a[1-60000]b[1-60000]", ""} {
		if got, ok := inventory.HostList(text); ok {
			t.Errorf("%q is taken: %d names", text, len(got))
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("SwitchName=a Nodes=b[1-2]\n"))
	f.Add([]byte("topology:\n  nodes:\n    a:\n      kind: linux\n  links:\n    - endpoints: [\"a:b\", \"c:d\"]\n"))
	f.Add([]byte(`{"results":[{"a_terminations":[{"object":{"name":"x","device":{"name":"y"}}}],"b_terminations":[]},{"device_type":{"model":"m"}}]}`))
	f.Add([]byte("Device A,Termination A,Device B,Termination B\na,b,c,d\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		g := inventory.Read(text, "x")
		if g == nil {
			return
		}
		if len(g.Nodes) > inventory.MaxNodes || len(g.Links) > inventory.MaxLinks+1 {
			t.Fatalf("%d nodes, %d links", len(g.Nodes), len(g.Links))
		}
		for _, n := range g.Notes {
			if n.Line < 0 || n.Line > 2+strings.Count(string(text), "\n") {
				t.Fatalf("note on line %d", n.Line)
			}
		}
	})
}
