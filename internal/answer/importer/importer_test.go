package importer_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/answer/importer"
	"weir/internal/cluster"
	"weir/internal/twin"
)

const configDB = `{
 "DEVICE_METADATA": {"localhost": {"hostname": "leaf-0", "hwsku": "ACS-MSN4700", "platform": "x86_64-mlnx_msn4700-r0"}},
 "PORT": {"Ethernet0": {"speed": "100000", "mtu": "9216"}, "Ethernet4": {"speed": "100000", "mtu": "9216"}, "Ethernet8": {"speed": "400000", "mtu": "9216"}},
 "DSCP_TO_TC_MAP": {"M": {"0": "0", "26": "4", "48": "6"}},
 "TC_TO_QUEUE_MAP": {"M": {"0": "0", "4": "4", "6": "6"}},
 "TC_TO_PRIORITY_GROUP_MAP": {"M": {"0": "0", "4": "4", "6": "0"}},
 "PORT_QOS_MAP": {"Ethernet0,Ethernet4,Ethernet8": {"dscp_to_tc_map": "M", "tc_to_queue_map": "M", "tc_to_pg_map": "M", "pfc_enable": "4"}},
 "WRED_PROFILE": {"W": {"ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "262144", "green_max_threshold": "1000000", "green_drop_probability": "10"}},
 "SCHEDULER": {"s0": {"type": "DWRR", "weight": "50"}},
 "QUEUE": {"Ethernet0|4": {"scheduler": "s0", "wred_profile": "W"}, "Ethernet4|4": {"scheduler": "s0", "wred_profile": "W"}, "Ethernet8|4": {"scheduler": "s0", "wred_profile": "W"}}
}
`

func lldpctl(pairs ...string) string {
	var b strings.Builder
	b.WriteString(`{"lldp": {"interface": [`)
	for i := 0; i < len(pairs); i += 3 {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString(`{"` + pairs[i] + `": {"via": "LLDP", "chassis": {"` + pairs[i+1] + `": {"id": {"type": "mac", "value": "00:11:22:33:44:55"}}}, "port": {"id": {"type": "local", "value": "` + pairs[i+2] + `"}}}}`)
	}
	b.WriteString("]}}\n")
	return b.String()
}

const rdmaLink = `$ rdma link show
link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2
link mlx5_1/1 state ACTIVE physical_state LINK_UP netdev eth3
`

func lldpTable(rows ...string) string {
	out := "LocalPort    RemoteDevice    RemotePortID         Capability    RemotePortDescr\n-----------  --------------  -------------------  ------------  -----------------\n"
	for i := 0; i < len(rows); i += 3 {
		pad := func(s string, n int) string { return s + strings.Repeat(" ", max(0, n-len(s))) }
		out += pad(rows[i], 13) + pad(rows[i+1], 16) + pad(rows[i+2], 21) + "O             x\n"
	}
	return out
}

// pod is two hosts with two cards under two leaves, as their outputs show it.
func pod() map[string]string {
	files := map[string]string{}
	for i, h := range []string{"h1", "h2"} {
		port := []string{"Ethernet0", "Ethernet4"}[i]
		files[h+"/lldpctl.json"] = lldpctl("eth0", "mgmt", "ge-0/0/1", "eth2", "leaf-0", port, "eth3", "leaf-1", port)
		files[h+"/rdma.txt"] = rdmaLink
		files[h+"/sys/class/infiniband/mlx5_0/ports/1/rate"] = "100 Gb/sec (4X EDR)\n"
		files[h+"/sys/class/infiniband/mlx5_1/ports/1/rate"] = "100 Gb/sec (4X EDR)\n"
		files[h+"/sys/class/infiniband/mlx5_0/hca_type"] = "MT4125\n"
		files[h+"/ip.txt"] = "$ ip -4 addr\n2: eth2: <UP> mtu 9000\n    inet 10.0." + string(rune('1'+i)) + ".2/24 scope global eth2\n3: eth3: <UP> mtu 9000\n    inet 10.1." + string(rune('1'+i)) + ".2/24 scope global eth3\n"
	}
	for i, l := range []string{"leaf-0", "leaf-1"} {
		files[l+"/config_db.json"] = strings.Replace(configDB, "leaf-0", l, 1)
		up := []string{"Ethernet0", "Ethernet8"}[i]
		files[l+"/lldp.txt"] = lldpTable("Ethernet0", "h1", "b8:ce:f6:00:00:01", "Ethernet4", "h2", "b8:ce:f6:00:00:02", "Ethernet8", "spine-0", up)
	}
	return files
}

