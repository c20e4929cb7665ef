package cluster

import (
	"strings"
	"testing"
	"testing/fstest"

	"weir/units"
)

const overrideBase = `
host: {count: 4, nic: {speed: 100Gbps}}
jobs:
  - {collective: all_reduce, size: 1M}
  - {collective: all_gather, size: 2M}
`

func TestOverrides(t *testing.T) {
	f, err := Parse("c.yaml", []byte(overrideBase), []string{
		"qos.ecn.min=10KB", "qos.ecn.max=12KB", "qos.ecn.probability=100%",
		"host.count=6", "hosts[0].gpus=4", "jobs[1].size=64M", "jobs[2]={collective: broadcast, size: 1K}",
		"routing.hash_fields=src_ip,dst_qp", "host.nic.rails={mlx5_0: 3, mlx5_1: 2, mlx5_2: 1, mlx5_3: 0}",
		"host.nic.gpus.mlx5_0=1", "host.nic.gpus.mlx5_1=1", "host.nic.gpus.mlx5_2=1", "host.nic.gpus.mlx5_3=-1",
	})
	if err != nil {
		t.Fatal(err)
	}
	c := f.Cluster
	if e := c.QoS.ECN; e.Min != 10*units.KB || e.Max != 12*units.KB || e.Probability != 1 {
		t.Errorf("ECN %+v", e)
	}
	if len(c.Hosts) != 6 || c.Hosts[0].GPUs != 4 || c.Hosts[0].NICs[0].Rail != 3 || c.Hosts[0].NICs[2].GPU != 1 || c.Hosts[0].NICs[3].GPU != -1 {
		t.Errorf("hosts %d: %+v", len(c.Hosts), c.Hosts[0])
	}
	if len(c.Jobs) != 3 || c.Jobs[1].Begin != 64*units.MiB || c.Jobs[2].End != units.KiB {
		t.Errorf("jobs %+v", c.Jobs)
	}
	if c.Routing.HashFields != HashSrcIP|HashDstQP {
		t.Errorf("hash fields %b", c.Routing.HashFields)
	}
}

// A job can be made by flags alone, and a setting that only a flag made idle
// is no error.
func TestOverrideMakesIdle(t *testing.T) {
	f, err := Parse("c.yaml", []byte("host: {count: 2}\nfabric: {leaves: 2, spines: 2}\n"), []string{"fabric.topology=single-switch", "job.pattern=incast"})
	if err != nil {
		t.Fatal(err)
	}
	if f.Cluster.Topology != "single-switch" || len(f.Cluster.Jobs) != 1 {
		t.Errorf("%s with %d jobs", f.Cluster.Topology, len(f.Cluster.Jobs))
	}
}

