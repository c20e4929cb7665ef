package acceptance

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/answer/audit"
	"weir/internal/cause"
	"weir/internal/cluster"
)

const fourHosts = `
name: four
host: {names: [gpu01, gpu02, gpu03, gpu04], count: 4, gpus: 8, gpu: h100, nic: {count: 8, speed: 400Gbps}}
fabric: {topology: single-switch}
`

// judged judges a directory of files.
func judged(t *testing.T, files map[string]string, o Options) *Report {
	t.Helper()
	f, err := cluster.Parse("c.yaml", []byte(fourHosts), nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	results, err := ReadResults(context.Background(), f.Cluster, dir)
	if err != nil {
		t.Fatal(err)
	}
	e, err := audit.Gather(context.Background(), []string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := cause.Load()
	if err != nil {
		t.Fatal(err)
	}
	r, err := Judge(f.Cluster, results, e, catalogue, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Report) step(t *testing.T, name string) *StepReport {
	t.Helper()
	for i := range r.Steps {
		if r.Steps[i].Name == name {
			return &r.Steps[i]
		}
	}
	t.Fatalf("no step %s in %+v", name, r.Steps)
	return nil
}

// write is what ib_write_bw prints at the end of a run by time, with the peak
// that it does not measure then.
func write(gbps string) string {
	return `                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 2		Transport type : IB
 Mtu             : 4096[B]
 Link type       : Ethernet
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 1048576    701922           0.00               ` + gbps + `  		     0.046778
---------------------------------------------------------------------------------------
`
}

// nccl is what all_reduce_perf prints on hosts, one row of 1 GiB, tagged by MPI
// on its way, with a stray line of the launcher.
func nccl(busbw, wrong string, hosts ...string) string {
	var b strings.Builder
	b.WriteString("[1,0]<stderr>:Authorization required, but no authorization protocol specified\n# Using devices\n")
	rank := 0
	for _, h := range hosts {
		for d := range 8 {
			b.WriteString("[1,0]<stdout>:#  Rank " + pad(rank) + " Group  0 Pid   4100 on      " + h + " device  " + pad(d) + " [0000:18:00] NVIDIA H100 80GB HBM3\n")
			rank++
		}
	}
	b.WriteString(`[1,0]<stdout>:#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
[1,0]<stdout>:  1073741824     268435456     float     sum      -1   11564.0   92.90  ` + busbw + "       " + wrong + "   11564.0   92.90  " + busbw + "     N/A\n")
	return b.String()
}

func pad(n int) string {
	if n < 10 {
		return " " + string(rune('0'+n))
	}
	return string([]rune{rune('0' + n/10), rune('0' + n%10)})
}

// Expected of all_reduce, 1 GiB on two H100 nodes: 454.6 GB/s
// (docs/expectations.md, target V49, which measured 449).
func TestCollectivesFall(t *testing.T) {
	r := judged(t, map[string]string{
		"two.txt":  nccl("449.00", "0", "gpu01", "gpu02"),
		"four.txt": nccl("180.00", "0", "gpu01", "gpu02", "gpu03", "gpu04"),
	}, Options{Absolute: true})
	s := r.step(t, StepCollectives)
	if s.Verdict != Fail || !strings.Contains(s.Summary, "all_reduce falls at 4 nodes (180 of ") || !strings.Contains(s.Summary, "it holds at 2") {
		t.Errorf("%+v", s)
	}
	if len(r.Collectives) != 2 || r.Collectives[0].Verdict != Pass || r.Collectives[0].Expected < 440 || r.Collectives[0].Expected > 470 {
		t.Errorf("%+v", r.Collectives)
	}
	if r.Accepted() {
		t.Error("accepted")
	}
}

func TestCollectivesRead(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		want             Verdict
		about            string
	}{
		{"good", "a.txt", nccl("449.00", "0", "gpu01", "gpu02"), Pass, ""},
		{"not checked", "a.txt", nccl("449.00", "N/A", "gpu01", "gpu02"), Pass, ""},
		{"wrong values", "a.txt", nccl("449.00", "17", "gpu01", "gpu02"), Fail, "17 wrong values"},
		{"hosts not of the plan, ranks tell", "a.txt", nccl("449.00", "0", "x1", "x2"), Pass, ""},
		{"neither hosts nor ranks", "run.txt", nccl("0.00", "0"), Fail, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := judged(t, map[string]string{c.file: c.text}, Options{Absolute: true})
			if len(r.Collectives) != 1 {
				t.Fatalf("%+v", r.Collectives)
			}
			if got := r.Collectives[0]; c.name == "neither hosts nor ranks" {
				if got.Verdict == Pass || r.Accepted() {
					t.Errorf("%+v", got)
				}
			} else if got.Verdict != c.want || !strings.Contains(got.Error, c.about) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A step that was asked for and has no evidence is no pass; one that was not is
// skipped.
func TestStepsWithoutEvidence(t *testing.T) {
	files := map[string]string{"gpu01_gpu02.txt": write("391.80")}
	r := judged(t, files, Options{Absolute: true})
	if r.Verdict != Pass || r.step(t, StepCollectives).Verdict != Skipped || r.step(t, StepPreflight).Verdict != Skipped {
		t.Errorf("%+v", r.Steps)
	}
	r = judged(t, files, Options{Absolute: true, Asked: []string{StepPairs, StepCollectives}})
	if r.Verdict != Incomplete || r.Accepted() || len(r.Steps) != 2 || r.step(t, StepCollectives).Verdict != Incomplete {
		t.Errorf("%+v", r.Steps)
	}
	if r = judged(t, map[string]string{"notes.txt": "nothing\n"}, Options{Absolute: true}); r.Verdict != Incomplete {
		t.Errorf("%+v", r)
	}
}

func TestGPUDirectRatio(t *testing.T) {
	r := judged(t, map[string]string{
		"gpudirect-host/gpu01_gpu02.txt":         write("391.80"),
		"gpudirect-gpu/gpu01_gpu02.txt":          write("97.10"),
		"gpudirect-host/gpu03_gpu04.txt":         write("391.80"),
		"gpu03_mlx5_0_gpu04_mlx5_0_use_cuda.txt": write("390.90"),
	}, Options{Absolute: true})
	s := r.step(t, StepGPUDirect)
	if s.Verdict != Fail || len(r.GPUDirect) != 2 {
		t.Fatalf("%+v %+v", s, r.GPUDirect)
	}
	for _, p := range r.GPUDirect {
		if want := map[string]Verdict{"gpu01/nic-0": Fail, "gpu03/nic-0": Pass}[p.From]; p.Verdict != want {
			t.Errorf("%+v", p)
		}
	}
	if r.step(t, StepPairs).Verdict != Skipped { // its results are not those of the pairs
		t.Errorf("%+v", r.step(t, StepPairs))
	}
}

func TestGPUDirectChannels(t *testing.T) {
	line := "gpu01:4684:4689 [0] NCCL INFO Channel 05 : 8[25000] -> 0[25000] [send] via NET/IB/1"
	if s := judged(t, map[string]string{"job.log": line + "/GDRDMA\n"}, Options{}).step(t, StepGPUDirect); s.Verdict != Pass {
		t.Errorf("%+v", s)
	}
	if s := judged(t, map[string]string{"job.log": line + "\n"}, Options{}).step(t, StepGPUDirect); s.Verdict != Fail {
		t.Errorf("%+v", s)
	}
}

// One host of four runs another firmware and another kernel.
func TestPreflightDiffers(t *testing.T) {
	host := func(name, kernel, firmware string) string {
		return "root@" + name + ":~# uname -r\n" + kernel + "\nroot@" + name + ":~# ethtool -i eth2\ndriver: mlx5_core\nversion: " + kernel +
			"\nfirmware-version: " + firmware + " (MT_0000000838)\nexpansion-rom-version: \nbus-info: 0000:18:00.0\nsupports-statistics: yes\n"
	}
	files := map[string]string{}
	for _, name := range []string{"gpu01", "gpu02", "gpu04"} {
		files["state/"+name+".txt"] = host(name, "5.15.0-91-generic", "28.39.1002")
	}
	files["state/gpu03.txt"] = host("gpu03", "5.15.0-91-generic", "28.36.1010")
	r := judged(t, files, Options{})
	s := r.step(t, StepPreflight)
	found := false
	for _, f := range s.Findings {
		found = found || f.Where == "gpu03" && strings.Contains(f.Summary, "link.firmware of eth2 is 28.36.1010") && strings.Contains(f.Summary, "28.39.1002")
		if strings.Contains(f.Summary, "host.kernel") {
			t.Errorf("%+v", f)
		}
	}
	if !found || s.Verdict == Pass || s.Verdict == Skipped {
		t.Errorf("%+v", s)
	}
	delete(files, "state/gpu03.txt")
	if s := judged(t, files, Options{}).step(t, StepPreflight); s.Verdict == Pass || !strings.HasPrefix(s.Summary, "1 hosts told nothing") {
		t.Errorf("%+v", s)
	}
}

// What fell since an earlier acceptance is a warning even where it is within
// the limits of today.
func TestDrift(t *testing.T) {
	files := func(pair, bus string) map[string]string {
		return map[string]string{"gpu01_gpu02.txt": write(pair), "two.txt": nccl(bus, "0", "gpu01", "gpu02")}
	}
	o := Options{Absolute: true}
	before := judged(t, files("391.80", "455.00"), o)
	for _, c := range []struct {
		pair, bus string
		want      Verdict
	}{{"391.10", "450.00", Pass}, {"391.10", "431.00", Warn}} {
		r := judged(t, files(c.pair, c.bus), o)
		if r.Verdict != Pass {
			t.Fatalf("%+v", r.Steps)
		}
		r.Against(before)
		if r.Verdict != c.want || len(r.Drift) != 2 {
			t.Errorf("%v: %v %+v", c, r.Verdict, r.Drift)
		}
	}
}