func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func gather(t testing.TB, paths ...string) *importer.Sources {
	t.Helper()
	s, err := importer.Gather(context.Background(), paths, strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func build(t testing.TB, paths ...string) (*importer.Result, *cluster.Cluster) {
	t.Helper()
	r, err := importer.Build(gather(t, paths...))
	if err != nil {
		t.Fatal(err)
	}
	f, err := cluster.Parse("imported.yaml", r.Text, []string{"job.size=64K"})
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Text)
	}
	return r, f.Cluster
}

// links lists cables as "node/port-node/port".
func links(c *cluster.Cluster) []string {
	var out []string
	for _, l := range c.Links {
		name := func(p cluster.PortID) string { return c.Nodes[c.Ports[p].Node].Name + "/" + c.Ports[p].Name }
		out = append(out, name(l.A)+"-"+name(l.B))
	}
	slices.Sort(out)
	return out
}

var podLinks = []string{"h1/nic-0-leaf-0/Ethernet0", "h1/nic-1-leaf-1/Ethernet0", "h2/nic-0-leaf-0/Ethernet4", "h2/nic-1-leaf-1/Ethernet4", "leaf-0/Ethernet8-spine-0/Ethernet0", "leaf-1/Ethernet8-spine-0/Ethernet8"}

func TestOutputsOfHostsAndSwitches(t *testing.T) {
	r, c := build(t, write(t, pod()))
	if got := links(c); !slices.Equal(got, podLinks) {
		t.Errorf("links %q", got)
	}
	if h := &c.Hosts[0]; len(h.NICs) != 2 || h.NICs[1].Device != "mlx5_1" || h.NICs[0].Model.Name != "connectx-6-dx" || h.NICs[1].Address != "10.1.1.2" || c.Ports[h.NICs[0].Ports[0]].Rate != 100_000_000_000 {
		t.Errorf("host %+v", h)
	}
	for i := range c.Nodes {
		if n := &c.Nodes[i]; strings.HasPrefix(n.Name, "leaf") && (n.Tier != 1 || n.OS != "sonic" || n.Model.Name != "spectrum-3") || n.Name == "spine-0" && n.Tier != 2 {
			t.Errorf("%s: tier %d, %s, %s", n.Name, n.Tier, n.OS, n.Model.Name)
		}
	}
	if q := &c.QoS; q.RoCE().DSCP != 26 || q.RoCE().Priority != 4 || q.ECN.Min != 262144 || q.ECN.Max != 1_000_000 || q.ECN.Probability != 0.1 || q.PortMTU != 9216 {
		t.Errorf("qos %+v", q)
	}
	if len(r.Conflicts) > 0 || len(r.Findings) > 0 {
		t.Errorf("conflicts %+v, findings %+v", r.Conflicts, r.Findings)
	}
	if !strings.Contains(strings.Join(r.LeftOut, "\n"), "h1: 1 cables of ports that are no RDMA devices") {
		t.Errorf("left out %q", r.LeftOut)
	}
	if !strings.Contains(strings.Join(r.Unknown, "\n"), "GPUs of class host") {
		t.Errorf("not learned %q", r.Unknown)
	}
	res, err := twin.Run(context.Background(), c, twin.Options{})
	if err != nil || res.Network.Totals.DataPackets == 0 {
		t.Errorf("the imported cluster does not simulate: %v", err)
	}
}