func TestRefusedOverrides(t *testing.T) {
	for _, tt := range []struct{ set, want string }{
		{"qos.ecn.min=10XB", `--set qos.ecn.min=10XB: "10XB" is not a size: a number with unit B, KB, MB, GB (1000) or KiB, MiB, GiB (1024), as in 150KB`},
		{"qos.ecn.min", `--set qos.ecn.min: no = in "qos.ecn.min": allowed PATH=VALUE, as in qos.ecn.min=10KB`},
		{"qos.ecn.mim=1KB", `--set qos.ecn.mim=1KB: found unknown key "mim": allowed enabled, min, max, probability, mark_at; did you mean "min"?`},
		{"qos.ecn.min=9MB", `--set qos.ecn.min=9MB: found ECN min 9MB above max 8999KB: allowed min up to max`},
		{"qos.ecn.max=65MiB", `--set qos.ecn.max=65MiB: found ECN max 65MiB above the buffer of spectrum-3: allowed at most 64MiB`},
		{"qos.roce.priority=9", `--set qos.roce.priority=9: found priority 9: allowed 0 to 7`},
		{"qos=lossless", `--set qos=lossless: found "lossless": allowed a mapping of keys to values`},
		{"qos.pfc.mode=on", `--set qos.pfc.mode=on: found "mode" below pfc: allowed nothing: pfc holds one value`},
		{"job.size=1M", `--set job.size=1M: found job where the file has 2: allowed jobs[0] to jobs[1]`},
		{"jobs[7].size=1M", `--set jobs[7].size=1M: found jobs[7]: allowed [0] to [2]; the last adds an item`},
		{"jobs.size=1M", `--set jobs.size=1M: found "size" behind jobs: allowed [N] with N from 0`},
		{"jobs[0=1", `--set jobs[0=1: found path "jobs[0": allowed names joined by dots, with [N] behind lists, as in jobs[0].size`},
		{"=1", `--set =1: found path "": allowed names joined by dots, with [N] behind lists, as in jobs[0].size`},
		{"jobs=[{collective: all_reduce", `--set jobs=[{collective: all_reduce: not valid YAML: could not find flow mapping end token '}'`},
		{"faults=[{id: x}]", `--set faults=[{id: x}]: found a fault without place: allowed a fault with id, place`},
		{"fabric.cores=2", `--set fabric.cores=2: found fabric.cores, which has no effect here: allowed with topology fat-tree`},
		{"host.nic.speed=400Gbps", `--set host.nic.speed=400Gbps: found 400Gbps on connectx-6-dx: allowed 10Gbps, 25Gbps, 40Gbps, 50Gbps, 100Gbps, 200Gbps`},
		{"routing.hash_fields=src_ip,ttl", `--set routing.hash_fields=src_ip,ttl: found field "ttl": allowed src_ip, dst_ip, src_port, dst_port, protocol, dst_qp`},
		{"name=a\nb", `--set name=a b: "a b" is not a name: a name of up to 255 letters, digits, dots, hyphens and underscores, not . or ..`},
		{"host.nic.rails.a/b=1", `--set host.nic.rails.a/b=1: found "a/b": allowed a name of up to 255 letters, digits, dots, hyphens and underscores, not . or ..`},
	} {
		file := strings.Replace(overrideBase, "speed: 100Gbps", "speed: 100Gbps, model: connectx-6-dx", 1)
		set := []string{tt.set}
		if strings.HasPrefix(tt.set, "qos.ecn.min=9MB") {
			set = append([]string{"qos.ecn.max=8999KB"}, set...)
		}
		_, err := Parse("c.yaml", []byte(file), set)
		t.Run(tt.set, func(t *testing.T) { checkRefusal(t, err, tt.want) })
	}
}

// A flag wins over what the file says in other words.
func TestFlagsWin(t *testing.T) {
	for _, tt := range []struct {
		job        string
		set        []string
		kind       JobKind
		begin, end units.Bytes
	}{
		{"{collective: all_reduce, size: 1M}", []string{"job.begin=2M", "job.end=8M"}, CollectiveJob, 2 * units.MiB, 8 * units.MiB},
		{"{collective: all_reduce, begin: 2M, end: 8M}", []string{"job.size=1M"}, CollectiveJob, units.MiB, units.MiB},
		{"{collective: all_reduce, begin: 2M, end: 8M}", []string{"job.begin=16M"}, CollectiveJob, 16 * units.MiB, 16 * units.MiB},
		{"{collective: all_reduce, begin: 16M, end: 32M}", []string{"job.end=4M"}, CollectiveJob, units.MiB, 4 * units.MiB},
		{"{pattern: incast, senders: 1, size: 1M}", []string{"job.collective=all_gather", "job.begin=1M"}, CollectiveJob, units.MiB, units.MiB},
		{"{collective: all_reduce, begin: 2M}", []string{"job.pattern=incast"}, FlowJob, 0, 0},
	} {
		f, err := Parse("c.yaml", []byte("host: {count: 2}\njob: "+tt.job+"\n"), tt.set)
		if err != nil {
			t.Errorf("%s %v: %v", tt.job, tt.set, err)
			continue
		}
		if j := f.Cluster.Jobs[0]; j.Kind != tt.kind || j.Begin != tt.begin || j.End != tt.end {
			t.Errorf("%s %v: kind %d from %v to %v", tt.job, tt.set, j.Kind, j.Begin, j.End)
		}
	}
}

// Flags that are short for a path stand in the message.
func TestNamedFlag(t *testing.T) {
	_, err := ReadWith(fstest.MapFS{"c.yaml": {Data: []byte("host: {count: 2}\n")}}, "c.yaml", []Override{{"--collective all_reduse", "job.collective", "all_reduse"}})
	checkRefusal(t, err, `--collective all_reduse: found collective "all_reduse": allowed all_reduce, all_gather, reduce_scatter, all_to_all, broadcast; did you mean "all_reduce"?`)
}