func TestBundle(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range pod() {
		if err := w.WriteHeader(&tar.Header{Name: "bundle/hosts/" + name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	z.Close()
	dir := write(t, map[string]string{"bundle.tar.gz": b.String()})
	_, c := build(t, filepath.Join(dir, "bundle.tar.gz"))
	if got := links(c); !slices.Equal(got, podLinks) {
		t.Errorf("links %q", got)
	}
}

func TestInventories(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		links            []string
	}{
		{"slurm", "topology.conf", "SwitchName=leaf1 Nodes=gpu[1-2]\nSwitchName=leaf2 Nodes=gpu3\nSwitchName=spine Switches=leaf[1-2]\n",
			[]string{"gpu1/nic-0-leaf1/port-0", "gpu2/nic-0-leaf1/port-1", "gpu3/nic-0-leaf2/port-0", "leaf1/port-2-spine/port-0", "leaf2/port-1-spine/port-1"}},
		{"containerlab", "lab.clab.yml", "name: lab\ntopology:\n  nodes:\n    l1: {kind: arista_ceos}\n    a: {kind: linux}\n    b: {kind: linux}\n  links:\n    - endpoints: [\"a:eth1\", \"l1:eth1\"]\n    - endpoints: [\"b:eth1\", \"l1:eth2\"]\n",
			[]string{"a/nic-0-l1/eth1", "b/nic-0-l1/eth2"}},
		{"netbox", "cables.csv", "Device A,Termination A,Device B,Termination B,Status,Length\nsw1,swp1,gpu1,mlx5_0,Connected,3 m\nsw1,swp2,gpu2,mlx5_0,Connected,3 m\n",
			[]string{"gpu1/nic-0-sw1/swp1", "gpu2/nic-0-sw1/swp2"}},
		{"minigraph", "minigraph.xml", minigraph, []string{"gpu1/nic-0-leaf-7/Ethernet0", "gpu2/nic-0-leaf-7/Ethernet4"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, got := build(t, filepath.Join(write(t, map[string]string{c.file: c.text}), c.file))
			if l := links(got); !slices.Equal(l, c.links) {
				t.Errorf("links %q", l)
			}
		})
	}
}

const minigraph = `<DeviceMiniGraph xmlns="Microsoft.Search.Autopilot.Evolution">
  <PngDec>
    <DeviceInterfaceLinks>
      <DeviceLinkBase>
        <ElementType>DeviceInterfaceLink</ElementType>
        <Bandwidth>100000</Bandwidth>
        <EndDevice>gpu1</EndDevice>
        <EndPort>mlx5_0</EndPort>
        <StartDevice>leaf-7</StartDevice>
        <StartPort>Ethernet0</StartPort>
      </DeviceLinkBase>
      <DeviceLinkBase>
        <ElementType>DeviceInterfaceLink</ElementType>
        <EndDevice>gpu2</EndDevice>
        <EndPort>mlx5_0</EndPort>
        <StartDevice>leaf-7</StartDevice>
        <StartPort>Ethernet4</StartPort>
      </DeviceLinkBase>
    </DeviceInterfaceLinks>
  </PngDec>
  <Hostname>leaf-7</Hostname>
  <HwSku>ACS-MSN4700</HwSku>
</DeviceMiniGraph>
`

func TestNothingToBuildFrom(t *testing.T) {
	for name, text := range map[string]string{"x.txt": "hello\n", "config_db.json": configDB} {
		if _, err := importer.Build(gather(t, write(t, map[string]string{name: text}))); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const handmade = `# Our pod. Ask before you change it.
name: pod

hosts:
  - class: h100        # bought 2024
    count: 1
    names: [h1]
    gpus: 8
    nic:
      count: 2
      speed: 100Gbps
      devices: [mlx5_0, mlx5_1]

fabric:
  topology: explicit
  switches:
    - name: leaf-0     # rail 0
      os: sonic
      model: spectrum-3
    - {name: leaf-1, os: sonic, model: spectrum-3}

  # cables of the first row
  links:
    - {a: h1/mlx5_0, b: leaf-0/Ethernet0, length: 3m}   # measured
    - a: h1/mlx5_1
      b: leaf-1/Ethernet0

qos:
  roce: {dscp: 26, priority: 4}
  port_mtu: 9000   # by decision
# end
`

// Each line of the file stands where it stood; what is new stands between.
func TestRefreshKeepsWhatStands(t *testing.T) {
	r, err := importer.Refresh(gather(t, write(t, pod())), "c.yaml", []byte(handmade))
	if err != nil {
		t.Fatal(err)
	}
	rest := string(r.Text)
	for l := range strings.Lines(handmade) {
		i := strings.Index(rest, l)
		if i < 0 {
			t.Fatalf("%q is gone from\n%s", l, r.Text)
		}
		rest = rest[i+len(l):]
	}
	f, err := cluster.Parse("c.yaml", r.Text, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Text)
	}
	if got := links(f.Cluster); !slices.Equal(got, podLinks) {
		t.Errorf("links %q\n%s", got, r.Text)
	}
	for _, want := range []string{"host h2", "switch spine-0", "cable h2/mlx5_0 to leaf-0/Ethernet4", "qos.ecn.min: 256KiB", "qos.ecn.max: 1000KB"} {
		if !slices.Contains(r.Added, want) {
			t.Errorf("added %q lack %q", r.Added, want)
		}
	}
	if f.Cluster.QoS.ECN.Min != 262144 || f.Cluster.QoS.PortMTU != 9000 {
		t.Errorf("qos %+v", f.Cluster.QoS)
	}
	if len(r.Conflicts) != 1 || r.Conflicts[0].Where != "qos.port_mtu" || r.Conflicts[0].Kept != "9000" || r.Conflicts[0].Other != "9216" {
		t.Errorf("conflicts %+v", r.Conflicts)
	}
	if len(r.Findings) > 0 {
		t.Errorf("findings %+v", r.Findings)
	}
	// Once more changes nothing.
	again, err := importer.Refresh(gather(t, write(t, pod())), "c.yaml", r.Text)
	if err != nil || !bytes.Equal(again.Text, r.Text) || len(again.Added) > 0 {
		t.Errorf("again: %v, added %q", err, again.Added)
	}
}

func findings(r *importer.Result) []string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.Cause+" "+f.Where+" "+f.Found+", not "+f.Expected)
	}
	slices.Sort(out)
	return out
}

func TestCablesAgainstTheFile(t *testing.T) {
	_, err := importer.Build(gather(t, write(t, pod())))
	if err != nil {
		t.Fatal(err)
	}
	r, _ := build(t, write(t, pod()))
	plan := r.Text
	for _, c := range []struct {
		name   string
		change func(map[string]string)
		want   []string
	}{
		{"as planned", func(map[string]string) {}, nil},
		{"swapped", func(f map[string]string) {
			f["h1/lldpctl.json"] = lldpctl("eth2", "leaf-1", "Ethernet0", "eth3", "leaf-0", "Ethernet0")
			f["leaf-0/lldp.txt"], f["leaf-1/lldp.txt"] = strings.Replace(f["leaf-0/lldp.txt"], "b8:ce:f6:00:00:01", "mlx5_1           ", 1), strings.Replace(f["leaf-1/lldp.txt"], "b8:ce:f6:00:00:01", "mlx5_0           ", 1)
		}, []string{"cabling-wrong h1/mlx5_0 leaf-1/Ethernet0, not leaf-0/Ethernet0", "cabling-wrong h1/mlx5_1 leaf-0/Ethernet0, not leaf-1/Ethernet0"}},
		{"missing", func(f map[string]string) {
			f["h2/lldpctl.json"] = lldpctl("eth2", "leaf-0", "Ethernet4")
			f["leaf-1/lldp.txt"] = lldpTable("Ethernet0", "h1", "b8:ce:f6:00:00:01", "Ethernet8", "spine-0", "Ethernet8")
		}, []string{"cabling-wrong h2/mlx5_1 no neighbour, not leaf-1/Ethernet4"}},
		{"another port", func(f map[string]string) {
			f["leaf-0/lldp.txt"] = strings.Replace(f["leaf-0/lldp.txt"], "Ethernet8    spine-0         Ethernet0", "Ethernet8    spine-0         Ethernet4", 1)
		}, []string{"cabling-wrong leaf-0/Ethernet8 spine-0/Ethernet4, not spine-0/Ethernet0"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := pod()
			c.change(files)
			r, err := importer.Refresh(gather(t, write(t, files)), "c.yaml", plan)
			if err != nil {
				t.Fatal(err)
			}
			if got := findings(r); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			if !bytes.Equal(r.Text, plan) {
				t.Errorf("the file was changed:\n%s", r.Text)
			}
		})
	}
}

// A plan in the sources (DEVICE_NEIGHBOR) against what LLDP sees.
func TestCablesAgainstPlannedNeighbours(t *testing.T) {
	files := pod()
	files["leaf-0/config_db.json"] = strings.Replace(files["leaf-0/config_db.json"], ` "PORT":`, ` "DEVICE_NEIGHBOR": {"Ethernet0": {"name": "h2", "port": "mlx5_0"}, "Ethernet4": {"name": "h2", "port": "mlx5_0"}},
 "PORT":`, 1)
	r, c := build(t, write(t, files))
	if got := links(c); !slices.Equal(got, podLinks) {
		t.Errorf("links %q", got)
	}
	if len(r.Findings) != 1 || r.Findings[0].Cause != "cabling-wrong" {
		t.Errorf("findings %q", findings(r))
	}
}

// Rails: card n of every host goes to leaf n, but for one host's two.
func TestRailOutliers(t *testing.T) {
	files := map[string]string{}
	for i := range 4 {
		h := "h" + string(rune('1'+i))
		a, b := "leaf-0", "leaf-1"
		if i == 2 {
			a, b = b, a
		}
		port := "Ethernet" + string(rune('0'+i))
		files[h+"/lldpctl.json"] = lldpctl("eth2", a, port, "eth3", b, port)
		files[h+"/rdma.txt"] = rdmaLink
	}
	r, _ := build(t, write(t, files))
	want := []string{"cabling-wrong h3/mlx5_0 leaf-1/Ethernet2, not leaf-0", "cabling-wrong h3/mlx5_1 leaf-0/Ethernet2, not leaf-1"}
	if got := findings(r); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func FuzzRefresh(f *testing.F) {
	f.Add([]byte(handmade))
	f.Add([]byte("hosts:\n- class: a\n  count: 1\n  names: [h1]\n  gpus: 1\nfabric:\n topology: explicit\n switches:\n - name: leaf-0\n links:\n - {a: h1, b: leaf-0}\n"))
	f.Add([]byte("qos: {ecn: {min: 1KB}}\n"))
	s, err := importer.Gather(context.Background(), []string{write(f, pod())}, strings.NewReader(""))
	if err != nil {
		f.Fatal(err)
	}
	large := regexp.MustCompile(`\d{4}`) // clusters of a size that takes seconds
	f.Fuzz(func(t *testing.T, text []byte) {
		if large.Match(text) {
			return
		}
		r, err := importer.Refresh(s, "c.yaml", text)
		if err != nil {
			return
		}
		if _, err := cluster.Parse("c.yaml", r.Text, nil); err != nil {
			t.Fatalf("%v\n%s", err, r.Text)
		}
	})
}

// Two switches that tell of each other, each with its own port in short: one
// cable.
func TestShortPortNames(t *testing.T) {
	table := func(local, peer, port string) string {
		return "Port          Neighbor Device ID       Neighbor Port ID    TTL\n---------- ------------------------ ---------------------- ---\n" + local + "         " + peer + "                  " + port + "         120\n"
	}
	_, c := build(t, write(t, map[string]string{
		"h1/lldpctl.json":  lldpctl("eth2", "leaf-0", "Ethernet1/1"),
		"h1/rdma.txt":      rdmaLink,
		"h2/lldpctl.json":  lldpctl("eth2", "leaf-0", "Ethernet2/1"),
		"h2/rdma.txt":      rdmaLink,
		"leaf-0/lldp.txt":  "leaf-0#show lldp neighbors\n" + table("Et3/1", "spine-0", "Ethernet7/1"),
		"spine-0/lldp.txt": "spine-0#show lldp neighbors\n" + table("Et7/1", "leaf-0", "Ethernet3/1"),
	}))
	if got, want := links(c), []string{"h1/nic-0-leaf-0/Ethernet1/1", "h2/nic-0-leaf-0/Ethernet2/1", "leaf-0/Ethernet3/1-spine-0/Ethernet7/1"}; !slices.Equal(got, want) {
		t.Errorf("links %q, want %q", got, want)
	}
}
